"""``@triton.jit``. Defining a kernel loads next to nothing; compiling and launching it loads
``runtime.launch`` and the compiler on first use."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, overload

from ..errors import ArgumentError, MytritonError
from ..frontend.source import KernelSource, kernel_source
from ..locks import ForkLock
from ..tracebacks import for_user, users
from .binder import Binder, make_binder
from .interface import EXPLICIT, KernelInterface, backend_text, checks, renamed
from .params import KernelParam, kernel_params, parameter_names

if TYPE_CHECKING:
    from pathlib import Path

    from ..frontend.trace import Trace
    from ..inspection import Inspection
    from ..ir.values import SSAFunction
    from ..plugins.types import LaunchSpec, Source
    from .compiler import Compiled
    from .export import Exported
    from .result import LaunchResult
    from .specialisation import Specialisation


class JITFunction(KernelInterface):
    """A kernel. ``kernel[grid](*args, **kwargs)`` compiles it for the kinds of its arguments, once,
    and runs it on every program of the grid."""

    __mytriton_kernel__ = True
    __name__: str

    def __init__(
        self,
        fn: Callable[..., Any],
        version: Any = None,
        do_not_specialize: Iterable[int | str] | None = None,
        do_not_specialize_on_alignment: Iterable[int | str] | None = None,
        debug: bool | None = None,
        noinline: bool | None = None,
        repr: Callable[[Any], str] | None = None,
        launch_metadata: Callable[..., Any] | None = None,
        *,
        backend: str | None = None,
        opt_level: int | None = None,
    ) -> None:
        if opt_level not in (None, 0, 1) or isinstance(opt_level, bool):
            raise ArgumentError(f"opt_level must be 0 or 1, got {opt_level!r}")
        self.fn = fn
        self.source: KernelSource = kernel_source(fn)
        self.binder: Binder = make_binder(self.source.function)
        self.backend = backend
        self.opt_level = opt_level
        names, name = self.arg_names, self.source.function.__name__
        #: Parameters whose values are never specialised on, and those whose alignment is not.
        self.unspecialised = parameter_names(do_not_specialize, names, "do_not_specialize", name)
        self.unaligned = parameter_names(
            do_not_specialize_on_alignment, names, "do_not_specialize_on_alignment", name
        )
        self.version, self.debug, self.noinline = version, debug, noinline
        self._repr = repr
        self.launch_metadata = launch_metadata
        #: Compiled variants by key; several under one key when values of globals differ.
        self.specialisations: dict[Hashable, list[Specialisation]] = {}
        #: By the backend named by ``with_backend``: what makes of a grid a launcher that launches
        #: without looking anything up, where it can (see ``runtime.direct``).
        self.direct: dict[str | None, Callable[[Any], Callable[..., Any]]] = {}
        #: The kernels that calls with tuples are compiled as (see ``runtime.spread``).
        self.spread: dict[Hashable, JITFunction] = {}
        self.lock = ForkLock()
        self.warned: set[str] = set()
        functools.update_wrapper(self, self.source.function)

    @property
    def arg_names(self) -> list[str]:
        """Parameter names, in order."""
        return list(self.binder.signature.parameters)

    @property
    def params(self) -> list[KernelParam]:
        """The parameters, in order."""
        binder = self.binder
        return kernel_params(
            binder.signature, binder.constexprs, self.unspecialised, self.unaligned
        )

    @property
    def signature(self) -> inspect.Signature:
        return self.binder.signature

    def repr(self, variant: Any) -> str:
        """The name of a compiled variant (see ``result.metadata.name``)."""
        return self.__name__ if self._repr is None else str(self._repr(variant))

    @property
    def src(self) -> str:
        """The source text of the function, from its ``def``."""
        from .source_key import source_text

        return source_text(self.source)

    @property
    def cache_key(self) -> str:
        """A digest of everything the kernel says: its source, that of the functions it calls, and
        the globals it reads, as they are now."""
        from .source_key import kernel_key

        return kernel_key(self)

    @property
    def cache(self) -> Mapping[Hashable, Any]:
        """The compiled variants: specialisation key to what a launch of it returns."""
        return {key: found[-1].result for key, found in self.specialisations.items() if found}

    @property
    def device_caches(self) -> Mapping[int, Any]:
        """``cache``, under the index of the current device, as Triton keeps it."""
        from .driver import driver

        return {driver.active.get_current_device(): (self.cache,)}

    def __repr__(self) -> str:
        return f"<triton.jit kernel {self.__name__}{self.binder.signature}>"

    def __call__(self, /, *args: Any, **kwargs: Any) -> Any:
        name = self.__name__
        raise ArgumentError(f"kernel {name!r} is launched with a grid: {name}[grid](...)")

    def __get__(self, instance: Any, owner: Any) -> JITFunction:
        if instance is not None:
            raise ArgumentError(f"kernel {self.__name__!r} is a method; define it as a function")
        return self

    def __getitem__(self, grid: Any) -> Callable[..., LaunchResult]:
        direct = self.direct.get(None)
        return Launcher(self, grid, None) if direct is None else direct(grid)

    def with_backend(self, name: str | Sequence[str]) -> BackendView:
        """The same kernel, launched by the named backend, or by the first of a list that can
        (``"first,second"``), and by no other."""
        return BackendView(self, backend_text(name))

    def run(self, /, *args: Any, grid: Any, warmup: bool = False, **kwargs: Any) -> LaunchResult:
        """``kernel[grid](*args, **kwargs)``; with ``warmup`` compiles only (see ``warmup``)."""
        explicit = EXPLICIT.get()
        if not warmup:
            return Launcher(self, grid, explicit)(*args, **kwargs)
        from . import launch

        try:
            return launch.prepare(self, explicit, args, kwargs)
        except (MytritonError, IndexError) as error:
            raise for_user(error) from error.__cause__

    def clear_cache(self) -> None:
        """Forget every compiled specialisation. Never needed: changed values recompile by
        themselves."""
        with self.lock:
            self.specialisations.clear()
            self.direct.clear()
            self.spread.clear()

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

    def inspect(
        self, /, *args: Any, grid: Any = None, backend: str | None = None, **kwargs: Any
    ) -> Inspection:
        """Every stage of the kernel for these arguments (arrays, numbers, or descriptions such as
        ``"f32[1000]"``): source, expression tree, SSA, passes, facts, the backend's text and what it
        compiled. Nothing is run. Shows itself in a notebook; ``.save("out.html")`` writes a page."""
        from ..inspection.build import inspect

        try:
            return inspect(self, args, kwargs, grid, backend)
        except MytritonError as error:
            raise for_user(error) from error.__cause__

    def emit(self, /, *, backend: str, **arguments: Any) -> str:
        """A backend's text without arrays: ``emit(x="f32[1000]", n=1000, BLOCK=256, backend=...)``.

        Arguments are descriptions (``"f32[1000]"``, ``"i32"``), numbers, or real arrays.
        """
        try:
            return self.lower_for(backend, arguments).text
        except MytritonError as error:
            raise for_user(error) from error.__cause__

    def export(
        self, path: str | Path, /, *, backend: str, grid: Any = None, **arguments: Any
    ) -> Exported:
        """Compile ahead of time for described arguments (see ``emit``), and write into the folder
        ``path``: the backend's text, PTX, cubin or object code where it has them, and a manifest
        (JSON: entry, arguments in order with types, constants, how to call it, the grid).

        ``grid`` is what the manifest shall say: numbers, and expressions of arguments such as
        ``"cdiv(n, BLOCK)"``. A compiler that is missing here is a ``RuntimeWarning``, and leaves the
        text. Raises ``ArgumentError`` for a grid nobody could compute, and what ``emit`` raises.
        """
        from .export import export

        try:
            return export(self, path, backend, grid, arguments)
        except MytritonError as error:
            raise for_user(error) from error.__cause__


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
        except Exception as error:
            if not users(error):
                raise
            # The traceback of a user's mistake ends at the user's line, not in the compiler.
            raise for_user(error) from error.__cause__

    def __reduce__(self) -> Any:
        return Launcher, (self.kernel, self.grid, self.explicit)

    def __repr__(self) -> str:
        shown = self.kernel if self.explicit is None else BackendView(self.kernel, self.explicit)
        return f"{shown!r}[{self.grid!r}]"


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

    def __reduce__(self) -> Any:
        return BackendView, (self.kernel, self.name)

    def __repr__(self) -> str:
        return f"{self.kernel!r}.with_backend({self.name!r})"

    def __call__(self, /, *args: Any, **kwargs: Any) -> Any:
        return self.kernel(*args, **kwargs)  # says how a kernel is launched

    def __getitem__(self, grid: Any) -> Callable[..., LaunchResult]:
        direct = self.kernel.direct.get(self.name)
        return Launcher(self.kernel, grid, self.name) if direct is None else direct(grid)

    def with_backend(self, name: str | Sequence[str]) -> BackendView:
        """The kernel on another backend; checks that were asked for stay."""
        return BackendView(self.kernel, renamed(self.name, backend_text(name)))

    def sanitize(self, *, nan: bool = False, bounds: bool = False) -> BackendView:
        """See ``sanitize`` of the kernel; a named backend must be able to check."""
        return BackendView(self.kernel, checks(nan, bounds, self.name))

    def warmup(self, /, *args: Any, grid: Any = None, **kwargs: Any) -> LaunchResult:
        """``warmup`` of the kernel, on this backend."""
        token = EXPLICIT.set(self.name)
        try:
            return self.kernel.run(*args, grid=grid, warmup=True, **kwargs)
        finally:
            EXPLICIT.reset(token)


@overload
def jit(fn: Callable[..., Any]) -> JITFunction: ...
@overload
def jit(
    fn: None = None,
    *,
    version: Any = None,
    repr: Callable[[Any], str] | None = None,
    launch_metadata: Callable[..., Any] | None = None,
    do_not_specialize: Iterable[int | str] | None = None,
    do_not_specialize_on_alignment: Iterable[int | str] | None = None,
    debug: bool | None = None,
    noinline: bool | None = None,
    backend: str | None = None,
    opt_level: int | None = None,
) -> Callable[[Callable[..., Any]], JITFunction]: ...
def jit(fn: Any = None, **options: Any) -> Any:
    """Make a kernel of a Python function: ``@triton.jit`` or ``@triton.jit(backend=..., opt_level=...)``.

    ``backend`` names the backend that runs it (no other is tried), ``opt_level`` is 0 or 1.
    ``do_not_specialize`` and ``do_not_specialize_on_alignment`` list parameters (names or positions)
    whose values, or alignments, shall not make further variants. ``repr`` names the compiled
    variants; ``debug`` checks ``tl.device_assert``; ``noinline`` and ``launch_metadata`` are kept for
    programs that look at them.
    Applied to an autotuner or heuristics round a plain function, it makes a kernel of the function.
    Raises ``ASTFrontendError`` when ``fn`` is no plain function with source.
    """
    unknown = options.keys() - _JIT_OPTIONS
    if unknown:
        raise ArgumentError(
            f"jit has no option {', '.join(map(repr, sorted(unknown)))}; options: "
            f"{', '.join(sorted(_JIT_OPTIONS))}"
        )

    def make(function: Any) -> Any:
        if isinstance(function, JITFunction):
            return function
        if isinstance(function, KernelInterface):
            # @triton.jit above @triton.autotune: the kernel belongs inside.
            _innermost(function).fn = make(_innermost(function).fn)
            return function
        try:
            return JITFunction(function, **options)
        except MytritonError as error:
            raise for_user(error) from None

    if fn is None:
        return make
    try:
        return make(fn)
    except MytritonError as error:
        raise for_user(error) from None


_JIT_OPTIONS = frozenset({
    "version", "repr", "launch_metadata", "do_not_specialize", "do_not_specialize_on_alignment",
    "debug", "noinline", "backend", "opt_level",
})  # fmt: skip


def _innermost(wrapper: Any) -> Any:
    """The wrapper next to the function."""
    while isinstance(wrapper.fn, KernelInterface) and not isinstance(wrapper.fn, JITFunction):
        wrapper = wrapper.fn
    return wrapper


def __getattr__(name: str) -> Any:
    # Names that `triton.runtime.jit` has and that live elsewhere here.
    if name in ("MockTensor", "TensorWrapper", "reinterpret"):
        from . import standins

        return getattr(standins, name)
    if name == "constexpr_function":
        from .. import language

        return getattr(language, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
