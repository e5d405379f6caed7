"""Client quotas: ALTER_CONFIGS on the cluster (KIP-546). One that slows our own login down stops the tool."""

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple

from reconciler.codec.kinds import json_kind
from reconciler.model import AclOperation, Change, ClusterState, Create, Delete, resource_of
from reconciler.model.kinds.quota import (
    CLIENT_ID,
    DEFAULT_NAME,
    IP,
    UNNAMED_ID,
    USER,
    ClientQuota,
    QuotaEntity,
    levels,
    levels_of_ip,
    limits,
)
from reconciler.model.naming import as_name
from reconciler.plan.kinds.interface import Halves, LoginAtRisk
from reconciler.plan.kinds.listed import ListedKind, items_after
from reconciler.plan.observed import Observed, StepState
from reconciler.plan.phase import Phase

#: Whose addresses nobody knows.
_OURS: Final = "of our login, the super users and the brokers"


class _LimitingQuotas(ListedKind):
    def key(self, change: Change) -> tuple[str, Any]:
        """What goes is first: an address in another spelling takes its limit along (``ClientQuota.enforced``)."""
        return self.noun.lower(), (not isinstance(change, Delete), resource_of(change).key)

    def describe(self, change: Change) -> str:
        """Also what is set again."""
        again = resource_of(change).again
        return super().describe(change) + (f" and set {again.subject} again" if again is not None else "")

    def observe(self, change: Change, live: ClusterState) -> Observed:
        """Done once it is gone and what had to be set again is there, whatever it limits by then."""
        item: ClientQuota = resource_of(change)
        found = super().observe(change, live)
        if item.again is None or found.state in (StepState.UNREADABLE, StepState.STALE):
            return found
        there = live.listing(ClientQuota).by_key.get(item.again.key)
        if found.state is StepState.DONE and there is not None:
            return found
        if there is None:
            gone = "set" if found.state is StepState.PENDING else "not set"
            text = f"{item.again.subject} not set, {item.subject} {gone}"
            return Observed(StepState.PENDING, item.subject, f"{item.again.subject} set again", text)
        if there.values == item.again.values:
            return found
        return Observed(StepState.STALE, item.again.subject, _limits(item.again), _limits(there))

    def halves(self, change: Change, live: ClusterState) -> Halves | None:
        """What has to be set again is gone, and whatever is left of the deletion."""
        item: ClientQuota = resource_of(change)
        quotas = live.listing(ClientQuota)
        if item.again is None or quotas.items is None or item.again.key in quotas.by_key:
            return None
        gone = item.key not in quotas.by_key
        # To delete once more what is gone changes nothing.
        return Halves(Delete(item.again), Create(item.again) if gone else change)

    def risks(self, changes: Sequence[Change], live: ClusterState, logins: Mapping[str, str]) -> Iterator[LoginAtRisk]:
        """Each login that gets a limit, or a lower one, by a quota of its own or by a default that it is under.

        A client can choose its client id, so a named one counts only together with the login's own name.
        """
        items = live.listing(ClientQuota).items or frozenset()
        before = {one.entity: one for one in items}
        after = {one.entity: one for one in items_after(ClientQuota, items, changes)}
        clients = _client_ids((*before, *after))
        for principal, role in sorted(logins.items()):
            name = principal.partition(":")[2]
            ways = (tuple(levels(name, client_id)) for client_id in sorted({"", UNNAMED_ID, *clients.get(name, ())}))
            if found := sorted({limit for way in ways for limit in _tighter(before, after, way)}):
                said = ", ".join(dict.fromkeys(limit.text for limit in found))
                by = _by(changes, {limit.by for limit in found})
                yield LoginAtRisk(principal, f"{as_name(principal)}, which is {role}, is limited to {said}", by)
        yield from _of_addresses(before, after, changes) if logins else ()


def _limits(quota: ClientQuota) -> str:
    return ", ".join(f"{key}={value}" for key, value in quota.values.items())


def _client_ids(entities: Iterable[QuotaEntity]) -> Mapping[str, set[str]]:
    """The client ids that quotas name together with a user, by the user."""
    found: defaultdict[str, set[str]] = defaultdict(set)
    for entity in entities:
        parts = dict(entity.parts)
        found[parts.get(USER, "")].add(parts.get(CLIENT_ID, ""))
    return found


class _Limit(NamedTuple):
    """A limit in words, and the quota whose change makes it hold."""

    text: str
    by: QuotaEntity


def _tighter(
    before: Mapping[QuotaEntity, ClientQuota], after: Mapping[QuotaEntity, ClientQuota], way: Sequence[QuotaEntity]
) -> Iterator[_Limit]:
    """The limits that are new or lower, in words: ``producer_byte_rate 1 by default user``.

    ``way`` are the entities whose quota can hold, the one that wins first.
    """
    old, new = (limits((quotas[one] for one in way if one in quotas), way) for quotas in (before, after))
    for key, (winner, *_) in new.items():
        value = winner.values[key]
        if key not in old or value < old[key][0].values[key]:
            # As it was before, it holds because the one that won goes.
            by = old[key][0] if key in old and before.get(winner.entity) == winner else winner
            yield _Limit(f"{key} {value} by {winner.entity}", by.entity)


def _by(changes: Iterable[Change], entities: Collection[QuotaEntity]) -> tuple[Change, ...]:
    return tuple(
        change
        for change in changes
        if isinstance(quota := resource_of(change), ClientQuota) and quota.entity in entities
    )


def _of_addresses(
    before: Mapping[QuotaEntity, ClientQuota], after: Mapping[QuotaEntity, ClientQuota], changes: Sequence[Change]
) -> Iterator[LoginAtRisk]:
    """An address may be one of ours, the default is that of every address without a quota of its own."""
    touched = {quota.entity for change in changes if isinstance(quota := resource_of(change), ClientQuota)}
    for entity in sorted(touched):
        address = dict(entity.parts).get(IP)
        if address is None:
            continue
        # Gone, an address is under the default.
        way = tuple(levels_of_ip(address, before.values()))
        found = ", ".join(limit.text for limit in _tighter(before, after, way))
        every = "every address without a quota of its own" if address == DEFAULT_NAME else as_name(address)
        if found:
            text = f"connections from {every} are limited to {found}: nobody knows the addresses {_OURS}"
            yield LoginAtRisk(str(entity), text, _by(changes, {entity}), certain=address == DEFAULT_NAME)


KIND: Final = _LimitingQuotas(json_kind(ClientQuota), "Quota", Phase.ALTER_QUOTAS, AclOperation.ALTER_CONFIGS)
