"""A second connection, as the principal without rights by which an apply asks brokers what they enforce."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from functools import partial

from reconciler.app.connections import ClusterAddress, address_of, settings_of
from reconciler.app.options import ConnectionOptions, moment
from reconciler.app.reasons import WorkflowError
from reconciler.app.records import RecordOptions, new_run
from reconciler.app.session import Target
from reconciler.app.terms import terms
from reconciler.apply.barrier import ProbeBarrier, ProbeSetup
from reconciler.apply.environment import Identity, NoLedger, Progress
from reconciler.apply.run import ApplyEnvironment, BarrierFactory, Run
from reconciler.kafka.settings import unused_logins
from reconciler.kafka.stores import superseded_keystores
from reconciler.manifest.parts.clusters import ClusterDeclaration
from reconciler.model.desired import DesiredState
from reconciler.model.state import ClusterState
from reconciler.plan.proposal import Options
from reconciler.plan.propose import Request, propose
from reconciler.ports import ClusterError, Ledger
from reconciler.system.process import SystemClock

#: What a login of another principal replaces as a whole.
_LOGIN = ("sasl.jaas.config", "sasl.username", "sasl.password")
_MECHANISM = ("sasl.mechanism", "sasl.mechanisms")


@contextmanager
def barrier_of(
    target: Target, connection: ConnectionOptions
) -> Iterator[tuple[BarrierFactory | None, Callable[[str], str]]]:
    """The barrier that asks brokers what they enforce; ``None`` where no probe is declared, and for a snapshot.

    With it, what takes the secrets of all connections out of a text.
    """
    declaration = target.declaration
    if declaration is None or declaration.probe is None or target.settings is None:
        yield None, str if target.settings is None else target.settings.redact
        return
    from reconciler.kafka.handshake import KafkaProbe

    if declaration.probe.principal in declaration.super_users:
        raise WorkflowError(
            f"the probe {declaration.probe.principal} is a super user: no ACL decides what it may do",
            "declare a principal without rights as barrier.principal",
        )
    settings = settings_of(target.name, _login(target.name, declaration, connection), connection)
    with ExitStack() as stack:
        try:
            probe, own = KafkaProbe(settings), KafkaProbe(target.settings)
        except ClusterError as error:
            raise WorkflowError(f"the barrier's probe cannot be used: {error}", error.advice) from error
        stack.callback(probe.close)
        stack.callback(own.close)
        setup = ProbeSetup(
            probe=probe,
            principal=declaration.probe.principal,
            own=own,
            own_principal=declaration.principal,
            own_is_super=declaration.principal in declaration.super_users,
            brokers=frozenset(declaration.brokers),
            seconds=declaration.probe.seconds,
        )
        yield partial(ProbeBarrier, setup), replace(settings, secrets=settings.secrets | target.settings.secrets).redact


def run_of_nothing(
    target: Target,
    declaration: ClusterDeclaration,
    live: ClusterState,
    redact: Callable[[str], str],
    operator: str | None = None,
    audit: Ledger | None = None,
) -> Run:
    """A run without steps, by which a barrier asks brokers what they enforce of what is there already."""
    present = terms(declaration)
    nothing = propose(DesiredState({}, {}), ClusterState(live.cluster_id), present, Request(moment(), Options()))
    identity = Identity(new_run(), RecordOptions(operator=operator).who())
    environment = ApplyEnvironment(
        target.cluster, SystemClock(), Progress(), identity=identity, audit=audit or NoLedger(), redact=redact
    )
    return Run(nothing, environment, live, present.default_allow)


def _login(name: str, declaration: ClusterDeclaration, options: ConnectionOptions) -> ClusterAddress:
    """The cluster's connection with the probe's own settings on top, without what another way of logging in leaves."""
    address = address_of(name, declaration, options)
    if not address.barrier_client:
        raise WorkflowError(
            "barrier.principal is declared, but nothing says how it logs in",
            "declare barrier.client, in the Cluster document or in the connections file, or barrier: {wait: 2s}",
        )
    client, own = dict(address.client), address.barrier_client
    if any(key in own for key in _LOGIN):
        client = {key: value for key, value in client.items() if key not in _LOGIN}
    if any(key in own for key in _MECHANISM):
        client = {key: value for key, value in client.items() if key not in _MECHANISM}
    idle = unused_logins({**client, **own}) | superseded_keystores(own)
    kept = {key: value for key, value in client.items() if key not in idle}
    return ClusterAddress(address.servers, {**kept, **own}, {}, f"{address.origin}, barrier")
