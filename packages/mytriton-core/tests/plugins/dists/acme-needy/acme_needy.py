"""Needs a library that is not there."""

import acme_native_lib  # noqa: F401
