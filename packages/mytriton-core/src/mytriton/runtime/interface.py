"""What kernels and what is wrapped round them (autotuners, heuristics, decorators of other people)
have in common: they are launched with ``kernel[grid](...)`` and all answer ``run``."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Sequence
from contextvars import ContextVar
from typing import Any

from ..errors import ArgumentError
from ..tracebacks import for_user, users

#: The backend that ``with_backend`` of a wrapper named, on its way to the kernel inside.
EXPLICIT: ContextVar[str | None] = ContextVar("mytriton_explicit_backend", default=None)


#: What is about the kernel's text and not about a launch of it.
_OF_THE_KERNEL = frozenset({
    "binder", "cache_key", "compile", "emit", "export", "inspect", "lower_for", "params", "signature",
    "source", "specialise", "src", "trace",
})  # fmt: skip


class KernelInterface:
    """A kernel, or something wrapped round one. A wrapper defines ``run`` and calls the ``run`` of
    what it wraps; grids, ``warmup`` and ``with_backend`` follow from that."""

    #: Kernels cannot call what is wrapped round one (``JITFunction`` is asked for before).
    __mytriton_wrapper__ = True

    __name__: str

    def __class_getitem__(cls, item: Any) -> Any:
        # Annotations say KernelInterface[T], as with Triton's.
        return cls

    def run(self, *args: Any, grid: Any, warmup: bool = False, **kwargs: Any) -> Any:
        """Launch on a grid; with ``warmup`` only compile."""
        raise NotImplementedError

    def warmup(self, /, *args: Any, grid: Any = None, **kwargs: Any) -> Any:
        """Compile for these arguments without launching, and give the compiled kernel.

        An array may be stood for by its dtype (``torch.float32``, ``tl.float32``, a NumPy dtype) or a
        ``MockTensor``.
        """
        return self.run(*args, grid=grid, warmup=True, **kwargs)

    def __getitem__(self, grid: Any) -> Any:
        return WrappedLauncher(self, grid, None)

    def __call__(self, /, *args: Any, **kwargs: Any) -> Any:
        name = self.__name__
        raise ArgumentError(f"kernel {name!r} is launched with a grid: {name}[grid](...)")

    def __getattr__(self, name: str) -> Any:
        # What can be asked of the kernel inside can be asked of a wrapper.
        if name in _OF_THE_KERNEL:
            return getattr(jitted(self), name)
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")

    def _named_after(self, inner: Any) -> None:
        """Look like the kernel inside to those who ask for names."""
        for attribute in functools.WRAPPER_ASSIGNMENTS:
            if hasattr(inner, attribute):
                setattr(self, attribute, getattr(inner, attribute))
        self.__wrapped__ = inner

    def __reduce__(self) -> Any:
        from .pickling import reference

        return reference(self)

    def __copy__(self) -> Any:
        return self  # as a function is its own copy

    def __deepcopy__(self, memo: Any) -> Any:
        return self

    def with_backend(self, name: str | Sequence[str]) -> Any:
        """The same kernel, launched by the named backend, or by the first of a list that can
        (``"first,second"``), and by no other."""
        return WrapperView(self, backend_text(name))

    def sanitize(self, *, nan: bool = False, bounds: bool = False) -> Any:
        """The same kernel, with every access checked: ``kernel.sanitize()[grid](...)``. Raises
        ``SanitizerError`` from the launch once the whole grid has run, when something was found.

        Launches run on the interpreter. ``nan`` also finds NaNs that an operation makes of numbers
        and that are stored; ``bounds`` finds only accesses outside of arguments, and leaves the
        choice among the backends that can.
        """
        return self.with_backend(checks(nan, bounds, None))


def checks(nan: bool, bounds: bool, backend: str | None) -> str:
    """A request for a checked launch, in place of the name of a backend."""
    from ..plugins.strict import encode

    if nan and bounds:
        raise ArgumentError(
            "sanitize(bounds=True) looks at addresses only; leave out nan or bounds"
        )
    return encode("nan" if nan else "bounds" if bounds else "1", backend)


def renamed(asked: str, backend: str) -> str:
    """What a view asks for, with another backend."""
    from ..plugins.strict import decode, encode

    mode, _ = decode(asked)
    return backend if mode is None else encode(mode, backend)


def backend_text(name: str | Sequence[str]) -> str:
    """One name or a list of names as one text. Raises ``ArgumentError``."""
    names = [name] if isinstance(name, str) else name
    if not isinstance(names, Sequence) or not all(isinstance(n, str) for n in names):
        raise ArgumentError(f"a backend is chosen by name or by a list of names, got {name!r}")
    return ",".join(names)


class WrappedLauncher:
    """``wrapper[grid]``: call it to launch."""

    __slots__ = ("explicit", "grid", "wrapper")

    def __init__(self, wrapper: KernelInterface, grid: Any, explicit: str | None) -> None:
        self.wrapper = wrapper
        self.grid = grid
        self.explicit = explicit

    def __reduce__(self) -> Any:
        return WrappedLauncher, (self.wrapper, self.grid, self.explicit)

    def __call__(self, /, *args: Any, **kwargs: Any) -> Any:
        try:
            if self.explicit is None:
                return self.wrapper.run(*args, grid=self.grid, warmup=False, **kwargs)
            token = EXPLICIT.set(self.explicit)
            try:
                return self.wrapper.run(*args, grid=self.grid, warmup=False, **kwargs)
            finally:
                EXPLICIT.reset(token)
        except Exception as error:
            if not users(error):
                raise
            # The traceback of a user's mistake ends at the user's line, not in the compiler.
            raise for_user(error) from error.__cause__


class WrapperView:
    """A wrapped kernel with a backend named for it."""

    __slots__ = ("name", "wrapper")

    def __init__(self, wrapper: KernelInterface, name: str) -> None:
        self.wrapper = wrapper
        self.name = name

    def __reduce__(self) -> Any:
        return WrapperView, (self.wrapper, self.name)

    def __getitem__(self, grid: Any) -> WrappedLauncher:
        return WrappedLauncher(self.wrapper, grid, self.name)

    def with_backend(self, name: str | Sequence[str]) -> WrapperView:
        """The kernel on another backend; checks that were asked for stay."""
        return WrapperView(self.wrapper, renamed(self.name, backend_text(name)))

    def sanitize(self, *, nan: bool = False, bounds: bool = False) -> WrapperView:
        """See ``sanitize`` of the kernel; a named backend must be able to check."""
        return WrapperView(self.wrapper, checks(nan, bounds, self.name))

    def warmup(self, /, *args: Any, grid: Any = None, **kwargs: Any) -> Any:
        """``warmup`` of the kernel, on this backend."""
        token = EXPLICIT.set(self.name)
        try:
            return self.wrapper.warmup(*args, grid=grid, **kwargs)
        finally:
            EXPLICIT.reset(token)


def jitted(wrapper: Any) -> Any:
    """The kernel inside wrappers, or the innermost thing there is."""
    while hasattr(wrapper, "fn") and not getattr(wrapper, "__mytriton_kernel__", False):
        wrapper = wrapper.fn
    return wrapper


def check_runs(fn: Any, wrapper: str, name: str) -> None:
    """What a wrapper is round can be launched. Raises ``ArgumentError``."""
    if not hasattr(fn, "run"):
        raise ArgumentError(
            f"{wrapper} of {name!r} is round a plain function; put @triton.jit under @triton.{wrapper}"
        )


def names_of(fn: Any) -> list[str]:
    """Parameter names of a kernel, a wrapper, or a function that is to become a kernel."""
    names = getattr(fn, "arg_names", None)
    if names is not None:
        return list(names)
    if not callable(fn):
        raise ArgumentError(f"{fn!r} is no kernel; decorate a function with @triton.jit")
    return list(inspect.signature(fn).parameters)
