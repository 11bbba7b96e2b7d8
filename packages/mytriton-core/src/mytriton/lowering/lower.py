"""Lowering: loads, stores and loops at their place in the source, pure values at first need.

A pure node is emitted into the region it was built in, so a value first needed inside a loop but
built before it lands in front of the loop. Node types were inferred while tracing; an operation's
result simply takes its node's type.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from ..ir.builder import Scope
from ..ir.expr import Const, ForRange, Node, Param
from ..ir.types import Type
from ..ir.values import Constant, SSAForRange, SSAFunction, SSAItem, SSAOp, SSAOperand, SSAValue


def lower(name: str, params: Sequence[Param], scope: Scope) -> SSAFunction:
    """Lower the trace of a kernel body. Numbers values in the order they are produced."""
    lowering = _Lowering(scope)
    lowering.trace(scope.trace)
    return SSAFunction(name, tuple(params), lowering.open[id(scope)])


class _Lowering:
    def __init__(self, root: Scope) -> None:
        #: Item lists of the regions being filled, by identity of their scope.
        self.open: dict[int, list[SSAItem]] = {id(root): []}
        self.root = root
        self.values: dict[int, SSAOperand] = {}
        self.next = 0

    def value(self, ty: Type) -> SSAValue:
        self.next += 1
        return SSAValue(self.next - 1, ty)

    def trace(self, nodes: Sequence[Node]) -> None:
        for node in nodes:
            if isinstance(node, ForRange):
                self.loop(node)
            else:
                self.expression(node)

    def expression(self, root: Any) -> SSAOperand:
        """Lower a node and what it needs, operands left to right; iterative, because chains of
        thousands of dependent operations are ordinary."""
        if root is None:
            return None
        if id(root) not in self.values:
            self._expression(root)
        return self.values[id(root)]

    def _expression(self, root: Node) -> None:
        values = self.values
        # A frame is a node, its operands and an iterator over those still to be looked at.
        stack = [] if self._leaf(root) else [_frame(root)]
        while stack:
            node, operands, waiting = stack[-1]
            for k in waiting:
                operand = operands[k]
                if operand is not None and id(operand) not in values and not self._leaf(operand):
                    stack.append(_frame(operand))
                    break
            else:
                stack.pop()
                self.operation(node, operands)

    def _leaf(self, node: Node) -> bool:
        """Lower a constant or parameter; false for anything else."""
        if isinstance(node, Const):
            self.values[id(node)] = Constant(node.value, node.type)  # type: ignore[arg-type]
        elif isinstance(node, Param):
            self.values[id(node)] = node
        else:
            return False
        return True

    def operation(self, node: Node, nodes: Sequence[Node | None]) -> None:
        operands = tuple(None if n is None else self.values[id(n)] for n in nodes)
        result = None if node.type is None else self.value(node.type)
        self.values[id(node)] = result
        home: Scope = node.home or self.root
        self.open[id(home)].append(SSAOp(node.opcode, operands, result, node.attrs, (), node.span))

    def loop(self, loop: ForRange) -> None:
        start, stop, step = (self.expression(n) for n in (loop.start, loop.stop, loop.step))
        for capture in loop.captures:
            self.expression(capture)
        inputs = tuple(self.expression(n) for n in loop.carried_inputs)
        index = self.value(loop.index.type)
        args = tuple(self.value(arg.type) for arg in loop.carried_args)
        self.values[id(loop.index)] = index
        self.values.update(zip(map(id, loop.carried_args), args))
        body = self.open[id(loop.scope)] = []
        self.trace(loop.trace)
        yields = tuple(self.expression(n) for n in loop.carried_outputs)
        results = tuple(self.value(result.type) for result in loop.results)
        self.values.update(zip(map(id, loop.results), results))
        del self.open[id(loop.scope)]
        item = SSAForRange(index, start, stop, step, inputs, args, body, yields, results, loop.span)
        self.open[id(loop.home)].append(item)


def _frame(node: Node) -> tuple[Node, tuple[Node | None, ...], Iterator[int]]:
    operands = node.operands
    return node, operands, iter(node.ORDER or range(len(operands)))
