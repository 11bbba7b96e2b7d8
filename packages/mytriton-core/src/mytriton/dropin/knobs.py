"""``triton.knobs``: the settings that programs look at or set. What has no meaning here can be set,
and changes nothing."""

from __future__ import annotations

import os
from typing import Any

from ..plugins import variables


class Settings:
    """One group of settings. Reading one that is not there raises ``AttributeError``."""

    def __init__(self, group: str, **values: Any) -> None:
        self.__dict__.update(values)
        self._group = group

    def __getattr__(self, name: str) -> Any:
        raise AttributeError(
            f"triton.knobs.{self.__dict__.get('_group', '')} has no setting {name!r} here"
        )


class Autotuning(Settings):
    """``triton.knobs.autotuning``."""

    _print: bool | None = None
    _cache: bool | None = None

    @property
    def print(self) -> bool:
        """Whether autotuners print what they choose: as set here, or in ``MYTRITON_PRINT_AUTOTUNING``
        (or ``TRITON_PRINT_AUTOTUNING``)."""
        if self._print is not None:
            return self._print
        named = os.environ.get("TRITON_PRINT_AUTOTUNING", "") == "1"
        return variables.flag("MYTRITON_PRINT_AUTOTUNING", named)

    @print.setter
    def print(self, value: bool | None) -> None:
        self._print = value

    @property
    def cache(self) -> bool:
        """Whether timings are kept on disk, unless an autotuner says otherwise."""
        if self._cache is not None:
            return self._cache
        return variables.flag("MYTRITON_CACHE_AUTOTUNING", True)

    @cache.setter
    def cache(self, value: bool | None) -> None:
        self._cache = value


class Cache(Settings):
    """``triton.knobs.cache``."""

    @property
    def dir(self) -> str:
        """The folder of all caches; ``""`` when they are switched off."""
        from ..runtime.disk_cache import cache_root

        return str(cache_root() or "")


autotuning = Autotuning("autotuning", listener=None)
cache = Cache("cache")
compilation = Settings("compilation", always_compile=False, listener=None)
language = Settings("language", fp32_default=None, default_fp_fusion=True)
runtime = Settings(
    "runtime", interpret=False, debug=False, launch_enter_hook=None, launch_exit_hook=None,
    jit_cache_hook=None, jit_post_compile_hook=None, override_arch=None,
)  # fmt: skip
