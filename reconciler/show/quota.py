"""Answers to ``quota`` and ``explain --client-id``: which quota limits a client, and which others it overrides."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from reconciler.dataclass import dataclass
from reconciler.model.characters import Style, plain, safe
from reconciler.model.desired import DesiredItem
from reconciler.model.kinds.quota import (
    QUOTA_KEYS,
    UNNAMED_ID,
    ClientQuota,
    QuotaEntity,
    levels,
    levels_of_ip,
    limit_text,
    limits,
)
from reconciler.results.access import StateView, times


@dataclass(frozen=True, slots=True)
class QuotaView(StateView):
    """The client quotas of one state, and what manifests declare of them; ``as_of`` as in ``AccessView``."""

    quotas: frozenset[ClientQuota]
    declared: Mapping[QuotaEntity, DesiredItem[ClientQuota]]
    as_of: str = ""

    @property
    def words(self) -> str:
        """What was looked at, in a sentence."""
        return self._looked_at(self.as_of)

    def place(self, quota: ClientQuota, key: str) -> str | None:
        """Where a limit is declared; ``None`` if it is not as it is declared."""
        declared = self.declared.get(quota.entity)
        if declared is None or declared.goes or declared.item.values.get(key) != quota.values[key]:
            return None
        return str(declared.declaration.origin)


@dataclass(frozen=True, slots=True)
class Client:
    """Whose requests are limited: those of a principal, perhaps with a client id, or the connections from ``ip``."""

    principal: str | None = None
    client_id: str = ""
    ip: str | None = None

    def levels(self, quotas: Iterable[ClientQuota]) -> tuple[QuotaEntity, ...]:
        """The entities whose quotas can limit it, the one that wins first; ``quotas`` are those there are."""
        if self.ip is not None:
            return tuple(levels_of_ip(self.ip, quotas))
        return tuple(levels((self.principal or "").partition(":")[2], self.client_id))

    def with_id(self, client_id: str) -> "Client":
        """The same with this client id."""
        return Client(self.principal, client_id, self.ip)

    def __str__(self) -> str:
        """As a question names it."""
        if self.ip is not None:
            return f"address {self.ip}"
        return f"{self.principal}{f' with client id {self.client_id}' if self.client_id else ''}"


def quota_lines(views: Sequence[QuotaView], client: Client, style: Style = plain) -> Iterator[str]:
    """One state, or before and after."""
    for view, when in zip(views, times(views), strict=True):
        yield f"{when}{safe(str(client))}:"
        yield from _limit_lines(view, client, "    ")
        yield style("dim", f"    {safe(view.words)}")


@dataclass(frozen=True, slots=True)
class ClientLimits:
    """What limits one client in one state: a part of the answer to another question."""

    view: QuotaView
    client: Client

    def lines(self, indent: str) -> Iterator[str]:
        """A heading, and a line for each limit."""
        yield f"{indent}quotas of {safe(str(self.client))}:"
        yield from _limit_lines(self.view, self.client, f"{indent}  ")

    def documents(self) -> list[dict[str, Any]]:
        """Each key with its quota, ``None`` where it is unlimited, and what that overrides."""
        return _limit_documents(self.view, self.client)


def _limit_lines(view: QuotaView, client: Client, indent: str) -> Iterator[str]:
    """Each key with the quota that limits it and those that it overrides."""
    for key, quotas in _limits(view, client).items():
        if not quotas:
            yield f"{indent}{key}: unlimited"
        for number, quota in enumerate(quotas):
            value = limit_text(key, quota.values[key])
            lead = f"{safe(key)} = {value}" if number == 0 else f"  overrides {value}"
            if number and quota.enforced == quotas[0].enforced:
                lead = f"  or {value}, if that was set last,"
            place = view.place(quota, key)
            yield f"{indent}{lead} by {safe(str(quota.entity))}{f'  {safe(place)}' if place else ''}"
    for key, quota in _with_any_id(view, client).items():
        value = limit_text(key, quota.values[key])
        yield f"{indent}{safe(key)} = {value} by {safe(str(quota.entity))} holds for clients that have a client id"


def quota_table(views: Sequence[QuotaView], client: Client) -> dict[str, Any]:
    """Columns for people: a row for each limit, and for each quota that another one overrides."""
    rows = []
    for view, when in zip(views, times(views), strict=True):
        for key, quotas in _limits(view, client).items():
            for number, quota in enumerate(quotas):
                value = f"{'overridden: ' if number else ''}{limit_text(key, quota.values[key])}"
                rows.append([view.cluster, when.strip(" :"), key, value, str(quota.entity), view.place(quota, key)])
            if not quotas:
                rows.append([view.cluster, when.strip(" :"), key, "unlimited", "", ""])
    return {"columns": ["CLUSTER", "STATE", "LIMIT", "VALUE", "SET FOR", "DECLARED AT"], "rows": rows}


def quota_document(views: Sequence[QuotaView], client: Client) -> dict[str, Any]:
    """For programs."""
    answers = [{**view.document(), "limits": _limit_documents(view, client)} for view in views]
    return {"client": str(client), "answers": answers}


def _limit_documents(view: QuotaView, client: Client) -> list[dict[str, Any]]:
    """Each key with its quota, ``None`` where it is unlimited, and what that overrides."""
    return [
        {"key": key, "quota": documents[0] if documents else None, "overrides": documents[1:]}
        for key, quotas in _limits(view, client).items()
        for documents in [[_document(view, quota, key) for quota in quotas]]
    ]


def _limits(view: QuotaView, client: Client) -> dict[str, list[ClientQuota]]:
    """Every key that Kafka has for such a client, then those that only a newer Kafka knows."""
    by_key = {key: list[ClientQuota]() for key, about in QUOTA_KEYS.items() if about.of_ip == (client.ip is not None)}
    return {**by_key, **limits(view.quotas, client.levels(view.quotas))}


def _with_any_id(view: QuotaView, client: Client) -> dict[str, ClientQuota]:
    """Where no client id is given: the limits of a client that has one without a quota of its own, if they differ."""
    if client.ip is not None or client.client_id:
        return {}
    own, other = (
        limits(view.quotas, client.levels(view.quotas)),
        limits(view.quotas, client.with_id(UNNAMED_ID).levels(view.quotas)),
    )
    return {key: quotas[0] for key, quotas in other.items() if quotas[:1] != own.get(key, [])[:1]}


def _document(view: QuotaView, quota: ClientQuota, key: str) -> dict[str, Any]:
    return {"entity": str(quota.entity), "value": quota.values[key], "origin": view.place(quota, key)}
