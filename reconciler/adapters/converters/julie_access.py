"""What JulieOps' roles mean in ACLs: ``AclsBindingsBuilder`` and the defaults of the classes that it reads."""

from collections.abc import Iterable
from typing import Final

from reconciler.adapters.converters.conversion import Conversion, Resource
from reconciler.adapters.converters.julie_settings import JulieSettings, filled
from reconciler.adapters.converters.tree import Tree
from reconciler.model import CLUSTER_NAME

_CLUSTER: Final = Resource("cluster", CLUSTER_NAME)
_ALWAYS_ALLOW: Final = "JulieOps creates an ALLOW whatever permissionType says: decide which one is meant"
_METADATA: Final = {"metadata": "metadata of a principal is not managed"}


class JulieAccess:
    """Adds the bindings of the parts of a topology."""

    def __init__(self, conversion: Conversion, settings: JulieSettings) -> None:
        """``settings`` apply to every part."""
        self._conversion, self._settings = conversion, settings

    def _add_binding(self, node: Tree, resource: Resource, *operations: str) -> None:
        self._conversion.add_binding(node.text("principal") or "", resource, operations, node.where)

    def of_topic(self, name: str, topic: Tree, projects: Iterable[Tree]) -> None:
        """Consumers and producers of one topic, and those of its project.

        The first producer of a principal counts, because JulieOps compares producers by principal only; consumers
        by group too.
        """
        levels = (topic, *projects)
        self.check_users(topic)
        producers: dict[str | None, Tree] = {}
        consumers: dict[tuple[str | None, str | None], Tree] = {}
        for node in (user for level in levels for user in level.items("producers")):
            producers.setdefault(node.text("principal"), node)
        for node in (user for level in levels for user in level.items("consumers")):
            consumers.setdefault((node.text("principal"), node.text("group")), node)
        for node in producers.values():
            self._producer(node, Resource("topic", name))
        for node in consumers.values():
            self._consumer(node, Resource("topic", name))

    def check_users(self, level: Tree) -> None:
        """Names unknown fields only, because a user whom JulieOps does not get to has no access to convert."""
        for node in (*level.items("producers"), *level.items("consumers")):
            self._conversion.set_aside(node, _METADATA)
            node.ignore("principal", "group", "transactionId", "idempotence")

    def of_project(self, prefix: str, project: Tree) -> None:
        """A project's consumers and producers on its prefix, for ``topology.acls.optimized``."""
        for node in project.items("producers"):
            self._producer(node, Resource("topic", prefix, "prefixed"))
        for node in project.items("consumers"):
            self._consumer(node, Resource("topic", prefix, "prefixed"))

    def _producer(self, node: Tree, topic: Resource) -> None:
        self._add_binding(node, topic, "DESCRIBE", "WRITE")
        transaction = node.text("transactionId")
        if transaction is not None:
            self._add_binding(node, _starred("transactional id", transaction), "DESCRIBE", "WRITE")
        # JulieOps only checks that idempotence is present, not its value.
        if transaction is not None or node.text("idempotence") is not None:
            self._add_binding(node, _CLUSTER, "IDEMPOTENT_WRITE")

    def _consumer(self, node: Tree, topic: Resource) -> None:
        self._add_binding(node, topic, "DESCRIBE", "READ")
        self._add_binding(node, _starred("group", node.text_or("*", "group")), "READ")

    def applications(self, project: Tree, prefix: str) -> None:
        """Streams, ksqlDB applications and connectors of a project."""
        for node in project.items("streams"):
            self._streams(node, prefix)
        for field, bind in (("ksql", self._ksql), ("connectors", self._connector)):
            parent = project.get(field)
            fields = parent.fields() if parent.is_mapping() else {}
            for part, value in fields.items():
                if part != "access_control":
                    self._conversion.add_unmanaged(value, f"{field}.{part}", "connectors and queries are not managed")
            for node in parent.items("access_control") if fields else parent.items():
                bind(node, prefix)

    def _flow(self, node: Tree) -> None:
        for name in node.texts("topics", "read"):
            self._add_binding(node, Resource("topic", name), "READ")
        for name in node.texts("topics", "write"):
            self._add_binding(node, Resource("topic", name), "WRITE")

    def _streams(self, node: Tree, prefix: str) -> None:
        self._conversion.set_aside(node, _METADATA)
        if not node.texts("topics", "read"):
            self._conversion.skip(node, f"streams of {node.text('principal')}", "it reads no topic")
            return
        self._flow(node)
        name = node.text("applicationId") or prefix
        self._add_binding(node, Resource("topic", name, "prefixed"), "ALL")
        self._add_binding(node, Resource("group", name, "prefixed"), "READ")
        if node.flag("exactlyOnce"):
            self._add_binding(node, Resource("transactional id", name, "prefixed"), "WRITE", "DESCRIBE")

    def _ksql(self, node: Tree, prefix: str) -> None:
        self._conversion.set_aside(node, _METADATA)
        node.ignore("ksqlDbId")
        self._flow(node)
        name = node.text("applicationId") or prefix
        self._add_binding(node, Resource("topic", name, "prefixed"), "ALL")
        self._add_binding(node, Resource("group", name, "prefixed"), "ALL")

    def _connector(self, node: Tree, _: str) -> None:
        self._conversion.set_aside(node, _METADATA | {"connectors": "Confluent's RBAC is not an ACL"})
        node.ignore("cluster_id")
        for field, default in (("status", "connect-status"), ("offset", "connect-offsets"), ("configs", "")):
            name = node.text(f"{field}_topic") or default or "connect-configs"
            self._add_binding(node, Resource("topic", name), "READ", "WRITE")
        if self._settings.connectors_create_topics:
            self._add_binding(node, _CLUSTER, "CREATE")
        self._add_binding(node, Resource("group", node.text("group") or "connect-cluster"), "READ")
        self._flow(node)

    def schema_registry(self, node: Tree) -> None:
        """An instance of the schema registry."""
        self._conversion.set_aside(node, _METADATA)
        topic = Resource("topic", node.text("topic") or "_schemas")
        self._add_binding(node, topic, "CREATE", "DESCRIBE_CONFIGS", "DESCRIBE", "WRITE", "READ")
        offsets = node.text("consumer_offsets_topic") or "__consumer_offsets"
        self._add_binding(node, Resource("topic", offsets), "DESCRIBE")
        self._add_binding(node, Resource("group", node.text("group") or "schema-registry"), "READ")

    def control_center(self, node: Tree) -> None:
        """An instance of Confluent's Control Center."""
        self._conversion.set_aside(node, _METADATA)
        application = node.text("appId")
        if application is None:
            self._conversion.skip(node, f"control center of {node.text('principal')}", "it has no appId")
            return
        for name in (application, f"{application}-command"):
            self._add_binding(node, Resource("group", name, "prefixed"), "READ")
        self._add_binding(node, Resource("group", "*"), "DESCRIBE")
        topics = [Resource("topic", name) for name in self._settings.control_center_topics]
        for topic in (*topics, Resource("topic", "_confluent-controlcenter", "prefixed")):
            self._add_binding(node, topic, "WRITE", "READ", "CREATE", "DESCRIBE")
        self._add_binding(node, Resource("topic", "*"), "CREATE")
        self._add_binding(node, _CLUSTER, "DESCRIBE", "DESCRIBE_CONFIGS")

    def ksql_server(self, node: Tree) -> None:
        """An instance of a ksqlDB server."""
        self._conversion.set_aside(node, _METADATA)
        node.ignore("owner")
        name = node.text("ksqlDbId")
        if name is None:
            self._conversion.skip(node, f"ksqlDB server of {node.text('principal')}", "it has no ksqlDbId")
            return
        self._add_binding(node, _CLUSTER, "DESCRIBE_CONFIGS")
        self._add_binding(node, Resource("topic", f"_confluent-ksql-{name}", "prefixed"), "ALL")
        self._add_binding(node, Resource("topic", f"{name}ksql_processing_log"), "ALL")
        self._add_binding(node, Resource("group", f"_confluent-ksql-{name}", "prefixed"), "ALL")

    def custom_role(self, name: str, role: Tree | None, users: Tree) -> None:
        """A custom role, for each of its users."""
        if role is None:
            self._conversion.skip(users, name, f"there is no role {name!r}: add the file that --config names")
            return
        for user in users.items():
            self._conversion.set_aside(user, _METADATA)
            # A role uses what its templates name; the rest of a user decides nothing.
            user.ignore("principal", "transactionId", "idempotence", "group", "topic", "subject", "connector")
            values = {"topic": user.text("topic") or "", "group": user.text_or("*", "group")}
            values |= {key: text for key in ("subject", "connector", "transactionId") if (text := user.text(key))}
            for acl in role.items("acls"):
                self._custom_acl(user, acl, filled(acl.text("resourceName") or "", values))

    def _custom_acl(self, user: Tree, acl: Tree, name: str) -> None:
        permission = acl.text_or("ALLOW", "permissionType")
        if permission.upper() != "ALLOW":
            self._conversion.skip(acl, f"{user.text('principal')} {permission} on {name}", _ALWAYS_ALLOW)
            return
        resource = Resource(acl.text("resourceType") or "", name, acl.text("patternType") or "")
        operations = (acl.text("operation") or acl.text("role") or "",)
        self._conversion.add_binding(
            user.text("principal") or "", resource, operations, acl.where, host=acl.text("host") or ""
        )


def _starred(kind: str, name: str) -> Resource:
    """A name that ends with an asterisk is a prefix; the asterisk alone is every name."""
    prefixed = len(name) > 1 and name.endswith("*")
    return Resource(kind, name[:-1], "prefixed") if prefixed else Resource(kind, name)
