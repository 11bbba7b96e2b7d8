"""Can this backend run this kernel? Core's rule, from features and limits; authors fill a table."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from ..ir.features import UNALIGNED
from ..ir.types import BlockType, Type, element_of
from ..ir.values import SSAFunction, operand_type, walk
from .strict import SANITIZE
from .types import BackendInfo, Capability, Claim, Decline, LaunchSpec, Limits


def largest_block(function: SSAFunction) -> int:
    """Elements of the largest block a function works on (1 if there is none)."""
    types: list[Type | None] = []
    for item in walk(function.body):
        types.extend(operand_type(operand) for operand in item.inputs)
        types.extend(value.ty for value in item.results)
        types.extend(arg.ty for region in item.regions for arg in region.args)
    return max((ty.numel for ty in types if isinstance(ty, BlockType)), default=1)


def limit_features(function: SSAFunction, launch: LaunchSpec, limits: Limits) -> frozenset[str]:
    """The limits a launch exceeds, as feature ids: ``limit.block>1024``, ``limit.grid.y>65535``.

    ``shared_bytes`` depends on the mapping to threads, which only the backend knows.
    """
    found = set()
    if limits.block_elements is not None and largest_block(function) > limits.block_elements:
        found.add(f"limit.block>{limits.block_elements}")
    if limits.grid is not None and launch.grid is not None:
        for axis, extent, limit in zip("xyz", launch.grid, limits.grid, strict=True):
            if extent > limit:
                found.add(f"limit.grid.{axis}>{limit}")
    return frozenset(found)


def launch_features(launch: LaunchSpec) -> frozenset[str]:
    """What a launch needs beyond what the function needs: ``memory.unaligned`` for its arguments,
    ``sanitize.full`` or ``sanitize.bounds`` when it is to be checked."""
    found = set() if all(a.aligned for a in launch.arguments) else {UNALIGNED}
    if mode := launch.options.get(SANITIZE):
        found.add("sanitize.bounds" if mode == "bounds" else "sanitize.full")
    return frozenset(found)


def missing_features(
    function: SSAFunction, launch: LaunchSpec, info: BackendInfo
) -> frozenset[str]:
    """What a launch needs and the backend's table does not say ``yes`` to."""
    needed = function.features() | launch_features(launch)
    needed |= limit_features(function, launch, info.limits)
    table = info.capabilities
    return frozenset(
        feature for feature in needed if (c := table.get(feature)) is None or c.state != "yes"
    )


def describe_missing(missing: Iterable[str], launch: LaunchSpec, info: BackendInfo) -> str:
    """``"missing reduce.sum (planned: trees, issue 12), op.exp"``."""
    text = "missing " + ", ".join(
        feature + _why(info.capabilities.get(feature)) for feature in sorted(missing)
    )
    return f"{text}; {describe_unaligned(launch)}" if UNALIGNED in missing else text


def describe_unaligned(launch: LaunchSpec) -> str:
    """Which arguments are at odd addresses, and what to pass instead."""
    parts = []
    for argument in launch.arguments:
        if not argument.aligned:
            element: Any = getattr(element_of(argument.type), "element", argument.type)
            size = f"{element.itemsize}, the size of its {element} elements"
            parts.append(f"the address of {argument.name!r} is no multiple of {size}")
    return f"{', '.join(parts)}: pass a copy"


def _why(capability: Capability | None) -> str:
    if capability is None or capability.state == "yes":
        return ""
    word = "planned" if capability.state == "planned" else "not possible"
    issue = f", issue {capability.issue}" if capability.issue else ""
    return f" ({word}: {capability.reason}{issue})"


def not_possible(feature: str, reason: str) -> Decline:
    """Declines what a table cannot tell, in the words of one that says no: a kernel whose use of
    ``feature`` the backend finds to be impossible."""
    why = _why(Capability("no", reason))
    return Decline(f"missing {feature}{why}", frozenset({feature}))


def default_claim(function: SSAFunction, launch: LaunchSpec, info: BackendInfo) -> Claim | Decline:
    """Core's rule: every feature declared and every limit held. The score is the priority."""
    missing = missing_features(function, launch, info)
    if missing:
        return Decline(describe_missing(missing, launch, info), missing)
    return Claim(min(100, max(1, info.priority)))


def wrong_device(launch: LaunchSpec, info: BackendInfo) -> str:
    """``"x, out are on 'cuda', arrays on 'cpu' needed"``, or ``""`` when all arrays are where the
    backend can use them. Nothing is ever copied silently."""
    by_kind: dict[str, list[str]] = {}
    for argument in launch.arguments:
        if argument.device_kind and argument.device_kind not in info.device_kinds:
            by_kind.setdefault(argument.device_kind, []).append(argument.name)
    if not by_kind:
        return ""
    parts = [
        f"{', '.join(names)} {'is' if len(names) == 1 else 'are'} on {kind!r}"
        for kind, names in by_kind.items()
    ]
    needed = " or ".join(map(repr, info.device_kinds))
    return f"{' and '.join(parts)}, arrays on {needed} needed"
