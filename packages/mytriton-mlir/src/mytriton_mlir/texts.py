"""What an inspection shows of a compiled kernel, by the names of the stages: made when somebody asks."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Mapping, Sequence

Text = str | bytes


class Made(Mapping[str, Text]):
    """Texts of ``stages``; those in ``made`` are there already, ``make`` gives the others."""

    def __init__(self, stages: Sequence[str], made: Mapping[str, Text]) -> None:
        self._stages = tuple(stages)
        self._made = dict(made)

    @abstractmethod
    def make(self, stage: str) -> Mapping[str, Text]:
        """The text of a stage, and of others that are made on the way."""

    def __getitem__(self, stage: str) -> Text:
        if stage not in self._stages:
            raise KeyError(stage)
        if stage not in self._made:
            self._made.update(self.make(stage))
        return self._made[stage]

    def __iter__(self) -> Iterator[str]:
        return iter(self._stages)

    def __len__(self) -> int:
        return len(self._stages)
