"""From a kernel and the kinds of its arguments to verified, optimised SSA."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from ..analysis.pointers import accessed_params
from ..frontend.source import KernelSource
from ..frontend.trace import Trace, trace_kernel
from ..ir.expr import Ops, Param
from ..ir.types import PointerType, ScalarType
from ..ir.values import SSAFunction
from ..lowering import lower
from ..transforms.passes import optimise
from ..verify import verify

#: Default optimisation level: 0 leaves verified SSA as lowered, 1 rewrites it.
DEFAULT_OPT_LEVEL = 1


PassObserver = Callable[[str, SSAFunction, SSAFunction], None]


@dataclass
class Request:
    """What is to be compiled: runtime parameter types in order, compile-time values, level."""

    types: Mapping[str, ScalarType | PointerType]
    constants: Mapping[str, Any] = field(default_factory=dict)
    opt_level: int = DEFAULT_OPT_LEVEL
    #: Keep ``tl.device_assert``.
    debug: bool = False


@dataclass
class Compiled:
    """The stages of one specialisation, source to optimised SSA."""

    trace: Trace
    #: SSA as lowered, verified, not rewritten: what the reference oracle runs.
    unoptimised: SSAFunction
    function: SSAFunction
    source: KernelSource
    request: Request

    @property
    def opt_level(self) -> int:
        return self.request.opt_level

    def repeats(self) -> bool:
        """Whether tracing the kernel once more gives the same program."""
        again = trace(self.source, self.request)
        return lower(self.unoptimised.name, again.params, again.scope) == self.unoptimised

    @property
    def ops(self) -> Ops:
        return self.trace.ops

    @cached_property
    def _accessed(self) -> tuple[frozenset[str], frozenset[str]]:
        return accessed_params(self.unoptimised)

    @property
    def loaded(self) -> frozenset[str]:
        """Names of the parameters the kernel loads from."""
        return self._accessed[0]

    @property
    def stored(self) -> frozenset[str]:
        """Names of the parameters the kernel stores to."""
        return self._accessed[1]


def trace(source: KernelSource, request: Request) -> Trace:
    """The expression tree of a specialisation."""
    params = [Param(name, ty) for name, ty in request.types.items()]
    return trace_kernel(source, params, request.constants, request.debug)


def compile_ssa(
    source: KernelSource, request: Request, observe: PassObserver | None = None
) -> Compiled:
    """Trace, lower, verify and optimise. Raises ``CompilationError`` subclasses at the position of
    a user's mistake."""
    traced = trace(source, request)
    unoptimised = lower(source.function.__name__, traced.params, traced.scope)
    verify(unoptimised)
    function = optimise(unoptimised, request.opt_level, on_pass=observe)
    return Compiled(traced, unoptimised, function, source, request)
