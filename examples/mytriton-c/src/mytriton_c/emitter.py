"""From SSA to the text of a C function: names, operands, loops over blocks.

What each operation means is in ``lowerings``; the emitter has no list of operations.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import mytriton.plugin_api as mt

from .values import convert, decode, encode, literal, passed, received, stored, working

Lines = list[str]
Lowering = Callable[["Emitter", Any], Lines]
Shape = tuple[int, ...]


class Lanes:
    """The loops over the elements of ``shape``, and where operands are read in their body.

    One flat loop where it will do; one loop an axis where an operand is spread along an axis.
    """

    def __init__(self, shape: Shape, operands: Sequence[mt.SSAOperand]) -> None:
        self.shape = shape
        shapes = [mt.shape_of(operand.ty) for operand in operands if operand is not None]
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
            return body if len(body) == 1 else ["{", *indent(body), "}"]
        extents = [math.prod(self.shape)] if self.flat else self.shape
        names = ["i"] if self.flat else [f"i{k}" for k in range(len(extents))]
        heads = [
            f"for (size_t {n} = 0; {n} < {d}; {n}++)" for n, d in zip(names, extents, strict=True)
        ]
        return [" ".join(heads) + " {", *indent(body), "}"]


def indent(lines: Lines) -> Lines:
    return ["    " + line for line in lines]


def text(lines: Lines) -> str:
    return "\n".join(indent(lines))


class Emitter:
    """One function being written. ``lines`` of a lowering go where its operation stands."""

    def __init__(self, function: mt.SSAFunction, lowerings: Mapping[str, Lowering]) -> None:
        self.function = function
        self.lowerings = lowerings
        #: Members of the struct of blocks, which lives on the heap: blocks may be large.
        self.blocks: Lines = []
        #: C variable of each SSA value.
        self.names: dict[int, str] = {}
        self._params = {
            p.name: f"a{k}_" + re.sub(r"[^0-9A-Za-z_]", "_", p.name)
            for k, p in enumerate(function.params)
        }

    # ------------------------------------------------------------------ names and operands

    def declare(self, name: str, ty: mt.Type, span: mt.Span | None = None) -> tuple[str, Lines]:
        """A new variable: what it is called in C, and its declaration if it stands in the text."""
        if isinstance(ty, mt.BlockType):
            self.blocks.append(f"{stored(ty, span)} {name}[{ty.numel}];")
            return f"b->{name}", []
        return name, [f"{stored(ty, span)} {name};"]

    def define(self, value: mt.SSAValue, span: mt.Span | None = None) -> Lines:
        """Declare an SSA value."""
        self.names[value.id], lines = self.declare(f"v{value.id}", value.ty, span)
        return lines

    def name(self, operand: mt.SSAOperand) -> str:
        """The C variable of a value or parameter; a literal for a constant (stored form)."""
        if isinstance(operand, mt.Constant):
            return encode(operand.ty, literal(operand.value, operand.ty))
        if isinstance(operand, mt.Param):
            return self._params[operand.name]
        assert operand is not None
        return self.names[operand.id]

    def read(self, operand: mt.SSAOperand, lanes: Lanes) -> str:
        """The stored form of an operand in the body of ``lanes``."""
        assert operand is not None
        return self.name(operand) + lanes.index(mt.shape_of(operand.ty))

    def value(self, operand: mt.SSAOperand, lanes: Lanes, wanted: mt.ScalarType) -> str:
        """The working form of an operand, converted to ``wanted``."""
        assert operand is not None
        ty = mt.scalar_of(operand.ty)
        if isinstance(operand, mt.Constant):
            return convert(ty, wanted, literal(operand.value, ty))
        return convert(ty, wanted, decode(ty, self.read(operand, lanes)))

    # ------------------------------------------------------------------ shapes of lowerings

    def each(self, op: mt.SSAOp, body: Callable[[Lanes], Lines]) -> Lines:
        """A loop over the elements of the result; the last line of ``body`` is its stored form."""
        (result,) = op.results
        lanes = Lanes(mt.shape_of(result.ty), op.operands)
        *lines, last = body(lanes)
        declared = self.define(result, op.span)
        return [*declared, *lanes.around([*lines, f"{self.read(result, lanes)} = {last};"])]

    def elementwise(self, op: mt.SSAOp, meaning: Callable[..., str]) -> Lines:
        """``meaning(ty, "x", "y", ...)`` is C for the result, given the operands in the type the
        registry says the operation computes in."""
        result = op.results[0].ty
        types = [mt.operand_type(operand) for operand in op.operands]
        compute = mt.get_op(op.opcode).compute_types(types, result)
        names = "xyz"[: len(compute)]

        def body(lanes: Lanes) -> Lines:
            operands = [
                f"{working(ty)} {name} = {self.value(operand, lanes, ty)};"
                for name, operand, ty in zip(names, op.operands, compute, strict=True)
            ]
            return [*operands, encode(mt.scalar_of(result), meaning(compute[-1], *names))]

        return self.each(op, body)

    def reduction(self, op: mt.SSAOp, begin: str, step: str, end: str) -> Lines:
        """``begin`` declares the accumulator (``x`` is the first element), ``step`` takes ``x`` in,
        ``end`` is the result."""
        (value,), (result,) = op.operands, op.results
        assert isinstance(value, mt.SSAValue)
        shape, axis, ty = mt.shape_of(value.ty), op.attrs.get("axis"), mt.scalar_of(value.ty)
        extent = math.prod(shape) if axis is None else shape[axis]
        inner = 1 if axis is None else math.prod(shape[axis + 1 :])
        outer = math.prod(shape) // extent // inner
        name = self.name(value)
        declared = self.define(result, op.span)
        target = self.name(result) + (f"[o * {inner} + r]" if mt.shape_of(result.ty) else "")
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

    def copy(self, name: str, ty: mt.Type, source: str) -> Lines:
        """``name = source`` for a whole value (two variables, or a scalar of any form)."""
        if isinstance(ty, mt.BlockType):
            return [f"memcpy({name}, {source}, sizeof {name});"]
        return [f"{name} = {source};"]

    # ------------------------------------------------------------------ the function

    def body(self, items: Sequence[mt.SSAItem]) -> Lines:
        """The lines of items in order. Raises ``UnsupportedFeature`` for an unknown operation."""
        lines: Lines = []
        for item in items:
            lowering = self.lowerings.get(item.opcode)
            if lowering is None:
                raise mt.UnsupportedFeature(mt.get_op(item.opcode).feature_id, span=item.span)
            shown = ", ".join(f"%{value.id}" for value in item.results)
            lines += [f"// {shown}{' = ' if shown else ''}{item.opcode}", *lowering(self, item)]
        return lines

    def kernel(self, entry: str) -> str:
        """The text of a C function that runs a whole grid, axis 0 fastest."""
        params = [(k, p.ty, self._params[p.name]) for k, p in enumerate(self.function.params)]
        incoming = "".join(f", {passed(ty)} p{k}" for k, ty, _ in params)
        arguments = [f"const {stored(ty)} {n} = {received(ty, f'p{k}')};" for k, ty, n in params]
        body = self.body(self.function.body)
        return f"""\
#include "mytriton_c.h"

struct blocks {{
{text(self.blocks)}
    char end;
}};

int {entry}(int32_t grid0, int32_t grid1, int32_t grid2{incoming}) {{
    struct blocks *b = malloc(sizeof *b);
    if (!b) return 1;
{text(arguments)}
    for (int32_t pid2 = 0; pid2 < grid2; pid2++)
    for (int32_t pid1 = 0; pid1 < grid1; pid1++)
    for (int32_t pid0 = 0; pid0 < grid0; pid0++) {{
{text(indent(body))}
    }}
    free(b);
    return 0;
}}
"""
