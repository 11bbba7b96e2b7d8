"""Fails at import."""

raise RuntimeError("the plugin is out of order")
