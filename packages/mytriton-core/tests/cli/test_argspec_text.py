"""Arguments written as text."""

from __future__ import annotations

import pytest

from mytriton.errors import ArgumentError, ArgumentRangeError
from mytriton.runtime.argspec_text import DTYPES, describe_text, parse_arg, parse_value


@pytest.mark.parametrize(
    ("text", "ty", "shape", "kind"),
    [
        ("f32[1000]", "ptr<f32>", (1000,), "cpu"),
        ("float32[10, 20]", "ptr<f32>", (10, 20), "cpu"),
        ("*fp32", "ptr<f32>", None, "cpu"),
        ("* bf16 [4] @ cuda", "ptr<bf16>", (4,), "cuda"),
        ("ptr<i8>", "ptr<i8>", None, "cpu"),
        ("ptr<f32>@cuda", "ptr<f32>", None, "cuda"),
        ("int1[3]", "ptr<bool>", (3,), "cpu"),
        ("u8[]", "ptr<u8>", (), "cpu"),
        ("float8e4nv[2]", "ptr<f8e4nv>", (2,), "cpu"),
        ("i64", "i64", None, ""),
        ("fp16", "f16", None, ""),
    ],
)
def test_types(text: str, ty: str, shape: tuple[int, ...] | None, kind: str) -> None:
    found = describe_text(text)
    assert (str(found.type), found.shape, found.device_kind) == (ty, shape, kind)
    assert found.value is None


@pytest.mark.parametrize(
    ("text", "ty", "value"),
    [
        ("1000", "i32", 1000), ("-3", "i32", -3), ("2147483648", "i64", 2**31), ("0x10", "i32", 16),
        ("0.5", "f32", 0.5), ("1e3", "f32", 1000.0), ("true", "bool", True), ("False", "bool", False),
    ],
)  # fmt: skip
def test_values(text: str, ty: str, value: object) -> None:
    found = describe_text(text)
    assert (str(found.type), found.value, found.device_kind) == (ty, value, "")
    assert type(found.value) is type(value)


def test_device_index() -> None:
    spec = parse_arg("f32[4]@cuda:2", "x")
    assert (spec.name, spec.device_kind, spec.device_id) == ("x", "cuda", 2)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "'' describes no argument; write an array as"),
        ("f32[a]", "describes no argument"),
        ("f32[1 2]", "has no shape of integers"),
        ("f32[4]]", "describes no argument"),
        ("flaot32", "'flaot32' in 'flaot32' is not a dtype; closest: float32"),
        ("complex[4]", "is not a dtype; known: bool, i8"),
        ("f32@cuda", "places a scalar on a device"),
    ],
)
def test_errors(text: str, message: str) -> None:
    with pytest.raises(ArgumentError) as caught:
        parse_arg(text, "x")
    assert message in str(caught.value)
    assert str(caught.value).startswith("argument 'x': ")


def test_too_large() -> None:
    with pytest.raises(ArgumentRangeError, match="does not fit in 64 bits"):
        parse_arg(str(2**63), "n")


def test_every_name_is_a_type() -> None:
    for name, ty in DTYPES.items():
        assert describe_text(name).type == ty
        assert describe_text(f"{name}[2]").shape == (2,)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("256", 256),
        ("0.5", 0.5),
        ("true", True),
        ("None", None),
        ("(1, 2)", (1, 2)),
        ("'a'", "a"),
        ("fast", "fast"),
        ("a b", "a b"),
    ],
)
def test_compile_time_values(text: str, value: object) -> None:
    assert parse_value(text) == value
