"""The two text forms of SSA: the *listing* of the articles and the *module* form, which has a
header and parses back (``parser.parse(print_module(f)) == f``)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..errors import Span
from . import ops as _ops  # noqa: F401  (registers the operations)
from .context import implied_types, implied_yields
from .expr import Param
from .text import spell_attribute, spell_name
from .types import Type, element_of, join_types
from .values import Constant, Region, SSAForRange, SSAFunction, SSAItem, SSAOperand


class SSAPrinter:
    """Prints items as the articles do. ``typed=True`` gives the module form's spelling."""

    def __init__(self, *, typed: bool = False) -> None:
        self.typed = typed

    def print_ops(self, items: Sequence[SSAItem]) -> str:
        """The listing: one line an operation, nested regions indented by two spaces."""
        return "\n".join(text for text, _ in self.rows(items))

    def rows(self, items: Sequence[SSAItem]) -> list[tuple[str, SSAItem]]:
        """The lines of the listing, each with the item it belongs to."""
        lines: list[tuple[str, SSAItem]] = []
        # An explicit stack: nesting depth must not meet Python's recursion limit.
        stack: list[tuple[int, Any, Any]] = [(0, item, None) for item in reversed(items)]
        while stack:
            depth, item, owner = stack.pop()
            pad = "  " * depth
            if isinstance(item, str):
                lines.append((pad + item, owner))
                continue
            head, tail = self._head(item)
            if not item.regions:
                lines.append((pad + head, item))
                continue
            todo: list[tuple[int, Any, Any]] = []
            for k, region in enumerate(item.regions):
                opening = head if k == 0 else "} else {" if item.opcode == "if" else "} {"
                todo.append((depth, opening, item))
                todo.extend((depth + 1, line, item) for line in self._arguments(item, region))
                todo.extend((depth + 1, inner, None) for inner in region.body)
                if region.yields:
                    implied = implied_yields(item, len(region.yields))
                    todo.append(
                        (depth + 1, "yield " + self._operands(region.yields, implied), item)
                    )
            todo.append((depth, tail, item))
            stack.extend(reversed(todo))
        return lines

    def _head(self, item: SSAItem) -> tuple[str, str]:
        results = ", ".join(map(str, item.results))
        start = f"{results} = " if results else ""
        types = f" : {join_types([r.ty for r in item.results])}" if results else ""
        if isinstance(item, SSAForRange):
            bounds = self._operands(item.inputs[:3], implied_types(item)[:3])
            inits = [
                self.operand(o, a.ty)
                for o, a in zip(item.carried_inputs, item.carried_args, strict=False)
            ]
            pairs = ", ".join(f"{a} = {o}" for a, o in zip(item.carried_args, inits, strict=False))
            carried = f" iter_args({pairs})" if pairs else ""
            return f"{start}for {item.index} in range({bounds}){carried}{types} {{", "}"
        operands = self._operands(item.operands, implied_types(item))
        attrs = ", ".join(f"{k}={spell_attribute(v)}" for k, v in item.attrs.items())
        words = [item.opcode, operands, f"{{{attrs}}}" if attrs else ""]
        line = start + " ".join(filter(None, words)) + types
        return (line + " {", "}") if item.regions else (line, "")

    def _arguments(self, item: SSAItem, region: Region) -> list[str]:
        if isinstance(item, SSAForRange) or not region.args:
            return []
        return ["args(" + ", ".join(f"{a}: {a.ty}" for a in region.args) + ")"]

    def _operands(self, operands: Sequence[SSAOperand], implied: Sequence[Type | None]) -> str:
        padded = [*implied, *([None] * (len(operands) - len(implied)))]
        return ", ".join(self.operand(o, ty) for o, ty in zip(operands, padded, strict=False))

    def operand(self, operand: SSAOperand, implied: Type | None = None) -> str:
        """One operand. Module form: a constant gets a type suffix unless ``implied`` fixes it."""
        if operand is None:
            return "none"
        if isinstance(operand, Param):
            return spell_name(operand.name) if self.typed else operand.name
        if isinstance(operand, Constant) and self.typed:
            fixed = implied is not None and element_of(implied) == operand.ty
            return str(operand) if fixed else f"{operand}:{operand.ty}"
        return str(operand)


def rows(function: SSAFunction) -> list[tuple[str, Span | None]]:
    """The lines of the module form, each with the position in the user's source it came from."""
    printer = SSAPrinter(typed=True)
    params = ", ".join(f"{printer.operand(p)}: {p.ty}" for p in function.params)
    head = f"kernel {spell_name(function.name)}({params}) {{"
    body = [("  " + text, item.span) for text, item in printer.rows(function.body)]
    return [(head, None), *body, ("}", None)]


def print_module(function: SSAFunction) -> str:
    """The module form of a function, with a final newline."""
    return "".join(f"{text}\n" for text, _ in rows(function))
