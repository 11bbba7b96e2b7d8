"""Warp instructions: matrices in every supported shape, shuffles, votes, atomics."""

from __future__ import annotations

import numpy as np
import pytest

from .one import run

RNG = np.random.default_rng(0)
G, T = np.arange(32) >> 2, np.arange(32) & 3

SHAPES = {
    "m16n8k16.row.col.f32.f16.f16.f32": "f2", "m16n8k16.row.col.f16.f16.f16.f16": "f2",
    "m16n8k16.row.col.f32.bf16.bf16.f32": "bf", "m16n8k8.row.col.f32.f16.f16.f32": "f2",
    "m16n8k8.row.col.f16.f16.f16.f16": "f2", "m16n8k8.row.col.f32.bf16.bf16.f32": "bf",
    "m16n8k8.row.col.f32.tf32.tf32.f32": "f4", "m16n8k4.row.col.f32.tf32.tf32.f32": "f4",
    "m16n8k32.row.col.s32.s8.s8.s32": "i1", "m16n8k16.row.col.s32.s8.s8.s32": "i1",
    "m16n8k32.row.col.s32.u8.u8.s32": "u1",
}  # fmt: skip


def words(matrix: np.ndarray, kind: str) -> np.ndarray:
    """Rows of a matrix as 32-bit words along its second axis."""
    if kind == "bf":
        matrix = (matrix.astype("f4").view("u4") >> 16).astype("u2")
    return np.ascontiguousarray(matrix if kind == "bf" else matrix.astype(kind)).view("u4")


@pytest.mark.parametrize("shape", SHAPES)
def test_mma(shape: str) -> None:
    kind, packed = SHAPES[shape], ".f16.f16.f16.f16" in shape
    k = int(shape.split(".")[0].split("k")[1])
    low = 0 if kind == "u1" else -5
    a, b = RNG.integers(low, 6, (16, k)), RNG.integers(low, 6, (k, 8))
    c = RNG.integers(-9, 9, (16, 8))
    # As the PTX manual draws the fragments: rows g and g + 8, words t, t + 4, ...
    aw, bw = words(a, kind), words(b.T.copy(), kind)
    pieces = aw.shape[1] // 4
    fa = np.stack([aw[G + 8 * row, T + 4 * half] for half in range(pieces) for row in (0, 1)], 1)
    fb = np.stack([bw[G, T + 4 * half] for half in range(pieces)], 1)
    dtype = "f2" if packed else "i4" if "s32" in shape else "f4"
    fc = np.stack([c[G + 8 * (i >> 1), 2 * T + (i & 1)] for i in range(4)], 1).astype(dtype)
    fd = np.zeros_like(fc)
    na, nb, nc = fa.shape[1], fb.shape[1], 2 if packed else 4

    def load(names: list[str], pointer: int) -> str:
        size = 4 * len(names)
        return f"mad.wide.u32 %a1, %t, {size}, %p{pointer};" + "".join(
            f"ld.global.b32 {name}, [%a1+{4 * at}];" for at, name in enumerate(names)
        )

    ra, rb = [f"%r{1 + i}" for i in range(na)], [f"%r{8 + i}" for i in range(nb)]
    rc, rd = [f"%r{12 + i}" for i in range(nc)], [f"%r{20 + i}" for i in range(nc)]
    braces = ["{" + ", ".join(each) + "}" for each in (rd, ra, rb, rc)]
    body = load(ra, 0) + load(rb, 1) + load(rc, 2)
    body += f"mma.sync.aligned.{shape} {', '.join(braces)}; mad.wide.u32 %a1, %t, {4 * nc}, %p3;"
    body += "".join(f"st.global.b32 [%a1+{4 * at}], {name};" for at, name in enumerate(rd))
    counters = run(body + "ret;", fa, fb, fc, fd)
    assert counters.matrix_instructions == 1
    d = np.zeros((16, 8))
    for i in range(4):
        d[G + 8 * (i >> 1), 2 * T + (i & 1)] = fd[:, i]
    np.testing.assert_array_equal(d, a @ b + c)


@pytest.mark.parametrize("count", [1, 2, 4])
@pytest.mark.parametrize("trans", [False, True])
def test_ldmatrix(count: int, trans: bool) -> None:
    tile = np.arange(8 * count * 8, dtype="u2").reshape(count, 8, 8)
    out = np.zeros((32, count), "u4")
    names = [f"%r{10 + i}" for i in range(count)]
    body = f""".shared .align 16 .b8 s[512]; mov.u32 %r1, s; setp.lt.u32 %q1, %t, {8 * count};
    mad.wide.u32 %a1, %t, 16, %p0; mad.lo.u32 %r2, %t, 16, %r1;
    @%q1 ld.global.v4.b32 {{%r3, %r4, %r5, %r6}}, [%a1];
    @%q1 st.shared.v4.b32 [%r2], {{%r3, %r4, %r5, %r6}}; bar.sync 0; @!%q1 mov.u32 %r2, %r1;
    ldmatrix.sync.aligned.m8n8.x{count}{".trans" if trans else ""}.shared.b16
        {{{", ".join(names)}}}, [%r2]; mad.wide.u32 %a2, %t, {4 * count}, %p1;"""
    body += "".join(f"st.global.b32 [%a2+{4 * at}], {name};" for at, name in enumerate(names))
    run(body + "ret;", tile, out)
    seen = tile.swapaxes(1, 2) if trans else tile
    for at in range(count):
        wanted = np.stack([seen[at][G, 2 * T], seen[at][G, 2 * T + 1]], 1)
        np.testing.assert_array_equal(out[:, at].copy().view("u2").reshape(32, 2), wanted)


def shuffled(mode: str, by: int, clamp: int) -> list[tuple[int, bool]]:
    """The manual's pseudocode."""
    result = []
    segment, bound = clamp >> 8 & 31, clamp & 31
    for lane in range(32):
        top = (lane & segment) | (bound & ~segment)
        low = lane & segment
        source, ok = {
            "up": (lane - by, lane - by >= top),
            "down": (lane + by, lane + by <= top),
            "bfly": (lane ^ by, lane ^ by <= top),
            "idx": (low | (by & ~segment), (low | (by & ~segment)) <= top),
        }[mode]
        result.append((source if ok else lane, ok))
    return result


@pytest.mark.parametrize("mode", ["up", "down", "bfly", "idx"])
def test_shuffles(mode: str) -> None:
    for by, width in ((1, 32), (3, 16), (5, 8), (2, 4), (17, 32)):
        clamp = (32 - width) << 8 | (0 if mode == "up" else 31)
        out = np.zeros((32, 2), "u4")
        run(
            f"""mul.lo.u32 %r1, %t, 10; shfl.sync.{mode}.b32 %r2|%q1, %r1, {by}, {clamp}, -1;
        selp.b32 %r3, 1, 0, %q1; mad.wide.u32 %a1, %t, 8, %p0;
        st.global.v2.b32 [%a1], {{%r2, %r3}}; ret;""",
            out,
        )
        assert out.tolist() == [[10 * s, ok] for s, ok in shuffled(mode, by & 31, clamp)]


def test_match_and_masks() -> None:
    out = np.zeros((32, 4), "u4")
    run(
        """and.b32 %r1, %t, 3; match.any.sync.b32 %r2, %r1, -1; match.all.sync.b32 %r3|%q1, %r1, -1;
    mov.u32 %r4, %lanemask_lt; vote.sync.uni.pred %q2, %q1, -1; selp.b32 %r5, 1, 0, %q2;
    mad.wide.u32 %a1, %t, 16, %p0; st.global.v4.b32 [%a1], {%r2, %r3, %r4, %r5}; ret;""",
        out,
    )
    for lane in range(32):
        assert out[lane].tolist() == [0x11111111 << (lane & 3), 0, (1 << lane) - 1, 1]


def test_partial_masks() -> None:
    out = np.zeros((32, 2), "u4")
    run(
        """setp.lt.u32 %q1, %t, 8; mov.u32 %r4, 0xFFFFFF00; mov.u32 %r5, 0xFF;
    selp.b32 %r1, %r5, %r4, %q1; redux.sync.add.u32 %r2, %t, %r1;
    and.b32 %r6, %t, 1; setp.eq.u32 %q2, %r6, 0; vote.sync.ballot.b32 %r3, %q2, %r1;
    mad.wide.u32 %a1, %t, 8, %p0; st.global.v2.b32 [%a1], {%r2, %r3}; ret;""",
        out,
    )
    assert out[0].tolist() == [28, 0x55]
    assert out[31].tolist() == [496 - 28, 0x55555500]


ATOMICS = {
    "add.u32": ("u4", lambda old, x, i: old + x), "min.s32": ("i4", lambda old, x, i: min(old, x)),
    "max.u32": ("u4", lambda old, x, i: max(old, x)), "xor.b32": ("u4", lambda old, x, i: old ^ x),
    "and.b32": ("u4", lambda old, x, i: old & x), "or.b32": ("u4", lambda old, x, i: old | x),
    "exch.b32": ("u4", lambda old, x, i: x), "add.f32": ("f4", lambda old, x, i: old + x),
    "inc.u32": ("u4", lambda old, x, i: 0 if old >= x else old + 1),
    "dec.u32": ("u4", lambda old, x, i: x if old == 0 or old > x else old - 1),
    "add.u64": ("u8", lambda old, x, i: old + x), "add.f64": ("f8", lambda old, x, i: old + x),
    "add.noftz.f16": ("f2", lambda old, x, i: old + x),
}  # fmt: skip


@pytest.mark.parametrize("name", ATOMICS)
def test_atomics(name: str) -> None:
    dtype, update = ATOMICS[name]
    x, memory = RNG.integers(1, 9, 64).astype(dtype), np.zeros(4, dtype)
    old = np.zeros(64, dtype)
    size, bits = x.itemsize, f"b{x.itemsize * 8}"
    names = {2: "%h1 %h2", 4: "%r1 %r2", 8: "%a8 %a9"}[size].split()
    body = f"""mad.wide.u32 %a1, %t, {size}, %p0; ld.global.{bits} {names[0]}, [%a1];
    and.b32 %r9, %t, 3; mad.wide.u32 %a2, %r9, {size}, %p1;
    atom.global.{name} {names[1]}, [%a2], {names[0]};
    mad.wide.u32 %a3, %t, {size}, %p2; st.global.{bits} [%a3], {names[1]}; ret;"""
    run(body, x, memory, old, block=64)
    wanted, seen = np.zeros(4, dtype).tolist(), []
    for i, value in enumerate(x.tolist()):
        seen.append(wanted[i & 3])
        wanted[i & 3] = update(wanted[i & 3], value, i)
    assert memory.tolist() == wanted
    assert old.tolist() == seen


def test_shared_atomics_and_cas() -> None:
    out = np.zeros(64, "u4")
    run(
        """.shared .align 4 .b8 s[8]; mov.u32 %r1, s; setp.ne.u32 %q1, %t, 0;
    @!%q1 st.shared.v2.b32 [%r1], {%t, %t}; bar.sync 0; atom.shared.cas.b32 %r2, [%r1], %t, 64;
    red.shared.add.u32 [%r1+4], 2; bar.sync 0; ld.shared.b32 %r3, [%r1+4]; add.u32 %r3, %r3, %r2;
    mad.wide.u32 %a1, %t, 4, %p0; st.global.b32 [%a1], %r3; ret;""",
        out,
        block=64,
    )
    assert out.tolist() == [128] + [192] * 63


def test_asynchronous_copies() -> None:
    """Source sizes below the copy's fill with zeros; wait_all needs no commit."""
    x, out = np.arange(32 * 4, dtype="u4") + 1, np.zeros(32 * 4, "u4")
    run(
        """.shared .align 16 .b8 s[512]; mov.u32 %r1, s; mad.lo.u32 %r1, %t, 16, %r1;
    mad.wide.u32 %a1, %t, 16, %p0; and.b32 %r2, %t, 3; shl.b32 %r2, %r2, 2;
    cp.async.ca.shared.global [%r1], [%a1], 16, %r2; cp.async.wait_all;
    ld.shared.v4.b32 {%r3, %r4, %r5, %r6}, [%r1]; mad.wide.u32 %a2, %t, 16, %p1;
    st.global.v4.b32 [%a2], {%r3, %r4, %r5, %r6}; ret;""",
        x,
        out,
    )
    keep = np.arange(4)[None, :] < (np.arange(32) & 3)[:, None]
    np.testing.assert_array_equal(out.reshape(32, 4), np.where(keep, x.reshape(32, 4), 0))
