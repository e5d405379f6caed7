"""Terraform: the state, as a file or as ``terraform show -json``, which prints plans too.

Providers: Mongey's (678b3c7), Confluent's, Aiven's and Redpanda's. The state lists what was created, after modules,
``for_each`` and variables are evaluated.
"""

from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

from reconciler.model.frozen import FrozenMap
from reconciler.model.kinds.quota import CLIENT_ID, DEFAULT_NAME, IP, USER, QuotaEntity
from reconciler.parts.convert.conversion import Conversion, Resource, add_foreign
from reconciler.parts.convert.files import SourceError, SourceFiles, Tree
from reconciler.parts.convert.terraform_files import SECRETS, ResourceInstance, written_resources


class _AclForm(NamedTuple):
    """How a provider calls the parts of an ACL; all of them have ``resource_type`` and ``resource_name``."""

    principal: str = "principal"
    permission: str = "permission_type"
    operation: str = "operation"
    host: str = "host"
    pattern_type: str = "pattern_type"


class _TopicForm(NamedTuple):
    """How a provider calls the parts of a topic."""

    name: str
    partitions: str
    replicas: str = "replication_factor"
    configs: str = "config"


_ACLS: Final = FrozenMap(
    {
        "kafka_acl": _AclForm(
            "acl_principal", "acl_permission_type", "acl_operation", "acl_host", "resource_pattern_type_filter"
        ),
        "confluent_kafka_acl": _AclForm(permission="permission"),
        "aiven_kafka_native_acl": _AclForm(),
        "redpanda_acl": _AclForm(pattern_type="resource_pattern_type"),
    }
)
_TOPICS: Final = FrozenMap(
    {
        "kafka_topic": _TopicForm("name", "partitions"),
        "confluent_kafka_topic": _TopicForm("topic_name", "partitions_count"),
        "aiven_kafka_topic": _TopicForm("topic_name", "partitions", "replication"),
        "redpanda_topic": _TopicForm("name", "partition_count", configs="configuration"),
    }
)
_QUOTA: Final = "kafka_quota"
_USER: Final = "kafka_user_scram_credential"
#: The provider's ``defaultIterations``.
_ITERATIONS: Final = "4096"
#: Says which cluster, who logs in, or how Terraform treats the resource.
_ASIDE: Final = (
    *("id", "acl_id", "project", "service_name", "kafka_cluster", "cluster_id", "cluster_api_url", "rest_endpoint"),
    *("http_endpoint", "credentials", "timeouts", "allow_deletion", "termination_protection", "tags"),
    *("topic_description", "owner_user_group_id", "read_replica_count", "replica_assignment"),
)
_NOT_MANAGED: Final = "no ACL, topic, quota or SCRAM user of Kafka"
_DATA: Final = "data is read, not created"
_DEPOSED: Final = "a deposed object that terraform is about to destroy"
_NO_STATE: Final = "this is not a Terraform state: a version 4 state file or `terraform show -json` is expected"
_LATER: Final = "terraform knows {} only after its apply: convert the state then"


def read_terraform(files: SourceFiles, conversion: Conversion) -> None:
    """All ACLs and topics of the states, of one provider configuration: that is one cluster."""
    if any(name.lower().endswith((".tfstate", ".json")) for name in files.names) or not _is_written(files):
        names = files.ending(".tfstate", ".json")
        instances = [instance for name in names for instance in _instances(files.only_tree(name), conversion)]
    else:
        written = written_resources(files, conversion, _decides)
        instances = [item._replace(provider=_cluster(item.attributes, item.provider)) for item in written]
    mine = [item for item in instances if _is_ours(item)]
    providers = sorted({item.provider for item in mine})
    # ACLs of two clusters in one set of manifests would be granted on both.
    if files.cluster is None and len(providers) > 1:
        raise SourceError(f"the state speaks of several clusters: choose one of {', '.join(providers)}")
    if files.cluster is not None and files.cluster not in providers:
        raise SourceError(f"nothing belongs to {files.cluster!r}; there are: {', '.join(providers) or 'none'}")
    for item in instances:
        if not _is_ours(item):
            add_foreign(conversion, item.attributes, item.kind, item.address, unmanaged=_NOT_MANAGED)
        elif files.cluster not in (None, item.provider):
            conversion.add_unmanaged(item.attributes, item.address, f"it belongs to {item.provider}")
        elif item.kind in _ACLS:
            _acl(item, _ACLS[item.kind], conversion)
        elif item.kind == _QUOTA:
            _quota(item, conversion)
        elif item.kind == _USER:
            _user(item, conversion)
        else:
            _topic(item, _TOPICS[item.kind], conversion)


def _is_ours(item: ResourceInstance) -> bool:
    return _is_read(item.kind)


def _is_read(kind: str) -> bool:
    return kind in _ACLS or kind in _TOPICS or kind in (_QUOTA, _USER)


def _decides(kind: str, attribute: str) -> bool:
    """Whether an attribute decides what is converted; the cluster is chosen by the text of what names it."""
    return _is_read(kind) and attribute not in _ASIDE


def _is_written(files: SourceFiles) -> bool:
    return any(name.lower().endswith(".tf") for name in files.names)


def _instances(state: Tree, conversion: Conversion) -> Iterator[ResourceInstance]:
    # Terraform's own records. What counts are attributes, which are judged one by one.
    state.ignore()
    if state.text("version") == "4":
        yield from _of_file(state, conversion)
    elif "planned_values" in state.fields():
        yield from _of_module(state.get("planned_values", "root_module"), conversion, planned=True)
    elif state.text("format_version") is not None:
        yield from _of_module(state.get("values", "root_module"), conversion)
    else:
        raise SourceError(f"{state.where} {_NO_STATE}")


def _of_file(state: Tree, conversion: Conversion) -> Iterator[ResourceInstance]:
    for resource in state.items("resources"):
        kind, name = resource.text("type") or "", resource.text("name") or ""
        module = resource.text("module")
        address = f"{module + '.' if module else ''}{kind}.{name}"
        if resource.text("mode") != "managed":
            conversion.add_unmanaged(resource.where, f"data.{address}", _DATA)
            continue
        for instance in resource.items("instances"):
            key = instance.text("index_key")
            place = f"{address}[{key}]" if key is not None else address
            if instance.text("deposed") is not None:
                conversion.skip(instance.where, place, _DEPOSED)
            else:
                attributes = instance.get("attributes")
                yield ResourceInstance(kind, place, attributes, _cluster(attributes, resource.text("provider")))


def _of_module(module: Tree, conversion: Conversion, *, planned: bool = False) -> Iterator[ResourceInstance]:
    for resource in module.items("resources"):
        kind, values = resource.text("type") or "", resource.get("values")
        address = resource.text("address") or kind
        if resource.text("mode") != "managed":
            conversion.add_unmanaged(resource.where, address, _DATA)
        elif resource.text("deposed_key") is not None:
            conversion.skip(resource.where, address, _DEPOSED)
        else:
            # This form of the state does not contain the provider configuration of a resource.
            yield ResourceInstance(kind, address, values, _cluster(values, None), planned)
    for child in module.items("child_modules"):
        yield from _of_module(child, conversion, planned=planned)


def _cluster(attributes: Tree, provider: str | None) -> str:
    """The cluster of a resource: attributes with the providers of clouds, else the provider configuration."""
    blocks = attributes.items("kafka_cluster") if "kafka_cluster" in attributes.names() else ()
    own = [blocks[0].text("id")] if blocks else []
    own += [attributes.text(name) for name in ("cluster_api_url",) if name in attributes.names()]
    if "service_name" in attributes.names():
        own.append(f"{attributes.text('project')}/{attributes.text('service_name')}")
    return next(filter(None, own), None) or provider or "the only provider"


def _place(item: ResourceInstance) -> str:
    file, _, line = item.attributes.where.partition(":")
    # A state has no lines that a person would look for, a file without a state has.
    return f"{file}:{line} {item.address}" if line.isdigit() else f"{file}:{item.address}"


def _acl(item: ResourceInstance, form: _AclForm, conversion: Conversion) -> None:
    of = item.attributes
    if _unknown(item, (form.principal, form.permission, form.operation, "resource_type", "resource_name"), conversion):
        return
    resource = Resource(
        of.text("resource_type") or "", of.text("resource_name") or "", of.text(form.pattern_type) or "Literal"
    )
    conversion.add_binding(
        of.text(form.principal) or "",
        resource,
        (of.text(form.operation) or "",),
        _place(item),
        permission=of.text(form.permission) or "",
        # Only Aiven's provider lets the host be absent, and means every host.
        host=of.text_or("*" if item.kind.startswith("aiven_") else "", form.host),
    )
    _name_leftovers(of, conversion)


def _topic(item: ResourceInstance, form: _TopicForm, conversion: Conversion) -> None:
    of = item.attributes
    name, partitions, replicas = of.text(form.name), of.text(form.partitions), of.text(form.replicas)
    if _unknown(item, (form.name, form.partitions), conversion):
        return
    if name is None:
        conversion.skip(_place(item), item.address, "it has no name")
    else:
        conversion.add_topic(name, partitions, replicas, _configs(of.get(form.configs)), _place(item))
        _name_leftovers(of, conversion)


def _quota(item: ResourceInstance, conversion: Conversion) -> None:
    of = item.attributes
    if _unknown(item, ("entity_type",), conversion):
        return
    kind = of.text("entity_type") or ""
    if kind not in (USER, CLIENT_ID, IP):
        conversion.skip(_place(item), item.address, f"there is no type of entity {kind!r}")
        return
    # Without a name it is the default (newQuota).
    entity = QuotaEntity(((kind, of.text("entity_name") or DEFAULT_NAME),))
    conversion.add_quota(entity, of.settings("config"), _place(item))
    _name_leftovers(of, conversion)


def _user(item: ResourceInstance, conversion: Conversion) -> None:
    of = item.attributes
    of.ignore(*SECRETS)
    if _unknown(item, ("username", "scram_mechanism"), conversion):
        return
    name, mechanism = of.text("username"), of.text("scram_mechanism") or ""
    if name is None:
        conversion.skip(_place(item), item.address, "it has no username")
    else:
        conversion.add_user(name, mechanism, of.text("scram_iterations") or _ITERATIONS, _place(item))
        _name_leftovers(of, conversion)


def _unknown(item: ResourceInstance, needed: Sequence[str], conversion: Conversion) -> bool:
    """Whether a plan lacks one of these attributes, because only its apply will tell; adds a remark if so."""
    unknown = [name for name in needed if item.planned and name not in item.attributes.names()]
    if unknown:
        conversion.skip(_place(item), item.address, _LATER.format(" and ".join(unknown)))
    return bool(unknown)


def _configs(configs: Tree) -> dict[str, str]:
    """Configs by Kafka's names: a mapping, or Aiven's block, which has underscores and lists what is not set too."""
    if configs.value is None or configs.is_mapping():
        return configs.settings()
    blocks = (block.settings() for block in configs.items())
    return {name.replace("_", "."): text for block in blocks for name, text in block.items() if text}


def _name_leftovers(attributes: Tree, conversion: Conversion) -> None:
    attributes.ignore(*_ASIDE)
    conversion.name_leftovers(attributes)
