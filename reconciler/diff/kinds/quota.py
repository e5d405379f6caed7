"""Client quotas: a declared entity against the live one, all of its keys together.

Keys that this version does not know stay as they are: they are listed, and nothing is planned against them.
"""

from collections.abc import Iterator, Mapping

from reconciler.diff.difference import Comparison, DeclaredChange, DiffRules, Skipped, SkipReason
from reconciler.model import (
    QUOTA_KEYS,
    Change,
    ClientQuota,
    ClusterState,
    Create,
    Delete,
    DesiredQuota,
    DesiredState,
    QuotaEntity,
    Scope,
    Update,
)

_UNREAD = "the quotas of this cluster were not read"
_UNKNOWN = "this version does not know the key, which stays as it is"


def differences(desired: DesiredState, live: ClusterState, scope: Scope, rules: DiffRules) -> Comparison:
    """Declared entities in order, then those to be pruned; all are skipped where the quotas could not be read."""
    declared = {**desired.expired_quotas, **desired.quotas}
    if live.quotas is None:
        return Comparison(skipped=tuple(_unread(declared, live.quota_gap or _UNREAD, prune=rules.prune_quotas)))
    changes: list[DeclaredChange] = []
    skipped: list[Skipped] = []
    there = {quota.entity: quota for quota in live.quotas}
    for entity in sorted(declared):
        wanted = declared[entity]
        goes = wanted.absent or entity not in desired.quotas
        found = _change(wanted.quota, there.get(entity), goes=goes)
        changes += [DeclaredChange(change, wanted.declaration) for change in found]
        unknown = sorted(there[entity].values.keys() - QUOTA_KEYS.keys()) if entity in there else ()
        place = wanted.declaration.origin
        skipped += [
            Skipped(SkipReason.UNSUPPORTED, f"quota of {entity}: {key}", _UNKNOWN, None, place) for key in unknown
        ]
    for entity in sorted(there.keys() - declared.keys()) if rules.prune_quotas else ():
        if scope.owns_quota(entity, declared=False):
            changes += map(DeclaredChange, _change(there[entity], there[entity], goes=True))
    return Comparison(tuple(changes), tuple(skipped))


def _unread(declared: Mapping[QuotaEntity, DesiredQuota], gap: str, *, prune: bool) -> Iterator[Skipped]:
    for entity in sorted(declared):
        yield Skipped(SkipReason.UNREADABLE, f"quota of {entity}", gap, origin=declared[entity].declaration.origin)
    if prune:
        yield Skipped(SkipReason.UNREADABLE, "quotas that no manifest declares", gap)


def _change(wanted: ClientQuota, live: ClientQuota | None, *, goes: bool) -> Iterator[Change]:
    known = {key: value for key, value in live.values.items() if key in QUOTA_KEYS} if live else {}
    before = ClientQuota(wanted.entity, known)
    if not known:
        if not goes:
            yield Create(wanted)
    elif goes:
        yield Delete(before)
    elif before != wanted:
        yield Update(before, wanted)
