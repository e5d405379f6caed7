"""jikkou: principals' authorizations, roles, topics, quotas and users (streamthoughts/jikkou, 70544d7).

Sources: ``V1KafkaPrincipalAcl``, ``KafkaPrincipalAuthorizationTransformation``, ``LiteralKafkaAclBindingBuilder``,
``TopicMatchingAclRulesBuilder``, ``ConfigMapsTransformation``, ``KafkaClientQuotaType``.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Final

from reconciler.model.frozen import FrozenMap
from reconciler.model.kinds.quota import CLIENT_ID, DEFAULT_NAME, USER, QuotaEntity
from reconciler.parts.convert.conversion import Conversion, Resource, add_foreign
from reconciler.parts.convert.files import SourceFiles, Tree, by_name
from reconciler.parts.convert.strimzi import quota_limits

_AUTHORIZATION: Final = "KafkaPrincipalAuthorization"
_ROLE: Final = "KafkaPrincipalRole"
_QUOTA: Final = "KafkaClientQuota"
_USER: Final = "KafkaUser"
_KINDS: Final = (_AUTHORIZATION, _ROLE, "KafkaTopic", "ConfigMap", _QUOTA, _USER)
#: ``V1KafkaUserAuthentication.DEFAULT_ITERATIONS``.
_ITERATIONS: Final = "8192"
#: The names of user and client id that each type of quota takes, ``None`` for the default.
_ENTITIES: Final[Mapping[str, Mapping[str, str | None]]] = FrozenMap(
    {
        "USERS_DEFAULT": {USER: None},
        "USER": {USER: "user"},
        "USER_CLIENT": {USER: "user", CLIENT_ID: "clientId"},
        "USER_ALL_CLIENTS": {USER: "user", CLIENT_ID: None},
        "CLIENTS_DEFAULT": {CLIENT_ID: None},
        "CLIENT": {CLIENT_ID: "clientId"},
    }
)
_MATCH: Final = "a MATCH pattern grants the topics that exist when it is applied: name them, or use a prefix"
_DELETED: Final = "it is annotated to be deleted: no manifest declares it"


def read_jikkou(files: SourceFiles, conversion: Conversion) -> None:
    """All resources of YAML files; templates must be rendered first."""
    by_kind: dict[str, list[Tree]] = {kind: [] for kind in _KINDS}
    for name in files.ending(".yaml", ".yml"):
        for kind, node in _resources(conversion.rendered(files, name)):
            if kind not in by_kind or _is_of_another(kind, node):
                full = f"{node.text('apiVersion') or ''} {kind}"
                add_foreign(
                    conversion,
                    node,
                    full,
                    f"{kind} {_name(node)}",
                    unmanaged="not one of jikkou's ACLs, topics, quotas and users",
                )
            elif not _is_set_aside(kind, node, conversion):
                conversion.recognise()
                by_kind[kind].append(node)
    roles = by_name((_name(node), node) for node in by_kind[_ROLE])
    for node in by_kind[_AUTHORIZATION]:
        _authorization(node, roles, conversion)
    for role in roles.values():
        if not role.has_read("spec"):
            # Nobody has it, so it grants nothing.
            role.ignore()
    named = by_name((_name(node), node) for node in by_kind["ConfigMap"])
    maps = {name: node.settings("data") for name, node in named.items()}
    for node in by_kind["ConfigMap"]:
        node.ignore("binaryData", "immutable")
    for node in by_kind["KafkaTopic"]:
        _topic(node, maps, conversion)
    for node in by_kind[_QUOTA]:
        _quota(node, conversion)
    for node in by_kind[_USER]:
        _user(node, conversion)


def _is_of_another(kind: str, node: Tree) -> bool:
    """Whether another tool has a kind of this name: Strimzi's KafkaTopic and KafkaUser are not jikkou's."""
    group = (node.text("apiVersion") or "").partition("/")[0]
    return kind in ("KafkaTopic", _USER) and "." in group and "jikkou" not in group


def _resources(trees: Iterable[Tree]) -> Iterator[tuple[str, Tree]]:
    """Each resource with its kind; a list's items need not repeat theirs. What is no resource is named as unread."""
    for tree in trees:
        if not tree.is_mapping():
            continue
        tree.ignore("apiVersion", "metadata")
        kind = tree.text("kind") or "a document without a kind"
        if kind.endswith("List"):
            tree.ignore("spec")
            for item in tree.items("items"):
                item.ignore("apiVersion")
                yield item.text("kind") or kind.removesuffix("List"), item
        else:
            yield kind, tree


def _is_set_aside(kind: str, node: Tree, conversion: Conversion) -> bool:
    # Names, labels and annotations decide nothing else.
    node.get("metadata").ignore()
    annotations = node.get("metadata", "annotations")
    if annotations.flag("jikkou.io/delete"):
        if kind == "KafkaTopic":
            node.get("spec").ignore()
            conversion.add_absent_topic(_name(node), node.where)
        elif kind == _USER:
            node.get("spec").ignore()
            conversion.add_absent_user(_name(node), node.where)
        else:
            conversion.add_unmanaged(node, f"{kind} {_name(node)}".strip(), _DELETED)
        return True
    if annotations.flag("jikkou.io/ignore"):
        conversion.add_unmanaged(node, f"{kind} {_name(node)}", "it is annotated to be ignored")
        return True
    return False


def _name(node: Tree) -> str:
    return node.text("metadata", "name") or ""


def _authorization(node: Tree, roles: Mapping[str, Tree], conversion: Conversion) -> None:
    principal = _name(node)
    _acls(principal, node.items("spec", "acls"), conversion)
    for name in node.texts("spec", "roles"):
        role = roles.get(name)
        if role is None:
            conversion.skip(node.where, f"role {name} of {principal}", "there is no such KafkaPrincipalRole")
        else:
            _acls(principal, role.items("spec", "acls"), conversion)


def _acls(principal: str, acls: Iterable[Tree], conversion: Conversion) -> None:
    for acl in acls:
        resource = acl.get("resource")
        form = resource.text("patternType") or "LITERAL"
        if form.upper() == "MATCH":
            conversion.skip(acl, f"{principal} on {resource.text('pattern')}", _MATCH)
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
    configs = spec.settings("configs")
    for name in spec.texts("configMapRefs"):
        if name not in maps:
            conversion.skip(node, f"topic {_name(node)}", f"there is no ConfigMap {name}")
            return
        # A ConfigMap overrides the topic's own configs, and a later ConfigMap overrides an earlier one.
        configs |= maps[name]
    conversion.add_topic(_name(node), spec.text("partitions"), spec.text("replicas"), configs, node.where)


def _quota(node: Tree, conversion: Conversion) -> None:
    spec = node.get("spec")
    kind, named = spec.text("type") or "", spec.get("entity")
    parts = _ENTITIES.get(kind)
    if parts is None:
        conversion.skip(node, "a quota", f"there is no type of quota {kind!r}")
        return
    names = {part: DEFAULT_NAME if field is None else named.text(field) for part, field in parts.items()}
    missing = [field for field in parts.values() if field is not None and named.text(field) is None]
    if missing:
        conversion.skip(node, f"a quota of type {kind}", f"its entity has no {' and no '.join(missing)}")
        return
    conversion.add_quota(
        QuotaEntity.of(names.get(USER), names.get(CLIENT_ID)), quota_limits(spec.get("configs")), node.where
    )


def _user(node: Tree, conversion: Conversion) -> None:
    if not node.items("spec", "authentications"):
        conversion.add_unmanaged(node, f"KafkaUser {_name(node)}", "it has no way to log in")
    for method in node.items("spec", "authentications"):
        method.ignore("password", "salt")  # without one, jikkou makes a password
        conversion.add_user(
            _name(node), method.text("type") or "", method.text("iterations") or _ITERATIONS, method.where
        )
