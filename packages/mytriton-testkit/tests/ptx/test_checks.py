"""Seeded bugs: each check finds its own, says where, and leaves correct kernels alone."""

from __future__ import annotations

import re

import numpy as np
import pytest

from mytriton_testkit.ptx import Checks, Device, PtxCheckError, PtxError, load_module

from . import cases
from .one import kernel, run

F4 = np.float32


def fails(kind: str, text: str = ""):
    return pytest.raises(PtxCheckError, match=f"^{kind}: (?s:.*){text}")


# ---------------------------------------------------------------------- real kernels, spoiled


LENGTHS = (1, 2, 3, 4, 5, 6, 8)


def replaced(name: str, at: int, new: str) -> str:
    lines = cases.text(name).split("\n")
    return "\n".join([*lines[:at], new, *lines[at + 1 :]])


def mutants(name: str, pattern: str, wanted=lambda name, at: True) -> list[tuple[str, str]]:
    """The kernel without each line that has a pattern in turn."""
    lines = cases.text(name).split("\n")
    found = [at for at, line in enumerate(lines) if re.search(pattern, line) and wanted(name, at)]
    return [(f"{name}:{at + 1}", replaced(name, at, "")) for at in found]


def reached(name: str, at: int) -> bool:
    """Whether a line of the pipeline ever runs; unrolling leaves some that cannot."""
    module = load_module(replaced(name, at, "trap;"))
    for tiles in LENGTHS:
        try:
            cases.pipeline(module, Checks.none(), tiles)
        except PtxCheckError:
            return True
    return False


@pytest.mark.parametrize(
    ("name", "text"),
    [
        pytest.param(name, text, id=label)
        for name in ("softmax", "tree_sum", "tiled", "spaces", "histogram")
        for label, text in mutants(name, r"bar\.sync")
    ],
)
def test_dropped_barrier(name: str, text: str) -> None:
    with pytest.raises(PtxCheckError) as caught:
        cases.CASES[name](load_module(text), True)
    assert caught.value.kind == "race"
    assert caught.value.site is not None
    assert caught.value.thread is not None


@pytest.mark.parametrize("pattern", [r"bar\.sync", "wait_group", "commit_group"])
def test_spoiled_pipeline(pattern: str) -> None:
    """Every barrier, wait and commit of the unrolled pipeline matters for some length, but for
    those that never run."""
    caught = []
    for label, text in mutants("mma_pipe", pattern, reached):
        module = load_module(text)
        for tiles in LENGTHS:
            try:
                cases.pipeline(module, True, tiles)
            except PtxCheckError as problem:
                caught.append(problem.kind)
                break
        else:
            pytest.fail(f"{label} survives")
    assert len(caught) >= 5
    assert set(caught) <= {"race", "uninitialised", "async-copy"}


@pytest.mark.parametrize("name", ["vadd", "vadd4", "collatz", "halves"])
def test_dropped_mask(name: str) -> None:
    text = re.sub(r"@%p1 bra[^;]*;", "", cases.text(name), count=1)
    with fails("bounds", r"argument (\d) \(\w+_param_\1\) of \d+ bytes") as caught:
        cases.CASES[name](load_module(text), True)
    assert caught.value.thread is not None
    assert caught.value.thread.block[0] > 0


# ---------------------------------------------------------------------- bounds and alignment


def test_bounds_name_the_argument() -> None:
    device = Device()
    x = device.upload(np.zeros(8, F4), "x")
    device.upload(np.zeros(8, F4), "y")
    module = load_module(kernel("add.u64 %a1, %p0, -4; ld.global.f32 %f1, [%a1]; ret;", params=1))
    with fails("bounds", r"byte -4 of argument 0 \(k_0\), 'x' of 32 bytes"):
        device.launch(module, "k", 1, 1, [x])
    with fails("bounds", "no global address"):
        device.launch(module, "k", 1, 1, [0])
    device.free(x)
    with fails("bounds", "freed"):
        device.launch(module, "k", 1, 1, [x.address + 4])


def test_vector_that_ends_outside() -> None:
    with fails("bounds", "ld of 16 bytes"):
        run(
            "add.u64 %a1, %p0, 16; ld.global.v4.f32 {%f1,%f2,%f3,%f4}, [%a1]; ret;", np.zeros(7, F4)
        )


@pytest.mark.parametrize(
    ("body", "space"),
    [
        ("add.u64 %a1, %p0, 2; ld.global.f32 %f1, [%a1];", "global"),
        ("add.u64 %a1, %p0, 4; ld.global.v2.f32 {%f1, %f2}, [%a1];", "global"),
        (".shared .b8 s[64]; mov.u32 %r1, s; st.shared.b32 [%r1+6], %r1;", "shared"),
        (".local .b8 s[64]; mov.u64 %a1, s; st.local.b64 [%a1+4], %a1;", "local"),
        ("add.u64 %a1, %p0, 2; atom.global.add.u32 %r1, [%a1], 1;", "global"),
    ],
)
def test_alignment(body: str, space: str) -> None:
    with fails("alignment", space):
        run(body + "ret;", np.zeros(64, F4))


def test_shared_and_local_bounds() -> None:
    with fails("bounds", "of 64 bytes of shared"):
        run(".shared .b8 s[64]; mov.u32 %r1, s; st.shared.b32 [%r1+64], %r1; ret;")
    with fails("bounds", "between two variables"):
        body = ".shared .b8 s[64], t[64];".replace("s[64], ", "s[64]; .shared .b8 ")
        run(body + "mov.u32 %r1, s; st.shared.b32 [%r1+64], %r1; ret;")
    with fails("bounds", "local"):
        run(".local .b8 s[16]; mov.u64 %a1, s; st.local.b32 [%a1+16], %t; ret;")
    with fails("bounds", "shared"):
        run("st.shared.b32 [0], %t; ret;")


# ---------------------------------------------------------------------- initialisation


def test_uninitialised_shared() -> None:
    body = """.shared .align 4 .b8 s[128];
    mov.u32 %r1, s; mad.lo.u32 %r1, %t, 4, %r1;
    setp.ne.u32 %q1, %t, 5; @%q1 st.shared.b32 [%r1], %t; ld.shared.b32 %r2, [%r1]; ret;"""
    with fails("uninitialised", r"byte 20 of shared memory(?s:.*)thread \(5,0,0\)"):
        run(body)
    run(body, checks=Checks(uninitialised=False))


def test_uninitialised_global() -> None:
    module = load_module(kernel("ld.global.f32 %f1, [%p0]; st.global.f32 [%p1], %f1; ret;",
                                params=2))  # fmt: skip
    device = Device()
    out = device.allocate(4, "out", undefined=True)
    with fails("uninitialised", "'out'"):
        device.launch(module, "k", 1, 1, [out, out])
    source = device.upload(np.ones(1, F4))
    device.launch(module, "k", 1, 1, [source, out])
    device.launch(module, "k", 1, 1, [out, source])
    fresh = device.allocate(4)
    device.launch(module, "k", 1, 1, [fresh, source])
    assert np.isnan(device.download(source))


# ---------------------------------------------------------------------- races

SHARED = ".shared .align 4 .b8 s[512]; mov.u32 %r1, s; mad.lo.u32 %r2, %t, 4, %r1;"


@pytest.mark.parametrize(
    "body",
    [
        "st.shared.b32 [%r1], %t;",
        "st.shared.b32 [%r2], %t; xor.b32 %r3, %r2, 4; ld.shared.b32 %r4, [%r3];",
        "st.shared.b32 [%r2], 1; bar.sync 0; ld.shared.b32 %r3, [%r1]; st.shared.b32 [%r2], 2;",
        "st.shared.b32 [%r2], 1; bar.sync 0; atom.shared.add.u32 %r3, [%r1], 1;"
        "ld.shared.b32 %r4, [%r2];",
    ],
)
def test_shared_races(body: str) -> None:
    with fails("race"):
        run(SHARED + body + "ret;", block=64)
    run(SHARED + body + "ret;", block=64, checks=Checks(races=False))


@pytest.mark.parametrize(
    "body",
    [
        "st.shared.b32 [%r1], 7;",
        "st.shared.b32 [%r2], %t; bar.sync 0; xor.b32 %r3, %r2, 4; ld.shared.b32 %r4, [%r3];"
        "bar.sync 0; st.shared.b32 [%r3], %t;",
        "setp.eq.u32 %q1, %t, 0; @%q1 st.shared.b32 [%r1], 0; bar.sync 0;"
        "atom.shared.add.u32 %r3, [%r1], 1; bar.sync 0; ld.shared.b32 %r4, [%r1];",
        "st.shared.b32 [%r2], %t; bar.warp.sync -1; xor.b32 %r3, %r2, 4;"
        "ld.shared.b32 %r4, [%r3]; bar.warp.sync -1; st.shared.b32 [%r3], %t;",
    ],
)
def test_no_shared_race(body: str) -> None:
    run(SHARED + body + "ret;", block=64)


@pytest.mark.parametrize(
    ("body", "text"),
    [
        ("st.global.b32 [%p0], %b;", "st of 4 bytes"),
        ("mad.wide.u32 %a1, %b, 4, %p0; st.global.b32 [%a1], 1; ld.global.b32 %r1, [%p0];", "ld"),
        ("ld.global.b32 %r1, [%p0]; mad.wide.u32 %a1, %b, 4, %p0; st.global.b32 [%a1], 1;", "st"),
        # A barrier of one block says nothing of what others read.
        ("ld.global.b32 %r1, [%p0]; bar.sync 0; ld.global.b32 %r1, [%p0];"
         "mad.wide.u32 %a1, %b, 4, %p0; st.global.b32 [%a1], 1;", "st"),
        ("atom.global.add.u32 %r1, [%p0], 1; ld.global.b32 %r2, [%p0];", "ld"),
        ("red.global.add.u32 [%p0], 1; st.global.b32 [%p0], %b;", "st"),
        ("add.u32 %r1, %t, 1; rem.u32 %r1, %r1, %n; mad.wide.u32 %a1, %r1, 4, %p0;"
         "mad.wide.u32 %a2, %t, 4, %p0; setp.ne.u32 %q1, %b, 0; @%q1 ret;"
         "st.global.b32 [%a1], %t; ld.global.b32 %r3, [%a2];", "ld"),
    ],
)  # fmt: skip
def test_global_races(body: str, text: str) -> None:
    for grid in (2, 4):
        with fails("race", text):
            run(body + "ret;", np.zeros(64, "i4"), grid=grid, block=32)


@pytest.mark.parametrize(
    "body",
    [
        "st.global.b32 [%p0], 3;",
        "atom.global.add.u32 %r1, [%p0], 1;",
        "mad.wide.u32 %a1, %i, 4, %p0; ld.global.b32 %r1, [%a1]; st.global.b32 [%a1], %t;",
        # A barrier orders the threads of a block.
        "mad.wide.u32 %a1, %i, 4, %p0; st.global.b32 [%a1], %t; bar.sync 0; xor.b32 %r1, %i, 33;"
        "mad.wide.u32 %a2, %r1, 4, %p0; ld.global.b32 %r2, [%a2];",
        # What others read before the barrier is done with.
        "xor.b32 %r1, %i, 33; mad.wide.u32 %a1, %r1, 4, %p0; ld.global.b32 %r2, [%a1]; bar.sync 0;"
        "mad.wide.u32 %a2, %i, 4, %p0; ld.global.b32 %r3, [%a2]; st.global.b32 [%a2], %t;",
        # The last block to arrive sums what all have written.
        "add.u32 %r1, %b, 1; mad.wide.u32 %a1, %r1, 4, %p0; setp.ne.u32 %q1, %t, 0; @%q1 ret;"
        "st.global.b32 [%a1], %b; membar.gl; atom.global.add.u32 %r2, [%p0], 1;"
        "add.u32 %r3, %r2, 1; mov.u32 %r4, %nctaid.x; setp.ne.u32 %q2, %r3, %r4; @%q2 ret;"
        "ld.global.b32 %r5, [%p0+4]; ld.global.b32 %r6, [%p0+8];",
    ],
)
def test_no_global_race(body: str) -> None:
    run(body + "ret;", np.zeros(512, "i4"), grid=3, block=64)


def test_lock_between_blocks() -> None:
    """Blocks that take turns by a spin lock, as Triton programs write it."""
    x = np.zeros(2, "i4")
    run(
        """setp.ne.u32 %q1, %t, 0; @%q1 ret;
    $TRY: atom.global.acquire.gpu.cas.b32 %r1, [%p0], 0, 1; setp.ne.u32 %q2, %r1, 0; @%q2 bra $TRY;
    ld.global.b32 %r2, [%p0+4]; add.u32 %r2, %r2, 1; st.global.b32 [%p0+4], %r2;
    atom.global.release.gpu.exch.b32 %r3, [%p0], 0; ret;""",
        x,
        grid=5,
    )
    assert x.tolist() == [0, 5]


# ---------------------------------------------------------------------- barriers, collectives


@pytest.mark.parametrize(
    "body",
    [
        "setp.lt.u32 %q1, %t, 32; @%q1 bra $A; bar.sync 0; bra $B; $A: bar.sync 0; $B:",
        "setp.lt.u32 %q1, %t, 32; @%q1 bar.sync 0; bar.sync 1;",
        "setp.lt.u32 %q1, %t, 7; @%q1 bar.sync 0; bar.sync 0;",
        "bar.sync 0, 96;",
    ],
)
def test_barrier_divergence(body: str) -> None:
    with fails("barrier"):
        run(body + "ret;", block=64)


@pytest.mark.parametrize(
    "body",
    [
        "setp.lt.u32 %q1, %t, 32; @%q1 ret; bar.sync 0;",
        "setp.lt.u32 %q1, %t, 32; @%q1 bra $A; bar.sync 1, 32; bra $B; $A: bar.sync 2, 32; $B:",
        "setp.lt.u32 %q1, %t, 32; @%q1 bra $A; bar.arrive 1, 64; bra $B; $A: bar.sync 1, 64; $B:",
    ],
)
def test_barriers_with_participants(body: str) -> None:
    run(body + "bar.sync 0; ret;" if "ret;" not in body else body + "ret;", block=64)


def test_barrier_reductions() -> None:
    out = np.zeros(64, "i4")
    run(
        """setp.lt.u32 %q1, %t, 5; bar.red.popc.u32 %r1, 0, %q1; bar.red.and.pred %q2, 0, %q1;
    bar.red.or.pred %q3, 0, %q1; selp.b32 %r2, 100, 0, %q2; selp.b32 %r3, 1000, 0, %q3;
    add.u32 %r1, %r1, %r2; add.u32 %r1, %r1, %r3; mad.wide.u32 %a1, %t, 4, %p0;
    st.global.b32 [%a1], %r1; ret;""",
        out,
        block=64,
    )
    assert (out == 1005).all()


@pytest.mark.parametrize(
    ("body", "block"),
    [
        # Half the warp is elsewhere, and never comes.
        ("setp.lt.u32 %q1, %t, 16; @!%q1 bra $A; shfl.sync.bfly.b32 %r1, %t, 1, 31, -1; $A:", 32),
        ("setp.lt.u32 %q1, %t, 16; @!%q1 bra $A; vote.sync.ballot.b32 %r1, %q1, -1; $A:", 32),
        ("setp.lt.u32 %q1, %t, 16; @%q1 bra $A; vote.sync.any.pred %q2, %q1, -1; bra $B;"
         "$A: vote.sync.all.pred %q2, %q1, -1; $B:", 32),
        # The mask leaves the lane itself out.
        ("shfl.sync.idx.b32 %r1, %t, 0, 31, 0xFFFE;", 16),
        # The source lane does not exist, or has ended.
        ("shfl.sync.bfly.b32 %r1, %t, 16, 31, -1;", 48),
        ("setp.eq.u32 %q1, %t, 3; @%q1 ret; shfl.sync.idx.b32 %r1, %t, 3, 31, -1;", 32),
        ("setp.eq.u32 %q1, %t, 3; @%q1 ret; .shared .align 16 .b8 s[512]; mov.u32 %r1, s;"
         "ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%r2}, [%r1];", 32),
    ],
)  # fmt: skip
def test_collectives_with_lanes_elsewhere(body: str, block: int) -> None:
    with fails("collective"):
        run(body + "ret;", block=block)


def test_collectives_that_wait() -> None:
    """Lanes that reach one collective by different ways still meet."""
    out = np.zeros(32, "i4")
    run(
        """setp.lt.u32 %q1, %t, 9; @%q1 bra $A; mov.u32 %r1, 1; bra $C;
    $A: mov.u32 %r1, 2; bra.uni $C;
    $C: vote.sync.ballot.b32 %r2, %q1, -1; add.u32 %r2, %r2, %r1;
    mad.wide.u32 %a1, %t, 4, %p0; st.global.b32 [%a1], %r2; ret;""",
        out,
    )
    assert out.tolist() == [513] * 9 + [512] * 23


def test_hang_and_trap() -> None:
    with fails("hang"):
        run("$A: bra $A;", checks=Checks(step_limit=100))
    with fails("trap"):
        run("setp.eq.u32 %q1, %t, 3; @%q1 trap; ret;")


# ---------------------------------------------------------------------- messages


def test_message_has_the_source_line() -> None:
    text = kernel(".loc 1 42 3\nld.global.f32 %f1, [%p0+64];\nret;", params=1)
    text += '.file 1 "/src/k.py"\n'
    device = Device()
    with fails("bounds") as caught:
        device.launch(load_module(text), "k", 1, 1, [device.upload(np.zeros(4, F4))])
    assert caught.value.site.source == "/src/k.py:42"
    assert caught.value.site.text == "ld.global.f32 %f1, [%p0+64];"
    assert text.split("\n")[caught.value.site.line - 1] == caught.value.site.text
    assert "from /src/k.py:42" in str(caught.value)


@pytest.mark.parametrize(
    "text",
    [
        "tex.2d.v4.f32.f32 {%f1,%f2,%f3,%f4}, [%p0, {%f1,%f2}];",
        "wgmma.fence.sync.aligned;",
        "mbarrier.init.shared.b64 [%r1], 1;",
        "mov.u32 %r1, %nosuch;",
        "bra $NOWHERE;",
        "frobnicate.b32 %r1, %r2;",
    ],
)
def test_what_is_not_supported_is_named(text: str) -> None:
    with pytest.raises(PtxError) as caught:
        run(text + "ret;", np.zeros(1, F4))
    assert text.split(".")[0].split()[0] in str(caught.value)
