"""A known fault, as data."""

from pathlib import Path
from typing import Final, NamedTuple

ROOT: Final = Path(__file__).parents[2]


class Mutant(NamedTuple):
    """A fault in ``file`` (below ``reconciler/``), and the tests that must notice it."""

    file: str
    before: str
    after: str
    law: str
    tests: tuple[str, ...]

    def applied(self, source: str) -> str:
        """The source with the fault; raises ``ValueError`` where the text does not occur exactly once."""
        if source.count(self.before) != 1:
            raise ValueError(f"{self.file}: the fault “{self.law}” no longer fits the code")
        return source.replace(self.before, self.after)
