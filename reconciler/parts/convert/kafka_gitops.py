"""kafka-gitops: services, users and custom ACLs, expanded as by its own code.

Of devshawn/kafka-gitops (8f3afc9) and its maintained fork chenrui333/kafka-gitops (c0abd7f), whose default partitions,
whitelist and schemas are known.

Sources: ``ApplicationService``, ``KafkaConnectService``, ``KafkaConnectorDetails``, ``KafkaStreamsService``,
``RoleService`` and ``StateManager``.
"""

from collections.abc import Iterable, Mapping
from posixpath import normpath
from typing import Final

from reconciler.model.frozen import FrozenMap
from reconciler.parts.convert.conversion import CLUSTER, Conversion, Resource
from reconciler.parts.convert.files import YAML, SourceError, SourceFiles, Tree

_FILES: Final = ("services", "topics", "users")
_STATES: Final = ("state.yaml", "state.yml")
_UNTOUCHED: Final = "topics that no manifest declares are never deleted here, so none needs to be listed"
_TOPIC_LISTS: Final = {"blacklist": _UNTOUCHED, "whitelist": _UNTOUCHED}
#: kafka-gitops takes Java's names letter by letter: what it refuses, it never created.
_PATTERNS: Final = ("LITERAL", "PREFIXED", "MATCH")
_CLOUD: Final = "Confluent Cloud gives the account its id; turn ccloud off and write principal: User:sa-… into a copy"
_STREAMS: Final = ("READ", "WRITE", "DESCRIBE", "DELETE", "CREATE", "ALTER", "ALTER_CONFIGS", "DESCRIBE_CONFIGS")
_ROLES: Final[Mapping[str, tuple[tuple[Resource, tuple[str, ...]], ...]]] = FrozenMap(
    {
        "reader": ((Resource("topic", "*"), ("READ",)), (Resource("group", "*"), ("READ",))),
        "writer": ((Resource("topic", "*"), ("WRITE",)),),
        "operator": (
            (CLUSTER, ("DESCRIBE",)),
            (Resource("topic", "*"), ("DESCRIBE", "DESCRIBE_CONFIGS")),
            (Resource("group", "*"), ("READ", "DESCRIBE")),
        ),
    }
)


def read_kafka_gitops(files: SourceFiles, conversion: Conversion) -> None:
    """The state file, and the files that its settings name."""
    name = _state_file(files)
    state = files.only_tree(name)
    parts = {part: dict(state.fields(part)) for part in _FILES}
    for part in _FILES:
        other = state.text("settings", "files", part)
        if other is not None:
            parts[part] |= files.only_tree(other).fields(part)
    named = (state.text("settings", "files", part) for part in _FILES)
    read = {name, *(normpath(other) for other in named if other is not None)}
    for other in files.names:
        if other not in read and other.lower().endswith(YAML):
            conversion.add_unmanaged(other, "a file", f"{name} does not name it, so kafka-gitops does not read it")
    settings = state.get("settings")
    conversion.set_aside(settings.get("topics"), _TOPIC_LISTS)
    for tree, field in ((state, "schemas"), (settings, "schemaRegistry"), (settings.get("files"), "schemas")):
        conversion.set_aside(tree, {field: "schemas are not managed"})
    _topics(parts["topics"], settings.get("topics", "defaults"), conversion)
    expansion = _Expansion(
        conversion,
        describe=settings.flag("services", "acls", "describeTopicEnabled"),
        cloud=settings.flag("ccloud", "enabled"),
    )
    for service, node in parts["services"].items():
        expansion.service(service, node)
    for user, node in parts["users"].items():
        expansion.user(user, node)
    _custom(state, parts["services"], "customServiceAcls", expansion)
    _custom(state, parts["users"], "customUserAcls", expansion)


def _state_file(files: SourceFiles) -> str:
    """The main file; raises :class:`SourceError` if several could be it."""
    names = [name for name in files.ending(*YAML) if name in _STATES] or list(files.ending(*YAML))
    if len(names) > 1:
        raise SourceError(f"{files.root}: {' and '.join(names[:2])} could both be the state: name one")
    return names[0]


def _topics(topics: Mapping[str, Tree], defaults: Tree, conversion: Conversion) -> None:
    for name, node in topics.items():
        partitions = node.text("partitions") or defaults.text("partitions")
        replicas = node.text("replication") or defaults.text("replication")
        configs = node.settings("configs")
        if partitions is None or replicas is None:
            conversion.skip(node, f"topic {name}", "it has no partitions, or no replication")
        else:
            conversion.add_topic(name, partitions, replicas, configs, node.where)
    # A default that no topic needs decides nothing.
    defaults.ignore("partitions", "replication")


class _Expansion:
    """Expands services and users, with the settings that apply to all of them."""

    def __init__(self, conversion: Conversion, *, describe: bool, cloud: bool) -> None:
        self.conversion = conversion
        self._describe, self._cloud = describe, cloud

    def principal(self, kind: str, name: str, node: Tree) -> str | None:
        """The principal of the ACLs; adds a remark if it is unknown."""
        principal = node.text("principal")
        if self._cloud or principal is None:
            self.conversion.skip(node, f"{kind} {name}", _CLOUD if self._cloud else "it has no principal")
            return None
        return principal

    def service(self, name: str, node: Tree) -> None:
        """One service, by its type."""
        principal = self.principal("service", name, node)
        if principal is None:
            return
        match node.text("type"):
            case "application":
                self._flow(principal, node, node.text("group-id") or name)
            case "kafka-streams":
                self._flow(principal, node, None)
                self._streams(principal, node.text("application-id") or name, node.where)
            case "kafka-connect":
                self._flow(principal, node, None, consumes=False)
                self._connect(principal, name, node)
            case other:
                self.conversion.skip(node, f"service {name}", f"there is no service type {other!r}")

    def _flow(self, principal: str, node: Tree, group: str | None, *, consumes: bool = True) -> None:
        """What a service writes and reads; a Connect service itself reads nothing, its connectors do."""
        self._of(principal, node.texts("produces"), node.texts("consumes") if consumes else [], node, group)

    def _of(self, principal: str, produces: list[str], consumes: list[str], node: Tree, group: str | None) -> None:
        self._topics(principal, produces, ("WRITE",), node.where)
        self._topics(principal, consumes, ("READ",), node.where)
        if self._describe:
            self._topics(principal, [*produces, *consumes], ("DESCRIBE",), node.where)
        if consumes and group is not None:
            self.conversion.add_binding(principal, Resource("group", group), ("READ",), node.where)

    def _topics(self, principal: str, names: Iterable[str], operations: tuple[str, ...], where: str) -> None:
        for name in names:
            self.conversion.add_binding(principal, Resource("topic", name), operations, where)

    def _streams(self, principal: str, application: str, where: str) -> None:
        bind = self.conversion.add_binding
        bind(principal, Resource("topic", application, "prefixed"), _STREAMS, where)
        bind(principal, Resource("group", application), ("READ", "DESCRIBE", "DELETE"), where)
        bind(principal, CLUSTER, ("DESCRIBE_CONFIGS",), where)

    def _connect(self, principal: str, name: str, node: Tree) -> None:
        storage = node.get("storage-topics")
        topics = [
            storage.text(part) or f"connect-{part}{plural}-{name}"
            for part, plural in (("config", "s"), ("offset", "s"), ("status", ""))
        ]
        self._topics(principal, topics, ("READ", "WRITE"), node.where)
        self.conversion.add_binding(principal, Resource("group", node.text("group-id") or name), ("READ",), node.where)
        for connector, details in node.fields("connectors").items():
            self._flow(principal, details, f"connect-{connector}")

    def user(self, name: str, node: Tree) -> None:
        """One user, by the roles."""
        principal = self.principal("user", name, node)
        for role in node.texts("roles") if principal is not None else ():
            grants = _ROLES.get(role.lower())
            if grants is None:
                self.conversion.skip(node.where, f"user {name}", f"there is no role {role!r}")
            for resource, operations in grants or ():
                self.conversion.add_binding(principal or "", resource, operations, node.where)


def _custom(state: Tree, owners: Mapping[str, Tree], field: str, expansion: _Expansion) -> None:
    """Custom ACLs; kafka-gitops does not create those of undeclared services and users."""
    for name, acls in state.fields(field).items():
        owner = owners.get(name)
        if owner is None:
            expansion.conversion.add_unmanaged(acls, f"{field} {name}", "there is no service or user of that name")
            continue
        for title, acl in acls.fields().items():
            # ACLs of a user may omit the principal; ACLs of a service may not.
            node = acl if acl.text("principal") or field == "customServiceAcls" else owner
            principal = expansion.principal(f"{field} {name}", title, node)
            if principal is None:
                acl.ignore()
                continue
            pattern = _required(acl, "pattern")
            if pattern not in _PATTERNS:
                expansion.conversion.skip(acl, f"{field} {name}.{title}", f"kafka-gitops refuses pattern {pattern!r}")
                continue
            resource = Resource(*(_required(acl, part) for part in ("type", "name", "pattern")))
            expansion.conversion.add_binding(
                principal,
                resource,
                (_required(acl, "operation"),),
                acl.where,
                permission=acl.text_or("ALLOW", "permission"),
                host=acl.text_or("*", "host"),
            )


def _required(node: Tree, field: str) -> str:
    text = node.text(field)
    if text is None:
        raise SourceError(f"{node.where}: {field} is missing")
    return text
