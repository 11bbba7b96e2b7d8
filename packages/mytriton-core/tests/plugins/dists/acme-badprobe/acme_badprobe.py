"""Its probe raises."""

from mytriton.plugin_api import Source, hookimpl


@hookimpl
def mytriton_probe():
    raise OSError("libacme.so.1: cannot open shared object file")


@hookimpl
def mytriton_lower(function, launch):
    return Source(f"// badprobe: {function.name}\n", "toy", function.name)


class Kernel:
    def __init__(self):
        self.metadata = {}
        self.launches = []

    def launch(self, grid, args):
        self.launches.append((grid, args))


@hookimpl
def mytriton_compile(source, launch):
    return Kernel()
