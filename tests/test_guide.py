"""docs/writing-a-backend.md is true: its sections about the skeleton are followed, command by command,
and each command must print what the guide shows. Times, blanks and folded lines do not count; a line
``...`` stands for anything.

When cases or features were added, numbers in the guide change: the failing test shows what to write.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Callable
from importlib.metadata import entry_points
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
GUIDE = (ROOT / "docs" / "writing-a-backend.md").read_text(encoding="utf-8")
_BLOCK = re.compile(r"^```(console|python|toml)\n(.*?)^```", re.S | re.M)
#: Installing is done without an index, and section 5 is about another backend.
_SKIPPED = ("python -m venv", "pip install mytriton-core", "mytriton-conformance c ")
INFO = "acme-foo/src/acme_foo_info.py"
PLUGIN, LOWERING = (f"acme-foo/src/acme_foo/{name}.py" for name in ("plugin", "lowering"))


def blocks() -> list[tuple[str, str]]:
    """Language and text of each block."""
    return [(m[1], m[2]) for m in _BLOCK.finditer(GUIDE)]


def words(text: str) -> str:
    return " ".join(re.sub(r"\d+\.\d s\b", "N s", text).split())


def matches(shown: str, printed: str) -> bool:
    """Whether the guide's text is what a command printed."""
    parts = re.split(r"^\.\.\.$", shown, flags=re.M)
    pattern = ".*".join(re.escape(words(part)) for part in parts)
    return re.fullmatch(pattern, words(printed), re.S) is not None


def commands(block: str) -> list[tuple[str, str]]:
    """The commands of a console, with what follows each."""
    found = re.split(r"^\$ (.*)\n", block, flags=re.M)[1:]
    return list(zip(found[::2], found[1::2], strict=True))


class Workshop:
    """The folder in which the guide is followed."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.status = 0
        site, sources = folder / "site", folder / "acme-foo" / "src"
        self.env = {
            k: v for k, v in os.environ.items() if not k.startswith(("MYTRITON_", "COLUMNS"))
        }
        self.env |= {
            "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
            "PYTHONPATH": f"{site}{os.pathsep}{sources}",
            "PYTHONDONTWRITEBYTECODE": "1",
            "MYTRITON_CACHE_DIR": str(folder / "cache"),
        }

    def write(self, name: str, text: str) -> None:
        (self.folder / name).write_text(text, encoding="utf-8")

    def edit(self, name: str, *changes: tuple[str, str]) -> None:
        """Replace texts that occur once."""
        text = (self.folder / name).read_text(encoding="utf-8")
        for old, new in changes:
            assert text.count(old) == 1, f"{name} has {text.count(old)} times {old!r}"
            text = text.replace(old, new)
        self.write(name, text)

    def install(self) -> None:
        """What ``pip install -e`` writes: metadata on the path, beside the sources."""
        if sys.version_info >= (3, 11):
            import tomllib
        else:
            import tomli as tomllib
        project = tomllib.loads((self.folder / "acme-foo/pyproject.toml").read_text())["project"]
        info = self.folder / "site" / "acme_foo-0.1.0.dist-info"
        info.mkdir(parents=True)
        needs = "".join(f"Requires-Dist: {need}\n" for need in project["dependencies"])
        head = f"Metadata-Version: 2.1\nName: {project['name']}\nVersion: {project['version']}\n"
        (info / "METADATA").write_text(head + needs)
        groups = (
            f"[{group}]\n" + "".join(f"{name} = {value}\n" for name, value in entries.items())
            for group, entries in project["entry-points"].items()
        )
        (info / "entry_points.txt").write_text("\n".join(groups))

    def run(self, command: str) -> str:
        """What a shell would show."""
        if command == "pip install -e acme-foo":
            self.install()
            return ""
        if command == "echo $?":
            return f"{self.status}\n"
        done = subprocess.run(
            command, shell=True, cwd=self.folder, env=self.env, stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=600,
        )  # fmt: skip
        self.status = done.returncode
        return done.stdout


def write_scripts(shop: Workshop) -> None:
    """``# NAME`` on the first line of a block: the file it is; the imports of one serve the next."""
    imports = ""
    for language, text in blocks():
        first, _, rest = text.partition("\n")
        if language == "python" and first == "# bump.py":
            imports = "".join(line + "\n" for line in rest.splitlines() if "import " in line)
            shop.write("bump.py", rest)
        elif language == "python" and first.startswith("# total.py"):
            shop.write("total.py", imports + rest)


def write_profile(shop: Workshop) -> None:
    [(first, rest)] = [t.split("\n", 1) for language, t in blocks() if language == "toml"]
    shop.write(f"acme-foo/{first.removeprefix('# ')}", rest)


# --------------------------------------------------- what the guide says to do between commands

_SUM = """"sum": lambda op, a: f"np.sum({a}, axis={op.attrs['axis']})","""
#: The last row of the table.
_LAST = """    "cast": lambda op, a: f"cast({a}, {dtype(op.attrs['dtype'])})",\n"""
_MINIMUM = ('f"minimum({a}, {b})"', 'f"np.fmin({a}, {b})"')
_MISSPELT = ('"op.minimum"', '"op.minimun"')
_HOOK = ("def mytriton_compile(", "def mytriton_compil(")
_IMPORT = (
    "from mytriton.plugin_api import (",
    "import nosuchmod\nfrom mytriton.plugin_api import (",
)
_EXIT = ("import nosuchmod\n", "import os\n\nos._exit(3)\n")


def _swapped(change: tuple[str, str]) -> tuple[str, str]:
    return change[1], change[0]


def _declare_sum(shop: Workshop) -> None:
    shop.edit(
        INFO, ('"control.for",', '"control.for", "reduce.sum",'), ('        "sum", ', "        ")
    )


def _write_sum(shop: Workshop) -> None:
    assert f"    {_SUM}\n" in GUIDE
    shop.edit(LOWERING, (_LAST, f"{_LAST}    {_SUM}\n"))


def _mend_sum(shop: Workshop) -> None:
    mended = _SUM.replace("op.attrs['axis']", "op.attrs.get('axis')")
    shop.edit(LOWERING, (_SUM, mended))


def _misspell_feature(shop: Workshop) -> None:
    shop.edit(LOWERING, _swapped(_MINIMUM))
    shop.edit(INFO, _MISSPELT)


def _misspell_hook(shop: Workshop) -> None:
    shop.edit(INFO, _swapped(_MISSPELT))
    shop.edit(PLUGIN, _HOOK)


def _certify(shop: Workshop) -> None:
    shop.edit(PLUGIN, (_EXIT[1], ""))
    write_profile(shop)


#: Command -> what is done before its first, second, ... occurrence.
EDITS: dict[str, list[Callable[[Workshop], object] | None]] = {
    "MYTRITON_BACKEND=foo python bump.py": [write_scripts],
    "mytriton-conformance foo -q --level standard -k reduce.sum": [
        _declare_sum,
        _write_sum,
        _mend_sum,
    ],
    "mytriton-conformance foo -q --level standard -k minimum": [
        lambda shop: shop.edit(LOWERING, _MINIMUM),
    ],
    'mytriton-conformance foo -q -k "binary.minimum[f32"': [_misspell_feature],
    "mytriton-conformance foo": [
        _misspell_hook,
        lambda shop: shop.edit(PLUGIN, _swapped(_HOOK), _IMPORT),
        lambda shop: shop.edit(PLUGIN, _EXIT),
    ],
    "mytriton-conformance foo -q": [None, _certify],
}


@pytest.mark.slow
def test_the_guide_prints_what_it_shows(tmp_path: Path) -> None:
    others = {p.name for p in entry_points(group="mytriton.backends")} - {"interpreter"}
    if others:
        pytest.skip(f"the guide begins with core and the testkit alone, not with {others}")
    shop = Workshop(tmp_path)
    seen: Counter[str] = Counter()
    wrong = []
    for language, block in blocks():
        for command, shown in commands(block) if language == "console" else ():
            if command.startswith(_SKIPPED):
                continue
            edits = EDITS.get(command, [])
            if seen[command] < len(edits) and (edit := edits[seen[command]]):
                edit(shop)
            seen[command] += 1
            printed = shop.run(command)
            if not matches(shown, printed):
                wrong.append(f"$ {command}\n{printed}\nbut the guide shows\n{shown}")
    assert not wrong, "\n".join(wrong)
    assert {command: len(edits) for command, edits in EDITS.items()}.items() <= seen.items()


def test_what_the_guide_says_of_the_worked_example() -> None:
    cases = pytest.importorskip("mytriton_testkit.cases").all_cases()
    example = ROOT / "examples" / "mytriton-c"
    lines = sum(len(file.read_text().splitlines()) for file in (example / "src").rglob("*.py"))
    for page in ("docs/writing-a-backend.md", "README.md", "examples/mytriton-c/README.md"):
        claimed = re.findall(r"(\d+)\s+lines", (ROOT / page).read_text())
        assert claimed == [str(lines)], page
    standard = Counter(case.edition for case in cases if case.level != "extended")
    old, new = standard["2026.1"], standard["2026.2"]
    assert f"edition 2026.1: {old + new} cases in" in GUIDE
    assert f"  {old} PASS, {new} NEW\n" in GUIDE
