"""What the logs of one cluster show unused, as a proposal with its evidence and its proof."""

import datetime
from collections.abc import Callable, Mapping, Sequence
from dataclasses import field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Final

from reconciler.app.options import ConnectionOptions, StateRequest, Tell, ignore
from reconciler.app.reasons import RequestError, WorkflowError
from reconciler.app.states import declared_then
from reconciler.codec.codec import SchemaError
from reconciler.dataclass import dataclass
from reconciler.manifest.write.pages import read
from reconciler.model.acl import AclBinding
from reconciler.model.desired import Declaration, instant_of
from reconciler.parts.edit.app.editing import ManifestEdit, texts_of
from reconciler.parts.evidence.app.holding import (
    RoleGrant,
    TightenBase,
    as_plain,
    broken_roles,
    edited,
    holder,
    later_too,
    state_of,
    tests_hold,
)
from reconciler.parts.evidence.app.usage import Decisions, files_of, scanned
from reconciler.parts.evidence.show.usage import held_entry, narrowed_entry, period_words, stage_entry
from reconciler.parts.evidence.tighten.evidence import Period, UsageEvidence, period_of
from reconciler.parts.evidence.tighten.proof import Shadow, Stage, prove, read_stage, shadow, stage_text
from reconciler.parts.evidence.tighten.suggestion import Held, Narrowing, Thresholds, suggest, thin_evidence
from reconciler.parts.evidence.usage.message import Window
from reconciler.parts.evidence.usage.scan import Summary
from reconciler.results.access import Basis
from reconciler.results.tightened import FailedClusterEntry, FleetTightenOutput, TightenOutput

if TYPE_CHECKING:
    from reconciler.parts.fleet.app.tighten import FleetTightening


@dataclass(frozen=True, slots=True)
class TightenOptions:
    """Which days of the logs count, the bounds, and whether rules of unknown age may be narrowed."""

    window: Window = field(default_factory=Window)
    bounds: Thresholds = field(default_factory=Thresholds)
    any_age: bool = False


DEFAULTS: Final = TightenOptions()


@dataclass(frozen=True, slots=True)
class Tightening:
    """What to narrow on one cluster, what is held and why, and the edit; ``thin``: why nothing is proposed at all.

    ``decisions`` counts permitted accesses, ``places`` where each right is declared.
    """

    cluster: str
    basis: Basis
    period: Period
    summary: Summary
    edit: ManifestEdit
    decisions: int = 0
    thin: tuple[str, ...] = ()
    narrowings: tuple[Narrowing, ...] = ()
    held: tuple[Held, ...] = ()
    replayed: int = 0
    places: Mapping[AclBinding, Declaration] = field(default_factory=dict)


def tighten(
    request: StateRequest,
    logs: Sequence[str],
    options: TightenOptions = DEFAULTS,
    connection: ConnectionOptions = ConnectionOptions(),
    *,
    tell: Tell = ignore,
) -> Tightening:
    """What the logs of a cluster's brokers show unused among the rights that the manifests declare for it.

    Rights are those of the declared state, or with a cluster in ``request`` of the cluster with everything in scope as
    declared. Raises a :class:`WorkflowError`, also where the proven proposal cannot be written.
    """
    return proposed(state_of(request, connection, tell), request, logs, options, connection)


def proposed(
    base: TightenBase,
    request: StateRequest,
    logs: Sequence[str],
    options: TightenOptions,
    connection: ConnectionOptions,
    only: Callable[[Narrowing], bool] = lambda _: True,
) -> Tightening:
    """The same for a state that is known; of what is suggested, ``only`` some."""
    place = request.path or connection.default_path
    evidence, summary = gathered(base, logs, options.window)
    thin = tuple(thin_evidence(evidence.period, summary, options.bounds, day_of(request)))
    found = nothing_yet(base, place, evidence, summary, thin)
    if thin:
        return found
    scope, name = base.scope, base.scope.declaration.name
    first = evidence.period.first
    then = None if options.any_age or first is None else declared_then(place, name, first, connection)
    others = {other: state.bindings for other, state in scope.book.desired.items() if other != name}
    hold = holder(scope, None if options.any_age else (then, first), others)
    holds = tests_hold(base.manifests, name, base.authorizer, request.at, live=base.live, held=base.held)
    rights, broken = scope.rights, frozenset[RoleGrant]()
    while True:
        suggested = suggest(rights, evidence, options.bounds, hold)
        chosen = [narrowing for narrowing in suggested.narrowings if only(narrowing)]
        lasting = later_too(holds, base.authorizer, scope.desired, chosen, request.at)
        proven = prove(base.authorizer, chosen, evidence, lasting)
        made = edited(place, texts_of(base.manifests), {name: proven.narrowings}, request.at, connection)
        more = broken_roles(read(made.after), name, rights, proven.narrowings) if made.files else frozenset()
        if not more:
            break
        broken |= more
        rights = as_plain(scope.rights, broken)
    held = tuple(sorted({*suggested.held, *proven.held}))
    return replace(found, edit=made, narrowings=proven.narrowings, held=held, replayed=proven.replayed)


def nothing_yet(
    base: TightenBase, place: str, evidence: UsageEvidence, summary: Summary, thin: tuple[str, ...]
) -> Tightening:
    """What was seen, with nothing proposed."""
    return Tightening(
        base.view.cluster,
        base.view.basis,
        evidence.period,
        summary,
        ManifestEdit(place, texts_of(base.manifests)),
        decisions(evidence),
        thin,
        places=base.scope.desired.bindings,
    )


def gathered(base: TightenBase, logs: Sequence[str], window: Window) -> tuple[UsageEvidence, Summary]:
    """What the logs show of the state, and what reading them was like."""
    counted: Decisions = {}
    summary = Summary()
    for file in files_of(logs):
        summary += scanned(file, window, base.cluster_id, counted, by_day=True)
    evidence = UsageEvidence(base.authorizer.bindings, base.authorizer.kafka_version)
    evidence.period = period_of(summary.days, window.since, window.until)
    for event, (count, days) in counted.items():
        evidence.see(event, count, days)
    return evidence, summary


def decisions(evidence: UsageEvidence) -> int:
    """How many permitted accesses there were."""
    return sum(access.tally.times for found in evidence.accesses.values() for access in found)


def day_of(request: StateRequest) -> datetime.date:
    """The day in UTC on which it is asked."""
    return instant_of(request.at).date()


# A tightening first as a shadow: what it would have refused since, day by day, and the edit only on its day.


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
    there = [item for item in stage.narrowings if declared.issuperset(item.bindings)]
    shown = shadow(base.authorizer, there, evidence)
    shown = replace(shown, gone=(*shown.gone, *(item for item in stage.narrowings if item not in there)))
    due = day_of(request) >= stage.not_before
    # Of the time since, all that there was has to be seen.
    bounds = replace(options.bounds, days=(stage.not_before - stage.since).days if due else 0, quarter_ends=0)
    thin = tuple(thin_evidence(evidence.period, summary, bounds, day_of(request)))
    if due and not thin:
        # Nobody's file lowers the bounds: on its day a stage only chooses among what a new run proposes.
        chosen = {binding for narrowing in shown.wanted for binding in narrowing.bindings}
        found = proposed(base, request, logs, options, connection, lambda item: chosen.issuperset(item.bindings))
        return Staged(stage, shown, found, due)
    return Staged(stage, shown, nothing_yet(base, place, evidence, summary, thin), due)


def _read(file: str) -> Stage:
    try:
        return read_stage(Path(file).read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError) as error:
        raise WorkflowError(f"{file} cannot be read: {error}") from error
    except SchemaError as error:
        raise WorkflowError(f"{file} is no stage of a tightening: {error}") from error


# A tightening as the value that reports are made from.


def tighten_output(found: Tightening, watched: Staged | None = None) -> TightenOutput:
    """What was found, with how its stage stands."""
    places = dict(found.places)
    return TightenOutput(
        found.cluster,
        found.basis.value,
        **period_words(found.period),
        permitted=found.decisions,
        thin=found.thin,
        narrowed=tuple(narrowed_entry(narrowing, places) for narrowing in found.narrowings),
        held=tuple(held_entry(item, places) for item in found.held),
        decided_again=found.replayed,
        stage=None if watched is None else stage_entry(watched.stage, watched.shadow, due=watched.due),
    )


def fleet_tighten_output(found: "FleetTightening") -> FleetTightenOutput:
    """What was found on each cluster, and of which nothing is known."""
    failed = tuple(FailedClusterEntry(name, why) for name, why in found.failed.items())
    return FleetTightenOutput(tuple(map(tighten_output, found.clusters)), failed)
