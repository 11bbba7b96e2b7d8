"""The recipe for PyTorch (examples/recipes/torch_ops.py): gradients, and ``torch.compile`` around it."""

from __future__ import annotations

import importlib.util
import os
import sys
from pathlib import Path

import pytest

if os.environ.get("MYTRITON_REQUIRE_TORCH") == "1":
    import torch
else:
    torch = pytest.importorskip("torch", reason="PyTorch is in `tox -e torch` only")

RECIPE = Path(__file__).parents[4] / "examples" / "recipes" / "torch_ops.py"

pytestmark = pytest.mark.skipif(not RECIPE.exists(), reason="runs from a checkout")


@pytest.fixture(scope="module")
def recipe():
    spec = importlib.util.spec_from_file_location("torch_ops", RECIPE)
    module = importlib.util.module_from_spec(spec)
    sys.modules["torch_ops"] = module
    spec.loader.exec_module(module)
    yield module
    del sys.modules["torch_ops"]


@pytest.fixture(autouse=True)
def no_cache(monkeypatch):
    monkeypatch.setenv("MYTRITON_CACHE_DIR", "")


def given(*shape, dtype=torch.float64):
    torch.manual_seed(7)
    return torch.randn(*shape, dtype=dtype, requires_grad=True)


@pytest.mark.parametrize("name", ["Silu", "silu"])
def test_values_and_gradients_are_those_of_pytorch(recipe, name):
    call = recipe.Silu.apply if name == "Silu" else recipe.silu
    x = given(33, 70)
    (call(x.T) * torch.arange(33.0, dtype=torch.float64)).sum().backward()
    found = x.grad.clone()
    x.grad = None
    (torch.nn.functional.silu(x.T) * torch.arange(33.0, dtype=torch.float64)).sum().backward()
    torch.testing.assert_close(found, x.grad)
    torch.testing.assert_close(call(x.T), torch.nn.functional.silu(x.T))
    assert torch.autograd.gradcheck(call, (given(20),))


def test_the_operator_is_registered_as_pytorch_wants_it(recipe):
    torch.library.opcheck(recipe.silu, (given(40, dtype=torch.float32),))
    torch.library.opcheck(recipe.silu, (given(4, 10, dtype=torch.float32).T.detach(),))


def test_torch_compile_keeps_the_kernel_and_compiles_around_it(recipe):
    graphs = []

    def backend(graph, inputs):
        graphs.append(graph)
        return graph

    @torch.compile(backend=backend, fullgraph=True)
    def layer(x, w):
        return recipe.silu(x @ w) * 2.0

    x, w = given(8, 16), given(16, 4)
    torch.testing.assert_close(layer(x, w), torch.nn.functional.silu(x @ w) * 2.0)
    (graph,) = graphs
    called = [str(node.target) for node in graph.graph.nodes if node.op == "call_function"]
    assert any("mytriton_recipes" in target and "silu" in target for target in called)


def test_torch_compile_differentiates_through_it(recipe):
    layer = torch.compile(
        lambda x, w: recipe.silu(x @ w).sum(), backend="aot_eager", fullgraph=True
    )
    x, w = given(8, 16), given(16, 4)
    layer(x, w).backward()
    found = x.grad.clone(), w.grad.clone()
    x.grad = w.grad = None
    torch.nn.functional.silu(x @ w).sum().backward()
    torch.testing.assert_close(found, (x.grad, w.grad))
