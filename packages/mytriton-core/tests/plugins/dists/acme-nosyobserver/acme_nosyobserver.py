"""An observer that is no observer."""

from mytriton.plugin_api import hookimpl


@hookimpl
def mytriton_lower(function, launch):
    return None
