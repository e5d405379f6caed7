"""jikkou: principals' authorizations, roles and topics (streamthoughts/jikkou, 70544d7).

Sources: ``V1KafkaPrincipalAcl``, ``KafkaPrincipalAuthorizationTransformation``, ``LiteralKafkaAclBindingBuilder``,
``TopicMatchingAclRulesBuilder``, ``ConfigMapsTransformation``.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Final

from reconciler.adapters.converters.conversion import Conversion, Resource
from reconciler.adapters.converters.files import SourceFiles
from reconciler.adapters.converters.tree import SourceError, Tree, by_name

_AUTHORIZATION: Final = "KafkaPrincipalAuthorization"
_ROLE: Final = "KafkaPrincipalRole"
_KINDS: Final = (_AUTHORIZATION, _ROLE, "KafkaTopic", "ConfigMap")
_MATCH: Final = "a MATCH pattern grants the topics that exist when it is applied: name them, or use a prefix"
_DELETED: Final = "it is annotated to be deleted: for a topic, declare it with absent: true"


def read_jikkou(files: SourceFiles, conversion: Conversion) -> None:
    """All resources of YAML files; templates must be rendered first."""
    found: dict[str, list[Tree]] = {kind: [] for kind in _KINDS}
    for name in files.ending(".yaml", ".yml"):
        if "{{" in (text := files.text(name)) or "{%" in text:
            raise SourceError(f"{name}: this is a template; convert the output of `jikkou prepare`")
        for kind, node in _resources(files, name):
            if kind not in found:
                conversion.add_unmanaged(node.where, f"{kind} {_name(node)}", "neither ACLs nor topics")
            elif not _is_set_aside(kind, node, conversion):
                found[kind].append(node)
    roles = by_name((_name(node), node) for node in found[_ROLE])
    for node in found[_AUTHORIZATION]:
        _authorization(node, roles, conversion)
    named = by_name((_name(node), node) for node in found["ConfigMap"])
    maps = {name: node.settings("data") for name, node in named.items()}
    for node in found["KafkaTopic"]:
        _topic(node, maps, conversion)


def _resources(files: SourceFiles, name: str) -> Iterator[tuple[str, Tree]]:
    """Each resource with its kind; a list's items need not repeat theirs."""
    for tree in files.trees(name):
        kind = tree.text("kind") or "a document without a kind"
        if kind.endswith("List"):
            for item in tree.items("items"):
                yield item.text("kind") or kind.removesuffix("List"), item
        else:
            yield kind, tree


def _is_set_aside(kind: str, node: Tree, conversion: Conversion) -> bool:
    annotations = node.get("metadata", "annotations")
    if annotations.flag("jikkou.io/delete"):
        conversion.skip(node.where, f"{kind} {_name(node)}", _DELETED)
        return True
    if annotations.flag("jikkou.io/ignore"):
        conversion.add_unmanaged(node.where, f"{kind} {_name(node)}", "it is annotated to be ignored")
        return True
    return False


def _name(node: Tree) -> str:
    return node.text("metadata", "name") or ""


def _authorization(node: Tree, roles: Mapping[str, Tree], conversion: Conversion) -> None:
    principal = _name(node)
    conversion.expect(node.get("spec"), ("acls", "roles"))
    _acls(principal, node.items("spec", "acls"), conversion)
    for name in node.texts("spec", "roles"):
        role = roles.get(name)
        if role is None:
            conversion.skip(node.where, f"role {name} of {principal}", "there is no such KafkaPrincipalRole")
        else:
            conversion.expect(role.get("spec"), ("acls",))
            _acls(principal, role.items("spec", "acls"), conversion)


def _acls(principal: str, acls: Iterable[Tree], conversion: Conversion) -> None:
    for acl in acls:
        conversion.expect(acl, ("resource", "operations", "type", "host"))
        resource = acl.get("resource")
        conversion.expect(resource, ("type", "pattern", "patternType"))
        form = resource.text("patternType") or "LITERAL"
        if form.upper() == "MATCH":
            conversion.skip(acl.where, f"{principal} on {resource.text('pattern')}", _MATCH)
            continue
        operations = acl.texts("operations")
        conversion.add_binding(
            principal,
            Resource(resource.text("type") or "", resource.text("pattern") or "", form),
            operations,
            acl.where,
            permission=acl.text_or("ALLOW", "type"),
            host=acl.text_or("*", "host"),
        )
        if not operations:
            conversion.skip(acl.where, f"an ACL of {principal}", "it has no operation")


def _topic(node: Tree, maps: Mapping[str, Mapping[str, str]], conversion: Conversion) -> None:
    spec = node.get("spec")
    conversion.expect(spec, ("partitions", "replicas", "configs", "configMapRefs"))
    configs = spec.settings("configs")
    for name in spec.texts("configMapRefs"):
        if name not in maps:
            conversion.skip(node.where, f"topic {_name(node)}", f"there is no ConfigMap {name}")
            return
        # A ConfigMap overrides the topic's own configs, and a later ConfigMap overrides an earlier one.
        configs |= maps[name]
    conversion.add_topic(_name(node), spec.text("partitions"), spec.text("replicas"), configs, node.where)
