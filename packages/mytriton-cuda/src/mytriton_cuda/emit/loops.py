"""The end of a loop body: carried values move at once, and the index never overflows."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from mytriton.plugin_api import Constant, SSAForRange, scalar_of

from .names import Names
from .scalars import unsigned_of

_WORD = re.compile(r"[A-Za-z_]\w*")


def parallel_copy(
    moves: Sequence[tuple[str, str]], types: Mapping[str, str], names: Names
) -> list[str]:
    """Statements that give each variable its expression as it was before any of them: an
    assignment waits until nobody reads what it overwrites, and a cycle is cut by a copy."""
    pending = [(target, text) for target, text in moves if target != text]
    lines: list[str] = []
    while pending:
        for k, (target, text) in enumerate(pending):
            others = pending[:k] + pending[k + 1 :]
            if not any(target in _WORD.findall(other) for _, other in others):
                lines.append(f"{target} = {text};")
                pending = others
                break
        else:
            target = pending[0][0]
            saved = names.fresh(f"{target}_before")
            lines.append(f"{types[target]} {saved} = {target};")
            pending = [
                (to, text if k == 0 else re.sub(rf"\b{target}\b", saved, text))
                for k, (to, text) in enumerate(pending)
            ]
    return lines


def bounds_check(loop: SSAForRange, index: str, stop: str) -> list[str]:
    """What leaves a loop whose next index would not fit in its type. A step of 1 always fits."""
    assert isinstance(loop.step, Constant)
    ty = scalar_of(loop.index.ty)
    step, top = loop.step.value, ty.int_range()[1]
    if step == 1 or (isinstance(loop.stop, Constant) and loop.stop.value - 1 + step <= top):
        return []
    wide = unsigned_of(ty)
    suffix = "ULL" if ty.bits == 64 else "u"
    comment = f"// {index} + {step} may not fit"
    return [
        f"if (({wide}){stop} - ({wide}){index} <= {step}{suffix}) {{  {comment}",
        "    break;",
        "}",
    ]
