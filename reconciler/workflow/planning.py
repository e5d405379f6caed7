"""A plan: a directory of manifests compared with a cluster, everything a reviewer needs with it."""

import datetime
from dataclasses import replace
from pathlib import Path
from typing import Final

from reconciler import __version__
from reconciler.access import TooMuchToDecideError
from reconciler.adapters.snapshot import SnapshotError, read_document
from reconciler.dataclass import dataclass
from reconciler.manifest import (
    ClusterDeclaration,
    Code,
    Manifests,
    Problem,
    cluster_warnings,
    standing_acknowledgements,
)
from reconciler.model import ClusterState, DesiredState
from reconciler.model.collector import without_collector
from reconciler.plan import (
    Guard,
    GuardAcknowledgement,
    Options,
    Plan,
    Request,
    Selection,
    UnsafeSelectionError,
    propose,
)
from reconciler.plan.guardrail_review import NO_GUARDRAILS, guardrail_review
from reconciler.report.cluster_test_results import ClusterTestResult
from reconciler.workflow.access_doubts import access_doubts
from reconciler.workflow.beside_acls import WHO_LOGS_IN, login_gaps
from reconciler.workflow.cluster_tests import decide_cluster_tests
from reconciler.workflow.clusters import Target
from reconciler.workflow.commits import source_commit
from reconciler.workflow.flavors import refuse_unstated
from reconciler.workflow.gaining import limits_beside, read_live, with_gaining
from reconciler.workflow.guardrails import guardrails_changed
from reconciler.workflow.left_throttles import left_throttles
from reconciler.workflow.manifests import desired
from reconciler.workflow.options import PlanOptions, moment, now
from reconciler.workflow.reasons import (
    NoAuthorizerError,
    PlanRefusedError,
    RequestError,
    TooMuchAccessError,
    WorkflowError,
)
from reconciler.workflow.terms import read_request, terms
from reconciler.workflow.topic_checks import Seen, look
from reconciler.workflow.topic_review import with_layout, with_uses

#: Of what validating warns, what a plan may do harm without: what nobody reads is deleted, what no broker knows is
#: refused half way. What only some releases refuse is decided by the cluster's own.
_TOLD_AGAIN: Final = frozenset({Code.FILE_NOT_READ, Code.UNKNOWN_SETTING})
_OPEN: Final = "this cluster has no authorizer, so it has no ACLs, and everybody may do everything"


@dataclass(frozen=True, slots=True)
class Planned:
    """A plan, the state that it was made from, and what the manifests declare; ``seen`` is for topic policies.

    ``servers`` are where the cluster was reached, ``host:port`` each, empty for a snapshot. No plan file holds them.
    ``cluster_tests`` is what came of claims about brokers and features, which only a drift report decides. ``unjudged``
    is what it could not compare: declared ACLs, where the cluster has no authorizer.
    """

    plan: Plan
    live: ClusterState
    declaration: ClusterDeclaration
    desired: DesiredState
    manifests: Manifests
    seen: Seen | None = None
    servers: tuple[str, ...] = ()
    cluster_tests: tuple[ClusterTestResult, ...] = ()
    unjudged: str = ""


def drift_on(target: Target, manifests: Manifests, path: str, as_of: datetime.date) -> Planned:
    """How a cluster that is open already differs from the manifests; see ``comparing.drift``."""
    options = PlanOptions(as_of=as_of, allow_deletes=True)
    try:
        planned = plan_on(target, manifests, path, options, guarded=False)
    except NoAuthorizerError:
        planned = _without_acls(target, manifests, path, options)
    tested = decide_cluster_tests(target, manifests, as_of)
    made = replace(planned.plan, guardrails=NO_GUARDRAILS)
    return replace(planned, plan=made, cluster_tests=tested)


def _without_acls(target: Target, manifests: Manifests, path: str, options: PlanOptions) -> Planned:
    """The comparison of all but ACLs: there are none, and nobody could create one."""
    planned = plan_on(target, manifests, path, options, acls=False, guarded=False)
    declared = desired(manifests, declared_for(target).name, options.as_of or moment()).bindings
    number = f"{len(declared):,} declared ACL{'s are' if len(declared) > 1 else ' is'} not compared: "
    unjudged = f"{number}{_OPEN}" if declared else ""
    counts = replace(planned.plan.counts, desired_bindings=len(declared))
    made = replace(planned.plan, counts=counts, warnings=(unjudged or _OPEN, *planned.plan.warnings))
    return replace(planned, plan=made, unjudged=unjudged)


def plan_on(
    target: Target,
    manifests: Manifests,
    path: str,
    options: PlanOptions,
    *,
    acls: bool = True,
    guarded: bool = True,
) -> Planned:
    """Plan for a cluster that is open already; ``path`` is asked for the commit of the manifests.

    Without ``acls``, on a cluster that cannot have any, of which a :class:`NoAuthorizerError` tells: for a report.
    Not ``guarded`` for a report as well: no guard leaves out a difference.
    """
    try:
        selection = Selection(options.only, options.exclude)  # before anything is asked of the cluster
    except ValueError as error:
        raise RequestError(str(error)) from error
    declaration = declared_for(target)
    as_of = options.as_of or moment()
    options = replace(options, as_of=as_of)
    wanted = desired(manifests, declaration.name, as_of)
    for problem in (*told_again(manifests), *cluster_warnings(manifests, declaration.name, as_of)):
        target.tell(problem)
    asking = read_request(declaration, wanted)
    if declaration.only_scram_logins:
        asking = asking.also(WHO_LOGS_IN)
    if not acls:
        asking, wanted = replace(asking, acls=False), replace(wanted, bindings={}, expired={})
    live, limiting = read_live(target, asking, wanted)
    # Whatever ACLs may hide, nothing is hidden where there are none.
    live = with_layout(live if acls else replace(live, topic_gap=None), wanted, target)
    expected = None if options.baseline is None else _baseline(options.baseline, declaration)
    asked = request_on(target, path, options, live)
    request = replace(
        asked,
        warnings=(*asked.warnings, *left_throttles(wanted, live)),
        options=Options(options.allow_deletes, selection),
        expected_live=expected,
        guarded=guarded,
    )
    try:
        with limits_beside(target, wanted, live, limiting) as limits, without_collector():
            made = with_gaining(propose(wanted, live, terms(declaration), request), limits)
        made = with_uses(made, target)
    except UnsafeSelectionError as error:
        raise PlanRefusedError(str(error)) from error
    except TooMuchToDecideError as error:
        raise TooMuchAccessError(error.limit) from error
    refuse_unstated(declaration, live, made)
    if declaration.only_scram_logins:
        made = replace(made, warnings=(*made.warnings, *login_gaps(made, live)))
    changes = () if options.base is None else guardrails_changed(options.base, path)
    made = replace(made, guardrails=guardrail_review(manifests, declaration.name, changes))
    seen = look(target, manifests, wanted, live)
    return Planned(made, live, declaration, wanted, manifests, seen, target.bootstrap_servers)


def told_again(manifests: Manifests) -> tuple[Problem, ...]:
    """The warnings of manifests that a plan repeats."""
    return tuple(problem for problem in manifests.warnings if problem.code in _TOLD_AGAIN)


def request_on(target: Target, path: str, options: PlanOptions, live: ClusterState) -> Request:
    """What is asked of planning on a declared cluster that was read as ``live``, but for what selects steps.

    ``path`` is asked for the commit of the manifests; where it is empty, there is none.
    """
    declaration = declared_for(target)
    as_of = options.as_of or moment()
    standing = standing_acknowledgements(declaration, as_of)
    declared = (GuardAcknowledgement(Guard(given.guard), given.object, given.reason or "") for given in standing)
    return Request(
        warnings=access_doubts(live, declaration),
        as_of=as_of,
        options=Options(options.allow_deletes),
        acknowledgements=(*declared, *options.accept),
        unsupported=target.unsupported,
        login=target.login,
        permit=declaration.secret_permit,
        tool_version=__version__,
        source_commit=source_commit(path) if path else None,
        going_on=frozenset(binding for leftover in target.going_on(live) for binding in leftover.bindings),
        created_at=f"{now():%Y-%m-%dT%H:%M:%SZ}",
    )


def declared_for(target: Target) -> ClusterDeclaration:
    """The declaration of a cluster that cannot do without."""
    if target.declaration is None:
        raise WorkflowError(f"cluster {target.name!r} is not declared in the manifests")
    return target.declaration


def _baseline(file: str, declaration: ClusterDeclaration) -> int:
    """How many bindings in scope an earlier snapshot has."""
    try:
        with Path(file).open(encoding="utf-8") as opened:
            before = read_document(opened).state
    except (SnapshotError, OSError, UnicodeDecodeError) as error:
        raise WorkflowError(f"the baseline {file} cannot be read: {error}") from error
    return sum(declaration.scope.owns(binding) for binding in before.bindings)
