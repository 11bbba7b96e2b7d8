"""Tensor-core instructions: mma.sync and ldmatrix, for all warps of a selection at once."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

import numpy as np

from . import floats
from .access import load_lanes, space_name
from .errors import PtxUnsupported
from .operands import Names, Step, address_reader, reader, writer
from .state import Frame, Machine
from .syntax import Instruction, Vector
from .types import TYPES, Array, Selection

B32 = TYPES["b32"]
LANE = np.arange(32)
ROW, COLUMN = LANE >> 2, LANE & 3


@dataclass(frozen=True)
class Kind:
    """An element type of a matrix: its width, and how bits become numbers."""

    bits: int
    dtype: np.dtype[Any]

    def values(self, words: Array, name: str) -> Array:
        """Elements of 32-bit words: (..., words) to (..., words, elements per word)."""
        words = np.ascontiguousarray(words)
        if name == "tf32":
            kept = words & np.uint32(0xFFFFE000)
            return kept.view(np.float32).astype(np.float64)[..., None]
        parts = words.view(self.dtype).reshape(*words.shape, 32 // self.bits)
        if name == "bf16":
            return floats.bf16_to_f32(parts).astype(np.float64)
        return parts.astype(np.float64)


KINDS: dict[str, Kind] = {
    "f16": Kind(16, np.dtype(np.float16)),
    "bf16": Kind(16, np.dtype(np.uint16)),
    "tf32": Kind(32, np.dtype(np.uint32)),
    "s8": Kind(8, np.dtype(np.int8)),
    "u8": Kind(8, np.dtype(np.uint8)),
}


def warps_of(m: Machine, sel: Selection) -> int:
    return (m.n if sel is None else len(sel)) // 32


def words(operand: object, names: Names, ins: Instruction) -> Any:
    """Read a vector of registers as (warps, 32 lanes, registers)."""
    items = operand.items if isinstance(operand, Vector) else (operand,)
    reads = [reader(item, B32, names, ins) for item in items]  # type: ignore[arg-type]

    def read(f: Frame, sel: Selection) -> Array:
        count = 32 * warps_of(f.machine, sel)
        values = [np.broadcast_to(each(f, sel), (count,)) for each in reads]
        return np.stack(values, axis=-1).reshape(-1, 32, len(values))

    return read


def fragment(rows_first: bool, registers: int, per_word: int) -> tuple[Array, Array]:
    """Where element (lane, register, part) of an A (row, k) or B (k, column) fragment belongs.

    One rule for all shapes m16n8: register r of A holds row `lane / 4 + 8 * (r & 1)`; of B there
    are no upper rows, so every register goes further along k.
    """
    lane = LANE[:, None, None]
    register = np.arange(registers)[None, :, None]
    part = np.arange(per_word)[None, None, :]
    step = register >> 1 if rows_first else register
    k = (lane & 3) * per_word + part + 4 * per_word * step
    outer = (lane >> 2) + (8 * (register & 1) if rows_first else 0 * register) + 0 * part
    return np.broadcast_arrays(outer, k)[0], np.broadcast_arrays(outer, k)[1]


def mma(ins: Instruction, names: Names) -> Step:
    """mma.sync.aligned.m16n8kK.row.col.D.A.B.C."""
    shape = re.search(r"\.m16n8k(\d+)\.", ins.opcode)
    result, left, right, addend = (part.name for part in ins.types[-4:])
    if shape is None or left not in KINDS or not ins.has("row") or ins.has("sp"):
        raise PtxUnsupported(f"{ins.opcode} is not implemented ({ins.site})")
    k = int(shape[1])
    a_kind, b_kind = KINDS[left], KINDS[right]
    per_word = 32 // a_kind.bits
    a_words, b_words, c_words = (words(each, names, ins) for each in ins.operands[1:])
    a_rows, a_columns = fragment(True, k * 16 // (32 * per_word), per_word)
    b_columns, b_rows = fragment(False, k * 8 // (32 * per_word), per_word)
    packed = addend == "f16"
    if result != addend:
        raise PtxUnsupported(f"{ins.opcode} is not implemented ({ins.site})")
    rows = np.stack([ROW, ROW, ROW + 8, ROW + 8], axis=-1)
    columns = np.stack([2 * COLUMN, 2 * COLUMN + 1] * 2, axis=-1)
    assert isinstance(ins.operands[0], Vector)
    writes = [writer(item, B32, ins) for item in ins.operands[0].items]
    dtype: dict[str, Any] = {"f16": np.float16, "f32": np.float32, "s32": np.int32}
    kind = dtype[result]

    def step(f: Frame, sel: Selection) -> None:
        count = warps_of(f.machine, sel)
        a: Array = np.zeros((count, 16, k))
        b: Array = np.zeros((count, k, 8))
        a[:, a_rows, a_columns] = a_kind.values(a_words(f, sel), left)
        b[:, b_rows, b_columns] = b_kind.values(b_words(f, sel), right)
        c = c_words(f, sel).view(kind).reshape(count, 32, 4)
        # Products and sums are exact or nearly so in float64; the result is rounded once.
        d = np.matmul(a, b)[:, rows, columns] + c
        if result == "s32":
            wrapped = d.astype(np.int64)
            if ins.has("satfinite"):
                wrapped = np.clip(wrapped, -(1 << 31), (1 << 31) - 1)
            d = wrapped
        bits = np.ascontiguousarray(d.astype(kind)).view(np.uint32)
        bits = bits.reshape(count * 32, 2 if packed else 4)
        for place, write in enumerate(writes):
            write(f, sel, np.ascontiguousarray(bits[:, place]))

    return step


def load_matrix(ins: Instruction, names: Names) -> Step:
    """ldmatrix.sync.aligned.m8n8.x{1,2,4}{.trans}.shared.b16."""
    count = int(ins.one_of("x1", "x2", "x4", default="x0")[1])
    if not count or not ins.has("m8n8") or space_name(ins) not in ("shared", "generic"):
        raise PtxUnsupported(f"{ins.opcode} is not implemented ({ins.site})")
    target = ins.operands[0]
    items = target.items if isinstance(target, Vector) else (target,)
    writes = [writer(item, B32, ins) for item in items]
    address = address_reader(ins.operands[1], names, ins)
    transposed = ins.has("trans")

    def step(f: Frame, sel: Selection) -> None:
        m = f.machine
        lanes = (m.lanes if sel is None else sel).reshape(-1, 32)
        rows = lanes[:, : 8 * count].reshape(-1)
        where = address(f, sel).reshape(-1, 32)[:, : 8 * count].reshape(-1)
        if space_name(ins) == "generic":
            where = where & np.uint64(0xFFFFFFFF)
        offsets = m.shared.locate(m, rows, where, 16, ins)
        if m.launch.checks.counters:
            m.launch.counters.count_shared(rows, offsets, 16, group=8)
        loaded = load_lanes(m, m.shared, rows, offsets, 4, 4, ins)
        # (warp, matrix, row, word) as halves (warp, matrix, row, column).
        cells = np.stack(loaded, axis=-1).reshape(-1, count, 8, 4).view(np.uint16)
        if transposed:
            cells = np.ascontiguousarray(cells.swapaxes(-1, -2))
        pairs = np.ascontiguousarray(cells).view(np.uint32).reshape(-1, count, 32)
        for place, write in enumerate(writes):
            write(f, sel, np.ascontiguousarray(pairs[:, place]).reshape(-1))

    return step


def store_matrix(ins: Instruction, names: Names) -> Step:
    raise PtxUnsupported(f"{ins.opcode} is not implemented ({ins.site})")
