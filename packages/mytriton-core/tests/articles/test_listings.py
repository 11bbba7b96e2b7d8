"""Every listing of the five articles that concerns core, as an executed test."""

import numpy as np
import pytest

import mytriton as triton
import mytriton.language as tl
from mytriton.ast_frontend import ASTFrontendError, trace
from mytriton.ir.expr import (
    AddPtr,
    Arange,
    BinOp,
    Const,
    ForRange,
    Load,
    LoopCarry,
    LoopIndex,
    LoopResult,
    Param,
    ProgramId,
    Store,
)
from mytriton.ir.types import PointerType, ScalarType
from mytriton.ssa import SSAForRange, SSAPrinter

pytestmark = pytest.mark.codegen

F32, I32 = ScalarType("f32"), ScalarType("i32")


@triton.jit
def add_kernel(x, y, out, n, BLOCK: tl.constexpr):
    pid = tl.program_id(0)
    offsets = pid * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n

    x_values = tl.load(x + offsets, mask=mask, other=0.0)
    y_values = tl.load(y + offsets, mask=mask, other=0.0)

    tl.store(out + offsets, x_values + y_values, mask=mask)


@triton.jit
def runtime_sum_kernel(x, out, K):
    accumulator = 0.0

    for k in range(K):
        accumulator += tl.load(x + k)

    tl.store(out, accumulator)


@triton.jit
def matmul_runtime_k_kernel(a, b, c, M, N, K, BM: tl.constexpr, BN: tl.constexpr):
    pid_m = tl.program_id(0)
    pid_n = tl.program_id(1)

    offs_m = pid_m * BM + tl.arange(0, BM)[:, None]
    offs_n = pid_n * BN + tl.arange(0, BN)[None, :]

    c_offsets = offs_m * N + offs_n
    c_mask = (offs_m < M) & (offs_n < N)
    acc = c_offsets * 0.0

    for k in range(K):
        a_offsets = offs_m * K + k
        b_offsets = k * N + offs_n
        a_values = tl.load(a + a_offsets, mask=offs_m < M, other=0.0)
        b_values = tl.load(b + b_offsets, mask=offs_n < N, other=0.0)
        acc = acc + a_values * b_values

    tl.store(c + c_offsets, acc, mask=c_mask)


@triton.jit
def matrix_add_2d_kernel(x, y, out, M, N, BM: tl.constexpr, BN: tl.constexpr):
    pid_m = tl.program_id(0)
    pid_n = tl.program_id(1)

    offs_m = pid_m * BM + tl.arange(0, BM)[:, None]
    offs_n = pid_n * BN + tl.arange(0, BN)[None, :]

    offsets = offs_m * N + offs_n
    mask = (offs_m < M) & (offs_n < N)

    lhs = tl.load(x + offsets, mask=mask, other=0.0)
    rhs = tl.load(y + offsets, mask=mask, other=0.0)
    tl.store(out + offsets, lhs + rhs, mask=mask)


@pytest.fixture
def arrays():
    x, y = np.random.default_rng(0).standard_normal((2, 1000)).astype(np.float32)
    return x, y, np.empty_like(x)


def listing(kernel, *args, level=1, **kwargs):
    compiled = kernel.compile(*args, **kwargs)
    function = compiled.function if level else compiled.unoptimised
    return SSAPrinter().print_ops(function.body)


class TestPart1:
    def test_the_launch_returns_the_captured_program(self, arrays):
        expression_ops, _, _ = add_kernel[(4,)](*arrays, 1000, BLOCK=256)

        x, y, out = (Param(name, PointerType(F32)) for name in ("x", "y", "out"))
        offsets = BinOp("+", BinOp("*", ProgramId(0), Const(256)), Arange(0, 256))
        mask = BinOp("<", offsets, Param("n", I32))
        assert expression_ops == [
            Store(
                ptr=AddPtr(out, offsets),
                value=BinOp(
                    "+",
                    Load(AddPtr(x, offsets), mask, Const(0.0)),
                    Load(AddPtr(y, offsets), mask, Const(0.0)),
                ),
                mask=mask,
            )
        ]

    def test_the_grid_function_receives_exactly_the_constexprs(self, arrays):
        seen = []

        def grid(meta):
            seen.append(meta == {"BLOCK": 256})
            return (triton.cdiv(1000, meta["BLOCK"]),)

        add_kernel[grid](*arrays, 1000, BLOCK=256)
        assert seen == [True]

    def test_trace_gives_operations_and_runtime_parameters(self, arrays):
        ops, params = trace(add_kernel.fn, *arrays, 1000, BLOCK=256)
        assert [type(op) for op in ops] == [Store]
        assert params == [
            Param("x", PointerType(F32)),
            Param("y", PointerType(F32)),
            Param("out", PointerType(F32)),
            Param("n", I32),
        ]


class TestPart7:
    def test_ssa_of_add_kernel(self, arrays):
        assert listing(add_kernel, *arrays, 1000, BLOCK=256) == (
            "%0 = program_id {axis=0} : i32\n"
            "%1 = mul %0, 256 : i32\n"
            "%2 = arange {start=0, end=256} : vector<256 x i32>\n"
            "%3 = add %1, %2 : vector<256 x i32>\n"
            "%4 = addptr x, %3 : vector<256 x ptr<f32>>\n"
            "%5 = cmp_lt %3, n : vector<256 x bool>\n"
            "%6 = load %4, %5, 0.0 : vector<256 x f32>\n"
            "%7 = addptr y, %3 : vector<256 x ptr<f32>>\n"
            "%8 = load %7, %5, 0.0 : vector<256 x f32>\n"
            "%9 = add %6, %8 : vector<256 x f32>\n"
            "%10 = addptr out, %3 : vector<256 x ptr<f32>>\n"
            "store %10, %9, %5"
        )


class TestPart10:
    def test_ssa_of_the_runtime_matmul_at_level_0(self):
        a = np.zeros(4, np.float32)
        text = listing(matmul_runtime_k_kernel, a, a, a, 4, 8, 2, BM=4, BN=8, level=0)
        assert (
            "%12 = mul %11, 0.0 : block<4x8 x f32>\n"
            "%27 = for %13 in range(0, K, 1) iter_args(%14 = %12) : block<4x8 x f32> {\n"
            "  %15 = mul %4, K : block<4x1 x i32>\n"
            "  %16 = add %15, %13 : block<4x1 x i32>\n"
            "  %17 = addptr a, %16 : block<4x1 x ptr<f32>>\n"
            "  %18 = cmp_lt %4, M : block<4x1 x bool>\n"
            "  %19 = load %17, %18, 0.0 : block<4x1 x f32>\n"
            "  %20 = mul %13, N : i32\n"
            "  %21 = add %20, %9 : block<1x8 x i32>\n"
            "  %22 = addptr b, %21 : block<1x8 x ptr<f32>>\n"
            "  %23 = cmp_lt %9, N : block<1x8 x bool>\n"
            "  %24 = load %22, %23, 0.0 : block<1x8 x f32>\n"
            "  %25 = mul %19, %24 : block<4x8 x f32>\n"
            "  %26 = add %14, %25 : block<4x8 x f32>\n"
            "  yield %26\n"
            "}\n"
        ) in text

    def test_invariants_of_that_loop_move_out_at_the_default_level(self):
        a = np.zeros(4, np.float32)
        text = listing(matmul_runtime_k_kernel, a, a, a, 4, 8, 2, BM=4, BN=8)
        before, body = text.split("for %13")
        assert "%15 = mul %4, K : block<4x1 x i32>" in before
        assert "%16 = add %15, %13 : block<4x1 x i32>" in body

    def test_two_carried_values_print_as_parallel_lists(self):
        @triton.jit
        def kernel(out, n):
            a = tl.program_id(0)
            b = 1.0
            for _i in range(0, n, 1):
                a = a + 1
                b = b + 1.0
            tl.store(out, b)
            tl.store(out + a, b)

        text = listing(kernel, np.zeros(4, np.float32), 3, level=0)
        assert text.splitlines()[1:6] == [
            "%6, %7 = for %1 in range(0, n, 1) iter_args(%2 = %0, %3 = 1.0) : i32, f32 {",
            "  %4 = add %2, 1 : i32",
            "  %5 = add %3, 1.0 : f32",
            "  yield %4, %5",
            "}",
        ]

    def test_nested_loops_indent_by_two_spaces(self):
        @triton.jit
        def kernel(out, M, N):
            total = 0
            for _i in range(M):
                for _j in range(N):
                    total = total + 1
            tl.store(out, total)

        text = listing(kernel, np.zeros(1, np.int32), 2, 3, level=0)
        assert text == (
            "%6 = for %0 in range(0, M, 1) iter_args(%1 = 0) : i32 {\n"
            "  %5 = for %2 in range(0, N, 1) iter_args(%3 = %1) : i32 {\n"
            "    %4 = add %3, 1 : i32\n"
            "    yield %4\n"
            "  }\n"
            "  yield %5\n"
            "}\n"
            "store out, %6, none"
        )

    def test_the_loop_is_a_region_of_the_expression_tree(self):
        ops, _ = trace(runtime_sum_kernel, np.zeros(4, np.float32), np.zeros(1, np.float32), 4)
        loop, store = ops
        x, k = Param("x", PointerType(F32)), LoopIndex("k")
        carry = LoopCarry(0, Const(0.0))
        assert isinstance(loop, ForRange)
        assert (loop.index, loop.start, loop.stop, loop.step) == (
            k,
            Const(0),
            Param("K", I32),
            Const(1),
        )
        assert loop.captures == (x,)
        assert loop.body == []
        assert loop.carried_inputs == (Const(0.0),)
        assert loop.carried_args == (carry,)
        assert loop.carried_outputs == (BinOp("+", carry, Load(AddPtr(x, k), None, None)),)
        assert store == Store(Param("out", PointerType(F32)), LoopResult(loop, 0), None)

    def test_ssa_holds_a_structured_loop(self):
        result = runtime_sum_kernel[(1,)](np.ones(4, np.float32), np.zeros(1, np.float32), 4)
        assert isinstance(result.ssa_ops[0], SSAForRange)


class TestReadme:
    def test_ssa_of_the_runtime_sum(self):
        text = listing(runtime_sum_kernel, np.zeros(4, np.float32), np.zeros(1, np.float32), 4)
        assert text == (
            "%5 = for %0 in range(0, K, 1) iter_args(%1 = 0.0) : f32 {\n"
            "  %2 = addptr x, %0 : ptr<f32>\n"
            "  %3 = load %2, none, none : f32\n"
            "  %4 = add %1, %3 : f32\n"
            "  yield %4\n"
            "}\n"
            "store out, %5, none"
        )

    def test_constructors_stay_explicit(self):
        @triton.jit
        def kernel(out):
            value = tl.zeros(8, tl.float32) + tl.full([8], 2.5, tl.float32)
            tl.store(out + tl.arange(0, 8), value)

        for level in (0, 1):
            text = listing(kernel, np.zeros(8, np.float32), level=level)
            assert text.splitlines()[:3] == [
                "%0 = zeros {shape=(8,), dtype=f32} : vector<8 x f32>",
                "%1 = full 2.5 {shape=(8,), dtype=f32} : vector<8 x f32>",
                "%2 = add %0, %1 : vector<8 x f32>",
            ]

    def test_rank_2_tiles_keep_their_shape(self):
        x = np.zeros(4, np.float32)
        text = listing(matrix_add_2d_kernel, x, x, x, 2, 2, BM=16, BN=32)
        for line in (
            "%3 = expand_dims %2 {axis=1} : block<16x1 x i32>",
            "%9 = expand_dims %8 {axis=0} : block<1x32 x i32>",
            "%11 = add %5, %10 : block<16x32 x i32>",
            "%15 = and %13, %14 : block<16x32 x bool>",
            "%16 = load %12, %15, 0.0 : block<16x32 x f32>",
        ):
            assert line in text.splitlines()

    @pytest.mark.execution
    def test_the_example_runs_on_numpy_arrays(self, arrays):
        x, y, out = arrays
        result = add_kernel[lambda meta: (triton.cdiv(1000, meta["BLOCK"]),)](
            x, y, out, 1000, BLOCK=256
        )
        assert result.launched
        np.testing.assert_array_equal(out, x + y)

    def test_numeric_fill_values_convert_to_the_dtype(self):
        @triton.jit
        def kernel(out, scalar):
            tl.store(out + tl.arange(0, 4), tl.full((4,), 3, tl.float32))
            tl.store(out + 4 + tl.arange(0, 4), tl.full(4, scalar, tl.float32))

        out = np.zeros(8, np.float32)
        kernel[(1,)](out, 7)
        np.testing.assert_array_equal(out, [3, 3, 3, 3, 7, 7, 7, 7])


REFUSED = {
    "attribute": ("    out.x = 1\n", "only assignment to a simple name is supported"),
    "slice": ("    a = tl.arange(0, 4)[1:]\n", "only ':' slices are supported"),
    "for_else": (
        "    for i in range(2):\n        pass\n    else:\n        pass\n",
        "for/else is not supported",
    ),
    "dynamic": (
        "    for i in tl.static_range(n):\n        pass\n",
        "dynamic range bounds are not supported by AST frontend MVP; stop is ",
    ),
    "compare": (
        "    a = n < 3 & 2 < n\n",
        "only simple comparisons are supported; when combining comparisons with &, wrap each "
        "comparison in parentheses",
    ),
    "lambda": ("    a = lambda: 1\n", "unsupported AST node: Lambda"),
    "break": ("    for i in range(n):\n        break\n", "unsupported AST node: Break"),
    "induction": (
        "    for i in range(n):\n        i = 2\n",
        "cannot assign to loop induction variable 'i'",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_refusals_of_part_9_in_its_own_words_with_a_position(name, kernel_from):
    body, message = REFUSED[name]
    kernel = kernel_from("def kernel(out, n):\n" + body)
    with pytest.raises(ASTFrontendError) as caught:
        kernel[(1,)](np.zeros(4, np.float32), 3)
    position, _, sentence = caught.value.args[0], None, str(caught.value)
    assert position.startswith(message) or message in position
    assert isinstance(caught.value, TypeError)
    first, source_line, caret = sentence.splitlines()[:3]
    assert first.partition(": ")[0].rsplit(":", 2)[1].isdigit()
    assert source_line.strip() in body
    assert caret.strip().startswith("^")


def test_an_unknown_name_is_a_name_error(kernel_from):
    kernel = kernel_from("def kernel(out):\n    tl.store(out, valeu)\n")
    with pytest.raises(NameError, match="'valeu' is not defined"):
        kernel[(1,)](np.zeros(4, np.float32))
