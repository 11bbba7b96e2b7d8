"""The way from the GPU dialect to an image for the device, as a list of named stages."""

from __future__ import annotations

import re

Stage = tuple[str, str]

#: The chip that text is compiled for when there is no device to ask: Ampere.
DEFAULT_CHIP = "sm_80"
#: Outputs of the last stage: ``llvm`` is bitcode, ``isa`` PTX, ``bin`` a cubin (needs ptxas),
#: ``fatbin`` both.
OUTPUTS = ("llvm", "isa", "bin", "fatbin")
#: As ``nvcc -lineinfo`` does: directives, and no other debug information.
_KEEP_LINES = (
    "builtin.module(ensure-debug-info-scope-on-llvm-func{emission-kind=DebugDirectivesOnly})"
)
_CHIP = re.compile(r"(?:sm_|compute_)?(\d{2,3})([af]?)$")
#: From this architecture on, this version of PTX (a driver must be as new).
_PTX_VERSIONS = ((120, 87), (101, 86), (100, 86), (0, 80))


def chip_number(chip: str) -> int:
    """``80`` of ``"sm_80"`` (also of ``"80"`` and ``"8.0"``). Raises ``ValueError``."""
    match = _CHIP.match(chip.replace(".", ""))
    if match is None:
        raise ValueError(f"no chip is called {chip!r}; an example: 'sm_80'")
    return int(match[1])


def chip_name(chip: str) -> str:
    """A chip as LLVM calls it: ``"sm_80"`` for ``"80"`` or ``"8.0"``. Raises ``ValueError``."""
    number = chip_number(chip)
    return f"sm_{number}{'a' if chip.endswith('a') else 'f' if chip.endswith('f') else ''}"


def gpu_to_cubin_stages(
    *,
    chip: str = DEFAULT_CHIP,
    opt_level: int = 3,
    output: str = "bin",
    toolkit: str = "",
    lines: bool = False,
) -> list[Stage]:
    """Name and pass pipeline of each stage, in order.

    ``output`` is what the last one makes: ``"bin"`` (a cubin, through ptxas), ``"isa"`` (PTX),
    ``"fatbin"``, or ``"llvm"`` (bitcode). ``toolkit`` is the folder whose ``bin/`` has ptxas; else it
    is searched on ``PATH``. ``lines`` keeps which line of the text an instruction came from, as
    ``.loc``. Raises
    ``ValueError`` for a chip, level or output that does not exist.
    """
    number, name = chip_number(chip), chip_name(chip)
    if opt_level not in range(4):
        raise ValueError(f"opt_level must be 0, 1, 2 or 3, got {opt_level!r}")
    if output not in OUTPUTS:
        raise ValueError(f"output must be one of {', '.join(OUTPUTS)}, got {output!r}")
    features = f"+ptx{next(version for least, version in _PTX_VERSIONS if number >= least)}"
    options = f"format={output}" + (f" toolkit={toolkit}" if toolkit else "")
    target = f"module=.* chip={name} features={features} O={opt_level}"
    return [
        ("cleanup", "builtin.module(any(cse,canonicalize))"),
        ("attach-nvvm-target", f"builtin.module(nvvm-attach-target{{{target}}})"),
        ("convert-scf-to-cf", "builtin.module(gpu.module(gpu.func(convert-scf-to-cf)))"),
        ("convert-gpu-to-nvvm", "builtin.module(gpu.module(convert-gpu-to-nvvm))"),
        ("reconcile-casts", "builtin.module(gpu.module(reconcile-unrealized-casts))"),
        *([("keep-lines", _KEEP_LINES)] if lines else []),
        ("gpu-module-to-binary", f"builtin.module(gpu-module-to-binary{{{options}}})"),
    ]
