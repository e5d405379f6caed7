"""The plan that reverts what runs of a saved plan performed, against the cluster as it is now."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from reconciler.access.interpretation import TooMuchToDecideError
from reconciler.app.cluster_checks import look
from reconciler.app.manifests import desired
from reconciler.app.options import ConnectionOptions, PlanOptions, Tell, ignore, moment
from reconciler.app.planning import Planned, declared_for, proposed, request_on, with_uses
from reconciler.app.reasons import RequestError, StaleError, TooMuchAccessError
from reconciler.app.records import earlier_runs, journal_of, saved_plan
from reconciler.app.session import Target, open_declared, refuse_another_time
from reconciler.app.terms import read_request, terms
from reconciler.apply.kinds import request_for
from reconciler.apply.kinds.interface import CreatedByRuns
from reconciler.apply.undo import doubts, identities, performed_steps, revert_steps
from reconciler.manifest.parts.clusters import ClusterDeclaration
from reconciler.model.desired import DesiredState, Origin
from reconciler.model.state import ClusterState
from reconciler.model.topic import TopicUse
from reconciler.plan.file import plan_id
from reconciler.plan.guards import guardrail_review
from reconciler.plan.kinds.topic import created_topics
from reconciler.plan.proposal import Plan
from reconciler.plan.refusal import AcceptedGuard, Guard, refusal
from reconciler.plan.step import Step
from reconciler.ports import ReadRequest


def undo(
    plan_file: str,
    path: str,
    options: PlanOptions = PlanOptions(),
    connection: ConnectionOptions = ConnectionOptions(),
    *,
    journal: str | None = None,
    run: str | None = None,
    cluster: str | None = None,
    tell: Tell = ignore,
) -> tuple[Planned, Plan]:
    """The plan that reverts the steps which the journal of a saved plan marks as done, and the saved plan.

    ``journal`` is a file, next to the plan unless given; ``run`` limits it to one run. ``cluster`` says where the
    plan's cluster is, if not where its document says. What cannot be restored is in the warnings of the plan. Of
    ``options``, nothing selects steps, and there is no base to compare with. Guardrails that held the plan may have
    changed since, and hold as they are now. Nothing is written; raises a :class:`WorkflowError`.
    """
    plan, _ = saved_plan(plan_file)
    if options.base is not None or options.only or options.baseline is not None:
        raise RequestError("the plan of an undo is of what runs did: it takes no base, selection or baseline")
    if plan.guardrails.digest is not None and options.guardrails is None:
        raise RequestError("this plan was made under guardrails: give them for its undo, too")
    where = cluster or plan.terms.cluster
    refuse_another_time(where, options.as_of)
    runs = earlier_runs(journal_of(plan_file, journal), plan_id(plan))
    chosen = [earlier for earlier in runs if run in (None, earlier.run)]
    if not chosen:
        names = ", ".join(earlier.run for earlier in runs) or "none"
        raise RequestError("the journal tells of no such run of this plan", f"it has: {names}")
    with open_declared(path, where, connection, tell, options.guardrails) as (manifests, target):
        declaration = declared_for(target)
        options = replace(options, as_of=options.as_of or moment())
        wanted = desired(manifests, declaration.name, options.as_of or moment())
        live = target.read(undo_request(plan, declaration, wanted))
        if live.cluster_id != plan.cluster_id:
            raise StaleError(f"the plan is for cluster {plan.cluster_id}, this is cluster {live.cluster_id}")
        steps = performed_steps(plan, chosen, live)
        evidence = CreatedByRuns(identities(chosen), _uses(steps, live, target))
        back = revert_steps(steps, live, declaration.scope, wanted, Origin(plan_file, 1, 1), evidence)
        # Only what the run touched: that manifests are silent about other topics or configs asks for nothing here.
        quiet = replace(terms(declaration), prune=frozenset(), ignore_configs=())
        request = request_on(target, path, options, live)
        undo_options = replace(request.options, undo=True)
        warnings = (*back.kept, *doubts(plan, chosen, live))
        accepted = _with_own(request.accepted, back.own)
        asked = replace(request, options=undo_options, warnings=warnings, report_topics=False, accepted=accepted)
        try:
            back_to = proposed(manifests, back.desired, live, quiet, asked, wanted.bindings)
            reverting = replace(_counted(back_to, back.own), guardrails=guardrail_review(manifests, declaration.name))
        except TooMuchToDecideError as error:
            raise TooMuchAccessError(error.limit) from error
        seen = look(target, manifests, wanted)
        return Planned(
            with_uses(reverting, target), live, declaration, wanted, manifests, seen, target.bootstrap_servers
        ), plan


def undo_request(plan: Plan, declaration: ClusterDeclaration, wanted: DesiredState) -> ReadRequest:
    """What any plan for this cluster has to see, and what this one touched."""
    asked, touched = read_request(declaration, wanted), request_for(plan)
    some = bool(touched.topic_names)
    return replace(
        asked,
        topic_names=touched.topic_names,
        listings=frozenset({*asked.listings, *touched.listings}),
        all_topics=asked.all_topics or some,
        broker_defaults=asked.broker_defaults or some,
        layout=touched.layout,
    )


def _uses(steps: Sequence[Step], live: ClusterState, target: Target) -> Mapping[str, TopicUse]:
    """What the topics hold that runs created and that are there."""
    names = [topic.name for topic in created_topics(step.change for step in steps) if topic.name in live.topics]
    return target.cluster.topic_uses(names) if names else {}


def _created(own: Sequence[str]) -> str:
    """What ``--accept topic-delete=`` takes for all of them at once: no topic has a colon in its name."""
    return f"created:{len(own)}"


def _with_own(given: Sequence[AcceptedGuard], own: Sequence[str]) -> tuple[AcceptedGuard, ...]:
    """What is accepted, with one for each topic where their number was accepted."""
    whole = AcceptedGuard(Guard.TOPIC_DELETE, _created(own))
    accepted = [
        acceptance for acceptance in given if (acceptance.guard, acceptance.object) == (whole.guard, whole.object)
    ]
    more = [replace(acceptance, object=name) for acceptance in accepted[:1] for name in own]
    return (*(acceptance for acceptance in given if acceptance not in accepted), *more)


def _counted(plan: Plan, own: Sequence[str]) -> Plan:
    """One refusal for all topics that are as the runs created them, and empty: their number stands for their names."""
    mine = [refused for refused in plan.refusals if refused.guard is Guard.TOPIC_DELETE and refused.object in own]
    if len(mine) < 2 or len(mine) < len(own):
        return plan
    message = (
        f"deletes {len(own):,} topics that this plan created: nobody has changed them since, and they hold no record"
    )
    others = tuple(refused for refused in plan.refusals if refused not in mine)
    return replace(plan, refusals=(refusal(Guard.TOPIC_DELETE, _created(own), message), *others))
