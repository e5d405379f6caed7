"""Client quotas: a declared entity against the live one, all of its keys together.

Keys that this version does not know stay as they are: they are listed, and nothing is planned against them.
"""

from collections.abc import Iterator, Mapping

from reconciler.diff.difference import Comparison, DeclaredChange, DiffRules, Skipped, SkipReason
from reconciler.model import (
    Change,
    ClusterState,
    Create,
    Delete,
    DesiredItem,
    DesiredState,
    Scope,
    Update,
)
from reconciler.model.kinds.quota import QUOTA_KEYS, ClientQuota, QuotaEntity

_UNREAD = "the quotas of this cluster were not read"
_UNKNOWN = "this version does not know the key, which stays as it is"


def differences(desired: DesiredState, live: ClusterState, scope: Scope, rules: DiffRules) -> Comparison:
    """Declared entities in order, then those to be pruned; all are skipped where the quotas could not be read."""
    declared, listing = desired.of(ClientQuota), live.listing(ClientQuota)
    prune = ClientQuota.KIND in rules.prune
    if listing.items is None:
        return Comparison(skipped=tuple(_unread(declared, listing.gap or _UNREAD, prune=prune)))
    changes: list[DeclaredChange] = []
    skipped: list[Skipped] = []
    there = listing.by_key
    for entity in sorted(declared):
        wanted = declared[entity]
        found = _change(wanted.item, there.get(entity), goes=wanted.goes)
        changes += [DeclaredChange(change, wanted.declaration) for change in found]
        unknown = sorted(there[entity].values.keys() - QUOTA_KEYS.keys()) if entity in there else ()
        place = wanted.declaration.origin
        skipped += [
            Skipped(SkipReason.UNSUPPORTED, f"quota of {entity}: {key}", _UNKNOWN, None, place) for key in unknown
        ]
    for entity in sorted(there.keys() - declared.keys()) if prune else ():
        # Only where include names it: without include a directory answers for what it declares, not for all there is.
        if scope.owns_listed(there[entity], declared=False):
            changes += map(DeclaredChange, _change(there[entity], there[entity], goes=True))
    return Comparison(tuple(changes), tuple(skipped))


def _unread(declared: Mapping[QuotaEntity, DesiredItem[ClientQuota]], gap: str, *, prune: bool) -> Iterator[Skipped]:
    for entity in sorted(declared):
        yield Skipped(SkipReason.UNREADABLE, f"quota of {entity}", gap, origin=declared[entity].declaration.origin)
    if prune:
        yield Skipped(SkipReason.UNREADABLE, "quotas that no manifest declares", gap)


def _change(wanted: ClientQuota, live: ClientQuota | None, *, goes: bool) -> Iterator[Change]:
    # Without unknown keys on either side: a change that named one would remove a limit that nobody here understands.
    known = {key: value for key, value in live.values.items() if key in QUOTA_KEYS} if live else {}
    before = ClientQuota(wanted.entity, known)
    if not known:
        if not goes:
            yield Create(wanted)
    elif goes:
        yield Delete(before)
    elif before != wanted:
        yield Update(before, wanted)


def objection(change: Change, desired: DesiredState, rules: DiffRules) -> str | None:
    """Limits to set have to be those declared; limits to delete have to be unwanted."""
    match change:
        case Create(ClientQuota() as quota) | Update(_, ClientQuota() as quota):
            wanted = desired.of(ClientQuota).get(quota.key)
            return None if wanted is not None and not wanted.absent and wanted.item == quota else "to be declared so"
        case Delete(ClientQuota(entity)):
            wanted = desired.of(ClientQuota).get(entity)
            if wanted is not None and not wanted.goes:
                return "not to be declared"
            gone = wanted is not None or ClientQuota.KIND in rules.prune
            return None if gone else "to be declared absent"
    return None
