"""What programs written for Triton ask a compiled kernel for: stages, metadata, one more launch.

Nothing here runs at a launch: ``LaunchResult`` comes here when somebody looks.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from ..errors import ArgumentError

if TYPE_CHECKING:
    from .specialisation import Specialisation


class Asm(Mapping[str, Any]):
    """The stages of a compiled kernel. ``"ssa"`` is the optimised module form (also found as
    ``"ttir"``), ``"source"`` the text the backend lowered to (also under the first word of its
    language, in lower case); the others are the backend's (``plugins.stages``)."""

    def __init__(self, made: Specialisation) -> None:
        self._made = made
        self._texts = {"ssa": lambda: str(made.function), "source": lambda: made.source.text}
        # The interpreter's text is the module form.
        self._texts.setdefault(made.source.stage, self._texts["source"])

    def _compiled(self) -> Mapping[str, Any]:
        found: Mapping[str, Any] = self._made.compiled_metadata().get("asm", {})
        return found

    def __getitem__(self, stage: str) -> Any:
        text = self._texts.get("ssa" if stage == "ttir" else stage)
        if text is not None:
            return text()
        try:
            return self._compiled()[stage]
        except KeyError:
            raise KeyError(
                f"backend {self._made.backend.name!r} has no stage {stage!r}; stages: {', '.join(self)}"
            ) from None

    def __contains__(self, stage: object) -> bool:
        return stage == "ttir" or stage in self._texts or stage in self._compiled()

    def __iter__(self) -> Iterator[str]:
        return iter(dict.fromkeys([*self._texts, *self._compiled()]))

    def __len__(self) -> int:
        return sum(1 for _ in self)

    @property
    def binary(self) -> Any:
        """What is loaded on the device: the backend's last stage, of those in bytes if there are
        any; the text it lowered to where it has no others."""
        compiled = self._compiled()
        names = list(compiled)
        # From the last on: texts may be made only now.
        for name in reversed(names):
            if isinstance(stage := compiled[name], bytes):
                return stage
        return compiled[names[-1]] if names else self["source"]

    def __repr__(self) -> str:
        return f"<stages: {', '.join(self)}>"


class Metadata(Mapping[str, Any]):
    """Facts about a compiled kernel, as attributes and as a mapping: Triton's (``name``,
    ``num_warps``, ``num_stages``, ``num_ctas``, ``shared``, ``target``, ``hash``), the launch
    options that were given, and the backend's own."""

    def __init__(self, facts: Mapping[str, Any]) -> None:
        self._facts = facts

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        try:
            return self._facts[name]
        except KeyError:
            known = ", ".join(self._facts)
            raise AttributeError(f"no fact {name!r} about this kernel; there are {known}") from None

    def __getitem__(self, name: str) -> Any:
        return self._facts[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._facts)

    def __len__(self) -> int:
        return len(self._facts)

    def _asdict(self) -> dict[str, Any]:
        return dict(self._facts)

    def __repr__(self) -> str:
        return f"Metadata({', '.join(f'{k}={v!r}' for k, v in self._facts.items() if k != 'asm')})"


def metadata(made: Specialisation) -> Metadata:
    """Facts about a compiled kernel."""
    from .driver import arch_of, target_of

    compiled = made.compiled_metadata()
    target = target_of(made.backend.info.device_kinds)
    if not target.arch:  # compiled without a device
        target = replace(target, arch=arch_of(compiled.get("arch") or compiled.get("chip") or ""))
    warps = max(1, int(compiled.get("threads", 0)) // target.warp_size)
    facts: dict[str, Any] = {
        "name": variant_name(made), "hash": digest(made), "backend": made.backend.name,
        "num_warps": warps, "num_stages": 1, "num_ctas": 1, "maxnreg": None, "target": target,
        "shared": resource(made, "shared_bytes", 1),
    }  # fmt: skip
    own = {k: v for k, v in compiled.items() if k not in ("asm", "image") and k not in facts}
    return Metadata(facts | dict(made.spec.options) | own)


def resource(made: Specialisation, name: str, without: int) -> int | None:
    """A figure of the compiled code. ``without``: where the device has no such limit, chosen so
    that occupancy formulas give what the device properties say; ``None`` where it is unknown."""
    found = made.compiled_metadata().get(name)
    if found is None and made.backend.info.device_kinds == ("cpu",):
        return without
    return found if found is None else int(found)


def digest(made: Specialisation) -> str:
    """A digest of what was compiled, and for what."""
    spec = made.spec
    parts = (made.backend.name, made.source.text, repr(spec.arguments), repr(dict(spec.options)))
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()


class Variant:
    """What ``jit(repr=)`` gets to name a variant from."""

    def __init__(self, made: Specialisation) -> None:
        self.fn = made.kernel
        self.name = made.kernel.__name__
        #: Compile-time arguments by name.
        self.constants = dict(made.spec.constexprs)
        #: Types of the other arguments by name, as text.
        self.signature = {a.name: str(a.type) for a in made.spec.arguments}
        self.options = dict(made.spec.options)


def variant_name(made: Specialisation) -> str:
    """The name of a compiled variant."""
    return made.kernel.repr(Variant(made))


class Relauncher:
    """``result[grid]``: launch a compiled kernel once more, with arguments of the same kinds."""

    def __init__(self, made: Specialisation, grid: Any) -> None:
        self._made = made
        self._grid = grid

    def __call__(self, /, *args: Any, stream: Any = None, **kwargs: Any) -> Any:
        """All parameters in order, or the runtime ones alone."""
        made = self._made
        binder = made.kernel.binder
        fixed: dict[str, Any] = dict(made.spec.constexprs)
        given = dict(zip(binder.signature.parameters, args))
        if len(args) == len(binder.runtime) < len(binder.signature.parameters):
            given = dict(zip(binder.runtime, args))
        given |= kwargs
        for name, value in fixed.items():
            if name in given and _differs(given[name], value):
                raise ArgumentError(
                    f"kernel {made.kernel.__name__!r} was compiled for {name}={value!r}, got "
                    f"{given[name]!r}; launch {made.kernel.__name__}[grid](...) instead"
                )
        options = {n: v for n, v in made.spec.options.items() if n not in fixed}
        view = made.kernel
        call = view.with_backend(made.explicit)[self._grid] if made.explicit else view[self._grid]
        return call(**{**given, **fixed, **options})


def _differs(given: Any, compiled: Any) -> bool:
    from ..language.compile_time import unwrap

    return bool(unwrap(given) != compiled)
