"""``install_as_triton``: from then on ``import triton`` gives mytriton.

Each module of Triton that programs import becomes a module of its own that answers from ours (see
``names``): what is set in it, as programs do to patch Triton, stays in it. Its ``__name__`` is that of
the module that answers, so that it can be told what it is.
"""

from __future__ import annotations

import importlib
import importlib.abc
import importlib.machinery
import importlib.util
import sys
import types
from collections.abc import Iterable, Sequence
from typing import Any

from ..errors import MytritonError
from .names import MODULES, TRITON_VERSION, targets

_ROOT = "triton"


class TritonImportedError(MytritonError, ImportError):
    """The real Triton is imported already, and cannot be replaced."""


class StandIn(types.ModuleType):
    """A module of Triton, answered for by modules of ours."""

    def __init__(self, alias: str, answers: Sequence[types.ModuleType]) -> None:
        super().__init__(answers[0].__name__, answers[0].__doc__)
        own = self.__dict__
        own["_alias"], own["_answers"] = alias, tuple(answers)
        own["__path__"] = []
        own["__file__"] = getattr(answers[0], "__file__", None)
        if alias == _ROOT:
            own["__version__"] = TRITON_VERSION

    def __getattr__(self, name: str) -> Any:
        own = self.__dict__
        # What else the import system asks for must not come from the module behind.
        if name == "__all__" or not (name.startswith("__") and name.endswith("__")):
            for module in own["_answers"]:
                try:
                    value = getattr(module, name)
                except AttributeError:
                    continue
                return self._below(name) if isinstance(value, types.ModuleType) else value
            if there(f"{own['_alias']}.{name}"):
                return self._below(name)
        raise AttributeError(
            f"{own['_alias']} has no {name!r} here: mytriton {_own_version()} stands in for Triton and"
            " lacks it"
        )

    def _below(self, name: str) -> types.ModuleType:
        """The module below that stands for one of ours."""
        full = f"{self.__dict__['_alias']}.{name}"
        if there(full):
            return importlib.import_module(full)
        raise AttributeError(f"mytriton, which stands in for Triton here, has no {full}")

    def __dir__(self) -> list[str]:
        return sorted({*self.__dict__, *(n for m in self.__dict__["_answers"] for n in dir(m))})

    def __repr__(self) -> str:
        return f"<module {self.__dict__['_alias']!r}: {self.__name__}, standing in for Triton>"


def _own_version() -> str:
    from .. import __version__

    return __version__


def there(name: str) -> bool:
    """Whether something stands for a module of Triton."""
    found = targets(name)
    if name in MODULES or not found:
        return bool(found)
    try:
        return importlib.util.find_spec(found[0]) is not None
    except ModuleNotFoundError:
        return False


class _Loader(importlib.abc.Loader):
    def create_module(self, spec: importlib.machinery.ModuleSpec) -> types.ModuleType:
        return StandIn(spec.name, [importlib.import_module(n) for n in targets(spec.name)])

    def exec_module(self, module: types.ModuleType) -> None:
        """Nothing to run: the modules behind are imported."""


class _Finder(importlib.abc.MetaPathFinder):
    """Finds ``triton`` and what is below it, here and nowhere else."""

    def find_spec(
        self, fullname: str, path: Any = None, target: Any = None
    ) -> importlib.machinery.ModuleSpec | None:
        if fullname != _ROOT and not fullname.startswith(_ROOT + "."):
            return None
        if not there(fullname):
            if sys._getframe(2).f_code.co_name == "find_spec":
                return None  # importlib.util.find_spec only asks
            raise ModuleNotFoundError(
                f"mytriton, which stands in for Triton here, has no {fullname}", name=fullname
            )
        spec = importlib.machinery.ModuleSpec(fullname, _Loader(), is_package=True)
        spec.origin = __file__
        return spec

    def find_distributions(self, context: Any = None) -> Iterable[Any]:
        """So that ``importlib.metadata.version("triton")`` answers as ``triton.__version__``."""
        if getattr(context, "name", None) != _ROOT:
            return ()
        from .distribution import TritonDistribution

        return (TritonDistribution(),)


_finder = _Finder()


def install_as_triton() -> None:
    """Make ``import triton`` and everything below it give mytriton, in this process.

    Call it before anything imports Triton; calling it again changes nothing. Modules and names that
    mytriton lacks raise ``ImportError`` and ``AttributeError`` that say so. ``triton.__version__`` is
    that of the Triton whose language we follow.

    Raises ``TritonImportedError`` (an ``ImportError``) when the real Triton is imported already.
    """
    real = sys.modules.get(_ROOT)
    if real is not None and not isinstance(real, StandIn):
        place = getattr(real, "__file__", None) or "an unknown place"
        raise TritonImportedError(
            f"Triton itself is imported already (from {place}); call mytriton.install_as_triton() "
            "before anything imports it"
        )
    if _finder not in sys.meta_path:
        sys.meta_path.insert(0, _finder)
    importlib.import_module(_ROOT)


def uninstall_as_triton() -> None:
    """Undo ``install_as_triton``: ``import triton`` means Triton again. What was imported stays with
    whoever holds it."""
    if _finder in sys.meta_path:
        sys.meta_path.remove(_finder)
    for name, module in list(sys.modules.items()):
        if isinstance(module, StandIn):
            del sys.modules[name]
