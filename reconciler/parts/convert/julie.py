"""JulieOps: a topology as its ACL provider expands it (kafka-ops/julie, e75d005).

Sources: ``TopologyCustomDeserializer``, ``ProjectImpl.namePrefix``, ``Topic.toString``, ``AccessControlManager``.
"""

import re
from collections.abc import Iterable, Mapping
from typing import Final, NamedTuple

from reconciler.dataclass import dataclass
from reconciler.parts.convert.conversion import CLUSTER, Conversion, Resource
from reconciler.parts.convert.files import SourceError, SourceFiles, Tree, by_name

# JulieOps' settings, as far as they decide which topics and ACLs it creates.

_PLACEHOLDER: Final = re.compile(r"\{\{\s*(\w+)\s*\}\}")
#: These limit what JulieOps manages, or add topics of its own.
_REFUSED: Final = (
    "topology.topic.managed.prefixes",
    "topology.group.managed.prefixes",
    "topology.service.accounts.managed.prefixes",
)


#: Settings that are read, and one that says who JulieOps is.
_KNOWN: Final = frozenset(
    (
        *_REFUSED,
        "topology.dlq.topics.generate",
        "topology.builder.access.control.class",
        "topology.topic.prefix.separator",
        "topology.topic.prefix.format",
        "topology.project.prefix.format",
        "topology.acls.optimized",
        "topology.connector.allow.topic.create",
        "julie.roles",
        "julie.internal.principal",
    )
)
#: Checks, and where JulieOps keeps its state: neither names nor grants anything.
_HARMLESS: Final = re.compile(r"topology\.(validations|state|features)\b")
_DECIDES: Final = re.compile(
    r"(topology|julie)\.(.*\.)?(prefix|format|separator|principal|translation|dlq|acls?|roles?)\b"
)


def unknown_settings(properties: Mapping[str, str]) -> list[str]:
    """Settings that by their names decide what things are called or who gets what, and that this conversion ignores."""
    return [
        name
        for name in properties
        if name not in _KNOWN and _DECIDES.match(name) and not _HARMLESS.match(name) and properties[name].strip("[] ")
    ]


@dataclass(frozen=True, slots=True)
class JulieSettings:
    """Defaults of ``reference.conf``, unless the properties file overrides them."""

    separator: str = "."
    topic_format: str = "default"
    project_format: str = "default"
    optimized: bool = False
    connectors_create_topics: bool = True
    control_center_topics: tuple[str, ...] = ("_confluent-monitoring", "_confluent-command", "_confluent-metrics")


def julie_settings(properties: Mapping[str, str]) -> JulieSettings:
    """The settings; raises :class:`SourceError` for settings that this conversion does not support."""
    for name in _REFUSED:
        if properties.get(name, "").strip("[] "):
            raise SourceError(f"{name} is set: remove it, and give the Cluster a scope instead")
    if properties.get("topology.dlq.topics.generate", "").lower() == "true":
        raise SourceError("topology.dlq.topics.generate is set: add those topics to the topology, and turn it off")
    provider = properties.get("topology.builder.access.control.class", "SimpleAclsProvider")
    if not provider.endswith("SimpleAclsProvider"):
        raise SourceError(f"topology.builder.access.control.class is {provider}: only ACLs can be converted")
    default = JulieSettings()
    return JulieSettings(
        properties.get("topology.topic.prefix.separator", default.separator),
        properties.get("topology.topic.prefix.format", default.topic_format),
        properties.get("topology.project.prefix.format", default.project_format),
        properties.get("topology.acls.optimized", "false").lower() == "true",
        properties.get("topology.connector.allow.topic.create", "true").lower() == "true",
        tuple(
            properties.get(f"confluent.{part}.topic", name)
            for part, name in zip(("monitoring", "command", "metrics"), default.control_center_topics, strict=True)
        ),
    )


def filled(template: str, values: Mapping[str, str]) -> str:
    """Replace ``{{ name }}``, unknown names by nothing, as Jinja does; raises :class:`SourceError` for other Jinja."""
    text = _PLACEHOLDER.sub(lambda match: values.get(match[1], ""), template)
    if "{{" in text or "{%" in text:
        raise SourceError(f"{template!r}: only plain {{{{ names }}}} can be converted")
    return text


# What JulieOps' roles mean in ACLs: ``AclsBindingsBuilder`` and the defaults of the classes that it reads.

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
            self._add_binding(node, CLUSTER, "IDEMPOTENT_WRITE")

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
            self._add_binding(node, CLUSTER, "CREATE")
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
        self._add_binding(node, CLUSTER, "DESCRIBE", "DESCRIBE_CONFIGS")

    def ksql_server(self, node: Tree) -> None:
        """An instance of a ksqlDB server."""
        self._conversion.set_aside(node, _METADATA)
        node.ignore("owner")
        name = node.text("ksqlDbId")
        if name is None:
            self._conversion.skip(node, f"ksqlDB server of {node.text('principal')}", "it has no ksqlDbId")
            return
        self._add_binding(node, CLUSTER, "DESCRIBE_CONFIGS")
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


_APART: Final = ("context", "projects", "platform", "special_topics")
_PLATFORM: Final = {"schema_registry", "control_center", "ksql"}
_APPLICATIONS: Final = ("consumers", "producers", "streams", "connectors", "ksql")
_RBAC: Final = "Confluent's RBAC is not an ACL"
_BELOW: Final = "JulieOps reads it with --recursive only: convert it by itself"
_TOPIC_ONLY: Final = {
    "metadata": "topics have labels here, for you to add",
    "schemas": "schemas are not managed",
    "subject.name.strategy": "schemas are not managed",
}
_NUMBERS: Final = ("num.partitions", "replication.factor")


class _Topology(NamedTuple):
    """What applies to a whole topology."""

    context: Mapping[str, str]
    prefix: str
    settings: JulieSettings
    plans: Mapping[str, Mapping[str, str]]
    roles: Mapping[str, Tree]


def read_julie(files: SourceFiles, conversion: Conversion) -> None:
    """The topologies of a file or a directory; plans and roles are next to them, or where the settings say."""
    settings = _settings(files, conversion)
    plans: list[tuple[str, Tree]] = []
    roles: list[tuple[str, Tree]] = []
    topologies = []
    own_roles = _roles_file(files)
    names = [*files.ending(".yaml", ".yml"), *filter(None, [own_roles])]
    for name in dict.fromkeys(names):
        if "/" in name and name != own_roles:
            conversion.skip(name, "a file in a directory below", _BELOW)
            continue
        for tree in files.trees(name):
            if "context" in tree.names():
                topologies.append(tree)
            elif "plans" in tree.names():
                plans += tree.fields("plans").items()
            elif "roles" in tree.names():
                roles += ((role.text("name") or "", role) for role in tree.items("roles"))
            else:
                conversion.skip(tree, name, "neither a topology, nor plans, nor roles")
    if not topologies:
        raise SourceError(f"{files.root}: there is no topology: no document has a context")
    settings_of = {name: node.settings("config") for name, node in by_name(plans).items()}
    for _, plan in plans:
        plan.ignore("alias")
    named_roles = by_name(roles)
    for tree in topologies:
        _topology(tree, settings, settings_of, named_roles, conversion)
    for role in named_roles.values():
        if not role.has_read("acls"):
            # Nobody has it, so it grants nothing.
            role.ignore()


def _settings(files: SourceFiles, conversion: Conversion) -> JulieSettings:
    for name in unknown_settings(files.settings):
        conversion.skip("--config", name, "unknown setting, which may decide names or grants")
    return julie_settings(files.settings)


def _roles_file(files: SourceFiles) -> str | None:
    """The roles file of the settings, named like the other files if it is one of them."""
    name = files.settings.get("julie.roles")
    if name is None:
        return None
    path, root = (files.root / name).resolve(), files.root.resolve()
    return path.relative_to(root).as_posix() if path.is_relative_to(root) else name


def _topology(
    tree: Tree,
    settings: JulieSettings,
    plans: Mapping[str, Mapping[str, str]],
    roles: Mapping[str, Tree],
    conversion: Conversion,
) -> None:
    """Every field that is not one of JulieOps' own becomes part of the names, in file order."""
    others = {name: tree.text(name) or "" for name in tree.fields() if name not in _APART}
    context = tree.text("context") or ""
    prefix = settings.separator.join([context, *others.values()])
    topology = _Topology({"context": context, **others}, prefix, settings, plans, roles)
    access = JulieAccess(conversion, settings)
    for project in tree.items("projects"):
        _project(project, topology, access, conversion)
    for topic in tree.items("special_topics"):
        name = topic.text("name") or ""
        _topic(topic, name, topology, conversion)
        access.of_topic(name, topic, ())
    _platform(tree.get("platform"), access, conversion)


def _project(project: Tree, topology: _Topology, access: JulieAccess, conversion: Conversion) -> None:
    settings, name = topology.settings, project.text("name") or ""
    context = {**topology.context, "project": name}
    if settings.project_format == "default":
        prefix = f"{topology.prefix}{settings.separator}{name}{settings.separator}"
    else:
        prefix = filled(settings.project_format, context)
    for topic in project.items("topics"):
        full = _full_name(topic, prefix, context, settings)
        _topic(topic, full, topology, conversion)
        access.of_topic(full, topic, () if settings.optimized else (project,))
    access.check_users(project)
    if settings.optimized:
        access.of_project(prefix, project)
    access.applications(project, prefix)
    for field, node in project.fields().items():
        if field in ("rbac", "schemas"):
            conversion.skip(node, f"{field} of {name}", _RBAC)
        elif field == "zookeepers":
            node.ignore()
        elif field not in ("name", "topics", *_APPLICATIONS):
            access.custom_role(field, topology.roles.get(field), node)


def _full_name(topic: Tree, prefix: str, context: Mapping[str, str], settings: JulieSettings) -> str:
    name, data = topic.text("name") or "", topic.text("dataType")
    match settings.topic_format:
        case "default":
            return f"{prefix}{name}" + (f"{settings.separator}{data}" if data is not None else "")
        case "name":
            return name
        case template:
            return filled(template, {**context, "topic": name, **({"dataType": data} if data is not None else {})})


def _topic(topic: Tree, name: str, topology: _Topology, conversion: Conversion) -> None:
    conversion.set_aside(topic, _TOPIC_ONLY)
    config, plan = topic.settings("config"), topic.text("plan")
    if plan is not None and plan not in topology.plans:
        conversion.skip(topic, f"topic {name}", f"there is no plan {plan!r}")
        return
    # A topic's own configs override its plan's.
    config = {**topology.plans.get(plan or "", {}), **config}
    own = {key: value for key, value in config.items() if key not in _NUMBERS}
    conversion.add_topic(name, config.get("num.partitions"), config.get("replication.factor"), own, topic.where)


def _platform(platform: Tree, access: JulieAccess, conversion: Conversion) -> None:
    for part, node in platform.fields().items():
        for field, value in node.fields().items():
            if field == "rbac":
                conversion.skip(value, f"rbac of {part}", _RBAC)
            elif field != "instances" or part not in _PLATFORM:
                conversion.skip(value, f"{part}.{field}", "this part of a platform is not known here")
    for instance in platform.items("schema_registry", "instances"):
        access.schema_registry(instance)
    for instance in platform.items("control_center", "instances"):
        access.control_center(instance)
    for instance in platform.items("ksql", "instances"):
        access.ksql_server(instance)
