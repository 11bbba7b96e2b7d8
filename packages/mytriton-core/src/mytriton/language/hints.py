"""Hints, assertions and output: functions that compute nothing."""

from __future__ import annotations

from typing import Any

from ..errors import OpRuleError
from ..ir import expr
from ..ir.builder import Builder
from ..ir.types import BOOL
from .checks import static_bool, static_int
from .compile_time import unwrap
from .marks import builtin
from .symbolic import as_type, build, describe, is_literal, literal, tensor


@builtin
def multiple_of(input: Any, values: Any) -> Any:
    """``input`` itself. A promise that its values are multiples of ``values`` (an int, or one for each
    axis); no result depends on it."""
    return _promise(input, values, "multiple_of")


@builtin
def max_contiguous(input: Any, values: Any) -> Any:
    """``input`` itself. A promise that runs of ``values`` elements count up by one; no result depends
    on it."""
    return _promise(input, values, "max_contiguous")


@builtin
def max_constancy(input: Any, values: Any) -> Any:
    """``input`` itself. A promise that runs of ``values`` elements are equal; no result depends on
    it."""
    return _promise(input, values, "max_constancy")


def _promise(input: Any, values: Any, name: str) -> Any:
    values = unwrap(values)
    for value in values if isinstance(values, (tuple, list)) else (values,):
        static_int(value, f"value of {name}")
    return input


@builtin
def assume(cond: Any) -> None:
    """A promise that ``cond`` (bool) holds; no result depends on it."""
    if not isinstance(cond, tensor) and not is_literal(unwrap(cond)):
        raise OpRuleError(f"assume needs a condition, got {describe(cond)}")


@builtin
def debug_barrier() -> None:
    """Nothing: a program's memory accesses are in program order as they are."""


@builtin
def static_assert(cond: Any, msg: Any = "") -> None:
    """Refuse the kernel with ``msg`` unless ``cond``, known at compile time, holds."""
    cond = unwrap(cond)
    if isinstance(cond, tensor):
        raise OpRuleError(
            f"static_assert needs a compile-time condition, got a runtime value of {cond.type}; use "
            "tl.device_assert"
        )
    if not cond:
        text = unwrap(msg)
        raise OpRuleError(f"static_assert failed{f': {text}' if text != '' else ''}")


@builtin
def static_print(
    *values: Any, sep: str = " ", end: str = "\n", file: Any = None, flush: bool = False
) -> None:
    """Print while the kernel is compiled. Runtime values show their type."""
    print(*(unwrap(v) for v in values), sep=sep, end=end, file=file, flush=flush)


@builtin
def device_print(prefix: str, *args: Any, hex: bool = False) -> None:
    """Print from the running program: its id, the position in the block, ``prefix`` (a compile-time
    string) and each of ``args`` (numbers), in hexadecimal with ``hex=True``.

    Raises for pointers and for a prefix that is no string.
    """
    text = unwrap(prefix)
    if not isinstance(text, str):
        raise OpRuleError(f"device_print: the prefix must be a string, got {describe(prefix)}")
    nodes = tuple(a.expr if isinstance(a, tensor) else literal(a) for a in args)
    attrs: list[tuple[str, Any]] = [("prefix", _prefix(text, bool(args)))]
    if static_bool(hex, "device_print: hex"):
        attrs.append(("hex", True))
    build(expr.OpExpr("device_print", nodes, tuple(attrs)))


def _prefix(text: str, values: bool) -> str:
    """The prefix as Triton shows it: apart from what precedes it, and with a colon before values."""
    text = text.rstrip() if values else text
    if values and not text.endswith(":"):
        text += ":"
    return text if text.startswith(" ") or len(text) < 2 else f" {text}"


@builtin
def device_assert(cond: Any, msg: str = "", mask: Any = None) -> None:
    """Stop the launch with ``msg`` when ``cond`` (bool) is false in a lane that ``mask`` selects.

    Checked in kernels compiled for debugging only (``@triton.jit(debug=True)``); else it costs
    nothing.
    """
    if not isinstance(cond, tensor) and not is_literal(unwrap(cond)):
        raise OpRuleError(f"device_assert needs a condition, got {describe(cond)}")
    if not Builder.current().debug:
        return
    selected = None if unwrap(mask) is None else as_type(mask, BOOL)
    message = (("message", str(unwrap(msg))),)
    build(expr.OpExpr("device_assert", (as_type(cond, BOOL), selected), message))
