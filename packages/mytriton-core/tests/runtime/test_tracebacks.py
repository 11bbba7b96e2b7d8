"""Tracebacks of mistakes end at the user's line."""

import importlib
import traceback

import numpy as np
import pytest

import mytriton as triton
from mytriton import errors, tracebacks


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
        assert len(internal) == 1

    @pytest.mark.parametrize(
        ("name", "value"),
        [
            ("MYTRITON_SANITIZE", "bound"), ("MYTRITON_LOG", "lunch"), ("MYTRITON_OPT_LEVEL", "3"),
            ("MYTRITON_EMULATE", "maybe"),
        ],
    )  # fmt: skip
    def test_variables_with_values_they_do_not_take(self, name, value, module_from, monkeypatch):
        kernel = module_from("@triton.jit\ndef kernel(out):\n    tl.store(out, 1.0)\n").kernel
        triton.refresh_backends()
        monkeypatch.setenv(name, value)
        with pytest.raises(errors.VariableError, match=f"^{name} .*{value!r}"):
            kernel[(1,)](np.zeros(1))
        first, internal = self.frames_of(lambda: kernel[(1,)](np.zeros(1)))
        assert first == __file__
        assert len(internal) == 1

    def test_errors_of_functions_the_user_gave(self, module_from):
        module = module_from(
            "@triton.jit\ndef kernel(out, B: tl.constexpr):\n    tl.store(out, B)\n"
        )
        out, kernel = np.zeros(1), module.kernel

        def wrong(*args, **kwargs):
            raise ZeroDivisionError("mine")

        heuristic = triton.heuristics({"B": wrong})(kernel)
        configs = [triton.Config({"B": 1}, pre_hook=wrong)]
        for launch in (
            lambda: kernel[wrong](out, B=1),
            lambda: kernel.with_backend("interpreter")[wrong](out, B=1),
            lambda: heuristic[(1,)](out),
            lambda: triton.autotune(configs, [])(kernel)[(1,)](out),
        ):
            with pytest.raises(ZeroDivisionError, match="mine"):
                launch()
            first, internal = self.frames_of(launch)
            assert first == __file__
            assert len(internal) == 1

    def test_mistakes_in_here_are_shown_whole(self, module_from, monkeypatch):
        from mytriton.runtime import launch

        def broken(*args):
            return {}["nothing"]

        kernel = module_from("@triton.jit\ndef kernel(out):\n    tl.store(out, 1)\n").kernel
        code = broken.__code__.replace(co_filename=launch.__file__)
        monkeypatch.setattr(launch, "compile_ssa", type(broken)(code, {}))
        _, internal = self.frames_of(lambda: kernel[(1,)](np.zeros(1)))
        assert len(internal) > 3

    @pytest.mark.parametrize(
        "text",
        ["triton.jit(lambda x: x)", "triton.jit(print)", "triton.jit(3)",
         "@triton.jit\ndef k(*xs):\n    pass", "@triton.jit()\ndef k(**xs):\n    pass"],
    )  # fmt: skip
    def test_errors_of_the_decorator(self, text, module_from):
        with pytest.raises(triton.CompilationError):
            module_from(text)
        _, internal = self.frames_of(lambda: module_from(text))
        assert len(internal) == 1

    @pytest.mark.parametrize(
        "plugin", ["toy_backend", "toy_backend.deep.plugin", "toy_space.plugin"]
    )
    def test_frames_of_a_backend_are_left_out(self, plugin, tmp_path, monkeypatch):
        monkeypatch.setattr(tracebacks, "_inner", set(tracebacks._inner))
        monkeypatch.syspath_prepend(tmp_path)
        raises = "def call(error):\n    raise error\n"
        for file in ("toy_backend/deep/plugin.py", "toy_space/plugin.py", "toy_space/users.py"):
            (tmp_path / file).parent.mkdir(parents=True, exist_ok=True)
            (tmp_path / file).write_text(raises)
        (tmp_path / "toy_backend/__init__.py").write_text(raises)
        (tmp_path / "toy_backend/deep/__init__.py").write_text("")
        users = importlib.import_module("toy_space.users")
        module = importlib.import_module(plugin)

        def files(of):
            try:
                of.call(triton.ArgumentError("no"))
            except triton.ArgumentError as error:
                shown = traceback.extract_tb(tracebacks.for_user(error).__traceback__)
                return [frame.filename for frame in shown]

        assert files(module) == [__file__, module.__file__]
        tracebacks.hide(plugin)
        assert files(module) == [__file__]
        assert files(users) == [__file__, users.__file__]
        with tracebacks.whole_tracebacks():
            assert files(module) == [__file__, module.__file__]
        assert files(module) == [__file__]
