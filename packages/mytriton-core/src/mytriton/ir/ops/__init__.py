"""The operations of the language, one declaration each. Importing this package registers them."""

from . import memory, pointwise, reduce, structure

__all__ = ["memory", "pointwise", "reduce", "structure"]
