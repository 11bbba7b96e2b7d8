"""What the package offers beside kernels: ``cdiv``, ``next_power_of_2``."""

import numpy as np
import pytest

import mytriton as triton


class TestHostHelpers:
    def test_cdiv_is_exact_for_small_numpy_ints(self):
        assert triton.cdiv(np.uint8(250), np.uint8(16)) == 16

    @pytest.mark.parametrize("args", [(10.0, 4), (10, 4.0)])
    def test_cdiv_of_floats_is_refused(self, args):
        with pytest.raises(TypeError, match="cdiv takes ints"):
            triton.cdiv(*args)

    def test_next_power_of_2_of_a_float_is_refused(self):
        with pytest.raises(TypeError):
            triton.next_power_of_2(4.9)
