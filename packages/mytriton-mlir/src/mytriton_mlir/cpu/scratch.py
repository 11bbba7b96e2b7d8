"""Scratch memory of a kernel: blocks that are kept, carried round loops, or reduced into."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import mytriton.plugin_api as mt

from . import values
from .builder import Val
from .evaluate import Buffer, Evaluator
from .plan import Root
from .product import tile_of
from .target import Target
from .tile import AxisMap, Tile

#: Scratch memory up to this many bytes is on the stack.
STACK_BYTES = 128 * 1024


class Scratch(Evaluator):
    """An evaluator with memory of its own."""

    target: Target

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self.scratch = self.make_scratch
        self._scratch: dict[str, tuple[Val, int]] = {}
        self.bytes = 0
        #: Buffers of kept and carried values: by number, and whether it is the staging buffer.
        self.owned: dict[tuple[int, bool], Buffer] = {}
        #: Buffers of operands: by identity of the operation, and what for.
        self.slots: dict[tuple[int, str], Buffer] = {}
        #: Where the block of the trip at hand begins in such a buffer.
        self.shifts: dict[tuple[int, str], Val] = {}
        #: Carried arguments whose new value is staged.
        self.staged: set[int] = set()

    def storage(self, heap: bool) -> tuple[list[str], list[str]]:
        """Lines that make and free scratch memory."""
        if not self._scratch:
            return [], []
        size = self.bytes + 64
        opening = [f"  %bytes = arith.constant {size} : i64"]
        if heap:
            opening += [
                "  %no_address = arith.constant 0 : i64",
                "  %storage = llvm.call @malloc(%bytes) : (i64) -> !llvm.ptr",
                "  %storage_address = llvm.ptrtoint %storage : !llvm.ptr to i64",
            ]
        else:
            opening.append(
                "  %storage = llvm.alloca %bytes x i8 {alignment = 64 : i64} : (i64) -> !llvm.ptr"
            )
        base = "%storage"
        if heap:
            opening += [
                "  %c_align = arith.constant 63 : i64",
                "  %c_mask = arith.constant -64 : i64",
                "  %raised = arith.addi %storage_address, %c_align : i64",
                "  %lowered = arith.andi %raised, %c_mask : i64",
                "  %aligned = llvm.inttoptr %lowered : i64 to !llvm.ptr",
            ]
            base = "%aligned"
        for k, (val, offset) in enumerate(self._scratch.values()):
            opening += [
                f"  %o{k} = arith.constant {offset} : i64",
                f"  {val.name} = llvm.getelementptr {base}[%o{k}] : (!llvm.ptr, i64) -> !llvm.ptr, i8",
            ]
        closing = ["  llvm.call @free(%storage) : (!llvm.ptr) -> ()"] if heap else []
        return opening, closing

    def make_scratch(self, size: int, key: str) -> Val:
        """Scratch memory of the function, the same for the same key and size."""
        key = f"{key}: {size}"
        if key not in self._scratch:
            self._scratch[key] = (
                Val(f"%m{len(self._scratch)}", "!llvm.ptr", 0, self.b.root),
                self.bytes,
            )
            self.bytes += -(-size // 64) * 64
        return self._scratch[key][0]

    def new_buffer(self, element: mt.Element, shape: tuple[int, ...], what: str) -> Buffer:
        """Scratch memory for a block."""
        probe = Buffer(self.b.constant(0, "i64"), element, shape)
        size = count(shape) * values.bits_of(probe.kind) // 8
        return Buffer(self.scratch(size, f"{what} {len(self._scratch)}"), element, shape)

    def strip_buffer(self, element: mt.ScalarType, count: int, k: int) -> Buffer:
        """Scratch memory for copies of a strip: the ``k``-th of the nest being written."""
        probe = Buffer(self.b.constant(0, "i64"), element, (count,))
        size = count * values.bits_of(probe.kind) // 8
        return Buffer(self.scratch(size, f"strip {k} of {probe.kind}"), element, (count,))

    def target_buffer(self, root: Root) -> Buffer:
        """The buffer that a root writes: a carried value goes to its staging buffer, if it has one."""
        if root.kind == "put":
            return self._slot_buffer(root)
        assert root.target is not None
        return self.own_buffer(
            root.target, staged=root.kind == "carry" and root.target.id in self.staged
        )

    def own_buffer(self, value: mt.SSAValue, *, staged: bool = False) -> Buffer:
        """The buffer of a block, or the one its next value waits in."""
        key = (value.id, staged)
        if key not in self.owned:
            assert isinstance(value.ty, mt.BlockType)
            self.owned[key] = self.new_buffer(value.ty.element, value.ty.shape, f"v{value.id}")
        return self.owned[key]

    def _slot_buffer(self, root: Root) -> Buffer:
        assert root.op is not None
        if root.slot == "product":
            return self.product_buffer(root.op)
        return replace(self.factor_slot(root), shift=self.shifts.get((id(root.op), root.slot)))

    def factor_slot(self, root: Root) -> Buffer:
        """The buffer of an operand, from where it begins."""
        assert root.op is not None
        assert root.operand is not None
        key = id(root.op), root.slot
        if key not in self.slots:
            self.slots[key] = self._new_slot(root.op, root.operand, root)
        return self.slots[key]

    def _new_slot(self, op: mt.SSAOp, operand: mt.SSAOperand, root: Root) -> Buffer:
        """The buffer of an operand. Factors of a product have room for several trips of the loop
        around it; the right one is stored in panels as wide as its tiles."""
        assert operand is not None
        element, shape = mt.scalar_of(operand.ty), root.shape
        trips = self.trips_of(op)
        if root.slot == "factor 0" and trips > 1:
            whole = self.new_buffer(element, (shape[0], trips * shape[1]), root.slot)
            return replace(whole, shape=shape, pitch=trips * shape[1])
        if root.slot == "factor 1" and len(shape) == 2:
            whole = self.new_buffer(element, (trips * shape[0], shape[1]), root.slot)
            width, _ = tile_of(self.target, op.results[0].ty)
            return replace(whole, shape=shape, pitch=trips * shape[0], panel=width)
        return self.new_buffer(element, shape, root.slot)

    def trips_of(self, op: mt.SSAOp) -> int:
        raise NotImplementedError

    def product_buffer(self, op: mt.SSAOp) -> Buffer:
        raise NotImplementedError

    def get(self, buffer: Buffer, amap: AxisMap, r: int) -> Val:
        return self.read(buffer, amap, r)

    def put(self, buffer: Buffer, val: Val, amap: AxisMap, r: int) -> None:
        """Write the lanes at hand."""
        slot, stride = self.slot(buffer, amap, r)
        wide = stride != 0
        assert stride in (0, 1), "buffers are written in rows"
        if wide:
            val = self.b.spread(val, self.tile.width)
        if val.kind == "i1":
            val = self.b.cast("arith.extui", val, "i8")
        # A panel of one column is all of the block, and the lanes are its rows.
        if wide and buffer.panel > 1 and val.width > buffer.panel:
            self._put_panels(buffer, val, slot)
            return
        self._store(val, slot)

    def _put_panels(self, buffer: Buffer, val: Val, slot: Val) -> None:
        """A strip of several panels."""
        b, width = self.b, buffer.panel
        for k in range(val.width // width):
            lanes = ", ".join(str(k * width + lane) for lane in range(width))
            text = f"vector.shuffle {val.name}, {val.name} [{lanes}] : {val.type}, {val.type}"
            part = b.emit(text, val.kind, width, (val,))
            step = b.constant(k * width * buffer.pitch, "i64")
            self._store(part, self.element(slot, step, buffer.kind))

    def _store(self, val: Val, slot: Val) -> None:
        align = values.bits_of(val.kind) // 8
        text = f"llvm.store {val.name}, {slot.name} {{alignment = {align} : i64}} : {val.type}, !llvm.ptr"
        self.b.line(self.b.level, text)

    def fill(self, buffer: Buffer, value: float, ty: mt.ScalarType) -> None:
        """Set every element."""
        size = count(buffer.shape)
        flat = Buffer(buffer.pointer, buffer.element, (size,))
        held = values.literal(self.b, value, ty)
        self.sweep((size,), lambda identity: self.put(flat, held, identity, 0))

    def sweep(self, shape: tuple[int, ...], body: Callable[[AxisMap], None]) -> None:
        """Run ``body`` on strips of a contiguous block."""
        size = count(shape)
        b, outer = self.b, self.tile
        widest = self.target.vector_bits // 32
        done = 0
        while done < size:
            width = min(widest, 1 << ((size - done).bit_length() - 1))
            end = done + (size - done) // width * width
            self.tile = Tile(shape=(size,), axis=0 if size > 1 else -1, width=width)
            around, level = b.level, b.push()
            iv = b.name("i")
            self.tile.positions[0] = Val(iv, "i64", 0, level)
            body((0,) if size > 1 else (None,))
            b.pop()
            bounds = (b.constant(done, "i64"), b.constant(end, "i64"), b.constant(width, "i64"))
            b.loop(around, iv, bounds, [], level, [])
            done = end
        self.tile = outer


def count(shape: Sequence[int]) -> int:
    """Elements of a block."""
    total = 1
    for extent in shape:
        total *= extent
    return total
