"""The tables of the README: ``python scripts/readme_tables.py`` rewrites them.

What runs where comes from the capability tables that the backends declare and the conformance suite
proves: every backend of this repository must be installed. How fast comes from
``benchmarks/results.json``, which ``tox run -e bench -- --json benchmarks/results.json`` writes.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

from mytriton.ir import ops as _ops  # noqa: F401  (registers the operations)
from mytriton.ir.registry import all_ops
from mytriton.ir.types import SCALAR_NAMES
from mytriton.plugins.manager import MANAGER

ROOT = Path(__file__).parents[1]
README = ROOT / "README.md"
RESULTS = ROOT / "benchmarks" / "results.json"
BACKENDS = ("interpreter", "mlir-cpu", "cuda", "mlir", "c")
#: What the README calls the frameworks.
NAMES = {"numpy": "NumPy", "numba": "Numba", "jax": "JAX", "torch": "PyTorch"}


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


def speed() -> str:
    """Times of mytriton beside those of whoever was fastest of the others, as Markdown."""
    found = json.loads(RESULTS.read_text())
    runs, machine = found["seconds"], found["machine"]
    head = [f"{n} thread{'s' * (n != '1')} | the fastest other | ratio" for n in runs]
    lines = [f"| fp32, times in ms | {' | '.join(head)} |", "|---" * (3 * len(runs) + 1) + "|"]
    for case in next(iter(runs.values())):
        cells = []
        for run in runs.values():
            times = dict(run[case])
            own, (other, best) = times.pop("mytriton"), min(times.items(), key=lambda t: t[1])
            cells += [_ms(own), f"{_ms(best)} {NAMES[other]}", f"{best / own:.2f}x"]
        lines.append(f"| {case} | {' | '.join(cells)} |")
    peers = ", ".join(f"{NAMES[p]} {v}" for p, v in machine["versions"].items() if p in NAMES)
    what = ", ".join(filter(None, (machine["processor"], machine.get("instructions"))))
    lines += ["", f"{what}, {machine['processors']} processors, {machine['date']}; {peers}."]
    return "\n".join(lines)


def _ms(seconds: float) -> str:
    return f"{seconds * 1e3:.3g}"


def rewritten(text: str) -> str:
    """The README with the tables of now."""
    for name, table in (("matrix", matrix()), ("speed", speed())):
        begin, end = f"<!-- {name} -->", f"<!-- end of {name} -->"
        before, _, rest = text.partition(begin)
        _, _, after = rest.partition(end)
        text = f"{before}{begin}\n{table}\n{end}{after}"
    return text


if __name__ == "__main__":
    text = README.read_text()
    new = rewritten(text)
    if "--check" in sys.argv[1:]:
        sys.exit("the tables of the README are out of date" if new != text else 0)
    README.write_text(new)
