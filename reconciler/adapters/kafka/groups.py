"""Which groups exist."""

from reconciler.adapters.kafka.client import AdminConnection
from reconciler.ports import ClusterError


def existing_groups(connection: AdminConnection) -> frozenset[str] | None:
    """The names of all groups, or ``None`` if a broker did not list its own: a part must not look like the whole.

    A principal with DESCRIBE on CLUSTER, which listing ACLs needs too, sees every group
    (``KafkaApis.handleListGroupsRequest``).
    """
    timeout = connection.settings.request_timeout
    try:
        listed = connection.read(lambda: connection.admin.list_consumer_groups(request_timeout=timeout))
    except ClusterError:
        return None
    return None if listed.errors else frozenset(group.group_id for group in listed.valid)
