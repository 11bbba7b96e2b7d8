"""Tracebacks of mistakes end at the user's line."""

import traceback

import numpy as np
import pytest

import mytriton as triton


class TestTracebacks:
    """No frame of the compiler comes between the user and the message."""

    @staticmethod
    def frames_of(call):
        import mytriton

        package = mytriton.__path__[0]
        try:
            call()
        except Exception as error:
            found, seen = [], error
            while seen is not None:
                found += [f.filename for f in traceback.extract_tb(seen.__traceback__)]
                seen = seen.__cause__ or (None if seen.__suppress_context__ else seen.__context__)
        return found[0], [f for f in found if f.startswith(package)]

    @pytest.mark.parametrize(
        "body", ["tl.laod(out)", "tl.load(out, msk=1)", "tl.load(out).to(3)", "macro(out)"]
    )
    def test_compile_errors(self, body, module_from):
        module = module_from(
            f"def macro(x):\n    return 1 // 0\n@triton.jit\ndef kernel(out):\n    v = {body}\n"
        )
        first, internal = self.frames_of(lambda: module.kernel[(1,)](np.zeros(1)))
        assert first == __file__
        assert len(internal) == 1

    def test_errors_of_the_decorator_name_the_function(self, module_from):
        module = module_from("def kernel(*args):\n    pass\n")
        with pytest.raises(TypeError, match=r"kernels_\d+.py:4:1: kernel 'kernel' has a variadic"):
            triton.jit(module.kernel)
        first, internal = self.frames_of(lambda: triton.jit(module.kernel))
        assert first == __file__
        assert len(internal) <= 2
