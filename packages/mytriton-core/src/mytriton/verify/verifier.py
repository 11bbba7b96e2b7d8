"""The SSA verifier.

Structural rules are here, for all items alike: values are defined once and before they are used,
a region's values stay inside it, operands, attributes and results are those the registry declares.
What is particular to an operation comes from its ``OpDef``. Regions are visited with an explicit
stack, so nesting depth does not meet Python's recursion limit.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from ..errors import OpRuleError, VerificationError
from ..ir import ops as _ops  # noqa: F401  (registers the operations)
from ..ir.expr import Param
from ..ir.registry import OpDef, get, lookup
from ..ir.types import PointerType, ScalarType, Type, join_types
from ..ir.values import (
    Constant,
    Region,
    SSAForRange,
    SSAFunction,
    SSAItem,
    SSAOp,
    SSAOperand,
    SSAValue,
    operand_type,
)
from .attributes import check_attributes
from .loops import check_loop


def verify(function: SSAFunction) -> None:
    """Raise ``VerificationError`` at the first rule ``function`` breaks."""
    _Verifier(function).run()


class _Verifier:
    def __init__(self, function: SSAFunction) -> None:
        self.function = function
        self.params: dict[str, Param] = {}
        #: What may be used here: grows with definitions, shrinks when a region ends.
        self.visible: dict[int, SSAValue] = {}
        #: Every number ever defined: numbers are unique in the whole function.
        self.seen: set[int] = set()
        #: Inferred types of operations without attributes, for this run.
        self.inferred: dict[Any, Type | None] = {}

    def run(self) -> None:
        for param in self.function.params:
            if param.name in self.params:
                raise VerificationError(
                    f"{self.function.name}: two parameters are called {param.name!r}"
                    f" ({self.params[param.name].ty} and {param.ty})"
                )
            if not isinstance(param.ty, (ScalarType, PointerType)):
                raise VerificationError(
                    f"{self.function.name}: parameter {param.name!r} must be a scalar or a pointer,"
                    f" got {param.ty}"
                )
            self.params[param.name] = param
        stack: list[Iterator[None]] = [self.body(self.function.body, [])]
        while stack:
            # A body hands out the bodies nested in it, and goes on when they are done.
            inner = next(stack[-1], stack)
            if inner is stack:
                stack.pop()
            else:
                stack.append(inner)  # type: ignore[arg-type]

    def body(self, items: Sequence[SSAItem], local: list[int]) -> Iterator[Any]:
        """Verify ``items``; ``local`` collects the numbers they define."""
        for item in items:
            definition = lookup(item.opcode) or self.unknown(item)
            types = self.operands(item)
            if isinstance(item, SSAForRange):
                self.rule(item, check_loop, item)
            else:
                self.operation(item, definition, types)
            if definition.regions:
                for region in item.regions:
                    yield self.region(item, region)
            if definition.verify is not None:
                self.rule(item, definition.verify, item)
            for value in item.results:
                self.define(item, value, local)

    def unknown(self, item: SSAItem) -> OpDef:
        try:
            return get(item.opcode)
        except OpRuleError as error:
            raise VerificationError(str(error), item.span) from None

    def operands(self, item: SSAItem) -> list[Type | None]:
        """The types of the operands, after checking that they are there to be used."""
        types: list[Type | None] = []
        visible = self.visible
        for operand in item.inputs:
            kind = operand.__class__
            # The usual cases first: this is the hot loop of the verifier.
            if kind is Constant or (kind is SSAValue and visible.get(operand.id) is operand):  # type: ignore[union-attr]
                types.append(operand.ty)  # type: ignore[union-attr]
            else:
                types.append(self.use(item, len(types), operand))
        return types

    def region(self, item: SSAItem, region: Region) -> Iterator[Any]:
        local: list[int] = []
        for value in region.args:
            self.define(item, value, local)
        yield self.body(region.body, local)
        for operand in region.yields:
            if operand is None:
                raise VerificationError(f"{item.opcode}: a region yields none", item.span)
            self.use(item, -1, operand)
        for number in local:
            del self.visible[number]

    def define(self, item: SSAItem, value: SSAValue, local: list[int]) -> None:
        number = value.id
        if number in self.seen:
            other = self.visible.get(number)
            was = f" (as {other.ty} and as {value.ty})" if other is not None else ""
            raise VerificationError(f"{item.opcode}: %{number} is defined twice{was}", item.span)
        self.seen.add(number)
        self.visible[number] = value
        local.append(number)

    def use(self, item: SSAItem, position: int, operand: SSAOperand) -> Type | None:
        """The type of an operand, after checking that it is there to be used."""
        if operand is None:
            return None
        if type(operand) is SSAValue:
            found: Any = self.visible.get(operand.id)
        elif type(operand) is Constant:
            return operand.ty
        elif type(operand) is Param:
            found = self.params.get(operand.name)
        else:
            raise VerificationError(
                f"{item.opcode}: {self.place(item, position)} is a {type(operand).__name__},"
                " not a value, parameter, constant or none",
                item.span,
            )
        if found is not operand:
            self.check_use(item, position, operand, found)
        return operand.ty

    def check_use(self, item: SSAItem, position: int, operand: Any, found: Any) -> None:
        place = f"{item.opcode}: {self.place(item, position)}"
        if found is None and isinstance(operand, Param):
            name = self.function.name
            raise VerificationError(
                f"{place} is {operand.name!r}, which is no parameter of {name}", item.span
            )
        if found is None:
            why = (
                "outside the region that defines it"
                if operand.id in self.seen
                else "before it is defined"
            )
            raise VerificationError(f"{place}, {operand} ({operand.ty}), is used {why}", item.span)
        if found.ty != operand.ty:
            raise VerificationError(
                f"{place}, {operand}, is used as {operand.ty} but is {found.ty}", item.span
            )

    def place(self, item: SSAItem, position: int) -> str:
        if position < 0:
            return "a yielded value"
        if isinstance(item, SSAForRange):
            return (
                ("the start", "the stop", "the step")[position]
                if position < 3
                else (f"carried input {position - 3}")
            )
        names = get(item.opcode).operands
        return (
            f"the {names[position].rstrip('?')}"
            if position < len(names) and names[position][-1] != "*"
            else f"operand {position}"
        )

    def operation(self, item: SSAOp, definition: OpDef, types: list[Type | None]) -> None:
        # By identity: equal types that are different objects only miss the memo.
        key = None if item.attrs else (item.opcode, *map(id, types))
        if key is not None and key in self.inferred:
            wanted = self.inferred[key]
        else:
            check_operands(item, definition, types)
            check_attributes(item, definition)
            wanted = self.rule(item, definition.infer, types, item.attrs)
            if key is not None:
                self.inferred[key] = wanted
        if (definition.regions or item.regions) and len(item.regions) != definition.regions:
            raise VerificationError(
                f"{item.opcode}: {definition.regions} regions are needed, got {len(item.regions)}",
                item.span,
            )
        if definition.free_results:
            return
        result = item.result
        ty = result.ty if result.__class__ is SSAValue else None
        if ty is None or (ty is not wanted and ty != wanted):
            check_results(item, wanted)

    def rule(self, item: SSAItem, rule: Any, *arguments: Any) -> Any:
        """Call a rule; what it refuses becomes an error at the item's place in the source."""
        try:
            return rule(*arguments)
        except OpRuleError as error:
            message = str(error)
            if not message.startswith(item.opcode):
                message = f"{item.opcode}: {message}"
            raise VerificationError(message, item.span) from None


def _spell(types: Sequence[Type | None]) -> str:
    return ", ".join(str(ty) if ty is not None else "none" for ty in types) or "nothing"


def check_operands(item: SSAOp, definition: OpDef, types: Sequence[Type | None]) -> None:
    """The right number of operands, and none only where the operation allows it."""
    names = definition.operands
    if definition.variadic:
        names = (*names[:-1], *((names[-1].rstrip("*"),) * (len(types) - len(names) + 1)))
    if len(types) != len(names):
        wanted = ", ".join(name.rstrip("?*") for name in names) or "none"
        raise VerificationError(
            f"{item.opcode} takes {len(names)} operands ({wanted}), got {len(types)}:"
            f" {_spell(types)}",
            item.span,
        )
    for ty, name, required in zip(types, names, _required(names), strict=False):
        if ty is None and required:
            raise VerificationError(
                f"{item.opcode}: the {name} is needed, got none (operands: {_spell(types)})",
                item.span,
            )


def _required(names: Sequence[str]) -> Sequence[bool]:
    return [not name.endswith("?") for name in names]


def check_results(item: SSAOp, wanted: Any) -> None:
    """The results are those the operation's type rule gives."""
    types: tuple[Type, ...] = (
        () if wanted is None else wanted if isinstance(wanted, tuple) else (wanted,)
    )
    got = tuple(value.ty for value in item.results)
    if got == types:
        return
    operands = _spell([operand_type(o) for o in item.operands])
    if not types:
        raise VerificationError(
            f"{item.opcode} has no result, got one of type {join_types(got)}", item.span
        )
    if not got:
        raise VerificationError(
            f"{item.opcode} has a result of type {join_types(types)}, which is missing", item.span
        )
    raise VerificationError(
        f"{item.opcode}: the result is {join_types(got)} but {operands} give {join_types(types)}",
        item.span,
    )
