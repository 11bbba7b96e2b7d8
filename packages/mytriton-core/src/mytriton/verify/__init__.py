"""Verification of SSA: the structural rules every operation obeys, and each operation's own."""

from .verifier import verify

__all__ = ["verify"]
