"""Comparisons. All give ``bool``; a comparison with NaN is false, ``!=`` with NaN is true."""

from __future__ import annotations

import operator
from typing import Any

from .. import rules
from ..registry import OpDef, register


def _define(name: str, symbol: str, meaning: Any, commutative: bool = False) -> OpDef:
    truth = "; true when either is NaN." if symbol == "!=" else "; false when either is NaN."
    return register(
        OpDef(
            name, ("lhs", "rhs"), rules.comparison(name), lambda ev, a, b: meaning(a, b),
            f"Whether `lhs {symbol} rhs`{truth}", elementwise=True, compute=rules.promoted,
            symbol=symbol, constants="peer", commutative=commutative,
        )
    )  # fmt: skip


cmp_lt = _define("cmp_lt", "<", operator.lt)
cmp_le = _define("cmp_le", "<=", operator.le)
cmp_gt = _define("cmp_gt", ">", operator.gt)
cmp_ge = _define("cmp_ge", ">=", operator.ge)
cmp_eq = _define("cmp_eq", "==", operator.eq, commutative=True)
cmp_ne = _define("cmp_ne", "!=", operator.ne, commutative=True)
