"""Lowering: loads, stores and loops at their place in the source, pure values at first need.

A pure node is emitted into the region it was built in, so a value first needed inside a loop but
built before it lands in front of the loop. Node types were inferred while tracing; an operation's
result simply takes its node's type.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from ..ir.builder import Scope
from ..ir.expr import Const, ForRange, If, Node, Param, Reduce, While
from ..ir.types import Type
from ..ir.values import (
    Constant,
    Region,
    SSAForRange,
    SSAFunction,
    SSAItem,
    SSAOp,
    SSAOperand,
    SSAValue,
)


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
            structured = _STRUCTURED.get(type(node))
            if structured is None:
                self.expression(node)
            else:
                structured(self, node)

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
        values, ty = self.values, node.type
        operands = tuple([None if n is None else values[id(n)] for n in nodes])
        values[id(node)] = result = None if ty is None else self.value(ty)
        home: Scope = node.home or self.root
        self.open[id(home)].append(SSAOp(node.opcode, operands, result, node.attrs, (), node.span))

    def region(
        self, args: Sequence[Node], block: tuple[Scope, Sequence[Node]], outputs: Sequence[Node]
    ) -> Region:
        """Lower a region: its arguments, what program order pins in it, what it yields."""
        scope, trace = block
        values = tuple(self.value(arg.type) for arg in args)
        self.values.update(zip(map(id, args), values))
        body = self.open[id(scope)] = []
        self.trace(trace)
        yields = tuple(self.expression(n) for n in outputs)
        del self.open[id(scope)]
        return Region(values, body, yields)

    def results(self, node: Any) -> tuple[SSAValue, ...]:
        found = tuple(self.value(result.type) for result in node.results)
        self.values.update(zip(map(id, node.results), found))
        return found

    def loop(self, loop: ForRange) -> None:
        start, stop, step = (self.expression(n) for n in (loop.start, loop.stop, loop.step))
        for capture in loop.captures:
            self.expression(capture)
        inputs = tuple(self.expression(n) for n in loop.carried_inputs)
        args = (loop.index, *loop.carried_args)
        region = self.region(args, loop.blocks[0], loop.carried_outputs)
        results = self.results(loop)
        item = SSAForRange(
            region.args[0], start, stop, step, inputs, region.args[1:], region.body, region.yields,
            results, loop.span,
        )  # fmt: skip
        self.open[id(loop.home)].append(item)

    def branch(self, node: If) -> None:
        condition = self.expression(node.condition)
        for capture in node.captures:
            self.expression(capture)
        outputs = (node.then_outputs, node.else_outputs)
        regions = [self.region((), b, o) for b, o in zip(node.blocks, outputs, strict=True)]
        self.operation_with(node, "if", (condition,), regions)

    def while_(self, node: While) -> None:
        for capture in node.captures:
            self.expression(capture)
        inputs = [self.expression(n) for n in node.carried_inputs]
        condition, body = node.blocks
        # Both regions name the carried values by the same nodes, one after the other.
        regions = [self.region(node.carried_args, condition, (node.condition,))]
        regions.append(self.region(node.carried_args, body, node.carried_outputs))
        self.operation_with(node, "while", inputs, regions)

    def reduce(self, node: Reduce) -> None:
        values = [self.expression(n) for n in node.values]
        attrs = {} if node.axis is None else {"axis": node.axis}
        region = self.region(node.args, node.blocks[0], node.outputs)
        self.operation_with(node, "reduce", values, [region], attrs)

    def operation_with(
        self, node: Any, opcode: str, operands: Sequence[SSAOperand], regions: Sequence[Region],
        attrs: Mapping[str, Any] | None = None,
    ) -> None:  # fmt: skip
        results = self.results(node)
        result = results[0] if len(results) == 1 else results or None
        item = SSAOp(opcode, tuple(operands), result, attrs or {}, tuple(regions), node.span)
        self.open[id(node.home)].append(item)


_STRUCTURED: dict[type[Node], Callable[[_Lowering, Any], None]] = {
    ForRange: _Lowering.loop, If: _Lowering.branch, While: _Lowering.while_,
    Reduce: _Lowering.reduce,
}  # fmt: skip


def _frame(node: Node) -> tuple[Node, tuple[Node | None, ...], Iterator[int]]:
    operands = node.operands
    return node, operands, iter(node.ORDER or range(len(operands)))
