"""SCRAM users and client quotas of a state, for answers about a principal's access."""

from collections.abc import Iterable
from dataclasses import replace
from typing import Final

from reconciler.model import Change, ClusterState, DesiredState
from reconciler.model.kinds.quota import ClientQuota
from reconciler.model.kinds.scram_user import ScramUser
from reconciler.plan.kinds.listed import items_after
from reconciler.report.beside_acls import BesideAcls

#: What is read for them.
LISTINGS: Final = (ScramUser.KIND, ClientQuota.KIND)


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


def beside_after(before: BesideAcls, changes: Iterable[Change]) -> BesideAcls:
    """With the steps of a plan done."""
    made = list(changes)
    users, quotas = before.users, before.quotas
    if users is not None:
        users = {one.name: one for one in items_after(ScramUser, users.values(), made)}
    if quotas is not None:
        quotas = items_after(ClientQuota, quotas, made)
    return replace(before, users=users, quotas=quotas)
