"""mlir-cpu against NumPy, Numba, JAX and PyTorch on this computer.

    python benchmarks/run.py [--rounds 9] [--seconds 0.03] [--threads 1 2] [--only add silu]
                             [--cpu-time] [--json FILE] [--md FILE] [--check]

Each framework runs in a process of its own; the driver asks one after another, round after round,
so that all see the same noise; the best time of all rounds counts. Results are checked before
anything is timed. Needs ``pip install numba jax torch`` beside mytriton-mlir[bindings] (``tox run -e
bench`` does that). A framework that is missing is left out, and the results say so: on standard
error, below the table, and under "missing" in the JSON; --check then exits 1, because a bar was not
measured against every peer it names.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import subprocess
import sys
import time
from contextlib import suppress
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE))

from cases import CASES, PEERS


class Worker:
    def __init__(self, peer: str, threads: int) -> None:
        self.peer = peer
        one = str(threads)
        environment = os.environ | {
            "OMP_NUM_THREADS": one, "OPENBLAS_NUM_THREADS": one, "MKL_NUM_THREADS": one,
            "MYTRITON_NUM_THREADS": one, "JAX_PLATFORMS": "cpu",
        }  # fmt: skip
        self.process = subprocess.Popen(
            [sys.executable, str(HERE / "worker.py"), peer, one],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, env=environment,
        )  # fmt: skip
        hello = self._answer()
        self.missing = hello.get("missing") if "ready" not in hello else None

    def _answer(self) -> dict:
        line = self.process.stdout.readline()
        return json.loads(line) if line else {"error": "the process ended", "missing": "it crashed"}

    def ask(self, case: str, seconds: float, cpu: bool) -> dict:
        self.process.stdin.write(json.dumps({"case": case, "seconds": seconds, "cpu": cpu}) + "\n")
        self.process.stdin.flush()
        return self._answer()

    def close(self) -> None:
        self.process.stdin.close()
        self.process.wait()


def measure(
    threads: int,
    names: list[str],
    rounds: int,
    seconds: float,
    missing: dict[str, str],
    cpu: bool = False,
) -> dict[str, dict[str, float]]:
    """Seconds by case and framework. Who cannot be measured is added to ``missing``, and why."""
    workers = [Worker(peer, threads) for peer in PEERS]
    for worker in workers:
        if worker.missing and worker.peer not in missing:
            print(f"{worker.peer} is left out: {worker.missing}", file=sys.stderr)
            missing[worker.peer] = worker.missing
    workers = [w for w in workers if not w.missing]
    found: dict[str, dict[str, float]] = {}
    for name in names:
        found[name] = {}
        alive = list(workers)
        for worker in list(alive):
            first = worker.ask(name, 0.0, cpu)
            if "error" in first:
                if first["error"] != "does not offer it" or worker.peer in CASES[name].against:
                    print(f"{worker.peer}: {name}: {first['error']}", file=sys.stderr)
                alive.remove(worker)
        for _ in range(rounds):
            for worker in alive:
                best = worker.ask(name, seconds, cpu)["best"]
                found[name][worker.peer] = min(best, found[name].get(worker.peer, best))
    for worker in workers:
        worker.close()
    return found


def table(
    results: dict[int, dict[str, dict[str, float]]], missing: dict[str, str]
) -> tuple[str, bool]:
    lines = ["| case | threads | " + " | ".join(PEERS) + " | rate | ratio | bar |"]
    lines.append("|" + " --- |" * (len(PEERS) + 5))
    best_ratio: dict[str, float] = {}
    for threads, cases in results.items():
        for name, times in cases.items():
            case = CASES[name]
            cells = [f"{times[p] * 1e6:.1f}" if p in times else "-" for p in PEERS]
            own = times.get("mytriton")
            others = [times[p] for p in case.against if p in times]
            ratio = min(others) / own if own and others else float("nan")
            best_ratio[name] = max(ratio, best_ratio.get(name, ratio))
            rate = f"{case.work / own / 1e9:.1f} {case.unit}" if own else "-"
            lines.append(
                f"| {name} | {threads} | {' | '.join(cells)} | {rate} | {ratio:.2f}x | {case.bar}x |"
            )
    missed = [n for n, r in best_ratio.items() if not r >= CASES[n].bar]
    lines.append("")
    lines.append(
        "Times in microseconds, best of all rounds; ratio: best of the peers the bar names over ours."
    )
    lines.append(
        "Bars are met by the better thread count. Missed: " + (", ".join(missed) or "none") + "."
    )
    lines += [f"**{peer} was not measured**: {reason}." for peer, reason in missing.items()]
    return "\n".join(lines), not missed and not missing


def machine(load: float) -> dict[str, object]:
    """Where and when, and which versions of whom."""
    names = {}
    for peer in PEERS:
        with suppress(PackageNotFoundError):
            names[peer] = version("mytriton-mlir" if peer == "mytriton" else peer)
    return {
        "processor": _cpuinfo("model name") or platform.processor() or platform.machine(),
        "instructions": _instructions(), "processors": os.cpu_count(), "load": round(load, 1),
        "python": platform.python_version(), "date": time.strftime("%Y-%m-%d"), "versions": names,
    }  # fmt: skip


def _instructions() -> str:
    flags = _cpuinfo("flags").split()
    return "AVX-512" if "avx512f" in flags else "AVX2" if "avx2" in flags else ""


def _cpuinfo(key: str) -> str:
    with suppress(OSError), open("/proc/cpuinfo") as file:
        for line in file:
            if line.startswith(key):
                return line.partition(":")[2].strip()
    return ""


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--seconds", type=float, default=0.03)
    parser.add_argument(
        "--threads", type=int, nargs="+", default=sorted({1, min(2, os.cpu_count() or 1)})
    )
    parser.add_argument("--only", nargs="+", default=[])
    parser.add_argument(
        "--cpu-time", action="store_true",
        help="processor time, not elapsed time: for --threads 1 on a busy machine",
    )  # fmt: skip
    parser.add_argument("--json", type=Path)
    parser.add_argument("--md", type=Path)
    parser.add_argument(
        "--check", action="store_true", help="exit 1 when a bar is missed, or a peer missing"
    )
    options = parser.parse_args()
    names = [n for n in CASES if not options.only or n.split()[0] in options.only]
    load = os.getloadavg()[0] if hasattr(os, "getloadavg") else float("nan")
    missing: dict[str, str] = {}
    results = {
        t: measure(t, names, options.rounds, options.seconds, missing, options.cpu_time)
        for t in options.threads
    }
    text, met = table(results, missing)
    head = f"{platform.processor() or platform.machine()}, {os.cpu_count()} processors, load {load:.1f}"
    print(
        f"{head}, Python {platform.python_version()}, {time.strftime('%Y-%m-%d %H:%M')}\n\n{text}"
    )
    if options.md:
        options.md.write_text(f"{head}\n\n{text}\n")
    if options.json:
        found = {"machine": machine(load), "missing": missing, "seconds": results}
        options.json.write_text(json.dumps(found, indent=2) + "\n")
    if options.check and not met:
        sys.exit(1)


if __name__ == "__main__":
    main()
