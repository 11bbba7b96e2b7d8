"""Backends as plugins: hook specifications, discovery, states, selection, errors."""
