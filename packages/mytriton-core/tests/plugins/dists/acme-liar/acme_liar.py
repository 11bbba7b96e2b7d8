"""Claims what it cannot lower."""

from mytriton.plugin_api import Availability, UnsupportedFeature, hookimpl


@hookimpl
def mytriton_probe():
    return Availability()


@hookimpl
def mytriton_lower(function, launch):
    raise UnsupportedFeature("op.add")


class Kernel:
    def __init__(self):
        self.metadata = {}
        self.launches = []

    def launch(self, grid, args):
        self.launches.append((grid, args))


@hookimpl
def mytriton_compile(source, launch):
    return Kernel()
