"""The ``MYTRITON_*`` environment variables: what they mean, how they are read, typing mistakes."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping

from ..errors import VariableError

PREFIX = "MYTRITON_"

#: Every variable core and the testkit read. Backends add theirs in ``BackendInfo.variables``.
VARIABLES: dict[str, str] = {
    "MYTRITON_BACKEND": "backend to use, or a list in order of preference; read at each launch",
    "MYTRITON_CACHE_AUTOTUNING": "0 keeps no timings of autotuners on disk",
    "MYTRITON_CACHE_DIR": "folder of compiled kernels (`mytriton cache`); empty: keep none",
    "MYTRITON_DISABLE_BACKENDS": "installed backends and plugins never to load: names, or * for all (the "
    "interpreter, part of core, always stays)",
    "MYTRITON_DEBUG": "1 keeps the compiler's own frames in tracebacks",
    "MYTRITON_EMULATE": "1 launches GPU backends on the emulator, with host arrays",
    "MYTRITON_DUMP": "folder to write every stage of every compiled kernel to",
    "MYTRITON_LOG": "events to print: selection, cache, compile, launch (a list), or all",
    "MYTRITON_OPT_LEVEL": "0 or 1 (default): optimisation of SSA; read at each launch",
    "MYTRITON_PLUGIN_AUTOLOAD": "0 loads no plugin that is found through entry points",
    "MYTRITON_PRINT_AUTOTUNING": "1 prints what autotuners choose, and why not the others",
    "MYTRITON_REQUIRE_BROWSER": "1 makes tests that need Chromium fail instead of skip (tests)",
    "MYTRITON_REQUIRE_DEVICE": "1 makes tests that need a device fail instead of skip (tests)",
    "MYTRITON_REQUIRE_TORCH": "1 makes tests that need PyTorch fail instead of skip (tests)",
    "MYTRITON_SANITIZE": "1 runs launches on the checked interpreter, nan finds NaNs too, bounds finds "
    "only accesses outside arguments",
    "MYTRITON_STRICT_PLUGINS": "1 raises at once when a plugin fails to load (for its author)",
    "MYTRITON_VERSION": "version of the wheels under test (tests)",
    "MYTRITON_WHEELHOUSE": "folder of the wheels under test (tests)",
}

_TRUE = ("1", "true", "yes", "on")
_FALSE = ("", "0", "false", "no", "off")


def flag(name: str, default: bool = False) -> bool:
    """A variable that is a switch. Raises ``VariableError`` when it is neither on nor off."""
    text = os.environ.get(name)
    if text is None:
        return default
    word = text.strip().lower()
    if word in _TRUE:
        return True
    if word in _FALSE:
        # An empty value is an unset one.
        return default if not word else False
    raise VariableError(f"{name} is a switch (0 or 1), got {text!r}")


def names(name: str) -> tuple[str, ...]:
    """A variable that is a list of names, normalised; empty parts are dropped."""
    return split_names(os.environ.get(name, ""))


def split_names(text: str) -> tuple[str, ...]:
    """``"cuda, MLIR_CPU"`` to ``("cuda", "mlir-cpu")``."""
    return tuple(normalise_name(part) for part in text.split(",") if part.strip())


def normalise_name(name: str) -> str:
    """A backend name as it is compared: lower case, with dashes."""
    return name.strip().lower().replace("_", "-")


def suspects(environ: Mapping[str, str] | None = None) -> list[str]:
    """Variables that are set and that core does not know (a backend may)."""
    found = os.environ if environ is None else environ
    return sorted(n for n in found if n.startswith(PREFIX) and n not in VARIABLES)


def closest(name: str, known: Iterable[str]) -> str:
    """The name in ``known`` that ``name`` was probably meant to be, or ``""``."""
    import difflib

    near = difflib.get_close_matches(name, sorted(known), n=1, cutoff=0.6)
    return near[0] if near else ""
