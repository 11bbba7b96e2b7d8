"""``for`` and ``while``: what is known while tracing is unrolled, the rest becomes structured."""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ..errors import OpRuleError
from ..ir.expr import ForRange, LoopIndex, Node, While
from ..ir.types import I32, I64, ScalarType
from ..language.ranges import range as tl_range
from ..language.ranges import static_range
from ..language.symbolic import as_type, binary, is_literal, literal, tensor, unary
from .branches import guarded, has_returned, returns, run_body, to_condition
from .carry import Carried, LeftOver, Retype, assigned_names
from .literals import plain, settle
from .merge import Poison
from .merger import RETURNED
from .scopes import listed

if TYPE_CHECKING:
    from .tracer import Tracer

#: ``range`` with compile-time bounds is unrolled up to this many trips and a loop beyond.
UNROLL_LIMIT = 64
#: Nothing longer is ever unrolled.
UNROLL_MOST = 100_000
#: Options of ``tl.range``: hints to a compiler that may ignore them.
RANGE_OPTIONS = frozenset(
    {"num_stages", "loop_unroll_factor", "disallow_acc_multi_buffer", "flatten", "warp_specialize",
     "disable_licm"}
)  # fmt: skip
#: Times a loop is traced anew because a number enters it in another type.
RETRIES = 4

#: Types that numbers enter a loop in, by name and position in the name's value.
Types = dict[tuple[str, int], ScalarType]


@dataclass
class Head:
    """The head of a loop over a range: its target name and evaluated bounds."""

    name: str
    bounds: tuple[Any, Any, Any]
    function: Any
    node: ast.For

    @property
    def static(self) -> bool:
        return self.function is static_range

    def compile_time(self) -> bool:
        return all(type(b) is int for b in self.bounds)

    def unrolls(self) -> bool:
        if not self.compile_time():
            return False
        if self.static or self.bounds[2] == 0:
            return True
        return self.function is range and len(range(*self.bounds)) <= UNROLL_LIMIT


def visit_for(tracer: Tracer, node: ast.For) -> None:
    """Unroll or build a ``ForRange``."""
    if node.orelse:
        raise tracer.error("for/else is not supported; put what is under else after the loop", node)
    items = _items(tracer, node)
    if items is not None:
        unroll(tracer, node, items)
        return
    if not isinstance(node.target, ast.Name):
        raise tracer.error("only a simple name is supported as loop target", node)
    head = _head(tracer, node, node.target.id)
    if head.unrolls():
        trips = range(*head.bounds)
        if head.static:
            unroll(tracer, node, trips)
        else:
            _unroll_range(tracer, node, trips)
        return
    _settled(tracer, node, lambda types: _runtime_for(tracer, head, types))


def _settled(tracer: Tracer, node: ast.For | ast.While, build: Callable[[Types], None]) -> None:
    """Build a structured loop, anew for as long as what it carries changes."""
    types: Types = {}
    tries = 0
    while tries < RETRIES:
        try:
            return build(types)
        except Retype as again:
            types = again.types
            tries += 1
        except LeftOver as error:
            tracer.env[error.name] = Poison(error.message)
    raise tracer.error("the types of the loop-carried variables do not settle", node)


def _unroll_range(tracer: Tracer, node: ast.For, trips: range) -> None:
    """Unroll a loop over ``range``. What its body binds stays bound, as in Python, but a later loop
    may bind the name to another kind of value, as it could had this one run as a loop."""
    before = dict(tracer.env)
    # The index of a loop that runs is an i32, not a constexpr.
    unroll(tracer, node, [settle(index) for index in trips])
    for name in assigned_names(node.body):
        born = name not in before or tracer.is_left(name, before[name])
        if born and name in tracer.env:
            tracer.left[name] = tracer.env[name]


def _items(tracer: Tracer, node: ast.For) -> Sequence[Any] | None:
    """The items of a loop over a tuple, list or compile-time range; ``None`` for a call of range."""
    if isinstance(node.iter, ast.Call) and _is_range(tracer, node.iter):
        return None
    value = tracer.visit(node.iter)
    if isinstance(value, (tuple, list, range)):
        return value
    raise tracer.error(
        "only loops over range(...), tl.range(...), tl.static_range(...) and tuples are supported",
        node.iter,
    )


def _is_range(tracer: Tracer, call: ast.Call) -> bool:
    function = tracer.visit(call.func)
    return function is range or function is static_range or function is tl_range


def _head(tracer: Tracer, node: ast.For, name: str) -> Head:
    iterator = node.iter
    assert isinstance(iterator, ast.Call)
    function = tracer.visit(iterator.func)
    args, kwargs = map(plain, tracer.arguments(iterator))
    for keyword in list(kwargs):
        if function is tl_range and keyword in RANGE_OPTIONS:
            del kwargs[keyword]
    if kwargs and function is range:
        raise tracer.error("keyword arguments of range are not supported", iterator)
    bounds = _by_name(tracer, iterator, args, kwargs)
    head = Head(name, bounds, function, node)
    _check_bounds(tracer, head)
    return head


def _by_name(
    tracer: Tracer, node: ast.Call, args: list[Any], kwargs: dict[str, Any]
) -> tuple[Any, Any, Any]:
    """Start, stop and step of a call of range."""
    # tl.range names its parameters arg1, arg2 and step.
    args = args + [kwargs.pop(k) for k in ("arg1", "start") if not args and k in kwargs]
    args = args + [kwargs.pop(k) for k in ("arg2", "stop", "end") if len(args) == 1 and k in kwargs]
    step = kwargs.pop("step", None)
    if kwargs:
        raise tracer.error(f"range has no argument {next(iter(kwargs))!r}", node)
    if step is not None and len(args) < 3:
        args = [*([0] if len(args) == 1 else []), *args, step]
    if not 1 <= len(args) <= 3:
        raise tracer.error(f"range takes 1 to 3 arguments, got {len(args)}", node)
    return (0, args[0], 1) if len(args) == 1 else (args[0], args[1], (*args, 1)[2])


def _check_bounds(tracer: Tracer, head: Head) -> None:
    iterator = head.node.iter
    for what, bound in zip(("start", "stop", "step"), head.bounds, strict=True):
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
    if type(step) is int and step == 0:
        raise tracer.error("range step must not be zero", iterator)


def unroll(tracer: Tracer, node: ast.For, items: Sequence[Any]) -> None:
    """Trace the body once for each item."""
    if len(items) > UNROLL_MOST:
        raise tracer.error(
            f"a loop of {len(items)} trips is too long to unroll (at most {UNROLL_MOST}); use range",
            node.iter,
        )
    name = node.target.id if isinstance(node.target, ast.Name) else None
    existed, before = name in tracer.env, tracer.env.get(name)  # type: ignore[arg-type]
    inductions = tracer.inductions
    tracer.inductions = inductions - {name}
    for value in items:
        if has_returned(tracer) is True:
            break
        tracer.assign(node.target, value, node)
        guarded(tracer, node.body)
    tracer.inductions = inductions
    if existed and name is not None:
        tracer.env[name] = before
    elif name is not None:
        tracer.env.pop(name, None)


def _assigned(tracer: Tracer, node: ast.For | ast.While) -> list[str]:
    """Names the body may change. A body that may return changes whether the function has."""
    names = assigned_names(node.body)
    if returns(node.body):
        tracer.env.setdefault(RETURNED, False)
        names.append(RETURNED)
    return names


class _Inside:
    """The tracer inside a runtime loop: what is bound there does not outlive it."""

    def __init__(self, tracer: Tracer, carried: set[str], index: str | None) -> None:
        self.tracer = tracer
        self.inductions = (tracer.inductions - carried) | ({index} if index else set())

    def __enter__(self) -> None:
        tracer = self.tracer
        self.outer = tracer.env, tracer.inductions, tracer.in_loop, tracer.builder.scope
        tracer.env, tracer.inductions, tracer.in_loop = dict(tracer.env), self.inductions, True

    def __exit__(self, *exc: object) -> None:
        tracer = self.tracer
        tracer.env, tracer.inductions, tracer.in_loop, tracer.builder.scope = self.outer


def _runtime_for(tracer: Tracer, head: Head, types: Types) -> None:
    builder, node = tracer.builder, head.node
    with tracer.at(node.iter):
        bounds, index_type, rescale = _bounds(head)
    assigned = [n for n in _assigned(tracer, node) if n != head.name]
    carried = Carried(tracer, assigned, node, types)
    with _Inside(tracer, carried.names, head.name):
        scope = builder.open_scope()
        with tracer.at(node):
            index = LoopIndex(head.name)
            builder.leaf(index, index_type)
        carried.open()
        with tracer.at(node):
            tracer.env[head.name] = rescale(tensor(index))
        guarded(tracer, node.body)
        outputs = carried.outputs()
    captures = tuple(scope.captures.values())
    start, stop, step = bounds
    loop = ForRange(
        index, start, stop, step, captures, listed(scope), carried.inputs, carried.args, outputs
    )
    with tracer.at(node):
        results = builder.structured(loop, [a.type for a in carried.args], [scope])
    carried.finish(results)


def _bounds(head: Head) -> tuple[tuple[Node, ...], ScalarType, Any]:
    """The bounds as nodes of one type (``i32``, or ``i64`` when one needs it), and what turns the
    index of the structured loop into the user's. A structured loop counts up by a constant; any other
    step counts trips instead."""
    low, high = I32.int_range()
    wide = False
    for bound in head.bounds:
        if isinstance(bound, tensor):
            ty = bound.type
            if not isinstance(ty, ScalarType) or not ty.is_integer():
                raise OpRuleError(f"runtime range bounds must be scalar i32 values, got {ty}")
            wide = wide or ty.bits == 64 or (ty.bits == 32 and not ty.is_signed())
        else:
            wide = wide or not low <= bound <= high
    ty = I64 if wide else I32
    start, stop, step = (tensor(as_type(bound, ty)) for bound in head.bounds)
    if type(head.bounds[2]) is int and head.bounds[2] > 0:
        return (start.expr, stop.expr, step.expr), ty, lambda index: index
    if head.compile_time():
        trips = tensor(literal(min(len(range(*head.bounds)), ty.int_range()[1]), ty))
    else:
        trips = _trips(start, stop, step, head.bounds[2], ty)
    zero, one = literal(0, ty), literal(1, ty)

    def rescale(index: tensor) -> tensor:
        return binary("+", start, binary("*", index, step))

    return (zero, trips.expr, one), ty, rescale


def _trips(start: tensor, stop: tensor, step: tensor, known: Any, ty: ScalarType) -> tensor:
    """How often ``range(start, stop, step)`` runs, for a negative or runtime step. In 64 bits: the
    distance of two ``i32`` does not fit in one."""
    from ..language.core import maximum, minimum, where

    a, b, s = (tensor(as_type(v, I64)) for v in (start, stop, step))

    def count(distance: tensor, size: tensor) -> tensor:
        return binary("//", binary("-", binary("+", distance, size), 1), size)

    down = count(binary("-", a, b), unary("-", s))
    if type(known) is int:
        trips = down
    else:
        # A step of zero divides by zero, which never traps; it makes no trip.
        up = count(binary("-", b, a), s)
        trips = where(binary(">", s, 0), up, where(binary("<", s, 0), down, 0))
    trips = maximum(trips, 0)
    return tensor(as_type(minimum(trips, I32.int_range()[1]) if ty == I32 else trips, ty))


def visit_while(tracer: Tracer, node: ast.While) -> None:
    """Unroll while the condition is known, then build a ``While``."""
    if node.orelse:
        raise tracer.error(
            "while/else is not supported; put what is under else after the loop", node
        )
    for _ in range(UNROLL_LIMIT):
        with _Peek(tracer):
            test = tracer.visit(node.test)
        if isinstance(test, tensor) or (_endless(node) and returns(node.body)):
            break
        if not tracer.decide(test, node.test):
            return
        if _endless(node):
            raise tracer.error(
                "this loop never ends: there is no break in the kernel language", node
            )
        guarded(tracer, node.body)
        if has_returned(tracer) is True:
            return
    _settled(tracer, node, lambda types: _runtime_while(tracer, node, types))


def _endless(node: ast.While) -> bool:
    return isinstance(node.test, ast.Constant) and bool(node.test.value)


class _Peek:
    """Evaluates a condition in a scope that is thrown away: only whether it is known matters."""

    def __init__(self, tracer: Tracer) -> None:
        self.builder = tracer.builder

    def __enter__(self) -> None:
        self.builder.open_scope()

    def __exit__(self, *exc: object) -> None:
        self.builder.close_scope()


def _runtime_while(tracer: Tracer, node: ast.While, types: Types) -> None:
    builder = tracer.builder
    carried = Carried(tracer, _assigned(tracer, node), node, types)
    with _Inside(tracer, carried.names, None):
        before = builder.open_scope()
        carried.open()
        condition = _condition(tracer, node)
        builder.close_scope()
        scope = builder.open_scope()
        carried.bind(carried.args)
        run_body(tracer, node.body)
        outputs = carried.outputs()
    captures = tuple({**before.captures, **scope.captures}.values())
    loop = While(condition, captures, listed(scope), carried.inputs, carried.args, outputs)
    with tracer.at(node):
        results = builder.structured(loop, [a.type for a in carried.args], [before, scope])
    carried.finish(results)


def _condition(tracer: Tracer, node: ast.While) -> Node:
    test = tracer.visit(node.test)
    returned = has_returned(tracer)
    if not isinstance(test, tensor):
        if is_literal(test) and test and not isinstance(returned, tensor):
            raise tracer.error(
                f"this loop does not end within {UNROLL_LIMIT} trips and its condition never changes",
                node,
            )
        test = tensor(literal(bool(tracer.decide(test, node.test))))
    condition = to_condition(tracer, test, node.test)
    if isinstance(returned, tensor):
        with tracer.at(node.test):
            condition = binary("&", unary("~", returned), condition)
    return condition.expr
