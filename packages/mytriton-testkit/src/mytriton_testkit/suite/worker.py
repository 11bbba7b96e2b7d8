"""The child process: reads jobs, does them, writes what happened.

Messages are pickles behind a length. What the backend prints goes to the error stream, which the
parent keeps for the report of a crash.
"""

from __future__ import annotations

import faulthandler
import os
import pickle
import struct
import sys
import tempfile
import traceback
from typing import Any, BinaryIO

_LENGTH = struct.Struct("<Q")


def send(stream: BinaryIO, message: Any) -> None:
    """Write one message."""
    data = pickle.dumps(message, protocol=5)
    stream.write(_LENGTH.pack(len(data)) + data)
    stream.flush()


def receive(stream: BinaryIO) -> Any:
    """Read one message. Raises ``EOFError`` when the other side is gone."""
    head = stream.read(_LENGTH.size)
    if len(head) < _LENGTH.size:
        raise EOFError
    (size,) = _LENGTH.unpack(head)
    data = stream.read(size)
    if len(data) < size:
        raise EOFError
    return pickle.loads(data)


def prepare(setup: Any, outward: BinaryIO) -> bool:
    """Make the backend available here, and say who it is."""
    from .target import register_plugin

    try:
        register_plugin(setup.backend, setup.plugin)
        send(outward, ("ready", identity(setup.backend)))
    except (Exception, SystemExit):
        send(outward, ("failed", traceback.format_exc()))
        return False
    return True


def identity(backend: str) -> tuple[str, str]:
    """Distribution and version of a backend, as this process sees it."""
    from mytriton.plugins import selection

    loaded = selection.named(backend)
    return loaded.dist, loaded.version


def main() -> None:
    """Serve until the parent closes the pipe."""
    inward = os.fdopen(os.dup(0), "rb")
    outward = os.fdopen(os.dup(1), "wb")
    # Nobody else may read from or write to the pipes.
    null = os.open(os.devnull, os.O_RDONLY)
    os.dup2(null, 0)
    os.dup2(2, 1)
    faulthandler.enable()
    setup = receive(inward)
    sys.path[:] = setup.path
    from .fuzzing import FuzzJob, perform_fuzz
    from .job import Setup, clean_environment, perform
    from .target import load_cases

    with (
        tempfile.TemporaryDirectory(prefix="mytriton-conformance-") as cache,
        clean_environment(setup.stage, cache),
    ):
        if not prepare(setup, outward):
            return
        cases: dict[str, Any] = {}
        while True:
            try:
                message = receive(inward)
            except EOFError:
                return
            if isinstance(message, Setup):
                setup = message
                if not prepare(setup, outward):
                    return
                continue
            if isinstance(message, FuzzJob):
                send(outward, ("done", perform_fuzz(message)))
                continue
            # Loading the cases counts for the first job, and is done beside the parent.
            cases = cases or {case.id: case for case in load_cases(setup.case_modules)}
            records = perform(setup, cases, message, lambda text: send(outward, ("phase", text)))
            send(outward, ("done", records))


if __name__ == "__main__":
    main()
