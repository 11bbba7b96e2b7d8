"""``perf_report``: a function timed over a range of sizes, as tables, plots and CSV files.

Needs neither pandas nor matplotlib: without them there are tables and CSV files, but no data frames
and no plots.
"""

from __future__ import annotations

import csv
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any


class Benchmark:
    """What to time: for each value of ``x_names`` in ``x_vals`` and each of ``line_vals`` of
    ``line_arg`` the function is called with these and ``args``, and gives a number, or a number
    with its lower and upper bound."""

    def __init__(
        self,
        x_names: Sequence[str],
        x_vals: Sequence[Any],
        line_arg: str,
        line_vals: Sequence[Any],
        line_names: Sequence[str],
        plot_name: str,
        args: Mapping[str, Any],
        xlabel: str = "",
        ylabel: str = "",
        x_log: bool = False,
        y_log: bool = False,
        styles: Sequence[tuple[str, str]] | None = None,
    ) -> None:
        self.x_names = [x_names] if isinstance(x_names, str) else list(x_names)
        self.x_vals = list(x_vals)
        self.line_arg = line_arg
        self.line_vals = list(line_vals)
        self.line_names = list(line_names)
        self.plot_name = plot_name
        self.args = dict(args)
        self.xlabel, self.ylabel = xlabel, ylabel
        self.x_log, self.y_log = x_log, y_log
        self.styles = styles
        if len(self.line_names) != len(self.line_vals):
            raise ValueError(
                f"{len(self.line_vals)} line_vals but {len(self.line_names)} line_names in benchmark "
                f"{plot_name!r}"
            )

    def points(self) -> Iterator[list[Any]]:
        """The values of ``x_names``, point by point. Raises ``ValueError`` for the wrong count."""
        for x in self.x_vals:
            values = list(x) if isinstance(x, (list, tuple)) else [x] * len(self.x_names)
            if len(values) != len(self.x_names):
                raise ValueError(f"{x!r} has not one value for each of {', '.join(self.x_names)}")
            yield values


class Table:
    """The rows of one benchmark. ``rows``: x values, then each line's number; ``bounds``: the lower
    and upper bound of each number, where there is one."""

    def __init__(self, bench: Benchmark) -> None:
        unit = f" ({bench.ylabel})" if bench.ylabel else ""
        self.header = [*bench.x_names, *(f"{name}{unit}" for name in bench.line_names)]
        self.rows: list[list[Any]] = []
        self.bounds: list[list[tuple[Any, Any]]] = []

    def add(self, x: list[Any], values: list[Any]) -> None:
        triples = [v if isinstance(v, (tuple, list)) else (v, None, None) for v in values]
        self.rows.append([*x, *(t[0] for t in triples)])
        self.bounds.append([(t[1], t[2]) for t in triples])

    def __str__(self) -> str:
        texts = [self.header, *([_number(v) for v in row] for row in self.rows)]
        widths = [max(map(len, column)) for column in zip(*texts)]
        return "\n".join("  ".join(t.rjust(w) for t, w in zip(row, widths)) for row in texts)

    def save(self, path: str) -> None:
        with open(path, "w", newline="", encoding="utf-8") as file:
            csv.writer(file).writerows([self.header, *self.rows])

    def frame(self) -> Any:
        """The rows as a ``pandas.DataFrame``."""
        return _pandas().DataFrame(self.rows, columns=self.header)


def _number(value: Any) -> str:
    return f"{value:.6f}" if isinstance(value, float) else str(value)


class Report:
    """A function with its benchmarks: ``run`` times them."""

    def __init__(self, fn: Callable[..., Any], benchmarks: Benchmark | Sequence[Benchmark]) -> None:
        self.fn = fn
        self.benchmarks = benchmarks

    def run(
        self,
        show_plots: bool = False,
        print_data: bool = False,
        save_path: str = "",
        return_df: bool = False,
        **kwargs: Any,
    ) -> Any:
        """Time every benchmark. ``print_data`` prints a table, ``show_plots`` opens a plot,
        ``save_path`` is a folder for CSV files (and plots, with matplotlib), ``return_df`` gives
        data frames: one, or a list. Other keywords go to the function.

        Raises ``ImportError`` for a plot without matplotlib or a data frame without pandas.
        """
        # What is missing is told before anything is measured.
        if show_plots:
            _pyplot(required=True)
        if return_df:
            _pandas()
        single = isinstance(self.benchmarks, Benchmark)
        benches: Sequence[Any] = [self.benchmarks] if single else list(self.benchmarks)  # type: ignore[arg-type]
        if save_path:
            os.makedirs(save_path, exist_ok=True)
        frames = []
        for bench in benches:
            table = self._measure(bench, kwargs)
            _draw(bench, table, save_path, show_plots)
            if print_data:
                print(f"{bench.plot_name}:")
                print(table)
            if save_path:
                table.save(os.path.join(save_path, f"{bench.plot_name}.csv"))
            if return_df:
                frames.append(table.frame())
        if return_df:
            return frames[0] if single else frames
        return None

    def _measure(self, bench: Benchmark, kwargs: Mapping[str, Any]) -> Table:
        table = Table(bench)
        for x in bench.points():
            given = {**dict(zip(bench.x_names, x)), **bench.args, **kwargs}
            table.add(x, [self.fn(**given, **{bench.line_arg: line}) for line in bench.line_vals])
        return table


#: As Triton calls it.
Mark = Report


def perf_report(
    benchmarks: Benchmark | Sequence[Benchmark],
) -> Callable[[Callable[..., Any]], Report]:
    """Time the decorated function over ``benchmarks``; its ``run`` does it."""
    return lambda fn: Report(fn, benchmarks)


def _pandas() -> Any:
    try:
        import pandas
    except ImportError as error:
        raise ImportError(
            "return_df=True needs pandas, which is not installed; print_data and save_path do not"
        ) from error
    return pandas


def _pyplot(required: bool) -> Any:
    try:
        import matplotlib.pyplot as pyplot
    except ImportError as error:
        if not required:
            return None
        raise ImportError(
            "show_plots=True needs matplotlib, which is not installed; print_data=True prints the figures"
        ) from error
    return pyplot


def _draw(bench: Benchmark, table: Table, save_path: str, show: bool) -> None:
    """A plot, shown or beside the CSV file. Nothing without ``plot_name`` or matplotlib."""
    if not bench.plot_name or not (show or save_path):
        return
    pyplot = _pyplot(required=show)
    if pyplot is None:
        return
    figure, axes = pyplot.subplots()
    x = [row[0] for row in table.rows]
    for k, name in enumerate(bench.line_names):
        colour, style = bench.styles[k] if bench.styles else (None, None)
        y = [row[len(bench.x_names) + k] for row in table.rows]
        axes.plot(x, y, label=name, color=colour, ls=style)
        bounds = [each[k] for each in table.bounds]
        if bounds and all(low is not None and high is not None for low, high in bounds):
            low, high = zip(*bounds)
            axes.fill_between(x, low, high, alpha=0.15, color=colour)
    axes.legend()
    axes.set_xlabel(bench.xlabel or bench.x_names[0])
    axes.set_ylabel(bench.ylabel)
    axes.set_xscale("log" if bench.x_log else "linear")
    axes.set_yscale("log" if bench.y_log else "linear")
    if save_path:
        figure.savefig(os.path.join(save_path, f"{bench.plot_name}.png"))
    if show:
        pyplot.show()
    pyplot.close(figure)
