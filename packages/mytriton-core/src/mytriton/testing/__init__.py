"""``triton.testing``: timing kernels, tables and plots of timings, comparing results."""

from __future__ import annotations

from .bench import do_bench, do_bench_cudagraph
from .compare import assert_close
from .report import Benchmark, Mark, perf_report

__all__ = ["Benchmark", "Mark", "assert_close", "do_bench", "do_bench_cudagraph", "perf_report"]
