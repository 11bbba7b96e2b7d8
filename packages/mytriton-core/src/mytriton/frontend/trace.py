"""One trace: a kernel, the types of its runtime arguments and its compile-time values in, the
recorded expression graph out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ..errors import ASTFrontendError
from ..ir.builder import Builder, Scope
from ..ir.expr import Ops, Param
from ..language.symbolic import tensor
from .branches import TOO_DEEP
from .dependencies import Dependency, Environment
from .inline import inline
from .scopes import is_listed
from .source import KernelSource
from .tracer import Tracer


@dataclass
class Trace:
    """What tracing a kernel gives."""

    #: Stores and loops, in program order.
    ops: Ops
    params: tuple[Param, ...]
    #: Everything program order pins, with the graph behind it: what lowering reads.
    scope: Scope
    #: Values from outside the kernel the trace depends on.
    dependencies: tuple[Dependency, ...]
    #: Whether unseen values may have been read: the trace must be repeated to be trusted.
    opaque: bool = False


def trace_kernel(
    source: KernelSource, params: Sequence[Param], constants: Mapping[str, Any], debug: bool = False
) -> Trace:
    """Trace a kernel. ``params`` are its runtime parameters in order, ``constants`` the values of
    its compile-time parameters; ``debug`` keeps
    ``tl.device_assert``. Raises ``ASTFrontendError``, ``UnknownNameError`` or
    ``KernelTypeError`` at the position of the fault."""
    node = source.parse()
    environment = Environment(source.function)
    env: dict[str, Any] = {param.name: tensor(param) for param in params}
    env.update(constants)
    env.update({name: form.of(env) for name, form in source.gathered.items()})
    with Builder() as builder:
        builder.debug = debug
        tracer = Tracer(source, environment, env, builder, kernel=True)
        builder.inline = lambda function, args: inline(tracer, node, function, args, {})
        try:
            tracer.body(node.body)
        except RecursionError:
            raise ASTFrontendError(TOO_DEEP, builder.span) from None
    ops = Ops(n for n in builder.scope.trace if is_listed(n))
    dependencies = tuple(environment.dependencies.values())
    return Trace(ops, tuple(params), builder.scope, dependencies, environment.opaque)
