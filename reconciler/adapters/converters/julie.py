"""JulieOps: a topology as its ACL provider expands it (kafka-ops/julie, e75d005).

Sources: ``TopologyCustomDeserializer``, ``ProjectImpl.namePrefix``, ``Topic.toString``, ``AccessControlManager``.
"""

from collections.abc import Mapping
from typing import Final, NamedTuple

from reconciler.adapters.converters.conversion import Conversion
from reconciler.adapters.converters.files import SourceFiles
from reconciler.adapters.converters.julie_access import JulieAccess
from reconciler.adapters.converters.julie_settings import JulieSettings, filled, julie_settings, unknown_settings
from reconciler.adapters.converters.tree import SourceError, Tree, by_name

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
