"""What the plan and the emitter ask about a function: needs, costs, demand, aliasing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache

import mytriton.plugin_api as mt
from mytriton.analysis.affine import Affine, BaseOf, Binary, Linear, Scalar, affine
from mytriton.analysis.lanes import definitions
from mytriton.analysis.pointers import pointer_roots

from .lowerings import COSTS

REDUCTIONS = frozenset({"sum", "max", "min", "xor_sum", "argmax", "argmin", "reduce"})
#: Reductions that combine copies of their operands pair by pair.
FOLDS = frozenset({"argmax", "argmin", "reduce"})
#: Structured control flow, beside ``for``.
CONTROL = frozenset({"if", "while"})
#: What an operation may do besides computing.
_DOES = mt.Effect.WRITE | mt.Effect.IO | mt.Effect.BARRIER
#: Operations that cost nothing to repeat.
_FREE = frozenset({"zeros", "full", "empty", "arange", "expand_dims", "addptr", "program_id",
    "num_programs", "broadcast", "trans",
})  # fmt: skip
#: Costs are not told apart beyond this.
CAP = 1000


def is_root(item: mt.SSAItem) -> bool:
    """Whether an operation is run for what it does."""
    return not item.regions and bool(mt.get_op(item.opcode).effects & _DOES)


class Facts:
    """Facts of one function. ``classes``: parameters in one class may point to the same bytes;
    parameters in different classes never do."""

    def __init__(self, function: mt.SSAFunction, classes: Mapping[str, int]) -> None:
        self.function = function
        self.affine: Affine = affine(function)
        self.makers = definitions(function)
        self.roots = pointer_roots(function)
        self.classes = classes
        self.demanded = self._demand()
        self._uses: dict[int, int] = {}
        self.costs: dict[int, int] = {}
        for item in mt.walk(function.body):
            for value in item.results:
                self.costs[value.id] = self._cost(item)

    # ------------------------------------------------------------------ needs

    def needs(self, item: mt.SSAItem) -> list[mt.SSAValue]:
        """The values an item is computed from, as it is going to be emitted: an access whose
        addresses have a linear form needs the scalars of the form, not the block of pointers."""
        if isinstance(item, mt.SSAForRange) or item.regions:
            return self._region_needs(item)
        if item.opcode in ("load", "store"):
            ptr, second, third = item.operands
            other, mask = (third, second) if item.opcode == "load" else (second, third)
            return [*self.pointer_needs(ptr), *self.mask_needs(mask), *_values(other)]
        if item.result is not None and mt.is_pointer(item.results[0].ty):
            return self.pointer_needs(item.results[0])
        return [v for operand in item.operands for v in _values(operand)]

    def pointer_needs(self, ptr: mt.SSAOperand) -> list[mt.SSAValue]:
        form = self.affine.of(ptr)
        if form is not None:
            found = [*leaves(form.base), *(v for s in form.strides for v in leaves(s))]
            if isinstance(form.root, mt.SSAValue) and form.root != ptr:
                found.append(form.root)
            return found
        item = self.makers.get(ptr.id) if isinstance(ptr, mt.SSAValue) else None
        if isinstance(item, mt.SSAOp) and not item.regions:
            return [v for operand in item.operands for v in _values(operand)]
        return _values(ptr)

    def mask_needs(self, mask: mt.SSAOperand) -> list[mt.SSAValue]:
        form = self.affine.masks.get(mask.id) if isinstance(mask, mt.SSAValue) else None
        if form is None:
            return _values(mask)
        found = [v for bounds in form.bounds for bound in bounds for v in leaves(bound)]
        return found + [v for condition in form.conditions for v in _values(condition)]

    def _region_needs(self, whole: mt.SSAItem) -> list[mt.SSAValue]:
        """What a structured operation needs from outside."""
        found: dict[int, mt.SSAValue] = {}
        inside: set[int] = set()
        for item in mt.walk([whole]):
            inside.update(v.id for region in item.regions for v in region.args)
            inside.update(v.id for v in item.results)
            if isinstance(item, mt.SSAForRange):
                bounds = (item.start, item.stop, item.step)
                needed = [v for o in bounds for v in _values(o)] + self.carried_needs(item)
            elif item.opcode == "if":
                needed = [*_values(item.operands[0]), *self.carried_needs(item)]
            elif item.opcode == "while":
                needed = [*_values(item.regions[0].yields[0]), *self.carried_needs(item)]
            elif item.regions:
                yields = [v for region in item.regions for o in region.yields for v in _values(o)]
                needed = [v for o in item.operands for v in _values(o)] + yields
            else:
                needed = self.needs(item)
            for value in needed:
                found[value.id] = value
        return [value for number, value in found.items() if number not in inside]

    def carried_needs(self, item: mt.SSAItem) -> list[mt.SSAValue]:
        """What the carried inputs and the yields of structured control flow need."""
        found: list[mt.SSAValue] = []
        for value, sources in lanes(item):
            if value.id in self.affine.linear:
                found += [v for source in sources for v in self.pointer_needs(source)]
            if self.carries_data(value):
                found += [v for source in sources for v in _values(source)]
        return found

    def carries_data(self, arg: mt.SSAValue) -> bool:
        """Whether a carried argument goes round the loop as a value (and not only as the base of
        a linear form)."""
        if not mt.shape_of(arg.ty):
            return arg.id not in self.affine.linear
        return arg.id in self.demanded

    def _demand(self) -> frozenset[int]:
        """Values that are needed as such, not only through linear forms."""
        joined: dict[int, tuple[Sequence[mt.SSAValue], Sequence[mt.SSAOperand]]] = {}
        pending: list[mt.SSAOperand | BaseOf] = []
        for item in mt.walk(self.function.body):
            if isinstance(item, mt.SSAForRange):
                pending += [item.start, item.stop, item.step]
            elif item.opcode == "if":
                pending += item.operands
            elif item.opcode == "while":
                pending += item.regions[0].yields
            elif is_root(item):
                pending += self._demands(item)
            if isinstance(item, mt.SSAForRange) or item.opcode in CONTROL:
                for k, (_, sources) in enumerate(lanes(item)):
                    names = same_values(item, k)
                    for name in names:
                        joined[name.id] = names, sources
        found: set[int] = set()
        bases: set[int] = set()
        while pending:
            operand = pending.pop()
            if isinstance(operand, BaseOf):
                # Only where its lanes begin, which goes round loops as a scalar.
                if operand.value.id not in bases:
                    bases.add(operand.value.id)
                    pending += self._base_needs(joined, operand.value)
                continue
            if not isinstance(operand, mt.SSAValue) or operand.id in found:
                continue
            found.add(operand.id)
            if operand.id in joined:
                others, origins = joined[operand.id]
                if mt.shape_of(operand.ty) or operand.id not in self.affine.linear:
                    pending += [*others, *origins]
                if operand.id in self.affine.linear:
                    pending.append(BaseOf(operand))
            elif isinstance(maker := self.makers.get(operand.id), mt.SSAOp):
                pending += self._demands(maker)
        return frozenset(found)

    def _base_needs(
        self, joined: Mapping[int, tuple[Sequence[mt.SSAValue], Sequence[mt.SSAOperand]]],
        value: mt.SSAValue,
    ) -> list[mt.SSAOperand | BaseOf]:  # fmt: skip
        """What the base of a carried value is computed from."""
        names, sources = joined.get(value.id, ((), ()))
        found: list[mt.SSAOperand | BaseOf] = [BaseOf(name) for name in names if name != value]
        return found + [need for source in sources for need in self._pointer_demands(source)]

    def _demands(self, item: mt.SSAOp) -> list[mt.SSAOperand | BaseOf]:
        """``needs``, with what is needed only as the base of a linear form marked as such."""
        if item.opcode in ("load", "store") and not item.regions:
            ptr, second, third = item.operands
            other, mask = (third, second) if item.opcode == "load" else (second, third)
            form = self.affine.masks.get(mask.id) if isinstance(mask, mt.SSAValue) else None
            found = [*self._pointer_demands(ptr), other]
            if form is None:
                return [*found, mask]
            bounds = [bound for bounds in form.bounds for bound in bounds]
            return [*found, *(v for b in bounds for v in _terms(b)), *form.conditions]
        if not item.regions and item.results and mt.is_pointer(item.results[0].ty):
            return self._pointer_demands(item.results[0])
        return list(self.needs(item))

    def _pointer_demands(self, ptr: mt.SSAOperand) -> list[mt.SSAOperand | BaseOf]:
        form = self.affine.of(ptr)
        if form is None:
            return list(self.pointer_needs(ptr))
        found: list[mt.SSAOperand | BaseOf] = []
        for scalar in (form.base, *form.strides):
            found += _terms(scalar)
        return [*found, form.root] if form.root != ptr else found

    def uses(self, value: mt.SSAValue) -> int:
        """How many operations and regions use a value."""
        if not self._uses:
            for item in mt.walk(self.function.body):
                for operand in [*item.inputs, *(o for r in item.regions for o in r.yields)]:
                    if isinstance(operand, mt.SSAValue):
                        self._uses[operand.id] = self._uses.get(operand.id, 0) + 1
        return self._uses.get(value.id, 0)

    # ------------------------------------------------------------------ kinds of items

    def squeezes(self, item: mt.SSAItem) -> bool:
        """Whether a reduction drops an axis of extent 1 and leaves a block. (One that leaves a scalar
        is computed like any other: scalars are known outside of nests.)"""
        if not mt.shape_of(item.results[0].ty) or item.opcode == "reduce":
            return False
        operand = item.inputs[0]
        assert operand is not None
        shape, axis = mt.shape_of(operand.ty), item.attrs.get("axis")
        return all(d == 1 for d in shape) if axis is None else shape[axis] == 1

    def reduces(self, item: mt.SSAItem) -> bool:
        """Whether an item folds the elements of a block."""
        return item.opcode in REDUCTIONS and not self.squeezes(item)

    def is_solid(self, item: mt.SSAItem) -> bool:
        """Whether results of an operation are there once its step has been run, and are not computed
        where they are needed. (Of loops the plan decides.)"""
        return item.opcode in CONTROL or item.opcode == "dot" or self.reduces(item)

    def is_scalar(self, item: mt.SSAItem) -> bool:
        """Whether an operation works on scalars alone."""
        if isinstance(item, mt.SSAForRange) or item.regions:
            return False
        types = [*(mt.operand_type(o) for o in item.operands), *(v.ty for v in item.results)]
        return not any(mt.shape_of(ty) for ty in types if ty is not None)

    def _cost(self, item: mt.SSAItem) -> int:
        if isinstance(item, mt.SSAForRange) or self.is_solid(item):
            return CAP
        if not any(mt.shape_of(v.ty) for v in item.results):
            return 0
        own = 0 if item.opcode in _FREE else COSTS.get(item.opcode, 1)
        if item.opcode == "load":
            own = 1 if self.is_run(item.operands[0]) else 12
        element = mt.element_of(item.results[0].ty)
        if isinstance(element, mt.ScalarType) and element.is_floating() and element.bits < 32:
            own += 2
        return min(CAP, own + sum(self.costs.get(v.id, 0) for v in self.needs(item)))

    def untransposed(self, value: mt.SSAValue) -> tuple[mt.SSAValue, tuple[int, ...]]:
        """What ``trans`` operations make a value from, and the axis of it that each axis is."""
        order = tuple(range(len(mt.shape_of(value.ty))))
        while True:
            item = self.makers.get(value.id)
            if not isinstance(item, mt.SSAOp) or item.opcode != "trans":
                return value, order
            order = tuple(item.attrs["order"][k] for k in order)
            operand = item.operands[0]
            assert isinstance(operand, mt.SSAValue)
            value = operand

    def direct_load(self, value: mt.SSAValue) -> mt.SSAOp | None:
        """The load that a factor of a product may be read through, element by element: of every
        element, in strides, of a type that needs no conversion."""
        value, _ = self.untransposed(value)
        item = self.makers.get(value.id)
        if not isinstance(item, mt.SSAOp) or item.opcode != "load":
            return None
        form = self.affine.of(item.operands[0])
        if item.operands[1] is not None or not is_based(form):
            return None
        return item if mt.scalar_of(value.ty) in (mt.F32, mt.F64) else None

    def is_run(self, ptr: mt.SSAOperand) -> bool:
        """Whether the lanes of a pointer follow one another along the last axis (or are one)."""
        form = self.affine.of(ptr)
        if form is None or not is_based(form) or ptr is None:
            return False
        strides = [s for s, d in zip(form.strides, mt.shape_of(ptr.ty)) if d > 1]
        return not strides or strides[-1] == 1 or all(s == 0 for s in strides)

    def in_rows(self, ptr: mt.SSAOperand) -> bool:
        """Whether the lanes of a pointer follow one another, or are the same, along the last axis."""
        form = self.affine.of(ptr)
        if form is None or not is_based(form) or ptr is None:
            return False
        shape = mt.shape_of(ptr.ty)
        return not shape or shape[-1] == 1 or form.strides[-1] in (0, 1)

    # ------------------------------------------------------------------ memory

    def touched(self, ptr: mt.SSAOperand) -> frozenset[int]:
        """Alias classes a pointer may point into."""
        if isinstance(ptr, mt.Param):
            names: frozenset[str] = frozenset({ptr.name})
        else:
            assert isinstance(ptr, mt.SSAValue)
            names = self.roots.get(ptr.id) or frozenset(self.classes)
        return frozenset(self.classes[name] for name in names)

    def reads(self, item: mt.SSAItem) -> frozenset[int]:
        return self._accessed(item, "load")

    def writes(self, item: mt.SSAItem) -> frozenset[int]:
        return self._accessed(item, "store")

    def _accessed(self, item: mt.SSAItem, opcode: str) -> frozenset[int]:
        found: set[int] = set()
        for each in mt.walk([item]):
            if each.opcode == opcode:
                found |= self.touched(each.inputs[0])
        return frozenset(found)

    def same_lane(self, a: mt.SSAItem, b: mt.SSAItem) -> bool:
        """Whether two accesses touch the same element in the same lane, and no lane another's."""
        if isinstance(a, mt.SSAForRange) or isinstance(b, mt.SSAForRange):
            return False
        if not {a.opcode, b.opcode} <= {"load", "store"}:
            return False
        p, q = a.operands[0], b.operands[0]
        f, g = self.affine.of(p), self.affine.of(q)
        if f is None or g is None or p is None or q is None or p.ty != q.ty:
            return False
        same = f.base == g.base and f.strides == g.strides
        if not same or f.root is None or g.root is None:
            return False
        # Roots of one class that differ are the same array passed twice (the launch checks), unless
        # anything may overlap anything.
        if f.root != g.root and not (
            isinstance(f.root, mt.Param) and isinstance(g.root, mt.Param) and self.exact_classes
        ):
            return False
        return _injective(f.strides, mt.shape_of(p.ty))

    #: Whether parameters of one class are the very same array.
    exact_classes = True


def _injective(strides: Sequence[Scalar], shape: Sequence[int]) -> bool:
    moving = [(s, d) for s, d in zip(strides, shape) if d > 1]
    if len(moving) == 1:
        return isinstance(moving[0][0], int) and moving[0][0] != 0
    # Rows that do not run into one another; symbolic row strides are not proven.
    reach = 0
    for stride, extent in sorted(moving, key=lambda m: abs(m[0]) if isinstance(m[0], int) else 0):
        if not isinstance(stride, int) or abs(stride) <= reach:
            return False
        reach += abs(stride) * (extent - 1)
    return True


def _values(operand: mt.SSAOperand) -> list[mt.SSAValue]:
    return [operand] if isinstance(operand, mt.SSAValue) else []


def is_based(form: Linear | None) -> bool:
    """Whether a form is that of addresses, counted from a single one."""
    return form is not None and form.root is not None and not mt.shape_of(form.root.ty)


def lanes(item: mt.SSAItem) -> list[tuple[mt.SSAValue, list[mt.SSAOperand]]]:
    """For each value that structured control flow carries or gives: what stands for it in a region
    (of an ``if``: its result), and where it comes from."""
    if isinstance(item, mt.SSAForRange):
        sources = zip(item.carried_inputs, item.yields)
        return [(arg, list(pair)) for arg, pair in zip(item.carried_args, sources)]
    if item.opcode == "while":
        body = item.regions[1]
        pairs = zip(item.operands, body.yields)
        return [(arg, list(pair)) for arg, pair in zip(body.args, pairs)]
    if item.opcode == "if":
        pairs = zip(item.regions[0].yields, item.regions[1].yields)
        return [(result, list(pair)) for result, pair in zip(item.results, pairs)]
    return []


def same_values(item: mt.SSAItem, k: int) -> list[mt.SSAValue]:
    """The names that one value carried by structured control flow has."""
    if isinstance(item, mt.SSAForRange):
        return [item.carried_args[k], item.results[k]]
    if item.opcode == "while":
        return [item.regions[0].args[k], item.regions[1].args[k], item.results[k]]
    return [item.results[k]]


def leaves(expression: Scalar) -> list[mt.SSAValue]:
    """The SSA values in a scalar expression."""
    return list(_leaves(expression))


@lru_cache(maxsize=4096)
def _leaves(expression: Scalar) -> tuple[mt.SSAValue, ...]:
    return tuple(v.value if isinstance(v, BaseOf) else v for v in _terms(expression))


@lru_cache(maxsize=4096)
def _terms(expression: Scalar) -> tuple[mt.SSAValue | BaseOf, ...]:
    """The SSA values in a scalar expression, bases of carried ones told apart."""
    found: list[mt.SSAValue | BaseOf] = []
    pending: list[Scalar] = [expression]
    while pending:
        current = pending.pop()
        if isinstance(current, Binary):
            pending += [current.lhs, current.rhs]
        elif isinstance(current, (BaseOf, mt.SSAValue)):
            found.append(current)
    return tuple(found)
