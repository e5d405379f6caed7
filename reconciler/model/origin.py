"""Where in the manifests something was declared."""

from typing import NamedTuple


class Origin(NamedTuple):
    """A place in a manifest: path relative to the manifests' root with ``/``, line and column from 1."""

    file: str
    line: int
    column: int

    def __str__(self) -> str:
        """``teams/payments.yaml:12:7``."""
        return f"{self.file}:{self.line}:{self.column}"
