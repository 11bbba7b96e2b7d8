"""What a running kernel tells its user: ``tl.device_print`` and ``tl.device_assert``."""

from __future__ import annotations

from .. import rules
from ..registry import Effect, OpDef, register
from ..types import BOOL, is_pointer, scalar_of


def _infer_print(types: rules.Types, attrs: rules.Attrs) -> None:
    if not isinstance(attrs.get("prefix"), str):
        raise rules.OpRuleError(
            f"device_print: the prefix must be a string, got {attrs.get('prefix')!r}"
        )
    for ty in types:
        rules.number(ty, "device_print")


def _infer_assert(types: rules.Types, attrs: rules.Attrs) -> None:
    (condition, mask) = types
    for what, ty in (("condition", condition), ("mask", mask)):
        if ty is not None and (is_pointer(ty) or scalar_of(ty) != BOOL):
            raise rules.OpRuleError(f"device_assert: the {what} must be bool, got {ty}")


device_print = register(
    OpDef(
        "device_print", ("values*",), _infer_print, lambda ev, *values: ev.print(values),
        "Prints the prefix and values from a running program.",
        attrs=("prefix", "hex?"), effects=Effect.IO, foldable=False, speculatable=False,
        constants="own",
    )
)  # fmt: skip
device_assert = register(
    OpDef(
        "device_assert", ("condition", "mask?"), _infer_assert,
        lambda ev, condition, mask: ev.check(condition, mask),
        "Stops the launch with an error when the condition is false in a lane the mask selects.",
        attrs=("message",), effects=Effect.IO, foldable=False, speculatable=False, constants="bool",
    )
)  # fmt: skip
