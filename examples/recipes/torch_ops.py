"""A kernel inside PyTorch: as a ``torch.autograd.Function``, and as a ``torch.library.custom_op``, which
``torch.compile`` keeps as one call while it compiles what is around it.

python examples/recipes/torch_ops.py
"""

from __future__ import annotations

from typing import Any

import torch

import mytriton as triton
import mytriton.language as tl


@triton.jit
def silu_kernel(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n
    x = tl.load(x_ptr + offsets, mask=mask)
    tl.store(out_ptr + offsets, x * tl.sigmoid(x), mask=mask)


@triton.jit
def silu_backward_kernel(x_ptr, grad_ptr, out_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n
    x = tl.load(x_ptr + offsets, mask=mask)
    grad = tl.load(grad_ptr + offsets, mask=mask)
    gate = tl.sigmoid(x)
    tl.store(out_ptr + offsets, grad * gate * (1.0 + x * (1.0 - gate)), mask=mask)


def launch(kernel: Any, *tensors: torch.Tensor) -> torch.Tensor:
    """Run a kernel over contiguous tensors of one shape; gives its output."""
    tensors = tuple(tensor.contiguous() for tensor in tensors)
    out = torch.empty_like(tensors[0])
    kernel[(triton.cdiv(out.numel(), 1024),)](*tensors, out, out.numel(), BLOCK=1024)
    return out


# autograd.Function: the shortest way to a gradient.
class Silu(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: torch.Tensor) -> torch.Tensor:
        ctx.save_for_backward(x)
        return launch(silu_kernel, x)

    @staticmethod
    def backward(ctx: Any, grad: torch.Tensor) -> torch.Tensor:
        (x,) = ctx.saved_tensors
        return launch(silu_backward_kernel, x, grad)


# custom_op: an operator of its own, opaque to torch.compile.
@torch.library.custom_op("mytriton_recipes::silu", mutates_args=())
def silu(x: torch.Tensor) -> torch.Tensor:
    return launch(silu_kernel, x)


@silu.register_fake
def _(x: torch.Tensor) -> torch.Tensor:
    # What torch.compile needs to know: shape, dtype and device of the result.
    return torch.empty_like(x, memory_format=torch.contiguous_format)


@torch.library.custom_op("mytriton_recipes::silu_backward", mutates_args=())
def silu_backward(x: torch.Tensor, grad: torch.Tensor) -> torch.Tensor:
    return launch(silu_backward_kernel, x, grad)


@silu_backward.register_fake
def _(x: torch.Tensor, grad: torch.Tensor) -> torch.Tensor:
    return torch.empty_like(x, memory_format=torch.contiguous_format)


silu.register_autograd(
    lambda ctx, grad: silu_backward(ctx.saved_tensors[0], grad),
    setup_context=lambda ctx, inputs, output: ctx.save_for_backward(inputs[0]),
)


if __name__ == "__main__":
    x = torch.randn(1000, dtype=torch.float64, requires_grad=True)
    print("autograd.Function:", torch.autograd.gradcheck(Silu.apply, (x[:20],)))
    print("custom_op:", torch.autograd.gradcheck(silu, (x[:20],)))
