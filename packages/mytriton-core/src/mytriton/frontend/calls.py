"""Calls in a kernel: functions of the language, compile-time builtins, Python functions as macros."""

from __future__ import annotations

import ast
import builtins
import types
from typing import TYPE_CHECKING, Any

from ..errors import CompilationError
from ..language.core import static_range
from ..language.symbolic import tensor
from .dependencies import Opaque, function_fingerprint

if TYPE_CHECKING:
    from .tracer import Tracer

#: Builtins that make sense on compile-time values.
COMPILE_TIME = (
    "abs", "bool", "divmod", "float", "int", "isinstance", "len", "max", "min", "pow", "range",
    "round", "str", "sum", "tuple", "type",
)  # fmt: skip


def visit_call(tracer: Tracer, node: ast.Call) -> Any:
    """Evaluate the callee and its arguments, then call it the way its kind asks for."""
    function = tracer.visit(node.func)
    for argument in node.args:
        if isinstance(argument, ast.Starred):
            raise tracer.error("unsupported AST node: Starred", argument)
    for keyword in node.keywords:
        if keyword.arg is None:
            raise tracer.error("**kwargs in calls are not supported", keyword.value)
    args = [tracer.visit(argument) for argument in node.args]
    kwargs = {str(keyword.arg): tracer.visit(keyword.value) for keyword in node.keywords}
    with tracer.at(node):
        return call(tracer, node, function, args, kwargs)


def call(
    tracer: Tracer, node: ast.Call, function: Any, args: list[Any], kwargs: dict[str, Any]
) -> Any:
    """Apply ``function``; raises what ``Tracer.at`` turns into a located error."""
    if getattr(function, "__mytriton_builtin__", False):
        return function(*args, **kwargs)
    if hasattr(function, "__mytriton_kernel__"):
        raise tracer.error("calls to other @triton.jit functions are not supported", node)
    symbolic = any(isinstance(v, tensor) for v in (*args, *kwargs.values()))
    name = getattr(function, "__name__", repr(function))
    if function is static_range:
        raise tracer.error("tl.static_range only stands in the head of a for loop", node)
    if getattr(builtins, name, None) is function:
        return _builtin(tracer, node, function, name, symbolic, args, kwargs)
    if isinstance(function, types.FunctionType):
        return _macro(tracer, node, function, args, kwargs)
    if not callable(function):
        raise tracer.error(f"{function!r} is not callable", node)
    if not isinstance(function, type) and not _stateless(function):
        tracer.environment.opaque = True
    if symbolic:
        raise tracer.error(
            f"{name} is not a function of the kernel language and cannot take runtime values", node
        )
    return function(*args, **kwargs)


def _stateless(function: Any) -> bool:
    """Whether calling ``function`` again gives the same result: functions in C without an object."""
    owner = getattr(function, "__self__", None)
    return isinstance(function, types.BuiltinFunctionType) and (
        owner is None or isinstance(owner, (types.ModuleType, str, int, float, tuple))
    )


def _builtin(
    tracer: Tracer, node: ast.Call, function: Any, name: str, symbolic: bool, args: Any, kwargs: Any
) -> Any:
    if name == "print":
        raise tracer.error("print is not supported in kernels", node)
    if name not in COMPILE_TIME:
        raise tracer.error(f"the builtin {name} is not supported in kernels", node)
    if symbolic and name != "isinstance":
        hint = {"max": "; use tl.maximum", "min": "; use tl.minimum"}.get(name, "")
        raise tracer.error(f"the builtin {name} only takes compile-time values here{hint}", node)
    return function(*args, **kwargs)


def _macro(
    tracer: Tracer, node: ast.Call, function: types.FunctionType, args: Any, kwargs: Any
) -> Any:
    """A plain Python function is run while tracing, with symbolic or compile-time arguments."""
    if not tracer.environment.opaque:
        try:
            function_fingerprint(function)
        except Opaque:
            tracer.environment.opaque = True
    try:
        return function(*args, **kwargs)
    except CompilationError:
        raise
    except Exception as error:
        raise tracer.error(f"{function.__name__}: {error}", node) from error
