"""What programs around a kernel ask of it: options of ``jit``, ``warmup``, ``run``, and of the result."""

from __future__ import annotations

import inspect
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import pytest

import mytriton as triton
import mytriton.language as tl
from mytriton.errors import ArgumentError
from mytriton.plugin_api import (
    Availability,
    BackendInfo,
    Capability,
    LaunchSpec,
    Source,
    hookimpl,
)
from mytriton.plugins import selection


@triton.jit
def scale(x, out, n, BLOCK: tl.constexpr = 8):
    """Doubles."""
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n
    tl.store(out + offsets, tl.load(x + offsets, mask=mask) * 2, mask=mask)


class Everything(dict[str, Capability]):
    def get(self, key: str, default: Any = None) -> Any:
        return Capability("yes")


class Acme:
    """A backend for a device nobody has, whose code has stages and figures."""

    def __init__(self, kind: str = "acme") -> None:
        self.kind = kind
        self.compiled = 0
        self.specs: list[LaunchSpec] = []
        self.metadata: Mapping[str, Any] = {
            "asm": {"asm": "text of the code", "image": b"\x7fIMG"},
            "registers": 24, "spill_bytes": 8, "shared_bytes": 512, "threads": 64, "mapping": "odd",
            "arch": "acme_7",
        }  # fmt: skip

    @hookimpl
    def mytriton_backend_info(self) -> BackendInfo:
        return BackendInfo(
            "acme", "", capabilities=Everything(), device_kinds=(self.kind,), language="Acme C++"
        )

    @hookimpl
    def mytriton_probe(self) -> Availability:
        return Availability()

    @hookimpl
    def mytriton_lower(self, function: Any, launch: LaunchSpec) -> Source:
        self.specs.append(launch)
        return Source("text of kernel", "Acme C++", "kernel", {})

    @hookimpl
    def mytriton_compile(self, source: Source, launch: LaunchSpec) -> Any:
        self.compiled += 1
        return self

    def launch(self, grid: Any, args: Any) -> None: ...


@pytest.fixture
def acme() -> Iterator[Acme]:
    made = Acme()
    triton.register_backend("acme", made, replace=True)
    yield made
    selection.unregister_backend("acme")


def arrays(n: int = 8) -> tuple[np.ndarray, np.ndarray]:
    return np.arange(n, dtype=np.float32), np.zeros(n, np.float32)


class TestKernel:
    def test_what_it_is_made_of(self) -> None:
        assert inspect.isfunction(scale.fn)
        assert scale.arg_names == ["x", "out", "n", "BLOCK"]
        assert (scale.__name__, scale.__doc__) == ("scale", "Doubles.")
        assert scale.src.startswith("def scale(x, out, n, BLOCK: tl.constexpr = 8):\n")

    def test_its_parameters(self) -> None:
        kernel = triton.jit(do_not_specialize=["n"], do_not_specialize_on_alignment=[0])(scale.fn)
        x, _, n, block = kernel.params
        assert (x.num, x.name, x.is_constexpr, x.has_default) == (0, "x", False, False)
        assert (block.num, block.is_constexpr, block.default) == (3, True, 8)
        assert [p.do_not_specialize for p in kernel.params] == [False, False, True, False]
        assert [p.do_not_specialize_on_alignment for p in kernel.params] == [
            True,
            False,
            True,
            False,
        ]
        assert n.annotation == ""
        assert "constexpr" in block.annotation

    @pytest.mark.parametrize("option", ["debug", "noinline", "version"])
    def test_options_that_are_kept(self, option: str) -> None:
        kernel = triton.jit(**{option: True})(scale.fn)
        assert getattr(kernel, option) is True

    def test_an_unknown_option(self) -> None:
        with pytest.raises(TypeError, match="jit has no option 'do_not_specialise'; options: "):
            triton.jit(do_not_specialise=["n"])(scale.fn)

    def test_do_not_specialize_names_parameters(self) -> None:
        with pytest.raises(
            TypeError, match=r"do_not_specialize of kernel 'scale': 'm' is no parameter"
        ):
            triton.jit(do_not_specialize=["m"])(scale.fn)

    def test_run_launches(self) -> None:
        x, out = arrays()
        result = scale.run(x, out, 8, grid=(1,))
        assert result.launched
        np.testing.assert_array_equal(out, 2 * x)

    def test_run_with_warmup_does_not(self) -> None:
        x, out = arrays()
        result = scale.run(x, out, 8, grid=(1,), warmup=True)
        assert not result.launched
        assert out.tolist() == [0.0] * 8

    def test_the_cache_holds_what_was_compiled(self) -> None:
        kernel = triton.jit(scale.fn)
        x, out = arrays()
        kernel[(1,)](x, out, 8)
        ((_, made),) = kernel.cache.items()
        assert made.backend == "interpreter"
        assert kernel.device_caches[0][0].keys() == kernel.cache.keys()


class TestWarmup:
    @pytest.mark.parametrize(
        "stand_in", [tl.float32, np.float32, np.dtype("f4"), triton.MockTensor(tl.float32)]
    )
    def test_a_dtype_stands_for_an_array(self, stand_in: Any) -> None:
        kernel = triton.jit(scale.fn)
        made = kernel.warmup(stand_in, stand_in, 8, grid=(1,))
        assert repr(made) == "<scale on interpreter: compiled only, not launched>"
        assert str(made.function.params[0].ty) == "ptr<f32>"
        # A launch finds it.
        x, out = arrays()
        kernel[(1,)](x, out, 8)
        assert len(kernel.specialisations) == 1
        np.testing.assert_array_equal(out, 2 * x)

    @pytest.mark.parametrize(
        ("dtype", "expected"),
        [(tl.bfloat16, "ptr<bf16>"), (tl.float16, "ptr<f16>"), (tl.int1, "ptr<bool>")],
    )
    def test_dtypes_that_numpy_lacks_too(self, dtype: Any, expected: str) -> None:
        made = triton.jit(scale.fn).warmup(dtype, tl.float32, 8, grid=(1,))
        assert str(made.function.params[0].ty) == expected

    def test_it_compiles_for_options(self, acme: Acme) -> None:
        scale.with_backend("acme").warmup(
            tl.float32, tl.float32, 8, grid=(1,), num_warps=2, kpack=1
        )
        assert acme.specs[0].options == {"num_warps": 2, "kpack": 1}

    def test_it_warns_of_nothing(self, acme: Acme) -> None:
        # Host arrays on a device backend: a launch says that it does not launch.
        made = scale.with_backend("acme").warmup(*arrays(), 8, grid=(1,))
        assert made.backend == "acme"

    def test_mistakes_are_those_of_a_launch(self) -> None:
        with pytest.raises(ArgumentError, match="missing 1 required positional argument: 'n'"):
            scale.warmup(tl.float32, tl.float32, grid=(1,))

    def test_a_compiled_kernel_launches_with_all_arguments_or_the_runtime_ones(self) -> None:
        made = scale.warmup(tl.float32, tl.float32, 8, BLOCK=8, grid=(1,))
        for arguments in ((8, 8), (8,)):
            x, out = arrays()
            made[(1, 1, 1)](x, out, *arguments)
            np.testing.assert_array_equal(out, 2 * x)
        x, out = arrays()
        made[lambda meta: (triton.cdiv(meta["n"], meta["BLOCK"]),)](x, out, n=8)
        np.testing.assert_array_equal(out, 2 * x)

    def test_it_was_compiled_for_its_constants(self) -> None:
        made = scale.warmup(tl.float32, tl.float32, 8, BLOCK=8, grid=(1,))
        with pytest.raises(ArgumentError, match="compiled for BLOCK=8, got 16; launch scale"):
            made[(1,)](*arrays(), 8, 16)


class TestOptions:
    @pytest.mark.parametrize(
        "options",
        [
            {"num_stages": 0}, {"num_ctas": 1, "maxnreg": 128}, {"enable_fp_fusion": False},
            {"launch_cooperative_grid": True, "launch_pdl": True},
            {"waves_per_eu": 2, "matrix_instr_nonkdim": 16, "num_warps": 4},
        ],
    )  # fmt: skip
    def test_options_of_triton_are_accepted(self, options: dict[str, Any]) -> None:
        x, out = arrays()
        scale[(1,)](x, out, n=8, **options)
        np.testing.assert_array_equal(out, 2 * x)

    def test_rare_options_reach_the_backend_and_make_variants(self, acme: Acme) -> None:
        kernel = triton.jit(scale.fn).with_backend("acme")
        for options in ({"kpack": 1}, {"kpack": 2}, {"kpack": 1}, {}, {"debug": 1}):
            kernel.warmup(*arrays(), 8, grid=(1,), **options)
        assert [s.options for s in acme.specs] == [{"kpack": 1}, {"kpack": 2}, {}, {"debug": 1}]

    def test_the_grid_sees_rare_options(self) -> None:
        seen: list[Any] = []

        def grid(meta: Any) -> tuple[int]:
            seen.append((meta["waves_per_eu"], meta["num_warps"]))
            return (1,)

        scale[grid](*arrays(), 8, waves_per_eu=3, num_warps=2)
        assert seen == [(3, 2)]

    def test_a_typing_mistake_is_told(self) -> None:
        with pytest.raises(
            TypeError, match=r"'num_warp' \(did you mean 'num_warps'\?\); parameters"
        ):
            scale[(1,)](*arrays(), 8, num_warp=2)
        with pytest.raises(TypeError, match="unexpected keyword argument 'frobnicate'; parameters"):
            scale[(1,)](*arrays(), 8, waves_per_eu=2, frobnicate=2)

    def test_a_parameter_called_like_an_option_is_one(self, acme: Acme, kernel_from: Any) -> None:
        kernel = kernel_from(
            "def kernel(out, num_warps: tl.constexpr):\n    tl.store(out, num_warps)\n"
        )
        kernel.with_backend("acme").warmup(np.zeros(1, np.int32), num_warps=8, grid=(1,))
        (spec,) = acme.specs
        assert (spec.options, spec.constexprs) == ({"num_warps": 8}, {"num_warps": 8})


class TestResult:
    def test_stages_of_the_interpreter(self) -> None:
        result = scale[(1,)](*arrays(), 8)
        assert list(result.asm) == ["ssa", "source"]
        assert result.asm["ssa"] == str(result.function)
        assert result.asm["ttir"] == result.asm["ssa"]
        assert "ttir" in result.asm
        with pytest.raises(KeyError, match="'interpreter' has no stage 'ptx'; stages: ssa, source"):
            result.asm["ptx"]

    def test_stages_of_a_backend(self, acme: Acme) -> None:
        result = scale.with_backend("acme").warmup(*arrays(), 8, grid=(1,))
        assert list(result.asm) == ["ssa", "source", "acme", "asm", "image"]
        assert result.asm["acme"] == result.asm["source"] == result.src == "text of kernel"
        assert result.asm["image"] == b"\x7fIMG" == result.kernel

    def test_what_was_only_lowered_is_compiled_when_asked_for(self, acme: Acme) -> None:
        result = scale.with_backend("acme").warmup(*arrays(), 8, grid=(1,))
        assert (result.src, result.asm["ssa"][:6], acme.compiled) == ("text of kernel", "kernel", 0)
        assert result.n_regs == 24
        assert result.asm["asm"] == "text of the code"
        assert acme.compiled == 1

    def test_figures_of_a_backend(self, acme: Acme) -> None:
        result = scale.with_backend("acme").warmup(*arrays(), 8, grid=(1,), num_stages=2)
        result._init_handles()
        assert (result.n_regs, result.n_spills, result.metadata.shared) == (24, 8, 512)
        facts = result.metadata
        assert (facts.num_stages, facts.num_ctas, facts.mapping, facts.backend) == (
            2,
            1,
            "odd",
            "acme",
        )
        assert facts.num_warps == 2  # 64 threads
        assert facts["num_warps"] == facts._asdict()["num_warps"]
        with pytest.raises(
            AttributeError, match="no fact 'frob' about this kernel; there are name,"
        ):
            facts.frob

    def test_unknown_figures_of_a_device_are_none(self, acme: Acme) -> None:
        acme.metadata = {}
        result = scale.with_backend("acme").warmup(*arrays(), 8, grid=(1,))
        assert (result.n_regs, result.n_spills, result.metadata.shared) == (None, None, None)

    def test_occupancy_formulas_work_on_the_host(self) -> None:
        made = scale.warmup(tl.float32, tl.float32, 8, grid=(1,), num_warps=8)
        driver = triton.runtime.driver.active
        properties = driver.utils.get_device_properties(driver.get_current_device())
        warps = properties["warpSize"] * made.metadata.num_warps
        occupancy = properties["max_num_regs"] // (made.n_regs * warps)
        occupancy = min(occupancy, properties["max_shared_mem"] // made.metadata.shared)
        assert occupancy * properties["multiprocessor_count"] > 0
        assert made.n_spills == 0

    def test_repr_names_a_variant(self) -> None:
        kernel = triton.jit(repr=lambda v: f"scale_{v.constants['BLOCK']}_{v.signature['n']}")(
            scale.fn
        )
        made = kernel.warmup(tl.float32, tl.float32, 8, BLOCK=16, grid=(1,))
        assert made.name == made.metadata.name == "scale_16_i32"
        assert scale.warmup(tl.float32, tl.float32, 8, grid=(1,)).name == "scale"

    def test_a_digest_of_what_was_compiled(self) -> None:
        digests = {
            scale.warmup(tl.float32, tl.float32, 8, BLOCK=b, grid=(1,)).hash for b in (8, 8, 16)
        }
        assert len(digests) == 2

    def test_target(self) -> None:
        assert scale[(1,)](*arrays(), 8).metadata.target.backend == "cpu"

    def test_target_without_the_device(self, acme: Acme) -> None:
        target = scale.with_backend("acme").warmup(*arrays(), 8, grid=(1,)).metadata.target
        assert (target.backend, target.arch) == ("acme", 7)

    def test_it_still_is_a_sequence_of_three(self) -> None:
        result = scale[(1,)](*arrays(), 8)
        assert result[2] == result.src
        assert len(result[0:2]) == 2


class TestFacts:
    class Asking(Acme):
        @hookimpl
        def mytriton_backend_info(self) -> BackendInfo:
            return BackendInfo(
                "asking", "", capabilities=Everything(), specialise=("align16", "equal1")
            )

    @pytest.fixture
    def asking(self) -> Iterator[Any]:
        made = self.Asking("cpu")
        triton.register_backend("asking", made, replace=True)
        yield made
        selection.unregister_backend("asking")

    @staticmethod
    def kernel(**options: Any) -> Any:
        def copy(out, a, b):
            tl.store(out, a + b)

        return triton.jit(**options)(copy).with_backend("asking")

    def test_ones_are_another_variant(self, asking: Any) -> None:
        kernel = self.kernel()
        for a, b in ((1, 3), (3, 1), (1, 5), (3, 3), (1, 1)):
            kernel[(1,)](np.zeros(4, np.int32), a, b)
        found = [[a.equals_one for a in s.arguments] for s in asking.specs]
        assert found == [
            [False, True, False],
            [False, False, True],
            [False] * 3,
            [False, True, True],
        ]

    @pytest.mark.parametrize(
        ("option", "variants"),
        [({}, 4), ({"do_not_specialize": ["a"]}, 1), ({"do_not_specialize": [1]}, 1),
         ({"do_not_specialize_on_alignment": ["a"]}, 2)],
    )  # fmt: skip
    def test_what_is_not_specialised(
        self, option: dict[str, Any], variants: int, asking: Any
    ) -> None:
        kernel = self.kernel(**option)
        out = np.zeros(64, np.uint8)
        out = out[-out.ctypes.data % 16 :][:4].view(np.int32)
        for a in (1, 3, 16, 32, 1, 5):
            kernel[(1,)](out, a, 3)
        assert len(asking.specs) == min(variants, 3)
        if "do_not_specialize" in option:
            assert not any(a.equals_one or a.divisible_by_16 for a in asking.specs[0].arguments[1:])

    def test_an_argument_that_is_one_may_be_rebound(self) -> None:
        @triton.jit
        def kernel(out, a, n):
            for i in range(n):
                a = a + i
            tl.store(out, a)

        out = np.zeros(1, np.int32)
        for start in (1, 2):
            kernel[(1,)](out, start, 4)
            assert out[0] == start + 6


def test_positional_only_parameters_warm_up(kernel_from: Any) -> None:
    kernel = kernel_from(
        "def kernel(out, value, /, *, BLOCK: tl.constexpr = 4):\n"
        "    tl.store(out + tl.arange(0, BLOCK), value)\n"
    )
    kernel.warmup(tl.int32, 3, BLOCK=8, grid=(1,))
    out = np.zeros(8, np.int32)
    kernel[(1,)](out, 3, BLOCK=8)
    assert (out.tolist(), len(kernel.specialisations)) == ([3] * 8, 1)
