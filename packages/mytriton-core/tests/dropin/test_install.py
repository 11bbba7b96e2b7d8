"""``install_as_triton``: ``import triton`` gives mytriton, says so, and can be undone."""

from __future__ import annotations

import subprocess
import sys
import textwrap
import types
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from packaging.version import Version

import mytriton
from mytriton.dropin.install import TritonImportedError


@pytest.fixture(autouse=True)
def undone() -> Iterator[None]:
    real = {n: m for n, m in sys.modules.items() if n == "triton" or n.startswith("triton.")}
    for name in real:
        del sys.modules[name]
    yield
    mytriton.uninstall_as_triton()
    sys.modules.update(real)


def run(code: str) -> str:
    """The output of a program."""
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code)], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_what_programs_import() -> None:
    mytriton.install_as_triton()
    names: dict[str, Any] = {}
    exec(
        textwrap.dedent("""
            import triton
            import triton.language as tl
            import triton.runtime.driver as driver_by_path
            import triton.compiler.errors, triton.tools.tensor_descriptor
            from triton import Config, autotune, cdiv, heuristics, jit, language, next_power_of_2
            from triton.backends.compiler import GPUTarget
            from triton.compiler import CompiledKernel
            from triton.compiler.errors import CompilationError
            from triton.language import constexpr
            from triton.language.core import dtype
            from triton.runtime import driver
            from triton.runtime.autotuner import Autotuner, Heuristics, OutOfResources, PTXASError
            from triton.runtime.cache import default_cache_dir, triton_key
            from triton.runtime.driver import driver as driver_object
            from triton.runtime.errors import InterpreterError
            from triton.runtime.jit import JITFunction, KernelInterface, MockTensor, TensorWrapper
            from triton.testing import Benchmark, do_bench, perf_report
            from triton.tools.tensor_descriptor import TensorDescriptor
        """),
        names,
    )
    assert names["jit"] is mytriton.jit
    assert names["tl"].load is mytriton.language.load
    assert names["JITFunction"] is mytriton.JITFunction
    assert names["driver_by_path"].active is names["driver"].active is names["driver_object"].active
    assert issubclass(names["CompilationError"], Exception)
    assert names["triton"].runtime.driver.active.get_current_target().backend == "cpu"
    assert names["triton_key"]() == f"mytriton {mytriton.__version__}"


def test_a_kernel_written_for_triton(module_from: Any) -> None:
    mytriton.install_as_triton()
    module = module_from(
        """
import triton
import triton.language as tl

@triton.jit
def add_kernel(x_ptr, y_ptr, output_ptr, n_elements, BLOCK_SIZE: tl.constexpr):
    pid = tl.program_id(axis=0)
    offsets = pid * BLOCK_SIZE + tl.arange(0, BLOCK_SIZE)
    mask = offsets < n_elements
    x = tl.load(x_ptr + offsets, mask=mask)
    y = tl.load(y_ptr + offsets, mask=mask)
    tl.store(output_ptr + offsets, x + y, mask=mask)

def add(x, y, output):
    grid = lambda meta: (triton.cdiv(x.size, meta["BLOCK_SIZE"]),)
    add_kernel[grid](x, y, output, x.size, BLOCK_SIZE=triton.next_power_of_2(100))
    return output
""",
        imports=False,
    )
    x = np.arange(1000, dtype=np.float32)
    np.testing.assert_array_equal(module.add(x, x, np.zeros_like(x)), 2 * x)


def test_its_version_compares_as_3_and_it_says_what_it_is() -> None:
    mytriton.install_as_triton()
    import importlib.metadata

    import triton

    assert Version("3.3.0") <= Version(triton.__version__) < Version("4")
    assert importlib.metadata.version("triton") == triton.__version__
    assert triton.__name__ == "mytriton"
    assert repr(triton) == "<module 'triton': mytriton, standing in for Triton>"
    assert mytriton.__version__ != triton.__version__


def test_find_spec() -> None:
    import importlib.util

    mytriton.install_as_triton()
    assert importlib.util.find_spec("triton") is not None
    assert importlib.util.find_spec("triton.language") is not None
    assert importlib.util.find_spec("triton.nonsense") is None


@pytest.mark.parametrize(
    ("statement", "message"),
    [
        (
            "import triton.experimental",
            "mytriton, which stands in for Triton here, has no triton.experimental",
        ),
        ("from triton.experimental import gluon", "has no triton.experimental"),
        ("import triton._C.libtriton", "has no triton._C"),
        ("from triton.language.extra import cann", "triton.language.extra"),
        ("from triton import nonsense", "cannot import name 'nonsense' from 'mytriton'"),
    ],
)
def test_what_we_lack_is_an_import_error_that_names_it(statement: str, message: str) -> None:
    mytriton.install_as_triton()
    with pytest.raises(ImportError) as caught:
        exec(statement, {})
    assert message in str(caught.value)


def test_a_missing_attribute_says_who_lacks_it() -> None:
    mytriton.install_as_triton()
    import triton

    with pytest.raises(AttributeError, match=r"triton.language has no 'nonsense' here: mytriton 0"):
        triton.language.nonsense
    assert not hasattr(triton, "nonsense")


def test_what_is_set_in_it_stays_in_it() -> None:
    mytriton.install_as_triton()
    import triton
    import triton.language

    triton.autotune = triton.language.load = None
    assert mytriton.autotune is not None
    assert mytriton.language.load is not None


def test_star_import_and_dir() -> None:
    mytriton.install_as_triton()
    names: dict[str, Any] = {}
    exec("from triton.testing import *", names)
    assert names["do_bench"] is mytriton.testing.do_bench
    import triton

    assert {"jit", "Config", "__version__"} <= set(dir(triton))


def test_twice_is_once() -> None:
    mytriton.install_as_triton()
    first, finders = sys.modules["triton"], len(sys.meta_path)
    mytriton.install_as_triton()
    assert (sys.modules["triton"], len(sys.meta_path)) == (first, finders)


def test_undone_there_is_no_trace() -> None:
    mytriton.install_as_triton()
    import triton.language

    assert triton.language
    mytriton.uninstall_as_triton()
    assert [n for n in sys.modules if n == "triton" or n.startswith("triton.")] == []
    assert not any("mytriton" in type(f).__module__ for f in sys.meta_path)


def test_the_real_triton_is_not_replaced(monkeypatch: pytest.MonkeyPatch) -> None:
    real = types.ModuleType("triton")
    real.__file__ = "/somewhere/triton/__init__.py"
    monkeypatch.setitem(sys.modules, "triton", real)
    with pytest.raises(
        TritonImportedError, match=r"imported already \(from /somewhere/triton/__init__.py\); call"
    ):
        mytriton.install_as_triton()
    assert issubclass(TritonImportedError, ImportError)
    assert sys.modules["triton"] is real


def test_tensor_descriptors_say_that_they_are_missing() -> None:
    mytriton.install_as_triton()
    from triton.tools.tensor_descriptor import TensorDescriptor

    with pytest.raises(NotImplementedError, match="no tensor descriptors yet"):
        TensorDescriptor.from_tensor(np.zeros(4), [2])
    assert not isinstance(np.zeros(4), TensorDescriptor)


def test_names_without_a_meaning_here_are_there() -> None:
    mytriton.install_as_triton()
    import triton

    triton.set_allocator(lambda size, alignment, stream: None)
    triton.knobs.runtime.launch_enter_hook = None
    assert triton.knobs.autotuning.print is False
    with pytest.raises(AttributeError, match="no setting 'nonsense' here"):
        triton.knobs.runtime.nonsense
    with pytest.raises(NotImplementedError, match="kernel.warmup"):
        triton.compiler.compile(None)
    assert triton.backends.backends == {}


def test_installing_loads_no_compiler() -> None:
    loaded = run("""
        import sys, mytriton
        mytriton.install_as_triton()
        import triton, triton.language as tl
        print([m for m in ("pluggy", "rich", "importlib.metadata", "mytriton.runtime.launch") if m in sys.modules])
    """)
    assert loaded.strip() == "[]"


def test_every_public_name_of_mytriton_is_there() -> None:
    for name in mytriton.__all__:
        assert getattr(mytriton, name) is not None
