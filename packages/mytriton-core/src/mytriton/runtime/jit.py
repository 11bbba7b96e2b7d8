"""``@triton.jit``. Defining a kernel loads next to nothing; compiling and launching it loads
``runtime.launch`` and the compiler on first use."""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, overload

from ..errors import ArgumentError, MytritonError, for_user
from ..frontend.source import KernelSource, kernel_source
from .binder import Binder, make_binder

if TYPE_CHECKING:
    from ..frontend.trace import Trace
    from ..ir.values import SSAFunction
    from ..plugins.types import LaunchSpec, Source
    from .compiler import Compiled
    from .result import LaunchResult
    from .specialisation import Specialisation


class JITFunction:
    """A kernel. ``kernel[grid](*args, **kwargs)`` compiles it for the kinds of its arguments, once,
    and runs it on every program of the grid."""

    __mytriton_kernel__ = True
    __name__: str

    def __init__(
        self, fn: Callable[..., Any], *, backend: str | None = None, opt_level: int | None = None
    ) -> None:
        if opt_level not in (None, 0, 1) or isinstance(opt_level, bool):
            raise ArgumentError(f"opt_level must be 0 or 1, got {opt_level!r}")
        self.fn = fn
        self.source: KernelSource = kernel_source(fn)
        self.binder: Binder = make_binder(self.source.function)
        self.backend = backend
        self.opt_level = opt_level
        #: Compiled variants by key; several under one key when values of globals differ.
        self.specialisations: dict[Hashable, list[Specialisation]] = {}
        self.lock = threading.RLock()
        self.warned: set[str] = set()
        functools.update_wrapper(self, self.source.function)

    @property
    def arg_names(self) -> list[str]:
        """Parameter names, in order."""
        return list(self.binder.signature.parameters)

    def __repr__(self) -> str:
        return f"<triton.jit kernel {self.__name__}{self.binder.signature}>"

    def __call__(self, /, *args: Any, **kwargs: Any) -> Any:
        name = self.__name__
        raise ArgumentError(f"kernel {name!r} is launched with a grid: {name}[grid](...)")

    def __get__(self, instance: Any, owner: Any) -> JITFunction:
        if instance is not None:
            raise ArgumentError(f"kernel {self.__name__!r} is a method; define it as a function")
        return self

    def __getitem__(self, grid: Any) -> Launcher:
        return Launcher(self, grid, None)

    def with_backend(self, name: str | Sequence[str]) -> BackendView:
        """The same kernel, launched by the named backend, or by the first of a list that can
        (``"first,second"``), and by no other."""
        names = [name] if isinstance(name, str) else name
        if not isinstance(names, Sequence) or not all(isinstance(n, str) for n in names):
            raise ArgumentError(f"a backend is chosen by name or by a list of names, got {name!r}")
        return BackendView(self, ",".join(names))

    def clear_cache(self) -> None:
        """Forget every compiled specialisation. Never needed: changed values recompile by
        themselves."""
        with self.lock:
            self.specialisations.clear()

    def trace(self, /, *args: Any, **kwargs: Any) -> Trace:
        """The expression tree for these arguments; nothing is lowered or run."""
        from . import launch

        return launch.trace_only(self, args, kwargs)

    def compile(self, /, *args: Any, **kwargs: Any) -> Compiled:
        """The stages up to optimised SSA for these arguments; nothing is run."""
        from . import launch

        return launch.compile_only(self, args, kwargs)

    def specialise(self, arguments: Mapping[str, Any]) -> tuple[SSAFunction, LaunchSpec]:
        """Optimised SSA and launch specification for described arguments (see ``emit``)."""
        from . import launch

        return launch.specialise(self, arguments)

    def lower_for(self, backend: str, arguments: Mapping[str, Any]) -> Source:
        """What ``backend`` lowers the kernel to for described arguments (see ``emit``)."""
        from . import launch

        return launch.lower_for(self, backend, arguments)

    def emit(self, /, *, backend: str, **arguments: Any) -> str:
        """A backend's text without arrays: ``emit(x="f32[1000]", n=1000, BLOCK=256, backend=...)``.

        Arguments are descriptions (``"f32[1000]"``, ``"i32"``), numbers, or real arrays.
        """
        return self.lower_for(backend, arguments).text


class Launcher:
    """``kernel[grid]``: call it to launch."""

    __slots__ = ("explicit", "grid", "kernel")

    def __init__(self, kernel: JITFunction, grid: Any, explicit: str | None) -> None:
        self.kernel = kernel
        self.grid = grid
        self.explicit = explicit

    def __call__(self, /, *args: Any, **kwargs: Any) -> LaunchResult:
        try:
            return _launch(self.kernel, self.grid, self.explicit, args, kwargs)
        except (MytritonError, IndexError) as error:
            # The traceback of a user's mistake ends at the user's line, not in the compiler.
            raise for_user(error) from error.__cause__


def _load_and_launch(*args: Any) -> LaunchResult:
    global _launch
    from .launch import launch

    _launch = launch
    return launch(*args)


_launch: Callable[..., LaunchResult] = _load_and_launch


class BackendView:
    """A kernel with a backend named for it."""

    __slots__ = ("kernel", "name")

    def __init__(self, kernel: JITFunction, name: str) -> None:
        self.kernel = kernel
        self.name = name

    def __getitem__(self, grid: Any) -> Launcher:
        return Launcher(self.kernel, grid, self.name)


@overload
def jit(fn: Callable[..., Any]) -> JITFunction: ...
@overload
def jit(
    fn: None = None, *, backend: str | None = None, opt_level: int | None = None
) -> Callable[[Callable[..., Any]], JITFunction]: ...
def jit(fn: Any = None, *, backend: str | None = None, opt_level: int | None = None) -> Any:
    """Make a kernel of a Python function: ``@triton.jit`` or ``@triton.jit(backend=..., opt_level=...)``.

    ``backend`` names the backend that runs it (no other is tried), ``opt_level`` is 0 or 1.
    Raises ``ASTFrontendError`` when ``fn`` is no plain function with source.
    """

    def make(function: Callable[..., Any]) -> JITFunction:
        if isinstance(function, JITFunction):
            return function
        try:
            return JITFunction(function, backend=backend, opt_level=opt_level)
        except MytritonError as error:
            raise for_user(error) from None

    return make if fn is None else make(fn)
