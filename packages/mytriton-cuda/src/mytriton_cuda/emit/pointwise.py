"""Comparisons, bitwise operations and mathematical functions in CUDA C++."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from mytriton.analysis.threads import Layout
from mytriton.plugin_api import F64, ScalarType, SSAOp, scalar_of

from .arithmetic import (
    absolute,
    complement,
    remainder,
    shift_left,
    shift_right,
    upper_product,
)
from .renderers import RENDERERS, Renderer, operands_of, renders
from .scalars import bits_of, from_bits, settle

if TYPE_CHECKING:
    from .kernel import Kernel


def _comparison(symbol: str) -> Renderer:
    def render(k: Kernel, op: SSAOp, layout: Layout) -> str:
        (a, b), _ = operands_of(k, op, layout)
        return f"({a} {symbol} {b})"

    return render


def _bitwise(symbol: str, of_bools: str) -> Renderer:
    def render(k: Kernel, op: SSAOp, layout: Layout) -> str:
        (a, b), ty = operands_of(k, op, layout)
        return f"({a} {of_bools if ty.is_bool() else symbol} {b})"

    return render


def _integers(meaning: Callable[[str, str, ScalarType], str]) -> Renderer:
    def render(k: Kernel, op: SSAOp, layout: Layout) -> str:
        (a, b), ty = operands_of(k, op, layout)
        return meaning(a, b, ty)

    return render


def function(name: str) -> Renderer:
    """A function of one float that C++ has: ``name`` in double precision, ``namef`` in single."""

    def render(k: Kernel, op: SSAOp, layout: Layout) -> str:
        (a,), ty = operands_of(k, op, layout)
        text = f"{name}({a})" if ty == F64 else f"{name}f({a})"
        return settle(text, ty, scalar_of(op.results[0].ty), k.helpers)

    return render


for _name, _symbol in (
    ("lt", "<"),
    ("le", "<="),
    ("gt", ">"),
    ("ge", ">="),
    ("eq", "=="),
    ("ne", "!="),
):
    RENDERERS[f"cmp_{_name}"] = _comparison(_symbol)
for _name, _symbol, _bools in (("and", "&", "&&"), ("or", "|", "||"), ("xor", "^", "!=")):
    RENDERERS[_name] = _bitwise(_symbol, _bools)
for _name, _meaning in (("shl", shift_left), ("shr", shift_right), ("umulhi", upper_product)):
    RENDERERS[_name] = _integers(_meaning)
for _name in ("exp2", "log", "log2", "sqrt", "rsqrt", "sin", "cos", "tanh", "erf", "floor", "ceil",
              "trunc", "rint"):  # fmt: skip
    RENDERERS[_name] = function(_name)


@renders("not")
def _not(k: Kernel, op: SSAOp, layout: Layout) -> str:
    (a,), ty = operands_of(k, op, layout)
    return complement(a, ty)


@renders("rem")
def _rem(k: Kernel, op: SSAOp, layout: Layout) -> str:
    (a, b), ty = operands_of(k, op, layout)
    text = remainder(a, b, ty, op.operands[1])
    return settle(text, ty, scalar_of(op.results[0].ty), k.helpers)


@renders("abs")
def _abs(k: Kernel, op: SSAOp, layout: Layout) -> str:
    (a,), ty = operands_of(k, op, layout)
    return absolute(a, ty)


@renders("fma")
def _fma(k: Kernel, op: SSAOp, layout: Layout) -> str:
    (x, y, z), ty = operands_of(k, op, layout)
    text = f"fma({x}, {y}, {z})" if ty == F64 else f"fmaf({x}, {y}, {z})"
    return settle(text, ty, scalar_of(op.results[0].ty), k.helpers)


@renders("bitcast")
def _bitcast(k: Kernel, op: SSAOp, layout: Layout) -> str:
    (a,), source = operands_of(k, op, layout)
    result = scalar_of(op.results[0].ty)
    if source == result:
        return a
    return from_bits(bits_of(a, source, k.helpers), result, k.helpers)
