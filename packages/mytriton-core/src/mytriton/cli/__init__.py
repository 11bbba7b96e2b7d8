"""The command ``mytriton``. Each subcommand is a module with ``add`` and ``run``."""

from __future__ import annotations

import sys
from collections.abc import Sequence

#: Exit codes, the same for every subcommand.
OK, NO, USAGE, INTERRUPTED = 0, 1, 2, 130

EPILOG = """\
exit codes:
  0    done; the answer is yes (the backend is ready, none is broken, the kernel would run)
  1    done; the answer is no
  2    wrong usage: no such file, kernel, backend or option, or a kernel that does not compile
  130  interrupted

Output is plain text when it is not a terminal; NO_COLOR=1 switches colours off.
"""


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command and return its exit code. Wrong options raise ``SystemExit(2)``, and
    ``--help`` ``SystemExit(0)``, as argparse does."""
    import argparse

    from . import backends, cache, doctor, explain, info, inspect

    parser = argparse.ArgumentParser(
        prog="mytriton",
        description="Look at mytriton's backends, and at what runs where.",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action="store_true", help="print the version of mytriton-core")
    commands = parser.add_subparsers(dest="command", metavar="COMMAND")
    for module in (backends, doctor, explain, inspect, info, cache):
        sub = module.add(commands)
        sub.epilog = EPILOG
        sub.formatter_class = argparse.RawDescriptionHelpFormatter
        sub.set_defaults(run=module.run)
    options = parser.parse_args(argv)
    if options.version:
        from ..plugins.versions import core_version

        print(f"mytriton-core {core_version()}")
        return OK
    if options.command is None:
        parser.print_help()
        return USAGE
    try:
        return int(options.run(options))
    except KeyboardInterrupt:
        return INTERRUPTED
    except BrokenPipeError:
        # The reader (`| head`) has seen enough.
        sys.stderr.close()
        return OK
