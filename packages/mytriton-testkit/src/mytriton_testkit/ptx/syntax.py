"""The parsed form of a PTX module. Names are resolved: registers are slots of their function."""

from __future__ import annotations

from dataclasses import dataclass, field

from .errors import Site
from .types import TYPES, Type

BITS32 = TYPES["b32"]


@dataclass(frozen=True)
class Register:
    name: str
    slot: int
    type: Type
    negated: bool = False


@dataclass(frozen=True)
class Special:
    """A special register: `%tid.x`, `%laneid`, ..."""

    name: str


@dataclass(frozen=True)
class Immediate:
    """A literal. Exactly one of the two: `bits` of an integer or hexadecimal float, or `value`."""

    bits: int | None
    value: float | None = None
    width: int = 0
    """Bits of a hexadecimal float (`0f...` 32, `0d...` 64); 0 for anything else."""


@dataclass(frozen=True)
class Symbol:
    """A variable, function or label by name; variables are already told apart by scope."""

    name: str


@dataclass(frozen=True)
class Address:
    base: Register | Symbol | None
    offset: int


@dataclass(frozen=True)
class Vector:
    items: tuple[Operand, ...]


@dataclass(frozen=True)
class Pair:
    """`d|p`: a result and a predicate beside it."""

    first: Operand
    second: Operand


Operand = Register | Special | Immediate | Symbol | Address | Vector | Pair | None
"""None is the sink `_`."""


@dataclass
class Instruction:
    opcode: str
    operands: list[Operand]
    guard: Register | None
    site: Site
    unused_result: bool = False
    """Set where nothing in the function reads the first operand."""
    base: str = field(init=False)
    modifiers: tuple[str, ...] = field(init=False)
    types: list[Type] = field(init=False)

    def __post_init__(self) -> None:
        self.base, *modifiers = self.opcode.split(".")
        self.modifiers = tuple(part.split("::")[0] for part in modifiers)
        self.types = [TYPES[part] for part in modifiers if part in TYPES]

    @property
    def type(self) -> Type:
        """The last type of the opcode, which is the operands' type in most instructions."""
        return self.types[-1] if self.types else BITS32

    def has(self, *modifiers: str) -> bool:
        return any(modifier in self.modifiers for modifier in modifiers)

    def one_of(self, *modifiers: str, default: str = "") -> str:
        """The first of the modifiers that the opcode has."""
        return next((part for part in modifiers if part in self.modifiers), default)


@dataclass
class Call(Instruction):
    """`call (results), target, (arguments)`: the names of `.param` variables or registers."""

    results: list[Operand] = field(default_factory=list)
    target: str = ""
    arguments: list[Operand] = field(default_factory=list)


@dataclass
class Label:
    name: str


@dataclass
class Variable:
    """A variable of a state space. `values` are the initial bytes; `links` the offsets at which
    the address of another symbol goes (bytes, name, addend)."""

    name: str
    space: str
    size: int
    align: int
    values: bytes = b""
    links: list[tuple[int, int, str, int]] = field(default_factory=list)
    dynamic: bool = False


@dataclass(frozen=True)
class Param:
    """A parameter of a kernel or function."""

    name: str
    type: Type
    size: int
    align: int
    offset: int = 0
    is_array: bool = False
    pointer: bool = False
    register: Register | None = None

    def __str__(self) -> str:
        return f".{self.type.name} {self.name}" + (f"[{self.size}]" if self.is_array else "")


@dataclass
class Function:
    """A kernel (`.entry`) or device function (`.func`)."""

    name: str
    is_entry: bool
    params: list[Param]
    results: list[Param] = field(default_factory=list)
    body: list[Instruction | Label] = field(default_factory=list)
    registers: list[Type] = field(default_factory=list)
    variables: list[Variable] = field(default_factory=list)
    tables: dict[str, list[str]] = field(default_factory=dict)
    required_threads: tuple[int, int, int] | None = None
    maximal_threads: tuple[int, int, int] | None = None


@dataclass
class Module:
    """A parsed module: `kernels` may be launched, `functions` are those and what they call."""

    version: str = ""
    target: str = ""
    functions: dict[str, Function] = field(default_factory=dict)
    variables: list[Variable] = field(default_factory=list)
    compiled: dict[str, object] = field(default_factory=dict, repr=False)

    @property
    def kernels(self) -> dict[str, Function]:
        return {name: each for name, each in self.functions.items() if each.is_entry}
