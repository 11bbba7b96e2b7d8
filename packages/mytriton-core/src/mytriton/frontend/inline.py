"""Calls of other ``@triton.jit`` functions: their bodies are traced in place of the call."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, Any

from ..errors import ASTFrontendError, Span
from ..language.compile_time import unwrap
from .branches import has_returned
from .dependencies import Environment
from .literals import known, plain
from .merge import Poison
from .merger import RESULT
from .source import KernelSource

if TYPE_CHECKING:
    from .tracer import Tracer

#: Calls nested deeper than this are refused: each level costs stack here.
DEEPEST = 64


def inline(
    tracer: Tracer, node: ast.AST, kernel: Any, args: list[Any], kwargs: dict[str, Any]
) -> Any:
    """What ``kernel(*args, **kwargs)`` returns. Names of the callee are its own: rebinding a parameter
    changes nothing of the caller's."""
    function = kernel.fn if not hasattr(kernel, "source") else kernel.source.function
    depth = 0
    seen: Tracer | None = tracer
    while seen is not None:
        depth += 1
        if seen.source.function is function:
            raise tracer.error(
                f"recursion is not supported: {function.__name__} calls itself; use a loop", node
            )
        if depth > DEEPEST:
            raise tracer.error(
                f"calls nest more than {DEEPEST} deep here; write some of the functions into their callers",
                node,
            )
        seen = seen.caller
    with tracer.at(node):
        tracer.builder.grow()
    env = _bind(tracer, node, kernel, args, kwargs)
    inner = _tracer(tracer, node, kernel.source, env)
    before = tracer.builder.span
    try:
        inner.body(kernel.source.parse().body)
    finally:
        tracer.builder.span = before
    return _result(tracer, node, inner, function.__name__)


def _tracer(tracer: Tracer, node: ast.AST, source: KernelSource, env: dict[str, Any]) -> Tracer:
    from .tracer import Tracer

    called = CalledSource(source, tracer.span(node))
    environment = Environment(source.function, tracer.environment)
    return Tracer(called, environment, env, tracer.builder, caller=tracer)


class CalledSource(KernelSource):
    """The source of an inlined function: positions in it remember the call."""

    def __init__(self, source: KernelSource, call: Span) -> None:
        self.function, self.filename, self.lines = source.function, source.filename, source.lines
        self.node, self._locals, self._ascii = source.parse(), source.locals(), source._ascii
        self.call = call
        self._called: dict[ast.AST, Span] = {}

    def span(self, node: ast.AST, caller: Span | None = None) -> Span:
        known = self._called.get(node)
        if known is None:
            known = self._called[node] = super().span(node, self.call)
        return known


def _bind(
    tracer: Tracer, node: ast.AST, kernel: Any, args: list[Any], kwargs: dict[str, Any]
) -> dict[str, Any]:
    function = kernel.source.function
    signature = kernel.binder.signature
    try:
        bound = signature.bind(*args, **kwargs)
    except TypeError as error:
        raise tracer.error(f"{function.__name__}{signature}: {error}", node) from None
    bound.apply_defaults()
    # As in Triton, a tl.constexpr parameter of a function that is called may get a runtime value: it
    # then is one, and only what needs a compile-time value refuses it.
    constexprs = kernel.binder.constexprs
    return {
        name: plain(unwrap(value)) if name in constexprs else known(value)
        for name, value in bound.arguments.items()
    }


def _result(tracer: Tracer, node: ast.AST, inner: Tracer, name: str) -> Any:
    value = inner.env.get(RESULT)
    where = inner.returned or node
    if isinstance(value, Poison):
        raise inner.error(_renamed(value.message, name), where)
    if value is not None and has_returned(inner) is not True:
        raise inner.error(
            f"{name} returns a value on some paths only; return one on every path", where
        )
    return value


def _renamed(message: str, name: str) -> str:
    return message.replace(repr(RESULT), f"what {name} returns")


__all__ = ["ASTFrontendError", "inline"]
