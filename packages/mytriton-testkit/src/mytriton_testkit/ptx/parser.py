"""Text of a PTX module to `syntax.Module`.

One regular expression finds a whole statement; nested `{ }` scopes with their own registers,
variables and labels are resolved on the way, so that nothing after this file knows scopes.
"""

from __future__ import annotations

import re
from dataclasses import replace
from typing import NoReturn

from .errors import PtxSyntaxError, Site
from .literals import initial_values, parse_immediate
from .syntax import (
    Address,
    Call,
    Function,
    Immediate,
    Instruction,
    Label,
    Module,
    Operand,
    Pair,
    Param,
    Register,
    Special,
    Symbol,
    Variable,
    Vector,
)
from .types import TYPES

NOISE = re.compile(r'"(?:[^"\\]|\\.)*"|//[^\n]*|/\*.*?\*/', re.S)
STATEMENT = re.compile(
    r"""\s*(?:
      (?P<directive>\.[a-zA-Z_]\w*)
    | (?P<label>[\w$%]+)\s*:(?!:)
    | (?P<brace>[{}])
    | (?:@(?P<negated>!)?\s*(?P<guard>[\w$%]+)\s+)?(?P<opcode>[a-z][\w.:]*)\s*(?P<rest>[^;]*);
    )""",
    re.X,
)
FILE = re.compile(r'\.file\s+(\d+)\s+"([^"]*)"')
OPERAND = re.compile(r"\{[^}]*\}|\[[^\]]*\]|[^,{}\[\]]+")
DECLARED = re.compile(r"(?P<name>[\w$%]+)(?:<(?P<count>\d+)>)?")
VARIABLE = re.compile(
    r"""\s*(?:\.(?P<space>global|const|shared|local|param)\s+)?
    (?P<attributes>(?:\.(?:align\s+\d+|attribute\([^)]*\)|ptr|global|const|shared|local|v2|v4)\s+)*)
    \.(?P<type>\w+)\s+
    (?P<pointer>(?:\.(?:ptr|global|const|shared|local|param|align\s+\d+)\s+)*)
    (?P<name>[\w$%]+)\s*(?P<dims>(?:\[\s*\d*\s*\]\s*)*)
    (?:=\s*(?P<init>.*))?$""",
    re.X | re.S,
)
HEADER = re.compile(r"\s*(?P<name>[\w$%]+)\s*(?:\((?P<params>[^)]*)\))?")
SPECIALS = re.compile(
    r"%(?:(?:n?tid|n?ctaid|laneid|n?warpid|n?smid|gridid|lanemask_\w+|clock(?:_hi|64)?"
    r"|globaltimer(?:_lo|_hi)?|dynamic_smem_size|total_smem_size|aggr_smem_size|envreg\d+|pm\d+"
    r"|is_explicit_cluster|cluster_\w+|clusterid|nclusterid)(?:\.[xyz])?)$"
)
LINKAGE = frozenset((".visible", ".extern", ".weak", ".common"))


class Scope:
    """The names of one `{ }`."""

    def __init__(self, parent: Scope | None, path: str, start: int = 0) -> None:
        self.parent, self.path, self.start = parent, path, start
        self.registers: dict[str, Register] = {}
        self.families: dict[str, tuple[int, str]] = {}
        self.names: dict[str, str] = {}


class Parser:
    def __init__(self, text: str) -> None:
        self.text = NOISE.sub(self._blank, text)
        self.at = self.counted = 0
        self.line = 1
        self.module = Module()
        # LLVM names the files after the code that mentions them.
        self.files: dict[str, str] = dict(FILE.findall(self.text))
        self.source: str | None = None
        self.scope = Scope(None, "")
        self.scopes = 0
        self.function: Function | None = None

    @staticmethod
    def _blank(match: re.Match[str]) -> str:
        text = match[0]
        return text if text[0] == '"' else "\n" * text.count("\n") + " "

    def fail(self, message: str) -> NoReturn:
        raise PtxSyntaxError(f"PTX line {self.current_line()}: {message}")

    def current_line(self) -> int:
        self.line += self.text.count("\n", self.counted, self.at)
        self.counted = max(self.counted, self.at)
        return self.line

    def take_until(self, stop: str) -> str:
        end = self.text.find(stop, self.at)
        if end < 0:
            self.fail(f"no {stop!r} closes what begins here")
        taken, self.at = self.text[self.at : end], end + len(stop)
        return taken

    # ------------------------------------------------------------------ module level

    def parse(self) -> Module:
        while match := STATEMENT.match(self.text, self.at):
            self.at = match.end()
            directive = match["directive"]
            if directive is None:
                self.fail(f"unexpected {match[0].strip()[:60]!r}")
            self.module_directive(directive)
        if rest := self.text[self.at :].strip():
            self.fail(f"cannot read {rest[:60]!r}")
        return self.module

    def module_directive(self, name: str) -> None:
        if name in LINKAGE:
            return
        if name in (".version", ".target", ".address_size"):
            value = self.take_until("\n").strip()
            if name == ".address_size" and value != "64":
                self.fail("only 64-bit addresses are supported")
            if name != ".address_size":
                setattr(self.module, name[1:], value)
        elif name in (".entry", ".func"):
            self.parse_function(is_entry=name == ".entry")
        elif name in (".global", ".const", ".shared"):
            self.module.variables.append(self.variable(name + " " + self.take_until(";")))
        else:
            self.common_directive(name)

    def common_directive(self, name: str) -> None:
        if name == ".file":
            self.take_until("\n")
        elif name == ".loc":
            file, line = self.take_until("\n").split()[:2]
            self.source = f"{self.files.get(file, 'file ' + file)}:{line}"
        elif name == ".section":
            self.take_until("{")
            self.take_until("}")
        elif name in (".pragma", ".alias", ".callprototype", ".noreturn"):
            self.take_until(";")
        else:
            self.fail(f"unknown directive {name}")

    def variable(self, text: str) -> Variable:
        match = VARIABLE.match(text)
        if match is None or match["type"] not in TYPES:
            self.fail(f"cannot read the declaration {text.strip()[:80]!r}")
        size, type_ = TYPES[match["type"]].size, TYPES[match["type"]]
        for width in re.findall(r"\.v(\d)", match["attributes"]):
            size *= int(width)
        dims = re.findall(r"\[\s*(\d*)\s*\]", match["dims"])
        aligns = re.findall(r"align\s+(\d+)", match["attributes"])
        values, links = initial_values(match["init"] or "", type_)
        dynamic = dims[:1] == [""] and not values
        if dims[:1] == [""]:
            dims[0] = str(len(values) // size)
        for dim in dims:
            size *= int(dim)
        return Variable(
            match["name"],
            match["space"] or "param",
            size,
            int(aligns[0]) if aligns else type_.size,
            values,
            links,
            dynamic,
        )

    # ------------------------------------------------------------------ functions

    def parameters(self, text: str) -> list[Param]:
        params: list[Param] = []
        offset = 0
        for part in filter(None, (piece.strip() for piece in text.split(","))):
            match = VARIABLE.match(part.replace(".reg", "", 1).strip())
            if match is None or match["type"] not in TYPES:
                self.fail(f"cannot read the parameter {part!r}")
            type_ = TYPES[match["type"]]
            dims = [int(dim) for dim in re.findall(r"\[\s*(\d+)\s*\]", match["dims"])]
            size = type_.size * (dims[0] if dims else 1)
            aligns = re.findall(r"align\s+(\d+)", match["attributes"])
            align = int(aligns[0]) if aligns else type_.size
            offset = -(-offset // align) * align
            param = Param(
                match["name"], type_, size, align, offset, bool(dims), ".ptr" in match["pointer"]
            )
            if part.startswith(".reg"):
                param = replace(param, register=self.declare(match["name"], type_.name))
            params.append(param)
            offset += size
        return params

    def parse_function(self, *, is_entry: bool) -> None:
        function = self.function = Function("", is_entry, [])
        self.scope = Scope(None, "")
        results = re.compile(r"\s*\(([^)]*)\)").match(self.text, self.at)
        if results:
            self.at = results.end()
            function.results = self.parameters(results[1])
        header = HEADER.match(self.text, self.at)
        if header is None:
            self.fail("a function without a name")
        self.at = header.end()
        function.name = header["name"]
        function.params = self.parameters(header["params"] or "")
        stop = re.compile(r"[;{]").search(self.text, self.at)
        if stop is None:
            self.fail(f"{function.name} has no body")
        for limit, values in re.findall(
            r"\.(reqntid|maxntid)\s+([\d,\s]+)", self.text[self.at : stop.start()]
        ):
            numbers = [int(value) for value in values.split(",")]
            x, y, z = numbers + [1] * (3 - len(numbers))
            if limit == "reqntid":
                function.required_threads = (x, y, z)
            else:
                function.maximal_threads = (x, y, z)
        self.at = stop.end()
        if stop[0] == "{":
            self.parse_body(function)
            self.module.functions[function.name] = function
        self.function = None

    def parse_body(self, function: Function) -> None:
        depth = 1
        while depth:
            match = STATEMENT.match(self.text, self.at)
            if match is None:
                self.fail(f"cannot read {self.text[self.at :].strip()[:60]!r}")
            self.at = match.end()
            line = self.current_line()
            if directive := match["directive"]:
                self.body_directive(function, directive)
            elif label := match["label"]:
                self.scope.names[label] = label + self.scope.path
                function.body.append(Label(label + self.scope.path))
            elif brace := match["brace"]:
                depth += 1 if brace == "{" else -1
                if brace == "{":
                    self.scopes += 1
                    self.scope = Scope(self.scope, f"@{self.scopes}", len(function.body))
                elif self.scope.parent is not None:
                    self.resolve_branches(function)
                    self.scope = self.scope.parent
            else:
                function.body.append(self.instruction(match, line))

    def resolve_branches(self, function: Function) -> None:
        """Give branches written in this scope the labels of this scope."""
        for item in function.body[self.scope.start :]:
            if isinstance(item, Instruction) and item.base == "bra":
                target = item.operands[0]
                if isinstance(target, Symbol) and target.name in self.scope.names:
                    item.operands[0] = Symbol(self.scope.names[target.name])

    def body_directive(self, function: Function, name: str) -> None:
        if name == ".reg":
            kind, names = self.take_until(";").strip().split(None, 1)
            for each in names.split(","):
                declared = DECLARED.fullmatch(each.strip())
                if declared is None or kind[1:] not in TYPES:
                    self.fail(f"cannot read the registers {kind} {names!r}")
                if declared["count"]:
                    self.scope.families[declared["name"]] = (int(declared["count"]), kind[1:])
                else:
                    self.declare(declared["name"], kind[1:])
        elif name in (".shared", ".local", ".param", ".const", ".global"):
            variable = self.variable(name + " " + self.take_until(";"))
            plain = variable.name
            if self.scope.path or name == ".shared":
                variable.name = f"{plain}@{function.name}{self.scope.path}"
            self.scope.names[plain] = variable.name
            function.variables.append(variable)
        elif name == ".branchtargets":
            label = function.body.pop()
            assert isinstance(label, Label)
            targets = self.take_until(";").split(",")
            function.tables[label.name] = [each.strip() + self.scope.path for each in targets]
        else:
            self.common_directive(name)

    def declare(self, name: str, type_name: str) -> Register:
        assert self.function is not None
        slots = self.function.registers
        slots.append(TYPES[type_name])
        register = self.scope.registers[name] = Register(name, len(slots) - 1, slots[-1])
        return register

    def lookup(self, name: str) -> Register | Symbol:
        scope: Scope | None = self.scope
        stem = name.rstrip("0123456789")
        while scope is not None:
            if register := scope.registers.get(name):
                return register
            if name in scope.names:
                return Symbol(scope.names[name])
            if family := scope.families.get(stem):
                count, kind = family
                if int(name[len(stem) :] or count) < count:
                    inner, self.scope = self.scope, scope
                    register = self.declare(name, kind)
                    self.scope = inner
                    return register
            scope = scope.parent
        return Symbol(name)

    # ------------------------------------------------------------------ instructions

    def instruction(self, match: re.Match[str], line: int) -> Instruction:
        opcode, rest = match["opcode"], match["rest"]
        line -= match[0].lstrip().count("\n")
        text = " ".join(match[0].split())
        site = Site(line, text, self.source)
        guard: Register | None = None
        if match["guard"]:
            found = self.lookup(match["guard"])
            if not isinstance(found, Register):
                self.fail(f"unknown predicate {match['guard']}")
            guard = replace(found, negated=bool(match["negated"]))
        if opcode.startswith("call"):
            return self.call(opcode, rest, guard, site)
        try:
            parts = [part.strip() for part in OPERAND.findall(rest)]
            operands = [self.operand(part) for part in parts if part]
        except (PtxSyntaxError, ValueError, AssertionError) as problem:
            raise PtxSyntaxError(f"cannot read {site}: {problem}") from problem
        return Instruction(opcode, operands, guard, site)

    def call(self, opcode: str, rest: str, guard: Register | None, site: Site) -> Call:
        groups = re.findall(r"\([^)]*\)|[^,()\s]+", rest)
        results = groups.pop(0) if groups[0].startswith("(") else "()"
        target = groups.pop(0)
        arguments = groups.pop(0) if groups and groups[0].startswith("(") else "()"
        names = [
            [self.operand(part.strip()) for part in group[1:-1].split(",") if part.strip()]
            for group in (results, arguments)
        ]
        return Call(opcode, [], guard, site, results=names[0], target=target, arguments=names[1])

    def operand(self, text: str) -> Operand:
        first = text[0]
        if first == "[":
            return self.address(text[1:-1].strip())
        if first == "{":
            return Vector(tuple(self.operand(part.strip()) for part in text[1:-1].split(",")))
        if first == "!":
            found = self.operand(text[1:].strip())
            assert isinstance(found, Register)
            return replace(found, negated=True)
        if text == "_":
            return None
        if "|" in text:
            left, right = text.split("|")
            return Pair(self.operand(left.strip()), self.operand(right.strip()))
        if first == "%" and SPECIALS.match(text):
            return Special(text)
        if first.isdigit() or first in "-+.":
            return parse_immediate(text, self.fail)
        if text == "WARP_SZ":
            return Immediate(32)
        if "+" in text:
            base = self.address(text)
            return base if base.offset or base.base is None else base.base
        return self.lookup(text)

    def address(self, text: str) -> Address:
        pieces = re.match(r"([\w$%.]+)\s*(?:([+-])\s*([+-]?\s*\w+))?$", text)
        if pieces is None:
            self.fail(f"cannot read the address [{text}]")
        offset = 0
        if pieces[3]:
            literal = parse_immediate(pieces[3].replace(" ", ""), self.fail)
            offset = (literal.bits or 0) * (-1 if pieces[2] == "-" else 1)
        if pieces[1][0].isdigit():
            return Address(None, offset + (parse_immediate(pieces[1], self.fail).bits or 0))
        return Address(self.lookup(pieces[1]), offset)


def parse(text: str) -> Module:
    """Parse a module; `PtxSyntaxError` says what cannot be read and where."""
    return Parser(text.split("\0", 1)[0]).parse()
