"""Client quotas: items of ``Quotas`` documents."""

from typing import Final

from reconciler.edit.kinds.interface import Kind
from reconciler.edit.kinds.listed import ListedKind
from reconciler.edit.writing import Item, Written, quoted
from reconciler.model.kinds.quota import CLIENT_ID, IP, USER, ClientQuota, QuotaEntity
from reconciler.report.export.kinds.quota import quota_problem

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


KIND: Final[Kind] = ListedKind(ClientQuota, "Quotas", "quotas", "limits", _named, _limits, quota_problem, _renamed)
