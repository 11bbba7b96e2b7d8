"""Loads, stores and masks."""

from __future__ import annotations

from copy import copy

import mytriton.plugin_api as mt
from mytriton.analysis.affine import Mask, Scalar

from . import values
from .ahead import AHEAD_BYTES, fetch_lines
from .builder import Level, Val
from .evaluate import Evaluator
from .facts import leaves
from .onebyone import load_lanes, store_lanes
from .rowwise import Sum, split
from .tile import AxisMap, trailing


def mask_of(
    e: Evaluator, operand: mt.SSAOperand, amap: AxisMap, r: int, assume: bool
) -> Val | None:
    """A mask for the lanes at hand; ``None`` where all are let through."""
    if operand is None or (isinstance(operand, mt.Constant) and operand.value):
        return None
    at = trailing(amap, mt.shape_of(operand.ty))
    form = e.affine.masks.get(operand.id) if isinstance(operand, mt.SSAValue) else None
    if form is None:
        return e.value(operand, at, r)
    if assume and _assumable(e, form):
        e.tile.assumed.append((form, at))
        return None
    parts = [e.value(condition) for condition in form.conditions]
    wide = []
    for axis, bounds in zip(at, form.bounds):
        for bound in bounds:
            limit = e.scalar(bound)
            if axis is not None and axis == e.tile.axis:
                wide.append(_lanes_below(e, limit))
            else:
                parts.append(e.b.compare("arith.cmpi", "slt", e.position(axis, r), limit))
    parts.sort(key=lambda part: part.level.depth)
    found: Val | None = None
    for part in [*parts, *wide]:
        found = part if found is None else e.b.binary("arith.andi", found, part)
    return found


def assumed(e: Evaluator, operand: mt.SSAOperand, amap: AxisMap, of: Val) -> bool:
    """Whether a mask may be taken for granted where ``of`` is computed (and notes that it has been)."""
    form = e.affine.masks.get(operand.id) if isinstance(operand, mt.SSAValue) else None
    inner = e.tile.inner
    if form is None or inner is None or of.level.depth < inner.depth or not _assumable(e, form):
        return False
    assert operand is not None
    e.tile.assumed.append((form, trailing(amap, mt.shape_of(operand.ty))))
    return True


def _assumable(e: Evaluator, form: Mask) -> bool:
    """Whether it can be told outside the innermost loop that the mask holds there throughout."""
    inner = e.tile.inner
    if inner is None or not e.tile.full:
        return False
    scalars = [e.scalar(bound) for bounds in form.bounds for bound in bounds]
    scalars += [e.value(condition) for condition in form.conditions]
    return all(s.level.depth < inner.depth for s in scalars)


def _rest(e: Evaluator, limit: Val) -> Val:
    """How many of the lanes at hand lie below ``limit``."""
    b, at = e.b, e.tile.positions[e.tile.axis]
    rest = b.binary("arith.subi", limit, at)
    rest = b.binary("arith.maxsi", rest, b.constant(0, "i64"))
    return b.binary("arith.minsi", rest, b.constant(e.tile.width, "i64"))


def _lanes_below(e: Evaluator, limit: Val) -> Val:
    # Lane numbers are small: compared in 32 bits, with the limit brought into range first.
    rest = e.b.cast("arith.trunci", _rest(e, limit), "i32")
    return e.b.compare("arith.cmpi", "slt", e.b.iota("i32", e.tile.width), rest)


def _prefix(e: Evaluator, operand: mt.SSAOperand, amap: AxisMap, r: int) -> Val | None:
    """How many lanes a mask lets through, when those come first; ``None`` if that is not its form."""
    if not isinstance(operand, mt.SSAValue):
        return None
    at = trailing(amap, mt.shape_of(operand.ty))
    form = e.affine.masks.get(operand.id)
    if form is None:
        return None
    b = e.b
    count = b.constant(e.tile.width, "i64")
    conditions = [e.value(condition) for condition in form.conditions]
    for axis, bounds in zip(at, form.bounds):
        for bound in bounds:
            limit = e.scalar(bound)
            if axis is not None and axis == e.tile.axis:
                count = b.binary("arith.minsi", count, _rest(e, limit))
            else:
                conditions.append(b.compare("arith.cmpi", "slt", e.position(axis, r), limit))
    for condition in conditions:
        count = b.select(condition, count, b.constant(0, "i64"))
    return count


class Access:
    """Where a load or store goes: one address, a run of lanes, or one address a lane."""

    def __init__(
        self, e: Evaluator, ptr: mt.SSAOperand, mask: mt.SSAOperand, amap: AxisMap, r: int
    ) -> None:
        assert ptr is not None
        self.e = e
        element = mt.element_of(ptr.ty)
        assert isinstance(element, mt.PointerType)
        self.ty = element.element
        self.kind = values.in_memory(self.ty)
        self.run = False
        #: Whether lanes follow one another, where only the running program knows, and if they do,
        #: where the first one is.
        self.maybe: tuple[Val, Val] | None = None
        #: Step from lane to lane, where that has not been added to the offset.
        self.stride: Scalar | None = None
        self.base: Val | None
        #: Values of each lane that have not been added to the offset.
        self.lanes: Val | None = None
        found = split(e, ptr, amap, r)
        if found is not None and found.base is not None:
            self.base, stride = found.base, found.stride
            self.offset = e.total(found.terms)
            if found.lanes:
                self._lane_by_lane(ptr, found)
            elif isinstance(stride, int):
                self.run = stride == 1
                if stride not in (0, 1):
                    self.offset = e.lanes(self.offset, stride)
            else:
                one = e.b.constant(1, "i64")
                follows = e.b.compare("arith.cmpi", "eq", e.scalar(stride), one)
                self.maybe, self.stride = (follows, self.offset), stride
        else:
            self.base, self.offset, counted = e.parts(ptr, amap, r)
            if counted != self.kind:
                self.base = None
        inner = e.tile.inner
        innermost = inner is not None and self.offset.level.depth >= inner.depth
        self.mask = mask_of(e, mask, amap, r, assume=innermost)
        self.mask_operand, self.amap, self.r = mask, amap, r

    @property
    def width(self) -> int:
        """Lanes of what is loaded (0: a scalar that all share)."""
        scattered = self.offset.width or (self.mask.width if self.mask else 0)
        return self.e.tile.width if self.run or self.maybe else scattered

    def address(self) -> Val:
        """The address of the first lane, or of the only one."""
        if self.base is None:
            text = f"llvm.inttoptr {self.offset.name} : i64 to !llvm.ptr"
            return self.e.b.emit(text, "!llvm.ptr", 0, (self.offset,))
        return self.e.element(self.base, self.offset, self.kind)

    def _lane_by_lane(self, ptr: mt.SSAOperand, found: Sum) -> None:
        """Lanes are wherever they say; look whether they follow one another, unless they come from
        memory."""
        e, b = self.e, self.e.b
        lanes = e.total(found.lanes)
        if found.stride != 0:
            lanes = b.binary("arith.addi", lanes, e.lanes(b.constant(0, "i64"), found.stride))
        if lanes.width < 2 or e.is_loaded(ptr):
            self.offset = b.binary("arith.addi", self.offset, lanes)
            return
        text = f"llvm.extractelement {lanes.name}[{b.constant(0, 'i64').name} : i64] "
        first = b.emit(f"{text}: {lanes.type}", "i64", 0, (lanes,))
        width = lanes.width
        expected = b.binary("arith.addi", b.spread(first, width), b.iota("i64", width))
        same = b.compare("arith.cmpi", "eq", lanes, expected)
        text = f"vector.reduction <and>, {same.name} : {same.type} into i1"
        follows = b.emit(text, "i1", 0, (same,))
        self.maybe = follows, b.binary("arith.addi", self.offset, first)
        self.lanes = lanes

    def as_run(self, level: Level) -> Access:
        """The access where its lanes follow one another, for the body ``level``."""
        found = copy(self)
        assert self.maybe is not None
        _, first = self.maybe
        found.run, found.maybe = True, None
        found.offset = Val(first.name, first.kind, 0, level)
        return found

    def scattered(self, level: Level) -> Access:
        """The access where they do not."""
        found, offset = copy(self), self.offset
        found.maybe, found.offset = None, Val(offset.name, offset.kind, offset.width, level)
        if self.lanes is not None:
            lanes = Val(self.lanes.name, "i64", self.lanes.width, level)
            found.offset = self.e.b.binary("arith.addi", found.offset, lanes)
        if self.stride is not None:
            found.offset = self.e.lanes(found.offset, self.stride)
        return found

    def addresses(self, width: int) -> Val:
        """One address a lane."""
        offset = self.offset
        if self.run:
            offset = self.e.lanes(offset, 1)
        offset = self.e.b.spread(offset, width)
        if self.base is None:
            text = f"llvm.inttoptr {offset.name} : {offset.type} to vector<{width}x!llvm.ptr>"
            return self.e.b.emit(text, "!llvm.ptr", width, (offset,))
        return self.e.element(self.base, offset, self.kind)

    def lanes_mask(self, width: int) -> Val:
        """The mask as a vector."""
        return self.mask_or_true(width)

    def mask_or_true(self, width: int) -> Val:
        if self.mask is None:
            return self.e.b.constant(True, "i1", width)
        return self.e.b.spread(self.mask, width)

    def prefix(self) -> Val | None:
        """Lane count for elements that cannot be masked in one instruction."""
        if self.mask is None or values.bits_of(self.kind) in self.e.maskable:
            return None
        return _prefix(self.e, self.mask_operand, self.amap, self.r)


def load(e: Evaluator, op: mt.SSAOp, amap: AxisMap, r: int) -> Val:
    """What memory holds at the lanes; ``other`` (or zero) where the mask is false."""
    ptr, mask, other = op.operands
    at = e.homes.get(op.results[0].id, e.home)
    access = Access(e, ptr, mask, amap, r)
    width, kind = access.width, access.kind
    if access.mask is None and (access.run or not width):
        if access.run and e.tile.streams and e.tile.full and op.results[0].id not in e.fetched:
            e.fetched.add(op.results[0].id)
            _fetch_ahead(e, access, ptr)
        val = e.load_at(access.address(), kind, width, at)
        return values.decode(e.b, val, access.ty)
    fill = e.b.constant(0, kind, width)
    if other is not None:
        held = e.value(other, trailing(amap, mt.shape_of(other.ty)), r)
        if held.width and not width:  # `other` differs between lanes that share an address
            width = held.width
            access.mask = access.mask and e.b.spread(access.mask, width)
        fill = e.b.spread(values.encode(e.b, held, access.ty), width)
    val = _load_lanes(e, access, fill, width, at)
    return values.decode(e.b, val, access.ty)


def _fetch_ahead(e: Evaluator, access: Access, ptr: mt.SSAOperand) -> None:
    """Fetch what a later strip reads: the processor by itself stops at the end of a page."""
    form = e.affine.of(ptr)
    if form is None or not any(isinstance(v, mt.SSAValue) for v in leaves(form.base)):
        return  # the same for every program: in the nearest cache already
    ahead = e.b.constant(AHEAD_BYTES, "i64")
    place = e.element(access.address(), ahead, "i8")
    fetch_lines(e, place, access.width * values.bits_of(access.kind) // 8)


def _load_lanes(e: Evaluator, access: Access, fill: Val, width: int, at: Level) -> Val:
    if not width:
        return _load_if(e, access, fill, at)
    if access.maybe is not None:
        condition, first = access.maybe
        operands = [condition, first, access.offset, fill, *_given(access.base, access.mask)]
        return e.b.either(
            condition, e.b.deepest(operands, at),
            lambda level: _load_lanes(e, access.as_run(level), fill, width, level),
            lambda level: load_lanes(e, access.scattered(level), fill, level),
        )  # fmt: skip
    if not access.run:
        return _gather(e, access, fill, width, at)
    if access.mask is None:
        return e.load_at(access.address(), access.kind, width, at)
    if (count := access.prefix()) is not None:
        return _load_first(e, access, fill, count, at)
    lanes = access.lanes_mask(width)
    address = access.address()
    text = (
        f"llvm.intr.masked.load {address.name}, {lanes.name}, {fill.name} "
        f"{{alignment = 1 : i32}} : (!llvm.ptr, {lanes.type}, {fill.type}) -> {fill.type}"
    )
    return e.b.emit(text, access.kind, width, (address, lanes, fill), at=at)


def _given(*vals: Val | None) -> list[Val]:
    return [val for val in vals if val is not None]


def _load_if(e: Evaluator, access: Access, fill: Val, at: Level) -> Val:
    assert access.mask is not None
    address = access.address()
    level = e.b.deepest((access.mask, address, fill), at)
    name, inner = e.b.name(), e.b.name()
    pad = "  " * level.depth
    level.lines += [
        f"{pad}{name} = scf.if {access.mask.name} -> ({fill.type}) {{",
        f"{pad}  {inner} = llvm.load {address.name} {{alignment = 1 : i64}} : !llvm.ptr -> {fill.type}",
        f"{pad}  scf.yield {inner} : {fill.type}",
        f"{pad}}} else {{",
        f"{pad}  scf.yield {fill.name} : {fill.type}",
        f"{pad}}}",
    ]
    return Val(name, fill.kind, 0, level)


def _gather(e: Evaluator, access: Access, fill: Val, width: int, at: Level) -> Val:
    addresses, lanes = access.addresses(width), access.lanes_mask(width)
    text = (
        f"llvm.intr.masked.gather {addresses.name}, {lanes.name}, {fill.name} {{alignment = 1 : i32}} "
        f": ({addresses.type}, {lanes.type}, {fill.type}) -> {fill.type}"
    )
    return e.b.emit(text, access.kind, width, (addresses, lanes, fill), at=at)


def _staging(e: Evaluator, kind: str, width: int) -> Val:
    return e.scratch(width * values.bits_of(kind) // 8, f"staging of {kind}")


def _copy(e: Evaluator, level: Level, to: Val, source: Val, count: Val, kind: str) -> None:
    size = e.b.constant(values.bits_of(kind) // 8, "i64")
    count = e.b.binary("arith.muli", count, size)
    e.b.line(
        level,
        f'"llvm.intr.memcpy"({to.name}, {source.name}, {count.name}) <{{isVolatile = false}}> '
        ": (!llvm.ptr, !llvm.ptr, i64) -> ()",
    )


def _load_first(e: Evaluator, access: Access, fill: Val, count: Val, at: Level) -> Val:
    """The first ``count`` lanes, by way of memory."""
    staging, address = _staging(e, access.kind, fill.width), access.address()
    level = e.b.deepest((address, count, fill), at)
    e.b.line(level, f"llvm.store {fill.name}, {staging.name} : {fill.type}, !llvm.ptr")
    _copy(e, level, staging, address, count, access.kind)
    return e.load_at(staging, access.kind, fill.width, level)


def store(e: Evaluator, op: mt.SSAOp, val: Val, amap: AxisMap, r: int, streaming: int = 0) -> None:
    """Write ``val`` (as held) to the lanes that the mask lets through. ``streaming``: past the
    caches, with strips aligned to so many bytes."""
    ptr, _, mask = op.operands
    access = Access(e, ptr, mask, amap, r)
    level = e.b.level
    val = values.encode(e.b, val, access.ty)
    width = e.tile.width if e.tile.axis >= 0 else 0
    b = e.b
    if not width:
        _store_if(e, access, val, level)
    elif access.maybe is not None:
        val = b.spread(val, width)
        b.either(
            access.maybe[0], level,
            lambda inner: _store_run(e, access.as_run(inner), val, inner),
            lambda inner: store_lanes(e, access.scattered(inner), val, inner),
        )  # fmt: skip
    elif not access.run:
        _scatter(e, access, b.spread(val, width), level)
    else:
        _store_run(e, access, b.spread(val, width), level, streaming)


def _scatter(e: Evaluator, access: Access, val: Val, level: Level) -> None:
    addresses, lanes = access.addresses(val.width), access.lanes_mask(val.width)
    e.b.line(
        level,
        f"llvm.intr.masked.scatter {val.name}, {addresses.name}, {lanes.name} "
        f"{{alignment = 1 : i32}} : {val.type}, {lanes.type} into {addresses.type}",
    )


def _store_if(e: Evaluator, access: Access, val: Val, level: Level) -> None:
    address = access.address()
    text = f"llvm.store {val.name}, {address.name} {{alignment = 1 : i64}} : {val.type}, !llvm.ptr"
    if access.mask is None:
        e.b.line(level, text)
        return
    pad = "  " * level.depth
    level.lines += [f"{pad}scf.if {access.mask.name} {{", f"{pad}  {text}", f"{pad}}}"]


def _store_run(e: Evaluator, access: Access, val: Val, level: Level, streaming: int = 0) -> None:
    address, b = access.address(), e.b
    if access.mask is None:
        hint = ", nontemporal" if streaming else ""
        align = streaming or 1
        attributes = f"{{alignment = {align} : i64{hint}}}"
        b.line(level, f"llvm.store {val.name}, {address.name} {attributes} : {val.type}, !llvm.ptr")
    elif (count := access.prefix()) is not None:
        staging = _staging(e, access.kind, val.width)
        b.line(level, f"llvm.store {val.name}, {staging.name} : {val.type}, !llvm.ptr")
        _copy(e, level, address, staging, count, access.kind)
    else:
        lanes = access.lanes_mask(val.width)
        b.line(
            level,
            f"llvm.intr.masked.store {val.name}, {address.name}, {lanes.name} {{alignment = 1 : i32}} "
            f": {val.type}, {lanes.type} into !llvm.ptr",
        )
