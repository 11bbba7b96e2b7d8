"""Looks on."""

from mytriton.plugin_api import F32, ArgView, hookimpl

SEEN = []


@hookimpl
def mytriton_event(event):
    SEEN.append(event.kind)


@hookimpl
def mytriton_adapt_argument(value):
    if isinstance(value, Box):
        return ArgView(value.pointer, F32, (value.size,), (4,), "box", owner=value)
    return None


@hookimpl(wrapper=True)
def mytriton_lower(function, launch):
    source = yield
    SEEN.append(f"lower {function.name}")
    return source


class Box:
    def __init__(self, pointer, size):
        self.pointer = pointer
        self.size = size
