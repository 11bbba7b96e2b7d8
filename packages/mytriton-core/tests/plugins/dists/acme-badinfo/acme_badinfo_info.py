"""Data that fails."""

INFO = 1 / 0
