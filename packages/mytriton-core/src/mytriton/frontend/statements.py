"""Small statements and expressions: unpacking, assert, raise, f-strings, comprehensions."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from ..errors import OpRuleError
from ..ir.expr import OpExpr
from ..language.symbolic import literal, tensor
from .literals import plain

if TYPE_CHECKING:
    from .tracer import Tracer


def unpack(tracer: Tracer, target: ast.Tuple | ast.List, value: Any, node: ast.AST) -> None:
    """``a, (b, c) = value``"""
    if isinstance(value, tensor) or not isinstance(value, (tuple, list, range)):
        shown = f"a runtime value of {value.type}" if isinstance(value, tensor) else repr(value)
        hint = "; it is one value" if isinstance(value, tensor) else ""
        raise tracer.error(f"{shown} cannot be unpacked into {len(target.elts)} names{hint}", node)
    items = list(value)
    stars = [k for k, item in enumerate(target.elts) if isinstance(item, ast.Starred)]
    if stars:
        at, after = stars[0], len(target.elts) - stars[0] - 1
        if len(items) >= at + after:
            middle = items[at : len(items) - after]
            items = [*items[:at], middle, *items[len(items) - after :]]
    if len(items) != len(target.elts):
        raise tracer.error(
            f"{len(list(value))} values cannot be unpacked into {len(target.elts)} names", node
        )
    for part, item in zip(target.elts, items, strict=True):
        tracer.assign(part.value if isinstance(part, ast.Starred) else part, item, node)


def keeps_value(value: Any, current: Any) -> bool:
    """Whether ``value`` is ``current`` (hints give what they are given) or a conversion of it."""
    if not (isinstance(value, tensor) and isinstance(current, tensor)):
        return False
    node: Any = value.expr
    while node is not current.expr and isinstance(node, OpExpr) and node.op == "cast":
        (node,) = node.args
    return node is current.expr


def says_constexpr(annotation: ast.expr) -> bool:
    """Whether the annotation of a local is ``tl.constexpr``."""
    if isinstance(annotation, ast.Subscript):
        annotation = annotation.value
    if isinstance(annotation, ast.Constant):
        return str(annotation.value).rpartition(".")[2].partition("[")[0] == "constexpr"
    name = getattr(annotation, "attr", getattr(annotation, "id", ""))
    return bool(name == "constexpr")


def unbound(function: ast.FunctionDef, name: str, line: int) -> str:
    """Why a local name has no value at ``line``."""
    paths = [p for p in _paths(function) if _stores(p[-1], name)]
    path = min(paths, key=lambda p: p[-1].lineno)  # type: ignore[attr-defined]
    assigned = path[-1].lineno  # type: ignore[attr-defined]
    loop = next((p for p in path if isinstance(p, (ast.For, ast.While))), None)
    branch = next((p for p in reversed(path) if isinstance(p, ast.If)), None)
    here = f"name {name!r} is not defined here: it is"
    if loop is not None and (loop.end_lineno or 0) < line:
        return (
            f"{here} first assigned inside the loop at line {assigned} and does not outlive it; give it a "
            "value before the loop"
        )
    if branch is not None and assigned < line:
        return (
            f"{here} only assigned at line {assigned}, in a branch that is not taken (the condition at line "
            f"{branch.lineno} is known at compile time); give it a value before the branch"
        )
    return f"{here} first assigned at line {assigned}"


def _stores(node: ast.AST, name: str) -> bool:
    return isinstance(node, ast.Name) and node.id == name and isinstance(node.ctx, ast.Store)


def _paths(function: ast.AST) -> Iterator[list[ast.AST]]:
    """Every node of a function, with the nodes around it."""
    stack: list[list[ast.AST]] = [[function]]
    while stack:
        path = stack.pop()
        yield path
        stack.extend([*path, child] for child in ast.iter_child_nodes(path[-1]))


def visit_assert(tracer: Tracer, node: ast.Assert) -> None:
    """A condition known now is checked now; any other is ``tl.device_assert``."""
    test = tracer.visit(node.test)
    message = "" if node.msg is None else tracer.visit(node.msg)
    if not isinstance(test, tensor):
        if not tracer.decide(test, node.test):
            raise tracer.error(f"assertion failed{f': {message}' if message else ''}", node)
        return
    from .. import language

    with tracer.at(node):
        language.device_assert(test, str(message))


def visit_raise(tracer: Tracer, node: ast.Raise) -> None:
    """``raise`` in a branch that is taken while tracing: the kernel is refused with its message."""
    if tracer.in_branch or tracer.in_loop:
        raise tracer.error(
            "raise would depend on a runtime value; use tl.device_assert, or mask the case", node
        )
    text = "raised by the kernel"
    if isinstance(node.exc, ast.Call):
        name = ast.unparse(node.exc.func)
        args = [str(tracer.visit(arg)) for arg in node.exc.args]
        text = f"{name}: {' '.join(args)}" if args else name
    elif node.exc is not None:
        text = ast.unparse(node.exc)
    raise tracer.error(text, node)


def format_string(tracer: Tracer, node: ast.JoinedStr) -> str:
    """An f-string of compile-time values (runtime values show their type)."""
    parts: list[str] = []
    for part in node.values:
        if isinstance(part, ast.Constant):
            parts.append(str(part.value))
            continue
        assert isinstance(part, ast.FormattedValue)
        value = tracer.visit(part.value)
        spec = "" if part.format_spec is None else tracer.visit(part.format_spec)
        value = plain(value)
        if part.conversion == ord("r"):
            value = repr(value)
        elif part.conversion == ord("s"):
            value = str(value)
        with tracer.at(node):
            parts.append(repr(value) if isinstance(value, tensor) else format(value, spec))
    return "".join(parts)


def comprehension(tracer: Tracer, node: ast.ListComp) -> list[Any]:
    """``[f(i) for i in items]`` over compile-time items."""
    if len(node.generators) != 1 or node.generators[0].is_async:
        raise tracer.error(
            "only one 'for' is supported in a list comprehension; write for loops over "
            "tl.static_range(...)",
            node,
        )
    generator = node.generators[0]
    items = tracer.visit(generator.iter)
    if not isinstance(items, (tuple, list, range)):
        raise tracer.error("a list comprehension needs a tuple, list or range(...)", generator.iter)
    before = dict(tracer.env)
    found: list[Any] = []
    for item in items:
        tracer.assign(generator.target, item, node)
        tests = [tracer.visit(test) for test in generator.ifs]
        if any(isinstance(test, tensor) for test in tests):
            raise tracer.error(
                "the 'if' of a list comprehension must be known at compile time", node
            )
        if all(tests):
            found.append(tracer.visit(node.elt))
    tracer.env = before
    return found


def number_attribute(tracer: Tracer, owner: Any, node: ast.Attribute) -> Any:
    """``x.to(...)`` and its like where ``x`` is a number known at compile time."""
    if node.attr == "value":
        return owner
    with tracer.at(node):
        if not hasattr(tensor, node.attr):
            raise OpRuleError(f"{owner!r} ({type(owner).__name__}) has no attribute {node.attr!r}")
        return getattr(tensor(literal(owner)), node.attr)
