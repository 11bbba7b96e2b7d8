"""What a launch returns: three views of the compilation, built only when somebody looks."""

from __future__ import annotations

from collections.abc import Iterator
from copy import copy
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .specialisation import Specialisation


class LaunchResult:
    """Unpacks into ``(expression_ops, ssa_ops, src)``."""

    __slots__ = ("_specialisation", "launched")

    def __init__(self, specialisation: Specialisation, launched: bool) -> None:
        self._specialisation = specialisation
        #: Whether the kernel ran; false when it was only compiled.
        self.launched = launched

    @property
    def expression_ops(self) -> list[Any]:
        """Stores and loops of the expression tree, in program order."""
        return copy(self._specialisation.compiled.ops)

    @property
    def ssa_ops(self) -> list[Any]:
        """Optimised typed SSA."""
        return list(self._specialisation.function.body)

    @property
    def src(self) -> str:
        """The text the backend lowered to."""
        return self._specialisation.source.text

    @property
    def backend(self) -> str:
        """Name of the backend that was selected."""
        return str(self._specialisation.backend.name)

    @property
    def artifact(self) -> Any:
        """The compiled kernel, or ``None`` when it was only lowered."""
        return self._specialisation.artifact

    @property
    def function(self) -> Any:
        """The optimised kernel as an ``SSAFunction`` (``str`` of it is the module form)."""
        return self._specialisation.function

    def __iter__(self) -> Iterator[Any]:
        return iter((self.expression_ops, self.ssa_ops, self.src))

    def __len__(self) -> int:
        return 3

    def __getitem__(self, index: Any) -> Any:
        return (self.expression_ops, self.ssa_ops, self.src)[index]

    def __copy__(self) -> LaunchResult:
        return self

    def __deepcopy__(self, memo: Any) -> LaunchResult:
        return self

    def __reduce__(self) -> Any:
        raise TypeError(
            "a launch result holds compiled code and cannot be pickled; str(result.function) is text "
            "that mytriton.ir.parser.parse reads back"
        )

    def __repr__(self) -> str:
        name = self._specialisation.compiled.unoptimised.name
        done = "launched" if self.launched else "compiled only, not launched"
        return f"<{name} on {self.backend}: {done}>"
