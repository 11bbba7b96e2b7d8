"""The generator of random kernels (see ``kernels``)."""

from __future__ import annotations

import random

from .kernels import (
    ARRAYS,
    COMPARISONS,
    DTYPES,
    OUTPUTS,
    Assign,
    Call,
    Expr,
    If,
    Kernel,
    Literal,
    Load,
    Loop,
    Name,
    Statement,
    Store,
    While,
)

#: Types that numbers have in expressions.
NUMBERS = ("f32", "f16", "i64", "i32", "i8")


def is_float(ty: str) -> bool:
    return ty in ("f32", "f16")


def meet(a: str, b: str) -> str:
    """The type two numbers meet in."""
    return next(t for t in DTYPES if t in (a, b))


class _Maker:
    """Makes statements; ``types`` knows of each name its element type and whether it is a block."""

    def __init__(self, rng: random.Random) -> None:
        self.rng = rng
        self.types: dict[str, tuple[str, bool]] = {
            "offs": ("i32", True), "mask": ("bool", True), "s": ("f32", False), "t": ("i32", False),
            "k": ("i32", False), "pid": ("i32", False),
        }  # fmt: skip
        self.count = 0
        self.depth = 0
        self.frozen: set[str] = set(self.types)

    def fresh(self, ty: str, block: bool) -> str:
        self.count += 1
        name = f"v{self.count}"
        self.types[name] = ty, block
        return name

    def choose(self, *types: str, block: bool | None = None) -> str | None:
        found = [
            n for n, (t, b) in self.types.items() if t in types and (block is None or b == block)
        ]
        return self.rng.choice(found[-12:]) if found else None

    def expression(self, depth: int = 2) -> tuple[Expr, str, bool]:
        """An expression, its element type, and whether it is a block."""
        rng = self.rng
        if depth == 0 or rng.random() < 0.2:
            if rng.random() < 0.25:
                return self.load()
            name = self.choose(*NUMBERS)
            assert name is not None
            return Name(name), *self.types[name]
        what = rng.choice(
            ["+", "-", "*", "/", "maximum", "minimum", "where", "neg", "function", "+", "*", "to",
             "abs", "//", "bits"]
        )  # fmt: skip
        a, ta, ba = self.expression(depth - 1)
        if what in ("neg", "abs"):
            return Call(what, (a,)), ta, ba
        if what == "function":
            return self.function(a, ta, ba)
        if what == "to":
            return self.converted(a, ta, ba)
        if what in ("//", "bits") and is_float(ta):
            what = "*"
        if what == "//":
            divisor = Literal(rng.choice([2, 3, -3, 7, 8]))
            return Call(rng.choice(["//", "%"]), (a, divisor)), ta, ba
        b, tb, bb = self.expression(depth - 1)
        if what == "bits":
            if is_float(tb):
                return a, ta, ba
            return Call(rng.choice("&|^"), (a, b)), meet(ta, tb), ba or bb
        if rng.random() < 0.25:
            b, tb, bb = self.literal()
            tb = ta if tb == "i32" or is_float(ta) else "f32"
        result = "f32" if what == "/" else meet(ta, tb)
        if what == "where":
            c, bc = self.condition()
            return Call("where", (c, a, b)), result, ba or bb or bc
        args = (b, a) if rng.random() < 0.3 else (a, b)
        return Call(what, args), result, ba or bb

    def function(self, a: Expr, ty: str, block: bool) -> tuple[Expr, str, bool]:
        """A function of a float; one that grows or wants small angles is limited first."""
        if not is_float(ty):
            return a, ty, block
        name = self.rng.choice(["exp", "floor", "ceil", "sqrt", "exp"])
        if name == "exp":
            a = Call("minimum", (a, Literal(3.0)))
        return Call(name, (a,)), ty, block

    def converted(self, a: Expr, ty: str, block: bool) -> tuple[Expr, str, bool]:
        """``.to``: a float is brought into the range of an integer type first."""
        target = self.rng.choice(NUMBERS)
        if is_float(ty) and not is_float(target):
            inside = Call("&", (Call(">", (a, Literal(-100.0))), Call("<", (a, Literal(100.0)))))
            a = Call("where", (inside, a, Literal(0.0)))
        return Call(target, (a,)), target, block

    def literal(self) -> tuple[Expr, str, bool]:
        if self.rng.random() < 0.5:
            return Literal(self.rng.choice([0, 1, 2, -1, 7, -3])), "i32", False
        return Literal(self.rng.choice([0.0, -0.0, 1.0, 0.5, -2.0])), "f32", False

    def condition(self) -> tuple[Expr, bool]:
        known = self.choose("bool")
        if known is not None and self.rng.random() < 0.3:
            return Name(known), self.types[known][1]
        a, _, ba = self.expression(1)
        b, _, bb = self.expression(0)
        found: Expr = Call(self.rng.choice(list(COMPARISONS)), (a, b))
        if known is not None and self.rng.random() < 0.3:
            word = self.rng.choice("&|^")
            return Call(word, (found, Name(known))), ba or bb or self.types[known][1]
        return found, ba or bb

    def scalar(self) -> Expr:
        """A scalar of numbers."""
        name = self.choose(*NUMBERS, block=False)
        assert name is not None
        return Name(name)

    def decision(self) -> Expr:
        """A scalar condition."""
        a: Expr = self.scalar()
        if self.rng.random() < 0.3:
            a = Call("%", (Name(self.rng.choice(["pid", "t", "k"])), Literal(2)))
        b: Expr = self.scalar() if self.rng.random() < 0.4 else self.literal()[0]
        return Call(self.rng.choice(list(COMPARISONS)), (a, b))

    def load(self) -> tuple[Expr, str, bool]:
        rng = self.rng
        array = rng.choice(list(ARRAYS))
        indices = [n for n in self.types if n.startswith("j")]
        shift = "0"
        if array not in OUTPUTS:
            shift = rng.choice([*indices, "0", "3"])
        mask = "mask"
        other = None if rng.random() < 0.4 else rng.choice([0, 1, -5])
        return Load(array, shift, mask, other), ARRAYS[array], True

    def statement(self) -> list[Statement]:
        rng = self.rng
        roll = rng.random()
        if roll < 0.14 and self.depth < 2:
            what = rng.choice(["loop", "loop", "branch", "branch", "while"])
            if what == "branch":
                return [self.branch()]
            return [self.loop() if what == "loop" else self.counted()]
        if roll < 0.3:
            return self.store()
        if roll < 0.4:
            c, _ = self.condition()
            value: Expr = Call("&", (c, Name("mask")))
            return [Assign(self.fresh("bool", True), value)]
        e, ty, block = self.expression()
        if isinstance(e, Name):
            e = Call("+", (e, Literal(1)))
        return [Assign(self.fresh(ty, block), e)]

    def store(self) -> list[Statement]:
        array = self.rng.choice(OUTPUTS)
        value = self.choose(*(NUMBERS if ARRAYS[array] == "f32" else ("i64", "i32", "i8")))
        assert value is not None
        mask = self.choose("bool", block=True)
        return [Store(array, value, mask or "mask")]

    def update(self) -> list[Statement]:
        """Assign a variable that lives outside of the loop, in its own type; or exchange two."""
        rng = self.rng
        names = [n for n in self.carried if n in self.types]
        if not names:
            return self.statement()
        name = rng.choice(names)
        ty, block = self.types[name]
        twins = [n for n in names if n != name and self.types[n] == (ty, block)]
        if twins and rng.random() < 0.4:
            other, temporary = rng.choice(twins), self.fresh(ty, block)
            return [
                Assign(temporary, Name(name)), Assign(name, Name(other)), Assign(other, Name(temporary))
            ]  # fmt: skip
        for _ in range(8):
            e, wanted, is_block = self.expression()
            if wanted == ty and (is_block == block or block):
                e = Call(rng.choice(["+", "maximum", "-"]), (Name(name), e))
                return [Assign(name, e)]
        return [Assign(name, Call("+", (Name(name), Literal(1))))]

    carried: tuple[str, ...] = ()

    def inside(self, most: int, index: str = "") -> tuple[Statement, ...]:
        """Statements of a nested block. What is bound in it does not outlive it; what it changes is
        carried."""
        rng = self.rng
        before, outer = dict(self.types), self.carried
        self.carried = tuple(
            n for n in self.types if n not in self.frozen and self.types[n][0] != "bool"
        )
        self.depth += 1
        if index:
            self.types[index] = "i32", False
            self.frozen.add(index)
        body: list[Statement] = []
        for _ in range(rng.randint(1, most)):
            body += self.update() if rng.random() < 0.6 else self.statement()
        self.depth -= 1
        self.types, self.carried = before, outer
        return tuple(body)

    def index(self) -> str:
        self.count += 1
        return f"j{self.count}{self.depth}"

    def loop(self) -> Loop:
        rng = self.rng
        index = self.index()
        body = self.inside(4, index)
        if rng.random() < 0.25:
            return Loop(index, "k" if rng.random() < 0.7 else 3, rng.choice([0, -1]), -1, body)
        stop: str | int = "k" if rng.random() < 0.7 else 3
        return Loop(index, rng.choice([0, 0, 1]), stop, rng.choice([1, 1, 2]), body)

    def branch(self) -> If:
        condition = self.decision()
        then = self.inside(3)
        return If(condition, then, self.inside(3) if self.rng.random() < 0.6 else ())

    def counted(self) -> While:
        count = self.index().replace("j", "w")
        word, by = self.rng.choice([("-", 1), ("-", 2), ("//", 2)])
        start: str | int = "k" if self.rng.random() < 0.7 else 3
        self.frozen.add(count)
        return While(count, start, word, by, self.inside(3, count))


def make_kernel(seed: int) -> Kernel:
    """The kernel of a seed."""
    rng = random.Random(seed)
    maker = _Maker(rng)
    body: list[Statement] = []
    for name in ("x0", "i0"):
        body.append(Assign(maker.fresh(ARRAYS[name], True), Load(name, "0", "mask", None)))
    body.append(Assign(maker.fresh("f32", False), Call("*", (Name("s"), Literal(2.0)))))
    for _ in range(rng.randint(4, 12)):
        body += maker.statement()
    body += [*maker.store(), *maker.store()]
    block = rng.choice([1, 4, 16, 32])
    programs = rng.choice([1, 2, 3])
    n = rng.choice([block * programs, max(1, block * programs - 1), 1])
    s = rng.choice([0.5, -2.0, 1.0, 0.0])
    return Kernel(
        tuple(body), block, programs, n, rng.randint(0, 4), s, rng.choice([0, 3, -7]), seed
    )
