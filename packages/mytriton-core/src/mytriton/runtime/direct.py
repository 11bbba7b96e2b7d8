"""Launches that skip the lookup: see ``plugins.direct``. Which variants get one, and what must hold."""

from __future__ import annotations

import functools
from collections.abc import Callable
from inspect import Parameter
from typing import TYPE_CHECKING, Any

import numpy as np

from ..ir.types import I32, I64, ScalarType
from ..plugins import sources
from ..plugins.direct import ABSENT, DirectLaunch, DirectParameter
from ..tracebacks import called, for_user, users
from .arguments import FLAGS
from .grid import BoundMeta, normalise
from .specialisation import UNKNOWN, Specialisation

if TYPE_CHECKING:
    from .jit import JITFunction

Values = tuple[Any, ...]
#: Backend named by ``with_backend``, what else selects one, switches, arguments.
Key = tuple[Any, Any, Any, Any]

#: Launches of a variant that are looked up before it gets one that is not: most kernels of a program
#: are launched once or twice.
AFTER = 3
#: Kinds of constants that cannot change in place.
_SETTLED = frozenset({int, float, str, bool, type(None), ScalarType})


def offer(
    kernel: JITFunction, variant: Specialisation, key: Key, values: Values, constants: Values,
    options: Values,
) -> None:  # fmt: skip
    """Let the kernel's next launches go to ``variant`` at once, if it can do that. It has just been
    found for these values, under ``key``."""
    if variant.direct is UNKNOWN:
        variant.direct = None  # asked once, whatever comes of it
        plan = _plan(kernel, variant, key, values, constants, options)
        if plan is not None:
            variant.direct = variant.artifact.direct(plan)
    if variant.direct is not None:
        kernel.direct[key[0]] = _launchers(kernel, key[0], variant.direct)


def _launchers(
    kernel: JITFunction, explicit: str | None, launch: Callable[..., Any]
) -> Callable[[Any], Callable[..., Any]]:
    """What makes ``kernel[grid]`` of a grid. It is a ``partial``, since nothing written in Python
    calls as fast, of a class of its own, which knows how another process makes one."""
    from .jit import Launcher

    class DirectLauncher(functools.partial[Any]):
        __slots__ = ()

        def __reduce__(self) -> Any:
            return Launcher, (kernel, self.args[0], explicit)

        def __repr__(self) -> str:
            return repr(Launcher(kernel, self.args[0], explicit))

    return functools.partial(DirectLauncher, launch)


def _plan(
    kernel: JITFunction, variant: Specialisation, key: Key, values: Values, constants: Values,
    options: Values,
) -> DirectLaunch | None:  # fmt: skip
    from .launch import SWITCHES, switches

    binder = kernel.binder
    explicit, chosen, switched, _ = key
    selection = sources.watched()
    dependencies, ones = variant.settled(), variant.ones()
    if selection is None or dependencies is None or ones is None:
        return None
    if len(options) != len(binder.options):
        return None  # rare ones
    names = (*binder.runtime, *binder.constexprs, *binder.options)
    given = dict(zip(names, (*values, *constants, *options)))
    parameters = []
    for parameter in binder.signature.parameters.values():
        name = parameter.name
        value = given[name]
        constant = name in binder.constexprs
        kind = _constant(value) if constant else _runtime(value, ones.get(name))
        if kind is None:
            return None
        default = ABSENT if parameter.default is parameter.empty else parameter.default
        parameters.append(
            DirectParameter(
                name, **kind, default=default,
                positional=parameter.kind is not Parameter.KEYWORD_ONLY,
                keyword=parameter.kind is not Parameter.POSITIONAL_ONLY,
            )
        )  # fmt: skip
    for name in binder.options:
        kind = _constant(given[name])
        if kind is None:
            return None
        parameters.append(DirectParameter(name, **kind, default=None, positional=False))
    contexts, watched = selection
    watched += [(held, name, held.get(name, ABSENT)) for held, name in SWITCHES]
    watched += dependencies
    if (sources.selection_key(), switches()) != (chosen, switched):
        return None  # another thread has changed something since
    return DirectLaunch(
        tuple(parameters), tuple(watched), tuple(contexts), _slow(kernel, explicit),
        _resolve(kernel, constants, options), variant.result,
    )  # fmt: skip


def _runtime(value: Any, one: bool | None) -> dict[str, Any] | None:
    """What an argument at run time must be to be like ``value``; ``one``: whether it must be 1."""
    if value is None:
        return _constant(value)  # compiled for, not passed
    if type(value) is np.ndarray:
        flags = value.flags.num & FLAGS
        return {"kind": "array", "dtype": value.dtype, "flags": flags, "mask": FLAGS}
    if type(value) is int:
        low, high = I32.int_range()
        if low <= value <= high:
            return {"kind": "i32", "one": one}
        low, high = I64.int_range()
        return {"kind": "i64"} if low <= value <= high else None
    found = {float: "f32", bool: "bool"}.get(type(value))
    return {"kind": found} if found else None


def _constant(value: Any) -> dict[str, Any] | None:
    return {"kind": "constant", "value": value} if type(value) in _SETTLED else None


def _slow(kernel: JITFunction, explicit: str | None) -> Callable[..., Any]:
    from . import jit

    def slow(grid: Any, /, *args: Any, **kwargs: Any) -> Any:
        try:
            return jit._launch(kernel, grid, explicit, args, kwargs)
        except Exception as error:
            if not users(error):
                raise
            raise for_user(error) from error.__cause__

    return slow


def _resolve(kernel: JITFunction, constants: Values, options: Values) -> Callable[..., Any]:
    from .launch import _constants, _options

    binder = kernel.binder
    fixed, named = _constants(kernel, constants), _options(kernel, options)
    names = (*binder.signature.parameters, *binder.options)
    arguments = [(names.index(name), name) for name in binder.runtime]

    def resolve(grid: Any, /, *values: Any) -> tuple[int, ...]:
        try:
            if callable(grid):
                grid = called("the grid function", grid, BoundMeta(fixed, arguments, values, named))
            # A tuple is looked at again anyway.
            return grid if type(grid) is tuple else normalise(grid)
        except Exception as error:
            if not users(error):
                raise
            raise for_user(error) from error.__cause__

    return resolve
