"""The grid of an exported kernel: numbers, and expressions of its arguments that any program which
launches it can compute with 64-bit integers."""

from __future__ import annotations

import ast
from collections.abc import Mapping

from ..errors import ArgumentError
from ..ir.types import is_pointer, scalar_of
from ..plugins.types import LaunchSpec
from .grid import MOST

#: Functions, and how many arguments they take at least and at most.
_FUNCTIONS = {"cdiv": (2, 2), "min": (1, 99), "max": (1, 99)}
_OPERATORS = (ast.Add, ast.Sub, ast.Mult, ast.FloorDiv, ast.Mod, ast.USub, ast.UAdd)


def grid_rule(grid: object, spec: LaunchSpec) -> tuple[int | str, ...] | None:
    """Three extents, each a number or an expression. Raises ``ArgumentError``."""
    if grid is None:
        return None
    parts = tuple(grid) if isinstance(grid, (tuple, list)) else (grid,)
    if not 1 <= len(parts) <= 3:
        raise ArgumentError(f"a grid has one to three extents, got {grid!r}")
    rule: list[int | str] = [_extent(part, spec) for part in parts]
    return (*rule, 1, 1)[:3]


def _extent(part: object, spec: LaunchSpec) -> int | str:
    if isinstance(part, str):
        _Checker(part, spec).check()
        return part
    if type(part) is int and 0 <= part <= MOST:
        return part
    raise ArgumentError(
        "an exported grid is made of numbers and expressions of arguments such as 'cdiv(n, BLOCK)', got "
        f"{part!r}"
    )


class _Checker:
    """Walks one expression."""

    def __init__(self, text: str, spec: LaunchSpec) -> None:
        self.text = text
        self.kinds = _kinds(spec)
        self.constants = {n: v for n, v in spec.constexprs.items() if type(v) is int}
        self.runtime = False

    def check(self) -> None:
        try:
            tree = ast.parse(self.text.strip(), mode="eval").body
        except SyntaxError:
            raise ArgumentError(f"grid {self.text!r} is no expression") from None
        self.visit(tree)
        if not self.runtime:
            self.number(tree)

    def refuse(self, why: str) -> ArgumentError:
        return ArgumentError(f"grid {self.text!r} {why}")

    def visit(self, node: ast.AST) -> None:
        if isinstance(node, ast.Name):
            self.name(node.id)
        elif isinstance(node, ast.Constant):
            if type(node.value) is not int:
                raise self.refuse(f"has {node.value!r} in it, which is no int")
        elif isinstance(node, (ast.BinOp, ast.UnaryOp)) and isinstance(node.op, _OPERATORS):
            for child in ast.iter_child_nodes(node):
                if isinstance(child, ast.expr):
                    self.visit(child)
            if isinstance(node.op, (ast.FloorDiv, ast.Mod)) and isinstance(node, ast.BinOp):
                self.divisor(node.right)
        elif isinstance(node, ast.BinOp) and isinstance(node.op, ast.Div):
            raise self.refuse("divides with /, which gives a fraction; use // or cdiv")
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and not node.keywords:
            self.call(node.func.id, node.args)
        else:
            raise self.refuse(
                "is more than integer arithmetic: whoever launches the kernel must be able to compute it"
            )

    def call(self, name: str, args: list[ast.expr]) -> None:
        low, high = _FUNCTIONS.get(name, (0, -1))
        if high < 0:
            raise self.refuse(f"calls {name!r}; it may call {', '.join(_FUNCTIONS)}")
        if not low <= len(args) <= high:
            raise self.refuse(f"calls {name} with {len(args)} arguments")
        for arg in args:
            self.visit(arg)
        if name == "cdiv":
            self.divisor(args[1])

    def divisor(self, node: ast.expr) -> None:
        """What is divided by, where it is known already."""
        names = {n.id for n in ast.walk(node) if isinstance(n, ast.Name)} - {*_FUNCTIONS}
        if names <= {*self.constants} and self.value(node) == 0:
            raise self.refuse("divides by zero")

    def name(self, name: str) -> None:
        kind = self.kinds.get(name)
        ints = [n for n, k in self.kinds.items() if not k]
        if kind is None or kind:
            what = f"uses {name!r}, which is {kind}" if kind else f"uses {name!r}"
            raise self.refuse(f"{what}; it may use {', '.join([*_FUNCTIONS, *ints])}")
        self.runtime |= name not in self.constants

    def number(self, tree: ast.expr) -> None:
        """Nothing in it waits for the launch: it must be an extent."""
        value = self.value(tree)
        if not 0 <= value <= MOST:
            raise self.refuse(f"is {value}, which is no extent of a grid")

    def value(self, tree: ast.expr) -> int:
        """Of an expression without runtime arguments, which has been looked at."""
        scope = {"cdiv": lambda x, y: -(-x // y), "min": min, "max": max, **self.constants}
        code = compile(ast.Expression(tree), "<grid>", "eval")
        try:
            return int(eval(code, {"__builtins__": {}}, scope))  # nothing but integer arithmetic
        except ArithmeticError as error:
            raise self.refuse(f"cannot be computed: {error}") from None


def _kinds(spec: LaunchSpec) -> Mapping[str, str]:
    """What each argument is, where it is no int: ``""`` where it is one."""
    found = {}
    for argument in spec.arguments:
        if is_pointer(argument.type):
            found[argument.name] = "an array"
            continue
        scalar = scalar_of(argument.type)
        found[argument.name] = "" if scalar.is_int() else f"a number of type {scalar}"
    for name, value in spec.constexprs.items():
        found[name] = "" if type(value) is int else f"{value!r}"
    return found
