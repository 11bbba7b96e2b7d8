"""Compiling a kernel for a launch, finding it again, and running it."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Hashable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any, cast

from ..errors import ArgumentError
from ..frontend.dependencies import fingerprint
from ..frontend.trace import Trace
from ..ir.values import SSAFunction
from ..language.compile_time import unwrap
from ..plugins import selection
from ..plugins.errors import ClaimBrokenError, ClaimBrokenWarning
from ..plugins.manager import emit_event
from ..plugins.sources import user_level
from ..plugins.types import Event, LaunchSpec, Source
from ..transforms.passes import run_pass
from .arguments import FLAGS, argument_key, argument_type, described, spec_of
from .argview import ArgView
from .binder import make_keyed
from .compiler import DEFAULT_OPT_LEVEL, Compiled, Request, compile_ssa, trace
from .grid import Meta, normalise
from .result import LaunchResult
from .specialisation import Specialisation, check_readonly, warn_compiled_only, warn_strides

if TYPE_CHECKING:
    from .jit import JITFunction

Values = tuple[Any, ...]

_VALUE_TYPES = frozenset({int, str, bool, type(None)})
#: Variants kept for older values of globals: values often change back.
#: (And for other alignments.)
_VARIANTS = 32


def launch(
    kernel: JITFunction, grid: Any, explicit: str | None, args: Any, kwargs: Any
) -> LaunchResult:
    """Bind, look up or build the specialisation, run it on every program of the grid.

    Every launch passes here; what can be looked up is not computed.
    """
    binder = kernel.binder
    keyed = binder.keyed or _make_keyed(kernel)
    try:
        values, constants, options, parts = keyed(*args, **kwargs)
    except TypeError as error:
        if isinstance(error, ArgumentError):
            raise
        raise _binding_error(kernel, error) from None
    if type(grid) is tuple and len(grid) == 1 and type(grid[0]) is int and grid[0] >= 0:
        size = (grid[0], 1, 1)
    else:
        if callable(grid):
            others = dict(zip(binder.runtime, values)) | dict(zip(binder.options, options))
            grid = grid(Meta(_constants(kernel, constants), others))
        size = normalise(grid)
    if options.count(None) != len(options):
        _check_options(kernel, options)
    key = (explicit, selection.selection_key(), level_text(), parts)
    for candidate in kernel.specialisations.get(key, ()):
        if (candidate.aligned is None or candidate.fits(values)) and candidate.fresh():
            return candidate.launch(size, values)
    return _find_or_build(kernel, key, explicit, values, constants, options).launch(size, values)


def _make_keyed(kernel: JITFunction) -> Callable[..., Any]:
    import numpy as np

    made = make_keyed(
        kernel.binder, kernel.__name__, np.ndarray, FLAGS, _argument_key, _constant_key
    )
    kernel.binder.keyed = made
    return made


def bind(kernel: JITFunction, args: Any, kwargs: Any) -> tuple[Values, Values, Values]:
    """Runtime, compile-time and option values. Raises ``ArgumentError`` as Python would."""
    try:
        return kernel.binder.bind(*args, **kwargs)
    except TypeError as error:
        raise _binding_error(kernel, error) from None


def _binding_error(kernel: JITFunction, error: TypeError) -> ArgumentError:
    known = ", ".join([*kernel.binder.signature.parameters, *kernel.binder.options])
    return ArgumentError(f"{error}; parameters and launch options: {known}")


def trace_only(kernel: JITFunction, args: Any, kwargs: Any) -> Trace:
    """The expression tree for these arguments."""
    return trace(kernel.source, _request(kernel, args, kwargs))


def compile_only(kernel: JITFunction, args: Any, kwargs: Any) -> Compiled:
    """The stages up to optimised SSA for these arguments."""
    return compile_ssa(kernel.source, _request(kernel, args, kwargs))


def specialise(kernel: JITFunction, arguments: Mapping[str, Any]) -> tuple[SSAFunction, LaunchSpec]:
    """Optimised SSA and launch specification for described arguments."""
    values, constants, options = bind(kernel, (), dict(arguments))
    specs = tuple(described(name, value) for name, value in zip(kernel.binder.runtime, values))
    consts = _constants(kernel, constants)
    request = Request({s.name: s.type for s in specs}, consts, _level(kernel))  # type: ignore[misc]
    spec = LaunchSpec(specs, consts, _options(kernel, options))
    return compile_ssa(kernel.source, request).function, spec


def lower_for(kernel: JITFunction, backend: str, arguments: Mapping[str, Any]) -> Source:
    """What the named backend lowers the kernel to for described arguments."""
    function, spec = specialise(kernel, arguments)
    chosen = selection.choose(
        function, spec, explicit=backend, kernel=kernel.__name__, emit=True
    ).backend
    return chosen.lower(_with_backend_passes(chosen, function, spec), spec)


def _request(kernel: JITFunction, args: Any, kwargs: Any) -> Request:
    values, constants, _ = bind(kernel, args, kwargs)
    types, _ = _types(kernel, values)
    return Request(types, _constants(kernel, constants), _level(kernel))


def _level_reader() -> Callable[[], str | None]:
    """Reads ``MYTRITON_OPT_LEVEL``; ``os.environ.get`` would encode the name at every launch."""
    try:
        encoded = os.environ.encodekey("MYTRITON_OPT_LEVEL")
        data, decode = os.environ._data, os.environ.decodevalue  # type: ignore[attr-defined]
        data.get(encoded)
    except AttributeError:
        return lambda: os.environ.get("MYTRITON_OPT_LEVEL")

    def read() -> str | None:
        found = data.get(encoded)
        return None if found is None else decode(found)

    return read


level_text = _level_reader()


def _level(kernel: JITFunction) -> int:
    if kernel.opt_level is not None:
        return kernel.opt_level
    text = level_text() or ""
    if text not in ("", "0", "1"):
        raise ArgumentError(f"MYTRITON_OPT_LEVEL must be 0 or 1, got {text!r}")
    return int(text) if text else DEFAULT_OPT_LEVEL


def _constants(kernel: JITFunction, values: Values) -> dict[str, Any]:
    return {name: unwrap(value) for name, value in zip(kernel.binder.constexprs, values)}


def _options(kernel: JITFunction, values: Values) -> dict[str, Any]:
    return {name: v for name, v in zip(kernel.binder.options, values) if v is not None}


def _check_options(kernel: JITFunction, values: Values) -> None:
    for name, value in zip(kernel.binder.options, values):
        if value is not None and (type(value) is not int or value < 1):
            raise ArgumentError(f"launch option {name} must be a positive int, got {value!r}")


def _types(kernel: JITFunction, values: Values) -> tuple[dict[str, Any], list[ArgView | None]]:
    found: dict[str, Any] = {}
    views: list[ArgView | None] = []
    for name, value in zip(kernel.binder.runtime, values):
        found[name], view = argument_type(value, name)
        views.append(view)
    return found, views


def _argument_key(name: str, value: Any) -> Hashable:
    try:
        return argument_key(value)
    except ArgumentError as error:
        raise type(error)(f"argument {name!r}: {error}") from None


def _constant_key(name: str, value: Any) -> Hashable:
    if type(value) in _VALUE_TYPES:
        return (type(value), value)
    try:
        key = fingerprint(unwrap(value))
        hash(key)
    except TypeError as error:
        raise ArgumentError(
            f"argument {name!r} is a tl.constexpr and must be hashable: {error}; pass a tuple"
        ) from None
    return cast(Hashable, key)


def _find_or_build(
    kernel: JITFunction, key: Hashable, explicit: str | None, values: Values, constants: Values,
    options: Values,
) -> Specialisation:  # fmt: skip
    with kernel.lock:
        variants = kernel.specialisations.get(key, [])
        for candidate in variants:
            if candidate.fits(values) and candidate.fresh():  # another thread was faster
                return candidate
        made = _build(kernel, explicit, values, constants, options)
        kernel.specialisations[key] = [*variants[1 - _VARIANTS :], made]
        return made


def _build(
    kernel: JITFunction, explicit: str | None, values: Values, constants: Values, options: Values
) -> Specialisation:
    names = kernel.binder.runtime
    types, views = _types(kernel, values)
    consts = _constants(kernel, constants)
    compiled = compile_ssa(kernel.source, Request(types, consts, _level(kernel)))
    check_readonly(compiled, names, views)
    _warn_once(kernel, "strides", lambda: warn_strides(kernel.__name__, names, views, values))
    arguments = tuple(spec_of(n, types[n], v, a) for n, v, a in zip(names, views, values))
    spec = LaunchSpec(arguments, consts, _options(kernel, options))
    made = _on_backend(kernel, compiled, explicit, spec)
    if made.artifact is None:
        arrays = [n for n, v in zip(names, views) if v is not None]
        _warn_once(
            kernel,
            "compiled only",
            lambda: warn_compiled_only(kernel.__name__, made.backend.name, arrays),
        )
    return made


def _on_backend(
    kernel: JITFunction, compiled: Compiled, explicit: str | None, spec: LaunchSpec
) -> Specialisation:
    """Select a backend and compile for it. A backend that breaks its claim is left out, with a
    warning, and the next is tried, unless it was the only one named."""
    broken: list[str] = []
    while True:
        choice = selection.choose(
            compiled.function, spec, explicit=explicit, decorator=kernel.backend,
            kernel=kernel.__name__, exclude=broken,
        )  # fmt: skip
        backend = choice.backend
        try:
            spec = _asked_for(backend, spec)
            function = _with_backend_passes(backend, compiled.function, spec)
            source = backend.lower(function, spec)
            artifact = backend.compile(source, spec) if choice.launches else None
        except ClaimBrokenError as error:
            if not choice.automatic:
                raise
            warnings.warn(str(error), ClaimBrokenWarning, stacklevel=user_level())
            broken.append(backend.name)
            continue
        emit_event(Event("compile", kernel.__name__, backend.name, {"source": source}))
        return Specialisation(compiled, function, spec, backend, source, artifact)


def _asked_for(backend: Any, spec: LaunchSpec) -> LaunchSpec:
    """The launch without facts that are not in this backend's key."""
    if "align16" in backend.info.specialise:
        return spec
    arguments = tuple(replace(a, divisible_by_16=False) for a in spec.arguments)
    return replace(spec, arguments=arguments)


def _with_backend_passes(backend: Any, function: SSAFunction, spec: LaunchSpec) -> SSAFunction:
    for each in backend.passes(function, spec):
        function = run_pass(each, function)
    return function


def _warn_once(kernel: JITFunction, what: str, warn: Callable[[], Any]) -> None:
    if what not in kernel.warned and warn() is not False:
        kernel.warned.add(what)
