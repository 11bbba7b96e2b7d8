"""The texts of MT-B01 to MT-B10, with every fixture distribution installed at once."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

# Runs in a process that has all of tests/plugins/dists: what each name raises, and as what.
PROGRAM = """
import json, sys, warnings
import mytriton
from mytriton.ir.expr import Param
from mytriton.ir.types import F32, PointerType
from mytriton.ir.values import SSAFunction, SSAOp, SSAValue
from mytriton.plugins import selection
from mytriton.plugins.manager import MANAGER
from mytriton.plugins.types import ArgSpec, LaunchSpec

x = Param("x", PointerType(F32))
a, b = SSAValue(0, F32), SSAValue(1, F32)
ops = [SSAOp("load", (x, None, None), a), SSAOp("add", (a, a), b), SSAOp("store", (x, b, None))]
function = SSAFunction("softmax", (x,), ops)

def launch(kind):
    return LaunchSpec((ArgSpec("x", PointerType(F32), kind),), grid=(64, 1, 1))

def attempt(call):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            result, error = call(), None
        except Exception as e:
            result, error = None, e
    found = {"warnings": [str(w.message) for w in caught]}
    if error is None:
        return found | {"backend": result.backend.name, "launches": result.launches}
    return found | {
        "text": str(error), "type": type(error).__name__, "code": error.code,
        "backend": error.backend, "requested_by": error.requested_by, "hint": error.hint,
        "bases": [c.__name__ for c in type(error).__mro__],
        "report": type(error.report).__name__,
        "cause": repr(error.__cause__) if error.__cause__ else None,
    }

out = {"auto": attempt(lambda: selection.choose(function, launch("cpu")))}
out["imported by auto"] = sorted(m for m in sys.modules if m.startswith("acme_") and not m.endswith("_info"))
out["states"] = {r.origin: MANAGER.state(r).value for r in MANAGER.records()}
for name in sys.argv[1].split(","):
    kind = "gpu" if name == "gpu" else "cpu"
    out[name] = attempt(lambda: selection.choose(function, launch(kind), explicit=name))
with selection.use_backend("cdua"):
    out["context"] = attempt(lambda: selection.choose(function, launch("cpu")))
out["decorator"] = attempt(lambda: selection.choose(function, launch("cpu"), decorator="cuda"))
out["nothing"] = attempt(lambda: selection.choose(function, launch("gpu")))
out["nothing for cuda"] = attempt(lambda: selection.choose(function, launch("cuda")))
out["wrong device"] = attempt(lambda: selection.choose(function, launch("gpu"), explicit="interpreter"))

def lower():
    choice = selection.choose(function, launch("cpu"), explicit="liar")
    return choice.backend.lower(function, launch("cpu"))

out["liar lowers"] = attempt(lower)
print(json.dumps(out))
"""
NAMES = (
    "cdua,cuda,broken,needy,exit,dup,future,newminor,oldcore,nohook,typo,unmarked,wrongarg,"
    "badprobe,slow,liar,overclaim,badinfo,good,gpu,interpreter"
).split(",")


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest) -> Any:
    import json
    import sys

    conftest: Any = next(
        m
        for m in list(sys.modules.values())
        if getattr(m, "__file__", "") == str(Path(__file__).with_name("conftest.py"))
    )
    site = conftest.make_site(tmp_path_factory.mktemp("golden"), "*")
    done = conftest.run_python(PROGRAM, site, args=(",".join(NAMES),))
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])


INSTALLED = ", ".join([
    "badinfo 2.1.0 [acme-badinfo]", "badprobe 2.1.0 [acme-badprobe]", "broken 2.1.0 [acme-broken]",
    "dup 2.1.0 [acme-dup-one]", "dup 9.9 [acme-dup-two]", "exit 2.1.0 [acme-exit]",
    "future 2.1.0 [acme-future]", "good 2.1.0 [acme-good]", "gpu 2.1.0 [acme-gpu]",
    "hang 2.1.0 [acme-hang]", "interpreter [built in]", "interpreter 2.1.0 [acme-reserved]",
    "liar 2.1.0 [acme-liar]", "needy 2.1.0 [acme-needy]", "newminor 2.1.0 [acme-newminor]",
    "nohook 2.1.0 [acme-nohook]", "oldcore 2.1.0 [acme-oldcore]",
    "overclaim 2.1.0 [acme-overclaim]", "segv 2.1.0 [acme-segv]", "slow 2.1.0 [acme-slow]",
    "typo 2.1.0 [acme-typo]", "unmarked 2.1.0 [acme-unmarked]", "wrongarg 2.1.0 [acme-wrongarg]",
])  # fmt: skip

GOLDEN = {
    "cdua": f"MT-B01: no backend is called 'cdua' (asked for by with_backend). Closest: cuda (not installed: pip install mytriton-cuda). Installed: {INSTALLED}. All states: mytriton backends",
    "cuda": "MT-B02: backend 'cuda' is not installed (asked for by with_backend). Install it: pip install mytriton-cuda (add [cuda12] or [cuda13] to match your driver)",
    "decorator": "MT-B02: backend 'cuda' is not installed (asked for by @jit(backend=)). Install it: pip install mytriton-cuda (add [cuda12] or [cuda13] to match your driver)",
    "broken": "MT-B03: backend 'broken' (acme-broken 2.1.0, core 0.3.1) is installed but failed to import: RuntimeError: the plugin is out of order [site/acme_broken.py:3]. To work without it: MYTRITON_DISABLE_BACKENDS=broken. Traceback: mytriton doctor broken",
    "needy": "MT-B03: backend 'needy' (acme-needy 2.1.0, core 0.3.1) is installed but failed to import: ModuleNotFoundError: No module named 'acme_native_lib' [site/acme_needy.py:3]. Needed: pip install \"acme-needy[native]\". To work without it: MYTRITON_DISABLE_BACKENDS=needy. Traceback: mytriton doctor needy",
    "exit": "MT-B03: backend 'exit' (acme-exit 2.1.0, core 0.3.1) is installed but failed to import: SystemExit: 3 [site/acme_exit.py:5]. To work without it: MYTRITON_DISABLE_BACKENDS=exit. Traceback: mytriton doctor exit",
    "badinfo": "MT-B03: backend 'badinfo' (acme-badinfo 2.1.0, core 0.3.1) is installed but failed to import: ZeroDivisionError: division by zero [site/acme_badinfo_info.py:3]. To work without it: MYTRITON_DISABLE_BACKENDS=badinfo. Traceback: mytriton doctor badinfo",
    "future": "MT-B04: backend 'future' (acme-future 2.1.0) is built for hook API 2; this mytriton-core 0.3.1 offers 1.0. Install a version of acme-future built for 1.0, or a mytriton-core that offers 2. The plugin was not imported.",
    "newminor": "MT-B04: backend 'newminor' (acme-newminor 2.1.0) is built for hook API 1.7; this mytriton-core 0.3.1 offers 1.0. Install a version of acme-newminor built for 1.0, or a mytriton-core that offers 1.7. The plugin was not imported.",
    "oldcore": "MT-B04: backend 'oldcore' (acme-oldcore 2.1.0) requires mytriton-core>=0.5,<0.6; this is mytriton-core 0.3.1. Install a pair that fits: pip install -U mytriton-core acme-oldcore. The plugin was not imported.",
    "dup": "MT-B06: two distributions provide backend 'dup': acme-dup-one 2.1.0, acme-dup-two 9.9. Neither is used. Uninstall one.",
    "badprobe": "MT-B07: backend 'badprobe' (asked for by with_backend) is installed and loads, but cannot run here: mytriton_probe raised OSError: libacme.so.1: cannot open shared object file.",
    "gpu": "MT-B07: backend 'gpu' (asked for by with_backend) is installed and loads, but cannot launch here: no Acme GPU. plug one in. It can still give its text: kernel.emit(..., backend='gpu').",
    "overclaim": "MT-B08: backend 'overclaim' (asked for by with_backend) cannot run 'softmax': missing dtype.f32, op.add (planned: sums are hard), op.store. No other backend was tried because this one was named.",
    "wrong device": "MT-B08: backend 'interpreter' (asked for by with_backend) cannot run 'softmax': x is on 'gpu', arrays on 'cpu' needed. No other backend was tried because this one was named.",
    "nohook": "MT-B09: plugin acme-nohook: the required hook mytriton_lower is missing",
    "typo": "MT-B09: plugin acme-typo: hook 'mytriton_clame' does not exist (closest: mytriton_claim)",
    "unmarked": "MT-B09: plugin acme-unmarked: mytriton_probe is defined but not marked @hookimpl",
    "wrongarg": "MT-B09: plugin acme-wrongarg: argument 'fn' of mytriton_claim is not in the spec (function, launch)",
    "liar lowers": "MT-B10: backend 'liar' claimed 'softmax' but mytriton_lower raised UnsupportedFeature(op.add); its capability table says yes. Report it to acme-liar.",
}


@pytest.mark.parametrize("name", GOLDEN)
def test_text(found: Any, name: str) -> None:
    assert found[name]["text"] == GOLDEN[name]
    assert found[name]["code"] == GOLDEN[name][:6]


def test_the_line_that_asked_is_named(found: Any) -> None:
    text = found["context"]["text"]
    assert text.startswith(
        "MT-B01: no backend is called 'cdua' (asked for by use_backend at <string>:"
    )
    assert found["context"]["requested_by"].startswith("use_backend at <string>:")


NOBODY = """\
MT-B05: no backend can run 'softmax' for this launch. Needs: dtype.f32, op.add, op.load, op.store; x: f32 on gpu; grid (64, 1, 1).
  badinfo 2.1.0 broken: MT-B03: backend 'badinfo'"""


def test_nothing_claims(found: Any) -> None:
    lines = found["nothing"]["text"].splitlines()
    assert lines[0] == NOBODY.splitlines()[0]
    rest = {
        line.split()[0]: line.strip()
        for line in lines[1:]
        if not line.strip().startswith(("dup", "interpreter"))
    }
    assert rest["gpu"] == "gpu 2.1.0 cannot launch: no Acme GPU. plug one in"
    assert rest["good"] == "good 2.1.0 declined: x is on 'gpu', arrays on 'cpu' needed"
    assert rest["broken"].startswith("broken 2.1.0 broken: MT-B03: backend 'broken'")
    assert rest["future"].startswith(
        "future 2.1.0 incompatible: backend 'future' (acme-future 2.1.0)"
    )
    assert "  interpreter 0.3.1 declined: x is on 'gpu', arrays on 'cpu' needed" in lines
    assert len([line for line in lines if line.startswith("  dup ")]) == 2


def test_nothing_claims_and_something_could_be_installed(found: Any) -> None:
    assert found["nothing for cuda"]["text"].splitlines()[-1] == (
        "  to run on 'cuda': pip install mytriton-cuda (add [cuda12] or [cuda13] to match your driver)"
    )


@pytest.mark.parametrize(
    ("name", "kind", "also"),
    [
        ("cdua", "UnknownBackendError", ["LookupError", "ValueError"]),
        ("cuda", "BackendNotInstalledError", ["ImportError", "ValueError"]),
        ("broken", "BackendLoadError", ["ImportError"]),
        ("future", "BackendIncompatibleError", ["ImportError"]),
        ("nothing", "NoBackendClaimedError", ["RuntimeError", "TypeError"]),
        ("dup", "DuplicateBackendError", ["ImportError"]),
        ("badprobe", "BackendUnavailableError", ["RuntimeError"]),
        ("overclaim", "BackendDeclinedError", ["NotImplementedError", "TypeError"]),
        ("typo", "PluginInterfaceError", ["TypeError"]),
        ("liar lowers", "ClaimBrokenError", ["NotImplementedError", "TypeError"]),
    ],
)
def test_type_and_attributes(found: Any, name: str, kind: str, also: list[str]) -> None:
    error = found[name]
    assert error["type"] == kind
    assert {*also, "MytritonBackendError", "MytritonError"} <= set(error["bases"])
    if name not in ("nothing", "liar lowers"):
        assert error["backend"] == name
        assert error["requested_by"] == "with_backend"
    if name != "liar lowers":
        assert error["report"] == "SelectionReport"


@pytest.mark.parametrize(
    ("name", "cause"),
    [
        ("broken", "RuntimeError('the plugin is out of order')"),
        ("needy", "ModuleNotFoundError(\"No module named 'acme_native_lib'\")"),
        ("exit", "SystemExit(3)"),
        ("badinfo", "ZeroDivisionError('division by zero')"),
        ("badprobe", "OSError('libacme.so.1: cannot open shared object file')"),
        ("liar lowers", "UnsupportedFeature('op.add')"),
        ("future", None),
        ("typo", None),
    ],
)
def test_the_original_is_chained(found: Any, name: str, cause: str | None) -> None:
    assert found[name]["cause"] == cause


def test_hints(found: Any) -> None:
    assert found["cuda"]["hint"].startswith("pip install mytriton-cuda")
    assert found["needy"]["hint"] == 'pip install "acme-needy[native]"'
    assert found["gpu"]["hint"] == "plug one in"


def test_whatever_is_installed_the_interpreter_works(found: Any) -> None:
    assert found["auto"] == {"warnings": OBSERVERS, "backend": "interpreter", "launches": True}
    assert found["interpreter"] == {"warnings": [], "backend": "interpreter", "launches": True}
    # Observers are loaded by the first selection; of the backends, none is.
    assert found["imported by auto"] == ["acme_badobserver", "acme_nosyobserver", "acme_observer"]


OBSERVERS = [
    "plugin 'nosy' (acme-nosyobserver 2.1.0) is left out: MT-B09: plugin acme-nosyobserver: mytriton_lower belongs to a backend; an observer can only wrap it (@hookimpl(wrapper=True))",
    "mytriton_event of plugin 'badobserver' raised ValueError: no comment; it is ignored",
]


def test_a_launch_and_the_command_line_with_everything_installed(
    tools: Any, tmp_path: Path
) -> None:
    site = tools.site(tmp_path, "*")
    (tmp_path / "run.py").write_text(KERNEL)
    env = {"PYTHONWARNINGS": "ignore"}
    launched = "import runpy; runpy.run_path(" + repr(str(tmp_path / "run.py")) + ")"
    done = tools.python(launched, site, env=env)
    assert (done.returncode, done.stdout) == (0, "2.0 interpreter True\n"), done.stderr
    done = tools.python("import sys, mytriton.cli; sys.exit(mytriton.cli.main(['backends']))", site)
    assert done.returncode == 0, done.stderr
    assert len(done.stdout.splitlines()) == 1 + 23 + 3


KERNEL = """
import numpy as np
import mytriton as triton
import mytriton.language as tl

@triton.jit
def double(x, BLOCK: tl.constexpr):
    o = tl.arange(0, BLOCK)
    tl.store(x + o, tl.load(x + o) * 2.0)

x = np.ones(8, np.float32)
result = double[(1,)](x, BLOCK=8)
print(x[0], result.backend, result.launched)
"""


def test_good_neighbours_are_not_harmed(found: Any) -> None:
    assert found["good"] == {"warnings": [], "backend": "good", "launches": True}
    assert found["slow"]["backend"] == "slow"


def test_a_claim_beyond_the_table_is_a_warning(found: Any) -> None:
    assert found["overclaim"]["warnings"] == [
        "backend 'overclaim' claimed 'softmax' although its capability table lacks dtype.f32, op.add, op.store; the claim is ignored. Report it to acme-overclaim."
    ]


def test_states_after_metadata_only(found: Any) -> None:
    states = found["states"]
    assert states["dup 2.1.0 [acme-dup-one]"] == states["dup 9.9 [acme-dup-two]"] == "conflict"
    assert states["interpreter 2.1.0 [acme-reserved]"] == "conflict"
    assert (
        states["future 2.1.0 [acme-future]"]
        == states["oldcore 2.1.0 [acme-oldcore]"]
        == "incompatible"
    )
    assert states["broken 2.1.0 [acme-broken]"] == "discovered"
    assert states["interpreter [built in]"] == "ready"
