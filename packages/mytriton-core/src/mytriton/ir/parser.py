"""The parser of the module form: ``parse(print_module(f)) == f``.

It reads text only; whether the program makes sense is the verifier's business. One line is one item
or one bracket of a region, and open regions are kept on a stack, so text of any depth parses.
"""

from __future__ import annotations

from ..errors import ParseError, Span
from . import ops as _ops  # noqa: F401  (registers the operations)
from .context import implied_types, implied_yields
from .expr import Param
from .text import CONSTANT, NAME, OPCODE, VALUE, Cursor, read_constant, read_type
from .types import BOOL, I32, ScalarType, Type, element_of
from .values import (
    Constant,
    Region,
    SSAForRange,
    SSAFunction,
    SSAItem,
    SSAOp,
    SSAOperand,
    SSAValue,
    operand_type,
)

#: Stands for a constant whose type is not known yet.
_PENDING = Constant(False, BOOL)
#: Such constants: operand position to text and column.
_Waiting = dict[int, tuple[str, int]]


def parse(text: str, filename: str = "<ssa>") -> SSAFunction:
    """The function ``text`` spells in module form. Raises ``ParseError``.

    Items get spans that point into the text, under ``filename``.
    """
    return _Parser(text, filename).function()


class _Open:
    """A region that is being read, and the item it belongs to (``None``: the kernel itself)."""

    __slots__ = ("args", "body", "item", "line", "regions", "yields")

    def __init__(self, item: SSAItem | None, line: int) -> None:
        self.item = item
        self.line = line
        self.regions: list[Region] = []
        self.start_region(())

    def start_region(self, args: tuple[SSAValue, ...]) -> None:
        self.args = args
        self.body: list[SSAItem] = []
        self.yields: tuple[SSAOperand, ...] | None = None

    def end_region(self) -> None:
        self.regions.append(Region(self.args, self.body, self.yields or ()))


class _Parser:
    def __init__(self, text: str, filename: str) -> None:
        self.lines = text.split("\n")
        self.filename = filename
        self.params: dict[str, Param] = {}
        self.values: dict[int, SSAValue] = {}
        self.stack: list[_Open] = []
        self.next = 0

    def line(self) -> Cursor | None:
        """The next line that is not blank."""
        while self.next < len(self.lines):
            text = self.lines[self.next].strip(" \t\r")
            self.next += 1
            if text:
                return Cursor(text, self.next)
        return None

    def function(self) -> SSAFunction:
        name = self.header()
        while self.stack:
            line = self.line()
            if line is None:
                last = Cursor("", len(self.lines))
                raise last.fail(f"'}}' for the '{{' of line {self.stack[-1].line}")
            body = self.statement(line)
        after = self.line()
        if after is not None:
            raise after.fail("nothing after the kernel")
        return SSAFunction(name, tuple(self.params.values()), body)

    def header(self) -> str:
        line = self.line() or Cursor("", len(self.lines))
        if line.text[:6] != "kernel" or line.text[6:7] not in (" ", '"'):
            raise line.fail("'kernel NAME(...) {'")
        line.need("kernel")
        name = line.name("the kernel's name")
        line.need("(")
        while not line.skip(")"):
            if self.params:
                line.need(",")
            start = line.pos
            param = line.name("a parameter's name")
            if param in self.params:
                line.pos = start
                raise line.fail("a parameter name that is not taken")
            line.need(":")
            self.params[param] = Param(param, line.type())
        line.need("{")
        line.need_end()
        self.stack.append(_Open(None, line.number))
        return name

    def statement(self, line: Cursor) -> list[SSAItem]:
        """Read one line; returns the body it belongs to."""
        top = self.stack[-1]
        if line.text[0] == "}":
            self.bracket(line, top)
            return top.body
        if top.yields is not None:
            raise line.fail("'}' (the yield ends a region)")
        if line.text.startswith("args("):
            self.arguments(line, top)
        elif line.text.startswith("yield ") and top.item is not None:
            self.terminator(line, top)
        else:
            self.item(line, top)
        return top.body

    def bracket(self, line: Cursor, top: _Open) -> None:
        """``}`` ends an item, ``} {`` starts its next region."""
        line.need("}")
        if not line.at_end() and isinstance(top.item, SSAOp):
            line.skip("else")
            line.need("{")
            line.need_end()
            top.end_region()
            top.start_region(())
            return
        line.need_end()
        self.stack.pop()
        if top.item is None:
            return
        top.end_region()
        if isinstance(top.item, SSAForRange):
            top.regions[0].args = (top.item.index, *top.item.carried_args)
        self.define(*top.item.results)
        self.stack[-1].body.append(top.item.rebuild(top.item.inputs, top.regions))

    def arguments(self, line: Cursor, top: _Open) -> None:
        """``args(%1: f32, %2: f32)``, the first line of a region."""
        if top.body or top.args or not isinstance(top.item, SSAOp):
            raise line.fail("an operation ('args' opens the region of an operation)")
        line.need("args(")
        args: list[SSAValue] = []
        while not args or line.skip(","):
            number = line.value()
            line.need(":")
            args.append(SSAValue(number, line.type()))
        line.need(")")
        line.need_end()
        self.define(*args)
        top.args = tuple(args)

    def terminator(self, line: Cursor, top: _Open) -> None:
        line.need("yield ")
        operands, pending = self.operands(line)
        line.need_end()
        implied = implied_yields(top.item, len(operands)) if top.item is not None else []
        top.yields = self.settle(line, operands, pending, implied)

    def item(self, line: Cursor, top: _Open) -> None:
        numbers: list[int] = []
        if line.text[0] == "%":
            numbers.append(line.value())
            while line.skip(","):
                numbers.append(line.value())
            line.need("=")
        span = Span(self.filename, line.number, 1)
        if line.text.startswith("for %", line.pos):
            self.stack.append(_Open(self.loop(line, numbers, span), line.number))
            return
        item = self.operation(line, numbers, span)
        if line.skip("{"):
            line.need_end()
            self.stack.append(_Open(item, line.number))
            return
        line.need_end()
        self.define(*item.results)
        top.body.append(item)

    def operation(self, line: Cursor, numbers: list[int], span: Span) -> SSAOp:
        opcode = line.need_match(OPCODE, "an operation")[0]
        operands: list[SSAOperand] = []
        pending: _Waiting = {}
        if not line.at_end() and line.text[line.pos] not in "{:":
            operands, pending = self.operands(line)
        attrs = self.attributes(line)
        results = self.results(line, numbers)
        result = results[0] if len(results) == 1 else (results or None)
        item = SSAOp(opcode, tuple(operands), result, attrs, (), span)
        if pending:
            item.operands = self.settle(line, operands, pending, implied_types(item))
        return item

    def results(self, line: Cursor, numbers: list[int]) -> tuple[SSAValue, ...]:
        """``: f32, i32`` after an operation that has results."""
        if not numbers:
            return ()
        line.need(":")
        start = line.pos
        types = line.types()
        if len(types) != len(numbers):
            line.pos = start
            raise line.fail(f"as many types as results ({len(numbers)})")
        return tuple(SSAValue(number, ty) for number, ty in zip(numbers, types, strict=False))

    def attributes(self, line: Cursor) -> dict[str, object]:
        """``{name=value, ...}``; a ``{`` that ends the line opens a region instead."""
        attrs: dict[str, object] = {}
        if line.at_end() or line.text[line.pos] != "{" or line.pos == len(line.text) - 1:
            return attrs
        line.need("{")
        while not attrs or line.skip(","):
            start = line.pos
            name = line.need_match(NAME, "an attribute's name")[0]
            if name in attrs:
                line.pos = start
                raise line.fail("an attribute name that is not taken")
            line.need("=")
            attrs[name] = line.attribute()
        line.need("}")
        return attrs

    def loop(self, line: Cursor, numbers: list[int], span: Span) -> SSAForRange:
        line.need("for")
        index = line.value()
        line.need("in")
        line.need("range(")
        bounds, pending = self.operands(line)
        if len(bounds) != 3:
            raise line.fail("the start, the stop and the step of the loop")
        line.need(")")
        args, inputs, waiting = self.carried(line)
        if len(args) != len(numbers):
            raise line.fail(f"as many carried values as results ({len(numbers)})")
        results = self.results(line, numbers)
        line.need("{")
        line.need_end()
        carried = tuple(
            SSAValue(number, value.ty) for number, value in zip(args, results, strict=False)
        )
        start, stop, step = bounds
        draft = SSAForRange(
            SSAValue(index, I32), start, stop, step, tuple(inputs), carried, [], (), results, span
        )
        implied = implied_types(draft)
        draft.start, draft.stop, draft.step = self.settle(line, bounds, pending, implied[:3])
        draft.carried_inputs = self.settle(line, inputs, waiting, implied[3:])
        ty = operand_type(draft.start)
        scalar = element_of(ty) if ty is not None else I32
        draft.index = SSAValue(index, scalar)
        self.define(draft.index, *carried)
        return draft

    def carried(self, line: Cursor) -> tuple[list[int], list[SSAOperand], _Waiting]:
        """``iter_args(%1 = 0.0, %2 = %5)``"""
        args: list[int] = []
        inputs: list[SSAOperand] = []
        pending: _Waiting = {}
        if line.skip("iter_args("):
            while not args or line.skip(","):
                args.append(line.value())
                line.need("=")
                inputs.append(self.operand(line, len(inputs), pending))
            line.need(")")
        return args, inputs, pending

    def operands(self, line: Cursor) -> tuple[list[SSAOperand], _Waiting]:
        """Operands separated by commas, and the texts of constants whose type is still open."""
        pending: _Waiting = {}
        found = [self.operand(line, 0, pending)]
        while line.skip(","):
            found.append(self.operand(line, len(found), pending))
        return found, pending

    def operand(self, line: Cursor, position: int, pending: _Waiting) -> SSAOperand:
        start = line.pos
        if match := line.take(VALUE):
            value = self.values.get(int(match[1]))
            if value is None:
                line.pos = start
                raise line.fail("a value that is defined before")
            return value
        if match := line.take(CONSTANT):
            if match[2] is None:
                pending[position] = match[1], start
                return _PENDING
            return self.constant(line, start, match[1], _scalar(match[2]))
        name = line.name("an operand")
        if name == "none" and line.text[start] != '"':
            return None
        if name not in self.params:
            line.pos = start
            raise line.fail("a parameter of the kernel, a value, a constant or none")
        return self.params[name]

    def settle(
        self,
        line: Cursor,
        operands: list[SSAOperand],
        pending: _Waiting,
        implied: list[Type | None],
    ) -> tuple[SSAOperand, ...]:
        """Give the constants without a suffix the type their place implies."""
        for position, (text, at) in pending.items():
            ty = implied[position] if position < len(implied) else None
            operands[position] = self.constant(line, at, text, ty and element_of(ty))
        return tuple(operands)

    def constant(self, line: Cursor, at: int, text: str, ty: object) -> Constant:
        if not isinstance(ty, ScalarType):
            line.pos = at
            raise line.fail(f"a type after the constant {text}, as in {text}:f32")
        try:
            return read_constant(text, ty)
        except (ValueError, OverflowError):
            line.pos = at
            raise line.fail(f"a constant that is a {ty}, not {text[:40]}") from None

    def define(self, *values: SSAValue) -> None:
        for value in values:
            self.values[value.id] = value


def _scalar(name: str) -> Type | None:
    try:
        return read_type(name)
    except ValueError:
        return None


__all__ = ["ParseError", "parse"]
