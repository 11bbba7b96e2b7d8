"""The API reference, from docstrings: ``python scripts/api_reference.py > docs/api.md``."""

from __future__ import annotations

import importlib
import inspect
import re
from typing import Any

#: Modules and the names of each that are public; ``None``: its ``__all__``.
MODULES: dict[str, list[str] | None] = {
    "mytriton": None,
    "mytriton.runtime.jit": ["JITFunction"],
    "mytriton.runtime.result": ["LaunchResult"],
    "mytriton.inspection": None,
    "mytriton.testing": None,
    "mytriton.errors": None,
    "mytriton.plugin_api": None,
}

HEAD = """# API

Generated from docstrings by `python scripts/api_reference.py`; do not edit. The functions of
`mytriton.language` have [a page of their own](language.md).
"""


def signature(value: Any) -> str:
    try:
        text = str(inspect.signature(value))
    except (TypeError, ValueError):
        return ""
    text = re.sub(r" at 0x[0-9a-f]+", "", text)
    # "](" would be a link.
    text = text.replace("](", "] (")
    return re.sub(r"'([\w.\[\], |]+)'", r"\1", text)


def entry(name: str, value: Any, level: int) -> list[str]:
    doc = inspect.cleandoc(getattr(value, "__doc__", None) or "")
    kind = "class " if inspect.isclass(value) else ""
    shown = signature(value) if callable(value) else ""
    lines = [f"{'#' * level} {name.rpartition('.')[2]}", "", f"`{kind}{name}{shown}`", "", doc, ""]
    return lines


def members(cls: type) -> list[tuple[str, Any]]:
    """Public methods and properties a class defines itself, in order."""
    return [
        (name, value)
        for name, value in vars(cls).items()
        if not name.startswith("_")
        and (inspect.isfunction(value) or isinstance(value, property))
        and inspect.getdoc(value)
    ]


def section(module_name: str, names: list[str] | None) -> list[str]:
    module = importlib.import_module(module_name)
    doc = inspect.cleandoc(module.__doc__ or "").split("\n\n")[0]
    lines = [f"## {module_name}", "", doc, ""]
    for name in sorted(names or getattr(module, "__all__", None) or _own(module)):
        value = getattr(module, name)
        if inspect.ismodule(value) or name.startswith("_"):
            continue
        if not (inspect.isclass(value) or callable(value)):
            continue
        lines += entry(f"{module_name}.{name}", value, 3)
        if inspect.isclass(value) and not issubclass(value, BaseException):
            for member, what in members(value):
                function = what.fget if isinstance(what, property) else what
                shown = "" if isinstance(what, property) else signature(function)
                text = inspect.cleandoc(function.__doc__ or "")
                lines += [f"`.{member}{shown}`", "", text, ""]
    return lines


def _own(module: Any) -> list[str]:
    return [
        name
        for name, value in vars(module).items()
        if not name.startswith("_") and getattr(value, "__module__", None) == module.__name__
    ]


def page() -> str:
    """The whole page."""
    lines = [HEAD]
    for name, names in MODULES.items():
        lines += section(name, names)
    return re.sub(r"\n{3,}", "\n\n", "\n".join(lines)).rstrip() + "\n"


if __name__ == "__main__":
    print(page(), end="")
