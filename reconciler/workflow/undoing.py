"""The plan that reverts what runs of a saved plan performed, against the cluster as it is now."""

from dataclasses import replace

from reconciler.access import TooMuchToDecideError
from reconciler.apply import request_for
from reconciler.apply.undo import doubts, performed_steps, revert_steps
from reconciler.manifest import ClusterDeclaration
from reconciler.model import DesiredState, Origin
from reconciler.plan import Plan, plan_id, propose
from reconciler.ports import ReadRequest
from reconciler.workflow.clusters import open_declared, refuse_another_time
from reconciler.workflow.manifests import desired
from reconciler.workflow.options import ConnectionOptions, PlanOptions, Tell, ignore, moment
from reconciler.workflow.planning import Planned, declared_for, request_on
from reconciler.workflow.reasons import RequestError, StaleError, TooMuchAccessError
from reconciler.workflow.records import earlier_runs, journal_of
from reconciler.workflow.saved_plans import saved_plan
from reconciler.workflow.terms import read_request, terms
from reconciler.workflow.topic_checks import look
from reconciler.workflow.topic_review import with_uses


def undo(
    plan_file: str,
    path: str,
    options: PlanOptions = PlanOptions(),
    connection: ConnectionOptions = ConnectionOptions(),
    *,
    journal: str | None = None,
    run: str | None = None,
    tell: Tell = ignore,
) -> tuple[Planned, Plan]:
    """The plan that reverts the steps which the journal of a saved plan marks as done, and the saved plan.

    ``journal`` is a file, next to the plan unless given; ``run`` limits it to one run. What cannot be restored is in
    the warnings of the plan. Of ``options``, nothing selects steps. Nothing is written; raises a
    :class:`WorkflowError`.
    """
    plan, _ = saved_plan(plan_file)
    refuse_another_time(plan.terms.cluster, options.as_of)
    runs = earlier_runs(journal_of(plan_file, journal), plan_id(plan))
    chosen = [known for known in runs if run in (None, known.run)]
    if not chosen:
        known = ", ".join(known.run for known in runs) or "none"
        raise RequestError("the journal tells of no such run of this plan", f"it has: {known}")
    with open_declared(path, plan.terms.cluster, connection, tell) as (manifests, target):
        declaration = declared_for(target)
        options = replace(options, as_of=options.as_of or moment())
        wanted = desired(manifests, declaration.name, options.as_of or moment())
        live = target.read(undo_request(plan, declaration, wanted))
        if live.cluster_id != plan.cluster_id:
            raise StaleError(f"the plan is for cluster {plan.cluster_id}, this is cluster {live.cluster_id}")
        steps = performed_steps(plan, chosen, live)
        back = revert_steps(steps, live, declaration.scope, wanted, Origin(plan_file, 1, 1))
        # Only what the run touched: that manifests are silent about other topics or configs is no wish here.
        quiet = replace(terms(declaration), prune=frozenset(), ignore_configs=())
        request = request_on(target, path, options, live)
        wishes = replace(request.options, undo=True)
        asked = replace(
            request, options=wishes, warnings=(*back.kept, *doubts(plan, chosen, live)), report_topics=False
        )
        try:
            reverting = propose(back.desired, live, quiet, asked)
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
