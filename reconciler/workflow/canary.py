"""Whether ACLs decide on a cluster, asked before anything is planned: canaries, which are created and removed again."""

from reconciler.adapters.clock import SystemClock
from reconciler.apply import ApplyEnvironment, Identity, Silent, UnprovenError
from reconciler.apply.own_bindings import doubts
from reconciler.apply.run import Run, StoppedError
from reconciler.model import ClusterState, DesiredState, without_bridges
from reconciler.plan import Options, Request, propose
from reconciler.ports import ReadRequest
from reconciler.workflow.clusters import Target
from reconciler.workflow.options import ConnectionOptions, moment
from reconciler.workflow.probe import barrier_of
from reconciler.workflow.reasons import RequestError
from reconciler.workflow.records import RecordOptions, new_run
from reconciler.workflow.terms import terms


def canary_problem(target: Target, connection: ConnectionOptions) -> str:
    """Why it cannot be said that ACLs decide here; empty where the barrier's probe saw that they do.

    Writes: the first sentinels of a barrier, on names under ``__kr.<run>.``, and removes them. Raises a
    :class:`WorkflowError` where no probe is declared, or the cluster cannot be read.
    """
    with barrier_of(target, connection) as (barrier_for, redact):
        if barrier_for is None or target.declaration is None:
            raise RequestError(
                "a canary needs a probe: a principal without rights, as which brokers are asked",
                "declare barrier.principal in the Cluster document, and its login in the connections file",
            )
        live, present = target.read_whole(ReadRequest(all_topics=False)), terms(target.declaration)
        nothing = propose(DesiredState({}, {}), ClusterState(live.cluster_id), present, Request(moment(), Options()))
        identity = Identity(new_run(), RecordOptions().who())
        environment = ApplyEnvironment(target.cluster, SystemClock(), Silent(), identity=identity, redact=redact)
        run = Run(nothing, environment, without_bridges(live, present.default_allow), present.default_allow)
        barrier = barrier_for(run)
        problems = []
        try:
            barrier.start()
            barrier.wait()
        except (UnprovenError, StoppedError) as error:
            problems.append(redact(str(error)))
        finally:
            problems += [f"{binding}: could not be removed; “reconciler cleanup” does" for binding in barrier.end()]
        return "; ".join((*problems, *doubts(run)))
