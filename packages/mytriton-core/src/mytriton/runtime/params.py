"""Parameters of a kernel as programs around it look at them, and what is not specialised."""

from __future__ import annotations

import inspect
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from ..errors import ArgumentError


@dataclass(frozen=True)
class KernelParam:
    """One parameter of a kernel."""

    num: int
    name: str
    #: As it is written; ``""`` without one.
    annotation: str
    is_constexpr: bool
    #: ``inspect.Parameter.empty`` without one.
    default: Any
    do_not_specialize: bool
    do_not_specialize_on_alignment: bool

    @property
    def has_default(self) -> bool:
        return self.default is not inspect.Parameter.empty


def kernel_params(
    signature: inspect.Signature,
    constexprs: Iterable[str],
    plain: frozenset[str],
    unaligned: frozenset[str],
) -> list[KernelParam]:
    """The parameters in order. ``plain``: not specialised at all, ``unaligned``: on no alignment."""
    constants = frozenset(constexprs)
    found = []
    for num, (name, parameter) in enumerate(signature.parameters.items()):
        annotation = parameter.annotation
        if annotation is parameter.empty:
            annotation = ""
        elif not isinstance(annotation, str):
            annotation = getattr(annotation, "__name__", None) or str(annotation)
        found.append(
            KernelParam(
                num, name, annotation, name in constants, parameter.default, name in plain,
                name in plain or name in unaligned,
            )
        )  # fmt: skip
    return found


def parameter_names(
    given: Iterable[int | str] | None, names: list[str], what: str, kernel: str
) -> frozenset[str]:
    """Names of parameters given by name or position. Raises ``ArgumentError`` for what is none."""
    if isinstance(given, (str, int)):
        given = (given,)
    found = set()
    for item in given or ():
        if isinstance(item, int) and -len(names) <= item < len(names):
            item = names[item]
        if item not in names:
            raise ArgumentError(
                f"{what} of kernel {kernel!r}: {item!r} is no parameter; parameters: {', '.join(names)}"
            )
        found.add(str(item))
    return frozenset(found)
