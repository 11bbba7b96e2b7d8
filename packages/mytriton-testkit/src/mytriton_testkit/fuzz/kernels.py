"""Random kernels as source text, and what they compute by plain NumPy.

A kernel is a small tree of its own: ``source`` spells it in the language, ``evaluate`` computes it
directly. Neither knows anything of SSA, so the two meet only in the result.
"""

from __future__ import annotations

import linecache
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Union

import numpy as np
import numpy.typing as npt

import mytriton as triton
import mytriton.language as tl

Array = npt.NDArray[Any]


@dataclass(frozen=True)
class Name:
    name: str


@dataclass(frozen=True)
class Literal:
    value: int | float


@dataclass(frozen=True)
class Call:
    """An operator or function of the language."""

    what: str
    args: tuple[Expr, ...]


@dataclass(frozen=True)
class Load:
    """``tl.load(array + offs + shift, mask=mask[, other=other])``"""

    array: str
    shift: str
    mask: str
    other: float | None


Expr = Union[Name, Literal, Call, Load]  # noqa: UP007 (named in a string above)


@dataclass(frozen=True)
class Assign:
    name: str
    value: Expr


@dataclass(frozen=True)
class Store:
    array: str
    value: str
    mask: str


@dataclass(frozen=True)
class Loop:
    index: str
    start: str | int
    stop: str | int
    step: int
    body: tuple[Statement, ...]


@dataclass(frozen=True)
class If:
    """A branch on a scalar."""

    condition: Expr
    then: tuple[Statement, ...]
    other: tuple[Statement, ...]


@dataclass(frozen=True)
class While:
    """``count = start`` and then ``while count > 0``; the body ends in ``count = count word by``."""

    count: str
    start: str | int
    word: str
    by: int
    body: tuple[Statement, ...]


Statement = Union[Assign, Store, Loop, If, While]  # noqa: UP007
COMPARISONS: Mapping[str, Any] = {
    "<": np.less, "<=": np.less_equal, ">": np.greater, ">=": np.greater_equal, "==": np.equal,
    "!=": np.not_equal,
}  # fmt: skip
BITS: Mapping[str, Any] = {"&": np.bitwise_and, "|": np.bitwise_or, "^": np.bitwise_xor}
INFIX = ("+", "-", "*", "/", "//", "%", *COMPARISONS, *BITS)
#: Functions of one float that NumPy computes to the last bit as the interpreter does.
FLOATS: Mapping[str, Any] = {
    "exp": np.exp, "floor": np.floor, "ceil": np.ceil, "sqrt": np.sqrt, "sin": np.sin,
}  # fmt: skip
ARRAYS = {"x0": "f32", "x1": "f32", "i0": "i32", "i1": "i32", "of": "f32", "og": "f32", "oi": "i32"}
OUTPUTS = ("of", "og", "oi")
#: Arrays are this much longer than the elements in use, for loads that are shifted.
SLACK = 8
#: Element types, the one that wins a promotion first.
DTYPES: Mapping[str, Any] = {
    "f32": np.float32, "f16": np.float16, "i64": np.int64, "i32": np.int32, "i8": np.int8,
    "bool": np.bool_,
}  # fmt: skip
NAMES = {
    "f32": "float32", "f16": "float16", "i64": "int64", "i32": "int32", "i8": "int8", "bool": "int1"
}  # fmt: skip


@dataclass(frozen=True)
class Kernel:
    """A random kernel and its launch."""

    body: tuple[Statement, ...]
    block: int
    programs: int
    n: int
    k: int
    s: float
    t: int
    seed: int

    def arguments(self) -> dict[str, Any]:
        """Fresh arguments, the same ones each time."""
        rng = np.random.default_rng(self.seed)
        found: dict[str, Any] = {}
        for name, ty in ARRAYS.items():
            values = rng.integers(-9, 10, self.n + SLACK)
            found[name] = values.astype(np.int32)
            if ty == "f32":
                fractions = (values + rng.standard_normal(len(values))).astype(np.float32)
                odd = rng.choice([np.nan, np.inf, -0.0, 0.0, -np.inf], len(values))
                found[name] = np.where(rng.random(len(values)) < 0.1, odd, fractions).astype("f4")
            elif rng.random() < 0.3:
                found[name] = rng.integers(-(2**31), 2**31, len(values)).astype(np.int32)
        scalars = {"n": self.n, "k": self.k, "s": self.s, "t": self.t, "BLOCK": self.block}
        return {**found, **scalars}


# ---------------------------------------------------------------------------- source text


def _spell(e: Expr) -> str:
    if isinstance(e, Name):
        return e.name
    if isinstance(e, Literal):
        return f"({e.value!r})" if e.value < 0 or str(e.value)[0] == "-" else repr(e.value)
    if isinstance(e, Load):
        other = "" if e.other is None else f", other={e.other!r}"
        return f"tl.load({e.array} + offs + {e.shift}, mask={e.mask}{other})"
    args = [_spell(a) for a in e.args]
    if e.what in INFIX:
        return f"({args[0]} {e.what} {args[1]})"
    if e.what in NAMES:
        return f"{args[0]}.to(tl.{NAMES[e.what]})"
    return f"(-{args[0]})" if e.what == "neg" else f"tl.{e.what}({', '.join(args)})"


def _lines(body: Sequence[Statement], depth: int) -> list[str]:
    pad, found = "    " * depth, []
    for one in body:
        if isinstance(one, Assign):
            found.append(f"{pad}{one.name} = {_spell(one.value)}")
        elif isinstance(one, Store):
            found.append(f"{pad}tl.store({one.array} + offs, {one.value}, mask={one.mask})")
        elif isinstance(one, If):
            found.append(f"{pad}if {_spell(one.condition)}:")
            found += _lines(one.then, depth + 1)
            if one.other:
                found.append(f"{pad}else:")
                found += _lines(one.other, depth + 1)
        elif isinstance(one, While):
            found += [f"{pad}{one.count} = {one.start}", f"{pad}while {one.count} > 0:"]
            found += _lines(one.body, depth + 1)
            found.append(f"{pad}    {one.count} = {one.count} {one.word} {one.by}")
        else:
            bounds = f"{one.start}, {one.stop}, {one.step}"
            found.append(f"{pad}for {one.index} in range({bounds}):")
            found += _lines(one.body, depth + 1)
    return found


def source(kernel: Kernel) -> str:
    """The kernel in the language."""
    params = ", ".join([*ARRAYS, "n", "k", "s", "t", "BLOCK: tl.constexpr"])
    head = [
        "@triton.jit", f"def random_kernel({params}):",
        "    pid = tl.program_id(0)", "    offs = pid * BLOCK + tl.arange(0, BLOCK)",
        "    mask = offs < n",
    ]  # fmt: skip
    return "\n".join([*head, *_lines(kernel.body, 1)]) + "\n"


def jitted(kernel: Kernel) -> Any:
    """The kernel as ``@triton.jit`` makes it of its source."""
    text = source(kernel)
    filename = f"<random kernel {kernel.seed}>"
    linecache.cache[filename] = (len(text), None, text.splitlines(True), filename)
    scope: dict[str, Any] = {"triton": triton, "tl": tl, "__name__": "random_kernels"}
    exec(compile(text, filename, "exec"), scope)
    return scope["random_kernel"]


# ---------------------------------------------------------------------------- plain NumPy


def _meet(a: Any, b: Any, division: bool = False) -> tuple[Array, Array]:
    """Two operands in the type they meet in; a literal takes the other's type unless it is of a
    higher kind. 16-bit floats divide in f32, and so do integers."""
    if isinstance(a, (int, float)) or isinstance(b, (int, float)):
        known, number = (b, a) if isinstance(a, (int, float)) else (a, b)
        ty = known.dtype
        if ty.kind != "f" and isinstance(number, float):
            ty = np.dtype(np.float32)
        elif ty.kind == "b":
            ty = np.dtype(np.int32)
    else:
        ty = next(np.dtype(t) for t in DTYPES.values() if np.dtype(t) in (a.dtype, b.dtype))
    if (division and ty.itemsize != 4) or (division and ty.kind != "f"):
        ty = np.dtype(np.float32)
    return np.asarray(a, ty), np.asarray(b, ty)


def _float(what: str, x: Array) -> Array:
    """16-bit floats compute in f32 and round back."""
    wide = x.astype(np.float32) if x.dtype == np.float16 else x
    return np.asarray(FLOATS[what](wide)).astype(x.dtype)


def _quotient(a: Array, b: Array) -> Array:
    """Towards zero, as in C. The divisor is a literal and not zero."""
    size = np.abs(a.astype(object)) // np.abs(b.astype(object))
    signed = np.where((a < 0) != (b < 0), -size, size)
    return np.asarray(signed).astype(np.int64).astype(a.dtype)


def _apply(what: str, args: list[Any]) -> Array:
    if what in DTYPES:
        return np.asarray(args[0]).astype(DTYPES[what])
    if what in ("neg", "abs"):
        return np.asarray((np.negative if what == "neg" else np.abs)(args[0]))
    if what in FLOATS:
        return _float(what, args[0])
    if what == "where":
        return np.where(args[0], *_meet(args[1], args[2]))
    a, b = _meet(args[0], args[1], what == "/")
    if what == "/":
        return np.asarray(a / b)
    if what in ("//", "%"):
        quotient = _quotient(a, b)
        return quotient if what == "//" else np.asarray(a - quotient * b)
    if what in ("+", "-"):
        if a.dtype == np.bool_:
            return np.asarray(a ^ b)
        return np.asarray(a + b if what == "+" else a - b)
    if what == "*":
        return np.asarray(a * b)
    if what in COMPARISONS or what in BITS:
        return np.asarray((COMPARISONS.get(what) or BITS[what])(a, b))
    wins = a > b if what == "maximum" else a < b
    return np.where(wins | (a != a), a, b)


@dataclass
class _Machine:
    arrays: dict[str, Array]
    env: dict[str, Array]
    offs: Array
    scalars: Mapping[str, Any] = field(default_factory=dict)

    def value(self, e: Expr) -> Any:
        if isinstance(e, Name):
            return self.env[e.name]
        if isinstance(e, Literal):
            return e.value
        if isinstance(e, Load):
            array = self.arrays[e.array]
            shift = int(self.env[e.shift]) if e.shift in self.env else int(e.shift)
            lanes = np.broadcast_to(self.env[e.mask], self.offs.shape)
            found = np.full(self.offs.shape, e.other or 0, array.dtype)
            found[lanes] = array[self.offs[lanes] + shift]
            return found
        return _apply(e.what, [self.value(a) for a in e.args])

    def run(self, body: Sequence[Statement]) -> None:
        for one in body:
            if isinstance(one, Assign):
                self.env[one.name] = self.value(one.value)
            elif isinstance(one, Store):
                lanes = np.broadcast_to(self.env[one.mask], self.offs.shape)
                array = self.arrays[one.array]
                value = np.broadcast_to(self.env[one.value], self.offs.shape)
                array[self.offs[lanes]] = value[lanes].astype(array.dtype)
            elif isinstance(one, If):
                self.run(one.then if bool(self.value(one.condition)) else one.other)
            elif isinstance(one, While):
                self.env[one.count] = np.asarray(self.number(one.start), np.int32)
                while self.env[one.count] > 0:
                    self.run(one.body)
                    self.env[one.count] = _apply(one.word, [self.env[one.count], one.by])
            else:
                for k in range(self.number(one.start), self.number(one.stop), one.step):
                    self.env[one.index] = np.asarray(k, np.int32)
                    self.run(one.body)

    def number(self, bound: str | int) -> int:
        return int(self.scalars[bound]) if isinstance(bound, str) else bound


def evaluate(kernel: Kernel) -> dict[str, Array]:
    """The output arrays after the launch, program by program."""
    arguments = kernel.arguments()
    arrays = {name: arguments[name] for name in ARRAYS}
    for pid in range(kernel.programs):
        offs = np.arange(pid * kernel.block, (pid + 1) * kernel.block, dtype=np.int32)
        env: dict[str, Array] = {
            "offs": offs, "mask": offs < kernel.n, "n": np.asarray(kernel.n, np.int32),
            "k": np.asarray(kernel.k, np.int32), "s": np.asarray(kernel.s, np.float32),
            "t": np.asarray(kernel.t, np.int32), "pid": np.asarray(pid, np.int32),
        }  # fmt: skip
        with np.errstate(all="ignore"):
            _Machine(arrays, env, offs, arguments).run(kernel.body)
    return {name: arrays[name] for name in OUTPUTS}
