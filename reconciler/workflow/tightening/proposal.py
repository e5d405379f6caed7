"""What the logs of one cluster show unused, as a proposal with its evidence and its proof."""

import datetime
from collections.abc import Callable, Mapping, Sequence
from dataclasses import field, replace
from typing import Final

from reconciler.dataclass import dataclass
from reconciler.edit.pages import read
from reconciler.fleet.tighten import (
    Held,
    Narrowing,
    Period,
    Thresholds,
    UsageEvidence,
    prove,
    suggest,
    thin_evidence,
)
from reconciler.fleet.tighten.evidence import period_of
from reconciler.fleet.usage import Summary, Window
from reconciler.model import AclBinding, Declaration
from reconciler.model.expiry import instant_of
from reconciler.report.access_view import Basis
from reconciler.workflow.declared_then import declared_then
from reconciler.workflow.editing import ManifestEdit, texts_of
from reconciler.workflow.options import ConnectionOptions, StateRequest, Tell, ignore
from reconciler.workflow.tightening.holding import holder, later_too, tests_hold
from reconciler.workflow.tightening.rewriting import RoleGrant, as_plain, broken_roles, edited
from reconciler.workflow.tightening.state import TightenBase, state_of
from reconciler.workflow.usage_evidence import Decisions, files_of, scanned


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
    holds = tests_hold(base.manifests, name, base.authorizer, request.at, live=base.live)
    rights, broken = scope.rights, frozenset[RoleGrant]()
    while True:
        suggested = suggest(rights, evidence, options.bounds, hold)
        chosen = [one for one in suggested.narrowings if only(one)]
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
