"""The operation reference in docs/ is what the registry says."""

from pathlib import Path

from mytriton.reference import operations_markdown

DOCS = Path(__file__).parents[3] / "docs" / "operations.md"


def test_the_reference_is_up_to_date():
    assert DOCS.read_text() == operations_markdown(), "run python -m mytriton.reference"
