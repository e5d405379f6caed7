"""The process that applies one cluster's plan for a fleet: a task on stdin, a result in a file."""

import json
import os
import sys
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from dataclasses import asdict, field
from typing import Any

from reconciler.adapters.atomic_write import write_atomically
from reconciler.adapters.process_memory import forbid_core_dumps
from reconciler.apply import Outcome, Result
from reconciler.dataclass import dataclass
from reconciler.workflow.applying import ApplyOptions, apply_plan
from reconciler.workflow.attendant import Unattended, stoppable
from reconciler.workflow.options import ConnectionOptions, MoveOptions
from reconciler.workflow.reasons import INTERRUPTED, WorkflowError
from reconciler.workflow.records import RecordOptions


@dataclass(frozen=True, slots=True)
class ChildTask:
    """What to apply, and where the result goes; paths are absolute. ``environment`` holds secrets: it comes by pipe."""

    plan_file: str
    manifests: str
    result_file: str
    plan_id: str
    journal: str | None
    operator: str | None
    connection: ConnectionOptions
    guardrails: str | None = None
    environment: Mapping[str, str] = field(default_factory=dict, repr=False)
    moves: MoveOptions = MoveOptions()

    def text(self) -> str:
        """As JSON."""
        return json.dumps(asdict(self))

    @classmethod
    def parse(cls, text: str) -> "ChildTask":
        """The inverse of :meth:`text`."""
        fields: dict[str, Any] = json.loads(text)
        given = fields.pop("connection")
        lists = {name: tuple(given[name]) for name in ("allow_env", "secrets_dirs")}
        connection = ConnectionOptions(**{**given, **lists})
        return cls(**{**fields, "connection": connection, "moves": MoveOptions(**fields["moves"])})


@dataclass(frozen=True, slots=True)
class ChildResult:
    """How it ended: ``reason`` is empty where every step's after-state is there, verified; else see ``reasons``."""

    reason: str
    message: str = ""
    done: int = 0
    already: int = 0

    def text(self) -> str:
        """As JSON."""
        return json.dumps(asdict(self), ensure_ascii=False)

    @classmethod
    def parse(cls, text: str) -> "ChildResult":
        """The inverse of :meth:`text`; raises ``ValueError`` or ``TypeError``."""
        return cls(**json.loads(text))


class _Child(Unattended):
    """Stopped by a signal, as a person stops an apply."""

    def interruptions(self) -> AbstractContextManager[Callable[[], bool]]:
        """By a signal."""
        return stoppable(lambda: None)


def main() -> None:
    """Apply, and write the result."""
    forbid_core_dumps()
    task = ChildTask.parse(sys.stdin.read())
    os.environ.update(task.environment)
    try:
        records = RecordOptions(task.journal, operator=task.operator)
        options = ApplyOptions(task.plan_id, records, guardrails=task.guardrails, moves=task.moves)
        result = apply_plan(task.plan_file, task.manifests, None, task.connection, options, attendant=_Child())
        ended = _ended(result)
    except WorkflowError as error:
        ended = ChildResult(error.reason, " ".join(f"{error.message} {error.advice}".split()))
    except KeyboardInterrupt:
        ended = ChildResult(INTERRUPTED, "interrupted")
    write_atomically(ended.text(), task.result_file)


def _ended(result: Result) -> ChildResult:
    done, already = result.count(Outcome.DONE), result.count(Outcome.ALREADY)
    if result.succeeded and not result.interrupted:
        return ChildResult("", "", done, already)
    counts = {outcome: result.count(outcome) for outcome in Outcome if outcome not in (Outcome.DONE, Outcome.ALREADY)}
    found = [result.stopped, *result.differences, *(f"{number} {name}" for name, number in counts.items() if number)]
    reason = INTERRUPTED if result.interrupted else WorkflowError.reason
    return ChildResult(reason, " ".join("; ".join(filter(None, found)).split()), done, already)
