"""Random small programs over overlapping arguments, against a plain Python reference that runs one
program, one operation, one lane after another on bytes."""

from __future__ import annotations

import struct

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from mytriton.interpreter import machine
from mytriton.ir.parser import parse
from mytriton.ir.types import ScalarType
from mytriton.runtime.argview import ArgView

LANES = 4
FORMATS = {"u8": "<B", "i16": "<h", "i32": "<i"}
BYTES = 64

arguments = st.lists(
    st.tuples(st.sampled_from(sorted(FORMATS)), st.integers(0, 24), st.sampled_from([4, 8])),
    min_size=2, max_size=3,
)  # fmt: skip
#: index = (pid * a + lane * b + c [+ value]) & (elements - 1)
index = st.tuples(st.integers(0, 5), st.integers(0, 2), st.integers(0, 7), st.booleans())
access = st.tuples(st.sampled_from(["load", "store"]), st.integers(0, 2), index, st.integers(0, 4))
loop = st.tuples(st.just("loop"), st.integers(0, 2), st.booleans(), st.lists(access, max_size=3))
programs = st.lists(st.one_of(access, access, loop), min_size=1, max_size=5)


class Emitter:
    """Writes the SSA text. ``acc`` is a vector of i32 that every load feeds and every store reads."""

    def __init__(self, args):
        self.args = args
        self.count = 0
        self.lines = []

    def op(self, text, ty):
        self.lines.append(f"%{self.count} = {text} : {ty}")
        self.count += 1
        return f"%{self.count - 1}"

    def vector(self, text, element="i32"):
        return self.op(text, f"vector<{LANES} x {element}>")

    def access(self, kind, which, where, limit, acc):
        which %= len(self.args)
        dtype, _, elements = self.args[which]
        a, b, c, dependent = where
        scaled = self.op(f"mul %0, {a}", "i32")
        offset = self.op(f"add {scaled}, {c}", "i32")
        lanes = self.vector(f"mul %1, {b}")
        total = self.vector(f"add {lanes}, {offset}")
        if dependent:
            total = self.vector(f"add {total}, {acc}")
        ptr = self.vector(
            f"addptr a{which}, {self.vector(f'and {total}, {elements - 1}')}", f"ptr<{dtype}>"
        )
        mask = self.vector(f"cmp_lt %1, {limit}", "bool")
        if kind == "store":
            value = self.vector(f"cast {acc} {{dtype={dtype}}}", dtype)
            self.lines.append(f"store {ptr}, {value}, {mask}")
            return acc
        value = self.vector(f"load {ptr}, {mask}, none", dtype)
        wide = self.vector(f"cast {value} {{dtype=i32}}")
        return self.vector(f"add {self.vector(f'mul {acc}, 3')}, {wide}")

    def loop(self, trips, per_program, body, acc):
        stop = self.op(f"and %0, {trips + 1}", "i32") if per_program else str(trips)
        result, index, arg = (f"%{self.count + k}" for k in range(3))
        self.count += 3
        ty = f"vector<{LANES} x i32>"
        self.lines.append(
            f"{result} = for {index} in range(0, {stop}, 1) iter_args({arg} = {acc}) : {ty} {{"
        )
        inner = self.vector(f"add {arg}, {index}")
        for step in body:
            inner = self.access(*step, inner)
        self.lines += [f"yield {inner}", "}"]
        return result

    def text(self, steps):
        self.op("program_id {axis=0}", "i32")
        self.vector(f"arange {{start=0, end={LANES}}}")
        acc = self.vector("add %1, %0")
        for step in steps:
            acc = self.loop(*step[1:], acc) if step[0] == "loop" else self.access(*step, acc)
        params = ", ".join(f"a{k}: ptr<{dtype}>" for k, (dtype, _, _) in enumerate(self.args))
        return f"kernel f({params}) {{\n" + "\n".join(self.lines) + "\n}\n"


def wrap(value, bits=32):
    return (value + 2 ** (bits - 1)) % 2**bits - 2 ** (bits - 1)


class Reference:
    def __init__(self, args, memory):
        self.args = args
        self.memory = memory

    def access(self, pid, kind, which, where, limit, acc):
        dtype, start, elements = self.args[which % len(self.args)]
        form = FORMATS[dtype]
        size = struct.calcsize(form)
        a, b, c, dependent = where
        result = []
        for lane, value in enumerate(acc):
            at = wrap(pid * a + lane * b + c + (value if dependent else 0)) & (elements - 1)
            at = start + at * size
            if kind == "store":
                if lane < limit:
                    raw = struct.pack("<i", value)[:size]
                    self.memory[at : at + size] = raw
                continue
            loaded = struct.unpack_from(form, self.memory, at)[0] if lane < limit else 0
            result.append(wrap(value * 3 + loaded))
        return acc if kind == "store" else result

    def run(self, steps, grid):
        for pid in range(grid):
            acc = [lane + pid for lane in range(LANES)]
            for step in steps:
                if step[0] != "loop":
                    acc = self.access(pid, *step, acc)
                    continue
                _, trips, per_program, body = step
                for k in range(pid & (trips + 1) if per_program else trips):
                    acc = [wrap(v + k) for v in acc]
                    for inner in body:
                        acc = self.access(pid, *inner, acc)


@settings(max_examples=400, deadline=None)
@given(
    arguments,
    programs,
    st.integers(1, 6),
    st.sampled_from([8, 1 << 15]),
    st.randoms(use_true_random=False),
)
def test_memory_is_as_after_running_programs_in_sequence(args, steps, grid, chunk, random):
    memory = np.array([random.randrange(256) for _ in range(BYTES)], np.uint8)
    expected = bytearray(memory.tobytes())
    Reference(args, expected).run(steps, grid)

    function = parse(Emitter(args).text(steps))
    base = memory.__array_interface__["data"][0]
    views = []
    for dtype, start, elements in args:
        ty = ScalarType(dtype)
        views.append(ArgView(base + start, ty, (elements,), (ty.itemsize,), owner=memory))
    before, machine.CHUNK_ELEMENTS = machine.CHUNK_ELEMENTS, chunk
    try:
        machine.run(function, views, (grid, 1, 1))
    finally:
        machine.CHUNK_ELEMENTS = before
    assert memory.tobytes() == bytes(expected)
