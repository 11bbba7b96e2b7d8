"""Kernels and arguments as command lines name them: ``file.py:name``, ``--arg x=f32[1000]``."""

from __future__ import annotations

import argparse
import sys
from typing import Any


class UsageError(Exception):
    """The command line asks for what cannot be."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """What says which kernel is meant, and for which launch."""
    parser.add_argument("kernel", metavar="FILE:KERNEL", help="file.py:name of the kernel")
    parser.add_argument(
        "--arg", action="append", default=[], metavar="NAME=WHAT",
        help="a runtime argument: x=f32[1000], x=f32[64,64]@cuda, n=i32, n=1000, s=0.5",
    )  # fmt: skip
    parser.add_argument(
        "--constexpr", action="append", default=[], metavar="NAME=VALUE",
        help="a compile-time argument: BLOCK=256",
    )  # fmt: skip
    parser.add_argument(
        "--option", action="append", default=[], metavar="NAME=VALUE",
        help="a launch option: num_warps=4",
    )  # fmt: skip
    parser.add_argument("--grid", metavar="X[,Y[,Z]]", help="the grid, where limits matter")
    parser.add_argument("--backend", metavar="NAME", help="as kernel.with_backend(NAME) would")


def load_kernel(text: str) -> Any:
    """The kernel that ``file.py:name`` means. Raises ``UsageError``."""
    import importlib.util
    from pathlib import Path

    file, colon, name = text.rpartition(":")
    if not colon or not file or not name:
        raise UsageError(f"{text!r} names no kernel; write file.py:kernel")
    path = Path(file)
    if not path.is_file():
        raise UsageError(f"no file {file}")
    spec = importlib.util.spec_from_file_location(f"_explained_{path.stem}", path)
    if spec is None or spec.loader is None:
        raise UsageError(f"{file} is not a Python file")
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    sys.path.insert(0, str(path.parent.resolve()))
    try:
        spec.loader.exec_module(module)
    except (Exception, SystemExit) as e:
        raise UsageError(f"{file} fails to import: {type(e).__name__}: {e}") from e
    kernels = sorted(n for n, v in vars(module).items() if _is_kernel(v))
    found = getattr(module, name, None)
    if not _is_kernel(found):
        raise UsageError(f"{file} has no kernel {name!r}; kernels: {', '.join(kernels) or 'none'}")
    return found


def _is_kernel(value: object) -> bool:
    return hasattr(value, "specialise") and not isinstance(value, type)


def arguments(options: argparse.Namespace, kernel: Any) -> dict[str, Any]:
    """Arguments, compile-time values and options by name. Raises ``UsageError``."""
    from ..runtime.argspec_text import parse_value

    compile_time = set(getattr(getattr(kernel, "binder", None), "constexprs", ()))
    found: dict[str, Any] = {}
    given = ((options.arg, False), (options.constexpr, True), (options.option, True))
    for texts, is_value in given:
        for text in texts:
            name, equals, value = text.partition("=")
            name = name.strip()
            if not equals or not name.isidentifier():
                raise UsageError(f"{text!r} is not NAME=VALUE")
            if name in found:
                raise UsageError(f"{name!r} is given twice")
            found[name] = parse_value(value) if is_value or name in compile_time else value
    _check_complete(kernel, found)
    return found


def _check_complete(kernel: Any, found: dict[str, Any]) -> None:
    """Say which options describe the arguments that are not described yet."""
    binder = getattr(kernel, "binder", None)
    if binder is None:
        return
    parameters = binder.signature.parameters.values()
    absent = [p.name for p in parameters if p.default is p.empty and p.name not in found]
    unknown = {*found} - {*binder.signature.parameters, *binder.options, *binder.rare}
    if absent and not unknown:  # a misspelt name is the likelier mistake, and told by binding
        options = " ".join(
            f"--constexpr {n}=..." if n in binder.constexprs else f"--arg {n}=..." for n in absent
        )
        raise UsageError(
            f"kernel {kernel.__name__!r} needs {', '.join(map(repr, absent))}: add {options} (arrays as "
            "f32[1000], scalars as i32 or 1000, compile-time values as 256, 0.5, true or a word)"
        )


def grid_of(text: str | None) -> tuple[int, ...] | None:
    """What ``--grid`` says. Raises ``UsageError``."""
    if text is None:
        return None
    try:
        grid = tuple(int(part) for part in text.split(","))
    except ValueError:
        grid = ()
    if not 1 <= len(grid) <= 3 or min(grid) < 0:
        raise UsageError(f"--grid takes one to three non-negative integers, got {text!r}")
    return grid
