"""Compiling a kernel for a launch, finding it again, and running it."""

from __future__ import annotations

import os
import re
import time
import warnings
from collections.abc import Callable, Hashable, Mapping
from typing import TYPE_CHECKING, Any, cast

from ..errors import ArgumentError, VariableError
from ..frontend.dependencies import fingerprint
from ..frontend.trace import Trace
from ..ir.values import SSAFunction
from ..language.compile_time import unwrap
from ..plugins import selection, sources
from ..plugins.errors import ClaimBrokenError, ClaimBrokenWarning
from ..plugins.manager import emit_event
from ..plugins.sources import user_level
from ..plugins.types import Event, LaunchSpec, Source
from ..plugins.variables import closest
from ..tracebacks import called
from ..transforms.passes import run_pass
from . import direct
from .arguments import FLAGS, argument_key, argument_type, described, spec_of
from .argview import ArgView
from .binder import LAUNCH_OPTIONS, make_keyed
from .compiler import DEFAULT_OPT_LEVEL, Compiled, Request, compile_ssa, trace
from .facts import asked_for, wanted
from .grid import MOST, Meta, normalise
from .result import LaunchResult
from .specialisation import Specialisation, check_readonly, warn_strides
from .spread import spread

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
    if kernel.spread:  # it has been called with tuples before
        kernel, args, kwargs = spread(kernel, args, kwargs)
    binder = kernel.binder
    keyed = binder.keyed or _make_keyed(kernel)
    try:
        values, constants, options, parts = keyed(*args, **kwargs)
    except TypeError as error:
        if isinstance(error, ArgumentError):
            other, args, kwargs = spread(kernel, args, kwargs)
            if other is kernel:
                raise
            return launch(other, grid, explicit, args, kwargs)
        values, constants, options, parts = _keyed_with_rare(kernel, args, kwargs, error)
    if type(grid) is tuple and len(grid) == 1 and type(grid[0]) is int and 0 <= grid[0] <= MOST:
        size = (grid[0], 1, 1)
    else:
        if callable(grid):
            others = dict(zip(binder.runtime, values)) | _options(kernel, options)
            grid = called("the grid function", grid, Meta(_constants(kernel, constants), others))
        size = normalise(grid)
    if options.count(None) != len(options):
        _check_options(kernel, options)
    key = (explicit, selection.selection_key(), switches(), parts)
    for candidate in kernel.specialisations.get(key, ()):
        if (candidate.facts is None or candidate.fits(values)) and candidate.fresh():
            candidate.hits += 1
            if candidate.hits >= direct.AFTER and candidate.direct is not None:
                direct.offer(kernel, candidate, key, values, constants, options)
            return candidate.launch(size, values)
    return _find_or_build(kernel, key, explicit, values, constants, options).launch(size, values)


def prepare(kernel: JITFunction, explicit: str | None, args: Any, kwargs: Any) -> LaunchResult:
    """What ``launch`` would run, compiled and not run. Arrays may be stood for (``standins``)."""
    from .standins import stand_in

    kernel, args, kwargs = spread(kernel, args, kwargs)
    binder = kernel.binder
    runtime = frozenset(binder.runtime)
    names = [*binder.signature.parameters]
    # Arguments beyond the last parameter stay as they are, for the error.
    names += [""] * (len(args) - len(names))
    args = [stand_in(a) if n in runtime else a for n, a in zip(names, args)]
    kwargs = {n: stand_in(a) if n in runtime else a for n, a in kwargs.items()}
    keyed = binder.keyed or _make_keyed(kernel)
    try:
        values, constants, options, parts = keyed(*args, **kwargs)
    except TypeError as error:
        if isinstance(error, ArgumentError):
            raise
        values, constants, options, parts = _keyed_with_rare(kernel, args, kwargs, error)
    _check_options(kernel, options)
    key = (explicit, selection.selection_key(), switches(), parts)
    made = _find_or_build(kernel, key, explicit, values, constants, options)
    return LaunchResult(made, False)


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
        rare, others = _split_rare(kernel, kwargs, error)
    try:
        values, constants, options = kernel.binder.bind(*args, **others)
    except TypeError as error:
        raise _binding_error(kernel, error) from None
    return values, constants, options + tuple(map(rare.get, kernel.binder.rare))


def _keyed_with_rare(kernel: JITFunction, args: Any, kwargs: Any, error: TypeError) -> Any:
    """What ``binder.keyed`` gives for a call with rare options; it refused them with ``error``."""
    rare, others = _split_rare(kernel, kwargs, error)
    assert kernel.binder.keyed is not None
    try:
        values, constants, options, parts = kernel.binder.keyed(*args, **others)
    except TypeError as again:
        if isinstance(again, ArgumentError):
            raise
        raise _binding_error(kernel, again) from None
    options += tuple(map(rare.get, kernel.binder.rare))
    return values, constants, options, (parts, *(_option_key(*item) for item in rare.items()))


def _split_rare(
    kernel: JITFunction, kwargs: Mapping[str, Any], error: TypeError
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Rare options of a call, and the other keywords. Raises the error when there are none."""
    rare = {name: kwargs[name] for name in kernel.binder.rare if name in kwargs}
    if not rare:
        raise _binding_error(kernel, error) from None
    return rare, {name: value for name, value in kwargs.items() if name not in rare}


def _option_key(name: str, value: Any) -> Hashable:
    try:
        return (name, type(value), hash(value), value)
    except TypeError:
        return (name, repr(value))


_UNEXPECTED = re.compile(r"unexpected keyword argument '(\w+)'")


def _binding_error(kernel: JITFunction, error: TypeError) -> ArgumentError:
    binder = kernel.binder
    parameters = [*binder.signature.parameters, *binder.options]
    hint = ""
    # Some versions of Python have a suggestion of their own, from fewer names.
    text = str(error).partition(". Did you mean")[0]
    if match := _UNEXPECTED.search(text):
        near = closest(match[1], [*parameters, *binder.rare])
        hint = f" (did you mean {near!r}?)" if near else ""
    return ArgumentError(f"{text}{hint}; parameters and launch options: {', '.join(parameters)}")


def trace_only(kernel: JITFunction, args: Any, kwargs: Any) -> Trace:
    """The expression tree for these arguments."""
    kernel, args, kwargs = spread(kernel, args, kwargs)
    return trace(kernel.source, _request(kernel, args, kwargs))


def compile_only(kernel: JITFunction, args: Any, kwargs: Any) -> Compiled:
    """The stages up to optimised SSA for these arguments."""
    kernel, args, kwargs = spread(kernel, args, kwargs)
    return compile_ssa(kernel.source, _request(kernel, args, kwargs))


def describe(
    kernel: JITFunction, args: Any, kwargs: Mapping[str, Any], grid: Any = None
) -> tuple[Request, LaunchSpec]:
    """What to compile, and for which launch: arguments are real ones or descriptions of some."""
    values, constants, options = bind(kernel, args, dict(kwargs))
    _check_options(kernel, options)
    given, consts = arguments_of(kernel, values, constants)
    specs = tuple(described(name, value) for name, value in given.items())
    if callable(grid):
        grid = called("the grid function", grid, Meta(consts, given))
    size = None if grid is None else normalise(grid)
    types = {s.name: s.type for s in specs}
    request = Request(types, consts, _level(kernel), _debug(kernel, options))  # type: ignore[arg-type]
    return request, LaunchSpec(specs, consts, _launch_options(kernel, options, consts), size)


def specialise(kernel: JITFunction, arguments: Mapping[str, Any]) -> tuple[SSAFunction, LaunchSpec]:
    """Optimised SSA and launch specification for described arguments."""
    kernel, args, arguments = spread(kernel, (), arguments)
    request, spec = describe(kernel, args, arguments)
    return compile_ssa(kernel.source, request).function, spec


def lower_for(kernel: JITFunction, backend: str, arguments: Mapping[str, Any]) -> Source:
    """What the named backend lowers the kernel to for described arguments."""
    function, spec = specialise(kernel, arguments)
    chosen = selection.choose(
        function, spec, explicit=backend, kernel=kernel.__name__, emit=True
    ).backend
    return lowered(chosen, function, spec)[1]


def _request(kernel: JITFunction, args: Any, kwargs: Any) -> Request:
    values, constants, options = bind(kernel, args, kwargs)
    given, consts = arguments_of(kernel, values, constants)
    types, _ = _types(given)
    return Request(types, consts, _level(kernel), _debug(kernel, options))


def _switch_entries() -> list[tuple[Mapping[Any, Any], Any]]:
    """Variables that are read at each launch, as entries of the mapping below ``os.environ``, whose
    own ``get`` would encode the names every time."""
    names = ("MYTRITON_OPT_LEVEL", "MYTRITON_LOG", "MYTRITON_DUMP")
    try:
        data, encode = os.environ._data, os.environ.encodekey  # type: ignore[attr-defined]
        data.get(encode(names[0]))
    except AttributeError:
        return [(os.environ, name) for name in names]
    return [(data, encode(name)) for name in names]


#: Where they are read. Code that was made under others is not used: it would be of another level,
#: would log nothing, or would not be in the dump.
SWITCHES = _switch_entries()
(_HELD, _LEVEL), (_, _LOG), (_, _DUMP) = SWITCHES


def switches() -> Hashable:
    """Their values, as they are kept there."""
    return _HELD.get(_LEVEL), _HELD.get(_LOG), _HELD.get(_DUMP)


def _level(kernel: JITFunction) -> int:
    if kernel.opt_level is not None:
        return kernel.opt_level
    text = os.environ.get("MYTRITON_OPT_LEVEL", "")
    if text not in ("", "0", "1"):
        raise VariableError(f"MYTRITON_OPT_LEVEL must be 0 or 1, got {text!r}")
    return int(text) if text else DEFAULT_OPT_LEVEL


def _debug(kernel: JITFunction, options: Values) -> bool:
    """Whether ``tl.device_assert`` is checked: ``jit(debug=True)``, or ``debug=True`` at a launch."""
    return bool(_options(kernel, options).get("debug", kernel.debug))


def _constants(kernel: JITFunction, values: Values) -> dict[str, Any]:
    return {name: unwrap(value) for name, value in zip(kernel.binder.constexprs, values)}


def _options(kernel: JITFunction, values: Values) -> dict[str, Any]:
    """The options that were given. Rare ones follow the others in ``values``, if there are any."""
    names = (*kernel.binder.options, *kernel.binder.rare)
    return {name: v for name, v in zip(names, values) if v is not None}


def _launch_options(
    kernel: JITFunction, values: Values, constants: Mapping[str, Any]
) -> dict[str, Any]:
    """The options a backend gets: a compile-time parameter called like one counts as well."""
    named = {n: constants[n] for n in LAUNCH_OPTIONS if type(constants.get(n)) is int}
    return {n: v for n, v in named.items() if v > 0} | _options(kernel, values)


def _check_options(kernel: JITFunction, values: Values) -> None:
    for name, value in zip(kernel.binder.options, values):
        # The number of stages of a loop that is not pipelined may be written as 0.
        low = 0 if name == "num_stages" else 1
        if value is not None and (type(value) is not int or value < low):
            raise ArgumentError(f"launch option {name} must be a positive int, got {value!r}")


def arguments_of(
    kernel: JITFunction, values: Values, constants: Values
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Runtime arguments and compile-time values by name. ``None`` is known at compile time, whatever
    the parameter is."""
    given = dict(zip(kernel.binder.runtime, values))
    absent = {name: None for name, value in given.items() if value is None}
    if absent:
        given = {name: value for name, value in given.items() if value is not None}
    return given, absent | _constants(kernel, constants)


def _types(given: Mapping[str, Any]) -> tuple[dict[str, Any], list[ArgView | None]]:
    found: dict[str, Any] = {}
    views: list[ArgView | None] = []
    for name, value in given.items():
        found[name], view = argument_type(value, name)
        views.append(view)
    return found, views


def _argument_key(name: str, value: Any) -> Hashable:
    if value is None:
        return None
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
    given, consts = arguments_of(kernel, values, constants)
    types, views = _types(given)
    names, values = tuple(given), tuple(given.values())
    started = time.perf_counter()
    compiled = compile_ssa(
        kernel.source, Request(types, consts, _level(kernel), _debug(kernel, options))
    )
    check_readonly(compiled, names, views)
    _warn_once(kernel, "strides", lambda: warn_strides(kernel.__name__, names, views, values))
    arguments = tuple(spec_of(n, types[n], v, a) for n, v, a in zip(names, views, values))
    spec = LaunchSpec(arguments, consts, _launch_options(kernel, options, consts))
    made = _on_backend(kernel, compiled, explicit, spec)
    data = {"source": made.source, "seconds": time.perf_counter() - started}
    emit_event(Event("compile", kernel.__name__, made.backend.name, data))
    if folder := os.environ.get("MYTRITON_DUMP"):
        from ..inspection.dump import dump

        dump(made, folder)
    return made


def _on_backend(
    kernel: JITFunction, compiled: Compiled, explicit: str | None, spec: LaunchSpec
) -> Specialisation:
    """Select a backend and compile for it. A backend that breaks its claim is left out, with a
    warning, and the next is tried, unless it was the only one named."""
    broken: list[str] = []
    names = [argument.name for argument in spec.arguments]
    named, spec, who = selection.checked(
        compiled.function, spec, explicit, kernel.backend, kernel.__name__
    )
    while True:
        with sources.naming(who):
            choice = selection.choose(
                compiled.function, spec, explicit=named, decorator=kernel.backend,
                kernel=kernel.__name__, exclude=broken,
            )  # fmt: skip
        backend = choice.backend
        try:
            bits = wanted(backend.info, names, kernel.unspecialised, kernel.unaligned)
            spec = asked_for(spec, bits)
            function, source = lowered(backend, compiled.function, spec)
            artifact = backend.compile(source, spec) if choice.launches else None
        except ClaimBrokenError as error:
            if not choice.automatic:
                raise
            warnings.warn(str(error), ClaimBrokenWarning, stacklevel=user_level())
            broken.append(backend.name)
            continue
        return Specialisation(
            compiled, function, spec, backend, source, artifact, kernel, explicit, bits
        )


def lowered(backend: Any, function: SSAFunction, spec: LaunchSpec) -> tuple[SSAFunction, Source]:
    """The function after the backend's own passes, and what it lowers that to."""
    for each in backend.passes(function, spec):
        function = run_pass(each, function)
    return function, backend.lower(function, spec)


def _warn_once(kernel: JITFunction, what: str, warn: Callable[[], Any]) -> None:
    if what not in kernel.warned and warn() is not False:
        kernel.warned.add(what)
