"""``for`` loops: compile-time ranges are unrolled, runtime ranges become structured regions."""

from __future__ import annotations

import ast
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ..errors import KernelTypeError, OpRuleError
from ..ir.expr import ForRange, LoopCarry, LoopIndex, LoopResult, Node
from ..ir.types import I32, I64, ScalarType, Type
from ..language.core import static_range
from ..language.symbolic import as_type, is_literal, literal, operand, tensor

if TYPE_CHECKING:
    from .tracer import Tracer

#: ``range`` with compile-time bounds is unrolled up to this many trips and a loop beyond.
UNROLL_LIMIT = 64
#: Nothing longer is ever unrolled.
UNROLL_MOST = 100_000


@dataclass
class Head:
    """The head of a for loop: its target name and evaluated bounds."""

    name: str
    bounds: tuple[Any, Any, Any]
    static: bool
    node: ast.For

    def compile_time(self) -> bool:
        return all(type(b) is int for b in self.bounds)


def visit_for(tracer: Tracer, node: ast.For) -> None:
    """Unroll or build a ``ForRange``."""
    if node.orelse:
        raise tracer.error("for/else is not supported", node)
    if not isinstance(node.target, ast.Name):
        raise tracer.error("only a simple name is supported as loop target", node)
    head = _head(tracer, node, node.target.id)
    if head.compile_time():
        trips = range(*head.bounds)
        # A step that counts down has no structured form, so it is unrolled however long.
        if head.static or len(trips) <= UNROLL_LIMIT or head.bounds[2] < 0:
            _unroll(tracer, head, trips)
            return
    _runtime_loop(tracer, head)


def _head(tracer: Tracer, node: ast.For, name: str) -> Head:
    iterator = node.iter
    function = tracer.visit(iterator.func) if isinstance(iterator, ast.Call) else None
    if not isinstance(iterator, ast.Call) or (
        function is not range and function is not static_range
    ):
        raise tracer.error(
            "only loops over range(...) and tl.static_range(...) are supported", iterator
        )
    if iterator.keywords:
        raise tracer.error("keyword arguments of range are not supported", iterator)
    for argument in iterator.args:
        if isinstance(argument, ast.Starred):
            raise tracer.error("unsupported AST node: Starred", argument)
    args = [tracer.visit(argument) for argument in iterator.args]
    if not 1 <= len(args) <= 3:
        raise tracer.error(f"range takes 1 to 3 arguments, got {len(args)}", iterator)
    start, stop, step = (0, args[0], 1) if len(args) == 1 else (args[0], args[1], (*args, 1)[2])
    head = Head(name, (start, stop, step), function is static_range, node)
    _check_bounds(tracer, head)
    return head


def _check_bounds(tracer: Tracer, head: Head) -> None:
    iterator = head.node.iter
    for what, bound in zip(("start", "stop", "step"), head.bounds):
        if type(bound) is int:
            continue
        if not isinstance(bound, tensor):
            raise tracer.error(f"range {what} must be an integer, got {bound!r}", iterator)
        if head.static:
            raise tracer.error(
                f"dynamic range bounds are not supported by AST frontend MVP; {what} is {bound!r}: "
                "tl.static_range needs compile-time ints, use range or declare the bound tl.constexpr",
                iterator,
            )
    step = head.bounds[2]
    if step == 0 if type(step) is int else False:
        raise tracer.error("range step must not be zero", iterator)
    if not head.compile_time() and (type(step) is not int or step < 0):
        raise tracer.error(
            f"the step of a runtime range must be a positive compile-time integer, got {step!r}",
            iterator,
        )


def _unroll(tracer: Tracer, head: Head, trips: range) -> None:
    if len(trips) > UNROLL_MOST:
        raise tracer.error(
            f"a loop of {len(trips)} trips is too long to unroll (at most {UNROLL_MOST}); use range",
            head.node.iter,
        )
    existed, before = head.name in tracer.env, tracer.env.get(head.name)
    inductions = tracer.inductions
    tracer.inductions = inductions - {head.name}
    for value in trips:
        tracer.env[head.name] = value
        tracer.body(head.node.body)
    tracer.inductions = inductions
    if existed:
        tracer.env[head.name] = before
    else:
        tracer.env.pop(head.name, None)


def assigned_names(statements: list[ast.stmt]) -> list[str]:
    """Names the statements assign, in source order, nested loops included."""
    names: dict[str, None] = {}
    # ast.walk goes breadth first; source order needs a depth-first walk.
    stack: list[ast.AST] = list(reversed(statements))
    while stack:
        node = stack.pop()
        targets: list[ast.expr] = []
        if isinstance(node, ast.Assign):
            targets = node.targets
        elif isinstance(node, (ast.AnnAssign, ast.AugAssign)):
            targets = [node.target]
        for target in targets:
            if isinstance(target, ast.Name):
                names.setdefault(target.id)
        if isinstance(node, ast.For):
            stack.extend(reversed(node.body))
    return list(names)


def bound_names(function: ast.FunctionDef) -> dict[str, int]:
    """Names a function binds by assignment or as loop targets, with the line of the first."""
    found: dict[str, int] = {}
    for node in ast.walk(function):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            found[node.id] = min(node.lineno, found.get(node.id, node.lineno))
    return found


def _runtime_loop(tracer: Tracer, head: Head) -> None:
    builder = tracer.builder
    with tracer.at(head.node.iter):
        bounds, index_type = _bounds(head)
    assigned = assigned_names(head.node.body)
    carried = [n for n in assigned if n != head.name and _carriable(tracer.env.get(n))]
    with tracer.at(head.node):
        inputs = tuple(operand(tracer.env[name]) for name in carried)
    outer_env, outer_inductions = dict(tracer.env), tracer.inductions
    scope = builder.open_scope()
    with tracer.at(head.node):
        index = LoopIndex(head.name)
        builder.leaf(index, index_type)
        args = tuple(LoopCarry(i, initial) for i, initial in enumerate(inputs))
        for arg, initial in zip(args, inputs):
            builder.leaf(arg, initial.type)
    tracer.env.update(zip(carried, map(tensor, args)))
    tracer.env[head.name] = tensor(index)
    tracer.inductions = (outer_inductions - set(carried)) | {head.name}
    tracer.body(head.node.body)
    outputs = tuple(
        _carried_out(tracer, head, name, tracer.env[name], arg) for name, arg in zip(carried, args)
    )
    _check_uncarried(tracer, head, assigned, carried, outer_env)
    builder.close_scope()
    tracer.inductions = outer_inductions
    loop = _finish(tracer, head, index, bounds, inputs, args, outputs, scope)
    tracer.env = outer_env
    for name, result in zip(carried, loop.results):
        tracer.env[name] = tensor(result)


def _bounds(head: Head) -> tuple[tuple[Node, ...], ScalarType]:
    """The bounds as nodes of one type (``i32``, or ``i64`` when one needs it)."""
    low, high = I32.int_range()
    wide = False
    for bound in head.bounds:
        if isinstance(bound, tensor):
            ty = bound.type
            if not isinstance(ty, ScalarType) or not ty.is_signed():
                raise OpRuleError(f"runtime range bounds must be scalar i32 values, got {ty}")
            wide = wide or ty == I64
        else:
            wide = wide or not low <= bound <= high
    index_type = I64 if wide else I32
    return tuple(as_type(bound, index_type) for bound in head.bounds), index_type


def _carriable(value: Any) -> bool:
    return isinstance(value, tensor) or is_literal(value)


def _carried_out(tracer: Tracer, head: Head, name: str, value: Any, arg: LoopCarry) -> Node:
    """The value a carried variable has at the end of the body, in the type it came in with."""
    ty: Type = arg.type
    if isinstance(value, tensor) and value.type == ty:
        return value.expr
    if is_literal(value) and isinstance(ty, ScalarType) and _literal_fits(value, ty):
        return literal(value, ty)
    got = value.type if isinstance(value, tensor) else f"{value!r}"
    where = _last_assignment(head.node.body, name)
    raise KernelTypeError(
        f"loop-carried variable {name!r} is {ty} before the loop (line {head.node.lineno}) but the body "
        f"gives it {got}; make both the same type",
        tracer.span(where or head.node),
    )


def _literal_fits(value: Any, ty: ScalarType) -> bool:
    if isinstance(value, bool) or ty.is_bool():
        return isinstance(value, bool) and ty.is_bool()
    return ty.is_floating() or isinstance(value, int)


def _last_assignment(statements: list[ast.stmt], name: str) -> ast.stmt | None:
    found = None
    for statement in statements:
        for node in ast.walk(statement):
            if isinstance(node, (ast.Assign, ast.AnnAssign, ast.AugAssign)):
                targets = node.targets if isinstance(node, ast.Assign) else [node.target]
                if any(isinstance(t, ast.Name) and t.id == name for t in targets):
                    found = node
    return found


def _check_uncarried(
    tracer: Tracer, head: Head, assigned: list[str], carried: list[str], outer_env: dict[str, Any]
) -> None:
    """A name that held something a loop cannot carry (None, a tuple, a dtype) must not change."""
    for name in assigned:
        if name in outer_env and name not in carried and name != head.name:
            if tracer.env[name] is not outer_env[name]:
                raise KernelTypeError(
                    f"variable {name!r} is {outer_env[name]!r} before the loop and cannot be changed in "
                    "it; only numbers, pointers and blocks can be loop-carried",
                    tracer.span(_last_assignment(head.node.body, name) or head.node),
                )


def _finish(
    tracer: Tracer, head: Head, index: LoopIndex, bounds: tuple[Node, ...], inputs: tuple[Node, ...],
    args: tuple[LoopCarry, ...], outputs: tuple[Node, ...], scope: Any,
) -> ForRange:  # fmt: skip
    builder = tracer.builder
    start, stop, step = bounds
    body = [node for node in scope.trace if is_listed(node)]
    captures = tuple(scope.captures.values())
    loop = ForRange(index, start, stop, step, captures, body, inputs, args, outputs)
    with tracer.at(head.node):
        results = tuple(LoopResult(loop, i) for i in range(len(args)))
        for result, arg in zip(results, args):
            builder.leaf(result, arg.type)
    loop.beside(results=results, trace=tuple(scope.trace), scope=scope)
    loop.beside(span=tracer.span(head.node), home=builder.scope)
    builder.scope.trace.append(loop)
    return loop


def is_listed(node: Node) -> bool:
    """Whether a traced node belongs in the list a launch returns: stores and loops do, loads that
    program order pinned do not."""
    from ..ir.registry import Effect, get

    return isinstance(node, ForRange) or Effect.WRITE in get(node.opcode).effects
