"""``device_print`` and ``device_assert``: CUDA's own ``printf`` and failed assertion."""

from __future__ import annotations

from pathlib import PurePath
from typing import TYPE_CHECKING, Any

from mytriton.plugin_api import (
    ScalarType,
    SSAOp,
    SSAOperand,
    broadcast_shapes,
    operand_type,
    scalar_of,
    shape_of,
)

from .renderers import renders

if TYPE_CHECKING:
    from .kernel import Kernel

_PLACE = "blockIdx.x, blockIdx.y, blockIdx.z"
_ESCAPES = {
    ord("\\"): "\\\\",
    ord('"'): '\\"',
    ord("\n"): "\\n",
    ord("\r"): "\\r",
    ord("\t"): "\\t",
}


def quoted(text: str) -> str:
    """A C++ string literal. What is not ASCII is written byte by byte."""
    plain = text.translate(_ESCAPES)
    return '"' + "".join(c if " " <= c <= "~" else _octal(c) for c in plain) + '"'


def _octal(char: str) -> str:
    return "".join(f"\\{byte:03o}" for byte in char.encode())


def _shape(operand: SSAOperand) -> tuple[int, ...]:
    ty = operand_type(operand)
    return () if ty is None else shape_of(ty)


def _directive(ty: ScalarType, *, hexadecimal: bool) -> tuple[str, str]:
    """How ``printf`` spells a type, and the C++ type it expects."""
    if ty.is_floating():
        return "%g" if ty.bits < 64 else "%.17g", "double"
    if hexadecimal:
        digits = max(1, ty.bits // 4)
        return (f"0x%0{digits}llx", "unsigned long long") if ty.bits == 64 else (
            f"0x%0{digits}x", f"{(1 << ty.bits) - 1:#x}u & (unsigned int)")  # fmt: skip
    if ty.bits == 64:
        return ("%lld", "long long") if ty.is_signed() else ("%llu", "unsigned long long")
    return ("%u", "unsigned int") if ty.kind == "uint" else ("%d", "int")


@renders("device_print")
def _print(k: Kernel, op: SSAOp, layout: Any) -> None:
    prefix = op.attrs["prefix"].replace("%", "%%")
    if not op.operands:
        _line(k, op, k.scalar_layout, (), prefix, "")
    for number, operand in enumerate(op.operands):
        name = f" (operand {number})" if len(op.operands) > 1 else ""
        _value(k, op, operand, prefix + name)


def _value(k: Kernel, op: SSAOp, operand: SSAOperand, words: str) -> None:
    ty = scalar_of(operand_type(operand))  # type: ignore[arg-type]
    directive, kind = _directive(ty, hexadecimal=bool(op.attrs.get("hex")))
    own = k.own(operand)
    with k.registers(own):
        text = k.text(operand, own)
    cast = f"{kind}{text}" if kind.endswith(")") else f"({kind}){text}"
    _line(k, op, own, _shape(operand), f"{words} {directive}", f", {cast}")


def _line(
    k: Kernel, op: SSAOp, layout: Any, shape: tuple[int, ...], words: str, value: str
) -> None:
    index = ", ".join(["%d"] * len(shape))
    form = quoted(f"pid (%u, %u, %u) idx ({index}){words}\n")
    with k.every(layout, op.span):
        places = "".join(f", (int)({text})" for text in k.places(layout, shape))
        statement = f"printf({form}, {_PLACE}{places}{value});"
        conditions = k.in_charge(layout, shape)
        if conditions:
            with k.block(f"if ({' && '.join(conditions)})", op.span):
                k.line(statement, op.span)
        else:
            k.line(statement, op.span)


@renders("device_assert")
def _assert(k: Kernel, op: SSAOp, layout: Any) -> None:
    condition, mask = op.operands
    shape = broadcast_shapes(_shape(condition), _shape(mask))
    file, line = (PurePath(op.span.filename).name, op.span.line) if op.span else ("kernel", 0)
    words = ", ".join([quoted(op.attrs["message"] or "device_assert"), quoted(file), str(line)])
    with k.every(layout, op.span):
        conditions = k.in_charge(layout, shape)
        if mask is not None:
            conditions.append(k.converted(mask, layout))
        conditions.append(f"!{k.converted(condition, layout)}")
        with k.block(f"if ({' && '.join(conditions)})", op.span):
            k.line(f"__assertfail({words}, {quoted(k.function.name)}, 1);", op.span)
