"""kdef: definitions of the kinds ``acl`` and ``topic`` (peter-evans/kdef, d3756ac).

Sources: ``core/model/def/acl.go``, ``topic.go`` and ``resource.go``.
"""

from typing import Final

from reconciler.parts.convert.conversion import Conversion, Resource
from reconciler.parts.convert.files import SourceFiles, Tree

_PLACED: Final = "assignments of replicas are not converted: declare replicaAssignments if they matter"
_NULL: Final = "a config without a value: kdef resets it to the broker's default, as leaving it out does here"


def read_kdef(files: SourceFiles, conversion: Conversion) -> None:
    """All definitions; brokers are not managed here."""
    for name in files.ending(".yaml", ".yml", ".json"):
        for tree in filter(Tree.is_mapping, conversion.rendered(files, name)):
            kind, subject = tree.text("kind"), tree.text("metadata", "name") or ""
            tree.ignore("apiVersion", "state")
            tree.get("metadata").ignore("labels")
            if kind == "acl":
                _acl(tree, subject, conversion)
            elif kind == "topic":
                _topic(tree, subject, conversion)
            elif kind in ("broker", "brokers"):
                conversion.add_unmanaged(tree, f"{kind} {subject}", "configs of brokers are not managed")
            else:
                conversion.skip(tree, f"{kind} {subject}", "kdef has no definition of this kind")


def _acl(tree: Tree, name: str, conversion: Conversion) -> None:
    of = tree.get("metadata")
    resource = Resource(of.text("type") or "", name, of.text("resourcePatternType") or "literal")
    # Whether kdef deletes other ACLs of the resource decides nothing about those that it creates.
    tree.get("spec").ignore("deleteUndefinedAcls")
    for group in tree.items("spec", "acls"):
        principals, hosts, operations = (group.texts(field) for field in ("principals", "hosts", "operations"))
        if not (principals and hosts and operations):
            conversion.skip(group, f"an entry of {name}", "kdef refuses it without principals, hosts and operations")
            continue
        permission = group.text("permissionType") or ""
        for principal in principals:
            for host in hosts:
                conversion.add_binding(principal, resource, operations, group.where, permission=permission, host=host)


def _topic(tree: Tree, name: str, conversion: Conversion) -> None:
    spec = tree.get("spec")
    configs = {}
    for key, setting in spec.fields("configs").items():
        if setting.value is None:
            conversion.add_unmanaged(setting, key, _NULL)
        else:
            configs[key] = setting.text() or ""
    spec.ignore("deleteUndefinedConfigs", "managedAssignments", "maintainLeaders")
    conversion.set_aside(spec, {"assignments": _PLACED})
    conversion.add_topic(name, spec.text("partitions"), spec.text("replicationFactor"), configs, tree.where)
