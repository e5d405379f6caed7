"""Problems of client settings, all reported at once, each with its key and what to do."""

from typing import NamedTuple


class SettingProblem(NamedTuple):
    """One problem of one setting. No text contains a secret value."""

    key: str
    message: str
    advice: str = ""


class SettingsError(Exception):
    """Client settings that cannot be used; ``problems`` is ordered by key."""

    def __init__(self, problems: tuple[SettingProblem, ...]) -> None:
        """``str()`` shows one line for each problem."""
        super().__init__("\n".join(f"{p.key}: {p.message}" for p in problems))
        self.problems = problems
