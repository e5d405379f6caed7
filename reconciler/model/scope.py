"""Which bindings and topics a manifest directory answers for.

Ownership is settled before anything is compared, so that what belongs to somebody else can never look deletable.
A binding is selected only if its own pattern lies wholly inside the selector: PREFIXED ``pay`` is not inside
``payments.``, LITERAL ``*`` is inside ``{any: true}`` only.
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from reconciler.dataclass import dataclass
from reconciler.model.acl import WILDCARD, WILDCARD_PRINCIPAL, AclBinding, ResourcePattern
from reconciler.model.enums import PatternType, ResourceType
from reconciler.model.listing import ListedItem

#: Names that a run uses for its own sentinels, bridges and lease: not declarable, left out of every comparison.
RESERVED_PREFIXES: Final = ("__kr.", "__kr-flag.")
#: The fields that name resources of each type, in manifests, selections and plans.
RESOURCE_FIELDS: Final[Mapping[str, ResourceType]] = MappingProxyType(
    {
        "topics": ResourceType.TOPIC,
        "groups": ResourceType.GROUP,
        "transactionalIds": ResourceType.TRANSACTIONAL_ID,
        "cluster": ResourceType.CLUSTER,
        "delegationTokens": ResourceType.DELEGATION_TOKEN,
        "users": ResourceType.USER,
    }
)


def is_reserved(name: str) -> bool:
    """Whether ``name`` is one that only the reconciler itself uses, for a short time."""
    return name.startswith(RESERVED_PREFIXES)


@dataclass(frozen=True, slots=True, order=True)
class NameSelector:
    """Names: some literal ones, those with a prefix, or (``any_name``) all of them."""

    literal: tuple[str, ...] = ()
    prefix: str | None = None
    any_name: bool = False

    def selects_principal(self, principal: str) -> bool:
        """Whether ``principal`` is meant; ``User:*`` only by its own name or by ``any_name``."""
        if self.any_name or principal in self.literal:
            return True
        # User:* is everybody: an item such as {prefix: "User:"} is about principals that have names.
        return self.prefix is not None and principal != WILDCARD_PRINCIPAL and principal.startswith(self.prefix)

    def selects_name(self, name: str) -> bool:
        """Whether the name of a resource is meant."""
        return self.any_name or name in self.literal or (self.prefix is not None and name.startswith(self.prefix))

    def patterns(self, resource_type: ResourceType) -> tuple[ResourcePattern, ...]:
        """The selector as patterns of that type; LITERAL ``*`` stands for ``any_name``."""
        if self.any_name:
            return (ResourcePattern(resource_type, WILDCARD),)
        if self.prefix is not None:
            return (ResourcePattern(resource_type, self.prefix, PatternType.PREFIXED),)
        return tuple(ResourcePattern(resource_type, name) for name in self.literal)


@dataclass(frozen=True, slots=True)
class Selector:
    """One item of a scope: its fields are ANDed. It names at most one kind of resource.

    ``resource_type`` and ``names`` are both set or both ``None``; ``None`` for ``principals`` or ``names`` means
    that the item does not speak of them.
    """

    principals: NameSelector | None = None
    resource_type: ResourceType | None = None
    names: NameSelector | None = None

    def selects(self, binding: AclBinding) -> bool:
        """Whether the binding lies wholly inside this item."""
        if self.principals is not None and not self.principals.selects_principal(binding.entry.principal):
            return False
        if self.resource_type is None or self.names is None:
            return self.principals is not None
        return any(own.contains(binding.pattern) for own in self.names.patterns(self.resource_type))

    def selects_topic(self, name: str) -> bool:
        """Whether the topic is meant: only items with ``topics`` and no ``principals`` speak of topics."""
        if self.principals is not None or self.resource_type is not ResourceType.TOPIC or self.names is None:
            return False
        return any(own.matches(name) for own in self.names.patterns(ResourceType.TOPIC))

    def selects_listed(self, item: ListedItem) -> bool:
        """Whether a resource of a listed kind is meant.

        One that is about a named resource is selected by an item with such names alone, as a topic is. Any other is
        selected by an item with ``principals`` alone; what is about no principal (the quota of a default, of a client
        id, of an address) by ``{any: true}`` only.
        """
        place = item.place
        if place is not None:
            if self.principals is not None or self.resource_type is not place.resource_type or self.names is None:
                return False
            return self.names.selects_name(place.name)
        # An item with topics or groups was written about access to them: it must not make a quota deletable too.
        if self.principals is None or self.resource_type is not None:
            return False
        principal = item.principal
        return self.principals.any_name if principal is None else self.principals.selects_principal(principal)


@dataclass(frozen=True, slots=True)
class Scope:
    """What a directory owns on a cluster: ``include`` first, then less ``exclude``, then less ``ignore``.

    ``include=None`` means all ACLs and the declared topics. ``ignore`` is what somebody else manages: it is
    counted apart from what is merely outside.
    """

    include: tuple[Selector, ...] | None = None
    exclude: tuple[Selector, ...] = ()
    ignore: tuple[Selector, ...] = ()

    def owns(self, binding: AclBinding) -> bool:
        """Whether a binding may be planned at all."""
        if self.include is not None and not any(item.selects(binding) for item in self.include):
            return False
        if self.exclude and any(item.selects(binding) for item in self.exclude):
            return False
        return not self.ignores(binding)

    def owns_topic(self, name: str, *, declared: bool) -> bool:
        """Whether a topic may be planned at all; without ``include`` only declared ones may."""
        included = declared if self.include is None else any(item.selects_topic(name) for item in self.include)
        taken = (*self.exclude, *self.ignore)
        return included and not is_reserved(name) and not any(item.selects_topic(name) for item in taken)

    @property
    def holds_topics(self) -> bool:
        """Whether an item of ``include`` speaks of topics, whoever has access to them, and so of undeclared ones."""
        items = self.include or ()
        return any(item.principals is None and item.resource_type is ResourceType.TOPIC for item in items)

    def owns_listed(self, item: ListedItem, *, declared: bool) -> bool:
        """Whether a resource of a listed kind may be planned at all; without ``include`` only declared ones may."""
        included = declared if self.include is None else any(one.selects_listed(item) for one in self.include)
        return included and not any(one.selects_listed(item) for one in (*self.exclude, *self.ignore))

    def ignores(self, binding: AclBinding) -> bool:
        """Whether somebody else manages this binding, or the reconciler itself uses it for a moment."""
        # Whatever the scope says: a plan that removed the bridge or lease of a run that goes on would break that run.
        if is_reserved(binding.pattern.name):
            return True
        return bool(self.ignore) and any(item.selects(binding) for item in self.ignore)
