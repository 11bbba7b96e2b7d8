"""Finding a kernel in its source file, and positions in it.

The whole file is parsed and the function is found by the line its code starts at: nesting, tabs,
decorators and several functions of one name need no special care, and positions are the file's own.
"""

from __future__ import annotations

import ast
import inspect
import linecache
import types
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from ..errors import ASTFrontendError, Span

Function = ast.FunctionDef | ast.AsyncFunctionDef

_parsed: dict[tuple[str, int], dict[tuple[str, int], Function]] = {}


@dataclass(frozen=True)
class Gathered:
    """A tuple of runtime values: its type, and its parts, each of which is a parameter's name or another
    tuple."""

    type: type
    parts: tuple[Any, ...]

    def of(self, values: Mapping[str, Any]) -> Any:
        """The tuple, from the values of the parameters."""
        parts = [p.of(values) if isinstance(p, Gathered) else values[p] for p in self.parts]
        return self.type(*parts) if hasattr(self.type, "_fields") else tuple(parts)


@dataclass
class KernelSource:
    """The syntax of one function and where it stands."""

    function: types.FunctionType
    filename: str
    lines: list[str]
    node: ast.FunctionDef = field(init=False)
    #: Parameters that are tuples of others.
    gathered: Mapping[str, Gathered] = field(default_factory=dict)
    _spans: dict[ast.AST, Span] = field(default_factory=dict, repr=False)
    _locals: frozenset[str] | None = field(default=None, repr=False)
    #: Whether every line is ASCII, so that bytes and characters count alike (asked on first use).
    _ascii: bool | None = field(default=None, repr=False)

    def parse(self) -> ast.FunctionDef:
        """The function's syntax tree (parsed on first use)."""
        if not hasattr(self, "node"):
            self.node = _find(self)
        return self.node

    def locals(self) -> frozenset[str]:
        """Every name the function assigns, as a loop target or otherwise."""
        if self._locals is None:
            names = (n for n in ast.walk(self.parse()) if isinstance(n, ast.Name))
            self._locals = frozenset(n.id for n in names if isinstance(n.ctx, ast.Store))
        return self._locals

    def text(self) -> str:
        """The source text of the function, decorators included."""
        node = self.parse()
        first = min([node.lineno, *(d.lineno for d in node.decorator_list)])
        return "".join(self.lines[first - 1 : node.end_lineno])

    def span(self, node: ast.AST, caller: Span | None = None) -> Span:
        """The position of a syntax node."""
        if caller is None and (known := self._spans.get(node)) is not None:
            return known
        line, col = getattr(node, "lineno", 1), getattr(node, "col_offset", 0)
        end_line = getattr(node, "end_lineno", None) or line
        end_col = getattr(node, "end_col_offset", None) or 0
        span = Span(
            self.filename, line, self._column(line, col), end_line, self._column(end_line, end_col),
            self.function.__name__, caller,
        )  # fmt: skip
        if caller is None:
            self._spans[node] = span
        return span

    def _column(self, line: int, offset: int) -> int:
        # ast counts UTF-8 bytes from 0, people count characters from 1.
        if self._ascii is None:
            self._ascii = all(map(str.isascii, self.lines))
        if self._ascii:
            return offset + 1
        text = self.lines[line - 1] if line <= len(self.lines) else ""
        return len(text.encode()[:offset].decode(errors="ignore")) + 1


def kernel_source(function: Any) -> KernelSource:
    """Read (not yet parse) the source of a function. Raises ``ASTFrontendError`` when it is no
    plain ``def`` or its source cannot be had."""
    function = inspect.unwrap(function)
    if not isinstance(function, types.FunctionType):
        raise ASTFrontendError(f"a kernel must be a plain function, got {function!r}")
    code = function.__code__
    where = Span(code.co_filename, code.co_firstlineno, 1)
    if code.co_name == "<lambda>":
        raise ASTFrontendError("a lambda cannot be a kernel; define it with def", where)
    linecache.checkcache(code.co_filename)  # the file may have changed since it was read
    lines = linecache.getlines(code.co_filename, function.__globals__)
    if not lines:
        raise ASTFrontendError(
            f"could not get the source of {function.__name__!r} (file {code.co_filename!r}): define it in "
            "a file or a notebook cell"
        )
    return KernelSource(function, code.co_filename, list(lines))


def _parse(text: str, filename: str) -> ast.Module:
    """``ast.parse``, also where Python mistakes what other threads parse meanwhile for a fault of its
    own (CPython issue 106905)."""
    for _ in range(100):
        try:
            return ast.parse(text, filename)
        except SystemError:
            pass
    return ast.parse(text, filename)


def _functions(source: KernelSource) -> dict[tuple[str, int], Function]:
    """Every function of a file, by name and by the line it or its first decorator starts at."""
    text = "".join(source.lines)
    key = (source.filename, hash(text))
    if key not in _parsed:
        if len(_parsed) > 64:
            _parsed.clear()
        try:
            tree = _parse(text, source.filename)
        except (SyntaxError, ValueError, RecursionError) as error:
            raise ASTFrontendError(f"could not parse {source.filename}: {error}") from error
        found: dict[tuple[str, int], Function] = {}
        for node in ast.walk(tree):
            if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
                first = min([node.lineno, *(d.lineno for d in node.decorator_list)])
                found[node.name, first] = found[node.name, node.lineno] = node
        _parsed[key] = found
    return _parsed[key]


def _find(source: KernelSource) -> ast.FunctionDef:
    code = source.function.__code__
    node = _functions(source).get((code.co_name, code.co_firstlineno))
    if isinstance(node, ast.AsyncFunctionDef):
        raise ASTFrontendError(
            "async functions cannot be kernels; define it with def", source.span(node)
        )
    if node is not None:
        return node
    raise ASTFrontendError(
        f"could not find function definition for {code.co_name} in {source.filename} (line "
        f"{code.co_firstlineno}); was the file changed after it was imported?"
    )
