"""What to write instead of syntax the language lacks, added to the refusal."""

from __future__ import annotations

_FUNCTIONS = (
    "; define functions outside of the kernel, decorate them with @triton.jit and call them"
)
_IMPORTS = "; import at the top of the file"
_RESULTS = "; return results through memory: tl.store"
_ASYNC = "; a kernel waits for nothing: write it without async and await"
_GENERATORS = "; a kernel gives results through memory: tl.store; write a function that returns"
_TRY = "; errors cannot be caught in a kernel: mask what may go wrong"
_TABLES = "; use a tuple, or tl.constexpr parameters"

#: What NumPy's arrays have and pointers do not.
OF_ARRAYS = frozenset({
    "size", "ndim", "dim", "strides", "stride", "nbytes", "numel", "itemsize", "flat", "copy",
    "tolist", "item", "fill", "astype", "ravel", "flatten",
})  # fmt: skip
NO_SHAPE = (
    "an array is a pointer in a kernel, without length and shape; pass those that are needed as "
    "arguments, and tl.load the elements"
)

HINTS = {
    "Break": "; give the loop the right bound, use while with a condition, or mask what is left",
    "Continue": "; put what is to be skipped under an if, or mask it",
    "FunctionDef": _FUNCTIONS,
    "Lambda": _FUNCTIONS,
    "ClassDef": "; define classes outside of the kernel, and pass numbers, arrays or tuples of them",
    "Import": _IMPORTS,
    "ImportFrom": _IMPORTS,
    "Global": _RESULTS,
    "Nonlocal": _RESULTS,
    "Delete": "; names need no deleting",
    "With": "; write its body without it",
    "Try": _TRY,
    "TryStar": _TRY,
    "Match": "; write if, elif and else",
    "Dict": _TABLES,
    "DictComp": _TABLES,
    "Set": "; use a tuple",
    "SetComp": "; use a tuple",
    "NamedExpr": "; assign on a line of its own",
    "Starred": "; name each value",
    "GeneratorExp": "; write a for loop over tl.static_range(...)",
    "Yield": _GENERATORS,
    "YieldFrom": _GENERATORS,
    "AsyncFunctionDef": _ASYNC,
    "AsyncFor": _ASYNC,
    "AsyncWith": _ASYNC,
    "Await": _ASYNC,
    "TypeAlias": "; define types outside of the kernel",
    "TemplateStr": "; use an f-string of compile-time values",
    "Interpolation": "; use an f-string of compile-time values",
}
