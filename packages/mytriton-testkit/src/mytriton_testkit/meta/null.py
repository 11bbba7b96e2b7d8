"""Declares nothing and declines everything."""

from __future__ import annotations

from mytriton.plugin_api import (
    Artifact,
    LaunchSpec,
    Source,
    SSAFunction,
    UnsupportedFeature,
    hookimpl,
)  # fmt: skip

from . import NOTHING, info
from .base import mytriton_probe

__all__ = ["INFO", "mytriton_compile", "mytriton_lower", "mytriton_probe"]

INFO = info("null", "declines everything", NOTHING)


@hookimpl
def mytriton_lower(function: SSAFunction, launch: LaunchSpec) -> Source:
    raise UnsupportedFeature(min(function.features(), default="op.load"), "nothing is done here")


@hookimpl
def mytriton_compile(source: Source, launch: LaunchSpec) -> Artifact:
    raise UnsupportedFeature("op.load", "nothing is done here")
