"""Wrong kernels and the whole message each gives, in ``golden_errors.txt``.

An entry is its name, the launch, the source (after a line of imports), and the expected error. When a
message is changed on purpose, write the new one there by hand and read it as its user would.
"""

import re
from pathlib import Path

import numpy as np
import pytest

HEAD = "import mytriton as triton, mytriton.language as tl\n"


def entries():
    text = Path(__file__).with_name("golden_errors.txt").read_text()
    for block in re.split(r"^=== ", text, flags=re.M)[1:]:
        name, call, rest = block.split("\n", 2)
        source, message = rest.split("\n---\n")
        yield pytest.param(call.removeprefix(">>> "), source, message.rstrip(), id=name)


@pytest.mark.parametrize(("call", "source", "message"), list(entries()))
def test_message(module_from, call, source, message):
    module = module_from(HEAD + source + "\n", imports=False)
    names = {
        "kernel": module.kernel.with_backend("interpreter")[(1,)],
        "i32": np.zeros(64, np.int32),
        "f32": np.zeros(64, np.float32),
    }
    with pytest.raises((TypeError, NameError)) as caught:
        eval(call, names)
    text = f"{type(caught.value).__name__}: {caught.value}".replace(module.__file__, "kernel.py")
    assert text == message


def test_there_are_forty_of_them_and_each_shows_its_line():
    found = list(entries())
    assert len(found) >= 40
    for entry in found:
        call, source, message = entry.values
        first, line, caret = message.splitlines()[:3]
        number = int(re.search(r"kernel\.py:(\d+):\d+: ", first)[1])
        assert line.strip() == source.splitlines()[number - 2].strip()
        assert set(caret.strip()) == {"^"}
