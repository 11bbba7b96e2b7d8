"""What the author of a backend or another plugin may import from mytriton.

Everything here follows the hook API's version: names are added in a minor version and removed only
in a new generation. Whatever is imported from elsewhere in ``mytriton`` may change at any time.
Info modules (entry-point group ``mytriton.backend_info``) import this module and nothing else: it
loads neither NumPy nor pluggy until a name that needs them is asked for.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .errors import CompilationError, MytritonError, Span, VariableError, format_error
from .ir.types import (
    BF16,
    BOOL,
    F8E4NV,
    F8E5,
    F16,
    F32,
    F64,
    I8,
    I16,
    I32,
    I64,
    STORAGE_ONLY,
    U8,
    U16,
    U32,
    U64,
    BlockType,
    PointerType,
    ScalarType,
    Type,
    broadcast_shapes,
    element_of,
    is_pointer,
    parse_type,
    scalar_of,
    shape_of,
    with_shape,
)
from .plugins.direct import ABSENT, DirectLaunch, DirectParameter
from .plugins.errors import DeviceError, MytritonBackendError, UnsupportedFeature
from .plugins.types import (
    HOOK_API,
    LINE_INFO,
    ArgSpec,
    Artifact,
    Availability,
    BackendInfo,
    Capability,
    Claim,
    Decline,
    Device,
    Event,
    LaunchSpec,
    Limits,
    Pass,
    Source,
    State,
    capability_table,
)
from .runtime.argview import ArgView

if TYPE_CHECKING:
    from .ir import numerics
    from .ir.expr import Param
    from .ir.features import features
    from .ir.numerics import (
        constant_bits,
        decode,
        encode,
        held_dtype,
        round_constant,
        storage_dtype,
    )
    from .ir.printer import print_module
    from .ir.registry import Effect, OpDef, all_ops, effects_of
    from .ir.registry import get as get_op
    from .ir.registry import lookup as lookup_op
    from .ir.registry import register as register_op
    from .ir.registry import unregister as unregister_op
    from .ir.values import (
        Constant,
        Region,
        SSAForRange,
        SSAFunction,
        SSAItem,
        SSAOp,
        SSAOperand,
        SSAValue,
        next_id,
        operand_type,
        walk,
    )
    from .plugins.claims import default_claim, largest_block, missing_features, not_possible
    from .plugins.devices import (
        DeviceProvider,
        PackedArguments,
        device_provider,
        pack_arguments,
        refuse_unaligned,
    )
    from .plugins.hookspecs import hookimpl
    from .runtime.arguments import launch_value
    from .runtime.disk_cache import DiskCache, cache_folder

#: Names that need NumPy, the op registry or pluggy, and where they are: fetched when first used.
_LAZY = {
    name: (module, name)
    for module, names in {
        "ir.expr": "Param",
        "ir.features": "features",
        "ir.numerics": "constant_bits decode encode held_dtype round_constant storage_dtype",
        "ir.printer": "print_module",
        "ir.registry": "Effect OpDef all_ops effects_of",
        "ir.values": "Constant Region SSAForRange SSAFunction SSAItem SSAOp SSAOperand SSAValue"
        " next_id operand_type walk",
        "plugins.claims": "default_claim largest_block missing_features not_possible",
        "plugins.devices": "DeviceProvider PackedArguments device_provider pack_arguments"
        " refuse_unaligned",
        "plugins.hookspecs": "hookimpl",
        "runtime.arguments": "launch_value",
        "runtime.disk_cache": "DiskCache cache_folder",
    }.items()
    for name in names.split()
}
_LAZY |= {f"{n}_op": ("ir.registry", n) for n in ("get", "lookup", "register", "unregister")}


def __getattr__(name: str) -> Any:
    from importlib import import_module

    if name == "numerics":
        return import_module(".ir.numerics", __package__)
    if name not in _LAZY:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    module, attribute = _LAZY[name]
    if module == "ir.registry":
        # The operations register themselves.
        import_module(".ir.ops", __package__)
    found = getattr(import_module(f".{module}", __package__), attribute)
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})


__all__ = [
    # hooks and what they exchange
    "ABSENT", "HOOK_API", "ArgSpec", "ArgView", "Artifact", "Availability", "BackendInfo", "Capability",
    "Claim", "Decline", "Device", "DirectLaunch", "DirectParameter", "Event", "LaunchSpec",
    "LINE_INFO", "Limits", "Pass", "Source", "State",
    "capability_table", "default_claim", "hookimpl", "largest_block", "launch_value",
    "missing_features", "not_possible",
    # what is kept on disk
    "DiskCache", "cache_folder",
    # errors
    "CompilationError", "DeviceError", "MytritonBackendError", "MytritonError", "Span",
    "UnsupportedFeature", "VariableError", "format_error",
    # devices
    "DeviceProvider", "PackedArguments", "device_provider", "pack_arguments", "refuse_unaligned",
    # SSA
    "Constant", "Param", "Region", "SSAForRange", "SSAFunction", "SSAItem", "SSAOp", "SSAOperand",
    "SSAValue", "features", "next_id", "operand_type", "print_module", "walk",
    # types
    "BF16", "BOOL", "F16", "F32", "F64", "F8E4NV", "F8E5", "I16", "I32", "I64", "I8",
    "STORAGE_ONLY", "U16", "U32", "U64", "U8", "BlockType", "PointerType", "ScalarType", "Type",
    "broadcast_shapes", "element_of", "is_pointer", "parse_type", "scalar_of", "shape_of",
    "with_shape",
    # operations
    "Effect", "OpDef", "all_ops", "effects_of", "get_op", "lookup_op", "register_op",
    "unregister_op",
    # numbers
    "constant_bits", "decode", "encode", "held_dtype", "numerics", "round_constant",
    "storage_dtype",
]  # fmt: skip
