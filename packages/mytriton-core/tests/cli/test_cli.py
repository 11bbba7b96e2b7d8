"""The command ``mytriton``."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from mytriton.cli import INTERRUPTED, NO, OK, USAGE, main

KERNELS = """
import mytriton as triton
import mytriton.language as tl

@triton.jit
def add(x, y, out, n, BLOCK: tl.constexpr):
    o = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    m = o < n
    tl.store(out + o, tl.load(x + o, mask=m) + tl.load(y + o, mask=m), mask=m)

@triton.jit(backend="interpreter")
def copy(x, out):
    tl.store(out, tl.load(x))

other = 3
"""
ARGS = ["--arg", "x=f32[1000]", "--arg", "y=f32[1000]", "--arg", "out=f32[1000]", "--arg", "n=1000"]


@pytest.fixture
def kernels(tmp_path: Path) -> str:
    path = tmp_path / "kernels.py"
    path.write_text(KERNELS)
    return str(path)


def rows_of(text: str) -> dict[str, str]:
    """Lines of a plain table by their first word."""
    return {line.split()[0]: line for line in text.splitlines() if line.strip()}


# ------------------------------------------------------------------ backends


def test_backends_plain(install: Any, capsys: pytest.CaptureFixture[str]) -> None:
    install("acme-good", "acme-gpu", "acme-oldcore", "acme-broken", "acme-dup-one", "acme-dup-two")
    assert main(["backends"]) == OK
    out = capsys.readouterr().out
    rows = rows_of(out)
    assert out.splitlines()[0].split() == [
        "BACKEND",
        "VERSION",
        "STATE",
        "DEVICES",
        "REASON",
        "HOW",
        "TO",
        "FIX",
    ]
    assert rows["good"].split() == ["good", "2.1.0", "discovered", "cpu"]
    assert rows["gpu"].split() == ["gpu", "2.1.0", "discovered", "gpu"]
    assert rows["interpreter"].split()[2:] == ["ready", "cpu"]
    assert (
        "incompatible" in rows["oldcore"] and "requires mytriton-core>=0.5,<0.6" in rows["oldcore"]
    )
    assert rows["cuda"].endswith(
        "pip install mytriton-cuda (add [cuda12] or [cuda13] to match your driver)"
    )
    assert "conflict" in rows["dup"] and rows["dup"].endswith("pip uninstall acme-dup-two")
    assert "\x1b" not in out
    assert [m for m in sys.modules if m.startswith("acme_") and not m.endswith("_info")] == []


def test_backends_json(
    install: Any, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    install("acme-good", "acme-slow", "acme-badinfo")
    monkeypatch.setenv("MYTRITON_DISABLE_BACKENDS", "good")
    assert main(["backends", "--json"]) == OK
    found = json.loads(capsys.readouterr().out)
    assert found["schema"] == "mytriton.backends/1"
    by_name = {row["name"]: row for row in found["backends"]}
    assert by_name["good"]["state"] == "blocked"
    assert by_name["good"]["reason"] == "disabled by MYTRITON_DISABLE_BACKENDS=good"
    assert by_name["badinfo"]["state"] == "broken"
    assert by_name["slow"]["notes"][0].startswith("importing acme_slow_info took")
    assert by_name["mlir-cpu"]["state"] == "not installed"
    assert by_name["interpreter"]["first_party"] is True
    assert by_name["good"]["first_party"] is False


def test_backends_probe(install: Any, capsys: pytest.CaptureFixture[str]) -> None:
    install("acme-good", "acme-gpu", "acme-segv", "acme-exit")
    assert main(["backends", "--probe", "--json"]) == OK
    by_name = {row["name"]: row for row in json.loads(capsys.readouterr().out)["backends"]}
    assert by_name["good"]["state"] == "ready"
    assert (by_name["gpu"]["state"], by_name["gpu"]["reason"], by_name["gpu"]["fix"]) == (
        "lower-only", "no Acme GPU", "plug one in",
    )  # fmt: skip
    assert by_name["segv"]["state"] == "broken"
    assert "SIGSEGV" in by_name["segv"]["reason"]
    assert by_name["exit"]["state"] == "broken"
    assert [m for m in sys.modules if m.startswith("acme_") and not m.endswith("_info")] == []


# ------------------------------------------------------------------ doctor


def test_doctor_good(install: Any, capsys: pytest.CaptureFixture[str]) -> None:
    install("acme-good")
    assert main(["doctor", "Good"]) == OK
    out = capsys.readouterr().out
    rows = rows_of(out)
    assert out.startswith("backend good 2.1.0 [acme-good]\n")
    assert rows["state"].split() == ["state", "ready"]
    assert rows["module"].split(maxsplit=1)[1] == "acme_good, info acme_good_info:INFO"
    assert rows["features"].split(maxsplit=1)[1] == "11 yes"
    assert rows["hooks"].split(maxsplit=1)[1] == "probe, lower, compile"
    assert "acme_good" not in sys.modules


def test_doctor_segfault(install: Any, capsys: pytest.CaptureFixture[str]) -> None:
    install("acme-segv")
    assert main(["doctor", "segv"]) == NO
    out = capsys.readouterr().out
    assert "state   broken" in out
    assert "while importing acme_segv, the process was ended by SIGSEGV (Segmentation fault)" in out
    assert "MYTRITON_DISABLE_BACKENDS=segv" in out
    assert "acme_segv.py" in out  # where, by faulthandler


def test_doctor_hang(install: Any, capsys: pytest.CaptureFixture[str]) -> None:
    install("acme-hang")
    assert main(["doctor", "hang", "--timeout", "3"]) == NO
    assert "while importing acme_hang, it took more than 3 s" in capsys.readouterr().out


@pytest.mark.parametrize("seconds", ["0", "-1", "nan", "inf"])
def test_doctor_waits_for_a_positive_time(seconds: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["doctor", "interpreter", f"--timeout={seconds}"])
    assert ended.value.code == 2
    assert "a positive number of seconds" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("name", "state", "texts"),
    [
        (
            "broken",
            "broken",
            ["Traceback (most recent call last)", "RuntimeError: the plugin is out of order"],
        ),
        ("needy", "broken", ["MT-B03", 'pip install "acme-needy[native]"']),
        ("exit", "broken", ["SystemExit: 3"]),
        ("typo", "broken", ["MT-B09: plugin acme-typo: hook 'mytriton_clame' does not exist"]),
        ("badprobe", "unavailable", ["mytriton_probe raised OSError", "Traceback"]),
        ("gpu", "lower-only", ["no Acme GPU", "plug one in"]),
        ("oldcore", "incompatible", ["MT-B04"]),
    ],
)
def test_doctor_bad(
    install: Any, capsys: pytest.CaptureFixture[str], name: str, state: str, texts: list[str]
) -> None:
    install(f"acme-{name}")
    assert main(["doctor", name, "--json"]) == NO
    text = capsys.readouterr().out
    assert json.loads(text)["state"] == state
    assert main(["doctor", name]) == NO
    out = capsys.readouterr().out
    for part in texts:
        assert part in out


def test_doctor_strict_still_reports(
    install: Any, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    install("acme-broken")
    monkeypatch.setenv("MYTRITON_STRICT_PLUGINS", "1")
    assert main(["doctor", "broken"]) == NO
    assert "out of order" in capsys.readouterr().out


def test_doctor_blocked(
    install: Any, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    install("acme-good")
    monkeypatch.setenv("MYTRITON_DISABLE_BACKENDS", "*")
    assert main(["doctor", "good"]) == NO
    assert "disabled by MYTRITON_DISABLE_BACKENDS=*" in capsys.readouterr().out


def test_doctor_of_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["doctor", "cuda"]) == NO
    assert "MT-B02: backend 'cuda' is not installed. Install it" in capsys.readouterr().err
    assert main(["doctor", "cudo"]) == USAGE
    assert "MT-B01: no backend is called 'cudo'. Closest: cuda" in capsys.readouterr().err


def test_doctor_of_every_backend(
    install: Any, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    install("acme-good")
    assert main(["doctor"]) == OK
    reports = capsys.readouterr().out.split("\n\n")
    assert [text.partition(" [")[0] for text in reports] == [
        "backend good 2.1.0",
        "backend interpreter",
    ]
    install("acme-broken")
    assert main(["doctor"]) == NO
    assert "RuntimeError: the plugin is out of order" in capsys.readouterr().out
    # Neither the backend of the user's choice nor one that is switched off is a fault.
    monkeypatch.setenv("MYTRITON_DISABLE_BACKENDS", "broken")
    monkeypatch.setenv("MYTRITON_BACKEND", "good")
    assert main(["doctor", "--json"]) == OK
    data = json.loads(capsys.readouterr().out)
    assert data["schema"] == "mytriton.doctor.all/1"
    assert {r["name"]: r["state"] for r in data["backends"]} == {
        "broken": "blocked", "good": "ready", "interpreter": "ready",
    }  # fmt: skip


def test_doctor_of_a_backend_without_a_device(
    install: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    install("acme-gpu")
    assert main(["doctor"]) == OK  # nothing is wrong with it
    assert "lower-only" in rows_of(capsys.readouterr().out.partition("\n\n")[0])["state"]
    assert main(["doctor", "gpu"]) == NO  # but it is not ready
    install("acme-badprobe")
    assert main(["doctor"]) == NO


def test_doctor_interpreter(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["doctor", "interpreter"]) == OK
    assert "backend interpreter [built in]" in capsys.readouterr().out


# ------------------------------------------------------------------ explain


class Fake:
    """Stands for a kernel: what the command needs of one."""

    backend = None
    arg_names = ("x",)

    def __init__(self, tools: Any) -> None:
        self.tools = tools
        self.seen: dict[str, Any] = {}

    def specialise(self, arguments: dict[str, Any]) -> Any:
        self.seen = dict(arguments)
        return self.tools.function("fake"), self.tools.launch("cpu")


def test_explain_passes_arguments_on(
    tools: Any, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from mytriton.cli import explain

    kernel = Fake(tools)
    monkeypatch.setattr(explain, "load_kernel", lambda text: kernel)
    words = ["explain", "a.py:k", "--arg", "x=f32[10]", "--arg", "n=10", "--constexpr", "B=256"]
    words += ["--constexpr", "F=true", "--constexpr", "M=fast", "--constexpr", "S=(1, 2)"]
    assert main([*words, "--option", "num_warps=4"]) == OK
    assert kernel.seen == {
        "x": "f32[10]",
        "n": "10",
        "B": 256,
        "F": True,
        "M": "fast",
        "S": (1, 2),
        "num_warps": 4,
    }
    assert "fake runs on interpreter" in capsys.readouterr().out


def test_explain(kernels: str, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["explain", f"{kernels}:add", *ARGS]
    assert main([*words, "--constexpr", "BLOCK=256", "--grid", "4"]) == OK
    out = capsys.readouterr().out
    assert out.startswith("kernel add: backend auto\n")
    assert "x: f32 on cpu, y: f32 on cpu, out: f32 on cpu, n: i32; grid (4, 1, 1)" in out
    assert "add runs on interpreter" in out
    # A compile-time parameter is one, however it is given.
    assert main([*words, "--arg", "BLOCK=256"]) == OK


def test_explain_no(kernels: str, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["explain", f"{kernels}:copy", "--arg", "x=f32[4]@cuda", "--arg", "out=f32[4]@cuda"]
    assert main(words) == NO
    out = capsys.readouterr().out
    assert "kernel copy: backend interpreter, asked for by @jit(backend=)" in out
    assert "MT-B08" in out
    assert main([*words, "--backend", "auto"]) == NO
    out = capsys.readouterr().out
    assert "MT-B05: no backend can run 'copy'" in out
    assert "to run on 'cuda': pip install mytriton-cuda" in out
    assert main([*words, "--json"]) == NO
    assert json.loads(capsys.readouterr().out)["candidates"][0]["verdict"] == "declined"


@pytest.mark.parametrize(
    ("words", "text"),
    [
        (["nothing"], "'nothing' names no kernel; write file.py:kernel"),
        (["no.py:k"], "no file no.py"),
        (["{}:mul"], "has no kernel 'mul'; kernels: add, copy"),
        (["{}:other"], "has no kernel 'other'"),
        (["{}:add", "--arg", "x"], "'x' is not NAME=VALUE"),
        (["{}:add", "--arg", "x=1", "--constexpr", "x=2"], "'x' is given twice"),
        (
            [
                "{}:add",
                "--arg",
                "x=f33[2]",
                "--arg",
                "y=1",
                "--arg",
                "out=1",
                "--arg",
                "n=1",
                "--arg",
                "BLOCK=2",
            ],
            "argument 'x': 'f33' in 'f33[2]' is not a dtype; closest: f32",
        ),
        (["{}:add", "--arg", "z=1"], "z"),
        (
            ["{}:add", *ARGS, "--constexpr", "BLOCK=2", "--grid", "a"],
            "--grid takes one to three non-negative integers, got 'a'",
        ),
    ],
)
def test_explain_usage(
    kernels: str, capsys: pytest.CaptureFixture[str], words: list[str], text: str
) -> None:
    assert main(["explain", *(w.format(kernels) if "{}" in w else w for w in words)]) == USAGE
    captured = capsys.readouterr()
    assert text in captured.err
    assert captured.err.startswith("mytriton: ")
    assert captured.out == ""


@pytest.mark.parametrize("command", ["explain", "inspect"])
def test_a_backend_that_nobody_knows_is_wrong_usage(
    kernels: str, capsys: pytest.CaptureFixture[str], command: str
) -> None:
    words = [command, f"{kernels}:add", *ARGS, "--constexpr", "BLOCK=256", "--backend"]
    assert main([*words, "interpeter"]) == USAGE
    captured = capsys.readouterr()
    assert "MT-B01: no backend is called 'interpeter' (asked for by --backend)" in captured.err
    assert captured.out == ""
    assert main([*words, "cuda"]) == NO  # it exists, and is not here
    captured = capsys.readouterr()
    told = captured.out + captured.err
    assert "MT-B02: backend 'cuda' is not installed (asked for by --backend)" in told


def test_explain_a_name_in_a_variable_that_nobody_knows(
    kernels: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MYTRITON_BACKEND", "interpreter,cudo")
    assert main(["explain", f"{kernels}:add", *ARGS, "--constexpr", "BLOCK=256"]) == USAGE
    assert "no backend is called 'cudo' (asked for by MYTRITON_BACKEND)" in capsys.readouterr().err


@pytest.mark.parametrize("command", ["explain", "inspect"])
def test_launch_options_that_a_launch_refuses(
    kernels: str, capsys: pytest.CaptureFixture[str], command: str
) -> None:
    words = [command, f"{kernels}:add", *ARGS, "--constexpr", "BLOCK=256"]
    for value in ("x", "0", "-4", "1.5"):
        assert main([*words, "--option", f"num_warps={value}"]) == USAGE
        assert "launch option num_warps must be a positive int" in capsys.readouterr().err
    assert main([*words, "--option", "num_warps=4", "--option", "num_stages=0"]) == OK


@pytest.mark.parametrize(
    ("name", "value", "text"),
    [
        ("MYTRITON_SANITIZE", "zz", "MYTRITON_SANITIZE is 0, 1, nan or bounds, got 'zz'"),
        ("MYTRITON_LOG", "zz", "MYTRITON_LOG takes selection, cache, compile, launch or all"),
        ("MYTRITON_EMULATE", "zz", "MYTRITON_EMULATE is a switch (0 or 1), got 'zz'"),
        ("MYTRITON_OPT_LEVEL", "2", "MYTRITON_OPT_LEVEL must be 0 or 1, got '2'"),
    ],
)
def test_explain_refuses_variables_that_a_launch_refuses(
    kernels: str, install: Any, capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch, name: str, value: str, text: str,
) -> None:  # fmt: skip
    install("acme-gpu")
    monkeypatch.setenv(name, value)
    assert main(["explain", f"{kernels}:add", *ARGS, "--constexpr", "BLOCK=256"]) == USAGE
    assert text in capsys.readouterr().err


def test_explain_a_file_that_fails(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "bad.py").write_text("1 / 0\n")
    assert main(["explain", f"{tmp_path / 'bad.py'}:k"]) == USAGE
    assert "bad.py fails to import: ZeroDivisionError" in capsys.readouterr().err


# ------------------------------------------------------------------ info


def test_info(
    install: Any,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    install("acme-good", "acme-observer")
    (tmp_path / "cache").mkdir()
    (tmp_path / "cache" / "a").write_bytes(b"12345")
    monkeypatch.setenv("MYTRITON_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setenv("MYTRITON_BACKENDS", "x")
    monkeypatch.setenv("MYTRITON_GOOD_LEVEL", "9")
    assert main(["info"]) == OK
    out = capsys.readouterr().out
    for text in (
        "mytriton-core",
        "numpy",
        "pluggy",
        "hook API",
        "good 2.1.0 [acme-good]",
        "observer [acme-observer 2.1.0]",
        "MYTRITON_OPT_LEVEL",
        "MYTRITON_BACKENDS  nothing reads this; closest: MYTRITON_BACKEND",
        "1 files",
    ):
        assert text in out
    assert "MYTRITON_GOOD_LEVEL        '9'" in out
    assert main(["info", "--json"]) == OK
    found = json.loads(capsys.readouterr().out)
    assert found["cache"] == {
        "folder": str(tmp_path / "cache"),
        "exists": True,
        "files": 1,
        "bytes": 5,
        "refusal": "",
    }
    assert found["variables"]["MYTRITON_BACKEND"] is None
    assert [m for m in sys.modules if m.startswith("acme_") and not m.endswith("_info")] == []


def test_info_tells_names_that_mean_nothing(
    install: Any, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    install("acme-good", "acme-observer")
    monkeypatch.setenv("MYTRITON_DISABLE_BACKENDS", "god,interpreter,observer,cuda")
    assert main(["info"]) == OK
    out = capsys.readouterr().out
    assert "no backend or plugin is called 'god'; closest: good" in out
    assert "the interpreter is part of mytriton-core and cannot be switched off" in out
    assert main(["info", "--json"]) == OK
    assert len(json.loads(capsys.readouterr().out)["idle_names"]) == 2


# ------------------------------------------------------------------ the command itself


def test_help_documents_exit_codes(capsys: pytest.CaptureFixture[str]) -> None:
    for words in (["--help"], ["backends", "--help"]):
        with pytest.raises(SystemExit) as caught:
            main(words)
        assert caught.value.code == 0
        assert "exit codes:" in capsys.readouterr().out
    assert main([]) == USAGE
    capsys.readouterr()
    with pytest.raises(SystemExit) as caught:
        main(["fly"])
    assert caught.value.code == USAGE
    assert main(["--version"]) == OK
    assert "mytriton-core" in capsys.readouterr().out


def test_interrupt(monkeypatch: pytest.MonkeyPatch) -> None:
    from mytriton.cli import backends

    def stop(options: object) -> int:
        raise KeyboardInterrupt

    monkeypatch.setattr(backends, "run", stop)
    assert main(["backends"]) == INTERRUPTED


def test_pipe_that_closes(tools: Any, tmp_path: Path) -> None:
    done = tools.python(
        "import sys, mytriton.cli; sys.exit(mytriton.cli.main(['info']))", env={"NO_COLOR": "1"}
    )
    assert done.returncode == 0, done.stderr


def test_plain_output_needs_no_rich(tools: Any) -> None:
    code = "import sys, mytriton.cli; mytriton.cli.main(['backends']); assert 'rich' not in sys.modules"
    assert tools.python(code).returncode == 0


@pytest.mark.skipif(sys.platform == "win32", reason="no pseudo-terminals")
@pytest.mark.parametrize("no_color", [False, True])
def test_terminal(tools: Any, no_color: bool) -> None:
    import pty

    environ = {k: v for k, v in os.environ.items() if not k.startswith("MYTRITON_")}
    environ |= {"PYTHONPATH": str(tools.source), "TERM": "xterm", "COLUMNS": "200"}
    environ.pop("NO_COLOR", None)
    if no_color:
        environ["NO_COLOR"] = "1"
    leader, follower = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, "-m", "mytriton.cli", "backends"], stdout=follower, env=environ
    )
    os.close(follower)
    text = b""
    while True:
        try:
            part = os.read(leader, 4096)
        except OSError:
            break
        if not part:
            break
        text += part
    os.close(leader)
    assert process.wait() == 0
    # Colours are 3x and 4x; bold and dim remain under NO_COLOR, as its definition allows.
    assert (b"[1;32m" in text) is not no_color
    assert b"interpreter" in text
    assert b"pip install mytriton-cuda" in text


def test_what_is_not_described_is_asked_for_by_option(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "k.py"
    file.write_text(
        "import mytriton as triton\nimport mytriton.language as tl\n\n@triton.jit\n"
        "def k(x, n, B: tl.constexpr, s=1):\n    tl.store(x + tl.arange(0, B), n * s)\n"
    )
    for command in ("inspect", "explain"):
        assert main([command, f"{file}:k", "--arg", "n=i32"]) == USAGE
        error = capsys.readouterr().err
        assert "kernel 'k' needs 'x', 'B': add --arg x=... --constexpr B=..." in error
