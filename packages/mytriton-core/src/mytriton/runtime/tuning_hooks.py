"""What an autotuner does to arrays round a timed run, and which configurations it looks at."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ..errors import ArgumentError
from ..tracebacks import called
from .errors import AutotuneError
from .tuning_checks import check_array, listed
from .tuning_config import Config

if TYPE_CHECKING:
    from .autotuner import Autotuner


def default_hooks(tuner: Autotuner) -> tuple[Callable[..., Any], Callable[..., Any]]:
    """The hooks for ``reset_to_zero`` and ``restore_value``."""

    def before(args: Mapping[str, Any], reset_only: bool = False) -> None:
        for name in tuner.reset_to_zero:
            if args.get(name) is not None:
                check_array(tuner, "reset_to_zero", name, args[name])
                _clear(args[name])
        if not reset_only:
            present = [n for n in tuner.restore_value if args.get(n) is not None]
            for name in present:
                check_array(tuner, "restore_value", name, args[name])
            tuner.restore_copies = {name: _copy(args[name]) for name in present}

    def after(args: Mapping[str, Any], exception: BaseException | None = None) -> None:
        for name, saved in tuner.restore_copies.items():
            _assign(args[name], saved)
        tuner.restore_copies = {}

    return before, after


def _clear(array: Any) -> None:
    if hasattr(array, "zero_"):
        array.detach().zero_()
    else:
        array[...] = 0


def _copy(array: Any) -> Any:
    return array.detach().clone() if hasattr(array, "clone") else array.copy()


def _assign(array: Any, values: Any) -> None:
    if hasattr(array, "copy_"):
        array.detach().copy_(values)
    else:
        array[...] = values


def prune(
    tuner: Autotuner, configs: Sequence[Config], named: dict[str, Any], kwargs: Mapping[str, Any]
) -> list[Config]:
    """The configurations that ``prune_configs_by`` leaves. Raises ``AutotuneError`` for none,
    ``ArgumentError`` for a ``top_k`` that is neither a count nor a share."""
    left = list(configs)
    if tuner.early_config_prune is not None:
        found = called("early_config_prune", tuner.early_config_prune, left, named, **kwargs)
        left = listed(tuner.__name__, "what early_config_prune gives", found)
        if not left:
            raise AutotuneError(
                f"early_config_prune of kernel {tuner.__name__!r} left no configuration; return one at least"
            )
    if tuner.perf_model is None:
        return left
    count = tuner.configs_top_k
    if isinstance(count, float) and count <= 1.0:
        count = max(1, int(len(left) * count))
    elif not isinstance(count, int) or isinstance(count, bool):
        raise ArgumentError(f"top_k is a count or a share up to 1.0, got {count!r}")
    if len(left) <= count:
        return left
    estimates = [
        called("perf_model", tuner.perf_model, **named, **kwargs, **c.all_kwargs()) for c in left
    ]
    order = sorted(range(len(left)), key=estimates.__getitem__)
    return [left[k] for k in order[: max(1, count)]]
