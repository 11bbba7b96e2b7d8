"""``mytriton inspect FILE:KERNEL``: every stage of a kernel, in the terminal or as one HTML file."""

from __future__ import annotations

import argparse
import contextlib
import sys
from typing import Any

from . import NO, OK, USAGE, output
from .kernels import UsageError, add_arguments, arguments, grid_of, load_kernel


def add(commands: Any) -> argparse.ArgumentParser:
    parser: argparse.ArgumentParser = commands.add_parser(
        "inspect",
        help="every stage of a kernel, from source to machine code",
        description="Compile a kernel for described arguments and show each stage. The file is"
        " imported (not as __main__); nothing is launched.",
    )
    add_arguments(parser)
    parser.add_argument("--html", metavar="OUT.html", help="write one self-contained page")
    parser.add_argument("--stage", metavar="NAME", help="print only this stage (source, ssa, ...)")
    return parser


def run(options: argparse.Namespace) -> int:
    from ..errors import MytritonError
    from ..plugins.errors import MytritonBackendError, UnknownBackendError
    from ..plugins.sources import naming

    try:
        with contextlib.redirect_stdout(sys.stderr), naming("--backend"):
            kernel = load_kernel(options.kernel)
            given = arguments(options, kernel)
            found = kernel.inspect(grid=grid_of(options.grid), backend=options.backend, **given)
            text = None if options.stage is None else found[options.stage]
    except KeyError as e:
        output.error(str(e.args[0]))
        return USAGE
    except (UsageError, MytritonError, TypeError) as e:
        output.error(str(e))
        # Of a backend that exists and is not here the answer is no; any other name is a mistake.
        about_backend = isinstance(e, MytritonBackendError)
        return NO if about_backend and not isinstance(e, UnknownBackendError) else USAGE
    if options.html:
        try:
            path = found.save(options.html)
        except OSError as e:
            output.error(f"cannot write {options.html}: {e.strerror}")
            return USAGE
        print(f"wrote {path} ({path.stat().st_size // 1024} KiB): open it in a browser")
    elif text is not None:
        print(text, end="")
    else:
        found.page()
    return OK
