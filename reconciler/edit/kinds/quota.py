"""Client quotas: items of ``Quotas`` documents."""

from typing import Final

from reconciler.edit.kinds.interface import Kind
from reconciler.edit.kinds.listed import ListedKind
from reconciler.edit.writing import Item, Written, quoted
from reconciler.model import listed_kind
from reconciler.model.kinds.quota import CLIENT_ID, IP, USER, ClientQuota, QuotaEntity

_FIELDS: Final = {USER: "user", CLIENT_ID: "clientId", IP: "ip"}
_USER: Final = "User:"


def _named(quota: ClientQuota) -> Item:
    named = dict(quota.entity.parts)
    item: dict[str, Written] = {
        field: quoted(named[kind]) if named[kind] else {"default": "true"}
        for kind, field in _FIELDS.items()
        if kind in named
    }
    return item


def _limits(quota: ClientQuota) -> dict[str, str]:
    return {key: _number(value) for key, value in quota.values.items()}


def _number(value: float) -> str:
    return str(int(value)) if value == int(value) else f"{value:.9f}".rstrip("0")


def _renamed(quota: ClientQuota, old: str, new: str) -> ClientQuota | None:
    """A quota names its user without the type; Kafka keeps none for principals of other types."""
    named = dict(quota.entity.parts)
    if quota.principal != old or not named.get(USER) or not new.startswith(_USER):
        return None
    named[USER] = new.removeprefix(_USER)
    return ClientQuota(QuotaEntity.of(named[USER], named.get(CLIENT_ID), None), quota.values)


_problem = listed_kind(ClientQuota).problem
KIND: Final[Kind] = ListedKind(ClientQuota, "Quotas", "quotas", "limits", _named, _limits, _problem, _renamed)
