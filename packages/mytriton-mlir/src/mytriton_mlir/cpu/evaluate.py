"""Evaluating SSA values for one tile of a loop nest, when something needs them.

Blocks are never held: a value is computed for the lanes at hand, at the outermost level where it
can be, unless the plan put it in a buffer.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import mytriton.plugin_api as mt
from mytriton.analysis.affine import Affine, BaseOf, Binary, Linear, Scalar

from . import values
from .builder import Builder, Level, Val
from .lowerings import ELEMENTWISE
from .rules import ROUNDED, RULES
from .tile import AxisMap, Tile, contiguous_strides, dropped, normal, trailing, transposed

if TYPE_CHECKING:
    from .plan import Root


@dataclass(frozen=True)
class Buffer:
    """A block in scratch memory, C-ordered. ``pointer`` blocks hold addresses."""

    pointer: Val
    element: mt.ScalarType | mt.PointerType
    shape: tuple[int, ...]
    #: Elements from one row of the last axis to the next (0: they follow one another).
    pitch: int = 0
    #: Columns that are stored together, row after row of ``pitch`` rows (0: all of them).
    panel: int = 0
    #: Where the block begins, in elements.
    shift: Val | None = None

    @property
    def strides(self) -> tuple[int, ...]:
        """Elements between neighbours (within a panel)."""
        if self.panel:
            return self.panel, 1
        return (self.pitch, 1) if self.pitch else tuple(contiguous_strides(self.shape))

    @property
    def kind(self) -> str:
        """MLIR type of an element in the buffer: as held, but for ``bool``."""
        if isinstance(self.element, mt.PointerType):
            return "i64"
        kind = values.held(self.element)
        return "i8" if kind == "i1" else kind


class Evaluator:
    """Values of one function. ``tile`` is the nest that is being written."""

    #: Element widths that can be masked by one instruction.
    maskable: frozenset[int] = frozenset()

    def __init__(
        self, b: Builder, function: mt.SSAFunction, affine: Affine, makers: dict[int, mt.SSAItem]
    ) -> None:
        self.b = b
        self.affine = affine
        self.makers = makers
        self.tile = Tile()
        self.params: dict[str, Val] = {}
        self.program_ids: dict[int, Val] = {}
        self.num_programs: dict[int, Val] = {}
        self.buffers: dict[int, Buffer] = {}
        #: Loads whose next strips have been fetched where they are first read.
        self.fetched: set[int] = set()
        #: Bases of carried values with a linear form.
        self.bases: dict[int, Val] = {}
        #: Body in which groups are being written: memory is not read further out.
        self.home = b.root
        #: The same for items of a loop that became part of a nest.
        self.homes: dict[int, Level] = {}
        self.run_loop: Callable[[mt.SSAForRange], None]
        #: Scratch memory of so many bytes, the same for the same key.
        self.scratch: Callable[[int, str], Val]

    def is_loaded(self, ptr: mt.SSAOperand) -> bool:
        raise NotImplementedError

    def at(self, root: Root) -> None:
        """What is written next belongs to ``root`` (``spans`` notes it)."""

    # ------------------------------------------------------------------ values

    def value(self, operand: mt.SSAOperand, amap: AxisMap = (), r: int = 0) -> Val:
        """A value for the lanes at hand: scalar where it is the same along the vector axis."""
        if isinstance(operand, mt.Constant):
            return values.literal(self.b, operand.value, operand.ty)
        if isinstance(operand, mt.Param):
            return self.params[operand.name]
        assert operand is not None
        # Chains of operations may be long: operands first, without recursion.
        pending = [(operand, amap, r)]
        while pending:
            current, at, row = pending[-1]
            if self.known(current, at, row) is not None:
                pending.pop()
                continue
            missing = [w for w in self._needs(current, at, row) if self.known(*w) is None]
            if missing:
                pending.extend(missing)
                continue
            self.remember(current, at, row, self._compute(current, at, row))
            pending.pop()
        found = self.known(operand, amap, r)
        assert found is not None
        return found

    def _key(self, value: mt.SSAValue, amap: AxisMap, r: int) -> Any:
        at = normal(amap, mt.shape_of(value.ty))
        return value.id, at, self.tile.row(at, r)

    def known(self, value: mt.SSAValue, amap: AxisMap, r: int) -> Val | None:
        found = self.b.find(self._key(value, amap, r))
        return found if found is None or isinstance(found, Val) else None

    def remember(self, value: mt.SSAValue, amap: AxisMap, r: int, val: Val) -> None:
        val.level.memo[self._key(value, amap, r)] = val

    def remember_at(
        self, value: mt.SSAValue, amap: AxisMap, r: int, val: Val, level: Level
    ) -> None:
        """Remember a value for the body ``level`` only."""
        level.memo[self._key(value, amap, r)] = val

    @staticmethod
    def constant_of(operand: mt.SSAOperand) -> int | None:
        """The number an operand is, if it is a constant."""
        return int(operand.value) if isinstance(operand, mt.Constant) else None

    def _needs(
        self, value: mt.SSAValue, amap: AxisMap, r: int
    ) -> list[tuple[mt.SSAValue, AxisMap, int]]:
        item = self.makers.get(value.id)
        if value.id in self.buffers or not isinstance(item, mt.SSAOp) or mt.is_pointer(value.ty):
            return []
        definition = mt.get_op(item.opcode)
        found = []
        if definition.elementwise:
            for operand in item.operands:
                if isinstance(operand, mt.SSAValue):
                    found.append((operand, trailing(amap, mt.shape_of(operand.ty)), r))
        elif item.opcode == "expand_dims" and isinstance(item.operands[0], mt.SSAValue):
            found.append((item.operands[0], dropped(amap, item.attrs["axis"]), r))
        elif item.opcode == "trans" and isinstance(item.operands[0], mt.SSAValue):
            found.append((item.operands[0], transposed(amap, item.attrs["order"]), r))
        return found

    def _compute(self, value: mt.SSAValue, amap: AxisMap, r: int) -> Val:
        if (buffer := self.buffers.get(value.id)) is not None:
            return self.read(buffer, amap, r)
        if mt.is_pointer(value.ty):
            return self.address(value, amap, r) if amap else self.pointer(value)
        item = self.makers[value.id]
        if isinstance(item, mt.SSAForRange):
            self.run_loop(item)
            found = self.known(value, amap, r)
            assert found is not None, "a fused loop is used in its own shape"
            return found
        rule = RULES.get(item.opcode)
        if rule is not None:
            return rule(self, item, amap, r)
        if item.opcode in ELEMENTWISE:
            return self.elementwise(item, amap, r)
        raise mt.UnsupportedFeature(mt.get_op(item.opcode).feature_id, span=item.span)

    def elementwise(self, op: mt.SSAOp, amap: AxisMap, r: int) -> Val:
        (result,) = op.results
        types = [mt.operand_type(operand) for operand in op.operands]
        compute = mt.get_op(op.opcode).compute_types(types, result.ty)
        operands = [
            self.converted(operand, ty, amap, r) for operand, ty in zip(op.operands, compute)
        ]
        computed = compute[-1]
        val = ELEMENTWISE[op.opcode](self.b, computed, operands)
        wanted = mt.scalar_of(result.ty)
        if val.kind == "i1" and wanted.is_bool():
            return val
        # Rounds what was computed in f32 for a 16-bit float, too.
        if computed == wanted:
            return values.settle(self.b, val, wanted) if op.opcode in ROUNDED else val
        return values.convert(self.b, val, computed, wanted)

    def converted(self, operand: mt.SSAOperand, ty: mt.ScalarType, amap: AxisMap, r: int) -> Val:
        """An operand of an elementwise operation in the type it computes in."""
        assert operand is not None
        source = mt.scalar_of(operand.ty)
        if isinstance(operand, mt.Constant):
            number = mt.numerics.held_dtype(source).type(operand.value)
            number = mt.numerics.convert(number.reshape(1), source, ty)[0].item()
            return values.literal(self.b, number, ty)
        val = self.value(operand, trailing(amap, mt.shape_of(operand.ty)), r)
        return values.convert(self.b, val, source, ty)

    # ------------------------------------------------------------------ positions and addresses

    def scalar(self, expression: Scalar) -> Val:
        """A scalar expression in 64 bits."""
        if isinstance(expression, int):
            return self.b.constant(expression, "i64")
        if isinstance(expression, BaseOf):
            return self.bases[expression.value.id]
        if isinstance(expression, Binary):
            lhs, rhs = self.scalar(expression.lhs), self.scalar(expression.rhs)
            name = {"+": "arith.addi", "-": "arith.subi", "*": "arith.muli"}[expression.op]
            return self.b.binary(name, lhs, rhs)
        signed = mt.scalar_of(expression.ty).is_signed()
        return values.resize(self.b, self.value(expression), "i64", signed)

    def position(self, axis: int | None, r: int = 0) -> Val:
        """Index along an axis of the iteration."""
        if axis is None:
            return self.b.constant(0, "i64")
        at = self.tile.positions[axis]
        if axis == self.tile.row_axis and r:
            return self.b.binary("arith.addi", at, self.b.constant(r, "i64"))
        return at

    def linear(self, form: Linear, amap: AxisMap, r: int) -> tuple[Val, Scalar]:
        """Offset of the first lane, and the stride along the vector axis."""
        terms = [self.scalar(form.base)] if form.base != 0 else []
        stride: Scalar = 0
        for step, axis in zip(form.strides, amap):
            if axis is None or step == 0:
                continue
            if axis == self.tile.axis:
                stride = step
            factor = self.scalar(step)
            terms.append(self.times(factor, self.tile.positions[axis]))
            if axis == self.tile.row_axis and r:
                terms.append(self.times(factor, self.b.constant(r, "i64")))
        return self.total(terms), stride

    def times(self, a: Val, b: Val) -> Val:
        """The product of two offsets."""
        if self.b.constant(0, "i64").name in (a.name, b.name):
            return self.b.constant(0, "i64")
        one = self.b.constant(1, "i64").name
        if a.name == one:
            return b
        return a if b.name == one else self.b.binary("arith.muli", a, b)

    def total(self, terms: list[Val]) -> Val:
        """The sum, outer terms first: what does not change in a loop is added outside it."""
        zero = self.b.constant(0, "i64")
        terms = [term for term in terms if term.name != zero.name]
        if not terms:
            return zero
        first, *rest = sorted(terms, key=lambda term: term.level.depth)
        for term in rest:
            first = self.b.binary("arith.addi", first, term)
        return first

    def lanes(self, offset: Val, stride: Scalar) -> Val:
        """Offsets of all lanes from that of the first."""
        width = self.tile.width
        if isinstance(stride, int):
            steps = self.b.iota("i64", width, stride)
        else:
            steps = self.b.binary("arith.muli", self.b.iota("i64", width), self.scalar(stride))
        return self.b.binary("arith.addi", offset, steps)

    def element(self, base: Val, offset: Val, kind: str) -> Val:
        """Address of ``base[offset]``: one, or one a lane."""
        if offset.name == self.b.constant(0, "i64").name:
            return base
        ty = f"vector<{offset.width}x!llvm.ptr>" if offset.width else "!llvm.ptr"
        text = f"llvm.getelementptr {base.name}[{offset.name}] : "
        text += f"(!llvm.ptr, {offset.type}) -> {ty}, {kind}"
        return self.b.emit(text, "!llvm.ptr", offset.width, (base, offset))

    def pointer(self, operand: mt.SSAOperand) -> Val:
        """A scalar pointer."""
        form = self.affine.of(operand)
        if form is not None and form.root is not None and form.root != operand:
            assert not mt.shape_of(form.root.ty)
            kind = values.in_memory(pointee(operand))
            return self.element(self.pointer(form.root), self.scalar(form.base), kind)
        if isinstance(operand, mt.SSAValue):
            item = self.makers[operand.id]
            if isinstance(item, mt.SSAOp) and item.opcode == "addptr":
                base, offset = item.operands
                kind = values.in_memory(pointee(operand))
                return self.element(self.value(base), self._offset(offset, (), 0), kind)
        return self.value(operand)

    def _offset(self, operand: mt.SSAOperand, amap: AxisMap, r: int) -> Val:
        assert operand is not None
        val = self.value(operand, trailing(amap, mt.shape_of(operand.ty)), r)
        return values.resize(self.b, val, "i64", mt.scalar_of(operand.ty).is_signed())

    def parts(self, operand: mt.SSAOperand, amap: AxisMap, r: int) -> tuple[Val | None, Val, str]:
        """A pointer block without a linear form: base (``None``: offsets are addresses), offset
        of each lane, and the type the offset counts."""
        more: list[tuple[mt.SSAOperand, Val]] = []
        while True:
            assert operand is not None
            kind = values.in_memory(pointee(operand))
            found: tuple[Val | None, Val, str] | None = None
            item = self.makers.get(operand.id) if isinstance(operand, mt.SSAValue) else None
            form = self.affine.of(operand)
            if form is not None and form.root is not None:
                offset, stride = self.linear(form, amap, r)
                moved = offset if stride == 0 else self.lanes(offset, stride)
                if not mt.shape_of(form.root.ty):
                    found = self.pointer(form.root), moved, kind
                else:
                    more.append((operand, moved))
                    operand = form.root
            elif not mt.shape_of(operand.ty):
                found = self.pointer(operand), self.b.constant(0, "i64"), kind
            elif operand.id in self.buffers or not isinstance(item, mt.SSAOp):  # type: ignore[union-attr]
                found = None, self.value(operand, amap, r), "address"
            elif item.opcode == "expand_dims":
                operand, amap = item.operands[0], dropped(amap, item.attrs["axis"])
            elif item.opcode == "trans":
                operand, amap = item.operands[0], transposed(amap, item.attrs["order"])
            elif item.opcode == "addptr":
                more.append((operand, self._offset(item.operands[1], amap, r)))
                operand = item.operands[0]
                assert operand is not None
                amap = trailing(amap, mt.shape_of(operand.ty))
            else:
                found = None, self.value(operand, amap, r), "address"
            if found is not None:
                base, offset, counted = found
                for pointer, moved in reversed(more):
                    offset = self._plus(offset, moved, counted, pointer)
                return base, offset, counted

    def _plus(self, offset: Val, more: Val, counted: str, pointer: mt.SSAOperand) -> Val:
        """An offset with elements added to it."""
        if counted == "address":
            size = self.b.constant(pointee(pointer).itemsize, "i64")
            more = self.b.binary("arith.muli", more, size)
        if offset.name == self.b.constant(0, "i64").name:
            return more
        return self.b.binary("arith.addi", offset, more)

    def address(self, operand: mt.SSAOperand, amap: AxisMap, r: int) -> Val:
        """A pointer block as addresses, to be carried or kept."""
        base, offset, _counted = self.parts(operand, amap, r)
        if base is None:
            return offset
        size = self.b.constant(pointee(operand).itemsize, "i64")
        text = f"llvm.ptrtoint {base.name} : !llvm.ptr to i64"
        start = self.b.emit(text, "i64", 0, (base,))
        return self.b.binary("arith.addi", start, self.b.binary("arith.muli", offset, size))

    # ------------------------------------------------------------------ buffers

    def slot(self, buffer: Buffer, amap: AxisMap, r: int) -> tuple[Val, Scalar]:
        """Address of a buffer's first lane, and the step to the next."""
        amap = normal(amap, buffer.shape)
        form = Linear(0, buffer.strides)
        offset, stride = self.linear(form, amap, r)
        if buffer.panel:
            # Within a panel columns count one; from panel to panel all of its rows lie between.
            column, b = self.position(amap[1], r), self.b
            before = b.binary("arith.andi", column, b.constant(-buffer.panel, "i64"))
            offset = self.total([offset, self.times(before, b.constant(buffer.pitch - 1, "i64"))])
        if buffer.shift is not None:
            offset = self.total([offset, buffer.shift])
        return self.element(buffer.pointer, offset, buffer.kind), stride

    def read(self, buffer: Buffer, amap: AxisMap, r: int) -> Val:
        slot, stride = self.slot(buffer, amap, r)
        if stride in (0, 1):
            width = self.tile.width if stride else 0
            val = self.load_at(slot, buffer.kind, width, self.home, aligned=True)
        else:
            val = self._read_across(buffer, slot, stride)
        if buffer.kind == "i8" and isinstance(buffer.element, mt.ScalarType):
            return values.decode(self.b, val, buffer.element) if buffer.element.is_bool() else val
        return val

    def _read_across(self, buffer: Buffer, slot: Val, stride: Scalar) -> Val:
        """Lanes along another axis than the last."""
        b, width, kind = self.b, self.tile.width, buffer.kind
        places = self.element(slot, self.lanes(b.constant(0, "i64"), stride), kind)
        every, fill = b.constant(True, "i1", width), b.constant(0, kind, width)
        align = values.bits_of(kind) // 8
        text = (
            f"llvm.intr.masked.gather {places.name}, {every.name}, {fill.name} "
            f"{{alignment = {align} : i32}} : ({places.type}, {every.type}, {fill.type}) -> {fill.type}"
        )
        return b.emit(text, kind, width, (places, every, fill), at=self.home)

    def load_at(
        self, address: Val, kind: str, width: int, at: Level, *, aligned: bool = False
    ) -> Val:
        """A load of all lanes, in order, not further out than ``at``."""
        align = values.bits_of(kind) // 8 if aligned else 1
        ty = f"vector<{width}x{kind}>" if width else kind
        text = f"llvm.load {address.name} {{alignment = {align} : i64}} : !llvm.ptr -> {ty}"
        return self.b.emit(text, kind, width, (address,), at=at)


def pointee(operand: mt.SSAOperand) -> mt.ScalarType:
    """The type of what a pointer, or each of a block of pointers, points to."""
    assert operand is not None
    element = mt.element_of(operand.ty)
    assert isinstance(element, mt.PointerType)
    return element.element
