"""Is it installed, is it what its data says, does it run? All else is the conformance suite."""

import mytriton as triton
import mytriton.language as tl
import numpy as np
from mytriton import plugin_api

from mytriton_c.lowerings import LOWERINGS
from mytriton_c_info import INFO


@triton.jit
def double(x, out, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n
    tl.store(out + offsets, tl.load(x + offsets, mask=mask) * 2.0, mask=mask)


def test_runs():
    x = np.arange(1000, dtype=np.float32)
    out = np.zeros_like(x)
    result = double.with_backend("c")[(4,)](x, out, 1000, BLOCK=256)
    assert result.launched
    assert "int kernel_double(" in result.src
    np.testing.assert_array_equal(out, x * 2)


def test_table_and_capabilities_agree():
    lowered = {plugin_api.get_op(name).feature_id for name in LOWERINGS if name != "yield"}
    declared = {f for f, c in INFO.capabilities.items() if c.state == "yes"}
    kinds = ("op.", "reduce.", "control.")
    assert {f for f in declared if f.startswith(kinds)} == lowered
