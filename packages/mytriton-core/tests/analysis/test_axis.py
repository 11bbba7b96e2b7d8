"""Axis information is checked against the values themselves: whatever is claimed must be true."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import mytriton as triton
import mytriton.language as tl
from mytriton.analysis.axis import axis_info
from mytriton.ir.parser import parse
from mytriton.ir.types import shape_of
from mytriton.ssa import SSAFunction, SSAOp, walk


def claims_hold(values, info):
    """Whether contiguity, divisibility and constancy are true of a block of integers."""
    values = np.atleast_1d(values)
    for axis in range(values.ndim):
        rows = np.moveaxis(values, axis, -1).reshape(-1, values.shape[axis])
        for length, step in ((info.contiguity[axis], 1), (info.constancy[axis], 0)):
            runs = rows.reshape(-1, length)
            assert (np.diff(runs, axis=1) == step).all(), (axis, length, step)
        firsts = rows[:, :: info.contiguity[axis]]
        assert (firsts % info.divisibility[axis] == 0).all(), (axis, info.divisibility[axis])
    if info.known is not None:
        assert (values == info.known).all()


def evaluate(function, params, pids):
    """The integer values of straight-line SSA, with NumPy."""
    env = {}

    def of(operand):
        if hasattr(operand, "value"):
            return np.int64(operand.value)
        return np.int64(params[operand.name]) if hasattr(operand, "name") else env[operand.id]

    for op in function.body:
        if not isinstance(op, SSAOp) or op.result is None:
            continue
        args = [of(o) for o in op.operands]
        env[op.result.id] = {
            "program_id": lambda: np.int64(pids[op.attrs["axis"]]),
            "arange": lambda: np.arange(op.attrs["start"], op.attrs["end"]),
            "add": lambda: args[0] + args[1],
            "sub": lambda: args[0] - args[1],
            "mul": lambda: args[0] * args[1],
            "expand_dims": lambda: np.expand_dims(args[0], op.attrs["axis"]),
            "full": lambda: np.full(op.attrs["shape"], args[0]),
            "zeros": lambda: np.zeros(op.attrs["shape"], int),
        }[op.opcode]()
    return env


INTEGER = ("program_id", "arange", "add", "sub", "mul", "expand_dims", "full", "zeros")
PIECES = st.sampled_from(["s", "t", "2", "4", "16", "3", "0", "1", "tl.program_id(0)"])
COLUMN = st.sampled_from(
    [
        "tl.arange(0, 16)[:, None]",
        "tl.arange(4, 20)[:, None]",
        "tl.arange(2, 18)[:, None]",
        "tl.full((16, 1), s, tl.int32)",
    ]
)
ROW = st.sampled_from(
    ["tl.arange(0, 8)[None, :]", "tl.zeros((1, 8), tl.int32)", "tl.arange(8, 16)[None, :]"]
)
EXPRESSIONS = st.recursive(
    st.one_of(PIECES, COLUMN, ROW),
    lambda inner: st.tuples(inner, st.sampled_from("+-*"), inner).map(
        lambda p: f"({p[0]} {p[1]} {p[2]})"
    ),
    max_leaves=7,
)


@settings(max_examples=150, deadline=None)
@given(
    expression=EXPRESSIONS, s=st.sampled_from([0, 8, 16, 48, 3]), t=st.sampled_from([1, 2, 4, 7])
)
def test_every_claim_is_true(kernels, expression, s, t):
    kernel = kernels(
        f"def kernel(out, s, t):\n    v = {expression} + 0 * s\n    tl.store(out + v, v)\n"
    )
    out = np.zeros(1, np.int32)
    compiled = kernel.compile(out, s, t)
    function = SSAFunction(
        "kernel", (), [i for i in compiled.unoptimised.body if i.opcode in INTEGER]
    )
    info = axis_info(function, {"s": (s & -s) or 1 << 20, "t": t & -t})
    for item in walk(function.body):
        assert len(info[item.result.id].contiguity) == max(1, len(shape_of(item.result.ty)))
    for pid in (0, 1, 5):
        values = evaluate(function, {"s": s, "t": t}, (pid, 0, 0))
        for number, value in values.items():
            ty = next(i.result.ty for i in walk(function.body) if i.result.id == number)
            claims_hold(np.broadcast_to(value, shape_of(ty) or (1,)), info[number])


@pytest.fixture(scope="module")
def kernels(tmp_path_factory):
    import importlib.util
    import itertools

    numbers = itertools.count()
    folder = tmp_path_factory.mktemp("axis")

    def make(text):
        name = f"axis_{next(numbers)}"
        path = folder / f"{name}.py"
        path.write_text(
            "import mytriton as triton\nimport mytriton.language as tl\n@triton.jit\n" + text
        )
        spec = importlib.util.spec_from_file_location(name, path)
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        return module.kernel

    return make


@triton.jit
def add_kernel(x, out, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + i, tl.load(x + i, mask=i < n), mask=i < n)


@triton.jit
def row_kernel(x, out, stride, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    tl.store(out + tl.program_id(0) * stride + i, tl.load(x + tl.program_id(0) * stride + i))


@triton.jit
def walk_kernel(x, out, n, BLOCK: tl.constexpr):
    p = x + tl.arange(0, BLOCK)
    total = tl.zeros((BLOCK,), tl.float32)
    for _i in range(n):
        total += tl.load(p)
        p = p + BLOCK
    tl.store(out + tl.arange(0, BLOCK), total)


def pointer_info(kernel, opcode, divisible_by, *args, **kwargs):
    function = kernel.compile(*args, **kwargs).function
    info = axis_info(function, divisible_by)
    item = next(i for i in walk(function.body) if i.opcode == opcode)
    return info[item.operands[0].id]


x = np.zeros(64, np.float32)


def test_a_blocked_offset_is_contiguous_and_aligned():
    found = pointer_info(add_kernel, "load", {"x": 16}, x, x, 64, BLOCK=64)
    assert (found.contiguity, found.divisibility) == ((64,), (16,))


def test_an_unaligned_pointer_spoils_alignment_not_contiguity():
    found = pointer_info(add_kernel, "load", {"x": 4}, x, x, 64, BLOCK=64)
    assert (found.contiguity, found.divisibility) == ((64,), (4,))


def test_a_row_stride_that_is_a_multiple_of_16_keeps_alignment():
    aligned = pointer_info(row_kernel, "load", {"x": 16, "stride": 16}, x, x, 16, BLOCK=16)
    loose = pointer_info(row_kernel, "load", {"x": 16}, x, x, 7, BLOCK=16)
    assert aligned.divisibility == (16,)
    assert loose.divisibility == (4,)


def test_a_carried_pointer_keeps_what_every_trip_keeps():
    found = pointer_info(walk_kernel, "load", {"x": 16}, x, x, 2, BLOCK=16)
    assert (found.contiguity, found.divisibility) == ((16,), (16,))


@triton.jit
def scatter_kernel(x, out, n):
    place = tl.arange(0, 16)
    p = x + place
    for _i in range(n):
        tl.store(p, tl.load(out + place))
        place = place * 8
        p = x + tl.arange(0, 16) * 8
    tl.store(out, n)


def test_runs_that_a_trip_breaks_up_count_with_all_their_elements():
    """The first trip has one run of 16, later ones 16 runs of one at multiples of 8: what is a multiple
    of 8 at the start of a run is none inside of it."""
    for opcode in ("load", "store"):
        found = pointer_info(scatter_kernel, opcode, {"x": 16, "out": 16}, x, x, 2)
        assert (found.contiguity, found.divisibility) == ((1,), (4,))


@pytest.mark.parametrize(
    ("condition", "n", "constancy"),
    [
        ("at < n", 48, 16),
        ("at < n", 50, 1),
        ("n < at", 48, 1),
        ("(at < n) & (at + 4 < n)", 48, 4),
        ("(at < n) & (at < 64)", 48, 16),
        ("at < 40", 48, 8),
    ],
)
def test_masks_that_agree_in_groups(kernels, condition, n, constancy):
    kernel = kernels(
        "def kernel(out, n, BLOCK: tl.constexpr):\n"
        "    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)\n"
        f"    tl.store(out + at, 1.0, mask={condition})\n"
    )
    function = kernel.compile(np.zeros(64, np.float32), n, BLOCK=64).function
    known = axis_info(function, {"n": 16 if n % 16 == 0 else 1})
    (store,) = [item for item in walk(function.body) if item.opcode == "store"]
    assert known[store.operands[2].id].constancy == (constancy,)
    at = np.arange(64)
    wanted = eval(condition, {"at": at, "n": n}).reshape(-1, constancy)
    assert (wanted == wanted[:, :1]).all()


def test_broadcasts_repeat_and_transpositions_exchange_axes():
    function = parse("""kernel k(x: ptr<f32>) {
  %0 = arange {start=0, end=16} : vector<16 x i32>
  %1 = expand_dims %0 {axis=0} : block<1x16 x i32>
  %2 = broadcast %1 {shape=(8, 16)} : block<8x16 x i32>
  %3 = trans %2 {order=(1, 0)} : block<16x8 x i32>
  %4 = addptr x, %3 : block<16x8 x ptr<f32>>
  store %4, 1.0, none
}
""")
    known = axis_info(function, {"x": 64})
    assert (known[2].contiguity, known[2].constancy) == ((1, 16), (8, 1))
    assert (known[3].contiguity, known[3].constancy) == ((16, 1), (1, 8))
    assert known[4].divisibility[0] == 64
