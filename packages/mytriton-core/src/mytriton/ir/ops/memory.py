"""Pointers, loads and stores."""

from __future__ import annotations

from .. import rules
from ..registry import Effect, OpDef, register
from ..types import BOOL, PointerType, Type, element_of, is_pointer, scalar_of, with_shape


def _infer_addptr(types: rules.Types, attrs: rules.Attrs) -> Type:
    base, offset = types
    element = rules.pointee(base, "addptr")
    if not rules.number(offset, "addptr", "offset").is_integer():
        raise rules.OpRuleError(
            f"addptr: the offset must be an integer, got {offset}; convert it with .to(tl.int32)"
        )
    try:
        return with_shape(rules.shapes(base, offset), PointerType(element))
    except rules.OpRuleError as error:
        raise rules.OpRuleError(f"addptr of {base} and {offset}: {error}") from None


def _check_mask(op: str, ptr: Type | None, mask: Type | None) -> None:
    if mask is None:
        return
    if is_pointer(mask) or scalar_of(mask) != BOOL:
        raise rules.OpRuleError(f"{op}: the mask must be bool, got {mask}")
    rules.fits(mask, ptr, op, "mask")


def _infer_load(types: rules.Types, attrs: rules.Attrs) -> Type:
    ptr, mask, other = types
    element = rules.pointee(ptr, "load")
    _check_mask("load", ptr, mask)
    if other is not None:
        if mask is None:
            raise rules.OpRuleError("load: other needs a mask")
        if is_pointer(other) or element_of(other) != element:
            raise rules.OpRuleError(f"load: other is {other}, the pointer is {ptr}")
        rules.fits(other, ptr, "load", "other")
    return with_shape(rules.shapes(ptr), element)


def _infer_store(types: rules.Types, attrs: rules.Attrs) -> None:
    ptr, value, mask = types
    element = rules.pointee(ptr, "store")
    if value is None or is_pointer(value) or element_of(value) != element:
        raise rules.OpRuleError(
            f"store: the value is {value if value else 'none'}, the pointer is {ptr}"
        )
    rules.fits(value, ptr, "store", "value")
    _check_mask("store", ptr, mask)


addptr = register(
    OpDef(
        "addptr", ("base", "offset"), _infer_addptr, lambda ev, base, offset: ev.advance(base, offset),
        "Pointer arithmetic in elements: `ptr + offsets`. The offset is an integer scalar or block.",
        constants="i32", foldable=False,
    )
)  # fmt: skip
load = register(
    OpDef(
        "load", ("ptr", "mask?", "other?"), _infer_load,
        lambda ev, ptr, mask, other: ev.load(ptr, mask, other),
        "Read from memory. Lanes whose mask is false touch no memory and give `other` (zero when it "
        "is left out).",
        effects=Effect.READ, foldable=False, speculatable=False, constants="pointee",
    )
)  # fmt: skip
store = register(
    OpDef(
        "store", ("ptr", "value", "mask?"), _infer_store,
        lambda ev, ptr, value, mask: ev.store(ptr, value, mask),
        "Write to memory. Lanes whose mask is false touch no memory.",
        effects=Effect.WRITE, foldable=False, speculatable=False, constants="pointee",
    )
)  # fmt: skip
