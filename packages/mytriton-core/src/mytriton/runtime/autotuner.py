"""``triton.autotune``: time a kernel's configurations on the arguments of a launch, keep the best."""

from __future__ import annotations

import functools
import math
import time
from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import Any

from ..errors import ArgumentError, GridError, MytritonError, OutOfBoundsError, SanitizerError
from ..locks import ForkLock
from ..plugins import sources
from ..tracebacks import called, for_user
from .errors import (
    AutotuneError,
    AutotunerError,
    OutOfResources,
    PTXASError,
    TunedParameterError,
)
from .heuristic import Heuristics, heuristics
from .interface import EXPLICIT, KernelInterface, jitted, names_of
from .tuning_checks import check_configs, check_conflicts, check_names, listed, pruning
from .tuning_config import Config
from .tuning_hooks import default_hooks, prune

__all__ = [
    "AutotuneError", "Autotuner", "AutotunerError", "Config", "Heuristics", "OutOfResources",
    "PTXASError", "TunedParameterError", "autotune", "heuristics",
]  # fmt: skip

#: One tuning at a time: two at once would time each other.
_TUNING = ForkLock()
_QUANTILES = (0.5, 0.2, 0.8)
#: What is the caller's mistake whatever the configuration.
_CALLERS = (ArgumentError, GridError, OutOfBoundsError, SanitizerError)

#: What a configuration runs that this backend does not launch on these arguments.
_ONLY_COMPILED = "only compiled"

Timings = dict[Config, list[float]]


#: ``str`` of a dtype; NumPy takes its time over it.
_text = functools.lru_cache(256)(str)


class Autotuner(KernelInterface):
    """A kernel that chooses among configurations. Made by ``autotune``.

    ``cache`` maps tuning keys to the configurations chosen for the backends in force, ``best_config``
    is the one of the last launch, ``configs_timings`` what the last tuning measured.
    """

    def __init__(
        self,
        fn: Any,
        arg_names: Sequence[str],
        configs: Sequence[Config],
        key: Sequence[str],
        reset_to_zero: Sequence[str] | None,
        restore_value: Sequence[str] | None,
        pre_hook: Callable[..., Any] | None = None,
        post_hook: Callable[..., Any] | None = None,
        prune_configs_by: Mapping[str, Any] | None = None,
        warmup: float | None = None,
        rep: float | None = None,
        use_cuda_graph: bool = False,
        do_bench: Callable[..., Any] | None = None,
        cache_results: bool | None = None,
    ) -> None:
        self.fn = fn
        self.arg_names = list(arg_names)
        self.base_fn = jitted(fn)
        self._named_after(self.base_fn)
        name = self.__name__
        self.configs = listed(name, "configs", configs) or [Config({})]
        self.keys = listed(name, "key", key)
        self.reset_to_zero = listed(name, "reset_to_zero", reset_to_zero)
        self.restore_value = listed(name, "restore_value", restore_value)
        check_names(self)
        #: Whether the names in the configurations have been looked at.
        self._checked = False
        #: Copies of ``restore_value`` during a timed run.
        self.restore_copies: dict[str, Any] = {}
        self.user_defined_pre_hook = pre_hook is not None
        self.user_defined_post_hook = post_hook is not None
        before, after = default_hooks(self)
        self.pre_hook = pre_hook or before
        self.post_hook = post_hook or after
        by = pruning(name, prune_configs_by or {})
        self.early_config_prune = by.get("early_config_prune")
        self.perf_model = by.get("perf_model")
        self.configs_top_k = by.get("top_k", 1.0)
        self.num_warmups, self.num_reps = warmup, rep
        self.use_cuda_graph = use_cuda_graph
        self._do_bench = do_bench
        self.cache_results = cache_results
        self._chosen: dict[Hashable, dict[tuple[Any, ...], Config]] = {}
        #: Kinds of device the arrays of the last launch were on; ``None`` before the first.
        self._kinds: frozenset[str] | None = None
        self.best_config: Config | None = None
        self.configs_timings: Timings | None = None
        self.bench_time: float | None = None
        #: The positional arguments of the last launch by name, for hooks that look.
        self.nargs: dict[str, Any] | None = None

    @property
    def cache(self) -> dict[tuple[Any, ...], Config]:
        """Configurations by tuning key, for the backends in force and the kind of device that the
        arrays of the last launch were on."""
        if self._kinds is None:
            from .driver import HOST, driver

            self._kinds = frozenset({driver.active.get_current_target().backend} - {HOST})
        return self._chosen.setdefault((EXPLICIT.get(), sources.selection_key(), self._kinds), {})

    @property
    def do_bench(self) -> Callable[..., Any]:
        """What times a configuration: ``do_bench(call, quantiles=...)`` in milliseconds."""
        if self._do_bench is not None:
            return self._do_bench
        from .. import testing
        from .driver import HOST, driver

        times = {"warmup": self.num_warmups, "rep": self.num_reps}
        given: dict[str, Any] = {n: t for n, t in times.items() if t is not None}
        if self.use_cuda_graph and driver.active.get_current_target().backend != HOST:
            given.pop("warmup", None)
            return functools.partial(testing.do_bench_cudagraph, **given)
        return functools.partial(driver.active.get_benchmarker(), **given)

    # ------------------------------------------------------------------ launching

    def run(self, /, *args: Any, **kwargs: Any) -> Any:
        """Launch with the configuration for these arguments, which is found first if need be."""
        if kwargs.get("warmup"):
            given = {n: v for n, v in kwargs.items() if n not in ("warmup", "grid")}
            return self.warmup(*args, grid=kwargs.get("grid"), **given)
        if not self._checked:
            check_configs(self)
            self._checked = True
        named = self.nargs = dict(zip(self.arg_names, args))
        if len(self.configs) > 1:
            key = self._key(named, kwargs)
            cache = self.cache
            config = cache.get(key)
            if config is None:
                config = self._tuned(cache, key, args, kwargs, named)
        else:
            config = self.configs[0]
        self.best_config = config
        tuned = config.all_kwargs()
        check_conflicts(self, tuned, named, kwargs)
        if config.pre_hook is not None:
            called("pre_hook of a configuration", config.pre_hook, {**named, **kwargs, **tuned})
        return self.fn.run(*args, **kwargs, **tuned)

    def warmup(self, /, *args: Any, grid: Any = None, **kwargs: Any) -> list[Any]:
        """Compile every configuration that pruning leaves; the compiled kernels, in their order."""
        check_configs(self)
        named = dict(zip(self.arg_names, args))
        configs = prune(self, self.configs, named, kwargs)
        return [self.fn.warmup(*args, grid=grid, **kwargs, **c.all_kwargs()) for c in configs]

    def _key(self, named: Mapping[str, Any], kwargs: Mapping[str, Any]) -> tuple[Any, ...]:
        """Values of the arguments in ``key``, then the dtypes of all arrays."""
        given = {**named, **kwargs}
        key = [given[name] for name in self.keys if name in given]
        kinds = set()
        for name, value in given.items():
            dtype = getattr(value, "dtype", None)
            if dtype is not None and name in self.arg_names:
                key.append(_text(dtype))
                device = getattr(value, "device", "cpu")
                if device != "cpu":
                    kinds.add(str(getattr(device, "type", type(device).__module__)))
        try:
            hash(found := tuple(key))
        except TypeError as error:
            raise ArgumentError(
                f"autotune of kernel {self.__name__!r}: the arguments in key must be hashable: {error}"
            ) from None
        self._kinds = frozenset(kinds - {"cpu"})
        return found

    # ------------------------------------------------------------------ tuning

    def _tuned(
        self, cache: dict[tuple[Any, ...], Config], key: tuple[Any, ...], args: Sequence[Any],
        kwargs: dict[str, Any], named: dict[str, Any],
    ) -> Config:  # fmt: skip
        """Find the configuration for a key, from the disk or by timing."""
        with _TUNING:
            if (config := cache.get(key)) is not None:  # another thread was faster
                return config
            configs = prune(self, self.configs, named, kwargs)
            for config in configs:
                check_conflicts(self, config.all_kwargs(), named, kwargs)
            if len(configs) == 1:
                return cache.setdefault(key, configs[0])
            entry = self._entry(key, named, kwargs, configs)
            timings = self._loaded(entry, configs)
            if timings is not None:
                best = min(configs, key=timings.__getitem__)
                self._report(key, best, timings, {}, None)
            else:
                best, timings = self._compared(entry, key, configs, args, kwargs, named)
            self.configs_timings = timings
            return cache.setdefault(key, best)

    def _compared(
        self, entry: str, key: tuple[Any, ...], configs: Sequence[Config], args: Sequence[Any],
        kwargs: dict[str, Any], named: dict[str, Any],
    ) -> tuple[Config, Timings]:  # fmt: skip
        started = time.perf_counter()
        timings, failed = self._measure(configs, args, kwargs, named)
        self.bench_time = time.perf_counter() - started
        if len(failed) == len(configs):
            raise self._nothing_left(failed)
        best = min((c for c in configs if c not in failed), key=timings.__getitem__)
        if entry:
            from . import tuning_cache

            tuning_cache.save(entry, self.__name__, timings)
        # The launch that follows starts from what a timed run would have started from.
        self.pre_hook({**named, **kwargs, **best.all_kwargs()}, reset_only=True)
        self._report(key, best, timings, failed, self.bench_time)
        return best, timings

    def _measure(
        self, configs: Sequence[Config], args: Sequence[Any], kwargs: dict[str, Any],
        named: dict[str, Any],
    ) -> tuple[Timings, dict[Config, MytritonError]]:  # fmt: skip
        timings: Timings = {config: [math.inf] * len(_QUANTILES) for config in configs}
        failed: dict[Config, MytritonError] = {}
        same: dict[Hashable, list[float]] = {}
        for config in configs:
            try:
                program = self._program(config, args, kwargs)
                if program == _ONLY_COMPILED:
                    continue
                if program is None or program not in same:
                    same[program] = self._bench(*args, config=config, **kwargs)
                # Options that change nothing here: the code was timed before.
                timings[config] = same[program]
            except MytritonError as error:
                if isinstance(error, _CALLERS):
                    raise
                failed[config] = error
        return timings, failed

    def _program(self, config: Config, args: Sequence[Any], kwargs: dict[str, Any]) -> Hashable:
        """What a configuration runs, where that can be told without running it."""
        inner = self.fn
        while isinstance(inner, Heuristics):
            inner = inner.fn
        if not getattr(inner, "__mytriton_kernel__", False):
            return None
        made = self.fn.run(*args, **{**kwargs, "warmup": True}, **config.all_kwargs())
        if made.artifact is None:
            return _ONLY_COMPILED
        if config.pre_hook is not None:
            return None
        return (made.backend, made.src, repr(sorted(config.kwargs.items())))

    def _bench(self, *args: Any, config: Config, **kwargs: Any) -> list[float]:
        """Quantiles of the time of a configuration, in milliseconds."""
        tuned = config.all_kwargs()
        every = {**dict(zip(self.arg_names, args)), **kwargs, **tuned}

        def call() -> None:
            if config.pre_hook is not None:
                called("pre_hook of a configuration", config.pre_hook, every)
            called("pre_hook", self.pre_hook, every)
            try:
                self.fn.run(*args, **kwargs, **tuned)
            except Exception as error:
                called("post_hook", self.post_hook, every, exception=error)
                raise
            called("post_hook", self.post_hook, every, exception=None)

        found = called("do_bench", self.do_bench, call, quantiles=_QUANTILES)
        times = list(found) if isinstance(found, (list, tuple)) else [found]
        try:
            return [float(t) for t in times]
        except (TypeError, ValueError):
            raise ArgumentError(
                f"do_bench of kernel {self.__name__!r} gives milliseconds, one number for each quantile, "
                f"got {found!r}"
            ) from None

    def _nothing_left(self, failed: Mapping[Config, MytritonError]) -> MytritonError:
        texts = {str(error): error for error in failed.values()}
        if len(texts) == 1:
            # The kernel's own mistake, whatever the configuration.
            return next(iter(texts.values()))
        lines = [f"  {config}: {error}" for config, error in failed.items()]
        return AutotuneError(
            "\n".join([f"no configuration of kernel {self.__name__!r} can be used:", *lines])
        )

    # ------------------------------------------------------------------ what is remembered

    def _entry(
        self, key: tuple[Any, ...], named: Mapping[str, Any], kwargs: Mapping[str, Any],
        configs: Sequence[Config],
    ) -> str:  # fmt: skip
        """The name on disk of this tuning; ``""`` when its results are not kept there."""
        keep = self.cache_results
        if keep is None:
            # What a benchmark of somebody else's making measures is not known here.
            from ..dropin import knobs

            keep = self._do_bench is None and knobs.autotuning.cache
        hooks = self.user_defined_pre_hook or self.user_defined_post_hook
        kernel = jitted(self.fn)
        if not keep or hooks or any(c.pre_hook is not None for c in configs):
            return ""
        if not getattr(kernel, "__mytriton_kernel__", False):
            return ""
        from . import tuning_cache

        given = {**named, **kwargs}
        constants = {n: given[n] for n in kernel.binder.constexprs if n in given}
        return tuning_cache.entry_key(kernel, key, constants, configs)

    def _loaded(self, entry: str, configs: Sequence[Config]) -> Timings | None:
        if not entry:
            return None
        from . import tuning_cache

        found = tuning_cache.load(entry, configs)
        usable = found is not None and any(math.isfinite(t[0]) for t in found.values())
        return found if usable else None

    def _report(
        self, key: tuple[Any, ...], best: Config, timings: Timings,
        failed: Mapping[Config, MytritonError], seconds: float | None,
    ) -> None:  # fmt: skip
        from ..dropin import knobs

        if not knobs.autotuning.print:
            return
        for config, error in failed.items():
            print(f"autotune {self.__name__}: {config} left out: {error}")
        where = "from the disk cache" if seconds is None else f"in {seconds:.2f} s"
        print(
            f"autotune {self.__name__}, key {key}: {len(timings) - len(failed)} of {len(timings)} "
            f"configurations {where}; best: {best} ({timings[best][0]:.4f} ms)"
        )

    def __repr__(self) -> str:
        return f"<triton.autotune of {len(self.configs)} configurations for {self.fn!r}>"


def autotune(
    configs: Sequence[Config],
    key: Sequence[str],
    prune_configs_by: Mapping[str, Any] | None = None,
    reset_to_zero: Sequence[str] | None = None,
    restore_value: Sequence[str] | None = None,
    pre_hook: Callable[..., Any] | None = None,
    post_hook: Callable[..., Any] | None = None,
    warmup: float | None = None,
    rep: float | None = None,
    use_cuda_graph: bool = False,
    do_bench: Callable[..., Any] | None = None,
    cache_results: bool | None = None,
) -> Callable[[Any], Autotuner]:
    """Choose among ``configs`` by timing them, once for each combination of the values of the
    arguments named in ``key`` and the dtypes of the arrays.

    Timing runs the kernel many times: ``reset_to_zero`` names arrays to clear before each run,
    ``restore_value`` arrays to put back after it; ``pre_hook(args, reset_only=False)`` and
    ``post_hook(args, exception=)`` replace both. ``prune_configs_by`` may have
    ``early_config_prune(configs, named_args, **kwargs)``, which gives the configurations to
    consider, and ``perf_model(**args)`` with ``top_k`` (a count, or a share up to 1.0).
    ``warmup`` and ``rep`` are milliseconds for ``testing.do_bench``; ``do_bench(call, quantiles=)``
    replaces it. Timings are kept on disk unless ``cache_results`` is false,
    ``MYTRITON_CACHE_AUTOTUNING=0``, or hooks or ``do_bench`` are given.

    A configuration that does not compile is left out; when none is left, ``AutotuneError`` has the
    error of each. A launch that passes what the configurations set raises ``TunedParameterError``.
    """

    def decorator(fn: Any) -> Autotuner:
        try:
            return Autotuner(
                fn, names_of(fn), configs, key, reset_to_zero, restore_value, pre_hook, post_hook,
                prune_configs_by, warmup, rep, use_cuda_graph, do_bench, cache_results,
            )  # fmt: skip
        except MytritonError as error:
            raise for_user(error) from None

    return decorator
