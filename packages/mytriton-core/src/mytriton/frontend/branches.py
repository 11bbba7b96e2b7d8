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
from ..ir.types import BOOL, PointerType, is_pointer, scalar_of, shape_of
from ..language.symbolic import CONTROL_FLOW, binary, literal, tensor, unary
from .literals import settle
from .merge import MISSING, Poison, Side, agreement, spell
from .merger import RESULT, RETURNED, Merger, Placed
from .scopes import listed

if TYPE_CHECKING:
    from .tracer import Tracer


def to_condition(tracer: Tracer, value: Any, node: ast.AST) -> tensor:
    """A scalar runtime value as a bool. Blocks are refused: they have no single truth."""
    if shape_of(value.type):
        raise tracer.error(
            f"{CONTROL_FLOW.format(ty=value.type)}; choose between blocks with tl.where", node
        )
    with tracer.at(node):
        return truth(value)


def truth(value: Any) -> tensor:
    """A number or block of numbers as bools: whether each is not zero."""
    if not isinstance(value, tensor):
        return tensor(literal(bool(value)))
    if is_pointer(value.type):
        raise OpRuleError(f"a number is needed here, got {value.type}")
    return value if scalar_of(value.type) == BOOL else binary("!=", value, 0)


def visit_if(tracer: Tracer, node: ast.If, last: bool = False) -> None:
    """``last``: the function ends with this statement (see ``run_body``)."""
    test = tracer.visit(node.test)
    if (truth := static_truth(tracer, test, node.test)) is not None:
        run_body(tracer, node.body if truth else node.orelse, last)
        return
    condition = to_condition(tracer, test, node.test)
    branch(tracer, node, condition, node.body, node.orelse, last)


def static_truth(tracer: Tracer, value: Any, node: ast.AST) -> bool | None:
    """Whether a condition holds, as far as that is known while tracing. A pointer argument is never
    null (an argument that is ``None`` is no pointer), so ``if bias_ptr:`` is known too."""
    if not isinstance(value, tensor):
        return tracer.decide(value, node)
    return True if isinstance(value.type, PointerType) else None


def branch(
    tracer: Tracer, node: ast.AST, condition: tensor, then: list[ast.stmt], other: list[ast.stmt],
    last: bool = False,
) -> None:  # fmt: skip
    """Trace both sides of a runtime ``if`` and merge what they leave."""
    line = getattr(node, "lineno", 0)
    words = (f"where the condition at line {line} holds", "where it does not")
    run = [(lambda s=s: run_body(tracer, s, last)) for s in (then, other)]
    _branch(tracer, node, condition, run, words, last)


def _branch(
    tracer: Tracer, node: ast.AST, condition: tensor, run: Sequence[Callable[[], Any]],
    words: Sequence[str], last: bool,
) -> None:  # fmt: skip
    (then, scope_a), (other, scope_b) = _trace_sides(tracer, node, run, words)
    names = [
        n
        for n in {**then.env, **other.env}
        if then.env.get(n, MISSING) is not other.env.get(n, MISSING)
    ]
    if last:  # nobody reads a name after the end of the function
        names = [] if tracer.kernel else [n for n in names if n in (RETURNED, RESULT)]
    merger = Merger(tracer, then, other)
    merged = {name: merger.name(name) for name in names}
    results = _finish(tracer, node, condition, (scope_a, scope_b), merger.outputs)
    # Names the sides agree on may be new: both bound them to one value.
    tracer.env.update({n: v for n, v in then.env.items() if other.env.get(n, MISSING) is v})
    tracer.env.update(
        {
            name: value.place(results) if isinstance(value, Placed) else value
            for name, value in merged.items()
        }
    )


def _trace_sides(
    tracer: Tracer, node: ast.AST, run: Sequence[Callable[[], Any]], words: Sequence[str]
) -> list[tuple[Side, Any]]:
    """Run each side in a scope and an environment of its own; the tracer's is left as it was."""
    before, lines, outer = tracer.env, tracer.lines, tracer.in_branch
    tracer.in_branch = True
    found = []
    for side, what in zip(run, words, strict=True):
        tracer.env, tracer.lines = dict(before), dict(lines)
        scope = tracer.builder.open_scope()
        try:
            side()
        finally:
            tracer.builder.close_scope()
        found.append((Side(tracer.env, what, tracer.lines), scope))
    tracer.in_branch = outer
    tracer.env, tracer.lines = before, {**found[0][0].lines, **found[1][0].lines}
    return found


def _finish(
    tracer: Tracer, node: ast.AST, condition: tensor, scopes: Sequence[Any],
    outputs: tuple[list[Node], list[Node]],
) -> tuple[LoopResult, ...]:  # fmt: skip
    captures = tuple({**scopes[0].captures, **scopes[1].captures}.values())
    then, other = map(listed, scopes)
    item = If(condition.expr, captures, then, other, tuple(outputs[0]), tuple(outputs[1]))
    types = [output.type for output in outputs[0]]
    with tracer.at(node):
        return tracer.builder.structured(item, types, scopes)


def visit_ifexp(tracer: Tracer, node: ast.IfExp) -> Any:
    test = tracer.visit(node.test)
    if (known := static_truth(tracer, test, node.test)) is not None:
        return tracer.visit(node.body if known else node.orelse)
    if shape_of(test.type):
        raise tracer.error(
            f"only scalar conditions in IfExp are supported, got {test.type}; use tl.where", node
        )
    condition = to_condition(tracer, test, node.test)
    values: list[Any] = []
    parts = (node.body, node.orelse)
    run = [(lambda p=p: values.append(tracer.visit(p))) for p in parts]
    words = ("before 'if'", "after 'else'")
    (then, scope_a), (other, scope_b) = _trace_sides(tracer, node, run, words)
    then.env, other.env = {"value": values[0]}, {"value": values[1]}
    merger = Merger(tracer, then, other)
    with tracer.at(node):
        merged = merger.name("value")
    if isinstance(merged, Poison):
        raise tracer.error(
            f"the two values of a conditional expression are {spell(values[0])} and {spell(values[1])}; "
            f"{agreement(*values)}, or use tl.where",
            node,
        )
    results = _finish(tracer, node, condition, (scope_a, scope_b), merger.outputs)
    return merged.place(results)


def visit_boolop(tracer: Tracer, node: ast.BoolOp) -> Any:
    """``and`` / ``or``: Python's while values are known (what follows is then not even looked at),
    elementwise on the truth of runtime values."""
    wants = isinstance(node.op, ast.And)
    symbol = "&" if wants else "|"
    held: Any = None
    value: Any = wants
    for part in node.values:
        value = tracer.visit(part)
        known = static_truth(tracer, value, part)
        with tracer.at(part):
            if known is None:
                held = truth(value) if held is None else binary(symbol, held, truth(value))
            elif known != wants:
                # The whole is decided, whatever the runtime parts are.
                return value if held is None else _like(held, known)
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
    known = static_truth(tracer, value, node)
    return unary("~", truth(value)) if known is None else not known


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


#: What does not fit in Python's stack, as each of these is nested in the one before.
TOO_DEEP = (
    "the kernel nests too deeply here: ifs, elifs, early returns, calls and expressions all count; split "
    "expressions into several assignments, and long chains of elifs or returns into tl.where or loops"
)


def run_body(tracer: Tracer, statements: list[ast.stmt], last: bool = False) -> None:
    """Visit statements in order, up to a return. After a branch that may have returned, the rest runs
    only where it did not. ``last``: the function ends with these statements, so that nobody reads
    names after them."""
    end = len(statements) - 1
    for k, statement in enumerate(statements):
        try:
            if isinstance(statement, ast.If):
                if k < end and _take_rest(tracer, statement, statements[k + 1 :], last):
                    return
                visit_if(tracer, statement, last and k == end)
            else:
                tracer.visit(statement)
        except RecursionError:
            # With no stack left for this, the statement around it says it.
            raise tracer.error(TOO_DEEP, statement) from None
        returned = has_returned(tracer)
        if returned is True:
            return
        if returned is not False and k < end:
            guarded(tracer, statements[k + 1 :], last)
            return


def has_returned(tracer: Tracer) -> Any:
    """``False``, ``True``, or a runtime bool."""
    return tracer.env.get(RETURNED, False)


def guarded(tracer: Tracer, statements: list[ast.stmt], last: bool = False) -> None:
    """Run ``statements`` where the function has not returned yet."""
    flag = has_returned(tracer)
    if flag is False:
        run_body(tracer, statements, last)
    elif isinstance(flag, tensor) and statements:
        with tracer.at(statements[0]):
            going = unary("~", flag)

        def proceed() -> None:
            tracer.env[RETURNED] = False
            run_body(tracer, statements, last)

        def stop() -> None:
            tracer.env[RETURNED] = True

        words = (f"from line {statements[0].lineno} on", "where the function has returned")
        _branch(tracer, statements[0], going, (proceed, stop), words, last)


def _take_rest(tracer: Tracer, node: ast.If, rest: list[ast.stmt], last: bool) -> bool:
    """``if c: ...; return`` followed by more: what follows is the other side. True when done."""
    ends, other_ends = terminates(node.body), terminates(node.orelse)
    if not (ends or other_ends):
        return False
    test = tracer.visit(node.test)
    if (known := static_truth(tracer, test, node.test)) is not None:
        chosen, ended = (node.body, ends) if known else (node.orelse, other_ends)
        run_body(tracer, chosen if ended else [*chosen, *rest], last)
        return True
    condition = to_condition(tracer, test, node.test)
    then = node.body if ends else [*node.body, *rest]
    other = node.orelse if other_ends else [*node.orelse, *rest]
    branch(tracer, node, condition, then, other, last)
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
    if not tracer.kernel:
        tracer.env[RESULT] = settle(value)
        tracer.lines[RESULT] = node.lineno
        tracer.returned = node


__all__ = [
    "branch", "guarded", "returns", "run_body",
    "terminates", "conjunction", "to_condition", "truth", "visit_boolop", "visit_if",
    "visit_ifexp", "visit_not",
    "visit_return",
]  # fmt: skip
