"""``triton.heuristics``: compile-time arguments computed from the others at each launch."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ..errors import ArgumentError, MytritonError
from ..tracebacks import called, for_user
from .grid import Arguments
from .interface import KernelInterface, check_runs, jitted, names_of


class Heuristics(KernelInterface):
    """A kernel whose parameters in ``values`` are computed by functions of the arguments."""

    def __init__(
        self,
        fn: Any,
        arg_names: Sequence[str],
        values: Mapping[str, Callable[[dict[str, Any]], Any]],
    ) -> None:
        self.fn = fn
        self.arg_names = list(arg_names)
        self.values = values
        self._named_after(jitted(fn))
        if not isinstance(values, Mapping):
            raise ArgumentError(
                f"heuristics of kernel {self.__name__!r} are a dict of functions of the arguments, got "
                f"{values!r}"
            )
        for name, value in values.items():
            if not callable(value):
                raise ArgumentError(
                    f"heuristics of kernel {self.__name__!r}: {name} needs a function of the arguments, got "
                    f"{value!r}; write lambda args: {value!r}"
                )

    def run(self, /, *args: Any, **kwargs: Any) -> Any:
        """Compute the values in their order, each from the arguments and those before it, and
        launch."""
        check_runs(self.fn, "heuristics", self.__name__)
        given = {**dict(zip(self.arg_names, args)), **kwargs}
        for name in ("grid", "warmup"):  # of the launch
            given.pop(name, None)
        for name, value in self.values.items():
            found = called(f"heuristic {name!r}", value, Arguments(given))
            kwargs[name] = given[name] = found
        return self.fn.run(*args, **kwargs)

    def __repr__(self) -> str:
        return f"<triton.heuristics of {', '.join(self.values)} for {self.fn!r}>"


def heuristics(
    values: Mapping[str, Callable[[dict[str, Any]], Any]],
) -> Callable[[Any], Heuristics]:
    """Compute compile-time parameters: ``{"EVEN": lambda args: args["n"] % args["BLOCK"] == 0}``.

    Each function gets a dict of the arguments by name, with what an autotuner outside and the
    functions before it have set.
    """

    def decorator(fn: Any) -> Heuristics:
        try:
            return Heuristics(fn, names_of(fn), values)
        except MytritonError as error:
            raise for_user(error) from None

    return decorator
