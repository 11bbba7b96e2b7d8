"""The generator of random kernels (see ``kernels``)."""

from __future__ import annotations

import random

from .kernels import (
    ARRAYS,
    OUTPUTS,
    Assign,
    Call,
    Expr,
    Kernel,
    Literal,
    Load,
    Loop,
    Name,
    Statement,
    Store,
)


class _Maker:
    """Makes statements; ``types`` knows of each name its element type and whether it is a block."""

    def __init__(self, rng: random.Random) -> None:
        self.rng = rng
        self.types: dict[str, tuple[str, bool]] = {
            "offs": ("i32", True), "mask": ("bool", True), "s": ("f32", False), "t": ("i32", False),
            "k": ("i32", False),
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
            name = self.choose("f32", "i32")
            assert name is not None
            return Name(name), *self.types[name]
        what = rng.choice(
            ["+", "-", "*", "/", "maximum", "minimum", "where", "neg", "exp", "+", "*"]
        )
        a, ta, ba = self.expression(depth - 1)
        if what == "neg":
            return Call("neg", (a,)), ta, ba
        if what == "exp":
            if ta != "f32":
                return a, ta, ba
            return Call("exp", (Call("minimum", (a, Literal(3.0))),)), "f32", ba
        b, tb, bb = self.expression(depth - 1)
        if rng.random() < 0.25:
            b, tb, bb = self.literal()
        result = "f32" if "f32" in (ta, tb) or what == "/" else "i32"
        if what == "where":
            c, bc = self.condition()
            return Call("where", (c, a, b)), result, ba or bb or bc
        args = (b, a) if rng.random() < 0.3 else (a, b)
        return Call(what, args), result, ba or bb

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
        found: Expr = Call("<", (a, b))
        if known is not None and self.rng.random() < 0.3:
            return Call("&", (found, Name(known))), ba or bb or self.types[known][1]
        return found, ba or bb

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
            return [self.loop()]
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
        value = self.choose("f32" if ARRAYS[array] == "f32" else "i32", "i32")
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

    def loop(self) -> Loop:
        rng = self.rng
        before, outer = dict(self.types), self.carried
        self.carried = tuple(
            n for n in self.types if n not in self.frozen and self.types[n][0] != "bool"
        )
        self.depth += 1
        index = f"j{self.count}{self.depth}"
        self.types[index] = "i32", False
        self.frozen.add(index)
        body: list[Statement] = []
        for _ in range(rng.randint(1, 4)):
            body += self.update() if rng.random() < 0.6 else self.statement()
        self.depth -= 1
        self.types, self.carried = before, outer
        stop: str | int = "k" if rng.random() < 0.7 else 3
        return Loop(index, rng.choice([0, 0, 1]), stop, rng.choice([1, 1, 2]), tuple(body))


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
