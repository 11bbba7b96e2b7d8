"""JUnit XML: one test case per conformance case, with the verdict as a property."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any
from xml.etree import ElementTree as ET

_FAILURE = frozenset({"FAIL", "OVERCLAIM", "SILENT-WRONG", "UNDERCLAIM", "XPASS", "UNDECLARED"})
_SKIPPED = frozenset({"XFAIL", "DECLINED", "NEW"})
#: Characters XML cannot hold.
_ILLEGAL = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd]")


def junit(report: Mapping[str, Any]) -> str:
    """The XML of a report in its JSON form."""
    cases = report["cases"]
    verdicts = [c["verdict"] for c in cases]
    failures = sum(v in _FAILURE for v in verdicts)
    skipped = sum(v in _SKIPPED for v in verdicts)
    errors = sum(v != "PASS" for v in verdicts) - failures - skipped
    name = f"mytriton.conformance.{report['backend']['name']}"
    suite = ET.Element(
        "testsuite", name=name, tests=str(len(cases)), failures=str(failures), errors=str(errors),
        skipped=str(skipped), time=f"{report['seconds']:.3f}",
    )  # fmt: skip
    facts = {
        "certified": str(report["certified"]).lower(), "level": report["level"],
        "stage": report["stage"], "edition": report["edition"], **report["versions"],
    }  # fmt: skip
    _properties(suite, facts)
    for c in cases:
        element = ET.SubElement(
            suite, "testcase", classname=name, name=c["id"], time=f"{c['seconds']:.4f}"
        )
        _properties(element, {"verdict": c["verdict"], "features": " ".join(c["features"])})
        verdict = c["verdict"]
        if verdict != "PASS":
            kind = (
                "failure" if verdict in _FAILURE else "skipped" if verdict in _SKIPPED else "error"
            )
            text = _ILLEGAL.sub("?", f"{verdict}: {c['message'] or c['reason']}")
            found = ET.SubElement(element, kind, message=text, type=verdict)
            found.text = _ILLEGAL.sub("?", c.get("detail", "")) or None
    root = ET.Element("testsuites")
    root.append(suite)
    ET.indent(root)
    return '<?xml version="1.0" encoding="utf-8"?>\n' + ET.tostring(root, encoding="unicode") + "\n"


def _properties(parent: ET.Element, values: Mapping[str, str]) -> None:
    element = ET.SubElement(parent, "properties")
    for name, value in values.items():
        ET.SubElement(element, "property", name=name, value=_ILLEGAL.sub("?", value))
