"""Random kernels against plain NumPy: the language, the lowering and the optimiser at once."""

from __future__ import annotations

import numpy as np
import pytest

from mytriton.interpreter import run
from mytriton.runtime.arguments import launch_value
from mytriton_testkit.fuzz.kernel_maker import make_kernel
from mytriton_testkit.fuzz.kernels import OUTPUTS, evaluate, jitted, source

KERNELS = 500
BATCH = 50


def outputs(kernel, function):
    arguments = kernel.arguments()
    values = [launch_value(arguments[param.name]) for param in function.params]
    run(function, values, (kernel.programs, 1, 1))
    return {name: arguments[name] for name in OUTPUTS}


@pytest.mark.parametrize("first", range(0, KERNELS, BATCH))
def test_random_kernels_compute_what_numpy_computes(first):
    for seed in range(first, first + BATCH):
        kernel = make_kernel(seed)
        stages = jitted(kernel).compile(**kernel.arguments())
        wanted = evaluate(kernel)
        for level, function in (
            ("unoptimised", stages.unoptimised),
            ("optimised", stages.function),
        ):
            got = outputs(kernel, function)
            for name in OUTPUTS:
                np.testing.assert_array_equal(
                    got[name], wanted[name], f"seed {seed}, {level}, {name}\n{source(kernel)}"
                )


def test_random_kernels_use_the_whole_language():
    texts = "\n".join(source(make_kernel(seed)) for seed in range(200))
    for word in (
        "for j", "tl.exp", "tl.maximum", "tl.minimum", "tl.where", "other=", " / ", " < ", " & ",
        "(-v", " * ", "        tl.store", "            ", "    if ", "    else:", "    while w", " // ",
        " % ", " == ", " != ", " <= ", " | ", " ^ ", "tl.abs", "tl.floor", "tl.sqrt", ", -1):",
        ".to(tl.float16)", ".to(tl.int8)", ".to(tl.int64)",
    ):  # fmt: skip
        assert word in texts


def test_a_seed_is_a_kernel():
    assert make_kernel(7) == make_kernel(7)
    assert source(make_kernel(7)) != source(make_kernel(8))
