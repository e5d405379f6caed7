"""A fleet planned: each cluster in a task, by the same code as a single plan; one plan of the fleet that names them."""

import dataclasses
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial

from reconciler import __version__
from reconciler.app.access_checks import checks_of
from reconciler.app.connections import as_operator_says
from reconciler.app.manifests import held_by
from reconciler.app.options import ClientNote, Note, PlanOptions, Tell, moment
from reconciler.app.planning import plan_on
from reconciler.app.reasons import PlanRefusedError, WorkflowError
from reconciler.dataclass import dataclass
from reconciler.manifest.manifests import Manifests
from reconciler.manifest.read.findings import Source
from reconciler.model.desired import moment_text
from reconciler.model.frozen import FrozenMap
from reconciler.parts.fleet.app.members import MemberConnections, opened_member
from reconciler.parts.fleet.engine import CLUSTERS_IN_A_TASK, Engine, in_time, reason
from reconciler.parts.fleet.membership import Fleet, same_cluster
from reconciler.parts.fleet.proposal import FleetPlan, Member, PlannedWave, Unmoved, limit_refusals
from reconciler.parts.fleet.tasks.comparing import loaded
from reconciler.plan.file import file_digest, ids, plan_text
from reconciler.plan.proposal import Plan
from reconciler.results.fleet_drift import Failure
from reconciler.show.verdicts import plan_words, unmoved_words


@dataclass(frozen=True, slots=True)
class MemberPlan:
    """What came of planning one cluster: a plan as ``text``, with what the fleet's plan says of it; else nothing to do.

    Or a ``failure``, by whose code there is no plan: ``refused`` (a guard), ``disagreed`` (a check), ``same_cluster``
    (another one answers with this ``cluster_id``), ``not_planned``, ``timed_out`` or ``unexpected``. ``unmoved`` is
    what a plan without a step says to look at. ``notes`` say how it was read otherwise than usual, and what a plan
    warns of that nobody saves.
    """

    cluster: str
    member: Member | None = None
    text: str = ""
    failure: Failure | None = None
    cluster_id: str = ""
    notes: str = ""
    unmoved: str = ""

    @classmethod
    def failed(cls, cluster: str, code: str, message: str, advice: str = "", cluster_id: str = "") -> "MemberPlan":
        """There is no plan."""
        return cls(cluster, failure=Failure(cluster, code, message, advice), cluster_id=cluster_id)

    def line(self) -> str:
        """What a task says: JSON without the plan's text, and that behind it, as it is: it is by far the most."""
        return f"{json.dumps(dataclasses.asdict(replace(self, text='')), ensure_ascii=False)}\n{self.text}"

    @classmethod
    def parse(cls, line: str) -> "MemberPlan":
        """The inverse of :meth:`line`."""
        head, _, text = line.partition("\n")
        fields = json.loads(head)
        if (member := fields["member"]) is not None:
            fields["member"] = Member(**{**member, "review": tuple(member["review"])})
        if fields["failure"] is not None:
            fields["failure"] = Failure(**fields["failure"])
        return cls(**{**fields, "text": text})


@dataclass(frozen=True, slots=True)
class PlanLimits:
    """How many clusters a task plans side by side, and in how many seconds each."""

    at_once: int = 4
    timeout: float = 300.0


@dataclass(frozen=True, slots=True)
class PlanTerms:
    """What every task needs to plan: manifests, options, the commit that the driver sees.

    ``guardrails`` are the texts that hold the manifests: their directory need not be where a task runs.
    """

    texts: tuple[Source, ...]
    connections: MemberConnections
    options: PlanOptions
    commit: str | None
    limits: PlanLimits = PlanLimits()
    guardrails: tuple[Source, ...] | None = None


@dataclass(frozen=True, slots=True)
class PlannedFleet:
    """The plan of a fleet, and the text of each cluster's plan; ``refusals`` say which limit of the fleet it breaks.

    ``notes`` say, by cluster, how it was read otherwise than usual.
    """

    plan: FleetPlan
    texts: dict[str, str]
    notes: Mapping[str, str] = FrozenMap()

    @property
    def refusals(self) -> tuple[str, ...]:
        """Where there is one, the plan must not be saved."""
        return tuple(limit_refusals(self.plan))


def plan_fleet(
    engine: Engine,
    sources: Sequence[Source],
    fleet: Fleet,
    connections: MemberConnections,
    options: PlanOptions = PlanOptions(),
    *,
    commit: str | None = None,
    limits: PlanLimits = PlanLimits(),
    guardrails: Sequence[Source] | None = None,
) -> PlannedFleet:
    """Compare every cluster of ``fleet`` with the manifests in ``sources``; nothing is written.

    A cluster that cannot be planned is in ``plan.failures`` with the reason; the others are planned. ``guardrails`` are
    the manifests in ``options.guardrails``, which hold the others. Raises :class:`PastTimeError` for a past time of
    live clusters.
    """
    connections.refuse_past(options.as_of)
    # One time for all members, whichever worker plans them.
    as_of = options.as_of or moment()
    options = replace(options, as_of=as_of)
    judging = None if guardrails is None else tuple(guardrails)
    terms = PlanTerms(tuple(sources), connections, options, commit, limits, judging)
    loaded(terms.texts)  # tasks that are forked from here then have them
    lists = engine.shared_out(fleet.clusters, max(limits.at_once, CLUSTERS_IN_A_TASK))
    lines = engine.run(lists, partial(plan_members, terms=terms), "plan clusters", tally=_tally)
    plans = _without_duplicates(list(map(MemberPlan.parse, lines)))
    notes = {item.cluster: item.notes for item in sorted(plans, key=lambda item: item.cluster) if item.notes}
    texts = {item.cluster: item.text for item in plans if item.text}
    return PlannedFleet(assembled(fleet, plans, moment_text(as_of), commit), texts, notes)


def _tally(line: str) -> Mapping[str, int]:
    plan = MemberPlan.parse(line)
    steps, deletes = (plan.member.steps, plan.member.deletes) if plan.member is not None else (0, 0)
    kinds = {"clusters differ": plan.member is not None, "not planned": plan.failure is not None}
    return {**kinds, "steps": steps, "deletions": deletes}


def _without_duplicates(plans: Sequence[MemberPlan]) -> list[MemberPlan]:
    """Without a plan for clusters that are one under several names: none of their connections is believed."""
    duplicates = same_cluster({item.cluster: item.cluster_id for item in plans})
    return [
        MemberPlan(item.cluster, failure=why) if (why := duplicates.get(item.cluster)) is not None else item
        for item in plans
    ]


def plan_members(clusters: Sequence[str], attempt: str, *, terms: PlanTerms) -> Iterator[str]:
    """The :meth:`MemberPlan.line` of each cluster."""
    try:
        manifests = as_operator_says(loaded(terms.texts), None, terms.connections.connection)
        if terms.guardrails is not None:
            manifests = held_by(manifests, terms.guardrails, terms.options.guardrails or "")
    except WorkflowError as error:
        yield from (MemberPlan.failed(name, "not_planned", f"{error}").line() for name in clusters)
        return
    most, seconds = terms.limits.at_once, terms.limits.timeout
    for name, planned in in_time(clusters, lambda name: _plan_one(name, manifests, terms), most, seconds):
        late = f"no plan in {seconds:g} s"
        plan = planned or MemberPlan.failed(name, "timed_out", late, "Is it reachable from here?")
        yield plan.line()


def _plan_one(name: str, manifests: Manifests, terms: PlanTerms) -> MemberPlan:
    notes: list[str] = []

    def tell(note: Note) -> None:
        if isinstance(note, ClientNote):
            notes.append(note.text)

    plan = _member_plan(name, manifests, terms, tell)
    return replace(plan, notes="; ".join(filter(None, (*notes, plan.notes))))


def _member_plan(name: str, manifests: Manifests, terms: PlanTerms, tell: Tell) -> MemberPlan:
    try:
        with opened_member(manifests.clusters[name], terms.connections, tell) as target:
            planned = plan_on(target, manifests, "", terms.options)
        answered = planned.live.cluster_id
        if checks_of(planned).stops:
            advice = "plan this cluster alone: that shows which of AccessTests, Ownership, TopicPolicy"
            return MemberPlan.failed(name, "disagreed", "policy checks failed", advice, answered)
    except PlanRefusedError as error:
        return MemberPlan.failed(name, "refused", error.message, error.advice)
    except WorkflowError as error:
        return MemberPlan.failed(name, "not_planned", error.message, error.advice)
    except Exception as error:  # one cluster's trouble, whatever it is, must not end the others
        return MemberPlan.failed(name, "unexpected", reason(error))
    return replace(_planned(name, replace(planned.plan, source_commit=terms.commit)), cluster_id=answered)


def _planned(name: str, plan: Plan) -> MemberPlan:
    if plan.stops or (plan.refused and not plan.steps):
        message = "; ".join(f"{refusal.guard}: {refusal.message}" for refusal in plan.refusals)
        return MemberPlan.failed(name, "refused", message, plan.refusals[0].remedy)
    if not plan.steps:
        warnings = "; ".join(dict.fromkeys((*plan.warnings, *plan.login_warnings)))
        return MemberPlan(name, notes=warnings, unmoved=unmoved_words(plan))
    text = plan_text(plan)
    return MemberPlan(name, member_of(name, plan, text), text)


def member_of(cluster: str, plan: Plan, text: str) -> Member:
    """What a fleet's plan says of the plan of a cluster; ``text`` is that plan's file."""
    change, whole = ids(plan)
    return Member(
        cluster,
        whole,
        change,
        f"plans/{cluster}.json",
        file_digest(text),
        len(plan.steps),
        sum(step.change.after is None for step in plan.steps),
        plan.estimated_seconds,
        len(plan.refused),
        len(plan.skipped),
        tuple(map(str, plan_words(plan))),
    )


def assembled(fleet: Fleet, plans: Iterable[MemberPlan], day: str, commit: str | None) -> FleetPlan:
    """The fleet's plan from what came of each cluster."""
    by_name = {item.cluster: item for item in plans}
    ordered = [by_name[name] for name in sorted(by_name)]
    return FleetPlan(
        fleet.name,
        day,
        tuple(
            PlannedWave(
                wave.name,
                tuple(member for name in wave.clusters if (member := by_name[name].member) is not None),
                wave.soak,
                wave.max_failures,
                tuple(name for name in wave.clusters if by_name[name].failure is not None),
            )
            for wave in fleet.waves
        ),
        tuple(item.cluster for item in ordered if not (item.member or item.failure or item.unmoved)),
        tuple(item.failure for item in ordered if item.failure is not None),
        fleet.limits,
        __version__,
        commit,
        tuple(Unmoved(item.cluster, item.unmoved) for item in ordered if item.unmoved),
    )
