"""What an autotuner refuses, by the name of what was written: lists, names, pruning functions."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from ..errors import ArgumentError
from ..plugins.variables import closest
from .binder import LAUNCH_OPTIONS, RARE_OPTIONS
from .errors import TunedParameterError
from .heuristic import Heuristics
from .interface import check_runs
from .tuning_config import Config

if TYPE_CHECKING:
    from .autotuner import Autotuner

_PRUNING = ("early_config_prune", "perf_model", "top_k")


def _error(kernel: str, text: str) -> ArgumentError:
    return ArgumentError(f"autotune of kernel {kernel!r}: {text}")


def listed(kernel: str, what: str, given: Any) -> list[Any]:
    """An argument of ``autotune`` that is a list of configurations or of names."""
    kind: type = str if what in ("key", "reset_to_zero", "restore_value") else Config
    items = None if isinstance(given, (str, Config, Mapping)) else list(given or ())
    wrong = [given] if items is None else [item for item in items if not isinstance(item, kind)]
    if wrong:
        wanted = "triton.Config" if kind is Config else "names of parameters"
        hint = "; write triton.Config({...})" if kind is Config else ""
        raise _error(kernel, f"{what} is a list of {wanted}, got {wrong[0]!r}{hint}")
    return items or []


def check_names(tuner: Autotuner) -> None:
    """``key``, ``reset_to_zero`` and ``restore_value`` name parameters; the last two, arrays."""
    constants = getattr(getattr(tuner.base_fn, "binder", None), "constexprs", ())
    for what in ("keys", "reset_to_zero", "restore_value"):
        named, shown = getattr(tuner, what), what.removesuffix("s")
        unknown = [name for name in named if name not in tuner.arg_names]
        if unknown:
            raise _error(
                tuner.__name__,
                f"{shown} names {', '.join(map(repr, unknown))}, which is no parameter"
                f"{_meant(unknown[0], tuner.arg_names)}; parameters: {', '.join(tuner.arg_names)}",
            )
        if what != "keys" and (fixed := [name for name in named if name in constants]):
            raise _error(
                tuner.__name__,
                f"{shown} names {', '.join(map(repr, fixed))}, which is a tl.constexpr; name arrays "
                "that the kernel writes to",
            )


def check_array(tuner: Autotuner, what: str, name: str, value: Any) -> None:
    """``reset_to_zero`` and ``restore_value`` are of arrays."""
    if not hasattr(value, "__setitem__") or not hasattr(value, "dtype"):
        raise _error(
            tuner.__name__,
            f"{what} names {name!r}, which is {value!r} in this launch; name arrays that the kernel "
            "writes to",
        )


def pruning(kernel: str, given: Any) -> Mapping[str, Any]:
    """``prune_configs_by`` of ``autotune``."""
    if not isinstance(given, Mapping):
        raise _error(kernel, f"prune_configs_by is a dict, got {given!r}")
    for name, value in given.items():
        if name not in _PRUNING:
            raise _error(
                kernel,
                f"prune_configs_by has {name!r}, which is none of {', '.join(_PRUNING)}"
                f"{_meant(str(name), _PRUNING)}",
            )
        if name != "top_k" and value is not None and not callable(value):
            raise _error(kernel, f"{name} of prune_configs_by is a function, got {value!r}")
    return given


def check_configs(tuner: Autotuner) -> None:
    """Configurations set parameters and launch options, as far as that is known here. Looked at when
    a kernel is launched: a module may well have kernels with options of other compilers."""
    check_runs(tuner.fn, "autotune", tuner.__name__)
    inner = tuner.fn
    while isinstance(inner, Heuristics):
        inner = inner.fn
    if not getattr(inner, "__mytriton_kernel__", False):
        return  # somebody's wrapper, which may take others
    known = [*tuner.arg_names, *LAUNCH_OPTIONS, *RARE_OPTIONS]
    for config in tuner.configs:
        for name in config.kwargs:
            if name not in known:
                raise _error(
                    tuner.__name__,
                    f"{config!r} sets {name!r}, which is no parameter and no launch option"
                    f"{_meant(name, known)}; parameters: {', '.join(tuner.arg_names)}",
                )


def check_conflicts(
    tuner: Autotuner, tuned: Iterable[str], named: Mapping[str, Any], kwargs: Mapping[str, Any]
) -> None:
    """A launch leaves out what configurations set. Raises ``TunedParameterError``."""
    conflicts = [name for name in tuned if name in kwargs or name in named]
    if conflicts:
        raise TunedParameterError(
            f"{', '.join(map(repr, conflicts))} of kernel {tuner.__name__!r} is set by "
            "@triton.autotune; leave it out of the launch, or out of the configurations"
        )


def _meant(name: str, known: Iterable[str]) -> str:
    near = closest(name, known)
    return f" (did you mean {near!r}?)" if near else ""
