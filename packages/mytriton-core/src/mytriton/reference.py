"""The operation reference, generated from the registry: ``python -m mytriton.reference``."""

from __future__ import annotations

from collections.abc import Iterable

from .ir import ops as _ops  # noqa: F401  (registers the operations)
from .ir.registry import Effect, OpDef, all_ops

_HEAD = """# Operations

Generated from the op registry by `python -m mytriton.reference`; do not edit.

An operation prints as `%result = name operands {attributes} : type`. Operands are SSA values,
parameters, constants or `none`. What a backend must do for each is its *feature id*; see
[the SSA form](ssa.md) for types, structure and the stability policy.

"Computes in" says which scalar type the operands of an elementwise operation are converted to
before it computes; the result is then converted to its own element type. `OpDef.compute_types`
gives the same answer in code.
"""

_INTEGERS = """## Integers

Integers wrap: sums, differences, products, `neg`, `abs`, `shl` and casts from integers compute modulo
2 to the width of the type. The exceptions:

- a value that flows only into pointer offsets and masks may be computed in wider signed arithmetic, so
  that an overflow in it is undefined; the sanitizer reports it;
- division and remainder by zero, and of `INT_MIN` by -1, give an unspecified value and never trap;
- a cast of a float to an integer type that cannot hold it gives an unspecified value;
- shifts by the width of the type or more are undefined.
"""


def operations_markdown(definitions: Iterable[OpDef] | None = None) -> str:
    """The reference of ``definitions`` (all registered operations by default) as Markdown."""
    found = list(all_ops() if definitions is None else definitions)
    core = [op for op in found if "." not in op.name]
    parts = [_HEAD, _table(core), _INTEGERS]
    parts += [_section(op) for op in core]
    return "\n".join(parts).rstrip() + "\n"


def _table(definitions: list[OpDef]) -> str:
    rows = ["| operation | feature id | effects | elementwise |", "|---|---|---|---|"]
    for op in definitions:
        elementwise = "yes" if op.elementwise else ""
        rows.append(
            f"| [`{op.name}`](#{op.name}) | `{op.feature_id}` | {_effects(op)} | {elementwise} |"
        )
    return "\n".join(rows) + "\n"


def _section(op: OpDef) -> str:
    lines = [f"## {op.name}", "", op.doc, ""]
    lines.append(f"- form: `{_form(op)}`")
    if op.symbol is not None:
        lines.append(f"- operator: `{op.symbol}`")
    if op.elementwise:
        lines.append(f"- computes in: {_computes(op)}")
    lines.append(f"- effects: {_effects(op)}")
    traits = [
        name
        for name, holds in (
            ("commutative", op.commutative),
            ("may be speculated", op.speculatable and op.pure),
            ("folds on constants", op.foldable and op.numpy is not None),
        )
        if holds
    ]
    if traits:
        lines.append(f"- traits: {', '.join(traits)}")
    if op.example:
        lines += ["", "```python", op.example.strip(), "```"]
    return "\n".join(lines) + "\n"


def _form(op: OpDef) -> str:
    operands = ", ".join(name.removesuffix("?") for name in op.operands)
    attrs = ", ".join(f"{name.removesuffix('?')}=..." for name in op.attrs)
    text = " ".join(filter(None, [op.name, operands, f"{{{attrs}}}" if attrs else ""]))
    if op.regions:
        return f"%results = {op.name} ... {{ ... yield ... }}"
    return text if Effect.WRITE in op.effects else f"%r = {text} : type"


def _computes(op: OpDef) -> str:
    if op.compute is None:
        return "the element type of the result"
    doc = (op.compute.__doc__ or "").strip().split("\n")[0]
    return doc.rstrip(".") if doc else "see `OpDef.compute_types`"


def _effects(op: OpDef) -> str:
    kinds = (Effect.READ, Effect.WRITE, Effect.BARRIER)
    names = [str(e.name).lower() for e in kinds if e in op.effects]
    return " and ".join(f"{n}s memory" if n != "barrier" else n for n in names) or "none"


if __name__ == "__main__":
    print(operations_markdown(), end="")
