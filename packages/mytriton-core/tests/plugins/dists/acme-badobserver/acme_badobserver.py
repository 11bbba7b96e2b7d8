"""Fails to look on."""

from mytriton.plugin_api import hookimpl


@hookimpl
def mytriton_event(event):
    raise ValueError("no comment")


@hookimpl
def mytriton_adapt_argument(value):
    raise ValueError("no idea")
