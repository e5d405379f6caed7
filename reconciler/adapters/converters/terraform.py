"""Terraform: the state of Mongey's provider (678b3c7) and of Confluent's, as a file or as ``terraform show -json``.

The state lists what was created, after modules, ``for_each`` and variables are evaluated.
"""

from collections.abc import Iterator
from typing import Final, NamedTuple

from reconciler.adapters.converters.conversion import Conversion, Resource
from reconciler.adapters.converters.files import SourceFiles
from reconciler.adapters.converters.tree import SourceError, Tree

_ACLS: Final = ("kafka_acl", "confluent_kafka_acl")
_TOPICS: Final = ("kafka_topic", "confluent_kafka_topic")
_NOT_MANAGED: Final = "neither an ACL nor a topic"
_DATA: Final = "data is read, not created"
_DEPOSED: Final = "a deposed object that terraform is about to destroy"
_NO_STATE: Final = "this is not a Terraform state: a version 4 state file or `terraform show -json` is expected"


class _Instance(NamedTuple):
    """One resource instance, its attributes, and the provider configuration that made it."""

    kind: str
    address: str
    attributes: Tree
    provider: str


def read_terraform(files: SourceFiles, conversion: Conversion) -> None:
    """All ACLs and topics of the states, of one provider configuration: that is one cluster."""
    names = files.ending(".tfstate", ".json")
    instances = [found for name in names for found in _instances(files.one(name), conversion)]
    mine = [item for item in instances if item.kind in (*_ACLS, *_TOPICS)]
    providers = sorted({item.provider for item in mine})
    if files.cluster is None and len(providers) > 1:
        raise SourceError(f"the state speaks of several clusters: choose one of {', '.join(providers)}")
    if files.cluster is not None and files.cluster not in providers:
        raise SourceError(f"nothing belongs to {files.cluster!r}; there are: {', '.join(providers) or 'none'}")
    for item in instances:
        if item.kind not in (*_ACLS, *_TOPICS):
            conversion.add_unmanaged(item.attributes.where, item.address, _NOT_MANAGED)
        elif files.cluster not in (None, item.provider):
            conversion.add_unmanaged(item.attributes.where, item.address, f"it belongs to {item.provider}")
        elif item.kind in _ACLS:
            _acl(item, conversion)
        else:
            _topic(item, conversion)


def _instances(state: Tree, conversion: Conversion) -> Iterator[_Instance]:
    if state.text("version") == "4":
        yield from _of_file(state, conversion)
    elif "planned_values" in state.fields():
        raise SourceError(f"{state.where} this is a Terraform plan: pass the state after its apply")
    elif state.text("format_version") is not None:
        yield from _of_module(state.get("values", "root_module"), conversion)
    else:
        raise SourceError(f"{state.where} {_NO_STATE}")


def _of_file(state: Tree, conversion: Conversion) -> Iterator[_Instance]:
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
                yield _Instance(kind, place, attributes, _cluster(attributes, resource.text("provider")))


def _of_module(module: Tree, conversion: Conversion) -> Iterator[_Instance]:
    for resource in module.items("resources"):
        kind, values = resource.text("type") or "", resource.get("values")
        address = resource.text("address") or kind
        if resource.text("mode") != "managed":
            conversion.add_unmanaged(resource.where, address, _DATA)
        elif resource.text("deposed_key") is not None:
            conversion.skip(resource.where, address, _DEPOSED)
        else:
            # This form of the state does not contain the provider configuration of a resource.
            yield _Instance(kind, address, values, _cluster(values, None))
    for child in module.items("child_modules"):
        yield from _of_module(child, conversion)


def _cluster(attributes: Tree, provider: str | None) -> str:
    """The cluster of a resource: an attribute with Confluent's provider, else the provider configuration."""
    own = attributes.items("kafka_cluster") if "kafka_cluster" in attributes.fields() else ()
    return (own[0].text("id") if own else None) or provider or "the only provider"


def _acl(item: _Instance, conversion: Conversion) -> None:
    of = item.attributes
    if item.kind == "kafka_acl":
        form = of.text("resource_pattern_type_filter")
        who, permission = of.text("acl_principal"), of.text("acl_permission_type")
        operation, host = of.text("acl_operation"), of.text("acl_host")
    else:
        form = of.text("pattern_type")
        who, permission = of.text("principal"), of.text("permission")
        operation, host = of.text("operation"), of.text("host")
    resource = Resource(of.text("resource_type") or "", of.text("resource_name") or "", form or "Literal")
    where = f"{of.where.partition(':')[0]}:{item.address}"
    conversion.add_binding(who or "", resource, (operation or "",), where, permission=permission or "", host=host or "")


def _topic(item: _Instance, conversion: Conversion) -> None:
    of = item.attributes
    where = f"{of.where.partition(':')[0]}:{item.address}"
    if item.kind == "kafka_topic":
        name, partitions, configs = of.text("name"), of.text("partitions"), of.settings("config")
    else:
        name, partitions, configs = of.text("topic_name"), of.text("partitions_count"), of.settings("config")
    if name is None:
        conversion.skip(where, "a topic", "it has no name")
    else:
        conversion.add_topic(name, partitions, of.text("replication_factor"), configs, where)
