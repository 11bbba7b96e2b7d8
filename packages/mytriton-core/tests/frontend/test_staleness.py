"""Nothing a kernel read from outside can change without a new specialisation."""

import dataclasses
import functools
import types

import numpy as np
import pytest

import mytriton as triton
import mytriton.language as tl
from mytriton.errors import UnknownNameError

settings = types.ModuleType("settings")
TABLE = [2.0]
NAMED = {"scale": 2.0}


class Holder:
    shared = 2.0

    def __init__(self):
        self.value = 2.0

    def method(self):
        return self.value

    @property
    def prop(self):
        return self.value

    @classmethod
    def of_class(cls):
        return cls.shared

    def __getitem__(self, index):
        return self.value

    def __call__(self):
        return self.value


HOLDER = Holder()


def reads_module(v):
    return v * settings.scale


def reads_list(v):
    return v * TABLE[0]


def reads_dict(v):
    return v * NAMED["scale"]


def reads_class(v):
    return v * Holder.shared


def reads_object(v):
    return v * HOLDER.value


def reads_itself(v):
    return v * reads_itself.scale


def calls_another(v):
    return reads_list(v)


def base(v, scale):
    return v * scale[0]


PARTIAL = functools.partial(base, scale=TABLE)
MACROS = (reads_list,)


@triton.jit
def through_module(out):
    tl.store(out, reads_module(tl.load(out)))


@triton.jit
def through_list(out):
    tl.store(out, reads_list(tl.load(out)))


@triton.jit
def through_dict(out):
    tl.store(out, reads_dict(tl.load(out)))


@triton.jit
def through_class(out):
    tl.store(out, reads_class(tl.load(out)))


@triton.jit
def through_object(out):
    tl.store(out, reads_object(tl.load(out)))


@triton.jit
def through_attribute(out):
    tl.store(out, reads_itself(tl.load(out)))


@triton.jit
def through_call(out):
    tl.store(out, calls_another(tl.load(out)))


@triton.jit
def through_tuple(out):
    tl.store(out, MACROS[0](tl.load(out)))


@triton.jit
def through_method(out):
    tl.store(out, tl.load(out) * HOLDER.method())


@triton.jit
def through_property(out):
    tl.store(out, tl.load(out) * HOLDER.prop)


@triton.jit
def through_instance(out):
    tl.store(out, tl.load(out) * HOLDER.value)


@triton.jit
def through_item(out):
    tl.store(out, tl.load(out) * HOLDER[0])


@triton.jit
def through_callable(out):
    tl.store(out, tl.load(out) * HOLDER())


@triton.jit
def through_classmethod(out):
    tl.store(out, tl.load(out) * Holder.of_class())


KERNELS = [
    through_module, through_list, through_dict, through_class, through_object, through_attribute,
    through_call, through_tuple, through_method, through_property, through_instance, through_item,
    through_callable, through_classmethod,
]  # fmt: skip


def set_all(value):
    settings.scale = value
    TABLE[0] = value
    NAMED["scale"] = value
    Holder.shared = value
    HOLDER.value = value
    reads_itself.scale = value


@pytest.mark.parametrize("kernel", KERNELS, ids=lambda k: k.__name__)
def test_a_change_is_seen_at_the_next_launch(kernel):
    for value in (2.0, 3.0, 2.0, 2.5):
        set_all(value)
        out = np.ones(1, np.float32)
        kernel[(1,)](out)
        assert out[0] == value


@pytest.mark.parametrize("kernel", KERNELS, ids=lambda k: k.__name__)
def test_without_a_change_nothing_is_compiled_again(kernel):
    set_all(4.0)
    kernel.clear_cache()
    for _ in range(3):
        kernel[(1,)](np.ones(1, np.float32))
    assert sum(map(len, kernel.specialisations.values())) == 1


@dataclasses.dataclass(frozen=True)
class Config:
    value: object


class TestConstexprKeys:
    @staticmethod
    def results(*values):
        @triton.jit
        def kernel(out, C: tl.constexpr):
            tl.store(out, tl.load(out) + C.value)

        found = []
        for value in values:
            out = np.full(1, -0.0, np.float32)
            kernel[(1,)](out, Config(value))
            found.append(str(out[0]))
        return found

    def test_fields_of_dataclasses_are_told_apart_by_bits(self):
        assert self.results(0.0, -0.0) == ["0.0", "-0.0"]
        assert self.results(np.float32(0.0), np.float32(-0.0)) == ["0.0", "-0.0"]

    def test_numpy_scalars_in_tuples_are_told_apart_by_bits(self):
        @triton.jit
        def kernel(out, C: tl.constexpr):
            tl.store(out, tl.load(out) + C[0])

        found = []
        for value in (0.0, -0.0):
            out = np.full(1, -0.0, np.float32)
            kernel[(1,)](out, (np.float64(value),))
            found.append(str(out[0]))
        assert found == ["0.0", "-0.0"]


def test_a_reloaded_file_is_read_again(module_from, tmp_path):
    import importlib.util
    import os

    path = tmp_path / "reloaded.py"

    def load(value):
        path.write_text(
            "import mytriton as triton\nimport mytriton.language as tl\n\n\n@triton.jit\n"
            f"def kernel(out):\n    tl.store(out, {value})\n"
        )
        os.utime(path, (value, value))
        spec = importlib.util.spec_from_file_location("reloaded", path)
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        return module.kernel

    for value in (1, 2, 3):
        out = np.zeros(1, np.float32)
        load(value)[(1,)](out)
        assert out[0] == value


class TestLocalsAreNeverGlobals:
    def test_a_name_born_in_a_loop(self, module_from):
        module = module_from(
            "inner = 5.0\n@triton.jit\ndef kernel(out, n):\n    for i in range(n):\n        inner = 1.0\n"
            "    tl.store(out, inner)\n"
        )
        with pytest.raises(UnknownNameError, match="does not outlive it"):
            module.kernel[(1,)](np.zeros(1, np.float32), 1)

    def test_a_loop_index(self, module_from):
        module = module_from(
            "i = 5.0\n@triton.jit\ndef kernel(out, n):\n    for i in range(n):\n        pass\n"
            "    tl.store(out, i)\n"
        )
        with pytest.raises(UnknownNameError):
            module.kernel[(1,)](np.zeros(1, np.float32), 1)

    def test_a_local_read_before_its_assignment(self, module_from):
        module = module_from(
            "x = 5.0\n@triton.jit\ndef kernel(out):\n    tl.store(out, x)\n    x = 1.0\n"
        )
        with pytest.raises(UnknownNameError, match="first assigned at line 8"):
            module.kernel[(1,)](np.zeros(1, np.float32))


def test_a_bare_annotation_leaves_a_value_alone(kernel_from):
    kernel = kernel_from("def kernel(out, n):\n    n: tl.int32\n    tl.store(out, n)\n")
    out = np.zeros(1, np.int32)
    kernel[(1,)](out, 7)
    assert out[0] == 7
