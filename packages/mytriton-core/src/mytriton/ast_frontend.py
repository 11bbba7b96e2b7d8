"""The AST frontend under the name the articles give it."""

from __future__ import annotations

from typing import Any

from .errors import ASTFrontendError
from .ir.expr import Param

__all__ = ["ASTFrontendError", "trace"]


def trace(fn: Any, *args: Any, **kwargs: Any) -> tuple[list[Any], list[Param]]:
    """Trace ``fn`` (a function or a ``@triton.jit`` kernel) for the given arguments.

    Returns the list of stores and loops it performs, as expression nodes, and its runtime
    parameters. Nothing is compiled or run.
    """
    from .runtime.jit import JITFunction

    kernel = fn if isinstance(fn, JITFunction) else JITFunction(fn)
    traced = kernel.trace(*args, **kwargs)
    return traced.ops, list(traced.params)
