"""Expression nodes: what the frontend builds from the syntax of a kernel.

The nodes of the seed language have a class each; every later operation is an ``OpExpr`` naming its
registry entry, so adding an operation adds no node class.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from .node import Node, Ops, digest
from .types import ScalarType, Type

__all__ = [
    "AddPtr", "Arange", "BinOp", "Const", "Empty", "ExpandDims", "ForRange", "Full", "If", "Load",
    "LoopCarry", "LoopIndex", "LoopResult", "Max", "Maximum", "Min", "Minimum", "Node", "OpExpr",
    "Ops", "Param", "ProgramId", "Reduce", "Store", "Structured", "Sum", "UnaryOp", "Where", "While",
    "Zeros", "digest",
]  # fmt: skip

#: Operator symbols to opcodes, filled by the registry as operations that declare one register.
BINARY_SYMBOLS: dict[str, str] = {}
UNARY_SYMBOLS: dict[str, str] = {}


@dataclass(frozen=True, eq=False, repr=False, slots=True)
class Const(Node):
    """A compile-time bool, int or float."""

    value: Any


@dataclass(frozen=True, eq=False, repr=False, slots=True)
class Param(Node):
    """A runtime parameter of the kernel. Also an operand of SSA."""

    name: str
    ty: Type

    @property
    def type(self) -> Type:
        return self.ty

    def __str__(self) -> str:
        return self.name


@dataclass(frozen=True, eq=False, repr=False, slots=True)
class ProgramId(Node):
    OPCODE: ClassVar[str] = "program_id"
    axis: int


@dataclass(frozen=True, eq=False, repr=False, slots=True)
class Arange(Node):
    OPCODE: ClassVar[str] = "arange"
    start: int
    end: int


@dataclass(frozen=True, eq=False, repr=False, slots=True)
class BinOp(Node):
    OPERANDS: ClassVar[tuple[str, ...]] = ("lhs", "rhs")
    op: str
    lhs: Any
    rhs: Any

    @property
    def opcode(self) -> str:
        return BINARY_SYMBOLS[self.op]

    @property
    def attrs(self) -> dict[str, Any]:
        return {}


@dataclass(frozen=True, eq=False, repr=False, slots=True)
class UnaryOp(Node):
    """``op`` is an operator symbol (``"-"``) or the name of a function of one operand."""

    OPERANDS: ClassVar[tuple[str, ...]] = ("operand",)
    op: str
    operand: Any

    @property
    def opcode(self) -> str:
        return UNARY_SYMBOLS.get(self.op, self.op)

    @property
    def attrs(self) -> dict[str, Any]:
        return {}


@dataclass(frozen=True, eq=False, repr=False, slots=True)
class AddPtr(Node):
    OPCODE: ClassVar[str] = "addptr"
    OPERANDS: ClassVar[tuple[str, ...]] = ("base", "offset")
    base: Any
    offset: Any


@dataclass(frozen=True, eq=False, repr=False, slots=True)
class Load(Node):
    OPCODE: ClassVar[str] = "load"
    OPERANDS: ClassVar[tuple[str, ...]] = ("ptr", "mask", "other")
    HIDE_DEFAULTS: ClassVar[bool] = False
    ptr: Any
    mask: Any = None
    other: Any = None


@dataclass(frozen=True, eq=False, repr=False, slots=True)
class Store(Node):
    OPCODE: ClassVar[str] = "store"
    OPERANDS: ClassVar[tuple[str, ...]] = ("ptr", "value", "mask")
    # The articles number the stored value before its address.
    ORDER: ClassVar[tuple[int, ...]] = (1, 0, 2)
    HIDE_DEFAULTS: ClassVar[bool] = False
    ptr: Any
    value: Any
    mask: Any = None


@dataclass(frozen=True, eq=False, repr=False, slots=True)
class Maximum(Node):
    OPCODE: ClassVar[str] = "maximum"
    OPERANDS: ClassVar[tuple[str, ...]] = ("lhs", "rhs")
    lhs: Any
    rhs: Any


@dataclass(frozen=True, eq=False, repr=False, slots=True)
class Minimum(Node):
    OPCODE: ClassVar[str] = "minimum"
    OPERANDS: ClassVar[tuple[str, ...]] = ("lhs", "rhs")
    lhs: Any
    rhs: Any


@dataclass(frozen=True, eq=False, repr=False, slots=True)
class Where(Node):
    OPCODE: ClassVar[str] = "select"
    OPERANDS: ClassVar[tuple[str, ...]] = ("condition", "x", "y")
    condition: Any
    x: Any
    y: Any


@dataclass(frozen=True, eq=False, repr=False, slots=True)
class Sum(Node):
    OPCODE: ClassVar[str] = "sum"
    OPERANDS: ClassVar[tuple[str, ...]] = ("value",)
    value: Any


@dataclass(frozen=True, eq=False, repr=False, slots=True)
class Max(Node):
    OPCODE: ClassVar[str] = "max"
    OPERANDS: ClassVar[tuple[str, ...]] = ("value",)
    value: Any


@dataclass(frozen=True, eq=False, repr=False, slots=True)
class Min(Node):
    OPCODE: ClassVar[str] = "min"
    OPERANDS: ClassVar[tuple[str, ...]] = ("value",)
    value: Any


@dataclass(frozen=True, eq=False, repr=False, slots=True)
class ExpandDims(Node):
    OPCODE: ClassVar[str] = "expand_dims"
    OPERANDS: ClassVar[tuple[str, ...]] = ("value",)
    value: Any
    axis: int


@dataclass(frozen=True, eq=False, repr=False, slots=True)
class Empty(Node):
    OPCODE: ClassVar[str] = "empty"
    shape: tuple[int, ...]
    dtype: ScalarType


@dataclass(frozen=True, eq=False, repr=False, slots=True)
class Full(Node):
    OPCODE: ClassVar[str] = "full"
    OPERANDS: ClassVar[tuple[str, ...]] = ("value",)
    shape: tuple[int, ...]
    value: Any
    dtype: ScalarType


@dataclass(frozen=True, eq=False, repr=False, slots=True)
class Zeros(Node):
    OPCODE: ClassVar[str] = "zeros"
    shape: tuple[int, ...]
    dtype: ScalarType


@dataclass(frozen=True, eq=False, repr=False, slots=True)
class OpExpr(Node):
    """Any registered operation: ``OpExpr("cast", (x,), (("dtype", F32),))``."""

    op: str
    args: tuple[Any, ...]
    keywords: tuple[tuple[str, Any], ...] = ()

    @property
    def opcode(self) -> str:
        return self.op

    @property
    def operands(self) -> tuple[Node | None, ...]:
        return self.args

    @property
    def attrs(self) -> dict[str, Any]:
        return dict(self.keywords)


@dataclass(frozen=True, eq=False, repr=False, slots=True)
class LoopIndex(Node):
    """The induction variable of a runtime loop, inside its body."""

    name: str


@dataclass(frozen=True, eq=False, repr=False, slots=True)
class LoopCarry(Node):
    """A loop-carried variable as the current trip sees it."""

    index: int
    initial: Any


@dataclass(frozen=True, eq=False, repr=False, slots=True)
class LoopResult(Node):
    """A loop-carried variable after the loop."""

    loop: Any
    index: int

    def repr_parts(self) -> Any:
        # The loop prints where it stands in the program, not once more for each result.
        return (("loop", _LoopName(self.loop)), ("index", self.index))


class _LoopName:
    def __init__(self, loop: Any) -> None:
        self.loop = loop

    def __repr__(self) -> str:
        return f"<{self.loop.label()}>"


class Structured(Node):
    """An operation with regions. ``blocks`` holds, for each region, the scope it was traced in and
    everything program order pins there, loads included."""

    __slots__ = ("blocks",)
    blocks: tuple[tuple[Any, tuple[Node, ...]], ...]
    #: The fields that identify it, results apart.
    DATA: ClassVar[tuple[str, ...]] = ()

    def label(self) -> str:
        """How its results call it."""
        return type(self).__name__

    def digest_parts(self) -> tuple[Any, ...]:
        # Results refer back to their operation: counting them breaks the cycle.
        results: tuple[Node, ...] = getattr(self, "results")  # noqa: B009
        return (*(getattr(self, name) for name in self.DATA), len(results))

    @classmethod
    def restored(cls, parts: tuple[Any, ...]) -> Node:
        node = cls(*parts[:-1])
        return node.beside(results=tuple(LoopResult(node, i) for i in range(parts[-1])))


@dataclass(frozen=True, eq=False, repr=False, slots=True)
class ForRange(Structured):
    """A runtime loop. ``body`` lists its stores and loops."""

    DATA: ClassVar[tuple[str, ...]] = (
        "index", "start", "stop", "step", "captures", "body", "carried_inputs", "carried_args",
        "carried_outputs",
    )  # fmt: skip
    index: LoopIndex
    start: Any
    stop: Any
    step: Any
    captures: tuple[Any, ...]
    body: list[Any]
    carried_inputs: tuple[Any, ...]
    carried_args: tuple[LoopCarry, ...]
    carried_outputs: tuple[Any, ...]
    results: tuple[LoopResult, ...] = ()

    def label(self) -> str:
        return f"ForRange over {self.index.name!r}"


@dataclass(frozen=True, eq=False, repr=False, slots=True)
class While(Structured):
    """A loop that runs while ``condition``, computed anew before each trip, holds."""

    DATA: ClassVar[tuple[str, ...]] = (
        "condition", "captures", "body", "carried_inputs", "carried_args", "carried_outputs",
    )  # fmt: skip
    condition: Any
    captures: tuple[Any, ...]
    body: list[Any]
    carried_inputs: tuple[Any, ...]
    carried_args: tuple[LoopCarry, ...]
    carried_outputs: tuple[Any, ...]
    results: tuple[LoopResult, ...] = ()


@dataclass(frozen=True, eq=False, repr=False, slots=True)
class If(Structured):
    """A branch on a scalar condition. Its results are ``then_outputs`` or ``else_outputs``."""

    DATA: ClassVar[tuple[str, ...]] = (
        "condition", "captures", "then_body", "else_body", "then_outputs", "else_outputs",
    )  # fmt: skip
    condition: Any
    captures: tuple[Any, ...]
    then_body: list[Any]
    else_body: list[Any]
    then_outputs: tuple[Any, ...]
    else_outputs: tuple[Any, ...]
    results: tuple[LoopResult, ...] = ()


@dataclass(frozen=True, eq=False, repr=False, slots=True)
class Reduce(Structured):
    """A reduction with a function of the user's: ``outputs`` combine two tuples of scalars, the
    first and the second half of ``args``."""

    DATA: ClassVar[tuple[str, ...]] = ("values", "axis", "args", "outputs")
    values: tuple[Any, ...]
    axis: int | None
    args: tuple[LoopCarry, ...]
    outputs: tuple[Any, ...]
    results: tuple[LoopResult, ...] = ()
