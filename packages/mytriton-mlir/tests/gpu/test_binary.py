"""The decoder of byte strings, on every byte."""

import pytest

from mytriton_mlir import extract_gpu_binary
from mytriton_mlir.gpu.binary import decode_byte_string


def encoded(data):
    """As MLIR prints it."""
    return "".join(
        "\\\\" if b == 0x5C else chr(b) if 0x20 <= b < 0x7F and b != 0x22 else f"\\{b:02X}"
        for b in data
    )


def module(literal, symbol="kernels"):
    target = '#nvvm.target<O = 3, chip = "sm_80", features = "+ptx80">'
    properties = '{note = "]>", O = 3 : i32}'
    objects = f'#gpu.object<{target}, properties = {properties}, assembly = "{literal}">'
    return f"module {{\n  gpu.binary @{symbol}  [{objects}]\n}}\n"


@pytest.mark.parametrize("byte", range(256))
def test_every_byte(byte):
    for data in (
        bytes([byte]),
        bytes([0x5C, byte]),
        bytes([byte, 0x41]),
        bytes([byte, 0x5C, 0x22]),
    ):
        assert extract_gpu_binary(module(encoded(data))) == data
    # Whatever could be printed may also be spelled out.
    assert decode_byte_string(f"\\{byte:02X}\\{byte:02x}") == bytes([byte, byte])


def test_every_pair():
    for first in range(256):
        data = bytes(x for second in range(256) for x in (first, second))
        assert decode_byte_string(encoded(data)) == data


def test_short_escapes():
    assert decode_byte_string(r"a\nb\tc\"d\\e") == b'a\nb\tc"d\\e'


def test_the_right_binary():
    text = module("one", "kernels_2") + module("two", "kernels") + module("three", "others")
    assert extract_gpu_binary(text) == b"two"
    assert extract_gpu_binary(text, symbol_name="others") == b"three"
    assert extract_gpu_binary(text, symbol_name="kernels_2") == b"one"


def test_without_target_or_with_a_handler():
    assert (
        extract_gpu_binary(
            'gpu.binary @kernels <#gpu.select_object<0>> [#gpu.object<#nvvm.target, bin = "x">]'
        )
        == b"x"
    )
    assert extract_gpu_binary('gpu.binary @kernels [#gpu.object<#nvvm.target, "x">]') == b"x"


def test_a_name_inside_of_a_string():
    text = (
        module("x", "others")
        + '\nllvm.mlir.global @s("gpu.binary @kernels [#gpu.object<\\22no\\22>]")'
    )
    with pytest.raises(ValueError, match="does not contain gpu.binary @kernels"):
        extract_gpu_binary(text)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("module {}", "MLIR module does not contain gpu.binary @kernels"),
        ("gpu.binary @kernels []", "MLIR gpu.binary @kernels does not contain an object"),
        ("gpu.binary @kernels", "MLIR gpu.binary @kernels does not contain an object"),
        ('gpu.binary @kernels [#gpu.object<#t, "x]', "a string that does not end"),
        (r'gpu.binary @kernels [#gpu.object<#t, "\q">]', "not an escape of MLIR"),
        (r'gpu.binary @kernels [#gpu.object<#t, "\0">]', "not an escape of MLIR"),
    ],
)
def test_refused(text, message):
    with pytest.raises(ValueError, match=message):
        extract_gpu_binary(text)
