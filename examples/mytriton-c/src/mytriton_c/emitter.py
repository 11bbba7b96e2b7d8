"""From SSA to the text of a C function: names, types, loops over blocks.

What each operation means is in ``lowerings``; the emitter has no list of operations. Two forms of a
value occur in the text: *stored*, as it lies in memory and in blocks (``f16``, ``bf16``: bits), and
*working*, what C computes with (``f16``, ``bf16``: float). Pointers are integers (``uintptr_t``), so
that the wild address of a masked lane is just a number.
"""

from __future__ import annotations

import math
import re
import struct
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from mytriton.plugin_api import (
    BlockType,
    Constant,
    Param,
    PointerType,
    ScalarType,
    Span,
    SSAFunction,
    SSAItem,
    SSAOp,
    SSAOperand,
    SSAValue,
    Type,
    UnsupportedFeature,
    element_of,
    get_op,
    is_pointer,
    operand_type,
    scalar_of,
    shape_of,
)

Lines = list[str]
Lowering = Callable[["Emitter", Any], Lines]
Shape = tuple[int, ...]

STORED = {
    "bool": "uint8_t", "i8": "int8_t", "i16": "int16_t", "i32": "int32_t", "i64": "int64_t",
    "u8": "uint8_t", "u16": "uint16_t", "u32": "uint32_t", "u64": "uint64_t",
    "f16": "uint16_t", "bf16": "uint16_t", "f32": "float", "f64": "double",
}  # fmt: skip
HALVES = ("f16", "bf16")


def stored(ty: Type, span: Span | None = None) -> str:
    """The C type of one stored element. Raises ``UnsupportedFeature``."""
    element = element_of(ty)
    if isinstance(element, PointerType):
        return "uintptr_t"
    if element.name not in STORED:
        raise UnsupportedFeature(f"dtype.{element}", "C has no such type", span)
    return STORED[element.name]


def working(ty: ScalarType) -> str:
    """The C type that computes with ``ty``."""
    return "float" if ty.name in HALVES else stored(ty)


def decode(ty: ScalarType, text: str) -> str:
    """Stored to working."""
    return f"value_{ty}({text})" if ty.name in HALVES else text


def encode(ty: ScalarType, text: str) -> str:
    """Working to stored, rounding."""
    return f"bits_{ty}({text})" if ty.name in HALVES else text


def convert(src: ScalarType, dst: ScalarType, text: str) -> str:
    """Value conversion between working forms."""
    if src == dst:
        return text
    if dst.is_bool():
        return f"({text}) != 0"
    if dst.is_integer():
        return f"trunc_{dst}({text})" if src.is_floating() else f"as_{dst}(U({text}))"
    if dst.name in HALVES:
        narrow = f"odd_f32({text})" if src.name == "f64" else f"(float)({text})"
        return decode(dst, encode(dst, narrow))
    return f"({stored(dst)})({text})"


def literal(value: Any, ty: ScalarType) -> str:
    """A constant in working form, to the last bit."""
    if ty.is_bool():
        return str(int(value))
    if ty.is_integer():
        if value == ty.int_range()[0] and ty.is_signed():
            return f"INT{ty.bits}_MIN"
        text = f"{stored(ty).upper()[:-2]}_C({value})"
    elif math.isnan(value):
        double = ty.name == "f64"
        bits = struct.pack(">d" if double else ">f", value).hex()
        return f"f64_bits(0x{bits}ULL)" if double else f"f32_bits(0x{bits}U)"
    elif math.isinf(value):
        text = "INFINITY" if value > 0 else "-INFINITY"
    else:
        exact = value.is_integer() and abs(value) < 2**24
        text = repr(value) if exact else re.sub(r"\.?0*p", "p", value.hex())
        text += "" if ty.name == "f64" else "f"
    return f"({text})" if text.startswith("-") else text


class Lanes:
    """The loops over the elements of ``shape``, and where operands are read in their body.

    One flat loop where it will do; one loop an axis where an operand is spread along an axis.
    """

    def __init__(self, shape: Shape, operands: Sequence[Type | None]) -> None:
        self.shape = shape
        shapes = [shape_of(ty) for ty in operands if ty is not None]
        self.flat = all(s == shape or math.prod(s) == 1 for s in shapes)

    def index(self, shape: Shape) -> str:
        """The subscript of an operand of ``shape``; empty for a scalar."""
        if not shape:
            return ""
        if math.prod(shape) == 1:
            return "[0]"
        if self.flat:
            return "[i]"
        terms, stride, first = [], 1, len(self.shape) - len(shape)
        for axis in reversed(range(len(shape))):
            if shape[axis] != 1:
                terms.append(f"i{first + axis}" + (f" * {stride}" if stride != 1 else ""))
            stride *= shape[axis]
        return f"[{' + '.join(reversed(terms))}]"

    def around(self, body: Lines) -> Lines:
        if not self.shape:
            return ["{", *indent(body), "}"]
        extents = [math.prod(self.shape)] if self.flat else self.shape
        names = ["i"] if self.flat else [f"i{k}" for k in range(len(extents))]
        heads = [f"for (size_t {n} = 0; {n} < {d}; {n}++)" for n, d in zip(names, extents)]
        return [" ".join(heads) + " {", *indent(body), "}"]


def indent(lines: Lines) -> Lines:
    return ["    " + line for line in lines]


class Emitter:
    """One function being written. ``lines`` of a lowering go where its operation stands."""

    def __init__(self, function: SSAFunction, lowerings: Mapping[str, Lowering]) -> None:
        self.function = function
        self.lowerings = lowerings
        #: Members of the struct of blocks, which lives on the heap: blocks may be large.
        self.blocks: Lines = []
        self._names: dict[int, str] = {}
        self._params = {
            p.name: f"a{k}_" + re.sub(r"[^0-9A-Za-z_]", "_", p.name)
            for k, p in enumerate(function.params)
        }
        self._temporaries = 0

    # ------------------------------------------------------------------ names and operands

    def declare(self, name: str, ty: Type, span: Span | None = None) -> tuple[str, Lines]:
        """A new variable: what it is called in C, and its declaration if it stands in the text."""
        if isinstance(ty, BlockType):
            self.blocks.append(f"{stored(ty, span)} {name}[{ty.numel}];")
            return f"b->{name}", []
        return name, [f"{stored(ty, span)} {name};"]

    def define(self, value: SSAValue, span: Span | None = None) -> Lines:
        """Declare an SSA value."""
        self._names[value.id], lines = self.declare(f"v{value.id}", value.ty, span)
        return lines

    def alias(self, value: SSAValue, other: SSAValue) -> None:
        """``value`` is found where ``other`` is."""
        self._names[value.id] = self._names[other.id]

    def temporary(self, ty: Type) -> tuple[str, Lines]:
        self._temporaries += 1
        return self.declare(f"t{self._temporaries}", ty)

    def name(self, operand: SSAOperand) -> str:
        """The C variable of a value or parameter; a literal for a constant (stored form)."""
        if isinstance(operand, Constant):
            return encode(operand.ty, literal(operand.value, operand.ty))
        if isinstance(operand, Param):
            return self._params[operand.name]
        assert operand is not None
        return self._names[operand.id]

    def read(self, operand: SSAOperand, lanes: Lanes) -> str:
        """The stored form of an operand in the body of ``lanes``."""
        assert operand is not None
        return self.name(operand) + lanes.index(shape_of(operand.ty))

    def value(self, operand: SSAOperand, lanes: Lanes, wanted: ScalarType) -> str:
        """The working form of an operand, converted to ``wanted``."""
        assert operand is not None
        ty = scalar_of(operand.ty)
        if isinstance(operand, Constant):
            return convert(ty, wanted, literal(operand.value, ty))
        return convert(ty, wanted, decode(ty, self.read(operand, lanes)))

    # ------------------------------------------------------------------ shapes of lowerings

    def each(self, op: SSAOp, body: Callable[[Lanes], Lines], wide: SSAOperand = None) -> Lines:
        """A loop over the elements of the result, or of the operand ``wide``. ``body`` gives its
        lines; the last is the stored form of the result."""
        shape = shape_of(wide.ty if wide is not None else op.results[0].ty)
        lanes = Lanes(shape, [operand_type(o) for o in op.operands])
        *lines, last = body(lanes)
        if not op.results:
            return lanes.around([*lines, last])
        (result,) = op.results
        declared = self.define(result, op.span)
        target = self.name(result) + lanes.index(shape)
        return [*declared, *lanes.around([*lines, f"{target} = {last};"])]

    def elementwise(self, op: SSAOp, meaning: Callable[..., str]) -> Lines:
        """``meaning(ty, "x", "y", ...)`` is C for the result, given the operands in the type the
        registry says the operation computes in."""
        result = op.results[0].ty
        compute = get_op(op.opcode).compute_types([operand_type(o) for o in op.operands], result)
        names = "xyz"[: len(compute)]

        def body(lanes: Lanes) -> Lines:
            operands = [
                f"{working(ty)} {name} = {self.value(operand, lanes, ty)};"
                for name, operand, ty in zip(names, op.operands, compute)
            ]
            return [*operands, encode(scalar_of(result), meaning(compute[-1], *names))]

        return self.each(op, body)

    def reduction(self, op: SSAOp, begin: str, step: str, end: str) -> Lines:
        """``begin`` declares the accumulator (``x`` is the first element), ``step`` takes ``x`` in,
        ``end`` is the result."""
        (value,), (result,) = op.operands, op.results
        assert isinstance(value, SSAValue)
        shape, axis, ty = shape_of(value.ty), op.attrs.get("axis"), scalar_of(value.ty)
        extent = math.prod(shape) if axis is None else shape[axis]
        inner = 1 if axis is None else math.prod(shape[axis + 1 :])
        outer = math.prod(shape) // extent // inner
        name = self.name(value)
        declared = self.define(result, op.span)
        target = self.name(result) + (f"[o * {inner} + r]" if shape_of(result.ty) else "")
        element = decode(ty, f"{name}[(o * {extent} + k) * {inner} + r]")
        heads = f"for (size_t o = 0; o < {outer}; o++) for (size_t r = 0; r < {inner}; r++) {{"
        body = [
            "size_t k = 0;",
            f"{working(ty)} x = {element};",
            begin,
            f"for (; k < {extent}; k++) {{",
            *indent([f"x = {element};", step]),
            "}",
            f"{target} = {encode(ty, end)};",
        ]
        return [*declared, heads, *indent(body), "}"]

    def copy(self, name: str, ty: Type, source: str) -> Lines:
        """``name = source`` for a whole value (two variables, or a scalar of any form)."""
        if isinstance(ty, BlockType):
            return [f"memcpy({name}, {source}, sizeof {name});"]
        return [f"{name} = {source};"]

    # ------------------------------------------------------------------ the function

    def body(self, items: Sequence[SSAItem]) -> Lines:
        """The lines of items in order. Raises ``UnsupportedFeature`` for an unknown operation."""
        lines: Lines = []
        for item in items:
            lowering = self.lowerings.get(item.opcode)
            if lowering is None:
                raise UnsupportedFeature(get_op(item.opcode).feature_id, span=item.span)
            shown = ", ".join(f"%{value.id}" for value in item.results)
            lines += [f"// {shown}{' = ' if shown else ''}{item.opcode}", *lowering(self, item)]
        return lines

    def kernel(self, entry: str) -> str:
        """The text of a C function that runs a whole grid, axis 0 fastest."""
        params = [(k, p.ty, self._params[p.name]) for k, p in enumerate(self.function.params)]
        body = self.body(self.function.body)
        incoming = ", ".join(f", {passed(ty)} p{k}" for k, ty, _ in params)
        arguments = [f"const {stored(ty)} {n} = {received(ty, f'p{k}')};" for k, ty, n in params]
        loops = [
            f"for (int32_t pid{k} = 0; pid{k} < grid{k}; pid{k}++)" + (" {" if k == 0 else "")
            for k in (2, 1, 0)
        ]
        lines = [
            '#include "mytriton_c.h"',
            "",
            f"struct blocks_{entry} {{",
            *indent([*self.blocks, "char end;"]),
            "};",
            "",
            f"int {entry}(int32_t grid0, int32_t grid1, int32_t grid2{incoming}) {{",
            *indent([
                f"struct blocks_{entry} *b = malloc(sizeof *b);",
                "if (!b) return 1;",
                *arguments,
                *loops,
                *indent(body),
                "}",
                "free(b);",
                "return 0;",
            ]),
            "}",
        ]  # fmt: skip
        return "\n".join(lines) + "\n"


def passed(ty: Type) -> str:
    """The C type a launch argument is passed as: floats of every width come as ``double``."""
    if is_pointer(ty):
        return "void *"
    return "double" if scalar_of(ty).is_floating() else stored(ty)


def received(ty: Type, name: str) -> str:
    """A parameter in stored form."""
    if is_pointer(ty):
        return f"(uintptr_t){name}"
    if not scalar_of(ty).is_floating():
        return name
    return encode(scalar_of(ty), convert(ScalarType("f64"), scalar_of(ty), name))
