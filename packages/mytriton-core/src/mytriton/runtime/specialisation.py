"""One compiled variant of a kernel: what it depends on, and how it is launched."""

from __future__ import annotations

import types
import warnings
from collections.abc import Hashable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ..errors import ArgumentError, CompiledOnlyWarning, MytritonError, StridesWarning
from ..frontend.dependencies import SETTLED, Dependency
from ..ir.values import SSAFunction
from ..plugins import log
from ..plugins.direct import ABSENT
from ..plugins.manager import emit_event, observing
from ..plugins.sources import user_level
from ..plugins.strict import SANITIZE
from ..plugins.types import Event, LaunchSpec, Source
from ..tracebacks import for_user
from .arguments import launch_value
from .argview import ArgView
from .compiler import Compiled
from .facts import facts, of_spec, ones
from .guard import LOOKS, Guard
from .result import LaunchResult

if TYPE_CHECKING:
    from .jit import JITFunction

_MISSING = object()
#: Whether there is a way without lookup has not been asked yet.
UNKNOWN = object()


class Specialisation:
    """Compiled code for one key. ``artifact`` is ``None`` when the backend only lowers here."""

    def __init__(
        self, compiled: Compiled, function: SSAFunction, spec: LaunchSpec, backend: Any,
        source: Source, artifact: Any, kernel: JITFunction, explicit: str | None,
        wanted: tuple[int, ...],
    ) -> None:  # fmt: skip
        """``explicit``: the backend that ``with_backend`` named. ``wanted``: see ``facts``."""
        self.compiled = compiled
        self.function = function
        self.spec = spec
        self.backend = backend
        self.source = source
        self.artifact = artifact
        self._identical, self._other = _split(compiled.trace.dependencies)
        self.kernel = kernel
        self.explicit = explicit
        #: The artifact when it was made for its metadata only.
        self._unlaunched: Any = None
        #: What a launch returns.
        self.result = LaunchResult(self, artifact is not None)
        #: For backends that compile for facts about values: what holds of each argument.
        self.facts: tuple[int, ...] | None = None
        self._wanted = wanted
        #: Whether arguments are None: they are compiled for, not passed.
        self._absent = len(spec.arguments) != len(kernel.binder.runtime)
        if any(wanted) and source.resources.get("specialised", True):
            self.facts = of_spec(spec)
        #: For artifacts that read the user's own values: no view of each is made.
        self._launch_values = getattr(artifact, "launch_values", None)
        #: Launches that are still looked at before they run (see ``guard``).
        self._looks = 0 if artifact is None or self._checks_itself() else LOOKS
        self._guard: Guard | None = None
        #: How often it was looked up, and what launches it without (see ``runtime.direct``).
        self.hits = 0
        self.direct: Any = UNKNOWN if hasattr(artifact, "direct") else None
        if self._watched():
            self.launch = self._observed  # type: ignore[method-assign]
            self.direct = None

    def _checks_itself(self) -> bool:
        return SANITIZE in self.spec.options or getattr(self.artifact, "checks_bounds", False)

    def _watched(self) -> bool:
        """Whether launches are told of: asked when the code is made, not at each launch."""
        return "launch" in log.wanted() or observing()

    def _observed(self, grid: tuple[int, int, int], values: Sequence[Any]) -> LaunchResult:
        result = type(self).launch(self, grid, values)
        emit_event(Event("launch", self.kernel.__name__, self.backend.name, {"grid": grid}))
        return result

    def fresh(self) -> bool:
        """Whether every global, closure value and helper the trace read is unchanged."""
        if self.compiled.trace.opaque:
            return self.compiled.repeats()
        for namespace, name, value in self._identical:
            if namespace.get(name, _MISSING) is not value:
                break
        else:
            return not self._other or all(d.holds() for d in self._other)
        return all(d.holds() for d in self.compiled.trace.dependencies)

    def settled(self) -> list[tuple[Mapping[Any, Any], Hashable, Any]] | None:
        """The values that ``fresh`` looks at, where identity settles each; ``None`` where not."""
        if self.compiled.trace.opaque or self._other:
            return None
        return [(n, k, ABSENT if v is _MISSING else v) for n, k, v in self._identical]

    def ones(self) -> dict[str, bool] | None:
        """Which arguments must be 1 (or not) for the code to fit; ``None`` when it depends on other
        facts as well."""
        if self.facts is None:
            return {}
        return ones([a.name for a in self.spec.arguments], self.facts, self._wanted)

    def fits(self, values: Sequence[Any]) -> bool:
        """Whether of the values hold the facts that the code was compiled for, and no others."""
        if self.facts is None:
            return True
        values = [v for v in values if v is not None] if self._absent else values
        return self.facts == facts(values, self._wanted)

    def compiled_metadata(self) -> Mapping[str, Any]:
        """What the backend says about the code. Compiles what was only lowered so far: that needs
        the backend's toolchain, but no device."""
        if self.artifact is not None:
            return self.artifact.metadata  # type: ignore[no-any-return]
        if self._unlaunched is None:
            try:
                self._unlaunched = self.backend.compile(self.source, self.spec)
            except MytritonError as error:
                raise for_user(error) from error.__cause__
        return self._unlaunched.metadata  # type: ignore[no-any-return]

    def launch(self, grid: tuple[int, int, int], values: Sequence[Any]) -> LaunchResult:
        """Run the grid (nothing when a dimension is zero)."""
        if self._absent:
            values = [v for v in values if v is not None]
        if self._looks and 0 not in grid:
            self._look(grid, values)
        if self._launch_values is not None and 0 not in grid:
            self._launch_values(grid, values)
        elif self.artifact is None:
            self._warn_not_run()
        elif 0 not in grid:
            self.artifact.launch(grid, [launch_value(v) for v in values])
        return self.result

    def _look(self, grid: tuple[int, int, int], values: Sequence[Any]) -> None:
        if self._guard is None:
            self._guard = Guard(self.function)
        self._guard.check(grid, [launch_value(v) for v in values])
        self._looks -= 1

    def _warn_not_run(self) -> None:
        """Say once for the kernel that a launch compiles only."""
        kernel = self.kernel
        if "compiled only" not in kernel.warned:
            kernel.warned.add("compiled only")
            arrays = [a.name for a in self.spec.arguments if a.device_kind]
            warn_compiled_only(kernel.__name__, self.backend.name, arrays)


def _split(
    dependencies: Sequence[Dependency],
) -> tuple[list[tuple[Any, str, Any]], list[Dependency]]:
    """Dependencies that one identity test settles, and the rest."""
    identical: list[tuple[Any, str, Any]] = []
    other: list[Dependency] = []
    for dependency in dependencies:
        value = dependency.value
        settled = isinstance(value, SETTLED)
        if type(dependency.container) is not dict:
            other.append(dependency)
        elif (
            isinstance(value, types.BuiltinFunctionType)
            or dependency.name not in dependency.container
        ):
            # A builtin: what matters is that no global shadows it.
            held = dependency.container.get(dependency.name, _MISSING)
            identical.append((dependency.container, dependency.name, held))
        elif settled:
            identical.append((dependency.container, dependency.name, value))
        else:
            other.append(dependency)
    return identical, other


def check_readonly(
    compiled: Compiled, names: Sequence[str], views: Sequence[ArgView | None]
) -> None:
    """Refuse read-only arrays the kernel stores to. Raises ``ArgumentError``."""
    for name, view in zip(names, views):
        if view is not None and view.readonly and name in compiled.stored:
            raise ArgumentError(
                f"argument {name!r} is read-only, but kernel {compiled.unoptimised.name!r} stores to it; "
                "pass a writeable array (x.copy())"
            )


def warn_strides(
    kernel: str, names: Sequence[str], views: Sequence[ArgView | None], values: Sequence[Any]
) -> bool:
    """Warn when an array has gaps or reversed strides and no integer argument is one of them.

    Returns whether a warning was given: a kernel gives it once.
    """
    ints = {v for v in values if isinstance(v, int) and not isinstance(v, bool)}
    for name, view in zip(names, views):
        if view is None or view.contiguous:
            continue
        size = view.dtype.itemsize
        steps = [s for s, n in zip(view.strides, view.shape) if n > 1]
        whole = all(s % size == 0 for s in steps)
        strides = [s // size if whole else s for s in steps]
        unit = "elements" if whole else "bytes"
        if ints.intersection(s for s in strides if s != 1) or _dense(view):
            continue
        warnings.warn(
            f"kernel {kernel!r}: argument {name!r} has strides {tuple(strides)} (in {unit}) but none "
            "of them is among the arguments; a kernel sees only the base address. Pass the strides "
            "and use them in the offsets, or pass numpy.ascontiguousarray(...)",
            StridesWarning,
            stacklevel=user_level(),
        )
        return True
    return False


def _dense(view: ArgView) -> bool:
    """Whether the elements fill their span without gaps in ascending axes (a transposed array)."""
    low, high = view.span
    count = 1
    for extent in view.shape:
        count *= extent
    return high - low == count * view.dtype.itemsize and all(s >= 0 for s in view.strides)


def warn_compiled_only(kernel: str, backend: str, names: Sequence[str]) -> None:
    """Say that a kernel was compiled but not run, and for which arguments."""
    arguments = ", ".join(names) or "no array arguments"
    warnings.warn(
        f"kernel {kernel!r} was compiled for backend {backend!r} but not launched: {arguments} are host "
        "arrays. Pass device arrays to run it, or name no backend to run on the CPU",
        CompiledOnlyWarning,
        stacklevel=user_level(),
    )
