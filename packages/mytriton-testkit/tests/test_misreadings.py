"""The suite tells the interpreter from versions of it that misread one operation."""

from __future__ import annotations

import pytest

from mytriton.ir.registry import all_ops
from mytriton_testkit import check_backend
from mytriton_testkit.meta.misreadings import PLUGIN, all_misreadings

pytest.importorskip("ml_dtypes", reason="bfloat16 arrays need ml_dtypes")
MISREADINGS = all_misreadings()


def check(name, select):
    return check_backend(
        "misreading", plugin=f"{PLUGIN}{name.replace('.', '__')}", select=select,
        level="extended", allow_interpreter=True, in_process=True,
    )  # fmt: skip


def test_every_operation_of_the_second_edition_is_misread():
    first = {
        "add", "addptr", "and", "arange", "broadcast", "cast", "cmp_lt", "div", "empty", "exp",
        "expand_dims", "for", "full", "load", "max", "maximum", "min", "minimum", "mul", "neg",
        "program_id", "select", "store", "sub", "sum", "zeros",
    }  # fmt: skip
    # What a kernel prints is no result; a shift that misses its width is the same as the right one.
    unseen = {"device_print", "device_assert", "shl"}
    ops = {op.name for op in all_ops() if "." not in op.name}
    assert ops - first - unseen <= {wrong.op for wrong in MISREADINGS}
    assert len({wrong.id for wrong in MISREADINGS}) == len(MISREADINGS)


def test_the_right_one_passes():
    near = sorted({part for wrong in MISREADINGS for part in wrong.near})
    report = check("none", tuple(near)[::3])
    assert set(report.totals) == {"PASS"}


@pytest.mark.parametrize("wrong", MISREADINGS, ids=lambda wrong: wrong.id)
def test_a_case_notices(wrong):
    report = check(wrong.id, wrong.near)
    assert report.totals.get("FAIL", 0) > 0, dict(report.totals)
