"""SCRAM users and client quotas of a state, for answers about a principal's access."""

from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Final

from reconciler.model import Change, ClusterState, DesiredState
from reconciler.model.kinds.quota import ClientQuota
from reconciler.model.kinds.scram_user import ScramUser
from reconciler.model.naming import as_name
from reconciler.plan import Plan
from reconciler.plan.kinds.listed import items_after
from reconciler.report.beside_acls import BesideAcls

#: What is read for them.
LISTINGS: Final = (ScramUser.KIND, ClientQuota.KIND)
#: What is read for :func:`login_gaps`.
WHO_LOGS_IN: Final = ScramUser.KIND
#: So many principals are named.
_NAMED: Final = 5


def beside_live(state: ClusterState, *, only_scram: bool = False) -> BesideAcls:
    """As a cluster or a snapshot has it; ``only_scram``: the operator states that nobody logs in otherwise."""
    users, quotas = state.listing(ScramUser), state.listing(ClientQuota)
    by_name = None if users.items is None else dict(users.by_key)
    gaps = {ScramUser.WORDS: users.gap, ClientQuota.WORDS: quotas.gap}
    known = {words: gap for words, gap in gaps.items() if gap is not None}
    return BesideAcls(by_name, quotas.items, known, only_scram=only_scram)


def beside_declared(wanted: DesiredState, *, only_scram: bool = False) -> BesideAcls:
    """As manifests declare it."""
    users, quotas = wanted.of(ScramUser), wanted.of(ClientQuota)
    there = {name: one.item for name, one in users.items() if not one.goes}
    limited = frozenset(one.item for one in quotas.values() if not one.goes)
    absent = frozenset(users.keys() - there.keys())
    return BesideAcls(there, limited, whole=False, absent=absent, only_scram=only_scram)


def login_gaps(plan: Plan, live: ClusterState) -> Iterator[str]:
    """Who gains access and cannot log in after it, where the operator states that SCRAM is the only way."""
    after = beside_after(beside_live(live, only_scram=True), (step.change for step in plan.steps))
    gaining = {row.principal for row in plan.access.access_changes if row.gained and row.principal is not None}
    found = sorted(one for one in gaining if after.can_log_in(one) is False)
    if found:
        more = f" and {len(found) - _NAMED:,} more" if len(found) > _NAMED else ""
        yield (
            f"cannot log in: {', '.join(map(as_name, found[:_NAMED]))}{more}; the operator states that SCRAM is the "
            "only way, and no SCRAM user of that name has a mechanism that works"
        )


def beside_after(before: BesideAcls, changes: Iterable[Change]) -> BesideAcls:
    """With the steps of a plan done."""
    made = list(changes)
    users, quotas = before.users, before.quotas
    if users is not None:
        users = {one.name: one for one in items_after(ScramUser, users.values(), made)}
    if quotas is not None:
        quotas = items_after(ClientQuota, quotas, made)
    return replace(before, users=users, quotas=quotas)
