"""`mytriton-ptx run FILE --entry K --grid 4 --block 256 --arg f32:1024 --arg i32=1000`."""

from __future__ import annotations

import argparse
import dataclasses
import json
import re
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from .errors import PtxCheckError, PtxError
from .launch import Device, load_module, pack
from .memory import Buffer
from .state import Checks
from .syntax import Module
from .types import Array

DTYPES = {
    "f16": np.float16, "f32": np.float32, "f64": np.float64,
    "i8": np.int8, "i16": np.int16, "i32": np.int32, "i64": np.int64,
    "u8": np.uint8, "u16": np.uint16, "u32": np.uint32, "u64": np.uint64,
}  # fmt: skip
ARGUMENT = re.compile(r"(?P<type>\w+)(?::(?P<shape>\d+(?:x\d+)*))?(?:=(?P<value>\S+))?$")
CHECKS = [each.name for each in dataclasses.fields(Checks) if each.type == "bool"]
HELP = """\
arguments, in the order of the kernel's parameters:
  f32:1024          a buffer of random numbers (shapes: 32x32)
  f32:1024=0        a buffer filled with a value
  i32:1024=iota     a buffer of 0, 1, 2, ...
  f32:1024=undef    a buffer whose bytes must be written before they are read
  @x.npy            a buffer with the contents of a NumPy file
  i32=1000          a number
types: f16 f32 f64 i8 i16 i32 i64 u8 u16 u32 u64
"""


def parser() -> argparse.ArgumentParser:
    top = argparse.ArgumentParser(
        prog="mytriton-ptx", description="Run PTX kernels without a GPU, and check them."
    )
    commands = top.add_subparsers(dest="command", required=True)
    run = commands.add_parser(
        "run", help="launch a kernel", epilog=HELP, formatter_class=argparse.RawTextHelpFormatter
    )
    run.add_argument("file", type=Path)
    run.add_argument("--entry", help="the kernel; needed where the file holds several")
    run.add_argument("--grid", default="1", help="blocks: 4, or 4,2,1")
    run.add_argument("--block", default="1", help="threads of a block: 256, or 16,16")
    run.add_argument("--arg", action="append", default=[], metavar="ARG", help="see below")
    run.add_argument("--shared", type=int, default=0, help="bytes of dynamic shared memory")
    run.add_argument("--seed", type=int, default=0, help="of random buffers")
    run.add_argument("--no-check", action="append", default=[], choices=CHECKS, metavar="CHECK",
                     help="leave a check out: " + ", ".join(CHECKS))  # fmt: skip
    run.add_argument("--out", type=Path, help="folder for each buffer as argN.npy")
    run.add_argument("--json", action="store_true", help="print JSON")
    show = commands.add_parser("list", help="list the kernels of a file and their parameters")
    show.add_argument("file", type=Path)
    return top


def shape(text: str) -> tuple[int, ...]:
    return tuple(int(part) for part in text.replace("x", ",").split(","))


def argument(text: str, device: Device, rng: np.random.Generator, name: str) -> Any:
    """A buffer or a number from its text."""
    if text.startswith("@"):
        return device.upload(np.load(text[1:]), name)
    match = ARGUMENT.match(text)
    if match is None or match["type"] not in DTYPES or not (match["shape"] or match["value"]):
        raise SystemExit(f"mytriton-ptx: cannot read the argument {text!r}")
    dtype, value = np.dtype(DTYPES[match["type"]]), match["value"]
    if match["shape"] is None:
        number = float(value) if dtype.kind == "f" else int(value, 0)
        return dtype.type(number)
    size = shape(match["shape"])
    if value == "undef":
        buffer = device.allocate(int(np.prod(size)) * dtype.itemsize, name, undefined=True)
        buffer.dtype, buffer.shape = dtype, size
        return buffer
    return device.upload(contents(size, dtype, value, rng), name)


def contents(
    size: tuple[int, ...], dtype: np.dtype[Any], value: str | None, rng: np.random.Generator
) -> Array:
    if value == "iota":
        return np.arange(np.prod(size)).reshape(size).astype(dtype)
    if value is not None:
        return np.full(size, float(value) if dtype.kind == "f" else int(value, 0), dtype)
    if dtype.kind == "f":
        return rng.standard_normal(size).astype(dtype)
    return rng.integers(0, 100, size).astype(dtype)


def summary(before: Array, after: Array) -> dict[str, Any]:
    """What became of a buffer."""
    octets = after.itemsize
    raw = [np.ascontiguousarray(each).reshape(-1).view(np.uint8) for each in (before, after)]
    changed = (raw[0] != raw[1]).reshape(-1, octets).any(axis=1)
    result: dict[str, Any] = {
        "dtype": after.dtype.name,
        "shape": list(after.shape),
        "changed": int(changed.sum()),
        "first": [number(each) for each in after.reshape(-1)[:4]],
    }
    finite = after[np.isfinite(after)].astype(np.float64)
    if after.size:
        result["not_finite"] = int(after.size - finite.size)
    if finite.size:
        result |= {"min": finite.min(), "max": finite.max(), "mean": finite.mean()}
    return {key: number(each) for key, each in result.items()}


def number(value: Any) -> Any:
    """A number JSON has; what it lacks (NaN, infinities) as text."""
    if isinstance(value, np.generic):
        value = value.item()
    return str(value) if isinstance(value, float) and not np.isfinite(value) else value


def run(options: argparse.Namespace) -> int:
    module = load_module(options.file.read_text())
    entry = options.entry or only_kernel(module)
    rng, device = np.random.default_rng(options.seed), Device()
    values = [argument(text, device, rng, f"arg{index}") for index, text in enumerate(options.arg)]
    kernel = module.kernels.get(entry)
    if kernel is not None and len(kernel.params) > len(values):
        # Trailing pointers that compilers add for their own use (Triton's scratch) may be null.
        missing = kernel.params[len(values) :]
        if all(param.pointer for param in missing):
            values += [pack(param, 0) for param in missing]
    buffers = [(index, each) for index, each in enumerate(values) if isinstance(each, Buffer)]
    before = [device.download(each) for _, each in buffers]
    checks = dataclasses.replace(Checks(), **dict.fromkeys(options.no_check, False))
    counters = device.launch(
        module, entry, shape(options.grid), shape(options.block), values, options.shared, checks
    )
    report: dict[str, Any] = {"entry": entry, "buffers": {}, "counters": counters.as_dict()}
    for (index, buffer), old in zip(buffers, before, strict=True):
        after = device.download(buffer)
        report["buffers"][f"arg{index}"] = summary(old, after)
        if options.out is not None:
            options.out.mkdir(parents=True, exist_ok=True)
            np.save(options.out / f"arg{index}.npy", after)
    print(json.dumps(report, indent=2) if options.json else as_text(report))
    return 0


def only_kernel(module: Module) -> str:
    names = list(module.kernels)
    if len(names) != 1:
        raise SystemExit(f"mytriton-ptx: name one with --entry: {', '.join(names) or 'no kernel'}")
    return names[0]


def as_text(report: dict[str, Any]) -> str:
    lines = [f"kernel {report['entry']}"]
    for name, each in report["buffers"].items():
        size = "x".join(map(str, each["shape"]))
        lines.append(f"  {name}: {each['dtype']} {size}, {each['changed']} elements changed")
        if each["changed"]:
            values = ", ".join(f"{value:.6g}" if isinstance(value, float) else str(value)
                               for value in each["first"])  # fmt: skip
            lines.append(f"    {values}, ...")
            if "min" in each:
                lines.append(f"    min {each['min']:.6g}, max {each['max']:.6g}, mean "
                             f"{each['mean']:.6g}, {each['not_finite']} not finite")  # fmt: skip
    for name, value in report["counters"].items():
        if name != "opcodes":
            lines.append(f"  {name.replace('_', ' ')}: {value}")
    return "\n".join(lines)


def main(argv: Sequence[str] | None = None) -> int:
    options = parser().parse_args(argv)
    try:
        if options.command == "run":
            return run(options)
        for name, kernel in load_module(options.file.read_text()).kernels.items():
            print(f"{name}({', '.join(map(str, kernel.params))})")
        return 0
    except PtxCheckError as problem:
        if getattr(options, "json", False):
            print(json.dumps({"error": {"kind": problem.kind, "text": str(problem)}}, indent=2))
        print(f"mytriton-ptx: {problem}", file=sys.stderr)
        return 1
    except (PtxError, OSError) as problem:
        print(f"mytriton-ptx: {problem}", file=sys.stderr)
        return 2
