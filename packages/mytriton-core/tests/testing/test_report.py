"""``perf_report``: which points are timed, tables, files; and what is missing without pandas and
matplotlib."""

from __future__ import annotations

import csv
import importlib.util
from pathlib import Path
from typing import Any

import pytest

import mytriton as triton
from mytriton.testing.report import Report


def bench(**changes: Any) -> Any:
    settings: dict[str, Any] = {
        "x_names": ["n"], "x_vals": [1, 2, 4], "line_arg": "provider", "line_vals": ["ours", "theirs"],
        "line_names": ["Ours", "Theirs"], "plot_name": "speed", "args": {"scale": 10}, "ylabel": "GB/s",
    }  # fmt: skip
    return triton.testing.Benchmark(**{**settings, **changes})


def report(benchmarks: Any, calls: list[Any] | None = None) -> Any:
    @triton.testing.perf_report(benchmarks)
    def measure(provider: str, **given: Any) -> Any:
        if calls is not None:
            calls.append((provider, given))
        value = float(given.get("n", 1) * given["scale"])
        return (value, value - 1, value + 1) if provider == "ours" else value / 2

    return measure


def test_every_point_and_line_is_measured() -> None:
    calls: list[Any] = []
    report(bench(), calls).run()
    assert calls == [(p, {"n": n, "scale": 10}) for n in (1, 2, 4) for p in ("ours", "theirs")]


def test_several_x_names_take_tuples_or_one_value_for_all() -> None:
    calls: list[Any] = []
    report(bench(x_names=["m", "n"], x_vals=[(1, 2), 3]), calls).run()
    assert [given for _, given in calls[::2]] == [
        {"m": 1, "n": 2, "scale": 10}, {"m": 3, "n": 3, "scale": 10},
    ]  # fmt: skip
    with pytest.raises(ValueError, match=r"\(1, 2, 3\) has not one value for each of m, n"):
        report(bench(x_names=["m", "n"], x_vals=[(1, 2, 3)])).run()


def test_other_keywords_go_to_the_function() -> None:
    calls: list[Any] = []
    report(bench(), calls).run(scale=3, extra=True)
    assert calls[0][1] == {"n": 1, "scale": 3, "extra": True}


def test_the_table(capsys: pytest.CaptureFixture[str]) -> None:
    report(bench()).run(print_data=True)
    assert capsys.readouterr().out.splitlines() == [
        "speed:",
        "n  Ours (GB/s)  Theirs (GB/s)",
        "1    10.000000       5.000000",
        "2    20.000000      10.000000",
        "4    40.000000      20.000000",
    ]


def test_csv_files(tmp_path: Path) -> None:
    folder = tmp_path / "new" / "folder"
    report([bench(), bench(plot_name="again", x_vals=[8])]).run(save_path=str(folder))
    with open(folder / "speed.csv", newline="") as file:
        rows = list(csv.reader(file))
    assert rows[0] == ["n", "Ours (GB/s)", "Theirs (GB/s)"]
    assert rows[3] == ["4", "40.0", "20.0"]
    assert (folder / "again.csv").exists()


def test_names_for_every_line() -> None:
    with pytest.raises(ValueError, match="2 line_vals but 1 line_names in benchmark 'speed'"):
        bench(line_names=["Ours"])


def test_mark_is_what_perf_report_makes() -> None:
    assert isinstance(report(bench()), Report)
    assert triton.testing.Mark is Report


@pytest.mark.skipif(importlib.util.find_spec("matplotlib") is not None, reason="matplotlib is here")
def test_plots_need_matplotlib_and_say_so_before_anything_is_measured() -> None:
    calls: list[Any] = []
    with pytest.raises(ImportError, match="show_plots=True needs matplotlib"):
        report(bench(), calls).run(show_plots=True)
    assert calls == []


@pytest.mark.skipif(importlib.util.find_spec("pandas") is not None, reason="pandas is here")
def test_data_frames_need_pandas() -> None:
    with pytest.raises(ImportError, match="return_df=True needs pandas"):
        report(bench()).run(return_df=True)


def test_data_frames() -> None:
    pandas = pytest.importorskip("pandas")
    frame = report(bench()).run(return_df=True)
    assert isinstance(frame, pandas.DataFrame)
    assert frame["Ours (GB/s)"].tolist() == [10.0, 20.0, 40.0]


def test_plots(tmp_path: Path) -> None:
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    report(bench(x_log=True, styles=[("blue", "-"), ("red", "--")])).run(save_path=str(tmp_path))
    assert (tmp_path / "speed.png").read_bytes()[:4] == b"\x89PNG"
