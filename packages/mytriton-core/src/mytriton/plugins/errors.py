"""What can go wrong between core and a backend: codes MT-B01 to MT-B10, and warnings.

Every error is also an instance of what a Python programmer would expect (``ImportError``,
``NotImplementedError``, ...) and of what the articles raise: an unknown backend is a
``ValueError``, a declined operation a ``TypeError``. Texts are made in ``messages``.
"""

from __future__ import annotations

from typing import Any, ClassVar

from ..errors import MytritonError, Span, format_error


class MytritonBackendError(MytritonError):
    """Base of the errors about backends.

    ``code`` identifies the kind, ``backend`` the backend, ``requested_by`` who asked for it
    (``"MYTRITON_BACKEND"``), ``hint`` what to do, ``report`` the ``SelectionReport``, if any.
    """

    code: ClassVar[str] = "MT-B00"

    def __init__(
        self,
        message: str,
        *,
        backend: str = "",
        requested_by: str = "",
        hint: str = "",
        report: Any = None,
    ) -> None:
        super().__init__(message)
        self.message = message
        self.backend = backend
        self.requested_by = requested_by
        self.hint = hint
        self.report = report

    def __str__(self) -> str:
        return f"{self.code}: {self.message}"

    def again(self, requested_by: str = "") -> MytritonBackendError:
        """The same error to raise once more (one object raised twice would collect tracebacks)."""
        new = type(self)(
            self.message, backend=self.backend, requested_by=requested_by, hint=self.hint
        )
        new.__cause__ = self.__cause__
        return new


class UnknownBackendError(MytritonBackendError, LookupError, ValueError):
    """MT-B01: no backend has this name, and none is known to exist under it."""

    code = "MT-B01"


class BackendNotInstalledError(MytritonBackendError, ImportError, ValueError):
    """MT-B02: the backend exists but its distribution is not installed."""

    code = "MT-B02"


class BackendLoadError(MytritonBackendError, ImportError):
    """MT-B03: the backend is installed but its module fails to import."""

    code = "MT-B03"


class BackendIncompatibleError(MytritonBackendError, ImportError):
    """MT-B04: the backend is built for another hook API or another version of core."""

    code = "MT-B04"


class NoBackendClaimedError(MytritonBackendError, RuntimeError, TypeError):
    """MT-B05: nothing that is installed can run this launch."""

    code = "MT-B05"


class DuplicateBackendError(MytritonBackendError, ImportError):
    """MT-B06: the name is provided twice, or is reserved for core."""

    code = "MT-B06"


class BackendUnavailableError(MytritonBackendError, RuntimeError):
    """MT-B07: the backend loads but cannot work here (no device, no toolchain, switched off)."""

    code = "MT-B07"


class BackendDeclinedError(MytritonBackendError, NotImplementedError, TypeError):
    """MT-B08: the backend that was named cannot run this kernel or take these arguments."""

    code = "MT-B08"


class PluginInterfaceError(MytritonBackendError, TypeError):
    """MT-B09: a plugin does not keep to the hook specifications."""

    code = "MT-B09"


class ClaimBrokenError(MytritonBackendError, NotImplementedError, TypeError):
    """MT-B10: a backend claimed a kernel and then could not lower or compile it."""

    code = "MT-B10"


class UnsupportedFeature(MytritonError, NotImplementedError, TypeError):
    """Raised by a backend that meets an operation it cannot lower.

    ``feature`` is the id (``"reduce.sum"``); ``span`` the position in the user's source. A backend
    whose capability table is right raises it for nothing that core lets through.
    """

    def __init__(self, feature: str, reason: str = "", span: Span | None = None) -> None:
        super().__init__(feature)
        self.feature = feature
        self.reason = reason
        self.span = span

    def __str__(self) -> str:
        text = f"unsupported: {self.feature}" + (f" ({self.reason})" if self.reason else "")
        return format_error(text, self.span)


class DeviceError(MytritonError, RuntimeError):
    """No device provider for a kind of device, or one that failed."""


class MytritonPluginWarning(UserWarning):
    """A plugin misbehaves; core goes on without it."""


class BackendSkippedWarning(UserWarning):
    """A backend that is installed and ranks higher was passed over."""


class UnknownVariableWarning(UserWarning):
    """A ``MYTRITON_*`` variable nobody reads, or a name in one that means nothing."""


class ClaimBrokenWarning(UserWarning):
    """MT-B10: a backend claimed a kernel, could not compile it, and another one was tried."""
