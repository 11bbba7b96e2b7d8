"""The texts of MT-B01 to MT-B10. Each is a golden string in the tests."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from .errors import BackendLoadError
from .known import KNOWN
from .types import HOOK_API
from .variables import closest
from .versions import core_version

if TYPE_CHECKING:
    from .discovery import Record


def asked(requested_by: str) -> str:
    return f" (asked for by {requested_by})" if requested_by else ""


def unknown(name: str, requested_by: str, available: Iterable[Record]) -> str:
    """MT-B01."""
    records = list(available)
    near = closest(name, {*(r.name for r in records), *KNOWN})
    text = f"no backend is called {name!r}{asked(requested_by)}."
    if near:
        text += f" Closest: {near}"
        if near in KNOWN and all(r.name != near for r in records):
            text += f" (not installed: {KNOWN[near].install})"
        text += "."
    installed = ", ".join(r.origin for r in records)
    return f"{text} Installed: {installed}. All states: mytriton backends"


def not_installed(name: str, requested_by: str) -> str:
    """MT-B02."""
    advice = KNOWN[name].advice
    return f"backend {name!r} is not installed{asked(requested_by)}. Install it: {advice}"


def load_error(record: Record, cause: BaseException) -> BackendLoadError:
    """MT-B03, with the requirement that is missing if the backend says which."""
    import traceback

    what = traceback.format_exception_only(type(cause), cause)[-1].strip()
    text = (
        f"backend {record.name!r} ({_dist(record)}, core {core_version()}) is installed but failed"
        f" to import: {what}{_where(cause)}."
    )
    hint = ""
    info = record._info
    if isinstance(cause, ModuleNotFoundError) and cause.name and info is not None:
        top = cause.name.partition(".")[0]
        if requirement := info.requirement_hints.get(top, ""):
            hint = f'pip install "{requirement}"'
    if not hint and info is not None and isinstance(cause, ImportError):
        hint = info.install_hint
    if hint:
        text += f" Needed: {hint}."
    text += (
        f" To work without it: MYTRITON_DISABLE_BACKENDS={record.name}."
        f" Traceback: mytriton doctor {record.name}"
    )
    return BackendLoadError(text, backend=record.name, hint=hint)


def _where(cause: BaseException) -> str:
    """`` [package/module.py:3]``: the last line of the traceback that is a file's."""
    import traceback

    place = ""
    if isinstance(cause, SyntaxError) and cause.filename:
        place = f"{_short(cause.filename)}:{cause.lineno}"
    else:
        for frame in traceback.extract_tb(cause.__traceback__):
            if not frame.filename.startswith("<") and not _is_ours(frame.filename):
                place = f"{_short(frame.filename)}:{frame.lineno}"
    return f" [{place}]" if place else ""


def _is_ours(filename: str) -> bool:
    return os.path.dirname(filename) == os.path.dirname(__file__) or os.path.basename(
        os.path.dirname(filename)
    ) in ("importlib", "_pytest", "pluggy")


def _short(filename: str) -> str:
    return "/".join(filename.replace(os.sep, "/").split("/")[-2:])


def _dist(record: Record) -> str:
    return f"{record.dist} {record.version}".strip() if record.dist else "registered here"


def hook_api(record: Record, wanted: str) -> str:
    """MT-B04, hook API."""
    generation, minor = HOOK_API
    offered = f"{generation}.0" if minor == 0 else f"{generation}.0 to {generation}.{minor}"
    return (
        f"backend {record.name!r} ({_dist(record)}) is built for hook API {wanted}; this"
        f" mytriton-core {core_version()} offers {offered}. Install a version of"
        f" {record.dist or 'the plugin'} built for {offered}, or a mytriton-core that offers"
        f" {wanted}."
        " The plugin was not imported."
    )


def core_version_unmet(record: Record, requirement: str) -> str:
    """MT-B04, version of core."""
    return (
        f"backend {record.name!r} ({_dist(record)}) requires mytriton-core{requirement}; this is"
        f" mytriton-core {core_version()}. Install a pair that fits: pip install -U mytriton-core"
        f" {record.dist}. The plugin was not imported."
    )


def duplicate(name: str, dists: Sequence[tuple[str, str]]) -> str:
    """MT-B06."""
    numbers = {2: "two", 3: "three"}
    owners = sorted(" ".join(dist) for dist in dists)
    if len({dist[0] for dist in dists}) < len(dists):
        return (
            f"backend {name!r} is provided {numbers.get(len(dists), str(len(dists)))} times by"
            f" {' and '.join(sorted({' '.join(d) for d in dists}))}. None is used."
            " Reinstall it, or report it to its author."
        )
    neither = "Neither" if len(dists) == 2 else "None"
    return (
        f"{numbers.get(len(dists), str(len(dists)))} distributions provide backend {name!r}:"
        f" {', '.join(owners)}. {neither} is used."
        f" Uninstall {'one' if len(dists) == 2 else 'all but one'}."
    )


def reserved(record: Record) -> str:
    """MT-B06, a name of core's."""
    return (
        f"the name {record.name!r} is reserved for mytriton-core; {_dist(record)} cannot provide"
        " it. The plugin was not imported."
    )


def bad_name(record: Record) -> str:
    """MT-B09, entry-point name."""
    return (
        f"plugin {record.dist}: {record.name!r} is not a backend name (lower-case letters, digits"
        " and dashes, beginning with a letter)"
    )


def unavailable(record: Record, requested_by: str, reason: str, hint: str, can_emit: bool) -> str:
    """MT-B07."""
    text = (
        f"backend {record.name!r}{asked(requested_by)} is installed and loads, but cannot"
        f" {'launch' if can_emit else 'run'} here: {reason or 'it gives no reason'}."
    )
    if hint:
        text += f" {hint.rstrip('.')}."
    if can_emit:
        text += f" It can still give its text: kernel.emit(..., backend={record.name!r})."
    return text


def blocked(record: Record, requested_by: str, reason: str) -> str:
    """MT-B07, switched off."""
    return f"backend {record.name!r}{asked(requested_by)} is installed but {reason}."


def declined(record: Record, requested_by: str, kernel: str, reason: str) -> str:
    """MT-B08."""
    hint = ""
    if "sanitize.full" in reason:
        hint = " Name no backend: these checks run on the interpreter. Or sanitize(bounds=True)."
    return (
        f"backend {record.name!r}{asked(requested_by)} cannot run {kernel!r}: {reason}."
        f" No other backend was tried because this one was named.{hint}"
    )


def claim_broken(name: str, dist: str, kernel: str, step: str, feature: str, listed: bool) -> str:
    """MT-B10."""
    table = (
        "its capability table says yes" if listed else "it should have declined in mytriton_claim"
    )
    return (
        f"backend {name!r} claimed {kernel!r} but mytriton_{step} raised"
        f" UnsupportedFeature({feature}); {table}. Report it to {dist or name}."
    )


def undeclared_claim(record: Record, kernel: str, missing: Iterable[str]) -> str:
    """Warning: a claim beyond the capability table."""
    return (
        f"backend {record.name!r} claimed {kernel!r} although its capability table lacks"
        f" {', '.join(sorted(missing))}; the claim is ignored. Report it to"
        f" {record.dist or record.name}."
    )


def slow_info(record: Record, module: str, seconds: float) -> str:
    return (
        f"importing {module.partition(':')[0]} took {seconds * 1e3:.0f} ms (50 ms allowed): an info"
        " module holds data and imports nothing but mytriton.plugin_api"
    )
