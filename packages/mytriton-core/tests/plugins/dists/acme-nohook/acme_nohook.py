"""Lacks a required hook."""

from mytriton.plugin_api import Availability, hookimpl


@hookimpl
def mytriton_probe():
    return Availability()


class Kernel:
    def __init__(self):
        self.metadata = {}
        self.launches = []

    def launch(self, grid, args):
        self.launches.append((grid, args))


@hookimpl
def mytriton_compile(source, launch):
    return Kernel()
