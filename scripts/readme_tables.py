"""The capability matrix of the README: ``python scripts/readme_tables.py`` rewrites it.

From the capability tables that the backends declare and the conformance suite proves. Needs every
backend of this repository installed.
"""

from __future__ import annotations

import sys
from pathlib import Path

from mytriton.ir import ops as _ops  # noqa: F401  (registers the operations)
from mytriton.ir.registry import all_ops
from mytriton.ir.types import SCALAR_NAMES
from mytriton.plugins.manager import MANAGER

README = Path(__file__).parents[1] / "README.md"
BACKENDS = ("interpreter", "mlir-cpu", "cuda", "mlir", "c")
BEGIN, END = "<!-- matrix -->", "<!-- end of matrix -->"


def groups() -> dict[str, list[str]]:
    """Feature ids by what a kernel author calls them."""
    operations = {op.name: op.feature_id for op in all_ops() if "." not in op.name}
    pointwise = [op.feature_id for op in all_ops() if op.elementwise and "." not in op.name]
    reductions = [f for f in operations.values() if f.startswith("reduce.")]
    return {
        "pointwise operations, casts": pointwise,
        "loads, stores, pointers": [operations[n] for n in ("load", "store", "addptr")],
        "reductions, `tl.reduce`": reductions,
        "`for`, `if`, `while`, early `return`": [operations[n] for n in ("for", "if", "while")],
        "`tl.dot`, `tl.trans`": [operations["dot"], operations["trans"]],
        "`device_print`, `device_assert`": [
            operations["device_print"],
            operations["device_assert"],
        ],
        "blocks of rank 2 and 3": ["rank.2", "rank.3"],
        "all 15 dtypes": [f"dtype.{name}" for name in SCALAR_NAMES],
        "addresses off the element size": ["memory.unaligned"],
    }


def cell(features: list[str], table: object) -> str:
    found = [f for f in features if f in table and table[f].state == "yes"]  # type: ignore[operator, index]
    if len(found) == len(features):
        return "yes"
    return f"{len(found)} of {len(features)}" if found else "-"


def matrix() -> str:
    """The table as Markdown."""
    infos = {r.name: r.info() for r in MANAGER.records()}
    missing = [name for name in BACKENDS if infos.get(name) is None]
    if missing:
        raise SystemExit(f"install every backend first; missing: {', '.join(missing)}")
    lines = [f"| | {' | '.join(f'`{b}`' for b in BACKENDS)} |", "|---" * (len(BACKENDS) + 1) + "|"]
    for name, features in groups().items():
        cells = [cell(features, infos[b].capabilities) for b in BACKENDS]  # type: ignore[union-attr]
        lines.append(f"| {name} | {' | '.join(cells)} |")
    return "\n".join(lines)


def rewritten(text: str) -> str:
    """The README with the matrix of now."""
    before, _, rest = text.partition(BEGIN)
    _, _, after = rest.partition(END)
    return f"{before}{BEGIN}\n{matrix()}\n{END}{after}"


if __name__ == "__main__":
    text = README.read_text()
    new = rewritten(text)
    if "--check" in sys.argv[1:]:
        sys.exit("the matrix of the README is out of date" if new != text else 0)
    README.write_text(new)
