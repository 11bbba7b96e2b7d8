"""``use_backend`` that nobody enters."""

from __future__ import annotations

import contextlib
import gc
import sys
import warnings
from typing import Any

import pytest

from mytriton.plugins.selection import use_backend


def test_one_that_is_never_entered_warns_at_its_line() -> None:
    with pytest.warns(RuntimeWarning) as caught:
        use_backend(["a", "interpreter"])
    line = sys._getframe().f_lineno - 1
    (warning,) = caught
    assert str(warning.message).startswith(
        "use_backend('a,interpreter') chose nothing: write `with "
    )
    assert (warning.filename, warning.lineno) == (__file__, line)


def test_one_that_is_entered_or_chooses_nothing_does_not_warn() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with use_backend("a"):
            pass
        with contextlib.ExitStack() as stack:
            stack.enter_context(use_backend("a"))
        use_backend(None)
        with pytest.raises(TypeError):
            use_backend(3)  # type: ignore[arg-type]
        gc.collect()


def test_the_end_of_python_warns_of_nothing(tools: Any) -> None:
    done = tools.python("import mytriton\nkept = mytriton.use_backend('a')\nkept.again = kept")
    assert (done.returncode, done.stderr) == (0, "")
