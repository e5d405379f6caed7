"""A journal read back: which runs there were, and what each knew of its steps.

A journal lies beside a plan, in a directory that others may write to: every record is checked, none is trusted to
be whole.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from reconciler.apply.outcome import Outcome
from reconciler.apply.records import JOURNAL_FORMAT


class JournalError(Exception):
    """The records are no journal that this version can read; ``str()`` says which one, and why."""


@dataclass(slots=True)
class PastRun:
    """A run as its journal tells it.

    ``steps`` maps a step's id to its outcome; ``None``: it was sent, and no more is known.
    """

    run: str
    plan_id: str
    cluster_id: str
    operator: str
    commit: str | None
    time: str
    steps: dict[str, Outcome | None] = field(default_factory=dict)
    ended: bool = False

    @property
    def performed(self) -> frozenset[str]:
        """Steps that this run is known to have performed."""
        return frozenset(step for step, outcome in self.steps.items() if outcome is Outcome.DONE)

    @property
    def doubtful(self) -> frozenset[str]:
        """Steps that this run sent without learning what became of them."""
        return frozenset(step for step, outcome in self.steps.items() if outcome in (None, Outcome.UNKNOWN))


def past_runs(records: Iterable[Mapping[str, Any]]) -> tuple[PastRun, ...]:
    """Every run, oldest first; raises :class:`JournalError`."""
    runs: dict[str, PastRun] = {}
    for number, record in enumerate(records, start=1):
        try:
            _take(record, runs)
        except (KeyError, TypeError, ValueError) as error:
            raise JournalError(f"record {number} is none of a journal: {error!r}") from error
    return tuple(runs.values())


def _take(record: Mapping[str, Any], runs: dict[str, PastRun]) -> None:
    match record:
        case {"record": "run", "format": int(version), "run": str(name)}:
            if version > JOURNAL_FORMAT:
                raise ValueError(f"format {version} was written by a newer version")
            runs[name] = _opened(record, name)
        case {"record": "intent", "run": str(name), "steps": list(steps)}:
            runs[name].steps.update((_text(step), None) for step in steps)
        case {"record": "outcomes", "run": str(name), "outcomes": list(items)}:
            runs[name].steps.update((_text(item["step"]), Outcome(item["outcome"])) for item in items)
        case {"record": "end", "run": str(name)}:
            runs[name].ended = True
        case {"record": str(), "run": str(name)} if name in runs:
            pass  # a kind of record that a newer version added
        case _:
            raise ValueError("unknown fields")


def _opened(record: Mapping[str, Any], name: str) -> PastRun:
    commit = record["commit"]
    return PastRun(
        name,
        _text(record["planId"]),
        _text(record["cluster"]["id"]),
        _text(record["operator"]),
        None if commit is None else _text(commit),
        _text(record["time"]),
    )


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise TypeError(f"{type(value).__name__} where a text belongs")
    return value
