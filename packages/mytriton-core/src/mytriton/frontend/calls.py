"""Calls in a kernel: functions of the language, compile-time builtins, Python functions as macros."""

from __future__ import annotations

import ast
import builtins
import difflib
import inspect
import types
from typing import TYPE_CHECKING, Any

from .. import language
from ..errors import CompilationError
from ..ir.types import ScalarType
from ..language import core
from ..language.compile_time import ConstexprFunction, constexpr
from ..language.ranges import range as tl_range
from ..language.ranges import static_range
from ..language.symbolic import CONTROL_FLOW, tensor
from .dependencies import Opaque, function_fingerprint
from .inline import inline
from .literals import SETTLED, builtin, operands, plain
from .merge import dtype_name, leaves

if TYPE_CHECKING:
    from .tracer import Tracer

#: What a Python function says that branches on a runtime value.
CONTROL = CONTROL_FLOW.partition(";")[0]
#: Builtins that make sense on compile-time values.
COMPILE_TIME = (
    "abs", "all", "any", "bool", "dict", "divmod", "enumerate", "float", "getattr", "hasattr",
    "int", "isinstance", "len", "list", "max", "min", "pow", "range", "reversed", "round",
    "slice", "sorted", "str", "sum", "tuple", "type", "zip",
)  # fmt: skip


def visit_call(tracer: Tracer, node: ast.Call) -> Any:
    """Evaluate the callee and its arguments, then call it the way its kind asks for."""
    function = tracer.visit(node.func)
    args, kwargs = arguments(tracer, node)
    with tracer.at(node):
        return call(tracer, node, function, args, kwargs)


def arguments(tracer: Tracer, node: ast.Call) -> tuple[list[Any], dict[str, Any]]:
    """The evaluated arguments of a call; ``*tuple`` and ``**dict`` are spread."""
    args: list[Any] = []
    for argument in node.args:
        if not isinstance(argument, ast.Starred):
            args.append(tracer.visit(argument))
            continue
        value = tracer.visit(argument.value)
        if not isinstance(value, (tuple, list, range)):
            raise tracer.error(f"only a tuple can follow *, got {_spell(value)}", argument)
        args.extend(value)
    kwargs: dict[str, Any] = {}
    for keyword in node.keywords:
        value = tracer.visit(keyword.value)
        if keyword.arg is not None:
            kwargs[keyword.arg] = value
        elif isinstance(value, dict):
            kwargs.update(value)
        else:
            raise tracer.error(f"only a dict can follow **, got {_spell(value)}", keyword.value)
    return args, kwargs


def _spell(value: Any) -> str:
    return str(value.type) if isinstance(value, tensor) else repr(value)


def call(
    tracer: Tracer, node: ast.Call, function: Any, args: list[Any], kwargs: dict[str, Any]
) -> Any:
    """Apply ``function``; raises what ``Tracer.at`` turns into a located error."""
    if getattr(function, "__mytriton_builtin__", False):
        return _language(tracer, node, function, args, kwargs)
    if hasattr(function, "__mytriton_kernel__"):
        return inline(tracer, node, function, args, kwargs)
    found = [v for v in leaves([*args, *kwargs.values()]) if isinstance(v, tensor)]
    symbolic = bool(found)
    name = getattr(function, "__name__", repr(function))
    if getattr(function, "__mytriton_wrapper__", False):
        raise tracer.error(
            f"{name} is wrapped in {type(function).__name__} and can only be launched; call a function "
            "that is just @triton.jit",
            node,
        )
    if function is static_range or function is tl_range:
        raise tracer.error(f"tl.{name} only stands in the head of a for loop", node)
    if function is constexpr and symbolic:
        raise tracer.error(f"tl.constexpr needs a compile-time value, got {_spell(args[0])}", node)
    if getattr(builtins, name, None) is function:
        return _builtin(tracer, node, function, name, symbolic, args, kwargs)
    if isinstance(function, types.MethodType) and isinstance(function.__self__, tensor):
        return _language(tracer, node, function, args, kwargs)
    args, kwargs = plain(args), plain(kwargs)
    if isinstance(function, ConstexprFunction):
        if symbolic:
            raise tracer.error(
                f"{name} is a constexpr_function and takes compile-time values, got a runtime value of "
                f"{found[0].type}",
                node,
            )
        return _run(tracer, node, function, args, kwargs)
    if isinstance(function, types.FunctionType):
        return _macro(tracer, node, function, args, kwargs)
    if isinstance(function, ScalarType):
        ty = dtype_name(function)
        raise tracer.error(f"{ty} is a dtype, not a function; convert with tl.cast(x, {ty})", node)
    if not callable(function):
        raise tracer.error(f"{function!r} is not callable", node)
    if not isinstance(function, type) and not _stateless(function):
        tracer.environment.opaque = True
    if symbolic and not _is_namedtuple(function):
        raise tracer.error(
            f"{name} is not a function of the kernel language and cannot take runtime values"
            + (f"; use tl.{name}" if name in language.__all__ else ""),
            node,
        )
    return function(*args, **kwargs)


def _language(
    tracer: Tracer, node: ast.Call, function: Any, args: list[Any], kwargs: dict[str, Any]
) -> Any:
    """A function of the language. Functions it is given (``tl.reduce``) are inlined from here."""
    if getattr(function, "__mytriton_computes__", False):
        found = operands([*args, *kwargs.values()])
        args, kwargs = found[: len(args)], dict(zip(kwargs, found[len(args) :], strict=True))
    else:
        args, kwargs = plain(args), plain(kwargs)
    builder = tracer.builder
    outer = builder.inline
    builder.inline = lambda inner, values: inline(tracer, node, inner, values, {})
    try:
        return function(*args, **kwargs)
    except TypeError:
        _check_keywords(tracer, node, function, kwargs)
        raise
    finally:
        builder.inline = outer


def _check_keywords(tracer: Tracer, node: ast.Call, function: Any, kwargs: dict[str, Any]) -> None:
    """Refuse keywords that a function of the language has not, saying which it has."""
    names = [*inspect.signature(function).parameters]
    for name in kwargs:
        if name not in names:
            near = difflib.get_close_matches(name, names, n=1)
            hint = f" (did you mean {near[0]!r}?)" if near else ""
            raise tracer.error(
                f"{function.__name__}() got an unexpected keyword argument {name!r}{hint}; parameters: "
                f"{', '.join(names)}",
                node,
            ) from None


def _is_namedtuple(function: Any) -> bool:
    return isinstance(function, type) and issubclass(function, tuple)


def _stateless(function: Any) -> bool:
    """Whether calling ``function`` again gives the same result: functions in C without an object."""
    owner = getattr(function, "__self__", None)
    return isinstance(function, types.BuiltinFunctionType) and (
        owner is None or isinstance(owner, (types.ModuleType, str, int, float, tuple))
    )


#: Builtins that mean a function of the language when they are given runtime values.
_RUNTIME = {"abs": "abs", "min": "minimum", "max": "maximum"}
#: Builtins that take a tuple apart, whatever its items are.
_STRUCTURAL = frozenset({"enumerate", "len", "list", "reversed", "tuple", "zip"})
_HINTS = {
    "print": "; use tl.device_print when the kernel runs, tl.static_print while it is compiled",
    "int": "; convert with .to(tl.int32)",
    "float": "; convert with .to(tl.float32)",
    "bool": "; compare it with 0",
    "len": "; of a block, x.shape[0] is its extent, of an array, pass the length as an argument",
    "pow": "; use tl.exp2 and tl.log2, or libdevice.pow",
    "round": "; use libdevice.rint",
}


def _builtin(
    tracer: Tracer, node: ast.Call, function: Any, name: str, symbolic: bool, args: Any, kwargs: Any
) -> Any:
    if name == "print":
        raise tracer.error(f"print is not supported in kernels{_HINTS['print']}", node)
    if name not in COMPILE_TIME:
        raise tracer.error(f"the builtin {name} is not supported in kernels", node)
    if name in _STRUCTURAL and not any(isinstance(a, tensor) for a in args):
        found = function(*args, **kwargs)
        return found if isinstance(found, (int, list, tuple)) else tuple(found)
    if not symbolic:
        if not kwargs and any(a.__class__ in SETTLED for a in leaves(args)):
            return builtin(function, args)
        return function(*args, **kwargs)
    if name in ("isinstance", "type"):
        return function(*plain(args), **kwargs)
    if name == "sum" and isinstance(args[0], (tuple, list)):
        return function(*args, **kwargs)  # adds one by one
    if name in _RUNTIME and not kwargs:
        values = args[0] if len(args) == 1 and isinstance(args[0], (tuple, list)) else args
        values = operands(values)
        return _fold_runtime(getattr(core, _RUNTIME[name]), values)
    hint = _HINTS.get(name, "")
    raise tracer.error(f"the builtin {name} only takes compile-time values here{hint}", node)


def _fold_runtime(function: Any, values: Any) -> Any:
    value = values[0]
    if len(values) == 1:
        return function(value)
    for other in values[1:]:
        value = function(value, other)
    return value


def _macro(
    tracer: Tracer, node: ast.Call, function: types.FunctionType, args: Any, kwargs: Any
) -> Any:
    """A plain Python function is run while tracing, with symbolic or compile-time arguments."""
    if not tracer.environment.opaque:
        try:
            function_fingerprint(function)
        except Opaque:
            tracer.environment.opaque = True
    return _run(tracer, node, function, args, kwargs)


def _run(tracer: Tracer, node: ast.Call, function: Any, args: Any, kwargs: Any) -> Any:
    try:
        return function(*args, **kwargs)
    except CompilationError:
        raise
    except Exception as error:
        hint = "; decorate it with @triton.jit" if CONTROL in str(error) else ""
        raise tracer.error(f"{function.__name__}: {error}{hint}", node) from error
