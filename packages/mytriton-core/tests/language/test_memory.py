"""``tl.load`` and ``tl.store``: masks, fallbacks, broadcasting, hints."""

import numpy as np
import pytest


def run(module_from, body, *arrays):
    names = ", ".join(f"p{k}" for k in range(len(arrays)))
    kernel = module_from(
        f"@triton.jit\ndef kernel({names}):\n    i = tl.arange(0, 8)\n{body}"
    ).kernel
    kernel.with_backend("interpreter")[(1,)](*arrays)


@pytest.mark.parametrize(
    ("other", "dtype", "want"),
    [
        ("", "float32", 0.0), (", other=1", "float32", 1.0), (", other=-1", "uint8", 255),
        (", other=2.7", "int32", 2), (", other=float('-inf')", "float16", -np.inf),
        (", other=True", "int16", 1), (", other=tl.load(p0)", "float32", 7.0),
        (", other=-tl.program_id(0) - 3", "float32", -3.0), (", 0.5", "float32", 0.5),
    ],
)  # fmt: skip
def test_lanes_that_are_masked_off_give_other(other, dtype, want, module_from):
    x, out = np.full(8, 7, dtype), np.zeros(8, dtype)
    run(module_from, f"    tl.store(p1 + i, tl.load(p0 + i, i < 4{other}))\n", x, out)
    np.testing.assert_array_equal(out, np.where(np.arange(8) < 4, x, np.array(want, dtype)))


def test_other_may_be_a_block(module_from):
    x, out = np.arange(8.0), np.zeros(8)
    run(module_from, "    tl.store(p1 + i, tl.load(p0 + i, mask=i % 2 == 0, other=-i))\n", x, out)
    np.testing.assert_array_equal(out, np.where(np.arange(8) % 2 == 0, x, -np.arange(8)))


@pytest.mark.parametrize(
    "mask", ["i & 1", "(i & 1).to(tl.int8)", "(i & 1).to(tl.uint64)", "i % 2 != 0"]
)
def test_an_integer_mask_holds_where_it_is_not_zero(mask, module_from):
    x, out = np.arange(8.0), np.zeros(8)
    body = f"    m = {mask}\n    tl.store(p1 + i, tl.load(p0 + i, mask=m, other=9), mask=m)\n"
    run(module_from, body, x, out)
    np.testing.assert_array_equal(out, np.where(np.arange(8) % 2 == 1, x, 0))


def test_masks_known_at_compile_time(module_from):
    x, out = np.arange(8.0) + 1, np.zeros(8)
    run(
        module_from,
        "    tl.store(p1 + i, tl.load(p0 + i, mask=False, other=3), mask=True)\n",
        x,
        out,
    )
    np.testing.assert_array_equal(out, [3] * 8)
    run(
        module_from,
        "    tl.store(p1 + i, tl.load(p0 + i, mask=None, other=None), mask=0)\n",
        x,
        out,
    )
    np.testing.assert_array_equal(out, [3] * 8)


def test_a_mask_with_more_lanes_repeats_what_is_loaded(module_from):
    x, out = np.arange(8.0), np.zeros((4, 8))
    body = (
        "    r = tl.arange(0, 4)\n"
        "    v = tl.load(p0 + i[None, :], mask=r[:, None] * 2 >= i[None, :], other=-1)\n"
        "    tl.store(p1 + r[:, None] * 8 + i[None, :], v)\n"
    )
    run(module_from, body, x, out)
    rows, cols = np.arange(4)[:, None], np.arange(8)[None, :]
    np.testing.assert_array_equal(out, np.where(rows * 2 >= cols, x[None, :], -1))


def test_values_and_masks_broadcast_to_the_pointer(module_from):
    out = np.zeros((4, 8), np.float32)
    body = (
        "    r = tl.arange(0, 4)\n"
        "    tl.store(p0 + r[:, None] * 8 + i[None, :], r[:, None], mask=i[None, :] < 3)\n"
    )
    run(module_from, body, out)
    np.testing.assert_array_equal(out, np.arange(4)[:, None] * (np.arange(8) < 3))


def test_hints_change_nothing(module_from):
    x, out = np.arange(8.0), np.zeros(8)
    body = (
        "    v = tl.load(p0 + i, i < 8, 0.0, (), '', '.cg', 'evict_last', True)\n"
        "    w = tl.load(p0 + i, cache_modifier='.ca', eviction_policy='evict_first', volatile=False)\n"
        "    tl.store(p1 + i, v + w, cache_modifier='.wb', eviction_policy='')\n"
    )
    run(module_from, body, x, out)
    np.testing.assert_array_equal(out, 2 * x)


def test_store_is_a_method_of_a_pointer(module_from):
    out = np.zeros(8, np.int32)
    run(module_from, "    (p0 + i).store(i, mask=i < 5)\n", out)
    np.testing.assert_array_equal(out, [0, 1, 2, 3, 4, 0, 0, 0])


def test_bools_are_one_byte_in_memory(module_from):
    x, out = np.array([True, False] * 4), np.zeros(8, bool)
    body = "    v = tl.load(p0 + i)\n    tl.store(p1 + i, v | (i == 1))\n"
    run(module_from, body, x, out)
    np.testing.assert_array_equal(out, x | (np.arange(8) == 1))
    assert set(out.view(np.uint8).tolist()) == {0, 1}


@pytest.mark.parametrize(
    ("statement", "message"),
    [
        ("tl.load(n)", "load needs a pointer, got i32; an array argument plus offsets is one"),
        ("tl.load(3)", "load needs a pointer, got 3 (int)"),
        ("tl.store(n, 1)", "store needs a pointer, got i32"),
        ("tl.load(p, other=1.0)", "load: other needs a mask"),
        ("tl.load(p, mask=f)", "the mask must be a bool or a block of bools, got f32"),
        ("tl.load(p, mask=p)", "the mask must be a bool or a block of bools, got ptr<f32>"),
        ("tl.load(p, mask='x')", "the mask must be a bool or a block of bools, got 'x'"),
        (
            "tl.load(p, mask=tl.arange(0, 4) < 2)",
            "load: the mask (vector<4 x bool>) does not broadcast",
        ),
        (
            "tl.load(p + tl.arange(0, 4), tl.arange(0, 8) < 2)",
            "shapes (4,) and (8,) do not broadcast",
        ),
        ("tl.store(p, tl.arange(0, 4))", "store: the value (vector<4 x f32>) does not broadcast"),
        ("tl.store(p + tl.arange(0, 4), 1.0, tl.arange(0, 4)[:, None] < 1)", "store: the mask"),
        ("tl.load(p, boundary_check=(0,))", "load: boundary_check needs a block pointer"),
        ("tl.load(p, padding_option='zero')", "load: padding_option needs a block pointer"),
        ("tl.store(p, 1.0, boundary_check=(0, 1))", "store: boundary_check needs a block pointer"),
        (
            "tl.load(p, cache_modifier='.xx')",
            "load: cache_modifier must be one of '', '.ca', '.cg'",
        ),
        ("tl.store(p, 1.0, eviction_policy='last')", "store: eviction_policy must be one of"),
        ("tl.load(p, volatile=n)", "load: volatile must be a compile-time bool, got i32"),
        (
            "tl.make_block_ptr(p)",
            "has no 'make_block_ptr' yet: it is not supported; compute the pointers",
        ),
        ("tl.atomic_add(p, 1.0)", "has no 'atomic_add' yet: it is not supported"),
    ],
)
def test_refusals(statement, message, refused):
    assert message in refused(statement, p=np.zeros(4, np.float32), n=3, f=1.5)
