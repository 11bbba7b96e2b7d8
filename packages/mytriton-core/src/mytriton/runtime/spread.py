"""Tuples as runtime arguments: ``kernel[grid]((x, y), out, n)``.

A kernel that gets a tuple is compiled as one with a parameter for each element (``xs_0``, ``xs_1``, ...),
whose parameter ``xs`` is the tuple of those. Nested and named tuples keep their form.
"""

from __future__ import annotations

import inspect
import types
from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from ..frontend.source import Gathered
from ..locks import ForkLock
from .binder import make_binder

if TYPE_CHECKING:
    from .jit import JITFunction


def spread(
    kernel: JITFunction, args: Any, kwargs: Mapping[str, Any]
) -> tuple[JITFunction, Any, Mapping[str, Any]]:
    """The kernel, and its arguments, with an argument for each element of tuples given for runtime
    parameters; what was passed, where there are none."""
    runtime = kernel.binder.runtime
    names = [*kernel.binder.signature.parameters]
    given = dict(zip(names, args)) | dict(kwargs)
    if len(args) > len(names) or not any(isinstance(given.get(n), tuple) for n in runtime):
        return kernel, args, kwargs
    if len(given) < len(args) + len(kwargs):  # an argument given twice: Python's error
        return kernel, args, kwargs
    code = kernel.source.function.__code__
    taken = {*names, *kernel.source.locals(), *code.co_names, *code.co_freevars}
    forms: dict[str, Gathered] = {}
    flat: dict[str, Any] = {}
    for name, value in given.items():
        if name in runtime and isinstance(value, tuple):
            forms[name] = _gathered(name, value, taken, flat)
        else:
            flat[name] = value
    key = tuple(forms.items())
    with kernel.lock:
        found = kernel.spread.get(key)
        if found is None:
            found = kernel.spread[key] = _made(kernel, forms)
    return found, (), flat


def _gathered(name: str, value: Any, taken: set[str], flat: dict[str, Any]) -> Gathered:
    """How a tuple is made of elements, which go to ``flat`` under names of their own."""
    parts: list[Gathered | str] = []
    for k, element in enumerate(value):
        own = f"{name}_{k}"
        if isinstance(element, tuple):
            parts.append(_gathered(own, element, taken, flat))
            continue
        while own in taken:
            own += "_"
        taken.add(own)
        flat[own] = element
        parts.append(own)
    return Gathered(type(value), tuple(parts))


def _made(kernel: JITFunction, forms: Mapping[str, Gathered]) -> JITFunction:
    """The kernel with a parameter for each element."""
    function = kernel.source.function
    stub = types.FunctionType(
        function.__code__, function.__globals__, function.__name__, None, function.__closure__
    )
    elements = {name: _names(form) for name, form in forms.items()}
    parameters = [
        parameter.replace(name=part, kind=inspect.Parameter.KEYWORD_ONLY)
        for name, parameter in kernel.binder.signature.parameters.items()
        for part in elements.get(name, [name])
    ]
    stub.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    made = object.__new__(type(kernel))
    made.__dict__.update(kernel.__dict__)
    made.binder = make_binder(stub)
    made.source = replace(kernel.source, gathered=dict(forms))
    made.specialisations, made.direct, made.spread, made.lock = {}, {}, {}, ForkLock()
    made.unspecialised, made.unaligned = (
        frozenset(part for name in chosen for part in elements.get(name, [name]))
        for chosen in (kernel.unspecialised, kernel.unaligned)
    )
    return made


def _names(form: Gathered | str) -> list[str]:
    if isinstance(form, str):
        return [form]
    return [name for part in form.parts for name in _names(part)]
