"""The authorizers that brokers name in ``authorizer.class.name``, and by what each decides.

Apache Kafka's decide by the ACLs that it lists. Whoever runs another one is told so: a class name proves nothing good,
for a subclass or a wrapper may do anything.
"""

from collections.abc import Mapping
from typing import Final

from reconciler.model.frozen import FrozenMap

#: The broker config that names it.
CLASS_NAME: Final = "authorizer.class.name"

#: Apache Kafka's own: KRaft's, and ZooKeeper's before 4.0.
_APACHE: Final = frozenset(
    {
        "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
        "kafka.security.authorizer.AclAuthorizer",
        "kafka.security.auth.SimpleAclAuthorizer",
    }
)
#: What is known of others, each by its own documentation or source: ``docs/compatibility.md``.
_OTHERS: Final[Mapping[str, str]] = FrozenMap(
    {
        "org.openpolicyagent.kafka.OpaAuthorizer": "Open Policy Agent's, whose policies decide",
        "com.bisnode.kafka.authorization.OpaAuthorizer": "Open Policy Agent's, whose policies decide",
        "org.apache.ranger.authorization.kafka.authorizer.RangerKafkaAuthorizer": (
            "Apache Ranger's, whose policies decide"
        ),
        "io.confluent.kafka.security.authorizer.ConfluentServerAuthorizer": (
            "Confluent Server's, where role bindings (RBAC) grant too"
        ),
        "io.strimzi.kafka.oauth.server.authorizer.KeycloakAuthorizer": (
            "Strimzi's for Keycloak, whose grants decide, and ACLs only where it is told to ask them too"
        ),
        "io.strimzi.kafka.oauth.server.authorizer.KeycloakRBACAuthorizer": (
            "Strimzi's for Keycloak, whose grants decide, and ACLs only where it is told to ask them too"
        ),
    }
)


def foreign_authorizer(configs: Mapping[str, str | None]) -> str | None:
    """What is known of the authorizer that a broker's configs name, after its name; ``None`` for Apache Kafka's.

    Also ``None`` where the configs do not show it: then nothing is known.
    """
    name = configs.get(CLASS_NAME)
    if not name or name in _APACHE:
        return None
    known = _OTHERS.get(name, "not Apache Kafka's")
    return f"{CLASS_NAME}={name}, which is {known}"
