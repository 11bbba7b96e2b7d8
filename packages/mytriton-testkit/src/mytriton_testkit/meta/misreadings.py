"""Backends that misread one operation: the interpreter, with a mistake in what the operation means
or in how its regions run. ``mutants`` makes the like of ``mytriton-c``, which knows fewer operations.

The suite must tell each of them from the right one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np

from mytriton.plugin_api import (
    Artifact,
    Availability,
    BackendInfo,
    Constant,
    Device,
    LaunchSpec,
    Region,
    ScalarType,
    Source,
    SSAFunction,
    SSAItem,
    SSAOp,
    get_op,
    hookimpl,
    print_module,
)  # fmt: skip

from . import info
from .base import Kernel

Meaning = Callable[..., Any]
Rewrite = Callable[[SSAItem], SSAItem]


@dataclass(frozen=True)
class Misreading:
    """One mistake: another NumPy ``meaning`` (given the right one first), or a ``rewrite`` of each
    such operation. ``near``: parts of the ids of cases that must notice."""

    op: str
    what: str
    near: tuple[str, ...]
    meaning: Meaning | None = None
    rewrite: Rewrite | None = None

    @property
    def id(self) -> str:
        return f"{self.op}.{self.what.replace(' ', '_')}"


def _regions(change: Callable[[Sequence[Region]], Sequence[Region]]) -> Rewrite:
    return lambda item: item.rebuild(item.inputs, change(item.regions))


def _yields(region: Region, values: Sequence[Any]) -> Region:
    return Region(region.args, region.body, tuple(values))


def _attrs(change: Callable[[Any], dict[str, Any]]) -> Rewrite:
    def rewrite(item: Any) -> SSAItem:
        attrs = {**item.attrs, **change(item)}
        return SSAOp(item.opcode, item.operands, item.result, attrs, item.regions, item.span)

    return rewrite


_ONE_MORE = {"cmp_lt": "cmp_le", "cmp_gt": "cmp_ge"}


def _or_equal(regions: Sequence[Region]) -> Sequence[Region]:
    """The condition of a ``while`` holds once more."""
    condition, body = regions
    items = [
        SSAOp(_ONE_MORE.get(i.opcode, i.opcode), i.operands, i.result, i.attrs, i.regions, i.span)
        if isinstance(i, SSAOp)
        else i
        for i in condition.body
    ]
    return Region(condition.args, items, condition.yields), body


def _without_acc(item: Any) -> SSAItem:
    if item.operands[2] is None:
        return item  # type: ignore[no-any-return]
    return SSAOp("dot", (*item.operands[:2], None), item.result, item.attrs, (), item.span)


def _signed_upper(right: Meaning, ev: Any, a: Any, b: Any) -> Any:
    found = right(ev, a, b)
    if a.dtype.kind != "i":
        return found
    return found - np.where(a < 0, b, 0) - np.where(b < 0, a, 0)


def _last_of_equals(right: Meaning, ev: Any, a: Any) -> Any:
    if ev.attrs.get("axis") is None:
        return right(ev, a)
    axis = ev.attrs["axis"] + 1
    return a.shape[axis] - 1 - right(ev, np.flip(a, axis))


def _half_sums(right: Meaning, ev: Any, a: Any, b: Any, acc: Any) -> Any:
    found = right(ev, a, b, acc)
    return found.astype(np.float16).astype(found.dtype) if a.dtype == np.float16 else found


def _logical(right: Meaning, ev: Any, a: Any, b: Any) -> Any:
    unsigned = np.dtype(f"u{a.dtype.itemsize}")
    return right(ev, a.view(unsigned), b.view(unsigned)).view(a.dtype)


def _by_value(right: Meaning, ev: Any, a: Any) -> Any:
    dtype: ScalarType = ev.attrs["dtype"]
    return a.astype(right(ev, a).dtype) if dtype.name != "bool" else right(ev, a)


def _like(op: str) -> Meaning:
    """The meaning of another operation."""

    def meaning(right: Meaning, ev: Any, *operands: Any) -> Any:
        other = get_op(op).numpy
        assert other is not None
        return other(ev, *operands)

    return meaning


def _instead(compute: Callable[..., Any]) -> Meaning:
    """A meaning that has nothing to do with the right one."""
    return lambda right, ev, *operands: compute(*operands)


def _integers(compute: Callable[..., Any]) -> Meaning:
    """Wrong for integers only."""

    def meaning(right: Meaning, ev: Any, a: Any, b: Any) -> Any:
        return compute(a, np.where(b == 0, 1, b)) if a.dtype.kind == "i" else right(ev, a, b)

    return meaning


def _meanings() -> Iterator[Misreading]:
    table: dict[str, tuple[str, Meaning, tuple[str, ...]]] = {
        "div": ("floors", _integers(lambda a, b: a // b), ("operator.division",)),
        "rem": ("takes the sign of the divisor", _integers(np.mod), ("operator.division",)),
        "shr": ("is logical", _logical, ("operator.shifts",)),
        "or": ("is exclusive", _instead(np.bitwise_xor), ("operator.bits", "operator.or")),
        "xor": ("is inclusive", _instead(np.bitwise_or), ("operator.bits", "operator.xor")),
        "not": ("negates", lambda right, ev, a: ~right(ev, ~a) + a.dtype.type(1), ("operator.bits",)),
        "cmp_le": ("leaves equals out", _instead(np.less), ("operator.compare", "operator.le")),
        "cmp_gt": ("or equal", _instead(np.greater_equal), ("operator.compare", "operator.gt")),
        "cmp_ge": ("not less", _instead(lambda a, b: ~(a < b)), ("operator.compare.special",)),
        "cmp_eq": (
            "of bits", lambda right, ev, a, b: right(ev, a, b) & (np.signbit(a) == np.signbit(b))
            if a.dtype.kind == "f" else right(ev, a, b), ("operator.compare.special",)
        ),
        "cmp_ne": ("is false for NaN", _instead(lambda a, b: (a < b) | (a > b)), ("operator.compare",)),
        "umulhi": ("is signed", _signed_upper, ("function.umulhi",)),
        "bitcast": ("converts", _by_value, ("cast.bits",)),
        "abs": ("negates", _instead(np.negative), ("function.abs",)),
        "exp2": ("has another base", _instead(np.exp), ("function.exp2",)),
        "log": ("has another base", _instead(np.log2), ("function.log[",)),
        "log2": ("has another base", _instead(np.log), ("function.log2",)),
        "sqrt": ("of the magnitude", _instead(lambda a: np.sqrt(np.abs(a))), ("function.sqrt",)),
        "rsqrt": ("is not inverted", _instead(np.sqrt), ("function.rsqrt",)),
        "sin": ("leads by a quarter", _instead(np.cos), ("function.sin",)),
        "cos": ("lags by a quarter", _instead(np.sin), ("function.cos",)),
        "tanh": ("is an erf", _like("erf"), ("function.tanh",)),
        "erf": ("is a tanh", _instead(np.tanh), ("function.erf",)),
        "floor": ("truncates", _instead(np.trunc), ("function.floor",)),
        "ceil": ("goes up from whole numbers", _instead(lambda a: np.floor(a) + 1), ("function.ceil",)),
        "trunc": ("floors", _instead(np.floor), ("function.trunc",)),
        "rint": (
            "rounds halves up", _instead(lambda a: np.floor(a + a.dtype.type(0.5))), ("function.rint",)
        ),
        "fma": ("forgets the addend", _instead(lambda a, b, c: a * b + c * 0), ("function.fma",)),
        "argmax": ("is the last of equals", _last_of_equals, ("axis.positions.ties",)),
        "argmin": ("is the last of equals", _last_of_equals, ("axis.positions.ties",)),
        "xor_sum": (
            "is a sum", _like("sum"), ("axis.xor_sum",)
        ),
        "trans": (
            "keeps the order of memory",
            lambda right, ev, a: a.reshape(right(ev, a).shape), ("trans.",),
        ),
        "dot": ("rounds sums to half", _half_sums, ("dot.acc", "dot.type")),
    }  # fmt: skip
    for op, (what, meaning, near) in table.items():
        yield Misreading(op, what, near, meaning=meaning)


def _rewrites() -> Iterator[Misreading]:
    never = Constant(False, ScalarType("bool"))
    yield Misreading("if", "sides exchanged", ("branch.sign",), rewrite=_regions(lambda r: r[::-1]))
    yield Misreading("if", "always the first", ("return.", "branch.sign"),
                     rewrite=_regions(lambda r: (r[0], r[0])))  # fmt: skip
    yield Misreading("while", "once more", ("while.fibonacci",), rewrite=_regions(_or_equal))
    yield Misreading(
        "while", "never", ("while.gcd", "trap.halving"),
        rewrite=_regions(lambda r: (_yields(r[0], (never,)), r[1])),
    )  # fmt: skip
    yield Misreading(
        "reduce", "keeps the left", ("combine.",),
        rewrite=_regions(lambda r: [_yields(r[0], r[0].args[: len(r[0].yields)])]),
    )  # fmt: skip
    yield Misreading(
        "reduce", "operands exchanged", ("combine.compose",), rewrite=_regions(
            lambda r: [Region((*r[0].args[len(r[0].yields) :], *r[0].args[: len(r[0].yields)]),
                              r[0].body, r[0].yields)]
        ),
    )  # fmt: skip
    yield Misreading(
        "dot", "forgets the accumulator", ("dot.acc", "dot.empty"), rewrite=_without_acc
    )
    yield Misreading(
        "num_programs", "of the next axis", ("grid.num_programs",),
        rewrite=_attrs(lambda op: {"axis": (op.attrs["axis"] + 1) % 3}),
    )  # fmt: skip


def all_misreadings() -> list[Misreading]:
    """Every one; ids are unique."""
    return [*_meanings(), *_rewrites()]


def _rewritten(items: Sequence[SSAItem], op: str, rewrite: Rewrite) -> list[SSAItem]:
    found: list[SSAItem] = []
    for item in items:
        regions = [Region(r.args, _rewritten(r.body, op, rewrite), r.yields) for r in item.regions]
        again = item.rebuild(item.inputs, regions)
        found.append(rewrite(again) if item.opcode == op else again)
    return found


class MisreadingBackend:
    """The interpreter with one mistake, as a plugin object."""

    INFO: BackendInfo

    def __init__(self, wrong: Misreading | None) -> None:
        self.wrong = wrong
        self.INFO = info("misreading", f"misreads {wrong.id if wrong else 'nothing'}")

    @hookimpl
    def mytriton_probe(self) -> Availability:
        return Availability(devices=(Device("cpu"),))

    @hookimpl
    def mytriton_lower(self, function: SSAFunction, launch: LaunchSpec) -> Source:
        wrong = self.wrong
        if wrong is not None and wrong.rewrite is not None:
            body = _rewritten(function.body, wrong.op, wrong.rewrite)
            function = SSAFunction(function.name, function.params, body)
        return Source(print_module(function), "SSA", function.name, {"function": function})

    @hookimpl
    def mytriton_compile(self, source: Source, launch: LaunchSpec) -> Artifact:
        from mytriton.interpreter.machine import run
        from mytriton.interpreter.plan import make_plan

        plan = make_plan(source.resources["function"])

        def launched(grid: tuple[int, int, int], args: Sequence[Any]) -> None:
            with self._mistaken():
                run(plan, args, grid)

        return Kernel(launched)

    @contextmanager
    def _mistaken(self) -> Iterator[None]:
        """While a kernel runs, the operation means something else."""
        if self.wrong is None or self.wrong.meaning is None:
            yield
            return
        definition, meaning = get_op(self.wrong.op), self.wrong.meaning
        right = definition.numpy

        def wrong(ev: Any, *operands: Any) -> Any:
            return meaning(right, ev, *operands)

        # Declarations are immutable for everyone else.
        object.__setattr__(definition, "numpy", wrong)
        try:
            yield
        finally:
            object.__setattr__(definition, "numpy", right)


class _Plugins:
    """``PLUGINS.div__floors`` is the backend with that mistake, ``PLUGINS.none`` the right one."""

    def __getattr__(self, name: str) -> MisreadingBackend:
        if name == "none":
            return MisreadingBackend(None)
        for wrong in all_misreadings():
            if wrong.id.replace(".", "__") == name:
                return MisreadingBackend(wrong)
        raise AttributeError(name)


PLUGINS = _Plugins()
#: What the suite is told to test ``PLUGINS.<name>``.
PLUGIN = "mytriton_testkit.meta.misreadings:PLUGINS."
