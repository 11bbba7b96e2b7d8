"""pytest front end. For authors of kernels: the fixture ``mytriton_backend``, which runs a test on
each installed backend, and ``--mytriton-sanitize``, which checks every launch. For authors of
backends: ``pytest --pyargs mytriton_testkit --mytriton-backend NAME``.

Loaded in every pytest run where the testkit is installed, so it imports nothing that is not needed
until somebody asks. Each conformance case is one test item; the verdict is the engine's.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from .suite.runner import Run

HERE = Path(__file__).parent
#: The file under which the cases are listed: this one, whatever patterns the user's ini has.
ANCHOR = HERE / "conformance.py"
_KEY = "mytriton_result"
SANITIZE = "MYTRITON_SANITIZE"
FIXTURE = "mytriton_backend"


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("mytriton", "mytriton conformance suite")
    group.addoption(
        "--mytriton-backend", action="append", default=[], metavar="NAME",
        help="backend to test with `--pyargs mytriton_testkit`; may be repeated",
    )  # fmt: skip
    for name, text in (
        ("level", "core, standard or extended (default: the profile's, or standard)"),
        ("stage", "emit, compile, emulated or execute (default: the highest possible)"),
        ("edition", "edition of the suite (default: the profile's, or the newest)"),
        ("profile", "profile to use instead of the plugin's own"),
        ("plugin", "module to register as the backend, instead of an installed one"),
        ("json", "write the report (of the last backend named) as JSON"),
    ):
        group.addoption(f"--mytriton-{name}", default="", metavar=name.upper(), help=text)
    group.addoption("--mytriton-timeout", type=float, default=30.0, metavar="S", help="per launch")
    group.addoption("--mytriton-in-process", action="store_true", help="no isolation, for --pdb")
    group.addoption(
        "--mytriton-sanitize", action="store_true",
        help="check every launch: accesses outside arguments, races, undefined values "
        "(MYTRITON_SANITIZE=nan or bounds choose other checks)",
    )  # fmt: skip


def pytest_configure(config: pytest.Config) -> None:
    if config.getoption("--mytriton-backend"):
        config.pluginmanager.register(Conformance(config), "mytriton-conformance")
        if path := config.getoption("--mytriton-json"):
            _check(path)
    if config.getoption("--mytriton-sanitize"):
        # The variable, so that processes the tests start are checked as well.
        before = os.environ.get(SANITIZE)
        if before in (None, "", "0"):
            os.environ[SANITIZE] = "1"
        config.add_cleanup(lambda: _restore(before))


def _check(path: str) -> None:
    from .suite.errors import UsageError
    from .suite.files import check_file

    try:
        check_file(path)
    except UsageError as e:
        raise pytest.UsageError(f"--mytriton-json: {e}") from e


def _restore(value: str | None) -> None:
    if value is None:
        os.environ.pop(SANITIZE, None)
    else:
        os.environ[SANITIZE] = value


def pytest_report_header(config: pytest.Config) -> str | None:
    if not config.getoption("--mytriton-sanitize"):
        return None
    return f"mytriton: every launch is sanitized ({SANITIZE}={os.environ[SANITIZE]})"


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if FIXTURE not in metafunc.fixturenames:
        return
    marks = metafunc.definition.iter_markers("parametrize")
    if not any(FIXTURE in str(mark.args[:1]) for mark in marks):  # a test may list its own
        names = metafunc.config.getoption("--mytriton-backend") or _ready()
        metafunc.parametrize(FIXTURE, names, indirect=True)


def _ready() -> list[str]:
    """The backends that launch on arrays of the host here, by name."""
    from mytriton.plugins import strict, variables
    from mytriton.plugins.errors import MytritonBackendError
    from mytriton.plugins.manager import MANAGER
    from mytriton.plugins.selection import named
    from mytriton.plugins.types import State

    if strict.variable() in ("1", "nan"):
        return ["interpreter"]  # where sanitized launches run, whatever is named
    emulated = variables.flag("MYTRITON_EMULATE")
    found = []
    for name in dict.fromkeys(record.name for record in MANAGER.records()):
        try:
            backend = named(name)
        except MytritonBackendError:
            continue
        here = emulated or "cpu" in backend.info.device_kinds
        if here and backend.state is State.READY:
            found.append(name)
    return found


@pytest.fixture
def mytriton_backend(request: pytest.FixtureRequest) -> Iterator[str]:
    """The name of a backend. The test runs once on each that is installed and launches arrays of the
    host (or on those that ``--mytriton-backend`` names); its launches go there."""
    import mytriton

    with mytriton.use_backend(request.param):
        yield request.param


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    # Without a backend there is nothing in this package to collect; with one, only the anchor.
    if HERE not in collection_path.parents or collection_path.is_dir():
        return None
    return not (collection_path == ANCHOR and config.getoption("--mytriton-backend"))


class Conformance:
    """What is registered once a backend is named."""

    def __init__(self, config: pytest.Config) -> None:
        self.config = config
        self.engines: dict[str, Run] = {}
        self.failed: list[str] = []

    def engine(self, backend: str) -> Run:
        """The engine of a backend, made at collection. Raises ``pytest.UsageError``."""
        if backend not in self.engines:
            from .suite.errors import ConformanceError
            from .suite.runner import Run, Settings

            get = self.config.getoption
            settings = Settings(
                backend, get("--mytriton-level"), get("--mytriton-stage"),
                get("--mytriton-edition"), get("--mytriton-profile"),
                timeout=get("--mytriton-timeout"), in_process=get("--mytriton-in-process"),
                plugin=get("--mytriton-plugin"), workers=1,
            )  # fmt: skip
            try:
                self.engines[backend] = Run(settings)
            except ConformanceError as e:
                raise pytest.UsageError(f"{backend}: {e}") from e
        return self.engines[backend]

    def pytest_collect_file(self, file_path: Path, parent: pytest.Collector) -> Any:
        if file_path == ANCHOR:
            return CaseFile.from_parent(parent, path=file_path, plugin=self)
        return None

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(self, item: pytest.Item, call: Any) -> Any:
        report = yield
        if isinstance(item, CaseItem) and call.when == "call" and item.row is not None:
            report.user_properties.append((_KEY, item.row.verdict.value))
            report.user_properties.append(("mytriton_features", " ".join(item.row.features)))
            if item.row.verdict.value == "XFAIL":
                report.outcome = "skipped"
                report.wasxfail = f"{item.row.reason} {item.row.issue}".strip()
        return report

    def pytest_report_teststatus(self, report: Any) -> Any:
        verdict = dict(report.user_properties).get(_KEY) if report.when == "call" else None
        if verdict in ("DECLINED", "NEW") and report.passed:
            return verdict.lower(), verdict[0].lower(), verdict
        return None

    @pytest.hookimpl(trylast=True)
    def pytest_sessionfinish(self, session: pytest.Session, exitstatus: int) -> None:
        for backend, engine in self.engines.items():
            engine.close()
            if not engine.results:
                continue
            report = engine.report()
            if path := self.config.getoption("--mytriton-json"):
                self._write(path, json.dumps(report.as_dict(), indent=1) + "\n", session)
            if report.exit_code and exitstatus == 0:
                session.exitstatus = pytest.ExitCode.TESTS_FAILED
            state = "certified" if report.certified else "not certified"
            what = f"level {report.level}, stage {report.stage}, edition {report.edition}"
            self.failed.append(f"{backend}: {state} ({what})")
            self.failed += [f"  {text}" for text in report.why_not()]

    def _write(self, path: str, text: str, session: pytest.Session) -> None:
        from .suite.errors import UsageError
        from .suite.files import write

        try:
            write(path, text)
        except UsageError as e:
            self.failed.append(f"--mytriton-json: {e}")
            session.exitstatus = pytest.ExitCode.USAGE_ERROR

    def pytest_terminal_summary(self, terminalreporter: Any) -> None:
        if self.failed:
            terminalreporter.section("mytriton conformance")
            for line in self.failed:
                terminalreporter.write_line(line)


class CaseFile(pytest.File):
    """The cases of every backend named."""

    def __init__(self, *, plugin: Conformance, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.conformance = plugin

    def collect(self) -> Iterator[pytest.Item]:
        backends = self.config.getoption("--mytriton-backend")
        for backend in backends:
            engine = self.conformance.engine(backend)
            for case in engine.cases:
                yield CaseItem.from_parent(
                    self, name=f"{backend}::{case.id}", engine=engine, case=case
                )


class CaseItem(pytest.Item):
    """One case on one backend."""

    def __init__(self, *, engine: Run, case: Any, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.engine = engine
        self.case = case
        self.row: Any = None
        self.add_marker(pytest.mark.filterwarnings("default"))

    def runtest(self) -> None:
        self.row = self.engine.one(self.case)
        if not self.row.good:
            raise WrongVerdict(self.row)

    def repr_failure(self, excinfo: Any, style: Any = None) -> Any:
        if isinstance(excinfo.value, WrongVerdict):
            return str(excinfo.value)
        return super().repr_failure(excinfo, style)

    def reportinfo(self) -> tuple[Path, int | None, str]:
        return self.path, None, self.name


class WrongVerdict(Exception):
    """A verdict that fails the run."""

    def __init__(self, row: Any) -> None:
        parts = [f"{row.verdict.value}: {row.message}", row.detail.strip()]
        super().__init__("\n".join(filter(None, parts)))
