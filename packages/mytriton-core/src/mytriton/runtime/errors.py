"""Errors of launching and tuning, under the names Triton has for them."""

from __future__ import annotations

from ..errors import ArgumentError, MytritonError, SanitizerError
from ..plugins.errors import DeviceError, MytritonBackendError

#: A launch needs more of something than the device has.
OutOfResources = DeviceError
#: The assembler of a device refused the code.
PTXASError = MytritonBackendError
InterpreterError = SanitizerError


class AutotuneError(MytritonError, RuntimeError):
    """No configuration of an autotuner can be used; the message has the error of each."""


AutotunerError = AutotuneError


class TunedParameterError(ArgumentError, ValueError):
    """A launch sets a parameter that the autotuner sets."""


__all__ = [
    "AutotuneError", "AutotunerError", "InterpreterError", "OutOfResources", "PTXASError",
    "TunedParameterError",
]  # fmt: skip
