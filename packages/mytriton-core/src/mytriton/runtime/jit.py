"""``@triton.jit`` and the launch of kernels."""

from __future__ import annotations

import functools
import inspect
import os
import threading
from collections.abc import Callable, Hashable, Mapping
from typing import Any, cast, overload

from ..errors import ArgumentError, MytritonError
from ..frontend.dependencies import fingerprint
from ..frontend.source import KernelSource, kernel_source
from ..language.core import constexpr
from ..plugins import selection
from ..plugins.types import ArgSpec, LaunchSpec, Source
from .arguments import argument_key, argument_type
from .argview import ArgView
from .binder import Binder, make_binder
from .compiler import DEFAULT_OPT_LEVEL, Compiled, Request, compile_ssa, trace
from .grid import Meta, normalise
from .result import LaunchResult
from .specialisation import Specialisation, check_readonly, warn_compiled_only, warn_strides

_VALUE_TYPES = frozenset({int, str, bool, type(None)})


class JITFunction:
    """A kernel. ``kernel[grid](*args, **kwargs)`` compiles it for the kinds of its arguments, once,
    and runs it on every program of the grid."""

    __mytriton_kernel__ = True

    def __init__(
        self, fn: Callable[..., Any], *, backend: str | None = None, opt_level: int | None = None
    ) -> None:
        self.fn = fn
        self.source: KernelSource = kernel_source(fn)
        self.binder: Binder = make_binder(self.source.function)
        self.backend = backend
        self.opt_level = _check_level(opt_level)
        self._specialisations: dict[Hashable, list[Specialisation]] = {}
        self._lock = threading.RLock()
        self._warned: set[str] = set()
        functools.update_wrapper(self, self.source.function)

    @property
    def arg_names(self) -> list[str]:
        return list(self.binder.signature.parameters)

    def __repr__(self) -> str:
        return f"<triton.jit kernel {self.__name__}{self.binder.signature}>"  # type: ignore[attr-defined]

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        name = self.fn.__name__
        raise ArgumentError(f"kernel {name!r} is launched with a grid: {name}[grid](...)")

    def __get__(self, instance: Any, owner: Any) -> JITFunction:
        if instance is not None:
            raise ArgumentError(f"kernel {self.fn.__name__!r} is a method; define it as a function")
        return self

    def __getitem__(self, grid: Any) -> Launcher:
        return Launcher(self, grid, None)

    def with_backend(self, name: str) -> BackendView:
        """The same kernel, launched by the named backend and no other."""
        return BackendView(self, name)

    def clear_cache(self) -> None:
        """Forget every compiled specialisation. Never needed: changed values recompile by
        themselves."""
        with self._lock:
            self._specialisations.clear()

    # -- compile --------------------------------------------------------------------------------

    def trace(self, *args: Any, **kwargs: Any) -> Any:
        """The expression tree for these arguments (a ``Trace``); nothing is lowered or run."""
        values, constants, _ = self._bind(args, kwargs)
        types, _ = self._types(values)
        return trace(self.source, Request(types, self._constants(constants)))

    def compile(self, *args: Any, **kwargs: Any) -> Compiled:
        """The stages up to optimised SSA for these arguments; nothing is run."""
        values, constants, _ = self._bind(args, kwargs)
        types, _ = self._types(values)
        return compile_ssa(self.source, Request(types, self._constants(constants), self._level()))

    def emit(self, *, backend: str, **arguments: Any) -> str:
        """A backend's text without arrays: ``emit(x="f32[1000]", n=1000, BLOCK=256, backend=...)``.

        Arguments are descriptions (``"f32[1000]"``, ``"i32"``), numbers, or real arrays.
        """
        return self.lower_for(backend, arguments).text

    def lower_for(self, backend: str, arguments: Mapping[str, Any]) -> Source:
        """What ``backend`` lowers the kernel to for described arguments (see ``emit``)."""
        function, spec = self.specialise(arguments)
        chosen = selection.named(backend)
        return cast(Source, chosen.lower(function, spec))

    def specialise(self, arguments: Mapping[str, Any]) -> tuple[Any, LaunchSpec]:
        """Optimised SSA and launch specification for described arguments (see ``emit``)."""
        from .describe import described

        values, constants, options = self._bind((), dict(arguments))
        specs = tuple(described(name, value) for name, value in zip(self.binder.runtime, values))
        consts = self._constants(constants)
        request = Request({s.name: s.type for s in specs}, consts, self._level())  # type: ignore[misc]
        spec = LaunchSpec(specs, consts, self._options(options))
        return compile_ssa(self.source, request).function, spec

    def _bind(self, args: Any, kwargs: Any) -> tuple[Any, Any, Any]:
        try:
            return self.binder.bind(*args, **kwargs)
        except TypeError as error:
            raise ArgumentError(self._binding_message(str(error), kwargs)) from None

    def _binding_message(self, text: str, kwargs: Mapping[str, Any]) -> str:
        known = ", ".join([*self.binder.signature.parameters, *self.binder.options])
        return f"{text}; parameters and launch options: {known}"

    def _level(self) -> int:
        if self.opt_level is not None:
            return self.opt_level
        text = os.environ.get("MYTRITON_OPT_LEVEL", "")
        if not text:
            return DEFAULT_OPT_LEVEL
        if text not in ("0", "1"):
            raise ArgumentError(f"MYTRITON_OPT_LEVEL must be 0 or 1, got {text!r}")
        return int(text)

    def _constants(self, values: tuple[Any, ...]) -> dict[str, Any]:
        return {name: _plain(value) for name, value in zip(self.binder.constexprs, values)}

    def _options(self, values: tuple[Any, ...]) -> dict[str, Any]:
        return {name: v for name, v in zip(self.binder.options, values) if v is not None}

    def _types(self, values: tuple[Any, ...]) -> tuple[dict[str, Any], list[ArgView | None]]:
        found: dict[str, Any] = {}
        views: list[ArgView | None] = []
        for name, value in zip(self.binder.runtime, values):
            found[name], view = argument_type(value, name)
            views.append(view)
        return found, views

    # -- launch ---------------------------------------------------------------------------------

    def launch(self, grid: Any, explicit: str | None, args: Any, kwargs: Any) -> LaunchResult:
        """Bind, look up or build the specialisation, run it."""
        values, constants, options = self._bind(args, kwargs)
        if callable(grid):
            others = dict(zip(self.binder.runtime, values)) | dict(zip(self.binder.options, options))
            grid = grid(Meta(self._constants(constants), others))
        size = normalise(grid)
        key = (
            explicit, selection.selection_key(), os.environ.get("MYTRITON_OPT_LEVEL"), options,
            *map(self._argument_key, self.binder.runtime, values),
            *map(self._constant_key, self.binder.constexprs, constants),
        )  # fmt: skip
        for candidate in self._specialisations.get(key, ()):
            if candidate.fresh():
                return candidate.launch(size, values)
        return self._specialise(key, explicit, values, constants, options).launch(size, values)

    def _argument_key(self, name: str, value: Any) -> Hashable:
        try:
            return argument_key(value)
        except ArgumentError as error:
            raise type(error)(f"argument {name!r}: {error}") from None

    def _constant_key(self, name: str, value: Any) -> Hashable:
        if type(value) in _VALUE_TYPES:
            return (type(value), value)
        try:
            key = fingerprint(_plain(value))
            hash(key)
        except TypeError as error:
            raise ArgumentError(
                f"argument {name!r} is a tl.constexpr and must be hashable: {error}; pass a tuple"
            ) from None
        return cast(Hashable, key)

    def _specialise(
        self, key: Hashable, explicit: str | None, values: Any, constants: Any, options: Any
    ) -> Specialisation:
        with self._lock:
            for candidate in self._specialisations.get(key, ()):
                if candidate.fresh():  # another thread was faster
                    return candidate
            made = self._build(explicit, values, constants, options)
            # Variants for older values of globals are kept: values often change back.
            older = self._specialisations.get(key, [])[-7:]
            self._specialisations[key] = [*older, made]
            return made

    def _build(self, explicit: str | None, values: Any, constants: Any, options: Any) -> Specialisation:
        names = self.binder.runtime
        types, views = self._types(values)
        compiled = compile_ssa(self.source, Request(types, self._constants(constants), self._level()))
        check_readonly(compiled, names, views)
        self._warn_once("strides", lambda: warn_strides(self.fn.__name__, names, views, values))
        spec = LaunchSpec(
            tuple(_arg_spec(n, types[n], v) for n, v in zip(names, views)),
            self._constants(constants), self._options(options),
        )  # fmt: skip
        choice = selection.choose(
            compiled.function, spec, explicit=explicit, decorator=self.backend, kernel=self.fn.__name__
        )
        backend = choice.backend
        function = _extra_passes(compiled.function, backend.passes(compiled.function, spec))
        source = backend.lower(function, spec)
        artifact = backend.compile(source, spec) if choice.launches else None
        if artifact is None:
            arrays = [n for n, v in zip(names, views) if v is not None]
            self._warn_once("compiled only", lambda: warn_compiled_only(self.fn.__name__, backend.name, arrays))
        return Specialisation(compiled, function, spec, backend, source, artifact)

    def _warn_once(self, what: str, warn: Callable[[], Any]) -> None:
        if what not in self._warned and warn() is not False:
            self._warned.add(what)


class Launcher:
    """``kernel[grid]``: call it to launch."""

    __slots__ = ("explicit", "grid", "kernel")

    def __init__(self, kernel: JITFunction, grid: Any, explicit: str | None) -> None:
        self.kernel = kernel
        self.grid = grid
        self.explicit = explicit

    def __call__(self, *args: Any, **kwargs: Any) -> LaunchResult:
        try:
            return self.kernel.launch(self.grid, self.explicit, args, kwargs)
        except (MytritonError, IndexError) as error:
            if os.environ.get("MYTRITON_DEBUG"):
                raise
            # The traceback of a user's mistake ends at the user's line, not in the compiler.
            raise error.with_traceback(None) from error.__cause__


class BackendView:
    """A kernel with a backend named for it."""

    __slots__ = ("kernel", "name")

    def __init__(self, kernel: JITFunction, name: str) -> None:
        self.kernel = kernel
        self.name = name

    def __getitem__(self, grid: Any) -> Launcher:
        return Launcher(self.kernel, grid, self.name)


def _plain(value: Any) -> Any:
    """A compile-time value as the kernel sees it: no ``tl.constexpr`` wrapper, no NumPy scalar."""
    value = value.value if isinstance(value, constexpr) else value
    return value.item() if type(value).__module__ == "numpy" and hasattr(value, "item") else value


def _check_level(level: int | None) -> int | None:
    if level not in (None, 0, 1) or isinstance(level, bool):
        raise ArgumentError(f"opt_level must be 0 or 1, got {level!r}")
    return level


def _arg_spec(name: str, ty: Any, view: ArgView | None) -> ArgSpec:
    if view is None:
        return ArgSpec(name, ty)
    return ArgSpec(name, ty, view.device_kind, view.device_id, view.contiguous, view.readonly)


def _extra_passes(function: Any, passes: Any) -> Any:
    if not passes:
        return function
    from ..transforms.passes import run_passes

    return run_passes(function, passes)


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
    if fn is None:
        return lambda function: JITFunction(function, backend=backend, opt_level=opt_level)
    if isinstance(fn, JITFunction):
        return fn
    if inspect.isclass(fn) or not callable(fn):
        raise ArgumentError(f"@triton.jit takes a function, got {fn!r}")
    return JITFunction(fn, backend=backend, opt_level=opt_level)
