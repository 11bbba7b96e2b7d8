"""The fixtures of the plugin tests, here too."""

from __future__ import annotations

import importlib.util
from pathlib import Path

_SPEC = importlib.util.spec_from_file_location(
    "_plugin_tests_conftest", Path(__file__).parents[1] / "plugins" / "conftest.py"
)
assert _SPEC is not None and _SPEC.loader is not None
_MODULE = importlib.util.module_from_spec(_SPEC)
_SPEC.loader.exec_module(_MODULE)

untouched = _MODULE.untouched
install = _MODULE.install
fake = _MODULE.fake
tools = _MODULE.tools
