"""What a launch returns: views of the compilation, built only when somebody looks."""

from __future__ import annotations

from collections.abc import Iterator
from copy import copy
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .compiled import Asm, Metadata
    from .specialisation import Specialisation


class LaunchResult:
    """Unpacks into ``(expression_ops, ssa_ops, src)``. Also what ``kernel.warmup`` returns, and what
    Triton calls a ``CompiledKernel``: ``result[grid](*args)`` launches it once more."""

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

    @property
    def asm(self) -> Asm:
        """Stage to its text or bytes: ``"ssa"``, the backend's text, what the backend made of it.

        A stage that needs compiling is compiled when it is asked for.
        """
        from .compiled import Asm

        return Asm(self._specialisation)

    @property
    def metadata(self) -> Metadata:
        """What is known about the code: ``name``, ``num_warps``, ``shared``, ``target`` ..."""
        from .compiled import metadata

        return metadata(self._specialisation)

    @property
    def name(self) -> str:
        """The name of this variant (``jit(repr=)`` makes it)."""
        from .compiled import variant_name

        return variant_name(self._specialisation)

    @property
    def hash(self) -> str:
        """A digest of what was compiled."""
        from .compiled import digest

        return digest(self._specialisation)

    @property
    def kernel(self) -> Any:
        """The image that is loaded on the device, or the text where there is none."""
        return self.asm.binary

    @property
    def n_regs(self) -> int | None:
        """Registers of a thread; 1 where there are no such limits (on a CPU); ``None``: unknown."""
        from .compiled import resource

        return resource(self._specialisation, "registers", 1)

    @property
    def n_spills(self) -> int | None:
        """Bytes that registers spill; ``None``: unknown."""
        from .compiled import resource

        return resource(self._specialisation, "spill_bytes", 0)

    def _init_handles(self) -> None:
        """For programs written for Triton, where properties are there only after this call."""

    def __iter__(self) -> Iterator[Any]:
        return iter((self.expression_ops, self.ssa_ops, self.src))

    def __len__(self) -> int:
        return 3

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, tuple) or callable(index):
            from .compiled import Relauncher

            return Relauncher(self._specialisation, index)
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
