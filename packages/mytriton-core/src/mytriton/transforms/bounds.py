"""A function that only looks whether another would leave its arguments.

It has the control flow and the offsets of the kernel, and neither its data nor its stores: what is
left after dead code elimination costs little beside the kernel itself. Backends run it before the
kernel (feature ``sanitize.bounds``); when it finds something nothing has been written yet, and the
interpreter runs the launch and tells what is wrong.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import reduce

from ..analysis.affine import is_offset
from ..analysis.pointers import pointer_roots
from ..ir.expr import Param
from ..ir.registry import Effect, get
from ..ir.types import (
    I32,
    I64,
    PointerType,
    ScalarType,
    Type,
    is_pointer,
    scalar_of,
    shape_of,
    with_shape,
)
from ..ir.values import (
    Constant,
    Region,
    SSAForRange,
    SSAFunction,
    SSAItem,
    SSAOp,
    SSAOperand,
    SSAValue,
    next_id,
    operand_type,
    walk,
)
from .passes import CLEANUP, optimise, run_pass

#: The last parameter: one ``i32`` that becomes 1.
FLAG = "outside_"


#: Operations whose extremes are at the extremes of two operands, and those that only move lanes.
_MONOTONE = frozenset({"add", "sub", "mul", "minimum", "maximum"})
_MOVES = frozenset({"expand_dims", "broadcast", "trans", "full", "cast"})


#: Operations in a row that are followed, and written again, at most.
_DEEPEST = 64

#: Scalars between which the elements of a block lie; ``None``: not easily told.
Limits = tuple[SSAOperand, SSAOperand] | None


def _keeps(opcode: str, source: ScalarType, target: ScalarType) -> bool:
    """Whether an operation on integers of ``source`` gives in ``target`` what it does in ``i64``: what
    does not is either an overflow of an offset or wraps, as unsigned and small numbers do."""
    if get(opcode).exact is not None:
        return is_offset(target)
    low, high = target.int_range()
    least, most = source.int_range()
    return source.is_integer() and low <= least and most <= high


class _NotPossibleError(Exception):
    """The offsets depend on what the kernel stores, or on pointers of several arguments."""


def bounds_check(function: SSAFunction) -> SSAFunction | None:
    """The check for ``function``: its parameters, then the first and the last element (``i64``) of
    each array, then a pointer to an ``i32`` that is set to 1 when an access lies outside.

    ``None`` where offsets depend on what the kernel itself stores: only running it would tell.
    """
    try:
        # Before anything is shared: a load that nothing needs must not keep the blocks it needs.
        check = optimise(run_pass(CLEANUP, _Checker(function).made()))
    except _NotPossibleError:
        return None
    stored = {name for name, _ in _accesses(function, Effect.WRITE)}
    loaded = {name for name, _ in _accesses(check, Effect.READ)}
    return None if stored & loaded else check


def _accesses(function: SSAFunction, effect: Effect) -> Iterator[tuple[str, SSAItem]]:
    roots = pointer_roots(function)
    for item in walk(function.body):
        if effect in get(item.opcode).effects:
            yield from ((name, item) for name in _roots(item.inputs[0], roots))


def _roots(pointer: SSAOperand, roots: dict[int, frozenset[str]]) -> frozenset[str]:
    if isinstance(pointer, Param):
        return frozenset({pointer.name})
    return roots.get(pointer.id, frozenset()) if isinstance(pointer, SSAValue) else frozenset()


class _Checker:
    """Builds the check: pointers become the offset (``i64``, in elements) from their argument."""

    def __init__(self, function: SSAFunction) -> None:
        self._function = function
        self._roots = pointer_roots(function)
        self._next = next_id(function)
        self._offsets: dict[int, SSAValue] = {}
        self._arrays = {p.name: p for p in function.params if is_pointer(p.ty)}
        self._ends = {
            name: (Param(f"first_{name}_", I64), Param(f"last_{name}_", I64))
            for name in self._arrays
        }
        self._flag = Param(FLAG, PointerType(I32))
        #: Whether the limits of the access in hand are those of blocks of ``i32``.
        self._narrow = False
        #: The operation that makes each value of the check.
        self._makers: dict[int, SSAItem] = {}
        self._original = {v.id: item for item in walk(function.body) for v in item.results}

    def made(self) -> SSAFunction:
        ends = [end for pair in self._ends.values() for end in pair]
        params = (*self._function.params, *ends, self._flag)
        body = self._body(self._function.body)
        return SSAFunction(f"{self._function.name}_bounds", params, body)

    def _new(self, ty: Type) -> SSAValue:
        self._next += 1
        return SSAValue(self._next - 1, ty)

    def _value(self, value: SSAValue) -> SSAValue:
        """What stands for a value: itself, or the offset of a pointer."""
        if not is_pointer(value.ty):
            return value
        if value.id not in self._offsets:
            self._offsets[value.id] = SSAValue(value.id, with_shape(shape_of(value.ty), I64))
        return self._offsets[value.id]

    def _operand(self, operand: SSAOperand) -> SSAOperand:
        if isinstance(operand, Param) and is_pointer(operand.ty):
            return Constant(0, I64)
        return self._value(operand) if isinstance(operand, SSAValue) else operand

    def _body(self, items: Sequence[SSAItem]) -> list[SSAItem]:
        found: list[SSAItem] = []
        for item in items:
            for new in self._item(item):
                self._makers.update((value.id, new) for value in new.results)
                found.append(new)
        return found

    def _region(self, region: Region) -> Region:
        args = tuple(map(self._value, region.args))
        body = self._body(region.body)
        return Region(args, body, tuple(map(self._operand, region.yields)))

    def _item(self, item: SSAItem) -> Iterator[SSAItem]:
        effects = get(item.opcode).effects
        if Effect.IO in effects:
            return  # the kernel itself will say it
        if effects & (Effect.READ | Effect.WRITE):
            yield from self._access(item)
        elif item.opcode == "addptr":
            yield from self._advance(item)
        elif isinstance(item, SSAForRange):
            yield from self._loop(item)
        else:
            yield self._same(item)

    def _same(self, item: SSAItem) -> SSAItem:
        """The item, on offsets where it is on pointers."""
        inputs = tuple(map(self._operand, item.inputs))
        regions = tuple(map(self._region, item.regions))
        results = tuple(map(self._value, item.results))
        pointers = [o for o in item.inputs if o is not None and is_pointer(o.ty)]
        if pointers and not item.regions and not any(is_pointer(v.ty) for v in item.results):
            raise _NotPossibleError  # looks at the address itself
        result = results if len(results) > 1 else next(iter(results), None)
        return SSAOp(item.opcode, inputs, result, item.attrs, regions, item.span)

    def _loop(self, item: SSAForRange) -> Iterator[SSAItem]:
        """A loop. A block it carries to which each trip adds scalars becomes the sum of the block it
        starts from and one carried scalar: then its extremes are known."""
        inputs, yields = list(map(self._operand, item.inputs)), list(item.yields)
        args, results = (
            list(map(self._value, item.carried_args)),
            list(map(self._value, item.results)),
        )
        body: list[SSAItem] = []
        after: list[SSAItem] = []
        steps: dict[int, list[SSAOperand]] = {}
        for k, arg in enumerate(args):
            added = self._added(item, k)
            start = inputs[3 + k]
            if added is None:
                continue
            ty = scalar_of(arg.ty)
            steps[k] = added
            before, total = self._new(ty), self._new(ty)
            body.append(SSAOp("add", (start, before), arg))
            after.append(SSAOp("add", (start, total), results[k]))
            inputs[3 + k], args[k], results[k] = Constant(0, ty), before, total
        self._makers.update((value.id, op) for op in body for value in op.results)
        body += self._body(item.body)
        ends = [None if k in steps else self._operand(end) for k, end in enumerate(yields)]
        for k, added in steps.items():
            total = args[k]
            for scalar in added:
                total = self._emit(body, "add", total, self._as(body, scalar, args[k].ty))
            ends[k] = total
        yield SSAForRange(
            item.index, inputs[0], inputs[1], inputs[2], tuple(inputs[3:]), tuple(args), body,
            tuple(ends), tuple(results), item.span,
        )  # fmt: skip
        yield from after

    def _added(self, loop: SSAForRange, k: int) -> list[SSAOperand] | None:
        """The scalars that each trip adds to a carried block of integers or pointers."""
        arg, found = loop.carried_args[k], []
        value: SSAOperand = loop.yields[k]
        if not shape_of(arg.ty) or not (is_pointer(arg.ty) or scalar_of(arg.ty).is_integer()):
            return None
        while isinstance(value, SSAValue) and value.id != arg.id:
            op = self._original.get(value.id)
            if op is None or op.opcode not in ("add", "addptr") or value.ty != arg.ty:
                return None
            base, scalar = op.inputs
            if op.opcode == "add" and base is not None and not shape_of(base.ty):
                base, scalar = scalar, base
            if scalar is None or shape_of(scalar.ty):
                return None
            found.append(self._operand(scalar))
            value = base
        return found if isinstance(value, SSAValue) else None

    def _as(self, made: list[SSAItem], operand: SSAOperand, ty: Type) -> SSAOperand:
        """A scalar as another integer type."""
        assert operand is not None
        if operand.ty == ty:
            return operand
        value = self._new(ty)
        made.append(SSAOp("cast", (operand,), value, {"dtype": ty}))
        return value

    def _advance(self, item: SSAItem) -> Iterator[SSAItem]:
        base, offset = map(self._operand, item.inputs)
        assert offset is not None
        if scalar_of(offset.ty) != I64:
            wide = self._new(with_shape(shape_of(offset.ty), I64))
            yield SSAOp("cast", (offset,), wide, {"dtype": I64}, (), item.span)
            offset = wide
        yield SSAOp("add", (base, offset), self._value(item.results[0]), {}, (), item.span)

    def _access(self, item: SSAItem) -> Iterator[SSAItem]:
        if item.opcode not in ("load", "store"):
            raise _NotPossibleError
        pointer = item.inputs[0]
        roots = _roots(pointer, self._roots)
        if len(roots) != 1:
            raise _NotPossibleError
        (name,) = roots
        at = self._operand(pointer)
        mask = item.inputs[1] if item.opcode == "load" else item.inputs[2]
        ends = self._ends[name]
        made: list[SSAItem] = []
        if item.opcode == "load":
            self._kept_load(made, item, self._arrays[name], ends)
        self._narrow = False
        limits = self._limits(made, at, {})
        if limits is None:
            self._raise_flag(made, at, mask, ends)
        else:
            # Most programs are inside as a whole: only the others look at their lanes.
            low = self._emit(made, "cmp_lt", limits[0], ends[0])
            high = self._emit(made, "cmp_gt", limits[1], ends[1])
            body: list[SSAItem] = []
            again: dict[int, SSAOperand] = {}
            at, mask = (self._once_more(body, o, again) for o in (at, mask))
            self._raise_flag(body, at, mask, ends)
            if self._narrow:
                self._overflow(body, limits)
            regions = Region((), body), Region((), [])
            made.append(SSAOp("if", (self._emit(made, "or", low, high),), None, {}, regions))
        for op in made:
            op.span = item.span
        yield from made

    def _kept_load(
        self, made: list[SSAItem], item: SSAItem, base: Param, ends: tuple[Param, Param]
    ) -> None:
        """The load, for the case that other offsets are computed from it."""
        at, mask = self._operand(item.inputs[0]), item.inputs[1]
        kept = self._emit(made, "not", self._outside(made, at, ends))
        if mask is not None:
            kept = self._emit(made, "and", kept, mask)
        assert at is not None
        ptr = self._new(with_shape(shape_of(at.ty), base.ty))
        made.append(SSAOp("addptr", (base, at), ptr))
        made.append(SSAOp("load", (ptr, kept, item.inputs[2]), item.results[0], item.attrs))

    def _overflow(self, made: list[SSAItem], limits: tuple[SSAOperand, SSAOperand]) -> None:
        """Set the flag where blocks of ``i32`` overflow: the kernel may compute them in more bits, and
        then reach what the check, which may not, does not see."""
        least, most = I32.int_range()
        low = self._emit(made, "cmp_lt", limits[0], Constant(least, I64))
        high = self._emit(made, "cmp_gt", limits[1], Constant(most, I64))
        flags = self._flag, Constant(1, I32), self._emit(made, "or", low, high)
        made.append(SSAOp("store", flags))

    def _outside(self, made: list[SSAItem], at: SSAOperand, ends: tuple[Param, Param]) -> SSAValue:
        first, last = ends
        below = self._emit(made, "cmp_lt", at, first)
        return self._emit(made, "or", below, self._emit(made, "cmp_gt", at, last))

    def _once_more(
        self, made: list[SSAItem], operand: SSAOperand, known: dict[int, SSAOperand], depth: int = 0
    ) -> SSAOperand:
        """A block computed again, from scalars and from what was loaded: cheaper than to keep it."""
        if not isinstance(operand, SSAValue) or not shape_of(operand.ty):
            return operand
        if operand.id not in known:
            op = self._makers.get(operand.id)
            if op is None or op.regions or not get(op.opcode).pure or depth == _DEEPEST:
                return operand
            inputs = tuple(self._once_more(made, o, known, depth + 1) for o in op.inputs)
            result = self._new(operand.ty)
            made.append(SSAOp(op.opcode, inputs, result, op.attrs, (), op.span))
            known[operand.id] = result
        return known[operand.id]

    def _limits(
        self, made: list[SSAItem], operand: SSAOperand, known: dict[int, Limits], depth: int = 0
    ) -> Limits:
        """Scalars (``i64``) between which the elements of an integer lie, if they are easily told."""
        assert operand is not None
        if not shape_of(operand.ty):
            wide = self._as(made, operand, I64)
            return wide, wide
        if not isinstance(operand, SSAValue) or depth == _DEEPEST:
            return None
        if operand.id not in known:
            known[operand.id] = self._limits_of(made, operand, known, depth + 1)
        return known[operand.id]

    def _limits_of(
        self, made: list[SSAItem], value: SSAValue, known: dict[int, Limits], depth: int
    ) -> Limits:
        """``_limits`` of a block."""
        op = self._makers.get(value.id)
        if op is None or not scalar_of(value.ty).is_integer():
            return None
        if op.opcode == "arange":
            return Constant(op.attrs["start"], I64), Constant(op.attrs["end"] - 1, I64)
        if op.opcode not in _MONOTONE and op.opcode not in _MOVES:
            return None
        if not all(_keeps(op.opcode, scalar_of(o.ty), scalar_of(value.ty)) for o in op.inputs if o):
            return None
        self._narrow |= get(op.opcode).exact is not None and scalar_of(value.ty).bits == 32
        found = [self._limits(made, o, known, depth) for o in op.inputs]
        parts = [part for part in found if part is not None]
        if len(parts) < len(found):
            return None
        if op.opcode in _MOVES:
            return parts[0]
        (a, b), (c, d) = parts
        if op.opcode == "sub":
            return self._emit(made, "sub", a, d), self._emit(made, "sub", b, c)
        if op.opcode != "mul":
            return self._emit(made, op.opcode, a, c), self._emit(made, op.opcode, b, d)
        pairs = dict.fromkeys([(a, c), (a, d), (b, c), (b, d)])
        corners = [self._emit(made, "mul", x, y) for x, y in pairs]
        return (
            reduce(lambda x, y: self._emit(made, "minimum", x, y), corners),
            reduce(lambda x, y: self._emit(made, "maximum", x, y), corners),
        )

    def _emit(self, made: list[SSAItem], opcode: str, *operands: SSAOperand) -> SSAValue:
        types = [operand_type(o) for o in operands]
        ty = get(opcode).infer(types, {})
        assert ty is not None
        result = self._new(ty)
        made.append(SSAOp(opcode, operands, result))
        return result

    def _raise_flag(
        self, made: list[SSAItem], at: SSAOperand, mask: SSAOperand, ends: tuple[Param, Param]
    ) -> None:
        """Set the flag where a lane that takes part is outside."""
        bad = self._outside(made, at, ends)
        if mask is not None:
            bad = self._emit(made, "and", bad, mask)
        shape = shape_of(bad.ty)
        one = Constant(1, I32)
        if all(n & (n - 1) == 0 for n in shape):
            if shape:
                number = self._new(with_shape(shape, I32))
                made.append(SSAOp("cast", (bad,), number, {"dtype": I32}))
                most = self._emit(made, "max", number)
                bad = self._emit(made, "cmp_gt", most, Constant(0, I32))
            made.append(SSAOp("store", (self._flag, one, bad)))
            return
        zeros = self._new(with_shape(shape, I32))
        made.append(SSAOp("zeros", (), zeros, {"shape": shape, "dtype": I32}))
        ptr = self._new(with_shape(shape, self._flag.ty))
        made.append(SSAOp("addptr", (self._flag, zeros), ptr))
        made.append(SSAOp("store", (ptr, one, bad)))


__all__ = ["FLAG", "bounds_check"]
