"""Autotuning: which configuration, when it is looked for, what is remembered."""

from __future__ import annotations

import json
import re
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import mytriton as triton
import mytriton.language as tl
from mytriton.errors import ArgumentError, ASTFrontendError
from mytriton.runtime.errors import AutotuneError, TunedParameterError


@pytest.fixture(autouse=True)
def no_cache(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MYTRITON_CACHE_DIR", "")


class Stopwatch:
    """A benchmark that runs the call once and gives the next of the given times."""

    def __init__(self, *times: float) -> None:
        self.times = list(times)
        self.calls = 0

    def __call__(self, call: Any, quantiles: Any) -> list[float]:
        call()
        self.calls += 1
        return [self.times[(self.calls - 1) % len(self.times)]] * len(quantiles)


def scale(x, out, n, factor, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n
    tl.store(out + offsets, tl.load(x + offsets, mask=mask) * factor, mask=mask)


@triton.jit
def add_to(out, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n
    tl.store(out + offsets, tl.load(out + offsets, mask=mask) + 1.0, mask=mask)


def blocks(*sizes: int) -> list[triton.Config]:
    return [triton.Config({"BLOCK": size}) for size in sizes]


def grid(meta: Any) -> tuple[int]:
    return (triton.cdiv(meta["n"], meta["BLOCK"]),)


def tuned(configs: Any, key: Any = ("n",), **options: Any) -> Any:
    return triton.autotune(configs, list(key), **options)(triton.jit(scale))


def run(kernel: Any, n: int = 100, dtype: Any = np.float32) -> np.ndarray:
    x = np.arange(n).astype(dtype)
    out = np.zeros_like(x)
    kernel[grid](x, out, n, 2.0)
    np.testing.assert_array_equal(out, 2 * x)
    return out


class TestConfig:
    def test_all_kwargs_are_arguments_and_options(self) -> None:
        config = triton.Config({"BLOCK": 64}, num_warps=8, num_stages=2)
        assert config.all_kwargs() == {
            "BLOCK": 64, "num_warps": 8, "num_ctas": 1, "num_stages": 2,
        }  # fmt: skip

    def test_maxnreg_is_an_option_when_given(self) -> None:
        assert triton.Config({}, maxnreg=64).all_kwargs()["maxnreg"] == 64

    def test_equal_configurations_are_one_key(self) -> None:
        assert len({*blocks(64, 64), triton.Config({"BLOCK": 64}, num_warps=8)}) == 2

    def test_it_prints_what_it_sets(self) -> None:
        assert str(triton.Config({"BLOCK": 64}, num_warps=8)).startswith("BLOCK: 64, num_warps: 8")


class TestChoice:
    def test_the_fastest_is_chosen_and_the_grid_sees_it(self) -> None:
        kernel = tuned(blocks(16, 32, 64), do_bench=Stopwatch(3.0, 1.0, 2.0))
        run(kernel)
        assert kernel.best_config.kwargs == {"BLOCK": 32}
        times = {c.kwargs["BLOCK"]: t[0] for c, t in kernel.configs_timings.items()}
        assert times == {16: 3.0, 32: 1.0, 64: 2.0}

    def test_a_value_in_the_key_is_tuned_once(self) -> None:
        watch = Stopwatch(1.0, 2.0)
        kernel = tuned(blocks(16, 32), do_bench=watch)
        for n in (100, 100, 50, 100):
            run(kernel, n)
        assert watch.calls == 4
        assert [key[0] for key in kernel.cache] == [100, 50]

    def test_a_value_outside_the_key_is_not(self) -> None:
        watch = Stopwatch(1.0, 2.0)
        kernel = tuned(blocks(16, 32), key=(), do_bench=watch)
        run(kernel, 100)
        run(kernel, 50)
        assert watch.calls == 2

    def test_dtypes_of_arrays_are_in_the_key(self) -> None:
        watch = Stopwatch(1.0, 2.0)
        kernel = tuned(blocks(16, 32), key=(), do_bench=watch)
        run(kernel, dtype=np.float32)
        run(kernel, dtype=np.float64)
        assert watch.calls == 4
        assert list(kernel.cache) == [("float32", "float32"), ("float64", "float64")]

    def test_keyword_arguments_count_as_positional_ones_do(self) -> None:
        watch = Stopwatch(1.0, 2.0)
        kernel = tuned(blocks(16, 32), do_bench=watch)
        x, out = np.ones(8, np.float32), np.zeros(8, np.float32)
        kernel[grid](x, out, 8, 2.0)
        kernel[grid](x=x, out=out, n=8, factor=2.0)
        assert watch.calls == 2

    def test_one_configuration_is_not_timed(self) -> None:
        def no_bench(call: Any, quantiles: Any) -> Any:
            raise AssertionError("timed")

        kernel = tuned(blocks(16), do_bench=no_bench)
        run(kernel)
        assert kernel.best_config.kwargs == {"BLOCK": 16}

    def test_no_configuration_means_the_default_options(self) -> None:
        kernel = triton.autotune([], [])(add_to)
        out = np.zeros(4, np.float32)
        kernel[(1,)](out, 4, BLOCK=4)
        assert out.tolist() == [1.0] * 4

    def test_the_real_clock_gives_a_working_choice(self) -> None:
        kernel = tuned(blocks(16, 128), warmup=1, rep=2)
        run(kernel)
        assert kernel.best_config in kernel.configs
        assert all(t[0] > 0 for t in kernel.configs_timings.values())

    def test_options_that_change_nothing_are_timed_once(self) -> None:
        watch = Stopwatch(1.0)
        configs = [triton.Config({"BLOCK": 16}, num_warps=w) for w in (1, 2, 4)]
        kernel = tuned(configs, do_bench=watch)
        run(kernel)
        assert watch.calls == 1
        assert kernel.best_config is configs[0]

    def test_each_backend_has_its_own_choice(self) -> None:
        watch = Stopwatch(1.0, 2.0)
        kernel = tuned(blocks(16, 32), do_bench=watch)
        run(kernel)
        with triton.use_backend("interpreter"):
            assert kernel.cache == {}
            run(kernel)
        assert watch.calls == 4

    def test_with_backend(self) -> None:
        kernel = tuned(blocks(16, 32), do_bench=Stopwatch(1.0, 2.0))
        x, out = np.ones(8, np.float32), np.zeros(8, np.float32)
        result = kernel.with_backend("interpreter")[grid](x, out, 8, 2.0)
        assert (result.backend, out[0]) == ("interpreter", 2.0)
        with pytest.raises(ValueError, match="MT-B01.*nonsense"):
            kernel.with_backend("nonsense")[grid](x, out, 8, 2.0)

    def test_threads_tune_once(self) -> None:
        watch = Stopwatch(1.0, 2.0)
        kernel = tuned(blocks(16, 32), do_bench=watch)
        errors: list[BaseException] = []

        def work() -> None:
            try:
                run(kernel)
            except BaseException as error:
                errors.append(error)

        threads = [threading.Thread(target=work) for _ in range(6)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert errors == []
        assert watch.calls == 2


class TestMistakes:
    def test_a_tuned_parameter_at_launch(self) -> None:
        kernel = tuned(blocks(16, 32))
        x, out = np.ones(8, np.float32), np.zeros(8, np.float32)
        with pytest.raises(
            ValueError, match="'BLOCK' of kernel 'scale' is set by @triton.autotune"
        ):
            kernel[grid](x, out, 8, 2.0, BLOCK=16)

    def test_a_tuned_parameter_by_position_with_one_configuration(self) -> None:
        kernel = tuned(blocks(16))
        x, out = np.ones(8, np.float32), np.zeros(8, np.float32)
        with pytest.raises(TunedParameterError, match="'BLOCK'"):
            kernel[(1,)](x, out, 8, 2.0, 16)

    @pytest.mark.parametrize(
        ("what", "message"),
        [("key", "key names 'm'"), ("reset_to_zero", "reset_to_zero names 'm'"),
         ("restore_value", "restore_value names 'm'")],
    )  # fmt: skip
    def test_names_of_no_parameter(self, what: str, message: str) -> None:
        options = {"key": ["n"], what: ["m"]}
        with pytest.raises(
            TypeError, match=f"{message}, which is no parameter; parameters: x, out"
        ):
            triton.autotune(blocks(16), **options)(triton.jit(scale))

    @pytest.mark.parametrize(
        ("configs", "key", "message"),
        [
            ([{"BLOCK": 16}], ["n"], "configs is a list of triton.Config, got {'BLOCK': 16}; write"),
            (triton.Config({"BLOCK": 16}), ["n"], "configs is a list of triton.Config, got <"),
            (blocks(16), "n", "key is a list of names of parameters, got 'n'"),
            (blocks(16), [2], "key is a list of names of parameters, got 2"),
        ],
    )  # fmt: skip
    def test_lists_that_are_none(self, configs: Any, key: Any, message: str) -> None:
        with pytest.raises(ArgumentError, match=re.escape(message)):
            triton.autotune(configs, key)(triton.jit(scale))

    @pytest.mark.parametrize(
        ("options", "message"),
        [
            ({"prune_configs_by": {"early_config_prne": len}},
             "has 'early_config_prne', which is none of early_config_prune, perf_model, top_k (did you "
             "mean 'early_config_prune'?)"),
            ({"prune_configs_by": [len]}, "prune_configs_by is a dict, got [<built-in function len>]"),
            ({"prune_configs_by": {"perf_model": 3}}, "perf_model of prune_configs_by is a function"),
            ({"reset_to_zero": ["BLOCK"]}, "reset_to_zero names 'BLOCK', which is a tl.constexpr"),
            ({"restore_value": ["BLOCK"]}, "restore_value names 'BLOCK', which is a tl.constexpr"),
            ({"restore_value": ["uot"]}, "which is no parameter (did you mean 'out'?)"),
        ],
    )  # fmt: skip
    def test_options_that_mean_nothing(self, options: Any, message: str) -> None:
        with pytest.raises(ArgumentError, match=re.escape(message)) as caught:
            triton.autotune(blocks(16), ["n"], **options)(triton.jit(scale))
        assert len(caught.traceback) == 2  # here, and the decorator

    @pytest.mark.parametrize(
        ("options", "message"),
        [
            ({"prune_configs_by": {"early_config_prune": lambda *a, **k: ["x"]}},
             "what early_config_prune gives is a list of triton.Config, got 'x'"),
            ({"prune_configs_by": {"early_config_prune": list}},
             "early_config_prune cannot be called so: "),
            ({"prune_configs_by": {"perf_model": lambda: 1, "top_k": 1}}, "perf_model cannot be called so"),
            ({"do_bench": lambda call, quantiles: None}, "do_bench of kernel 'scale' gives milliseconds"),
            ({"do_bench": lambda call: 1.0}, "do_bench cannot be called so"),
            ({"pre_hook": lambda: 1}, "pre_hook cannot be called so: "),
        ],
    )  # fmt: skip
    def test_functions_that_do_not_fit(self, options: Any, message: str) -> None:
        kernel = tuned(blocks(16, 32), **options)
        x = np.ones(8, np.float32)
        with pytest.raises(ArgumentError, match=re.escape(message)) as caught:
            kernel[grid](x, x, 8, 2.0)
        assert len(caught.traceback) <= 2 + ("pre_hook" in options)  # (and do_bench's own)

    def test_a_configuration_that_is_no_dict(self) -> None:
        with pytest.raises(ArgumentError, match="as triton.Config.*'BLOCK': 64.*got 'B'"):
            triton.Config("B")

    @pytest.mark.parametrize("what", ["reset_to_zero", "restore_value"])
    def test_numbers_are_neither_cleared_nor_put_back(self, what: str) -> None:
        kernel = tuned(blocks(16, 32), **{what: ["n"]})
        x = np.ones(8, np.float32)
        with pytest.raises(ArgumentError, match=f"{what} names 'n', which is 8 in this launch"):
            kernel[grid](x, x, 8, 2.0)

    @pytest.mark.parametrize("launch", ["run", "warmup"])
    @pytest.mark.parametrize("count", [1, 2])
    def test_configurations_that_set_what_is_no_parameter(self, launch: str, count: int) -> None:
        kernel = tuned([triton.Config({"BLOK": 16 * k}) for k in (1, 2)][:count])
        x = np.ones(8, np.float32)
        with pytest.raises(
            ArgumentError,
            match=r"<Config BLOK: 16, .*> sets 'BLOK', .* \(did you mean 'BLOCK'\?\); parameters: x,",
        ):
            getattr(kernel, launch)(x, x, 8, 2.0, grid=(1,))

    def test_options_of_other_compilers_are_let_through(self) -> None:
        kernel = tuned([triton.Config({"BLOCK": 16, "waves_per_eu": 2})])
        x, out = np.ones(8, np.float32), np.zeros(8, np.float32)
        kernel[grid](x, out, 8, 2.0)
        assert out.sum() == 16

    def test_an_unhashable_key(self) -> None:
        kernel = triton.autotune(blocks(16, 32), ["factor"])(triton.jit(scale))
        x = np.ones(8, np.float32)
        with pytest.raises(TypeError, match="the arguments in key must be hashable"):
            kernel[grid](x, x, 8, [1])

    def test_an_argument_that_is_none_of_the_kernel_is_the_callers_error(self) -> None:
        kernel = tuned(blocks(16, 32), do_bench=Stopwatch(1.0))
        x = np.ones(8, np.float32)
        with pytest.raises(ArgumentError, match="unexpected keyword argument 'factr'"):
            kernel[grid](x, x, n=8, factr=2.0)

    def test_a_launch_before_jit(self) -> None:
        with pytest.raises(TypeError, match="no kernel; decorate a function with @triton.jit"):
            triton.autotune(blocks(16), [])(3)


def failing(x, out, n, factor, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    tl.store(out + offsets, tl.load(x + offsets, mask=offsets < n) * factor, mask=offsets < n)


class TestConfigurationsThatFail:
    def test_one_that_does_not_compile_is_left_out(self) -> None:
        watch = Stopwatch(5.0)
        kernel = triton.autotune(blocks(0, 128, -1), ["n"], do_bench=watch)(triton.jit(failing))
        run(kernel)
        assert watch.calls == 1
        assert kernel.best_config.kwargs == {"BLOCK": 128}
        assert kernel.configs_timings[kernel.configs[0]] == [float("inf")] * 3

    def test_when_all_fail_each_is_named(self) -> None:
        kernel = triton.autotune(blocks(0, -1), ["n"])(triton.jit(failing))
        with pytest.raises(AutotuneError) as caught:
            run(kernel)
        lines = str(caught.value).splitlines()
        assert lines[0] == "no configuration of kernel 'failing' can be used:"
        assert [line.split(",")[0] for line in lines if line.startswith("  BLOCK")] == [
            "  BLOCK: 0", "  BLOCK: -1",
        ]  # fmt: skip

    def test_the_kernels_own_mistake_is_raised_as_it_is(self, module_from: Any) -> None:
        module = module_from(
            "@triton.jit\ndef kernel(x, BLOCK: tl.constexpr):\n    x.frobnicate()\n"
        )
        kernel = triton.autotune(blocks(16, 32), [])(module.kernel)
        with pytest.raises((ASTFrontendError, TypeError), match=r"kernels_\d+.py:6:"):
            kernel[(1,)](np.zeros(4))

    def test_an_error_of_a_grid_function_is_raised_as_it_is(self) -> None:
        kernel = tuned(blocks(16, 32))

        def broken(meta: Any) -> Any:
            raise ZeroDivisionError("mine")

        x = np.ones(8, np.float32)
        with pytest.raises(ZeroDivisionError, match="mine"):
            kernel[broken](x, x, 8, 2.0)


class TestArrays:
    def test_reset_to_zero_leaves_one_runs_worth(self) -> None:
        kernel = triton.autotune(
            blocks(4, 8), ["n"], reset_to_zero=["out"], do_bench=Stopwatch(1.0, 2.0)
        )(add_to)
        out = np.full(8, 5.0, np.float32)
        kernel[grid](out, 8)
        assert out.tolist() == [1.0] * 8
        kernel[grid](out, 8)
        assert out.tolist() == [2.0] * 8

    def test_restore_value_leaves_one_run_on_what_was_there(self) -> None:
        kernel = triton.autotune(
            blocks(4, 8), ["n"], restore_value=["out"], do_bench=Stopwatch(1.0, 2.0)
        )(add_to)
        out = np.full(8, 5.0, np.float32)
        kernel[grid](out, 8)
        assert out.tolist() == [6.0] * 8

    def test_a_view_with_gaps_is_restored(self) -> None:
        @triton.jit
        def add_strided(out, n, stride, BLOCK: tl.constexpr):
            offsets = tl.arange(0, BLOCK) * stride
            mask = tl.arange(0, BLOCK) < n
            tl.store(out + offsets, tl.load(out + offsets, mask=mask) + 1.0, mask=mask)

        kernel = triton.autotune(
            blocks(4, 8), ["n"], restore_value=["out"], do_bench=Stopwatch(1.0, 2.0)
        )(add_strided)
        whole = np.zeros((4, 4), np.float32)
        kernel[(1,)](whole[:, 1], 4, 4)
        assert whole[:, 1].tolist() == [1.0] * 4
        assert whole.sum() == 4.0


class TestHooks:
    def test_pre_hook_of_a_configuration_runs_before_each_launch(self) -> None:
        seen: list[int] = []
        configs = [
            triton.Config({"BLOCK": b}, pre_hook=lambda a: seen.append(a["BLOCK"])) for b in (4, 8)
        ]
        kernel = tuned(configs, do_bench=Stopwatch(2.0, 1.0))
        run(kernel)
        run(kernel)
        assert seen == [4, 8, 8, 8]

    def test_hooks_of_the_tuner_run_round_timed_runs(self) -> None:
        events: list[Any] = []

        def before(args: Any, reset_only: bool = False) -> None:
            events.append(("before", args["BLOCK"], reset_only))

        def after(args: Any, exception: Any) -> None:
            events.append(("after", args["BLOCK"], exception))

        kernel = tuned(blocks(4, 8), pre_hook=before, post_hook=after, do_bench=Stopwatch(2.0, 1.0))
        run(kernel)
        run(kernel)
        assert events == [
            ("before", 4, False), ("after", 4, None), ("before", 8, False), ("after", 8, None),
            ("before", 8, True),
        ]  # fmt: skip


class TestPruning:
    def test_early_config_prune_gets_arguments_by_name(self) -> None:
        seen: dict[str, Any] = {}

        def prune(configs: Any, named: Any, **kwargs: Any) -> Any:
            seen.update(named=set(named), kwargs=set(kwargs))
            return [c for c in configs if c.kwargs["BLOCK"] <= named["n"]]

        watch = Stopwatch(1.0, 2.0)
        kernel = tuned(
            blocks(16, 64, 1024), do_bench=watch, prune_configs_by={"early_config_prune": prune}
        )
        x, out = np.ones(100, np.float32), np.zeros(100, np.float32)
        kernel[grid](x, out, 100, factor=2.0)
        assert watch.calls == 2
        assert seen == {"named": {"x", "out", "n"}, "kwargs": {"factor", "grid", "warmup"}}

    @pytest.mark.parametrize(("top_k", "timed"), [(2, 2), (0.5, 2), (1.0, 4), (9, 4)])
    def test_perf_model_keeps_the_best_estimates(self, top_k: Any, timed: int) -> None:
        watch = Stopwatch(1.0, 2.0, 3.0, 4.0)
        kernel = tuned(
            blocks(16, 32, 64, 128),
            do_bench=watch,
            prune_configs_by={"perf_model": lambda BLOCK, **_: -BLOCK, "top_k": top_k},
        )
        run(kernel)
        assert watch.calls == timed
        if timed == 2:
            assert [c.kwargs["BLOCK"] for c in kernel.configs_timings] == [128, 64]

    def test_a_single_survivor_is_not_timed(self) -> None:
        watch = Stopwatch(1.0)
        kernel = tuned(
            blocks(16, 32),
            do_bench=watch,
            prune_configs_by={"perf_model": lambda **_: 0, "top_k": 1},
        )
        run(kernel)
        assert watch.calls == 0

    def test_no_survivor_is_an_error(self) -> None:
        kernel = tuned(blocks(16, 32), prune_configs_by={"early_config_prune": lambda *a, **k: []})
        with pytest.raises(RuntimeError, match="left no configuration"):
            run(kernel)

    def test_top_k_must_be_a_count_or_a_share(self) -> None:
        kernel = tuned(blocks(16, 32), prune_configs_by={"perf_model": lambda **_: 0, "top_k": 2.5})
        with pytest.raises(TypeError, match="top_k is a count or a share"):
            run(kernel)


class TestStacking:
    def test_jit_above_autotune(self) -> None:
        kernel = triton.jit(triton.autotune(blocks(16, 32), ["n"], do_bench=Stopwatch(1.0))(scale))
        assert isinstance(kernel, triton.Autotuner)
        run(kernel)

    def test_jit_between_heuristics_and_autotune(self) -> None:
        inner = triton.autotune(blocks(16, 32), ["n"], do_bench=Stopwatch(1.0))(scale)
        kernel = triton.heuristics({"factor": lambda args: 2.0})(triton.jit(inner))
        x, out = np.ones(8, np.float32), np.zeros(8, np.float32)
        kernel[grid](x, out, 8)
        assert out.tolist() == [2.0] * 8

    def test_names_of_the_kernel_shine_through(self) -> None:
        kernel = tuned(blocks(16))
        assert (kernel.__name__, kernel.arg_names) == (
            "scale",
            ["x", "out", "n", "factor", "BLOCK"],
        )
        assert isinstance(kernel.fn, triton.JITFunction)
        assert kernel.base_fn is kernel.fn

    def test_the_kernel_inside_can_be_asked(self) -> None:
        kernel = tuned(blocks(16))
        text = kernel.emit(
            x="f32[64]", out="f32[64]", n=64, factor=2.0, BLOCK=32, backend="interpreter"
        )
        assert text.startswith("kernel scale(x: ptr<f32>, out: ptr<f32>, n: i32, factor: f32) {")
        assert kernel.src.startswith("def scale(")
        with pytest.raises(
            AttributeError, match="'Autotuner' object has no attribute 'frobnicate'"
        ):
            kernel.frobnicate

    def test_a_call_without_a_grid(self) -> None:
        with pytest.raises(TypeError, match=r"launched with a grid: scale\[grid\]"):
            tuned(blocks(16))(1, 2)

    def test_a_subclass_that_overrides_run_is_asked(self) -> None:
        class Counting(triton.Autotuner):
            runs = 0

            def run(self, *args: Any, **kwargs: Any) -> Any:
                self.runs += 1
                self.cache[(100, "float32", "float32")] = self.configs[1]
                return super().run(*args, **kwargs)

        inner = triton.jit(scale)
        kernel = Counting(inner, inner.arg_names, blocks(16, 32), ["n"], None, None)
        run(kernel)
        assert kernel.runs == 1
        assert kernel.best_config.kwargs == {"BLOCK": 32}

    def test_warmup_compiles_every_configuration(self) -> None:
        kernel = tuned(blocks(16, 32))
        made = kernel.warmup(np.dtype("float32"), np.dtype("float32"), 100, 2.0, grid=(1,))
        assert [m.launched for m in made] == [False, False]
        assert ["[16]" in m.asm["ssa"] or "16 x" in m.asm["ssa"] for m in made] == [True, False]


class TestDisk:
    @pytest.fixture
    def folder(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
        monkeypatch.setenv("MYTRITON_CACHE_DIR", str(tmp_path))
        return tmp_path / "autotune"

    def kernel(self, watch: Stopwatch, sizes: tuple[int, ...] = (16, 32)) -> Any:
        return tuned(blocks(*sizes), do_bench=watch, cache_results=True)

    def test_results_are_found_by_the_next_tuner(self, folder: Path) -> None:
        run(self.kernel(Stopwatch(2.0, 1.0)))
        watch = Stopwatch(1.0)
        again = self.kernel(watch)
        run(again)
        assert watch.calls == 0
        assert again.best_config.kwargs == {"BLOCK": 32}
        assert [t[0] for t in again.configs_timings.values()] == [2.0, 1.0]

    def test_an_entry_is_json_behind_its_digest(self, folder: Path) -> None:
        run(self.kernel(Stopwatch(2.0, 1.0)))
        (entry,) = folder.glob("*/*.json")
        found = json.loads(entry.read_bytes()[32:])
        assert found["kernel"] == "scale"
        assert found["timings"] == [[2.0] * 3, [1.0] * 3]

    def test_a_damaged_entry_is_a_miss(self, folder: Path) -> None:
        run(self.kernel(Stopwatch(2.0, 1.0)))
        (entry,) = folder.glob("*/*.json")
        entry.write_bytes(entry.read_bytes()[:-3] + b"xxx")
        watch = Stopwatch(1.0, 2.0)
        run(self.kernel(watch))
        assert watch.calls == 2

    def test_other_configurations_sizes_or_backends_are_another_entry(self, folder: Path) -> None:
        run(self.kernel(Stopwatch(2.0, 1.0)))
        for watch, kernel, n in (
            (w := Stopwatch(1.0), self.kernel(w, (16, 64)), 100),
            (w := Stopwatch(1.0), self.kernel(w), 50),
        ):
            run(kernel, n)
            assert watch.calls == 2
        watch = Stopwatch(1.0)
        with triton.use_backend("interpreter"):
            run(self.kernel(watch))
        assert watch.calls == 2

    def test_failures_are_remembered_as_such(self, folder: Path) -> None:
        def kernel(watch: Stopwatch) -> Any:
            decorate = triton.autotune(blocks(0, 128), ["n"], do_bench=watch, cache_results=True)
            return decorate(triton.jit(failing))

        run(kernel(Stopwatch(1.0)))
        # A single time is never chosen from the disk as the failed one.
        again = kernel(Stopwatch(1.0))
        run(again)
        assert again.best_config.kwargs == {"BLOCK": 128}

    @pytest.mark.parametrize("how", ["argument", "variable", "pre_hook", "do_bench"])
    def test_what_is_not_kept(
        self, how: str, folder: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        configs, options = blocks(16, 32), dict[str, Any](warmup=1, rep=1)
        if how == "argument":
            options["cache_results"] = False
        elif how == "variable":
            monkeypatch.setenv("MYTRITON_CACHE_AUTOTUNING", "0")
        elif how == "pre_hook":
            configs = [triton.Config({"BLOCK": b}, pre_hook=lambda args: None) for b in (16, 32)]
        else:
            options = {"do_bench": Stopwatch(1.0)}
        run(tuned(configs, **options))
        assert not folder.exists()

    def test_kept_by_default(self, folder: Path) -> None:
        run(tuned(blocks(16, 32), warmup=1, rep=1))
        assert len(list(folder.glob("*/*.json"))) == 1


def test_it_prints_what_it_does(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("MYTRITON_PRINT_AUTOTUNING", "1")
    kernel = triton.autotune(blocks(0, 64, 128), ["n"], do_bench=Stopwatch(2.0, 1.5))(
        triton.jit(failing)
    )
    run(kernel, 64)
    printed = capsys.readouterr().out
    assert printed.startswith("autotune failing: BLOCK: 0,")
    assert "BLOCK: 0, num_warps: 4, num_ctas: 1, num_stages: 3 left out: " in printed
    assert "key (64, 'float32', 'float32'): 2 of 3 configurations in " in printed
    assert "best: BLOCK: 128" in printed
    run(kernel, 64)
    assert capsys.readouterr().out == ""


def test_nothing_is_timed_where_nothing_runs() -> None:
    """A backend that only compiles for these arguments is no reason to measure."""
    from mytriton.plugin_api import Availability, BackendInfo, Capability, Source, hookimpl
    from mytriton.plugins import selection

    class Everything(dict[str, Capability]):
        def get(self, key: str, default: Any = None) -> Any:
            return Capability("yes")

    class Elsewhere:
        @hookimpl
        def mytriton_backend_info(self) -> BackendInfo:
            return BackendInfo("elsewhere", "", capabilities=Everything(), device_kinds=("acme",))

        @hookimpl
        def mytriton_probe(self) -> Availability:
            return Availability()

        @hookimpl
        def mytriton_lower(self, function: Any, launch: Any) -> Source:
            return Source(str(function), "text", "kernel", {})

        @hookimpl
        def mytriton_compile(self, source: Source, launch: Any) -> Any:
            raise AssertionError("compiled")

    triton.register_backend("elsewhere", Elsewhere(), replace=True)
    try:
        watch = Stopwatch(1.0)
        kernel = tuned(blocks(16, 32), do_bench=watch)
        x, out = np.ones(8, np.float32), np.zeros(8, np.float32)
        with pytest.warns(UserWarning, match="compiled for backend 'elsewhere' but not launched"):
            result = kernel.with_backend("elsewhere")[grid](x, out, 8, 2.0)
        assert (watch.calls, result.launched) == (0, False)
        assert kernel.best_config.kwargs == {"BLOCK": 16}
    finally:
        selection.unregister_backend("elsewhere")
