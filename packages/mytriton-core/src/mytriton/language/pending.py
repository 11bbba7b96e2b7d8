"""Names of Triton's language that are not here yet, so that messages can say so."""

from __future__ import annotations

_BLOCK_POINTERS = "compute the pointers: base + rows[:, None] * stride + cols[None, :]"

#: What to use instead, or ``""``.
PENDING: dict[str, str] = {
    **dict.fromkeys(
        ("reshape", "view", "ravel", "squeeze", "unsqueeze", "join", "split", "interleave", "cat",
         "item", "gather", "histogram", "map_elementwise", "cumsum", "cumprod", "associative_scan",
         "sort", "topk", "flip", "bitonic_merge", "rand", "randn", "randint", "rand4x", "randn4x",
         "randint4x", "philox", "philox_impl", "pair_uniform_to_normal", "uint_to_uniform_float",
         "atomic_add", "atomic_and", "atomic_cas", "atomic_load", "atomic_max", "atomic_min",
         "atomic_or", "atomic_store", "atomic_xchg", "atomic_xor", "dot_scaled",
         "inline_asm_elementwise", "expect_zero"),
        "",
    ),
    "reduce_or": "use tl.reduce with a @triton.jit function that returns a | b",
    **dict.fromkeys(
        ("make_block_ptr", "advance", "make_tensor_descriptor", "load_tensor_descriptor",
         "store_tensor_descriptor"),
        _BLOCK_POINTERS,
    ),
}  # fmt: skip


def missing(owner: str, name: str) -> str:
    """The message for an attribute that is not there."""
    if name in PENDING:
        hint = f"; {PENDING[name]}" if PENDING[name] else ""
        return f"{owner} has no {name!r} yet: it is not supported{hint}"
    return f"{owner} has no attribute {name!r}"
