"""Argument adapters: what a launch argument is, as a specialisation key, a type and a value.

A key holds everything about an argument that may change code or the checks made before a launch;
equal keys mean the compiled kernel fits. Exact types found in ``_KEYS`` take the fast path.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Hashable
from typing import Any, cast

import numpy as np

from ..errors import ArgumentError, ArgumentRangeError
from ..ir.types import (
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
    U8,
    U16,
    U32,
    U64,
    PointerType,
    ScalarType,
)
from ..plugins.types import ArgSpec
from .argview import ArgView

_DTYPES: dict[str, ScalarType] = {
    "bool": BOOL, "int8": I8, "int16": I16, "int32": I32, "int64": I64, "uint8": U8, "uint16": U16,
    "uint32": U32, "uint64": U64, "float16": F16, "bfloat16": BF16, "float32": F32, "float64": F64,
    "float8_e4m3fn": F8E4NV, "float8_e5m2": F8E5,
}  # fmt: skip

#: Bits of ``ndarray.flags.num`` that matter: C-contiguous, aligned, writeable.
FLAGS = 0x1 | 0x100 | 0x400
_I32 = I32.int_range()
_I64 = I64.int_range()

Scalar = bool | int | float


def _int_key(value: int) -> str:
    if _I32[0] <= value <= _I32[1]:
        return "i32"
    if _I64[0] <= value <= _I64[1]:
        return "i64"
    raise ArgumentRangeError(f"the integer {value} does not fit in i64 ({_I64[0]} to {_I64[1]})")


_KEYS: dict[type, Callable[[Any], Hashable]] = {
    np.ndarray: lambda a: (a.dtype, a.flags.num & FLAGS),
    int: _int_key,
    float: lambda value: "f32",
    bool: lambda value: "bool",
    type(None): lambda value: None,
}


def argument_key(value: Any) -> Hashable:
    """The specialisation key of a runtime argument. Raises ``ArgumentError`` for what is none."""
    fast = _KEYS.get(type(value))
    if fast is not None:
        return fast(value)
    plain = scalar(value)
    if plain is not None:
        return argument_key(plain)
    view = array_view(value)
    return (
        view.dtype, view.device_kind, view.device_id, view.contiguous, view.readonly, view.aligned
    )  # fmt: skip


def dtype_of(dtype: Any) -> ScalarType:
    """The type of elements of a dtype: ``tl``'s, NumPy's, PyTorch's, or a name of one.

    Raises ``ArgumentError`` for what the language has not.
    """
    if isinstance(dtype, ScalarType):
        return dtype
    if isinstance(dtype, str):
        from .argspec_text import DTYPES

        found = DTYPES.get(dtype)
    elif type(dtype).__module__ == "torch":
        found = _DTYPES.get(str(dtype).removeprefix("torch."))
    else:
        try:
            return _numpy_dtype(np.dtype(dtype))
        except TypeError:
            found = None
    if found is None:
        raise ArgumentError(
            f"{dtype!r} is no dtype of the language; there are {', '.join(_DTYPES)}"
        )
    return found


def scalar(value: Any) -> Scalar | None:
    """The Python number a scalar argument stands for, or ``None`` for an array."""
    if isinstance(value, (bool, np.bool_)):
        return bool(value)
    if isinstance(value, (int, np.integer)):
        return int(value)
    if isinstance(value, (float, np.floating)):
        return float(value)
    # Scalars of ml_dtypes are NumPy scalars but none of NumPy's kinds.
    return (
        float(value) if isinstance(value, np.generic) and value.dtype.name == "bfloat16" else None
    )


def argument_type(value: Any, name: str) -> tuple[ScalarType | PointerType, ArgView | None]:
    """Type of a runtime argument, and its view when it is an array. Raises ``ArgumentError`` or
    ``ArgumentRangeError`` naming the parameter."""
    try:
        plain = scalar(value)
        if plain is None:
            view = array_view(value)
            return view.type, view
        key = argument_key(plain)
    except ArgumentError as error:
        raise type(error)(f"argument {name!r}: {error}") from None
    return ScalarType(cast(str, key)), None


def spec_of(
    name: str, ty: ScalarType | PointerType, view: ArgView | None, value: Any = None
) -> ArgSpec:
    """What may change code about an argument of type ``ty``."""
    if view is None:
        return ArgSpec(
            name, ty, divisible_by_16=divisible_by_16(value), equals_one=equals_one(value)
        )
    return ArgSpec(
        name, ty, view.device_kind, view.device_id, view.contiguous, view.readonly,
        view.pointer % 16 == 0, view.aligned,
    )  # fmt: skip


def divisible_by_16(value: Any) -> bool:
    """Whether the address of an array, or an integer, is a multiple of 16."""
    if type(value) is np.ndarray:
        return bool(value.__array_interface__["data"][0] % 16 == 0)
    plain = scalar(value) if value is not None else False
    if plain is None:
        return array_view(value).pointer % 16 == 0
    return type(plain) is int and plain % 16 == 0


def equals_one(value: Any) -> bool:
    """Whether a value is the integer 1."""
    return (type(value) is int or isinstance(value, np.integer)) and bool(value == 1)


def described(name: str, value: Any) -> ArgSpec:
    """``"f32[1000]"``, ``"i32"``, a number or an array, as the argument ``name``.

    Raises ``ArgumentError`` for text that describes nothing.
    """
    if isinstance(value, ArgSpec):
        return value
    if isinstance(value, str):
        from .argspec_text import parse_arg

        return parse_arg(value, name)
    return spec_of(name, *argument_type(value, name), value)


def launch_value(value: Any) -> Any:
    """What an artifact receives for an argument: an ``ArgView``, or a Python scalar."""
    view = _VIEWS.get(type(value))
    if view is not None:
        return view(value)
    plain = scalar(value)
    return array_view(value) if plain is None else plain


def numpy_view(array: Any, owner: Any = None) -> ArgView:
    """View of a NumPy array."""
    interface = array.__array_interface__
    return ArgView(
        interface["data"][0], _numpy_dtype(array.dtype), array.shape, array.strides,
        readonly=not array.flags.writeable, owner=array if owner is None else owner,
    )  # fmt: skip


def _numpy_dtype(dtype: np.dtype[Any]) -> ScalarType:
    if not dtype.isnative:
        raise ArgumentError(
            f"arrays of non-native byte order ({dtype}) are not supported; convert with "
            f"x.astype({dtype.newbyteorder('=').name!r})"
        )
    found = _DTYPES.get(dtype.name)
    if found is None:
        raise ArgumentError(
            f"arrays of dtype {dtype} are not supported; supported: {', '.join(_DTYPES)}"
        )
    return found


def array_view(value: Any) -> ArgView:
    """View of any array: NumPy, PyTorch, a plugin's arrays, ``__array_interface__``, CPU DLPack.

    Raises ``ArgumentError`` for everything else, saying what to pass instead.
    """
    if isinstance(value, np.ma.MaskedArray):
        raise ArgumentError("a masked array would lose its mask; pass x.filled(...) or x.data")
    if isinstance(value, np.ndarray):
        return numpy_view(value)
    if hasattr(type(value), "__mytriton_view__"):
        return value.__mytriton_view__()  # type: ignore[no-any-return]
    if type(value).__module__.partition(".")[0] == "torch" or _is_torch_tensor(value):
        if (view := _torch_view(value)) is not None:
            return view
    from ..plugins.devices import HOST, owner_of
    from ..plugins.manager import adapt_argument

    if (view := adapt_argument(value)) is not None:
        return view
    owner = owner_of(value)
    if owner is not None and owner is not HOST:
        return owner.view(value)
    if hasattr(type(value), "__array_interface__") or hasattr(value, "__array_interface__"):
        return numpy_view(np.asarray(value), value)
    if hasattr(value, "__dlpack__"):
        return _dlpack_view(value)
    raise ArgumentError(_refusal(value))


def _is_torch_tensor(value: Any) -> bool:
    return any(
        c.__module__.partition(".")[0] == "torch" and c.__name__ == "Tensor"
        for c in type(value).__mro__
    )


#: How a launch views the usual kinds of array; PyTorch's join when the first tensor is seen.
_VIEWS: dict[type, Callable[[Any], Any]] = {np.ndarray: numpy_view}


def _remember_tensors(kind: type) -> None:
    """Tensors of exactly this type take the fast paths from now on."""
    strided = sys.modules["torch"].strided

    def key(value: Any) -> Hashable:
        if value.layout is not strided:
            return array_view(value)  # which refuses it
        return (
            value.dtype, value.device, value.is_contiguous(), value.is_neg(),
            value.data_ptr() % value.element_size() == 0,
        )  # fmt: skip

    # Looked at after a key like this one was found good: nothing is checked again.
    def view(value: Any) -> ArgView | None:
        known = _TENSOR_TYPES.get(value.dtype)
        if known is None:
            return _torch_view(value)
        dtype, size = known
        device = value.device
        return ArgView(
            value.data_ptr(), dtype, tuple(value.shape), tuple([s * size for s in value.stride()]),
            device.type, device.index or 0, owner=value,
        )  # fmt: skip

    _KEYS[kind], _VIEWS[kind] = key, view


#: PyTorch's dtypes that were seen: the type, and its size.
_TENSOR_TYPES: dict[Any, tuple[ScalarType, int]] = {}


def _torch_view(value: Any) -> ArgView | None:
    if not hasattr(value, "data_ptr"):
        return None
    dtype = _DTYPES.get(str(value.dtype).removeprefix("torch."))
    if dtype is None:
        raise ArgumentError(
            f"tensors of dtype {value.dtype} are not supported; supported: {', '.join(_DTYPES)}"
        )
    if str(value.layout) != "torch.strided" or value.is_conj() or value.is_neg():
        raise ArgumentError(
            "only plain strided tensors are supported; use .resolve_conj(), .resolve_neg()"
        )
    try:
        pointer = value.data_ptr()
    except RuntimeError:  # tensors that only say what there would be
        pointer = 0
    if not pointer and value.numel():
        raise ArgumentError(
            f"a {type(value).__name__} on device {str(value.device)!r} has no memory of its own; pass a"
            " tensor with data"
        )
    size = dtype.itemsize
    if type(value) not in _KEYS and type(value).__module__ in ("torch", "torch.nn.parameter"):
        _remember_tensors(type(value))
    _TENSOR_TYPES[value.dtype] = dtype, size
    return ArgView(
        pointer, dtype, tuple(value.shape), tuple(s * size for s in value.stride()),
        value.device.type, value.device.index or 0, owner=value,
    )  # fmt: skip


def _dlpack_view(value: Any) -> ArgView:
    device = value.__dlpack_device__() if hasattr(value, "__dlpack_device__") else (1, 0)
    if int(device[0]) != 1:
        raise ArgumentError(
            f"a {type(value).__name__} on DLPack device {tuple(map(int, device))} needs a backend plugin for "
            "that device; see `mytriton backends`"
        )
    try:
        array = np.from_dlpack(value)
    except (BufferError, TypeError, RuntimeError) as error:
        raise ArgumentError(
            f"a {type(value).__name__} that gives no DLPack view: {error}"
        ) from error
    return numpy_view(array, (value, array))


def _refusal(value: Any) -> str:
    kind = type(value).__name__
    if value is None:
        return "None is not an array or a number; give the parameter the annotation tl.constexpr to pass None"
    if isinstance(value, (list, tuple)):
        return (
            f"a {kind} is neither an array nor a number; convert it with numpy.asarray, or pass a tuple of "
            "arrays and numbers"
        )
    if isinstance(value, (str, bytes)):
        return f"a {kind} can only be passed to a parameter annotated tl.constexpr"
    if isinstance(value, complex):
        return "complex numbers are not supported"
    return (
        f"a {kind} is neither an array nor a number; pass a NumPy array, a PyTorch tensor or an object "
        "with __array_interface__ or __dlpack__, or annotate the parameter tl.constexpr"
    )
