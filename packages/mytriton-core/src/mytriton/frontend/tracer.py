"""The AST frontend: walks the syntax of a kernel and builds its expression tree.

Every syntax node needs a visitor; whatever has none is refused with its position. Compile-time
values are Python objects, runtime values are ``tl.tensor``.
"""

from __future__ import annotations

import ast
import difflib
import operator
from collections.abc import Mapping
from typing import Any

from ..errors import (
    ASTFrontendError,
    CompilationError,
    KernelTypeError,
    OpRuleError,
    Span,
    UnknownNameError,
)
from ..ir.builder import Builder
from ..ir.types import is_pointer
from ..language.compile_time import unwrap
from ..language.symbolic import binary, is_literal, tensor, unary
from . import branches, calls, loops, statements
from .dependencies import Environment
from .literals import SETTLED, beside, compute, fold, known, plain, settle
from .merge import MISSING, Poison
from .refusals import HINTS, NO_SHAPE, OF_ARRAYS
from .source import KernelSource

CHAINED = (
    "only simple comparisons are supported; when combining comparisons with &, wrap each comparison "
    "in parentheses"
)

_BINARY: dict[type[ast.operator], tuple[str, Any]] = {
    ast.Add: ("+", operator.add), ast.Sub: ("-", operator.sub), ast.Mult: ("*", operator.mul),
    ast.MatMult: ("@", operator.matmul), ast.Div: ("/", operator.truediv),
    ast.FloorDiv: ("//", operator.floordiv), ast.Mod: ("%", operator.mod),
    ast.Pow: ("**", operator.pow), ast.BitAnd: ("&", operator.and_),
    ast.BitOr: ("|", operator.or_), ast.BitXor: ("^", operator.xor),
    ast.LShift: ("<<", operator.lshift), ast.RShift: (">>", operator.rshift),
}  # fmt: skip
_COMPARE: dict[type[ast.cmpop], tuple[str, Any]] = {
    ast.Lt: ("<", operator.lt), ast.LtE: ("<=", operator.le), ast.Gt: (">", operator.gt),
    ast.GtE: (">=", operator.ge), ast.Eq: ("==", operator.eq), ast.NotEq: ("!=", operator.ne),
}  # fmt: skip
_UNARY: dict[type[ast.unaryop], tuple[str, Any]] = {
    ast.USub: ("-", operator.neg), ast.UAdd: ("+", operator.pos), ast.Invert: ("~", operator.invert),
    ast.Not: ("not", operator.not_),
}  # fmt: skip


#: What evaluating an expression may raise: the user's mistake, to be given its position.
FAULTS = (ArithmeticError, TypeError, ValueError, LookupError, AttributeError)


class At:
    """Context in which nodes are built at one source position."""

    __slots__ = ("before", "node", "tracer")

    def __init__(self, tracer: Tracer, node: ast.AST) -> None:
        self.tracer = tracer
        self.node = node

    def __enter__(self) -> None:
        builder = self.tracer.builder
        self.before = builder.span
        builder.span = self.tracer.source.span(self.node)

    def __exit__(self, kind: Any, error: Any, traceback: Any) -> None:
        self.tracer.builder.span = self.before
        if isinstance(error, FAULTS) and not isinstance(error, CompilationError):
            raise self.tracer.error(str(error) or kind.__name__, self.node) from None


class Tracer:
    """Visits the statements of one function body."""

    def __init__(
        self,
        source: KernelSource,
        environment: Environment,
        env: Mapping[str, Any],
        builder: Builder,
        *,
        caller: Tracer | None = None,
        kernel: bool = False,
    ) -> None:
        self.source = source
        self.environment = environment
        #: Local names: parameters and assignments.
        self.env: dict[str, Any] = dict(env)
        self.builder = builder
        #: Every name the function assigns: such a name is never a global.
        self.locals = source.locals()
        #: Induction variables of open runtime loops.
        self.inductions: set[str] = set()
        #: The tracer that inlines this one's function.
        self.caller = caller
        #: Whether this is the body of the kernel itself, which returns nothing.
        self.kernel = kernel
        #: Whether a runtime loop of this function is open.
        self.in_loop = False
        #: Whether a side of a runtime branch is being traced.
        self.in_branch = False
        #: The last ``return`` visited.
        self.returned: ast.Return | None = None
        #: Line each name was last assigned at.
        self.lines: dict[str, int] = {}
        #: What unrolled loops left in names that were not bound before them.
        self.left: dict[str, Any] = {}
        self._visitors: dict[type, Any] = {}

    # -- machinery ------------------------------------------------------------------------------

    def span(self, node: ast.AST) -> Span:
        return self.source.span(node)

    def error(self, message: str, node: ast.AST) -> ASTFrontendError:
        return ASTFrontendError(message, self.span(node))

    def at(self, node: ast.AST) -> At:
        """Build nodes at the position of ``node``; rule violations become errors there."""
        return At(self, node)

    def visit(self, node: ast.AST) -> Any:
        cls = type(node)
        visitor = self._visitors.get(cls)
        if visitor is None:
            visitor = self._visitors[cls] = getattr(self, f"visit_{cls.__name__}", self.refuse)
        return visitor(node)

    def refuse(self, node: ast.AST) -> Any:
        name = type(node).__name__
        raise self.error(f"unsupported AST node: {name}{HINTS.get(name, '')}", node)

    def body(self, statements: list[ast.stmt]) -> None:
        """Visit the statements of the function."""
        branches.run_body(self, statements, last=True)

    def decide(self, value: Any, node: ast.AST) -> bool:
        """The truth of a compile-time value."""
        try:
            return bool(value)
        except Exception as error:
            raise self.error(f"{value!r} is neither true nor false: {error}", node) from None

    def is_left(self, name: str, value: Any) -> bool:
        """Whether ``value`` is what an unrolled loop happened to leave in ``name``."""
        return name in self.left and self.left[name] is value

    # -- statements -----------------------------------------------------------------------------

    def visit_Expr(self, node: ast.Expr) -> None:
        self.visit(node.value)

    def visit_Pass(self, node: ast.Pass) -> None:
        pass

    def visit_Return(self, node: ast.Return) -> None:
        branches.visit_return(self, node)

    def visit_If(self, node: ast.If) -> None:
        branches.visit_if(self, node)

    def visit_For(self, node: ast.For) -> None:
        loops.visit_for(self, node)

    def visit_While(self, node: ast.While) -> None:
        loops.visit_while(self, node)

    def visit_Assert(self, node: ast.Assert) -> None:
        statements.visit_assert(self, node)

    def visit_Raise(self, node: ast.Raise) -> None:
        statements.visit_raise(self, node)

    def visit_Assign(self, node: ast.Assign) -> None:
        value = settle(self.visit(node.value))
        for target in node.targets:
            self.assign(target, value, node)

    def visit_AnnAssign(self, node: ast.AnnAssign) -> None:
        target = node.target
        if node.value is None:
            return  # a bare annotation leaves names alone
        value = self.visit(node.value)
        if not statements.says_constexpr(node.annotation):
            self.assign(target, settle(value), node)
            return
        if isinstance(value, tensor):
            raise self.error(
                f"a tl.constexpr needs a compile-time value, got a runtime value of {value.type}; leave the "
                "annotation out, or compute it from tl.constexpr parameters",
                node,
            )
        self.assign(target, plain(value), node)

    def visit_AugAssign(self, node: ast.AugAssign) -> None:
        target = node.target
        if not isinstance(target, ast.Name):
            raise self.error(_not_a_name(target), node)
        current = self.visit(ast.copy_location(ast.Name(target.id, ast.Load()), target))
        value = self.visit(node.value)
        with self.at(node):
            self.assign(target, settle(self.binary(node.op, current, value)), node)

    def assign(self, target: ast.expr, value: Any, node: ast.AST) -> None:
        """Bind a name, or the names of a tuple, to ``value``."""
        if isinstance(target, (ast.Tuple, ast.List)):
            statements.unpack(self, target, value, node)
            return
        if not isinstance(target, ast.Name):
            raise self.error(_not_a_name(target), node)
        if target.id in self.inductions and not statements.keeps_value(value, self.env[target.id]):
            raise self.error(f"cannot assign to loop induction variable {target.id!r}", node)
        self.env[target.id] = value
        self.lines[target.id] = getattr(node, "lineno", 0)

    # -- expressions ----------------------------------------------------------------------------

    def visit_Constant(self, node: ast.Constant) -> Any:
        return node.value

    def visit_Name(self, node: ast.Name) -> Any:
        value = self.env.get(node.id, MISSING)
        if value is not MISSING:
            if isinstance(value, Poison):
                raise self._poisoned(value, node)
            if self.builder.scope.parent is not None:
                self._capture(value)
            return value
        if node.id in self.locals:
            raise UnknownNameError(self._unbound(node.id, node.lineno), self.span(node))
        try:
            value = self.environment.lookup(node.id)
        except KeyError:
            raise UnknownNameError(self._unknown(node.id), self.span(node)) from None
        except TypeError as error:
            raise self.error(
                f"the global {node.id!r} cannot be used in a kernel: {error}; pass it as an argument, or "
                "make it an int, float, bool, string, tuple or tl.constexpr",
                node,
            ) from None
        return unwrap(value)

    def _capture(self, value: Any) -> None:
        if isinstance(value, tensor):
            self.builder.capture(value.expr)
        elif isinstance(value, (tuple, list)):
            for item in value:
                self._capture(item)

    def _poisoned(self, value: Poison, node: ast.AST) -> CompilationError:
        kind = UnknownNameError if "is not defined" in value.message else KernelTypeError
        return kind(value.message, self.span(node))

    def _unbound(self, name: str, line: int) -> str:
        return statements.unbound(self.source.parse(), name, line)

    def _unknown(self, name: str) -> str:
        names = {*self.env, *self.environment.names()} - {name}  # it may have been deleted
        close = difflib.get_close_matches(name, sorted(names), n=1)
        return f"name {name!r} is not defined" + (f"; did you mean {close[0]!r}?" if close else "")

    def visit_Tuple(self, node: ast.Tuple) -> Any:
        return tuple(self.visit(item) for item in node.elts)

    def visit_List(self, node: ast.List) -> Any:
        return [self.visit(item) for item in node.elts]

    def visit_Attribute(self, node: ast.Attribute) -> Any:
        owner = self.visit(node.value)
        if is_literal(owner) and not hasattr(owner, node.attr):
            return statements.number_attribute(self, owner, node)
        if node.attr == "value" and not isinstance(owner, tensor) and not hasattr(owner, "value"):
            return owner  # as tl.constexpr has it
        with self.at(node):
            try:
                return unwrap(self.environment.attribute(owner, node.attr))
            except AttributeError as error:
                if node.attr in OF_ARRAYS and isinstance(owner, tensor) and is_pointer(owner.type):
                    raise OpRuleError(f"no attribute {node.attr!r}: {NO_SHAPE}") from None
                close = difflib.get_close_matches(node.attr, dir(owner), n=1)
                hint = f"; did you mean {close[0]!r}?" if close else ""
                raise OpRuleError(f"{error}{hint}") from None

    def visit_BinOp(self, node: ast.BinOp) -> Any:
        # A long sum nests to the left: walk down that spine without recursion.
        spine = [node]
        while isinstance(spine[-1].left, ast.BinOp):
            spine.append(spine[-1].left)
        value = self.visit(spine[-1].left)
        builder, span = self.builder, self.source.span
        for part in reversed(spine):
            rhs = self.visit(part.right)
            # What ``at`` does, without its cost: most of a kernel is arithmetic.
            before, builder.span = builder.span, span(part)
            try:
                value = self.binary(part.op, value, rhs)
            except CompilationError:
                raise
            except FAULTS as error:
                raise self.error(str(error) or type(error).__name__, part) from None
            finally:
                builder.span = before
        return value

    def binary(self, op: ast.operator, lhs: Any, rhs: Any) -> Any:
        """``lhs op rhs``: Python's meaning on compile-time values, the language's otherwise."""
        if type(op) not in _BINARY:
            raise OpRuleError(f"unsupported operator: {type(op).__name__}")
        symbol, meaning = _BINARY[type(op)]
        if isinstance(lhs, tensor):
            return binary(symbol, lhs, beside(rhs, lhs, division=symbol in "/%"))
        if isinstance(rhs, tensor):
            return binary(symbol, beside(lhs, rhs, division=symbol in "/%"), rhs)
        if lhs.__class__ in SETTLED or rhs.__class__ in SETTLED:
            return fold(meaning, lhs, rhs)
        return compute(meaning, lhs, rhs)

    def visit_UnaryOp(self, node: ast.UnaryOp) -> Any:
        value = self.visit(node.operand)
        symbol, meaning = _UNARY[type(node.op)]
        with self.at(node):
            if isinstance(node.op, ast.Not):
                return branches.visit_not(self, value, node)
            if isinstance(value, tensor):
                return unary(symbol, value)
            if isinstance(value, bool) and symbol == "~":
                raise OpRuleError(
                    f"~{value} is {-2 if value else -1} in Python, which is true; write not, as for any "
                    "value that is known at compile time"
                )
            return fold(meaning, value) if value.__class__ in SETTLED else meaning(value)

    def visit_BoolOp(self, node: ast.BoolOp) -> Any:
        return branches.visit_boolop(self, node)

    def visit_IfExp(self, node: ast.IfExp) -> Any:
        return branches.visit_ifexp(self, node)

    def visit_Compare(self, node: ast.Compare) -> Any:
        if len(node.ops) > 1 and any(_ands(part) for part in node.comparators[:-1]):
            # ``a < b & c < d`` means ``a < (b & c) < d`` in Python, and rarely to its author.
            raise self.error(CHAINED, node)
        lhs = self.visit(node.left)
        held: Any = True
        for op, right in zip(node.ops, node.comparators, strict=True):
            rhs = self.visit(right)
            with self.at(node):
                found = self.compare(op, lhs, rhs)
                held = found if held is True else branches.conjunction(held, found)
            if held is False:
                return False
            lhs = rhs
        return held

    def compare(self, op: ast.cmpop, lhs: Any, rhs: Any) -> Any:
        """One link of a comparison."""
        runtime = isinstance(lhs, tensor) or isinstance(rhs, tensor)
        if isinstance(op, (ast.Is, ast.IsNot)):
            lhs, rhs = plain(lhs), plain(rhs)
            same = lhs is rhs or (
                not runtime and is_literal(lhs) and type(lhs) is type(rhs) and lhs == rhs
            )
            return same == isinstance(op, ast.Is)
        if isinstance(op, (ast.In, ast.NotIn)):
            if runtime or (
                isinstance(rhs, (tuple, list)) and any(isinstance(r, tensor) for r in rhs)
            ):
                raise OpRuleError("'in' only takes compile-time values")
            return (lhs in rhs) == isinstance(op, ast.In)
        symbol, meaning = _COMPARE[type(op)]
        if not runtime:
            return meaning(lhs, rhs)
        if symbol in ("==", "!=") and (lhs is None or rhs is None):
            return symbol == "!="  # a runtime value is never None
        if isinstance(lhs, str) or isinstance(rhs, str):
            ty = lhs.type if isinstance(lhs, tensor) else rhs.type
            raise OpRuleError(
                f"a runtime value of {ty} is no string; declare the parameter as tl.constexpr"
            )
        if isinstance(lhs, tensor):
            return binary(symbol, lhs, beside(rhs, lhs))
        return binary(symbol, beside(lhs, rhs), rhs)

    def visit_Subscript(self, node: ast.Subscript) -> Any:
        value = self.visit(node.value)
        index = self._index(node.slice, isinstance(value, tensor))
        if not isinstance(value, (tensor, tuple, list, str, dict, range)):
            self.environment.opaque = True
        with self.at(node):
            try:
                return known(value[index])
            except IndexError:
                if value == () and getattr(node.value, "attr", "") == "shape":
                    raise OpRuleError(NO_SHAPE) from None
                raise

    def _index(self, node: ast.expr, symbolic: bool) -> Any:
        if isinstance(node, ast.Tuple):
            return tuple(self._index(item, symbolic) for item in node.elts)
        if isinstance(node, ast.Slice):
            parts = (node.lower, node.upper, node.step)
            if symbolic and any(part is not None for part in parts):
                raise self.error(
                    "only ':' slices are supported; load the part that is wanted with offsets of its own",
                    node,
                )
            return slice(*(None if part is None else self.visit(part) for part in parts))
        return self.visit(node)

    def visit_JoinedStr(self, node: ast.JoinedStr) -> str:
        return statements.format_string(self, node)

    def visit_ListComp(self, node: ast.ListComp) -> list[Any]:
        return statements.comprehension(self, node)

    def arguments(self, node: ast.Call) -> tuple[list[Any], dict[str, Any]]:
        """The evaluated arguments of a call."""
        return calls.arguments(self, node)

    def visit_Call(self, node: ast.Call) -> Any:
        return known(calls.visit_call(self, node))


def _not_a_name(target: ast.expr) -> str:
    message = "only assignment to a simple name is supported"
    if isinstance(target, ast.Subscript):
        message += "; a block does not change in place: make another with tl.where, or use tl.store"
    elif isinstance(target, ast.Attribute):
        message += "; objects do not change in a kernel: bind a name to the value"
    return message


def _ands(node: ast.expr) -> bool:
    return isinstance(node, ast.BinOp) and isinstance(node.op, (ast.BitAnd, ast.BitOr))
