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

from ..errors import ASTFrontendError, CompilationError, OpRuleError, Span, UnknownNameError
from ..ir.builder import Builder
from ..language.compile_time import unwrap
from ..language.symbolic import binary, tensor, unary
from . import calls, loops
from .dependencies import Environment
from .source import KernelSource

CHAINED = (
    "only simple comparisons are supported; when combining comparisons with &, wrap each comparison "
    "in parentheses"
)

#: What to write instead of syntax the language lacks, added to the refusal.
HINTS = {
    "If": "; use tl.where or a mask for runtime values, a conditional expression for constants",
    "While": "; use for over range(...), with masks for lanes that are done",
    "BoolOp": "; use & and wrap each side in parentheses: (a < b) & (c < d)",
    "Break": "; give range(...) the right bound, or mask what is left",
    "Continue": "; mask what is to be skipped",
    "ListComp": "; write a for loop over tl.static_range(...)",
    "JoinedStr": "; format strings outside of the kernel",
    "Assert": "; check on the host, before the launch",
    "FunctionDef": "; define functions outside of the kernel and call them",
    "Lambda": "; define functions outside of the kernel and call them",
    "Import": "; import at the top of the file",
    "Global": "; return results through memory: tl.store",
    "Delete": "; names need no deleting",
}

_BINARY: dict[type[ast.operator], tuple[str, Any]] = {
    ast.Add: ("+", operator.add), ast.Sub: ("-", operator.sub), ast.Mult: ("*", operator.mul),
    ast.Div: ("/", operator.truediv), ast.FloorDiv: ("//", operator.floordiv),
    ast.Mod: ("%", operator.mod), ast.Pow: ("**", operator.pow), ast.BitAnd: ("&", operator.and_),
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
        if error is None or isinstance(error, CompilationError):
            return
        if isinstance(error, OpRuleError):
            raise self.tracer.error(str(error), self.node) from None
        if isinstance(error, (ArithmeticError, TypeError, ValueError, LookupError, AttributeError)):
            raise self.tracer.error(str(error) or kind.__name__, self.node) from None


class Tracer:
    """Visits the statements of one function body."""

    def __init__(
        self,
        source: KernelSource,
        environment: Environment,
        env: Mapping[str, Any],
        builder: Builder,
    ) -> None:
        self.source = source
        self.environment = environment
        #: Local names: parameters and assignments.
        self.env: dict[str, Any] = dict(env)
        self.builder = builder
        #: Every name the function assigns, with the line: such a name is never a global.
        self.locals = loops.bound_names(source.parse())
        #: Induction variables of open runtime loops.
        self.inductions: set[str] = set()
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
        """Visit statements in order."""
        for statement in statements:
            self.visit(statement)

    # -- statements -----------------------------------------------------------------------------

    def visit_Expr(self, node: ast.Expr) -> None:
        self.visit(node.value)

    def visit_Pass(self, node: ast.Pass) -> None:
        pass

    def visit_Return(self, node: ast.Return) -> None:
        raise self.error("return statements are not supported in kernels", node)

    def visit_Assign(self, node: ast.Assign) -> None:
        if len(node.targets) != 1:
            raise self.error("only single-target assignment is supported", node)
        self.assign(node.targets[0], self.visit(node.value), node)

    def visit_AnnAssign(self, node: ast.AnnAssign) -> None:
        target = node.target
        if node.value is None and isinstance(target, ast.Name) and target.id in self.env:
            return  # a bare annotation leaves a value alone
        self.assign(target, None if node.value is None else self.visit(node.value), node)

    def visit_AugAssign(self, node: ast.AugAssign) -> None:
        target = node.target
        if not isinstance(target, ast.Name):
            raise self.error("only assignment to a simple name is supported", node)
        current = self.visit(ast.copy_location(ast.Name(target.id, ast.Load()), target))
        value = self.visit(node.value)
        with self.at(node):
            self.assign(target, self.binary(node.op, current, value), node)

    def assign(self, target: ast.expr, value: Any, node: ast.AST) -> None:
        if not isinstance(target, ast.Name):
            raise self.error("only assignment to a simple name is supported", node)
        if target.id in self.inductions:
            raise self.error(f"cannot assign to loop induction variable {target.id!r}", node)
        self.env[target.id] = value

    def visit_For(self, node: ast.For) -> None:
        loops.visit_for(self, node)

    # -- expressions ----------------------------------------------------------------------------

    def visit_Constant(self, node: ast.Constant) -> Any:
        return node.value

    def visit_Name(self, node: ast.Name) -> Any:
        if node.id in self.env:
            value = self.env[node.id]
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

    def _unbound(self, name: str, line: int) -> str:
        assigned = self.locals[name]
        if assigned < line:
            return (
                f"name {name!r} is not defined here: it is first assigned inside the loop at line "
                f"{assigned} and does not outlive it; give it a value before the loop"
            )
        return f"name {name!r} is not defined here: it is first assigned at line {assigned}"

    def _unknown(self, name: str) -> str:
        close = difflib.get_close_matches(name, [*self.env, *self.environment.names()], n=1)
        return f"name {name!r} is not defined" + (f"; did you mean {close[0]!r}?" if close else "")

    def visit_Tuple(self, node: ast.Tuple) -> Any:
        return tuple(self.visit(item) for item in node.elts)

    def visit_List(self, node: ast.List) -> Any:
        return [self.visit(item) for item in node.elts]

    def visit_Attribute(self, node: ast.Attribute) -> Any:
        owner = self.visit(node.value)
        with self.at(node):
            try:
                return unwrap(self.environment.attribute(owner, node.attr))
            except AttributeError as error:
                close = difflib.get_close_matches(node.attr, dir(owner), n=1)
                hint = f"; did you mean {close[0]!r}?" if close else ""
                raise OpRuleError(f"{error}{hint}") from None

    def visit_BinOp(self, node: ast.BinOp) -> Any:
        # A long sum nests to the left: walk down that spine without recursion.
        spine = [node]
        while isinstance(spine[-1].left, ast.BinOp):
            spine.append(spine[-1].left)
        value = self.visit(spine[-1].left)
        for part in reversed(spine):
            rhs = self.visit(part.right)
            with self.at(part):
                value = self.binary(part.op, value, rhs)
        return value

    def binary(self, op: ast.operator, lhs: Any, rhs: Any) -> Any:
        """``lhs op rhs``: Python's meaning on compile-time values, the language's otherwise."""
        if type(op) not in _BINARY:
            raise OpRuleError(f"unsupported operator: {type(op).__name__}")
        symbol, fold = _BINARY[type(op)]
        if isinstance(lhs, tensor) or isinstance(rhs, tensor):
            return binary(symbol, lhs, rhs)
        return fold(lhs, rhs)

    def visit_UnaryOp(self, node: ast.UnaryOp) -> Any:
        value = self.visit(node.operand)
        symbol, fold = _UNARY[type(node.op)]
        with self.at(node):
            return unary(symbol, value) if isinstance(value, tensor) else fold(value)

    def visit_Compare(self, node: ast.Compare) -> Any:
        if len(node.ops) != 1:
            raise self.error(CHAINED, node)
        lhs, rhs = self.visit(node.left), self.visit(node.comparators[0])
        op = type(node.ops[0])
        if op in (ast.Is, ast.IsNot):
            return (lhs is rhs) == (op is ast.Is)
        if op not in _COMPARE:
            raise self.error(f"unsupported comparison: {op.__name__}", node)
        symbol, fold = _COMPARE[op]
        with self.at(node):
            if isinstance(lhs, tensor) or isinstance(rhs, tensor):
                return binary(symbol, lhs, rhs)
            return fold(lhs, rhs)

    def visit_IfExp(self, node: ast.IfExp) -> Any:
        test = self.visit(node.test)
        if isinstance(test, tensor):
            raise self.error(
                "only constexpr conditions in IfExp are supported; use tl.where for runtime values",
                node,
            )
        return self.visit(node.body if test else node.orelse)

    def visit_Subscript(self, node: ast.Subscript) -> Any:
        value = self.visit(node.value)
        index = self._index(node.slice)
        if not isinstance(value, (tensor, tuple, list, str, dict, range)):
            self.environment.opaque = True
        with self.at(node):
            return unwrap(value[index])

    def _index(self, node: ast.expr) -> Any:
        if isinstance(node, ast.Tuple):
            return tuple(self._index(item) for item in node.elts)
        if isinstance(node, ast.Slice):
            if node.lower is None and node.upper is None and node.step is None:
                return slice(None)
            raise self.error("only ':' slices are supported", node)
        return self.visit(node)

    def visit_Call(self, node: ast.Call) -> Any:
        return unwrap(calls.visit_call(self, node))
