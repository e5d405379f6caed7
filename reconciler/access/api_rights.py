"""What the APIs permit: some accept a right on another resource in place of the one on the resource itself."""

from typing import Final

from reconciler.access.authorizer import may_on_some_resource
from reconciler.access.interpretation import Interpretation
from reconciler.access.names import NameSet, literal
from reconciler.access.operations import bits
from reconciler.model.acl import CLUSTER_NAME, AclOperation, ResourceType

CLUSTER_NAMES: Final = literal(CLUSTER_NAME)
#: What CLUSTER grants on every topic; a DENY on a topic does not limit it.
ON_EVERY_TOPIC: Final = bits([AclOperation.CREATE, AclOperation.DELETE])
#: What WRITE on any topic grants on CLUSTER.
IDEMPOTENT: Final = bits([AclOperation.IDEMPOTENT_WRITE])


def permitted_by_api(
    interpretation: Interpretation,
    principal: str,
    host: str,
    resource_type: ResourceType,
    key: NameSet,
    on_cluster: str | None = None,
) -> int:
    """What the APIs permit on the names of ``key`` that are in no narrower set, as bits; ignores super users.

    ``on_cluster`` is a host to ask for on CLUSTER, where topics are asked about for a host that stands for others.
    """
    found = interpretation.access(principal, host, resource_type, key)
    # ControllerApis accepts CREATE on CLUSTER in place of CREATE on the topic, and DELETE alike.
    if resource_type is ResourceType.TOPIC:
        if not interpretation.may_have_access(principal, ResourceType.CLUSTER):
            return found
        asked = (principal, on_cluster or host, ResourceType.CLUSTER, CLUSTER_NAMES)
        found |= interpretation.access(*asked) & ON_EVERY_TOPIC
    # KafkaApis.handleInitProducerIdRequest accepts WRITE on any topic in place of IDEMPOTENT_WRITE (KIP-679).
    elif (
        resource_type is ResourceType.CLUSTER
        and not found & IDEMPOTENT
        and may_on_some_resource(interpretation, principal, host, AclOperation.WRITE, ResourceType.TOPIC)
    ):
        found |= IDEMPOTENT
    return found
