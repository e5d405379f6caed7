"""Which groups exist: for whoever has to know every name that somebody uses."""

from reconciler.adapters.kafka.client import AdminConnection
from reconciler.ports import ClusterError


def existing_groups(connection: AdminConnection) -> frozenset[str] | None:
    """The names of all groups, or ``None`` where some broker did not tell its own: a part would look like all.

    Who may DESCRIBE the cluster, as listing ACLs needs, sees every group (``KafkaApis.handleListGroupsRequest``).
    """
    timeout = connection.settings.request_timeout
    try:
        listed = connection.read(lambda: connection.admin.list_consumer_groups(request_timeout=timeout))
    except ClusterError:
        return None
    return None if listed.errors else frozenset(group.group_id for group in listed.valid)
