"""Kernels pickle by where they are defined: for ``multiprocessing``, ``concurrent.futures``, Dask."""

import copy
import multiprocessing
import pickle
import subprocess
import sys
from concurrent.futures import ProcessPoolExecutor

import numpy as np
import pytest

import mytriton as triton
import mytriton.language as tl

MODULE = """
import numpy as np
import mytriton as triton
import mytriton.language as tl


@triton.jit
def double_kernel(x, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + at, tl.load(x + at, mask=at < n) * 2, mask=at < n)


@triton.autotune([triton.Config({"BLOCK": 64}), triton.Config({"BLOCK": 128})], key=["n"])
@triton.heuristics({"EVEN": lambda args: args["n"] % 2 == 0})
@triton.jit
def tuned_kernel(x, n, BLOCK: tl.constexpr, EVEN: tl.constexpr):
    tl.store(x + tl.arange(0, BLOCK), 1.0)


class Kernels:
    @triton.jit
    def inside_kernel(x):
        tl.store(x, 1.0)


def launch(kernel, values):
    out = np.empty_like(values)
    kernel[(triton.cdiv(values.size, 64),)](values, out, values.size, BLOCK=64)
    return out
"""


@pytest.fixture
def kernels(tmp_path, monkeypatch):
    """A module on the path, and of child processes."""
    (tmp_path / "pickled_kernels.py").write_text(MODULE)
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    import pickled_kernels

    yield pickled_kernels
    del sys.modules["pickled_kernels"]


def again(value):
    return pickle.loads(pickle.dumps(value))


def test_a_kernel_is_the_same_kernel_in_the_same_process(kernels):
    kernel = kernels.double_kernel
    kernel.with_backend("interpreter")[(1,)](np.ones(4), np.ones(4), 4, BLOCK=4)
    assert again(kernel) is kernel


def test_a_kernel_in_a_class_is_found_by_its_qualified_name(kernels):
    assert again(kernels.Kernels.inside_kernel) is kernels.Kernels.inside_kernel


def test_every_layer_round_a_kernel_is_found(kernels):
    tuned = kernels.tuned_kernel
    for layer in (tuned, tuned.fn, tuned.fn.fn):
        assert again(layer) is layer


def test_what_names_a_backend_goes_along(kernels):
    view = again(kernels.double_kernel.with_backend("interpreter"))
    out = kernels.launch(view, np.arange(5.0))
    assert out.tolist() == [0, 2, 4, 6, 8]


@pytest.mark.parametrize("method", ["spawn", "fork"])
def test_other_processes_run_it(kernels, method):
    if method not in multiprocessing.get_all_start_methods():
        pytest.skip(f"no {method} here")
    parts = [np.arange(float(n)) for n in (10, 100)]
    kernel = kernels.double_kernel.with_backend("interpreter")
    context = multiprocessing.get_context(method)
    with ProcessPoolExecutor(1, mp_context=context) as pool:
        found = list(pool.map(kernels.launch, [kernel] * len(parts), parts))
    for part, out in zip(parts, found, strict=True):
        np.testing.assert_array_equal(out, part * 2)


def test_a_kernel_inside_a_function_says_where_to_put_it():
    @triton.jit
    def inner(x):
        tl.store(x, 1.0)

    with pytest.raises(
        pickle.PicklingError, match=r"'inner' is defined inside a function.*top level"
    ):
        pickle.dumps(inner)


def test_a_name_that_means_something_else_now_is_refused(kernels, monkeypatch):
    old = kernels.double_kernel
    monkeypatch.setattr(kernels, "double_kernel", triton.jit(old.fn))
    with pytest.raises(pickle.PicklingError, match="is not what .*double_kernel is now"):
        pickle.dumps(old)
    monkeypatch.delattr(kernels, "double_kernel")
    with pytest.raises(pickle.PicklingError, match="under its own name"):
        pickle.dumps(old)


def test_a_process_without_the_module_says_what_is_missing(kernels, tmp_path):
    data = tmp_path / "kernel.pickle"
    data.write_bytes(pickle.dumps(kernels.double_kernel))
    code = f"import pickle, mytriton; pickle.loads(open({str(data)!r}, 'rb').read())"
    (tmp_path / "pickled_kernels.py").unlink()
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120)
    assert "UnpicklingError: kernel pickled_kernels.double_kernel is not found" in done.stderr


def test_a_copy_is_the_kernel_itself(kernels):
    assert copy.copy(kernels.double_kernel) is kernels.double_kernel
    assert copy.deepcopy({"k": kernels.tuned_kernel})["k"] is kernels.tuned_kernel


@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
def test_views_and_launchers_go_along_in_every_protocol(kernels, protocol):
    kernel, tuned = kernels.double_kernel, kernels.tuned_kernel
    for value in (
        kernel.with_backend("interpreter"), kernel[(4,)], kernel.with_backend("interpreter")[(4,)],
        tuned.with_backend("interpreter"), tuned[(4,)],
    ):  # fmt: skip
        found = pickle.loads(pickle.dumps(value, protocol))
        assert [getattr(found, n) for n in type(value).__slots__] == [
            getattr(value, n) for n in type(value).__slots__
        ]
