"""Fixtures shared by the tests of core."""

import importlib.util
import itertools

import pytest

_numbers = itertools.count()


@pytest.fixture
def module_from(tmp_path):
    """Write source text to a file and import it as a module (bytes are written as they are)."""

    def make(text, *, imports=True):
        name = f"kernels_{next(_numbers)}"
        path = tmp_path / f"{name}.py"
        head = "import mytriton as triton\nimport mytriton.language as tl\n\n" if imports else ""
        data = text if isinstance(text, bytes) else (head + text).encode()
        path.write_bytes(data)
        spec = importlib.util.spec_from_file_location(name, path)
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        return module

    return make


@pytest.fixture
def kernel_from(module_from):
    """A kernel from the text of its ``def`` (named ``kernel``)."""

    def make(text):
        return module_from("@triton.jit\n" + text).kernel

    return make
