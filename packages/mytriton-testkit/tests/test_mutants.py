"""The suite tells ``mytriton-c`` from wrong versions of it, made by machine from its table."""

from __future__ import annotations

import os
import shutil

import pytest

pytest.importorskip("mytriton_c", reason="examples/mytriton-c is not installed")
if not shutil.which(os.environ.get("CC", "cc")):
    pytest.skip("no C compiler", allow_module_level=True)

from mytriton_testkit.meta.kill import Killer, kill_all, survivors
from mytriton_testkit.meta.mutants import all_mutants

QUICK = (
    "add.subtracts", "maximum.NaN_on_the_left_lost", "load.other_ignored", "store.mask_dropped",
    "yield.one_after_another", "sum.axis_off_by_one", "backend.load_moved_across_a_store",
    "backend.cache_key_of_the_name_only",
)  # fmt: skip


def test_there_are_enough_and_of_every_row():
    mutants = all_mutants()
    assert len(mutants) >= 60
    from mytriton_c.lowerings import LOWERINGS

    rows = {m.op for m in mutants if m.op}
    assert rows <= set(LOWERINGS)
    # The contents of tl.empty are anything: no row for it is wrong.
    assert set(LOWERINGS) - rows == {"empty"}
    assert survivors().keys() <= {m.id for m in mutants}
    assert all(len(why) > 20 for why in survivors().values())


def test_a_sample_is_killed():
    killer = Killer()
    try:
        kills = [killer.kill(m) for m in all_mutants() if m.id in QUICK]
    finally:
        killer.close()
    assert len(kills) == len(QUICK)
    assert not [k.mutant.id for k in kills if k.survived or k.invalid]


@pytest.mark.slow
@pytest.mark.skipif(
    not os.environ.get("MYTRITON_MUTANTS"), reason="minutes; MYTRITON_MUTANTS=1 runs it"
)
def test_kill_ratio():
    kills = kill_all()
    assert not {k.mutant.id: k.invalid for k in kills if k.invalid}
    alive = {k.mutant.id for k in kills if k.survived}
    assert alive == survivors().keys()
    assert len(alive) <= 0.02 * len(kills)
