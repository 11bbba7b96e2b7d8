"""Loop-carried variables: what a loop body assigns and a value before the loop exists for."""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ..errors import KernelTypeError
from ..ir.expr import LoopCarry, LoopResult, Node
from ..ir.promote import literal_type
from ..ir.types import ScalarType, Type, is_pointer, shape_of
from ..language.symbolic import is_literal, literal, operand, tensor
from .merge import (
    Poison,
    dtype_name,
    is_float_type,
    is_runtime,
    leaves,
    literal_fits,
    rebuild,
    same,
)
from .statements import says_constexpr

if TYPE_CHECKING:
    from .tracer import Tracer


class Retype(Exception):
    """Numbers that enter a loop must enter in these types: trace it again."""

    def __init__(self, types: Mapping[tuple[str, int], ScalarType]) -> None:
        self.types = dict(types)


class LeftOver(KernelTypeError):
    """The loop cannot carry a name that a loop before it, which was unrolled, happened to leave
    bound. Had that loop run as one the name would not be there: trace again without it."""

    name: str


class Carried:
    """The variables one loop carries. A tuple is carried leaf by leaf."""

    def __init__(
        self, tracer: Tracer, assigned: Sequence[str], node: ast.For | ast.While,
        types: Mapping[tuple[str, int], ScalarType],
    ) -> None:  # fmt: skip
        self.tracer = tracer
        self.node = node
        self.types = types
        self.before = {
            name: tracer.env[name]
            for name in assigned
            if name in tracer.env and not isinstance(tracer.env[name], Poison)
        }
        #: Those that are only there because a loop before was unrolled.
        self.left = {name for name, value in self.before.items() if tracer.is_left(name, value)}
        #: Line each was assigned at.
        self.lines = {name: tracer.lines[name] for name in self.before if name in tracer.lines}
        #: The runtime leaves, in order: name, position in the name's value, value before the loop.
        self.lanes = [
            (name, k, leaf)
            for name, value in self.before.items()
            for k, leaf in enumerate(leaves(value))
            if is_runtime(leaf)
        ]
        with tracer.at(node):
            self.inputs = tuple(operand(leaf, types.get((name, k))) for name, k, leaf in self.lanes)
        self.args: tuple[LoopCarry, ...] = ()

    @property
    def names(self) -> set[str]:
        return {name for name, _, _ in self.lanes}

    def open(self) -> None:
        """Make the arguments, in the scope of the body, and let the names stand for them."""
        builder = self.tracer.builder
        with self.tracer.at(self.node):
            self.args = tuple(LoopCarry(i, initial) for i, initial in enumerate(self.inputs))
            for arg, initial in zip(self.args, self.inputs, strict=True):
                builder.leaf(arg, initial.type)
        self.bind(self.args)

    def bind(self, values: Sequence[Node]) -> None:
        """Let the names stand for ``values``, one for each lane."""
        nodes = iter(values)
        for name, value in self.before.items():
            parts = [tensor(next(nodes)) if is_runtime(leaf) else leaf for leaf in leaves(value)]
            self.tracer.env[name] = rebuild(value, iter(parts))
        self.tracer.left.update((name, self.tracer.env[name]) for name in self.left)

    def finish(self, results: Sequence[LoopResult]) -> None:
        """After the loop: the names that were carried stand for its results."""
        self.bind(results)

    def outputs(self) -> tuple[Node, ...]:
        """What the body hands to the next trip, in the types it came in with. Raises ``Retype`` or
        ``KernelTypeError``."""
        found: list[Node] = []
        wanted: dict[tuple[str, int], ScalarType] = {}
        position = 0
        for name, value in self.before.items():
            now = self.tracer.env[name]
            if isinstance(now, Poison):
                raise self.error(name, now.message)
            for k, (old, new) in enumerate(
                zip(leaves(value), self._leaves(name, now), strict=True)
            ):
                if not is_runtime(old):
                    self._unchanged(name, value, now, old, new)
                    continue
                arg = self.args[position]
                position += 1
                node, ty = self._leaf(name, old, new, arg)
                found.append(node)
                if ty is not None:
                    wanted[name, k] = ty
        if wanted and not wanted.keys() & self.types.keys():
            raise Retype({**self.types, **wanted})
        if wanted:
            name, k = next(iter(wanted))
            raise self._unsettled(name, self.types[name, k], wanted[name, k])
        return tuple(found)

    def _leaves(self, name: str, now: Any) -> list[Any]:
        found = list(leaves(now))
        if len(found) != len(list(leaves(self.before[name]))):
            raise self.error(
                name, f"loop-carried variable {name!r} is a tuple of another length after the body"
            )
        return found

    def _unchanged(self, name: str, value: Any, now: Any, old: Any, new: Any) -> None:
        """A part a loop cannot carry (None, a dtype, a string) must not change."""
        if not same(old, new):
            raise self.error(
                name,
                f"variable {name!r} is {value!r} before the loop and cannot be changed in it; only "
                "numbers, pointers and blocks can be loop-carried: start it as one",
            )

    def _leaf(
        self, name: str, old: Any, new: Any, arg: LoopCarry
    ) -> tuple[Node, ScalarType | None]:
        """The node a lane yields, and the type it should have entered with if that is another."""
        ty: Type = arg.type
        if isinstance(new, tensor):
            if new.type == ty:
                return new.expr, None
            if is_literal(old) and self._may_become(old, ty, new.type):
                return new.expr, new.type  # type: ignore[return-value]
        elif is_literal(new) and literal_fits(new, ty):
            return literal(new, ty), None  # type: ignore[arg-type]
        raise self._mismatch(name, old, ty, new)

    def _may_become(self, value: Any, ty: Type, wanted: Type) -> bool:
        """A number takes the width the body computes it in, never another kind."""
        if not (isinstance(ty, ScalarType) and isinstance(wanted, ScalarType)):
            return False
        return ty.is_floating() == wanted.is_floating() and literal_fits(value, wanted)

    def _mismatch(self, name: str, old: Any, ty: Type, new: Any) -> KernelTypeError:
        got = (
            new.type if isinstance(new, tensor) else literal_type(new) if is_literal(new) else None
        )
        line = self.lines.get(name)
        before = f"before the loop{f' (line {line})' if line else ''}"
        return self.error(
            name,
            f"loop-carried variable {name!r} is {ty} {before} but the body gives it "
            f"{got if got is not None else repr(new)}; {self._remedy(old, ty, got)}",
        )

    @staticmethod
    def _remedy(old: Any, ty: Type, got: Type | None) -> str:
        if got is None or is_pointer(got) or is_pointer(ty):
            return "a loop carries numbers, pointers and blocks, each of one type"
        if shape := shape_of(got):
            if shape_of(ty) != shape:
                return f"start it as a block, for example tl.zeros({shape}, {dtype_name(got)})"
        elif shape_of(ty):
            return f"give it blocks of shape {shape_of(ty)} in the body too"
        if is_literal(old) and is_float_type(got):
            return f"start it as {float(old)}, or convert in the body with .to({dtype_name(ty)})"
        return (
            f"convert in the body with .to({dtype_name(ty)}), or before the loop with "
            f".to({dtype_name(got)})"
        )

    def _unsettled(self, name: str, ty: Type, got: Type) -> KernelTypeError:
        return self.error(
            name,
            f"loop-carried variable {name!r} starts as a number that the body makes {ty} once and {got} the "
            "next time; give it a type before the loop with .to(...)",
        )

    def error(self, name: str, message: str) -> KernelTypeError:
        where = self.tracer.span(last_assignment(self.node.body, name) or self.node)
        if name not in self.left:
            return KernelTypeError(message, where)
        error = LeftOver(message, where)
        error.name = name
        return error


def targets(node: ast.AST) -> list[ast.expr]:
    """What a statement assigns to."""
    if isinstance(node, ast.Assign):
        return node.targets
    return [node.target] if isinstance(node, (ast.AnnAssign, ast.AugAssign)) else []


def names_of(target: ast.expr) -> list[str]:
    """The names in an assignment target, tuples included."""
    return [n.id for n in ast.walk(target) if isinstance(n, ast.Name)]


def assigned_names(statements: Sequence[ast.stmt]) -> list[str]:
    """Names the statements assign, in source order, nested blocks included. A ``tl.constexpr`` of the
    body is set anew in each trip: it is not one of them."""
    names: dict[str, None] = {}
    # ast.walk goes breadth first; source order needs a depth-first walk.
    stack: list[ast.AST] = list(reversed(statements))
    while stack:
        node = stack.pop()
        if not (isinstance(node, ast.AnnAssign) and says_constexpr(node.annotation)):
            for target in targets(node):
                names.update(dict.fromkeys(names_of(target)))
        inner = [*getattr(node, "body", []), *getattr(node, "orelse", [])]
        if isinstance(node, (ast.For, ast.While, ast.If)):
            stack.extend(reversed(inner))
    return list(names)


def last_assignment(statements: Sequence[ast.stmt], name: str) -> ast.stmt | None:
    """The last statement (by position in a walk) that assigns ``name``."""
    found = None
    for statement in statements:
        for node in ast.walk(statement):
            if any(name in names_of(target) for target in targets(node)):
                found = node
    return found  # type: ignore[return-value]
