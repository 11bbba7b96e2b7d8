"""Gives text anywhere, launches on a device."""

import os

from mytriton.plugin_api import Availability, Device, Source, hookimpl


@hookimpl
def mytriton_probe():
    if os.environ.get("ACME_GPU") or os.environ.get("MYTRITON_EMULATE") == "1":
        return Availability(devices=(Device("gpu", "Acme One", "a1"),))
    return Availability(can_launch=False, reason="no Acme GPU", hint="plug one in")


@hookimpl
def mytriton_lower(function, launch):
    return Source(f"// gpu: {function.name}\n", "toy", function.name)


class Kernel:
    def __init__(self):
        self.metadata = {}
        self.launches = []

    def launch(self, grid, args):
        self.launches.append((grid, args))


@hookimpl
def mytriton_compile(source, launch):
    return Kernel()
