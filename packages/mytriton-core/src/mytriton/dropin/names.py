"""What stands for each module of Triton. Nothing here is imported before it is asked for."""

from __future__ import annotations

#: The version programs see: that of the Triton whose language we follow most closely, block pointers
#: included, which later versions drop.
TRITON_VERSION = "3.5.1"

#: Module of Triton to the modules of ours that answer for it, in this order.
MODULES: dict[str, tuple[str, ...]] = {
    "triton": ("mytriton",),
    "triton.backends": ("mytriton.dropin.backends",),
    "triton.backends.compiler": ("mytriton.dropin.backends",),
    "triton.compiler": ("mytriton.dropin.compiler",),
    "triton.compiler.compiler": ("mytriton.dropin.compiler",),
    "triton.compiler.errors": ("mytriton.dropin.compiler", "mytriton.errors"),
    "triton.errors": ("mytriton.errors",),
    "triton.knobs": ("mytriton.dropin.knobs",),
    "triton.language": ("mytriton.language",),
    "triton.language.core": (
        "mytriton.language",
        "mytriton.language.core",
        "mytriton.dropin.later",
    ),
    "triton.language.semantic": ("mytriton.language",),
    "triton.language.standard": ("mytriton.language",),
    "triton.language.random": ("mytriton.language",),
    "triton.runtime": ("mytriton.runtime",),
    "triton.runtime.autotuner": ("mytriton.runtime.autotuner",),
    "triton.runtime.cache": ("mytriton.dropin.cache",),
    "triton.runtime.driver": ("mytriton.runtime.driver",),
    "triton.runtime.errors": ("mytriton.runtime.errors",),
    "triton.runtime.jit": ("mytriton.runtime.jit",),
    "triton.testing": ("mytriton.testing",),
    "triton.tools": ("mytriton.dropin.tools",),
    "triton.tools.tensor_descriptor": ("mytriton.dropin.tensor_descriptor",),
}

#: Packages of ours whose modules stand under the same name below ``triton``.
SAME_BELOW = ("language",)


def targets(name: str) -> tuple[str, ...]:
    """The modules that answer for a module of Triton; none for what we lack."""
    found = MODULES.get(name)
    if found is not None:
        return found
    first, _, rest = name.removeprefix("triton.").partition(".")
    return (f"mytriton.{first}.{rest}",) if first in SAME_BELOW and rest else ()
