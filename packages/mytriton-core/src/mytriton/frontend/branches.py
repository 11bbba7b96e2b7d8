"""``if``, conditional expressions, ``and`` / ``or`` / ``not``, and early ``return``.

A condition known while tracing prunes the branch that is not taken. A scalar runtime condition
becomes a structured ``If``: each name the sides leave with different values becomes a result of it.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from ..errors import OpRuleError
from ..ir.expr import If, LoopResult, Node
from ..ir.types import BOOL, is_pointer, scalar_of, shape_of
from ..language.symbolic import CONTROL_FLOW, binary, literal, tensor, unary
from .merge import (
    MISSING,
    Poison,
    Side,
    common_type,
    conflict,
    is_runtime,
    lacking,
    leaves,
    rebuild,
    same,
)
from .scopes import close_structured, listed

if TYPE_CHECKING:
    from .tracer import Tracer

#: Names of the tracer's own that take part in merging: whether the function has returned, and what.
RETURNED, RESULT = "$returned", "$result"


def to_condition(tracer: Tracer, value: Any, node: ast.AST) -> tensor:
    """A scalar runtime value as a bool. Blocks are refused: they have no single truth."""
    if shape_of(value.type):
        raise tracer.error(
            f"{CONTROL_FLOW.format(ty=value.type)}; choose between blocks with tl.where", node
        )
    if is_pointer(value.type):
        raise tracer.error("a pointer is never None when the kernel runs: test 'is not None'", node)
    with tracer.at(node):
        return truth(value)


def truth(value: Any) -> tensor:
    """A number or block of numbers as bools: whether each is not zero."""
    if not isinstance(value, tensor):
        return tensor(literal(bool(value)))
    if is_pointer(value.type):
        raise OpRuleError(f"a number is needed here, got {value.type}")
    return value if scalar_of(value.type) == BOOL else binary("!=", value, 0)


def visit_if(tracer: Tracer, node: ast.If) -> None:
    test = tracer.visit(node.test)
    if not isinstance(test, tensor):
        tracer.body(node.body if tracer.decide(test, node.test) else node.orelse)
        return
    condition = to_condition(tracer, test, node.test)
    branch(tracer, node, condition, node.body, node.orelse)


def branch(
    tracer: Tracer, node: ast.AST, condition: tensor, then: list[ast.stmt], other: list[ast.stmt]
) -> None:
    """Trace both sides of a runtime ``if`` and merge what they leave."""
    words = (f"the branch at line {_line(then, node)}", f"the branch at line {_line(other, node)}")
    if not other:
        words = (words[0], "the case that skips it")
    run = [(lambda s=s: tracer.body(s)) for s in (then, other)]
    sides = _trace_sides(tracer, node, run, words)
    (env_a, scope_a), (env_b, scope_b) = sides
    names = [
        n
        for n in {**env_a.env, **env_b.env}
        if env_a.env.get(n, MISSING) is not env_b.env.get(n, MISSING)
    ]
    merger = _Merger(tracer, env_a, env_b)
    merged = {name: merger.name(name) for name in names}
    results = _finish(tracer, node, condition, (scope_a, scope_b), merger.outputs)
    tracer.env.update(
        {
            name: value.place(results) if isinstance(value, _Placed) else value
            for name, value in merged.items()
        }
    )


def _line(statements: Sequence[ast.stmt], node: ast.AST) -> int:
    return statements[0].lineno if statements else getattr(node, "lineno", 0)


def _trace_sides(
    tracer: Tracer, node: ast.AST, run: Sequence[Callable[[], Any]], words: Sequence[str]
) -> list[tuple[Side, Any]]:
    """Run each side in a scope and an environment of its own; the tracer's is left as it was."""
    before, lines, outer = tracer.env, tracer.lines, tracer.in_branch
    tracer.in_branch = True
    found = []
    for side, what in zip(run, words, strict=True):
        tracer.env, tracer.lines = dict(before), {}
        scope = tracer.builder.open_scope()
        try:
            side()
        finally:
            tracer.builder.close_scope()
        found.append((Side(tracer.env, what, tracer.lines), scope))
    tracer.in_branch = outer
    tracer.env, tracer.lines = before, {**lines, **found[0][0].lines, **found[1][0].lines}
    return found


class _Placed:
    """A merged value whose runtime leaves are results of the branch still to be built."""

    def __init__(self, shape: Any, parts: list[Any]) -> None:
        self.shape = shape
        #: For each leaf a compile-time value, or the index of a result.
        self.parts = parts

    def place(self, results: Sequence[LoopResult]) -> Any:
        found = (tensor(results[p.index]) if isinstance(p, _Slot) else p for p in self.parts)
        return rebuild(self.shape, found)


class _Slot:
    def __init__(self, index: int) -> None:
        self.index = index


class _Merger:
    """Merges the names of two sides; ``outputs`` collects what each side yields."""

    def __init__(self, tracer: Tracer, then: Side, other: Side) -> None:
        self.tracer = tracer
        self.then = then
        self.other = other
        self.outputs: tuple[list[Node], list[Node]] = ([], [])

    def name(self, name: str) -> Any:
        a, b = self.then.env.get(name, MISSING), self.other.env.get(name, MISSING)
        if isinstance(a, Poison) or isinstance(b, Poison):
            return self._incomplete(name, a, b)
        one, two = list(leaves(a)), list(leaves(b))
        if _structure(a) != _structure(b):
            return conflict(name, self.then, self.other, a, b)
        parts: list[Any] = []
        mark = len(self.outputs[0])
        for x, y in zip(one, two, strict=True):
            part = x if same(x, y) else self._leaf(x, y)
            if part is MISSING:
                del self.outputs[0][mark:], self.outputs[1][mark:]
                return conflict(name, self.then, self.other, x, y)
            parts.append(part)
        return _Placed(a, parts)

    def _incomplete(self, name: str, a: Any, b: Any) -> Any:
        if name == RETURNED:
            return self._returned(a, b)
        if name == RESULT:
            return self._result(a, b)
        if a is MISSING:
            return lacking(name, self.other, self.then)
        if b is MISSING:
            return lacking(name, self.then, self.other)
        return a if isinstance(a, Poison) else b

    def _returned(self, a: Any, b: Any) -> Any:
        parts = [self._leaf(*(False if x is MISSING else x for x in (a, b)))]
        return _Placed(None, parts)

    def _result(self, a: Any, b: Any) -> Any:
        """A side that did not return has no result yet: it hands out zeros nobody reads."""
        value = b if a is MISSING else a
        zeros = rebuild(value, (zero_like(leaf) for leaf in leaves(value)))
        pair = (zeros, b) if a is MISSING else (a, zeros)
        parts = [
            x if same(x, y) else self._leaf(x, y) for x, y in zip(*map(leaves, pair), strict=True)
        ]
        return _Placed(value, parts)

    def _leaf(self, a: Any, b: Any) -> Any:
        """The result two runtime leaves become, or ``MISSING`` when they have no common type."""
        if not (is_runtime(a) and is_runtime(b)):
            return MISSING
        ty = common_type(a, b)
        if ty is None:
            return MISSING
        for outputs, value in zip(self.outputs, (a, b), strict=True):
            outputs.append(value.expr if isinstance(value, tensor) else literal(value, ty))  # type: ignore[arg-type]
        return _Slot(len(self.outputs[0]) - 1)


def zero_like(leaf: Any) -> Any:
    """A leaf of the type of ``leaf`` that nobody reads."""
    if not isinstance(leaf, tensor):
        return leaf
    if is_pointer(leaf.type):
        return leaf
    from ..language import core

    ty = scalar_of(leaf.type)
    shape = shape_of(leaf.type)
    return core.zeros(shape, ty) if shape else tensor(literal(False if ty.is_bool() else 0, ty))


def _structure(value: Any) -> Any:
    if isinstance(value, (tuple, list)):
        return (type(value), tuple(_structure(item) for item in value))
    return None


def _finish(
    tracer: Tracer, node: ast.AST, condition: tensor, scopes: Sequence[Any],
    outputs: tuple[list[Node], list[Node]],
) -> tuple[LoopResult, ...]:  # fmt: skip
    captures = tuple({**scopes[0].captures, **scopes[1].captures}.values())
    bodies = [listed(scope) for scope in scopes]
    item = If(condition.expr, captures, *bodies, tuple(outputs[0]), tuple(outputs[1]))
    types = [output.type for output in outputs[0]]
    return close_structured(tracer, node, item, types, scopes)


def visit_ifexp(tracer: Tracer, node: ast.IfExp) -> Any:
    test = tracer.visit(node.test)
    if not isinstance(test, tensor):
        return tracer.visit(node.body if tracer.decide(test, node.test) else node.orelse)
    if shape_of(test.type):
        raise tracer.error(
            f"only scalar conditions in IfExp are supported, got {test.type}; use tl.where", node
        )
    condition = to_condition(tracer, test, node.test)
    values: list[Any] = []
    parts = (node.body, node.orelse)
    run = [(lambda p=p: values.append(tracer.visit(p))) for p in parts]
    words = ("the value before 'if'", "the value after 'else'")
    (then, scope_a), (other, scope_b) = _trace_sides(tracer, node, run, words)
    then.env, other.env = {"value": values[0]}, {"value": values[1]}
    merger = _Merger(tracer, then, other)
    with tracer.at(node):
        merged = merger.name("value")
    if isinstance(merged, Poison):
        raise tracer.error(
            f"the two values of a conditional expression are {_of(values[0])} and {_of(values[1])}; make "
            "both the same type and shape, or use tl.where",
            node,
        )
    results = _finish(tracer, node, condition, (scope_a, scope_b), merger.outputs)
    return merged.place(results)


def _of(value: Any) -> str:
    return str(value.type) if isinstance(value, tensor) else repr(value)


def visit_boolop(tracer: Tracer, node: ast.BoolOp) -> Any:
    """``and`` / ``or``: Python's while values are known (what follows is then not even looked at),
    elementwise on the truth of runtime values."""
    wants = isinstance(node.op, ast.And)
    symbol = "&" if wants else "|"
    held: Any = None
    value: Any = wants
    for part in node.values:
        value = tracer.visit(part)
        with tracer.at(part):
            if isinstance(value, tensor):
                held = truth(value) if held is None else binary(symbol, held, truth(value))
            elif tracer.decide(value, part) != wants:
                # The whole is decided, whatever the runtime parts are.
                return value if held is None else _like(held, not wants)
    return value if held is None else held


def _like(held: tensor, value: bool) -> Any:
    shape = shape_of(held.type)
    if not shape:
        return value
    from ..language import core

    return core.full(shape, value, BOOL)


def conjunction(a: Any, b: Any) -> Any:
    """``a and b`` of two comparisons."""
    if isinstance(a, tensor) and isinstance(b, tensor):
        return binary("&", a, b)
    if isinstance(a, tensor):
        return a if b else _like(a, False)
    return b if a else a


def visit_not(tracer: Tracer, value: Any, node: ast.AST) -> Any:
    if isinstance(value, tensor):
        return unary("~", truth(value))
    return not tracer.decide(value, node)


# -- early return -------------------------------------------------------------------------------


def terminates(statements: Sequence[ast.stmt]) -> bool:
    """Whether the statements certainly end in a return (or raise)."""
    if not statements:
        return False
    last = statements[-1]
    if isinstance(last, (ast.Return, ast.Raise)):
        return True
    return isinstance(last, ast.If) and terminates(last.body) and terminates(last.orelse)


def returns(statements: Sequence[ast.stmt]) -> bool:
    """Whether a return stands anywhere in the statements."""
    return any(isinstance(n, ast.Return) for s in statements for n in ast.walk(s))


def run_body(tracer: Tracer, statements: list[ast.stmt]) -> None:
    """Visit statements in order, up to a return. After a branch that may have returned, the rest runs
    only where it did not."""
    for k, statement in enumerate(statements):
        rest = statements[k + 1 :]
        if isinstance(statement, ast.If) and rest and _take_rest(tracer, statement, rest):
            return
        tracer.visit(statement)
        if has_returned(tracer) is True:
            return
        if has_returned(tracer) is not False and rest:
            guarded(tracer, rest)
            return


def has_returned(tracer: Tracer) -> Any:
    """``False``, ``True``, or a runtime bool."""
    return tracer.env.get(RETURNED, False)


def guarded(tracer: Tracer, statements: list[ast.stmt]) -> None:
    """Run ``statements`` where the function has not returned yet."""
    flag = has_returned(tracer)
    if flag is False:
        run_body(tracer, statements)
    elif isinstance(flag, tensor) and statements:
        with tracer.at(statements[0]):
            going = unary("~", flag)
        branch(tracer, statements[0], going, statements, [])


def _take_rest(tracer: Tracer, node: ast.If, rest: list[ast.stmt]) -> bool:
    """``if c: ...; return`` followed by more: what follows is the other side. True when done."""
    ends, other_ends = terminates(node.body), terminates(node.orelse)
    if not (ends or other_ends):
        return False
    test = tracer.visit(node.test)
    if not isinstance(test, tensor):
        chosen, ended = (
            (node.body, ends) if tracer.decide(test, node.test) else (node.orelse, other_ends)
        )
        run_body(tracer, chosen if ended else [*chosen, *rest])
        return True
    condition = to_condition(tracer, test, node.test)
    then = node.body if ends else [*node.body, *rest]
    other = node.orelse if other_ends else [*node.orelse, *rest]
    branch(tracer, node, condition, then, other)
    return True


def visit_return(tracer: Tracer, node: ast.Return) -> None:
    value = None if node.value is None else tracer.visit(node.value)
    if tracer.kernel and value is not None:
        raise tracer.error("a kernel returns nothing; store results with tl.store", node)
    if tracer.in_loop and value is not None:
        raise tracer.error(
            "a value cannot be returned from inside a runtime loop; assign it to a name and return it "
            "after the loop",
            node,
        )
    tracer.env[RETURNED] = True
    if value is not None:
        tracer.env[RESULT] = value
        tracer.lines[RESULT] = node.lineno


__all__ = [
    "RESULT", "RETURNED", "branch", "guarded", "returns", "run_body",
    "terminates", "conjunction", "to_condition", "truth", "visit_boolop", "visit_if",
    "visit_ifexp", "visit_not",
    "visit_return",
]  # fmt: skip
