"""A journal read back: which runs there were, and what each knew of its steps.

A journal is kept next to its plan, in a directory that others may write to: every record is checked, none is trusted
to be whole.
"""

from collections.abc import Iterable, Mapping
from typing import Any

from reconciler.apply.past_run import PastRun
from reconciler.apply.records import (
    JOURNAL,
    JOURNAL_FORMAT,
    JOURNAL_RECORDS,
    BridgesRecord,
    EndRecord,
    IntentRecord,
    OutcomesRecord,
    RunRecord,
    ThrottleRecord,
)
from reconciler.codec import SchemaError


class JournalError(Exception):
    """A record is not one of a journal that this version can read; ``str()`` says which one, and why."""


def past_runs(records: Iterable[Mapping[str, Any]]) -> tuple[PastRun, ...]:
    """Every run, oldest first; raises :class:`JournalError`."""
    runs: dict[str, PastRun] = {}
    for number, record in enumerate(records, start=1):
        try:
            _take(record, runs)
        except SchemaError as error:
            raise JournalError(f"record {number} is not one of a journal: {error}") from error
    return tuple(runs.values())


def _take(record: Mapping[str, Any], runs: dict[str, PastRun]) -> None:
    kind, version = record.get("record"), record.get("format")
    if kind == "run" and isinstance(version, int) and version > JOURNAL_FORMAT:
        raise SchemaError(f"{version} was written by a newer version", "format")
    name = record.get("run")
    if isinstance(kind, str) and kind not in JOURNAL_RECORDS and isinstance(name, str) and name in runs:
        return  # a kind of record that a newer version added
    match JOURNAL.read(record):
        case RunRecord(about=about, time=time):
            runs[about.run] = PastRun(about.run, about.plan_id, about.cluster.id, about.operator, about.commit, time)
        case IntentRecord(run=run, steps=steps):
            _run(runs, run).steps.update((step, None) for step in steps)
        case OutcomesRecord(run=run, outcomes=items):
            known = _run(runs, run)
            known.steps.update((item.step, item.outcome) for item in items)
            known.identities.update((item.step, item.identity) for item in items if item.identity)
        case EndRecord(run=run):
            _run(runs, run).ended = True
        case BridgesRecord(about=about) | ThrottleRecord(about=about):
            _run(runs, about.run)


def _run(runs: dict[str, PastRun], name: str) -> PastRun:
    if name not in runs:
        raise SchemaError(f"no run {name!r} has begun", "run")
    return runs[name]
