"""The types of the language: scalars, pointers, blocks.

A ``ScalarType`` is also the public dtype object (``tl.float32`` *is* ``F32``), so the queries
kernels make of dtypes (``is_floating()``, ``primitive_bitwidth``) live here.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import lru_cache

from ..errors import OpRuleError

# name -> (kind, bits). Kinds order promotion: bool < int < float.
_SCALARS: dict[str, tuple[str, int]] = {
    "bool": ("bool", 1),
    "i8": ("int", 8),
    "i16": ("int", 16),
    "i32": ("int", 32),
    "i64": ("int", 64),
    "u8": ("uint", 8),
    "u16": ("uint", 16),
    "u32": ("uint", 32),
    "u64": ("uint", 64),
    "f16": ("float", 16),
    "bf16": ("float", 16),
    "f32": ("float", 32),
    "f64": ("float", 64),
    "f8e4nv": ("float", 8),
    "f8e5": ("float", 8),
}

#: Triton's names of the same types: ``tl.dtype("fp32")`` is ``f32``, ``is_fp32()`` asks for it.
TRITON_NAMES: dict[str, str] = {
    "int1": "bool", "int8": "i8", "int16": "i16", "int32": "i32", "int64": "i64",
    "uint8": "u8", "uint16": "u16", "uint32": "u32", "uint64": "u64",
    "fp16": "f16", "bf16": "bf16", "fp32": "f32", "fp64": "f64",
    "fp8e4nv": "f8e4nv", "fp8e5": "f8e5",
}  # fmt: skip
#: Bits of the fraction and bias of the exponent of each float.
_FLOAT_FIELDS = {
    "f16": (10, 15), "bf16": (7, 127), "f32": (23, 127), "f64": (52, 1023), "f8e4nv": (3, 7),
    "f8e5": (2, 15),
}  # fmt: skip


class _Queries:
    """What kernels ask of any type at compile time; each kind of type overrides its own."""

    def is_block(self) -> bool:
        return False

    def is_ptr(self) -> bool:
        return False

    def is_const(self) -> bool:
        return False

    def is_floating(self) -> bool:
        return False

    def is_int(self) -> bool:
        return False

    def is_int_signed(self) -> bool:
        return False

    def is_int_unsigned(self) -> bool:
        return False

    def is_bool(self) -> bool:
        return False

    def is_fp8(self) -> bool:
        return False

    def is_standard_floating(self) -> bool:
        """Floats that compute: all but the 8-bit ones."""
        return self.is_floating() and not self.is_fp8()


@dataclass(frozen=True)
class ScalarType(_Queries):
    """One element: ``bool``, ``i8`` to ``i64``, ``u8`` to ``u64``, ``f16``, ``bf16``, ``f32``,
    ``f64``, ``f8e4nv``, ``f8e5``. Triton's names (``fp32``, ``int1``) mean the same types."""

    name: str
    #: ``"bool"``, ``"int"``, ``"uint"`` or ``"float"``.
    kind: str = field(init=False, repr=False, compare=False)
    #: Width of a value in bits; ``bool`` is 1 (one byte in memory).
    bits: int = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        if self.name in TRITON_NAMES:
            object.__setattr__(self, "name", TRITON_NAMES[self.name])
        if self.name not in _SCALARS:
            raise ValueError(
                f"no scalar type is called {self.name!r}; known: {', '.join(_SCALARS)}"
            )
        kind, bits = _SCALARS[self.name]
        object.__setattr__(self, "kind", kind)
        object.__setattr__(self, "bits", bits)

    def __hash__(self) -> int:
        return hash(self.name)

    def __str__(self) -> str:
        return self.name

    @property
    def itemsize(self) -> int:
        """Bytes of one element in memory."""
        return max(1, self.bits // 8)

    @property
    def primitive_bitwidth(self) -> int:
        return self.bits

    @property
    def scalar(self) -> ScalarType:
        return self

    def is_floating(self) -> bool:
        return self.kind == "float"

    @property
    def int_bitwidth(self) -> int:
        """Width of an integer or bool. Raises ``AttributeError`` for floats."""
        if self.is_floating():
            raise AttributeError(f"{self} is no integer type: it has no int_bitwidth")
        return self.bits

    @property
    def fp_mantissa_width(self) -> int:
        """Bits of the fraction of a float. Raises ``AttributeError`` for integers."""
        if not self.is_floating():
            raise AttributeError(f"{self} is no float type: it has no fp_mantissa_width")
        return _FLOAT_FIELDS[self.name][0]

    @property
    def exponent_bias(self) -> int:
        """Bias of the exponent of a float. Raises ``AttributeError`` for integers."""
        if not self.is_floating():
            raise AttributeError(f"{self} is no float type: it has no exponent_bias")
        return _FLOAT_FIELDS[self.name][1]

    def is_fp8(self) -> bool:
        return self.kind == "float" and self.bits == 8

    def is_int(self) -> bool:
        """Signed or unsigned integer, or bool (as in Triton)."""
        return self.kind != "float"

    def is_int_signed(self) -> bool:
        return self.kind == "int"

    def is_int_unsigned(self) -> bool:
        """Unsigned integer or bool (as in Triton)."""
        return self.kind in ("uint", "bool")

    def get_int_max_value(self) -> int:
        return self.int_range()[1]

    def get_int_min_value(self) -> int:
        return self.int_range()[0]

    def is_integer(self) -> bool:
        """Signed or unsigned integer, not bool."""
        return self.kind in ("int", "uint")

    def is_bool(self) -> bool:
        return self.kind == "bool"

    def is_signed(self) -> bool:
        return self.kind == "int"

    def int_range(self) -> tuple[int, int]:
        """Smallest and largest value of an integer type or bool."""
        if self.kind == "int":
            return -(1 << (self.bits - 1)), (1 << (self.bits - 1)) - 1
        return 0, (1 << self.bits) - 1


def _is_named(name: str | None) -> Callable[[ScalarType], bool]:
    return lambda self: self.name == name


for _triton, _ours in TRITON_NAMES.items():
    setattr(ScalarType, f"is_{_triton}", _is_named(_ours))
for _triton in ("fp8e4b15", "fp8e4b8", "fp8e5b16"):  # formats no backend has
    setattr(ScalarType, f"is_{_triton}", _is_named(None))


@dataclass(frozen=True)
class PointerType(_Queries):
    """Pointer to elements of ``element``; pointer arithmetic counts elements, not bytes."""

    element: ScalarType

    def __str__(self) -> str:
        return f"ptr<{self.element}>"

    @property
    def element_ty(self) -> ScalarType:
        return self.element

    @property
    def scalar(self) -> PointerType:
        return self

    def is_ptr(self) -> bool:
        return True


Element = ScalarType | PointerType


@dataclass(frozen=True)
class BlockType(_Queries):
    """A block of ``element`` with a static shape of positive extents (rank 1 and up)."""

    shape: tuple[int, ...]
    element: Element

    def __post_init__(self) -> None:
        if not self.shape or any(type(d) is not int or d <= 0 for d in self.shape):
            raise ValueError(
                f"a block needs a non-empty shape of positive ints, got {self.shape!r}"
            )

    def __str__(self) -> str:
        dims = "x".join(map(str, self.shape))
        word = "vector" if len(self.shape) == 1 else "block"
        return f"{word}<{dims} x {self.element}>"

    @property
    def numel(self) -> int:
        n = 1
        for d in self.shape:
            n *= d
        return n

    @property
    def scalar(self) -> Element:
        """The element type."""
        return self.element

    @property
    def element_ty(self) -> Element:
        return self.element

    def get_block_shapes(self) -> tuple[int, ...]:
        return self.shape

    def is_block(self) -> bool:
        return True


Type = ScalarType | PointerType | BlockType

BOOL = ScalarType("bool")
I8, I16, I32, I64 = (ScalarType(n) for n in ("i8", "i16", "i32", "i64"))
U8, U16, U32, U64 = (ScalarType(n) for n in ("u8", "u16", "u32", "u64"))
F16, BF16, F32, F64 = (ScalarType(n) for n in ("f16", "bf16", "f32", "f64"))
F8E4NV, F8E5 = ScalarType("f8e4nv"), ScalarType("f8e5")

SCALAR_NAMES = tuple(_SCALARS)
#: Types that only live in memory: they are loaded, stored and cast, never computed with.
STORAGE_ONLY = frozenset({F8E4NV, F8E5})


def element_of(ty: Type) -> Element:
    """The element of a block, or the type itself."""
    return ty.element if ty.__class__ is BlockType else ty  # type: ignore[return-value]


def scalar_of(ty: Type) -> ScalarType:
    """The scalar element of ``ty``; raises ``OpRuleError`` for pointers."""
    if ty.__class__ is ScalarType:
        return ty
    element = element_of(ty)
    if isinstance(element, PointerType):
        raise OpRuleError(f"a number is needed here, got {ty}; tl.load what it points to")
    return element


def shape_of(ty: Type) -> tuple[int, ...]:
    """The shape of a block; ``()`` for scalars and pointers."""
    return ty.shape if ty.__class__ is BlockType else ()


def is_pointer(ty: Type) -> bool:
    """Whether ``ty`` is a pointer or a block of pointers."""
    element = ty.element if ty.__class__ is BlockType else ty
    return element.__class__ is PointerType


#: Elements a block may have (Triton's limit).
MAX_BLOCK_ELEMENTS = 1 << 20


@lru_cache(maxsize=4096)
def with_shape(shape: tuple[int, ...], element: Element) -> Type:
    """``element`` itself for shape ``()``, else the block. Raises ``OpRuleError`` for blocks of
    more than ``MAX_BLOCK_ELEMENTS``."""
    if not shape:
        return element
    block = BlockType(shape, element)
    if block.numel > MAX_BLOCK_ELEMENTS:
        raise OpRuleError(
            f"a block of shape {shape} has {block.numel} elements, more than {MAX_BLOCK_ELEMENTS}"
        )
    return block


@lru_cache(maxsize=4096)
def broadcast_shapes(*shapes: tuple[int, ...]) -> tuple[int, ...]:
    """NumPy broadcasting of block shapes (missing leading axes are 1)."""
    rank = max((len(s) for s in shapes), default=0)
    out: list[int] = []
    for axis in range(rank):
        dim = 1
        for shape in shapes:
            k = axis - (rank - len(shape))
            extent = shape[k] if k >= 0 else 1
            if extent != 1:
                if dim not in (1, extent):
                    pretty = " and ".join(str(s) for s in shapes if s)
                    raise OpRuleError(
                        f"shapes {pretty} do not broadcast (axis {axis}: {dim} against {extent})"
                    )
                dim = extent
        out.append(dim)
    return tuple(out)


_TYPE = re.compile(r"(?:(vector|block)<(\d+(?:x\d+)*) x )?(ptr<)?([a-z][a-z0-9]*)(>)?(>)?$")


def parse_type(text: str) -> Type:
    """The inverse of ``str``: ``parse_type("vector<256 x ptr<f32>>")``. Raises ``ValueError``."""
    match = _TYPE.match(text.strip())
    if not match or match[4] not in _SCALARS:
        raise ValueError(f"not a type: {text!r}")
    word, dims, pointer, name, close1, close2 = match.groups()
    if (close1 or "") + (close2 or "") != ">" * (bool(word) + bool(pointer)):
        raise ValueError(f"not a type: {text!r}")
    element: Element = ScalarType(name)
    if pointer:
        element = PointerType(ScalarType(name))
    if not word:
        return element
    shape = tuple(int(d) for d in dims.split("x"))
    if (word == "vector") != (len(shape) == 1):
        raise ValueError(f"not a type: {text!r} (vector is rank 1, block is rank 2 and up)")
    return BlockType(shape, element)


def join_types(types: Sequence[Type]) -> str:
    """``"f32, i32"``: how a list of types prints."""
    return ", ".join(map(str, types))
