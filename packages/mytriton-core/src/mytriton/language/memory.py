"""``tl.load`` and ``tl.store``."""

from __future__ import annotations

from typing import Any

from ..errors import OpRuleError
from ..ir import expr
from ..ir.types import BOOL, broadcast_shapes, is_pointer
from .checks import choice, pointee_of, static_bool
from .compile_time import unwrap
from .marks import builtin
from .shapes import widen
from .symbolic import as_type, build, describe, is_literal, literal, tensor, to_memory

LOAD_CACHE = ("", ".ca", ".cg", ".cs", ".cv")
STORE_CACHE = ("", ".wb", ".cg", ".cs", ".wt")
EVICTION = ("", "evict_normal", "evict_first", "evict_last")


@builtin
def load(
    pointer: tensor,
    mask: Any = None,
    other: Any = None,
    boundary_check: Any = (),
    padding_option: str = "",
    cache_modifier: str = "",
    eviction_policy: str = "",
    volatile: bool = False,
) -> tensor:
    """Read from memory: a scalar, or a block of the pointer block's shape.

    ``mask`` (bool or integer, where not zero is true; broadcasts with the pointer) selects the lanes
    that are read; the others touch no memory and give ``other``, or zero when it is left out.
    ``other`` is a literal, runtime scalar or block, converted to the element type.
    ``cache_modifier``, ``eviction_policy`` and ``volatile`` are hints and change no result.

    Raises for a value that is no pointer, shapes that do not broadcast, ``other`` without a mask, and
    ``boundary_check`` or ``padding_option``, which belong to block pointers.
    """
    element = pointee_of(pointer, "load")
    _no_block_pointer("load", boundary_check, padding_option)
    _hints("load", cache_modifier, LOAD_CACHE, eviction_policy)
    static_bool(volatile, "load: volatile")
    condition = _mask(mask)
    other = unwrap(other)
    if other is not None and condition is None:
        raise OpRuleError("load: other needs a mask; without one every lane is read")
    if condition is not None and pointer.shape and condition.shape:
        # As in Triton a mask may have more lanes than the pointer: then the pointer is repeated.
        try:
            pointer = widen(pointer, broadcast_shapes(pointer.shape, condition.shape))
        except OpRuleError as error:
            raise OpRuleError(
                f"load: the mask ({condition.type}) does not fit the pointer ({pointer.type}): {error}"
            ) from None
    fallback = None if other is None else to_memory(other, element)
    return build(expr.Load(pointer.expr, _node(condition), fallback))


@builtin
def store(
    pointer: tensor,
    value: Any,
    mask: Any = None,
    boundary_check: Any = (),
    cache_modifier: str = "",
    eviction_policy: str = "",
) -> None:
    """Write ``value`` to memory, converted to the pointee type and broadcast to the pointer's shape.

    Lanes whose ``mask`` (bool or integer; broadcasts to the pointer) is false touch no memory. Floats
    are truncated where the memory holds integers, anything but zero is true where it holds bools, and
    integer literals may be given by their bits. ``cache_modifier`` and ``eviction_policy`` are hints.

    Raises for a value that is no pointer and for a value or mask with more lanes than the pointer.
    """
    element = pointee_of(pointer, "store")
    _no_block_pointer("store", boundary_check, "")
    _hints("store", cache_modifier, STORE_CACHE, eviction_policy)
    if isinstance(value, tensor) and is_pointer(value.type):
        raise OpRuleError(
            f"store: a pointer cannot be stored, got {value.type}; store the number tl.load gives"
        )
    condition = _mask(mask)
    build(expr.Store(pointer.expr, to_memory(value, element), _node(condition)))


def _mask(mask: Any) -> tensor | None:
    mask = unwrap(mask)
    if mask is None:
        return None
    if is_literal(mask):
        return tensor(literal(bool(mask)))
    if not isinstance(mask, tensor) or is_pointer(mask.type):
        raise OpRuleError(f"the mask must be a bool or a block of bools, got {describe(mask)}")
    if mask.dtype.is_floating():
        raise OpRuleError(f"the mask must be a bool or a block of bools, got {mask.type}")
    return tensor(as_type(mask, BOOL))


def _node(value: tensor | None) -> Any:
    return None if value is None else value.expr


def _no_block_pointer(name: str, boundary_check: Any, padding_option: Any) -> None:
    for what, value in (("boundary_check", boundary_check), ("padding_option", padding_option)):
        if unwrap(value) not in ((), [], "", None):
            raise OpRuleError(
                f"{name}: {what} needs a block pointer (tl.make_block_ptr), which is not supported yet; "
                "pass a mask"
            )


def _hints(name: str, cache: Any, caches: tuple[str, ...], eviction: Any) -> None:
    if cache != "":
        choice(cache, caches, name, "cache_modifier")
    if eviction != "":
        choice(eviction, EVICTION, name, "eviction_policy")
