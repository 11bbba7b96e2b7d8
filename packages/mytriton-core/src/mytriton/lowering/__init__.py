"""Expression tree to typed SSA."""

from .lower import lower

__all__ = ["lower"]
