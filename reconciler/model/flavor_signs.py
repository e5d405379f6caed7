"""What a cluster shows of its make, and whether that contradicts what somebody states."""

import re
from collections.abc import Collection, Iterator, Mapping
from typing import Final

from reconciler.dataclass import dataclass
from reconciler.model.acl import AclBinding
from reconciler.model.flavor import FLAVORS, Flavor, Signs
from reconciler.model.frozen import FrozenMap
from reconciler.model.state import ClusterState

#: The broker config that holds the host names of all its listeners, also of those that are not for us.
LISTENERS: Final = "advertised.listeners"
_LISTENER_HOST: Final = re.compile(r"://\[?([^,/\]]+?)\]?:[0-9]+")
_RESOURCE_ID: Final = re.compile(r"User:(sa|u|pool)-[a-z0-9]+")


@dataclass(frozen=True, slots=True)
class ClusterSigns:
    """What of a cluster may tell its make.

    ``hosts`` are those under which its brokers are advertised to us, ``configs`` those of a broker's configs that
    :func:`may_tell`, with their values as far as they are shown, and ``topic_configs`` names of configs of topics.
    """

    cluster_id: str
    hosts: Collection[str] = ()
    configs: Mapping[str, str | None] = FrozenMap()
    topic_configs: Collection[str] = ()


def signs_of(live: ClusterState) -> ClusterSigns:
    """Those that a state holds."""
    topic_configs = {name for topic in live.topics.values() for name in topic.configs}
    return ClusterSigns(live.cluster_id, live.broker_hosts, live.broker_configs, topic_configs)


def may_tell(config: str) -> bool:
    """Whether a broker has a config of this name only at some make, or its value holds host names."""
    return config == LISTENERS or any(_fits(one.signs.configs, config) for one in FLAVORS.values())


@dataclass(frozen=True, slots=True)
class ShownFlavor:
    """What a cluster shows itself to be, and by what; ``by_id``: by its id, which no proxy changes."""

    flavor: Flavor
    sign: str
    by_id: bool = False


def shown_flavors(signs: ClusterSigns) -> tuple[ShownFlavor, ...]:
    """The makes that a cluster shows, each with its best sign; several where names disagree."""
    found = (next(_shown(flavor, signs), None) for flavor in FLAVORS.values())
    return tuple(one for one in found if one is not None)


def _shown(flavor: Flavor, signs: ClusterSigns) -> Iterator[ShownFlavor]:
    if _fits(flavor.signs.cluster_id, signs.cluster_id):
        yield ShownFlavor(flavor, f"the cluster id is {signs.cluster_id}", by_id=True)
    yield from (ShownFlavor(flavor, sign) for sign in _other_signs(flavor.signs, signs))


def _other_signs(wanted: Signs, signs: ClusterSigns) -> Iterator[str]:
    yield from (f"a broker is {host}" for host in sorted(signs.hosts) if _fits(wanted.hosts, host))
    listeners = _LISTENER_HOST.findall(signs.configs.get(LISTENERS) or "")
    yield from (f"{LISTENERS} of a broker names {host}" for host in listeners if _fits(wanted.hosts, host))
    yield from (f"a broker has the config {name}" for name in sorted(signs.configs) if _fits(wanted.configs, name))
    topics = sorted(signs.topic_configs)
    yield from (f"a topic has the config {name}" for name in topics if _fits(wanted.topic_configs, name))


def _fits(pattern: re.Pattern[str] | None, text: str) -> bool:
    return pattern is not None and pattern.fullmatch(text) is not None


def mixed_names(bindings: Collection[AclBinding]) -> ShownFlavor | None:
    """The make whose accounts have two names, where a listing has both kinds: each may name one account twice."""
    principals = {binding.entry.principal for binding in bindings}
    for flavor in FLAVORS.values():
        integer = min(filter(flavor.is_alias, principals), default=None)
        resource = min(filter(_RESOURCE_ID.fullmatch, principals), default=None)
        if integer is not None and resource is not None:
            return ShownFlavor(flavor, f"ACLs name both {integer} and {resource}")
    return None


def flavor_contradiction(stated: Flavor, signs: ClusterSigns) -> str | None:
    """Why a cluster cannot be what somebody states, with both facts; ``None`` where nothing speaks against it.

    Where names disagree, a statement that agrees with one of them settles it; an id it cannot overrule.
    """
    shown = shown_flavors(signs)
    contrary = sorted((one for one in shown if one.flavor != stated), key=lambda one: not one.by_id)
    if contrary and (len(contrary) == len(shown) or contrary[0].by_id):
        return f"flavor is {stated.name}, but {contrary[0].sign}, which is {contrary[0].flavor.title}'s"
    if not shown and stated.signs.by_id:
        return (
            f"flavor is {stated.name}, but the cluster id is {signs.cluster_id}, which no cluster of {stated.title} has"
        )
    return None
