"""``triton.tools.tensor_descriptor``."""

from __future__ import annotations

from typing import Any


class TensorDescriptor:
    """Kernels here take no tensor descriptors yet: making one raises ``NotImplementedError``. The
    name is there for programs that import it and use it on some devices only."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        raise NotImplementedError(
            "mytriton has no tensor descriptors yet; pass the tensor, its shape and strides, and "
            "compute the addresses in the kernel"
        )

    from_tensor = classmethod(lambda cls, *args, **kwargs: cls(*args, **kwargs))


__all__ = ["TensorDescriptor"]
