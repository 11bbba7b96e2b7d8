"""Launching: arguments, grids, results, caching, threads."""

import threading
import traceback
import warnings

import numpy as np
import pytest

import mytriton as triton
import mytriton.language as tl
from mytriton.errors import ArgumentError, GridError


@triton.jit
def store_kernel(out, value):
    tl.store(out, value)


@triton.jit
def copy_kernel(x, out, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + i, tl.load(x + i, mask=i < n), mask=i < n)


@triton.jit
def double_kernel(x, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(x + i, tl.load(x + i, mask=i < n) * 2, mask=i < n)


def types_of(kernel, *args, **kwargs):
    return {p.name: str(p.ty) for p in kernel.compile(*args, **kwargs).function.params}


class TestScalars:
    @pytest.mark.parametrize(
        ("value", "expected"),
        [
            (1, "i32"), (-(2**31), "i32"), (2**31 - 1, "i32"), (2**31, "i64"), (-(2**63), "i64"),
            (1.5, "f32"), (True, "bool"), (np.int8(3), "i32"), (np.uint64(7), "i32"),
            (np.int64(2**40), "i64"), (np.float64(2.0), "f32"), (np.float16(2.0), "f32"),
            (np.bool_(True), "bool"),
        ],
    )  # fmt: skip
    def test_type_of_a_scalar(self, value, expected):
        assert types_of(store_kernel, np.zeros(1), value)["value"] == expected

    @pytest.mark.parametrize("value", [2**63, 2**70, -(2**63) - 1])
    def test_an_int_beyond_64_bits_is_refused(self, value):
        with pytest.raises(
            OverflowError, match=f"argument 'value': the integer {value} does not fit"
        ):
            store_kernel[(1,)](np.zeros(1, np.int64), value)

    def test_a_large_int_never_wraps(self):
        out = np.zeros(1, np.int64)
        store_kernel[(1,)](out, 2**40 + 1)
        assert out[0] == 2**40 + 1

    @pytest.mark.parametrize(
        ("value", "message"),
        [
            ([1, 2], "convert it with numpy.asarray"),
            ("text", "annotated tl.constexpr"), (1j, "complex"), (object(), "neither an array nor a number"),
        ],
    )  # fmt: skip
    def test_what_is_no_argument_is_refused_by_name(self, value, message):
        with pytest.raises(TypeError, match=f"argument 'value': .*{message}"):
            store_kernel[(1,)](np.zeros(1), value)


@triton.jit
def scaled_kernel(x, scale, out, n):
    value = tl.load(x + n)
    if scale is not None:
        value = value * tl.load(scale)
    tl.store(out, value)


class TestNone:
    """``None`` for any parameter is known at compile time."""

    def test_array_or_none(self):
        x, out = np.array([3.0, 5.0], np.float32), np.zeros(1, np.float32)
        for scale, expected in ((None, 5.0), (np.full(1, 2, np.float32), 10.0), (None, 5.0)):
            scaled_kernel[(1,)](x, scale, out, 1)
            assert out[0] == expected

    def test_arguments_after_it_are_the_right_ones(self):
        x, out = np.array([3.0, 5.0], np.float32), np.zeros(1, np.float32)
        for n in (0, 1):
            scaled_kernel.with_backend("interpreter")[(1,)](x, None, out, n)
            assert out[0] == x[n]

    def test_use_of_it_is_an_error_at_its_place(self):
        with pytest.raises(triton.CompilationError, match="None"):
            scaled_kernel[(1,)](None, None, np.zeros(1, np.float32), 0)


class TestArrays:
    @pytest.mark.parametrize(
        "dtype",
        [
            "bool",
            "int8",
            "int16",
            "int32",
            "int64",
            "uint8",
            "uint16",
            "uint32",
            "uint64",
            "float16",
            "float32",
            "float64",
        ],
    )
    def test_every_dtype_copies(self, dtype):
        x = np.arange(10).astype(dtype)
        out = np.zeros_like(x)
        copy_kernel[(3,)](x, out, 10, BLOCK=4)
        np.testing.assert_array_equal(out, x)

    def test_bfloat16_arrays_of_ml_dtypes(self):
        ml_dtypes = pytest.importorskip("ml_dtypes")
        x = np.array([1.0, 2.5, -3.0], ml_dtypes.bfloat16)
        double_kernel[(1,)](x, 3, BLOCK=4)
        np.testing.assert_array_equal(x.astype(np.float32), [2.0, 5.0, -6.0])

    def test_a_view_with_negative_strides_gives_its_base_address(self):
        x = np.arange(8, dtype=np.float32)[::-1]
        out = np.zeros(1, np.float32)

        @triton.jit
        def kernel(x, out, stride):
            tl.store(out, tl.load(x + 3 * stride))

        kernel[(1,)](x, out, -1)
        assert out[0] == x[3]

    def test_a_zero_dimensional_array_is_a_pointer(self):
        out = np.array(0.0, np.float32)
        store_kernel[(1,)](out, 2.0)
        assert out == 2.0

    def test_an_empty_array_can_be_masked_off(self):
        x = np.zeros(0, np.float32)
        copy_kernel[(1,)](x, x, 0, BLOCK=4)

    def test_an_empty_array_cannot_be_read(self):
        with pytest.raises(IndexError, match=r"load of x\[0\]"):
            copy_kernel[(1,)](np.zeros(0, np.float32), np.zeros(4, np.float32), 4, BLOCK=4)

    @pytest.mark.parametrize(
        ("array", "message"),
        [
            (np.zeros(4, ">f4"), "byte order"), (np.zeros(4, object), "dtype object"),
            (np.zeros(4, "c8"), "dtype complex64"), (np.zeros(4, "U3"), "dtype"),
            (np.zeros(4, "M8[s]"), "dtype datetime64"),
        ],
    )  # fmt: skip
    def test_dtypes_without_a_type_are_refused(self, array, message):
        with pytest.raises(TypeError, match=f"argument 'out': .*{message}"):
            store_kernel[(1,)](array, 1)

    def test_a_read_only_array_may_be_loaded_from(self):
        x = np.ones(4, np.float32)
        x.flags.writeable = False
        out = np.zeros(4, np.float32)
        copy_kernel[(1,)](x, out, 4, BLOCK=4)
        np.testing.assert_array_equal(out, 1)

    def test_storing_to_a_read_only_array_is_refused_before_anything_runs(self):
        x = np.ones(4, np.float32)
        double_kernel[(1,)](x, 4, BLOCK=4)
        x.flags.writeable = False
        with pytest.raises(
            TypeError, match="argument 'x' is read-only, but kernel 'double_kernel'"
        ):
            double_kernel[(1,)](x, 4, BLOCK=4)
        np.testing.assert_array_equal(x, 2)

    def test_out_of_bounds_names_argument_and_line(self):
        with pytest.raises(IndexError) as caught:
            copy_kernel[(1,)](np.zeros(2, np.float32), np.zeros(4, np.float32), 4, BLOCK=4)
        assert "load of x[2] in program (0, 0, 0)" in str(caught.value)
        assert "test_launch.py" in str(caught.value)

    def test_gaps_without_their_stride_warn_once(self):
        @triton.jit
        def kernel(x, out):
            tl.store(out, tl.load(x))

        x, out = np.zeros((4, 8), np.float32)[:, ::2], np.zeros(1, np.float32)
        with pytest.warns(UserWarning, match="argument 'x' has strides"):
            kernel[(1,)](x, out)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            kernel[(1,)](x, out)
            kernel[(1,)](x.astype(np.float64)[:, ::2], out)

    def test_gaps_with_their_stride_do_not_warn(self):
        @triton.jit
        def kernel(x, out, stride):
            tl.store(out, tl.load(x + stride))

        x = np.zeros((4, 8), np.float32)[:, :3]
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            kernel[(1,)](x, np.zeros(1, np.float32), 8)

    def test_objects_with_an_array_interface(self):
        class Wrapper:
            def __init__(self, array):
                self.__array_interface__ = array.__array_interface__
                self.array = array

        out = np.zeros(1, np.float32)
        store_kernel[(1,)](Wrapper(out), 3.0)
        assert out[0] == 3.0

    def test_objects_with_cpu_dlpack(self):
        class Wrapper:
            def __init__(self, array):
                self.array = array

            def __dlpack__(self, **kwargs):
                return self.array.__dlpack__(**kwargs)

            def __dlpack_device__(self):
                return self.array.__dlpack_device__()

        out = np.zeros(4, np.float32)
        copy_kernel[(1,)](Wrapper(np.full(4, 3, np.float32)), out, 4, BLOCK=4)
        np.testing.assert_array_equal(out, 3)


class TestConstexpr:
    def test_types_are_exact(self):
        @triton.jit
        def kernel(out, V: tl.constexpr):
            tl.store(out, 1.0 if V is True else 2.0)

        out = np.zeros(1, np.float32)
        for value, expected in [(1, 2.0), (True, 1.0), (1.0, 2.0), (True, 1.0)]:
            kernel[(1,)](out, V=value)
            assert out[0] == expected
        assert len(kernel.specialisations) == 3

    def test_signed_zeros_differ(self):
        @triton.jit
        def kernel(out, V: tl.constexpr):
            tl.store(out, V)

        out = np.zeros(1, np.float32)
        kernel[(1,)](out, V=0.0)
        assert not np.signbit(out[0])
        kernel[(1,)](out, V=-0.0)
        assert np.signbit(out[0])

    def test_nan_is_keyed_by_its_bits(self):
        @triton.jit
        def kernel(out, V: tl.constexpr):
            tl.store(out, V)

        out = np.zeros(1, np.float32)
        kernel[(1,)](out, V=float("nan"))
        kernel[(1,)](out, V=float("nan"))
        assert np.isnan(out[0])
        assert len(kernel.specialisations) == 1

    @pytest.mark.parametrize("value", [[1], {"a": 1}, {1}, np.zeros(2)])
    def test_unhashable_values_are_refused(self, value):
        with pytest.raises(
            TypeError, match="argument 'BLOCK' is a tl.constexpr and must be hashable"
        ):
            copy_kernel[(1,)](np.zeros(4), np.zeros(4), 4, BLOCK=value)

    def test_numpy_ints_become_ints(self):
        out = np.zeros(4, np.float32)
        copy_kernel[(1,)](np.ones(4, np.float32), out, 4, BLOCK=np.int64(4))
        np.testing.assert_array_equal(out, 1)

    def test_a_runtime_value_where_a_constant_is_needed_says_so(self, kernel_from):
        kernel = kernel_from(
            "def kernel(out, BLOCK):\n    tl.store(out + tl.arange(0, BLOCK), 1.0)\n"
        )
        with pytest.raises(TypeError, match="declare the parameter as tl.constexpr"):
            kernel[(1,)](np.zeros(4, np.float32), 4)


class TestBinding:
    def test_missing_and_unknown_arguments(self):
        with pytest.raises(TypeError, match="missing 1 required positional argument: 'value'"):
            store_kernel[(1,)](np.zeros(1))
        with pytest.raises(
            TypeError, match="unexpected keyword argument 'vlaue'.*parameters and launch"
        ):
            store_kernel[(1,)](np.zeros(1), vlaue=1)

    @pytest.mark.parametrize(
        "name", ["v0", "threadIdx", "int", "lambda_", "_", "exp", "defaults", "bind", "none"]
    )
    def test_any_name_can_be_a_parameter(self, name, kernel_from):
        kernel = kernel_from(f"def kernel(out, {name}):\n    tl.store(out, {name} + 1)\n")
        out = np.zeros(1, np.int32)
        kernel[(1,)](out, **{name: 4})
        assert out[0] == 5

    def test_launch_options_are_accepted(self):
        out = np.zeros(1, np.float32)
        store_kernel[(1,)](out, 1.0, num_warps=4, num_stages=2)
        assert out[0] == 1.0

    def test_a_parameter_may_be_called_like_a_launch_option(self, kernel_from):
        kernel = kernel_from(
            "def kernel(out, num_warps: tl.constexpr):\n    tl.store(out, num_warps)\n"
        )
        out = np.zeros(1, np.int32)
        kernel[(1,)](out, num_warps=8)
        assert out[0] == 8

    def test_calling_a_kernel_without_a_grid_says_how(self):
        with pytest.raises(TypeError, match=r"store_kernel\[grid\]"):
            store_kernel(np.zeros(1), 1)


class TestGrid:
    @pytest.mark.parametrize(
        "grid", [4, (4,), [4], (2, 2), (2, 1, 2), (np.int64(4),), lambda meta: 4]
    )
    def test_every_program_runs(self, grid):
        @triton.jit
        def kernel(out):
            i = tl.program_id(0) + tl.program_id(1) * 2 + tl.program_id(2) * 2
            tl.store(out + i, 1)

        out = np.zeros(4, np.int32)
        kernel[grid](out)
        np.testing.assert_array_equal(out, 1)

    @pytest.mark.parametrize("grid", [0, (0,), (4, 0), (0, 0, 0)])
    def test_a_zero_dimension_launches_nothing(self, grid):
        out = np.zeros(1, np.float32)
        store_kernel[grid](out, 1.0)
        assert out[0] == 0

    @pytest.mark.parametrize(
        "grid",
        [
            -1,
            (-1,),
            (1, -2),
            1.0,
            (2.0,),
            True,
            (True,),
            (),
            (1, 1, 1, 1),
            None,
            "4",
            (None,),
            np.bool_(True),
            2**31,
            (2**31,),
            (1, 2**64),
            (2**31 - 1,) * 3,
        ],
    )
    def test_malformed_grids_are_a_value_error(self, grid):
        with pytest.raises(ValueError, match="grid"):
            store_kernel[grid](np.zeros(1), 1)

    def test_meta_answers_arguments_and_options_too(self):
        seen = {}

        def grid(meta):
            seen.update(
                n=meta["n"], BLOCK=meta["BLOCK"], warps=meta.get("num_warps"), none=meta.get("zzz")
            )
            with pytest.raises(KeyError, match="no argument of the kernel"):
                meta["zzz"]
            return 1

        copy_kernel[grid](np.zeros(4), np.zeros(4), 4, BLOCK=4, num_warps=2)
        assert seen == {"n": 4, "BLOCK": 4, "warps": 2, "none": None}

    def test_an_error_in_a_grid_function_is_the_users_own(self):
        def grid(meta):
            raise ZeroDivisionError("mine")

        with pytest.raises(ZeroDivisionError, match="mine"):
            store_kernel[grid](np.zeros(1), 1)

    def test_grid_error_is_a_value_error(self):
        assert issubclass(GridError, ValueError)


class TestResult:
    def test_it_unpacks_into_three_views(self):
        expression_ops, ssa_ops, src = store_kernel[(1,)](np.zeros(1, np.float32), 1.0)
        assert [type(op).__name__ for op in expression_ops] == ["Store"]
        assert [op.opcode for op in ssa_ops] == ["store"]
        assert src.startswith("kernel store_kernel(out: ptr<f32>, value: f32) {")

    def test_it_says_who_ran_it(self):
        result = store_kernel[(1,)](np.zeros(1, np.float32), 1.0)
        assert (result.backend, result.launched) == ("interpreter", True)
        assert repr(result) == "<store_kernel on interpreter: launched>"
        assert len(result) == 3


class TestCache:
    def test_equal_kinds_of_arguments_compile_once(self):
        @triton.jit
        def kernel(out, n):
            tl.store(out, n)

        for value in (1, 2, 3):
            kernel[(1,)](np.zeros(1, np.int32), value)
        assert len(kernel.specialisations) == 1
        kernel[(1,)](np.zeros(1, np.int64), 1)
        kernel[(1,)](np.zeros(1, np.int64), 2**40)
        assert len(kernel.specialisations) == 3
        kernel.clear_cache()
        assert len(kernel.specialisations) == 0

    def test_the_optimisation_level_is_read_at_each_launch(self, monkeypatch):
        @triton.jit
        def kernel(out, n):
            tl.store(out, n + 0)

        out = np.zeros(1, np.int32)
        assert len(kernel[(1,)](out, 1).ssa_ops) == 1
        monkeypatch.setenv("MYTRITON_OPT_LEVEL", "0")
        assert len(kernel[(1,)](out, 1).ssa_ops) == 2
        monkeypatch.setenv("MYTRITON_OPT_LEVEL", "3")
        with pytest.raises(TypeError, match="MYTRITON_OPT_LEVEL must be 0 or 1, got '3'"):
            kernel[(1,)](out, 1)

    def test_the_decorator_can_fix_the_level(self):
        @triton.jit(opt_level=0)
        def kernel(out, n):
            tl.store(out, n + 0)

        assert len(kernel[(1,)](np.zeros(1, np.int32), 1).ssa_ops) == 2
        with pytest.raises(TypeError, match="opt_level must be 0 or 1"):
            triton.jit(opt_level=2)(kernel.fn)


class TestThreads:
    def test_threads_compile_and_launch_at_once(self):
        @triton.jit
        def kernel(x, out, n, BLOCK: tl.constexpr):
            i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
            tl.store(out + i, tl.load(x + i, mask=i < n) + BLOCK, mask=i < n)

        failures = []
        start = threading.Barrier(8)

        def work(number):
            try:
                start.wait()
                for k in range(10):
                    block = 2 ** (1 + (number + k) % 5)
                    x = np.full(100, number, np.float32)
                    out = np.zeros(100, np.float32)
                    kernel[(triton.cdiv(100, block),)](x, out, 100, BLOCK=block)
                    np.testing.assert_array_equal(out, number + block)
            except BaseException as error:
                failures.append(error)

        threads = [threading.Thread(target=work, args=(i,)) for i in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert failures == []
        assert len(kernel.specialisations) == 5


class TestErrors:
    def test_the_traceback_shows_the_users_line_first_and_no_compiler(self):
        try:
            store_kernel[(1,)](np.zeros(1), "text")
        except ArgumentError as error:
            frames = traceback.extract_tb(error.__traceback__)
        assert frames[0].filename == __file__
        assert len(frames) == 2

    def test_numpy_warnings_do_not_leak(self):
        @triton.jit
        def kernel(x, out):
            v = tl.load(x)
            tl.store(out, tl.exp(v) / 0.0 + (v - v) / (v - v))

        with warnings.catch_warnings():
            warnings.simplefilter("error")
            kernel[(1,)](np.full(1, 1000, np.float32), np.zeros(1, np.float32))


class TestCopies:
    def test_results_copy_to_themselves(self):
        import copy

        result = store_kernel[(1,)](np.zeros(1, np.float32), 1.0)
        assert copy.copy(result) is result
        assert copy.deepcopy(result) is result

    def test_a_result_says_why_it_is_not_pickled(self):
        import pickle

        result = store_kernel[(1,)](np.zeros(1, np.float32), 1.0)
        with pytest.raises(TypeError, match="cannot be pickled; str"):
            pickle.dumps(result)

    def test_expression_lists_pickle_however_deep(self):
        import pickle

        @triton.jit
        def kernel(out, n, N: tl.constexpr):
            v = n
            for _i in tl.static_range(N):
                v = v + n
            for i in range(n):
                v += i
            tl.store(out, v)

        ops = kernel.trace(np.zeros(1, np.int32), 1, N=3000).ops
        assert pickle.loads(pickle.dumps(ops)) == ops
        assert pickle.loads(pickle.dumps(ops[0])) == ops[0]


@pytest.mark.parametrize("value", [[4], "4", 0, -1, 2.5, True])
def test_launch_options_are_positive_ints(value):
    with pytest.raises(TypeError, match="num_warps must be a positive int"):
        store_kernel[(1,)](np.zeros(1), 1.0, num_warps=value)
    with pytest.raises(TypeError, match="num_warps must be a positive int"):
        store_kernel.inspect("f32[1]", 1.0, num_warps=value)
    with pytest.raises(TypeError, match="num_warps must be a positive int"):
        store_kernel.emit(backend="interpreter", out="f32[1]", value=1.0, num_warps=value)


def test_a_backend_is_named_by_text():
    with pytest.raises(TypeError, match="by name or by a list of names, got 3"):
        store_kernel.with_backend(3)
    out = np.zeros(1, np.float32)
    store_kernel.with_backend(["interpreter"])[(1,)](out, 2.0)
    assert out[0] == 2.0


def test_signalling_nans_do_not_hide_elements():
    @triton.jit
    def kernel(x, out):
        v = tl.load(x + tl.arange(0, 4))
        tl.store(out, tl.max(v))
        tl.store(out + 1, tl.min(v))

    bits = np.array(
        [0x7F800000, 0x7FA00001, 0xC2950000, 0x3F800000], np.uint32
    )  # inf, sNaN, -74.5, 1
    out = np.zeros(2, np.float32)
    kernel[(1,)](bits.view(np.float32), out)
    np.testing.assert_array_equal(out, [np.inf, -74.5])


def test_changing_the_lists_of_a_result_changes_nothing_else():
    result = store_kernel[(1,)](np.zeros(1, np.float32), 1.0)
    result.ssa_ops.clear()
    result.expression_ops.clear()
    assert [len(view) for view in store_kernel[(1,)](np.zeros(1, np.float32), 1.0)[:2]] == [1, 1]


def test_a_masked_array_is_refused():
    with pytest.raises(TypeError, match="masked array would lose its mask"):
        store_kernel[(1,)](np.ma.masked_array([1.0], [True]), 1.0)


def test_a_bfloat16_scalar_is_a_float():
    ml_dtypes = pytest.importorskip("ml_dtypes")
    out = np.zeros(1, np.float32)
    store_kernel[(1,)](out, ml_dtypes.bfloat16(2.5))
    assert out[0] == 2.5


def test_a_union_with_constexpr_is_compile_time(module_from):
    module = module_from(
        "from __future__ import annotations\nimport mytriton as triton\nimport mytriton.language as tl\n"
        "@triton.jit\ndef kernel(out, B: tl.constexpr | None):\n    tl.store(out + tl.arange(0, B), 1.0)\n",
        imports=False,
    )
    out = np.zeros(4, np.float32)
    module.kernel[(1,)](out, 4)
    np.testing.assert_array_equal(out, 1.0)


def test_grid_functions_that_do_not_fit():
    kernel = store_kernel.with_backend("interpreter")
    with pytest.raises(
        ArgumentError, match="the grid function cannot be called so: .*takes 0"
    ) as e:
        kernel[lambda: (1,)](np.zeros(1), 1.0)
    assert len(e.traceback) == 2
    with pytest.raises(KeyError, match="'m' is no argument of the kernel; known: out, value") as e:
        kernel[lambda meta: (meta["m"],)](np.zeros(1), 1.0)
    assert [entry.path.name for entry in e.traceback] == [
        "test_launch.py",
        "jit.py",
        "test_launch.py",
    ]
