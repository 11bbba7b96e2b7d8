"""Steps of the program generator that compute element by element."""

from __future__ import annotations

from mytriton.ir.types import BOOL, ScalarType, scalar_of
from mytriton.ir.values import Constant, SSAOperand, operand_type

from .emitter import Emitter, anything, no_bool, no_float

#: Functions of one float, and the range their arguments are brought into first.
FUNCTIONS: dict[str, tuple[float | None, float] | None] = {
    "exp": (None, 4.0), "exp2": (None, 6.0), "log": None, "log2": None, "sqrt": None, "rsqrt": None,
    "sin": (-100.0, 100.0), "cos": (-100.0, 100.0), "tanh": None, "erf": None, "floor": None,
    "ceil": None, "trunc": None, "rint": None,
}  # fmt: skip


def floating(ty: ScalarType) -> bool:
    return ty.is_floating()


class Steps(Emitter):
    """Adds one operation, or a few."""

    def _kind(self, x: SSAOperand) -> str:
        return scalar_of(operand_type(x)).kind if x is not None else ""  # type: ignore[arg-type]

    def _binary(self) -> None:
        opcode = self.rng.choice(["add", "add", "sub", "mul", "mul", "and"])
        accept = {"and": no_float, "mul": no_bool}.get(opcode, anything)
        self.combine(opcode, self.number(accept), self.number(accept))

    def _extremum(self) -> None:
        opcode = self.rng.choice(["maximum", "minimum"])
        self.combine(opcode, self.number(no_bool), self.number(no_bool))

    def _compare(self) -> None:
        self.combine(self.comparison(), self.number(), self.number())

    def _select(self) -> None:
        condition = self.pick(lambda ty: scalar_of(ty) == BOOL)
        x = self.number()
        kind = self._kind(x)
        self.combine("select", condition, x, self.number(lambda t: t.kind == kind))

    def _unary(self) -> None:
        words = [w for w in ("neg", "abs") if self.allowed(f"op.{w}")]
        if words:
            self.combine(self.rng.choice(words), self.number(lambda t: not t.is_bool()))

    def _function(self) -> None:
        names = [name for name in FUNCTIONS if self.allowed(f"op.{name}")]
        x = self.number(floating)
        if not names or x is None or isinstance(x, Constant):
            return
        name = self.rng.choice(names)
        span = FUNCTIONS[name]
        if span is not None:
            x = self.limited(x, *span)
        if x is not None:
            self.combine(name, x)

    def _fma(self) -> None:
        self.combine("fma", *(self.number(floating) for _ in range(3)))

    # ------------------------------------------------------------------ integers

    def _bits(self) -> None:
        words = [w for w in ("or", "xor", "not", "and") if self.allowed(f"op.{w}")]
        if not words:
            return
        word = self.rng.choice(words)
        if word == "not":
            self.combine("not", self.number(no_float))
        else:
            self.combine(word, self.number(no_float), self.number(no_float))

    def _shift(self) -> None:
        """By less than the width."""
        words = [w for w in ("shl", "shr") if self.allowed(f"op.{w}")]
        x = self.number(lambda t: t.is_integer() and not t.is_bool())
        if not words or x is None:
            return
        ty = scalar_of(operand_type(x))  # type: ignore[arg-type]
        amount: SSAOperand = Constant(self.rng.choice([0, 1, 3, 7, ty.bits - 1]), ty)
        if self.rng.random() < 0.5:
            other = self.number(lambda t: t == ty)
            kept = self.combine("and", other, Constant(ty.bits - 1, ty))
            amount = kept if kept is not None else amount
        self.combine(self.rng.choice(words), x, amount)

    def _umulhi(self) -> None:
        ty = self.rng.choice([t for t in self.dtypes if t.name in ("i32", "i64", "u32", "u64")])
        self.combine("umulhi", *(self.number(lambda t: t == ty) for _ in range(2)))

    def _div(self) -> None:
        """Quotients and remainders, of what never divides by zero."""
        words = [w for w in ("div", "div", "rem") if self.allowed(f"op.{w}")]
        x = self.number(lambda t: not t.is_bool())
        kind = self._kind(x)
        y = self.number(lambda t: t.kind == kind)
        if not words or x is None or y is None:
            return
        if kind != "float":
            element = scalar_of(operand_type(y))  # type: ignore[arg-type]
            if self.rng.random() < 0.5 or not self.allowed("op.maximum"):
                y = Constant(
                    self.rng.choice([2, 3, 7, -3] if kind == "int" else [2, 3, 7]), element
                )
            elif isinstance(y, Constant):
                return
            else:
                y = self.combine("maximum", y, Constant(1, element))
        self.combine(self.rng.choice(words), x, y)

    # ------------------------------------------------------------------ types

    def _cast(self) -> None:
        x = self.number()
        if x is not None and not isinstance(x, Constant):
            self.cast(x, self.rng.choice(self.dtypes))

    def _bitcast(self) -> None:
        """From an integer: the bits of a NaN need not survive."""
        x = self.number(lambda t: t.is_integer() and not t.is_bool())
        if x is None or isinstance(x, Constant):
            return
        own = scalar_of(operand_type(x))  # type: ignore[arg-type]
        fitting = [t for t in self.dtypes if t.bits == own.bits and t != own and not t.is_bool()]
        if fitting:
            self.combine("bitcast", x, dtype=self.rng.choice(fitting))
