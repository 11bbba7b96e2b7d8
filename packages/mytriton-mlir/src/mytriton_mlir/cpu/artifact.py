"""A compiled kernel: its variants, and what picks one at each launch.

The code is compiled for arrays that do not overlap and fit the caches. A launch whose arrays do
overlap, or whose output is larger than the last-level cache, gets a variant of its own, compiled
when it is first needed.
"""

from __future__ import annotations

import ctypes
import struct
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache as cached
from typing import Any

import mytriton.plugin_api as mt
from mytriton.analysis.pointers import accessed_params

from ..llvm import LLVMError, Loaded, llvm, missing
from ..locks import BUILD
from . import cache, engine, fastpath, talk
from .emitter import STREAM_ALIGNMENT, Assumptions, default_assumptions, emit, entry_name
from .pool import pool
from .target import Target
from .texts import Texts, code_bytes

#: How to call exported code.
CALLING = (
    "int32_t entry(const void *slots, int64_t first, int64_t last) runs programs first to last - 1, "
    "counted with axis 0 of the grid fastest; slots are 8 bytes each: the arguments in order (addresses, "
    "int64_t for integers and for bool, 0 or 1; double for floats), then the three extents of the grid; "
    "0 is success"
)


@dataclass
class Variant:
    """Code of one variant. ``cost_address`` is 0 where launches must run on one thread."""

    loaded: Loaded | engine.EngineCode
    cost: Any
    function: int
    cost_address: int


def build(text: str, entry: str, target: Target) -> Loaded | engine.EngineCode:
    """The function of an MLIR module, from this process, from the disk, or compiled."""
    if missing():
        return engine.build(text, entry)
    key = cache.key(text, target)
    symbol = f"{entry}_{key[:24]}"
    with BUILD:
        # The same code is linked once.
        if (found := llvm().loaded(symbol)) is not None:
            return found
        code = cache.get(key)
        if code is not None:
            try:
                return _link(code, symbol)
            except LLVMError:
                cache.drop(key)  # not what was written: compile again
        from .compile import to_object

        code = to_object(text.replace(f"@{entry}(", f"@{symbol}(", 1), target.features)
        made = _link(code, symbol)
        cache.put(key, code)
        return made


def _link(code: bytes, symbol: str) -> Loaded:
    return llvm().load(code, symbol, code_bytes(code))


@cached
def last_level_cache() -> int:
    """Bytes of the last-level cache."""
    for index in ("3", "2"):
        try:
            with open(f"/sys/devices/system/cpu/cpu0/cache/index{index}/size") as file:
                text = file.read().strip()
            return int(text.rstrip("KMG")) << {"K": 10, "M": 20, "G": 30}.get(text[-1], 0)
        except (OSError, ValueError, IndexError):
            continue
    return 32 << 20


class CompiledKernel:
    """What ``mytriton_compile`` gives. Threads may launch it at once: a launch has its own
    descriptor."""

    def __init__(self, source: mt.Source, launch: mt.LaunchSpec, target: Target) -> None:
        function = source.resources["function"]
        self._function: mt.SSAFunction = function
        self._target = target
        self._entry = source.entry
        self._default = default_assumptions(function)
        self._variants: dict[Assumptions, Variant] = {}
        self._prints = talk.prints(function)
        self.parameters = params = function.params
        self.pointers = [k for k, p in enumerate(params) if mt.is_pointer(p.ty)]
        loaded, stored = accessed_params(function)
        self.stored = [k for k in self.pointers if params[k].name in stored]
        self.accessed = [k for k in self.pointers if params[k].name in loaded | stored]
        #: Arrays that are written and never read: candidates for streaming stores.
        self.streamed = [k for k in self.stored if params[k].name not in loaded]
        self._bytes_stored = _bytes_stored(function)
        #: Programs beyond which what they store may not fit the caches.
        self.streaming_from = last_level_cache() // max(1, self._bytes_stored)
        codes = "".join(_slot_format(p.ty) for p in params)
        #: Pairs of arrays of which one is written: they must be apart, or a variant is needed.
        self.pairs = _pairs(self.stored, self.accessed)
        self.pack = struct.Struct(f"=QQQqq{codes}qqq").pack
        self.first = self._variant(self._default, source.text)
        self.workers = pool()
        contiguous = {a.name: a.contiguous for a in launch.arguments}
        #: Reads NumPy arrays without a view of each; ``None``: no array may be read that way.
        self.launch_values: Callable[[Any, Any], None] = self.launch_slowly
        if all(contiguous.get(params[k].name, False) for k in self.accessed):
            fast = fastpath.make(self)
            if fast is not None:
                self.launch_values = fast
        self.metadata: Mapping[str, Any] = {
            "entry": self._entry,
            "target": target.name,
            "vector_bits": target.vector_bits,
            "code_bytes": self.first.loaded.code_bytes,
            "asm": {} if missing() else Texts(source.text, target),
        }

    def _variant(self, assume: Assumptions, text: str | None = None) -> Variant:
        found = self._variants.get(assume)
        if found is None:
            with BUILD:
                if (found := self._variants.get(assume)) is None:
                    if text is None:
                        text = emit(self._function, self._target, assume)
                    loaded = build(text, self._entry, self._target)
                    cost = ctypes.c_double(0.0)
                    address = 0 if self._prints else ctypes.addressof(cost)
                    found = Variant(loaded, cost, loaded.address, address)
                    self._variants[assume] = found
        return found

    def direct(self, plan: mt.DirectLaunch) -> Callable[..., Any] | None:
        """Launches without Python, where that is possible."""
        if self.launch_values == self.launch_slowly:
            return None
        from .native import direct

        return direct(self, plan)

    def launch_slowly(self, grid: tuple[int, int, int], values: Sequence[Any]) -> None:
        """``launch_values`` for arguments of every kind."""
        self.launch(grid, [mt.launch_value(value) for value in values])

    def launch(self, grid: tuple[int, int, int], args: Sequence[Any]) -> None:
        """Run every program of the grid."""
        total = grid[0] * grid[1] * grid[2]
        spans = [args[k].span for k in self.accessed]
        assume = self._assumptions(args, spans, total)
        variant = self.first if assume is None else self._variant(assume)
        values = list(args)
        for k in self.pointers:
            values[k] = values[k].pointer
        # Anything may overlap anything: program after program, in order.
        cost = 0 if assume is not None and not assume.exact else variant.cost_address
        workers = self.workers
        descriptor = self.pack(variant.function, workers.state, cost, total, 0, *values, *grid)
        if status := workers.run(descriptor):
            workers.finish(status, descriptor)

    def _assumptions(
        self, args: Sequence[Any], spans: Sequence[tuple[int, int]], total: int
    ) -> Assumptions | None:
        """What holds of these arrays; ``None`` for the usual."""
        classes = {k: k for k in self.pointers}
        exact = True
        by_parameter = dict(zip(self.accessed, spans))
        for k in self.stored:
            low, high = by_parameter[k]
            for other in self.accessed:
                if other == k:
                    continue
                start, end = by_parameter[other]
                if start < high and low < end:
                    if (
                        args[k].pointer == args[other].pointer
                        and args[k].dtype == args[other].dtype
                    ):
                        first, second = sorted((classes[k], classes[other]))
                        classes = {p: first if c == second else c for p, c in classes.items()}
                    else:
                        exact = False
        streaming = False
        if total * self._bytes_stored > last_level_cache():
            streaming = (
                exact
                and self.streamed == self.stored
                and all(
                    high - low > last_level_cache() and args[k].pointer % STREAM_ALIGNMENT == 0
                    for k in self.streamed
                    for low, high in (by_parameter[k],)
                )
            )
        if exact and not streaming and all(k == c for k, c in classes.items()):
            return None
        names = self._function.params
        if not exact:
            classes = dict.fromkeys(classes, 0)
        numbers = {c: n for n, c in enumerate(dict.fromkeys(classes.values()))}
        found = tuple((names[k].name, numbers[c]) for k, c in classes.items())
        return replace(self._default, classes=found, exact=exact, streaming=streaming)


def _pairs(stored: Sequence[int], accessed: Sequence[int]) -> list[tuple[int, int]]:
    found: dict[tuple[int, int], None] = {}
    for k in stored:
        others = (other for other in accessed if other != k and (other, k) not in found)
        found.update(((k, other), None) for other in others)
    return list(found)


def _slot_format(ty: mt.Type) -> str:
    """How an argument is packed into its slot of 8 bytes."""
    if mt.is_pointer(ty):
        return "Q"
    element = mt.scalar_of(ty)
    if element.is_bool():
        return "?7x"
    return "d" if element.is_floating() else "q"


def _bytes_stored(function: mt.SSAFunction) -> int:
    """Bytes one program stores, loops counted once."""
    total = 0
    for item in mt.walk(function.body):
        if item.opcode == "store":
            ptr = item.inputs[0]
            element = mt.element_of(ptr.ty) if ptr is not None else None
            if isinstance(element, mt.PointerType) and isinstance(ptr.ty, mt.BlockType):  # type: ignore[union-attr]
                total += ptr.ty.numel * element.element.itemsize  # type: ignore[union-attr]
    return total


def lower(function: mt.SSAFunction, target: Target) -> mt.Source:
    """The text of the usual variant; the function travels along for the others."""
    from .spans import Spans

    text = emit(function, target)
    spans = Spans(function, target, text)
    resources = {"function": function, "spans": spans, "calling": CALLING}
    return mt.Source(text, "MLIR", entry_name(function), resources)
