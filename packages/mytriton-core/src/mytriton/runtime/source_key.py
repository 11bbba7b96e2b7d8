"""What a kernel says, as text and as a digest that is the same in every process.

The digest covers the source of the kernel, of the functions it calls and of what those call, and the
values of plain globals they read. Keys of compiled code do not come from here (they follow what a trace
really read); this one names what is remembered about a kernel: tuning results.
"""

from __future__ import annotations

import hashlib
import sys
import textwrap
import types
from typing import Any

from ..errors import ASTFrontendError
from ..frontend.source import KernelSource, kernel_source
from ..language.compile_time import constexpr

#: Packages whose functions do not change without their version.
_SETTLED = frozenset({"mytriton", "numpy", "math", "operator", "builtins", "functools", "torch"})
_PLAIN = (bool, int, float, str, bytes, type(None), tuple, frozenset)


def source_text(source: KernelSource) -> str:
    """The text of a function from its ``def``, without its indentation."""
    node = source.parse()
    return textwrap.dedent("".join(source.lines[node.lineno - 1 : node.end_lineno]))


def kernel_key(kernel: Any) -> str:
    """The digest of a kernel (a ``JITFunction``)."""
    from .. import __version__

    seen: dict[str, None] = {}
    parts = [__version__, sys.implementation.cache_tag or "", *kernel.arg_names]
    _add(kernel.source.function, parts, seen)
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()


def _add(function: types.FunctionType, parts: list[str], seen: dict[str, None]) -> None:
    """Add what a function says and, in turn, what it reads."""
    waiting = [function]
    while waiting:
        current = waiting.pop()
        name = f"{current.__module__}.{current.__qualname__}:{current.__code__.co_firstlineno}"
        if name in seen:
            continue
        seen[name] = None
        parts += [name.rpartition(":")[0], _text(current), repr(_plain(current.__defaults__))]
        names = _names(current.__code__)
        cells = zip(current.__code__.co_freevars, current.__closure__ or ())
        read = {n: current.__globals__[n] for n in names if n in current.__globals__}
        read |= {n: _cell(c) for n, c in cells}
        for key, value in sorted(read.items()):
            parts.append(f"{key}={_describe(value, waiting)}")
            if isinstance(value, types.ModuleType) and not _settled(value.__name__):
                for attribute in sorted(a for a in names if hasattr(value, a)):
                    found = _describe(getattr(value, attribute), waiting)
                    parts.append(f"{key}.{attribute}={found}")


def _describe(value: Any, waiting: list[types.FunctionType]) -> str:
    """A value as text. Functions are only named, and their own text waits its turn."""
    inner = getattr(getattr(value, "source", None), "function", value)
    if isinstance(inner, types.FunctionType):
        if not _settled(inner.__module__ or ""):
            waiting.append(inner)
        return f"{inner.__module__}.{inner.__qualname__}"
    if isinstance(value, types.ModuleType):
        return f"module {value.__name__}"
    return repr(_plain(value))


def _plain(value: Any) -> Any:
    """A value whose ``repr`` says what it is, in every process."""
    if isinstance(value, constexpr):
        value = value.value
    if isinstance(value, (tuple, frozenset, list)):
        return tuple(map(_plain, value))
    if isinstance(value, _PLAIN) or hasattr(value, "__mytriton_fingerprint__"):
        return value
    kind = type(value)
    if _settled(kind.__module__) and "__repr__" in {n for c in kind.__mro__[:-1] for n in vars(c)}:
        return repr(value)
    return f"{kind.__module__}.{kind.__qualname__}"


def _settled(module: str) -> bool:
    return module.partition(".")[0] in _SETTLED


def _text(function: types.FunctionType) -> str:
    try:
        return source_text(kernel_source(function))
    except (ASTFrontendError, TypeError):
        # No source: what it does is in its code.
        code = function.__code__
        return code.co_code.hex() + repr(code.co_names) + repr(_plain(code.co_consts))


def _names(code: types.CodeType) -> list[str]:
    """Global and attribute names a code object mentions, those of nested code included."""
    names: dict[str, None] = {}
    codes = [code]
    while codes:
        current = codes.pop()
        names.update(dict.fromkeys(current.co_names))
        codes.extend(c for c in current.co_consts if isinstance(c, types.CodeType))
    return list(names)


def _cell(cell: types.CellType) -> Any:
    try:
        return cell.cell_contents
    except ValueError:  # not assigned yet
        return None
