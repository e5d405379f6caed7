"""Which groups exist."""

from typing import Final

from reconciler.adapters.clock import SystemClock
from reconciler.adapters.kafka.client import AdminConnection
from reconciler.ports import ClusterError
from reconciler.retry import attempts

_ATTEMPTS: Final = 2
#: Longer than brokers name one that has died (``broker.session.timeout.ms``, 9 s).
_PATIENCE_SECONDS: Final = 12.0


def existing_groups(connection: AdminConnection) -> frozenset[str] | None:
    """The names of all groups, or ``None`` if a broker did not list its own: a part must not look like the whole.

    A principal with DESCRIBE on CLUSTER, which listing ACLs needs too, sees every group
    (``KafkaApis.handleListGroupsRequest``).
    """
    timeout = min(connection.settings.request_timeout, _PATIENCE_SECONDS)
    # A broker that has died is asked for its own groups too, until the others stop naming it.
    for _ in attempts(SystemClock(), _ATTEMPTS):
        try:
            listed = connection.read(lambda: connection.admin.list_consumer_groups(request_timeout=timeout))
        except ClusterError:
            return None
        if not listed.errors:
            return frozenset(group.group_id for group in listed.valid)
    return None
