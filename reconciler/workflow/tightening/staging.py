"""A tightening first as a shadow: what it would have refused since, day by day, and the edit only on its day."""

import datetime
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from reconciler.codec.interface import SchemaError
from reconciler.dataclass import dataclass
from reconciler.fleet.tighten import Shadow, shadow, thin_evidence
from reconciler.fleet.tighten.stage import Stage, read_stage, stage_text
from reconciler.fleet.usage import Window
from reconciler.workflow.options import ConnectionOptions, StateRequest, Tell, ignore
from reconciler.workflow.reasons import RequestError, WorkflowError
from reconciler.workflow.tightening.proposal import (
    DEFAULTS,
    Tightening,
    TightenOptions,
    day_of,
    gathered,
    nothing_yet,
    proposed,
)
from reconciler.workflow.tightening.state import state_of


@dataclass(frozen=True, slots=True)
class Staged:
    """A stage with what it would have refused, and how the tightening stands: with an edit only on its day."""

    stage: Stage
    shadow: Shadow
    found: Tightening
    due: bool


def write_stage(file: str, found: Tightening, not_before: datetime.date, day: datetime.date) -> None:
    """Keep a proposal in a file that is not there yet, to be watched from that day on; raises a WorkflowError."""
    if not_before <= day:
        raise RequestError(f"{not_before} is not after {day}", "name a day to come")
    stage = Stage(found.cluster, day, not_before, found.narrowings)
    try:
        with Path(file).open("x", encoding="utf-8") as opened:
            opened.write(stage_text(stage))
    except OSError as error:
        raise WorkflowError(f"{file}: {error.strerror}") from error


def staged(
    request: StateRequest,
    logs: Sequence[str],
    file: str,
    options: TightenOptions = DEFAULTS,
    connection: ConnectionOptions = ConnectionOptions(),
    *,
    tell: Tell = ignore,
) -> Staged:
    """What a stage would have refused by the logs since its day; and on its day, what of it is proven and to be edited.

    What would have refused something is not proposed. On its day the logs have to show the whole window of a proposal.
    Raises a :class:`WorkflowError`.
    """
    stage = _read(file)
    place = request.path or connection.default_path
    base = state_of(request, connection, tell)
    name = base.scope.declaration.name
    if stage.cluster != name:
        raise RequestError(f"{file} is about cluster {stage.cluster}, this is {name}")
    evidence, summary = gathered(base, logs, Window(stage.since, options.window.until))
    declared = {right.binding for right in base.scope.rights}
    there = [one for one in stage.narrowings if declared.issuperset(one.bindings)]
    shown = shadow(base.authorizer, there, evidence)
    shown = replace(shown, gone=(*shown.gone, *(one for one in stage.narrowings if one not in there)))
    due = day_of(request) >= stage.not_before
    # Of the time since, all that there was has to be seen.
    bounds = replace(options.bounds, days=(stage.not_before - stage.since).days if due else 0, quarter_ends=0)
    thin = tuple(thin_evidence(evidence.period, summary, bounds, day_of(request)))
    if due and not thin:
        # Nobody's file lowers the bounds: on its day a stage only chooses among what a new run proposes.
        chosen = {binding for narrowing in shown.wanted for binding in narrowing.bindings}
        found = proposed(base, request, logs, options, connection, lambda one: chosen.issuperset(one.bindings))
        return Staged(stage, shown, found, due)
    return Staged(stage, shown, nothing_yet(base, place, evidence, summary, thin), due)


def _read(file: str) -> Stage:
    try:
        return read_stage(Path(file).read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError) as error:
        raise WorkflowError(f"{file} cannot be read: {error}") from error
    except SchemaError as error:
        raise WorkflowError(f"{file} is no stage of a tightening: {error}") from error
