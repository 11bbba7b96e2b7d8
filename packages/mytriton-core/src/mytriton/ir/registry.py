"""The op registry: an operation is declared once, here, and read by everything else.

Type inference, lowering, verifier, passes, printer, parser, interpreter, capability tables, language
reference and the fuzzer all read an ``OpDef``; none of them has a list of op names of its own.
A plugin registers operations in its own namespace (``acme.fft``) with the same call.
"""

from __future__ import annotations

import enum
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ..errors import OpRuleError
from .expr import BINARY_SYMBOLS, UNARY_SYMBOLS
from .types import ScalarType, Type, element_of
from .values import SSAItem, SSAOp, SSAOperand


class Effect(enum.Flag):
    """What an operation does besides computing its result."""

    PURE = 0
    READ = enum.auto()
    WRITE = enum.auto()
    ATOMIC = READ | WRITE
    BARRIER = enum.auto()
    #: Talks to the user (``device_print``, ``device_assert``): never removed, reads no memory.
    IO = enum.auto()


Infer = Callable[[Sequence[Type | None], Mapping[str, Any]], "Type | None"]
Compute = Callable[[Sequence[Type | None], "Type | None"], "ScalarType | tuple[ScalarType, ...]"]
Meaning = Callable[..., Any]
Fold = Callable[[SSAOp], SSAOperand]
Rule = Callable[[SSAItem], None]


@dataclass(frozen=True)
class OpDef:
    """Everything there is to know about one operation.

    ``numpy(ev, *arrays)`` is its meaning. Arrays of an *elementwise* operation arrive broadcastable
    and converted to ``compute`` type; arrays of any other operation are as declared by their types
    with one leading axis for programs (a block of shape ``(16, 32)`` arrives as ``(P, 16, 32)``,
    a scalar as ``(P,)``), where ``P`` may be 1 for a value every program shares. ``ev`` carries
    ``attrs``, ``types`` and ``result_type``, and the memory and grid of the running program.
    """

    name: str
    #: Names of the operands, in SSA order. A trailing ``?`` marks one that may be ``none``; a
    #: last name with a trailing ``*`` stands for any number.
    operands: tuple[str, ...]
    #: Result type from operand types and attributes; raises ``OpRuleError`` on a type clash.
    infer: Infer
    #: NumPy meaning; ``None`` for structured operations, which the interpreter executes itself.
    numpy: Meaning | None
    #: One paragraph for the language reference.
    doc: str
    #: Attribute names; every one is required unless it ends with ``?``.
    attrs: tuple[str, ...] = ()
    #: Applies to each element on its own, with broadcasting; operands convert to ``compute``.
    elementwise: bool = False
    #: The scalar type (or one per operand) the operands of an elementwise operation are converted
    #: to before it computes; default: the result's element type.
    compute: Compute | None = None
    #: Algebraic rule: an operand or constant equal to the result, or ``None``.
    fold: Fold | None = None
    effects: Effect = Effect.PURE
    #: May run although the program would not have run it (division by zero may not).
    speculatable: bool = True
    #: Constant operands may be evaluated at compile time through ``numpy``.
    foldable: bool = True
    #: ``defined(ev, *arrays)``: where the result is specified (no division by zero, no shift by the
    #: width); constants outside it are not folded. ``None``: everywhere.
    defined: Meaning | None = None
    #: What the sanitizer calls operands outside ``defined``.
    hazard: str = "unspecified-result"
    #: ``exact(*operands)`` in unbounded integers, for an operation whose signed result may leave
    #: its type. Where each operand lies in a range, its extremes are at their ends.
    exact: Callable[..., Any] | None = None
    commutative: bool = False
    #: Operator of the expression tree that means this operation.
    symbol: str | None = None
    #: Where a bare constant takes its type from when text is parsed: ``result`` (element type of
    #: the result), ``peer`` (first typed operand), ``pointee``, or a scalar type name.
    constants: str = "result"
    #: Rules beyond the result type; raises ``OpRuleError``.
    verify: Rule | None = None
    #: Feature id a backend declares (default ``op.<name>``).
    feature: str = ""
    #: Number of regions (structured operations).
    regions: int = 0
    #: Its regions may run several times: what is invariant in them may move in front.
    loop: bool = False
    #: The results follow from the regions and are checked by ``verify``, not by ``infer``.
    free_results: bool = False
    #: Kernel source of a runnable example, for the language reference.
    example: str = field(default="", repr=False)

    @property
    def feature_id(self) -> str:
        return self.feature or f"op.{self.name}"

    @property
    def pure(self) -> bool:
        return self.effects == Effect.PURE

    def required(self) -> tuple[bool, ...]:
        """Whether each operand must be present."""
        return tuple(not name.endswith(("?", "*")) for name in self.operands)

    @property
    def variadic(self) -> bool:
        """Whether the last operand name stands for any number of operands."""
        return bool(self.operands) and self.operands[-1].endswith("*")

    def compute_types(
        self, types: Sequence[Type | None], result: Type | None
    ) -> tuple[ScalarType, ...]:
        """The scalar type each operand of an elementwise operation is converted to."""
        found: Any = self.compute(types, result) if self.compute else element_of(result)  # type: ignore[arg-type]
        return found if isinstance(found, tuple) else (found,) * len(types)


_OPS: dict[str, OpDef] = {}


def register(op: OpDef) -> OpDef:
    """Add ``op``. Raises ``ValueError`` when the name or symbol is taken by another definition."""
    if _OPS.get(op.name, op) is not op:
        raise ValueError(f"operation {op.name!r} is registered already")
    if op.symbol is not None:
        table = BINARY_SYMBOLS if len(op.operands) == 2 else UNARY_SYMBOLS
        if table.get(op.symbol, op.name) != op.name:
            raise ValueError(f"operator {op.symbol!r} already means {table[op.symbol]!r}")
        table[op.symbol] = op.name
    _OPS[op.name] = op
    return op


def unregister(name: str) -> None:
    """Remove an operation (tests and plugins that are unloaded)."""
    op = _OPS.pop(name, None)
    if op is not None and op.symbol is not None:
        table = BINARY_SYMBOLS if len(op.operands) == 2 else UNARY_SYMBOLS
        table.pop(op.symbol, None)


def get(name: str) -> OpDef:
    """The definition of ``name``. Raises ``OpRuleError`` for an unknown operation."""
    try:
        return _OPS[name]
    except KeyError:
        import difflib

        close = difflib.get_close_matches(name, _OPS, n=1)
        hint = f"; closest: {close[0]!r}" if close else ""
        raise OpRuleError(f"no operation is called {name!r}{hint}") from None


def lookup(name: str) -> OpDef | None:
    """The definition of ``name``, or ``None``."""
    return _OPS.get(name)


def all_ops() -> Iterator[OpDef]:
    """Every registered operation, by name."""
    return iter(sorted(_OPS.values(), key=lambda op: op.name))


def effects_of(item: SSAItem) -> Effect:
    """The effects of an item, those of everything nested in it included."""
    found = get(item.opcode).effects
    stack = [body for region in item.regions for body in region.body]
    while stack:
        inner = stack.pop()
        found |= get(inner.opcode).effects
        stack.extend(body for region in inner.regions for body in region.body)
    return found
