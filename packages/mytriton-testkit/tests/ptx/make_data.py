"""Compile the kernels of kernels.cu to PTX with NVRTC: `python make_data.py` rewrites data/*.ptx.

NVRTC needs no GPU: `pip install nvidia-cuda-nvrtc-cu12==12.9.86`. Each kernel becomes a file
holding only what it needs, so that a failing test shows a short text.
"""

from __future__ import annotations

import ctypes
import re
import sys
from pathlib import Path

HERE = Path(__file__).parent


def library() -> ctypes.CDLL:
    """libnvrtc of the wheel; ImportError when the wheel is absent."""
    import nvidia.cuda_nvrtc as package  # type: ignore[import-not-found]

    [folder] = list(package.__path__)
    return ctypes.CDLL(str(Path(folder) / "lib" / "libnvrtc.so.12"))


def compile_ptx(source: str, *options: str) -> str:
    """PTX of CUDA C++ for compute_80; RuntimeError with NVRTC's log when it does not compile."""
    lib = library()
    program, size = ctypes.c_void_p(), ctypes.c_size_t()
    lib.nvrtcCreateProgram(ctypes.byref(program), source.encode(), b"k.cu", 0, None, None)
    texts = [b"--gpu-architecture=compute_80", *(option.encode() for option in options)]
    status = lib.nvrtcCompileProgram(program, len(texts), (ctypes.c_char_p * len(texts))(*texts))
    lib.nvrtcGetProgramLogSize(program, ctypes.byref(size))
    log = ctypes.create_string_buffer(size.value)
    lib.nvrtcGetProgramLog(program, log)
    if status:
        raise RuntimeError(log.value.decode())
    lib.nvrtcGetPTXSize(program, ctypes.byref(size))
    text = ctypes.create_string_buffer(size.value)
    lib.nvrtcGetPTX(program, text)
    lib.nvrtcDestroyProgram(ctypes.byref(program))
    return text.value.decode()


def pieces(source: str) -> dict[str, str]:
    """Each kernel's name and the source up to it without the kernels before it."""
    parts = re.split(r"(?m)^(?=extern \"C\")", source)
    shared, result = parts[0], {}
    for part in parts[1:]:
        end = re.search(r"(?m)^}\n", part)
        assert end
        name = re.search(r"void (\w+)\(", part)
        assert name
        result[name[1]] = shared + part[: end.end()]
        shared += part[end.end() :]
    return result


def main() -> None:
    (HERE / "data").mkdir(exist_ok=True)
    for name, source in pieces((HERE / "kernels.cu").read_text()).items():
        text = compile_ptx(source)
        (HERE / "data" / f"{name}.ptx").write_text(text)
        print(name, len(text.splitlines()), "lines", file=sys.stderr)


if __name__ == "__main__":
    main()
