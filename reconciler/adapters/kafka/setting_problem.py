"""What is wrong with client settings: every problem at once, each with its key and what to do."""

from typing import NamedTuple


class SettingProblem(NamedTuple):
    """One problem of one setting. No secret value is in any of the texts."""

    key: str
    message: str
    advice: str = ""


class SettingsError(Exception):
    """Client settings that cannot be used; ``problems`` holds all of them, in the order of the keys."""

    def __init__(self, problems: tuple[SettingProblem, ...]) -> None:
        """Keeps the problems; ``str()`` shows a line for each."""
        super().__init__("\n".join(f"{p.key}: {p.message}" for p in problems))
        self.problems = problems
