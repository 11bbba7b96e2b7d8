"""The data a backend and core exchange. Frozen, versioned with the hook API (see ``HOOK_API``)."""

from __future__ import annotations

import enum
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from ..ir.types import Type

#: Hook API generation and minor version this core offers.
HOOK_API: tuple[int, int] = (1, 0)
#: Launch option core sets for an inspection: compile with the lines of the backend's text as debug
#: information (``.loc``, ``!dbg``), where the compiler can.
LINE_INFO = "line_info"


class State(enum.Enum):
    """What is known about an installed backend. Only the last four need its module imported."""

    #: Installed and compatible as far as its metadata says; not imported yet.
    DISCOVERED = "discovered"
    #: Switched off by ``MYTRITON_DISABLE_BACKENDS`` or ``MYTRITON_PLUGIN_AUTOLOAD=0``.
    BLOCKED = "blocked"
    #: Its name is taken: by another distribution, or by core.
    CONFLICT = "conflict"
    #: Built for another hook API or another version of core.
    INCOMPATIBLE = "incompatible"
    #: Could not be imported, or does not keep to the hook specifications.
    BROKEN = "broken"
    #: Loads, but can neither lower nor launch here.
    UNAVAILABLE = "unavailable"
    #: Gives the text of a kernel, but cannot launch here.
    LOWER_ONLY = "lower-only"
    #: Lowers and launches.
    READY = "ready"


@dataclass(frozen=True)
class Capability:
    """What a backend says about a feature id: ``yes``, ``no`` (impossible here), ``planned``."""

    state: str
    reason: str = ""
    issue: str = ""

    def __post_init__(self) -> None:
        if self.state not in ("yes", "no", "planned"):
            raise ValueError(f"a capability is 'yes', 'no' or 'planned', got {self.state!r}")
        if self.state != "yes" and not self.reason:
            raise ValueError(f"a capability that is {self.state!r} needs a reason")


def capability_table(
    yes: Iterable[str] = (),
    planned: Mapping[str, str] | None = None,
    no: Mapping[str, str] | None = None,
) -> dict[str, Capability]:
    """``BackendInfo.capabilities`` from a list of feature ids, and reasons for the others.

    Raises ``ValueError`` for an id that is listed twice.
    """
    table: dict[str, Capability] = {}
    gaps = [(f, Capability("planned", reason)) for f, reason in (planned or {}).items()]
    gaps += [(f, Capability("no", reason)) for f, reason in (no or {}).items()]
    for feature, capability in [*((f, Capability("yes")) for f in yes), *gaps]:
        if table.setdefault(feature, capability) is not capability:
            raise ValueError(f"feature {feature!r} is listed twice")
    return table


@dataclass(frozen=True)
class Limits:
    """Static limits of a backend; ``None`` means none. A kernel beyond one needs the feature id
    ``limit.<name>><value>``, which the backend then lacks."""

    block_elements: int | None = None
    grid: tuple[int, int, int] | None = None
    shared_bytes: int | None = None


@dataclass(frozen=True)
class BackendInfo:
    """Everything core needs to list and rank a backend without importing it."""

    name: str
    summary: str
    hook_api: tuple[int, int] = HOOK_API
    url: str = ""
    #: Rank among backends for the same device: 90-100 native where the data is, 50-89 native at a
    #: stated cost, 2-49 emulated; the interpreter has 1.
    priority: int = 50
    device_kinds: tuple[str, ...] = ("cpu",)
    #: Feature id -> ``Capability``; a feature that is missing is not supported.
    capabilities: Mapping[str, Capability] = field(default_factory=dict)
    limits: Limits = field(default_factory=Limits)
    #: Command that installs the backend completely.
    install_hint: str = ""
    #: Module name -> pip requirement that provides it.
    requirement_hints: Mapping[str, str] = field(default_factory=dict)
    #: Language of the text ``mytriton_lower`` returns ("CUDA C++", "MLIR", "C", "SSA").
    language: str = ""
    #: ``MYTRITON_*`` variables the backend reads, each with one line that says what it does.
    variables: Mapping[str, str] = field(default_factory=dict)
    #: Facts about arguments that the backend compiles for, beside their types: ``"align16"`` is
    #: ``ArgSpec.divisible_by_16``, ``"equal1"`` is ``ArgSpec.equals_one``. Other values of a fact
    #: then mean another specialisation, unless the resources of a ``Source`` say ``specialised:
    #: False``.
    specialise: tuple[str, ...] = ()
    #: Ending of files that hold the text ``mytriton_lower`` returns (``".c"``).
    suffix: str = ".txt"


@dataclass(frozen=True)
class Device:
    """One device a backend can launch on."""

    kind: str
    name: str = ""
    arch: str = ""
    index: int = 0


@dataclass(frozen=True)
class Availability:
    """Answer of ``mytriton_probe``: what works here and now, each with reason and remedy."""

    can_lower: bool = True
    can_launch: bool = True
    devices: tuple[Device, ...] = ()
    reason: str = ""
    hint: str = ""


@dataclass(frozen=True)
class ArgSpec:
    """One runtime argument as far as it may change code. ``device_kind`` is ``""`` for scalars."""

    name: str
    type: Type
    device_kind: str = ""
    device_id: int = 0
    contiguous: bool = True
    readonly: bool = False
    #: The address of an array, or the value of an integer, is a multiple of 16. Set only for
    #: backends that ask for it (``BackendInfo.specialise``).
    divisible_by_16: bool = False
    #: The address of an array is a multiple of the size of its elements. Where it is not, the
    #: launch needs the feature ``memory.unaligned``.
    aligned: bool = True
    #: An integer is 1. Set only for backends that ask for it.
    equals_one: bool = False


@dataclass(frozen=True)
class LaunchSpec:
    """The launch a kernel is being compiled for: no pointers, no values but what specialises."""

    arguments: tuple[ArgSpec, ...]
    constexprs: Mapping[str, Any] = field(default_factory=dict)
    #: ``num_warps`` and friends, as given by the user.
    options: Mapping[str, Any] = field(default_factory=dict)
    grid: tuple[int, int, int] | None = None

    @property
    def device_kinds(self) -> frozenset[str]:
        """Kinds of device the array arguments are on."""
        return frozenset(a.device_kind for a in self.arguments if a.device_kind)


@dataclass(frozen=True)
class Source:
    """What a backend lowers SSA to: text, and what compiling and launching it needs."""

    text: str
    language: str
    entry: str
    resources: Mapping[str, Any] = field(default_factory=dict)

    @property
    def stage(self) -> str:
        """The name of this text among the stages of a kernel: the first word of its language."""
        return (self.language.lower().split() or ["text"])[0]


class Artifact(Protocol):
    """A compiled kernel. ``launch`` is bound once and called directly on every launch.

    An artifact may also have ``launch_values(grid, values)``, which is then called instead with the
    arguments as the user gave them (of kinds that match the specialisation), to save the views;
    ``mytriton.plugin_api.launch_value`` makes what ``launch`` would have received. One that can do
    a whole launch faster than core finds it may have ``direct(plan: DirectLaunch)``; see there.
    One that finds accesses outside of arguments itself sets ``checks_bounds``: core need not look at
    the first launches for those it can prove.

    ``metadata`` holds what there is to know about the code. Core gives these to whoever asks for
    them under Triton's names: ``shared_bytes``, ``registers`` (of a thread), ``spill_bytes``,
    ``asm`` (stage to text or bytes: ``{"ptx": ..., "cubin": ...}``).
    """

    metadata: Mapping[str, Any]

    def launch(self, grid: tuple[int, int, int], args: Sequence[Any]) -> None:
        """Run the grid. ``args`` follow the kernel's parameters: an ``ArgView`` for each array,
        a Python bool, int or float for each scalar."""
        ...


@dataclass(frozen=True)
class Claim:
    """A backend would run this launch. ``score`` 1 to 100 ranks it (core's own rule: the
    backend's priority)."""

    score: int
    note: str = ""


@dataclass(frozen=True)
class Decline:
    """A backend would not. ``missing`` names feature ids; the reason is for people."""

    reason: str
    missing: frozenset[str] = frozenset()


@dataclass(frozen=True)
class Event:
    """Something that happened: ``selection``, ``compile``, ``cache`` or ``launch``."""

    kind: str
    kernel: str
    backend: str = ""
    data: Mapping[str, Any] = field(default_factory=dict)


Pass = Callable[[Any], Any]
