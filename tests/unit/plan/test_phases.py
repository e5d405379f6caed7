"""The order's laws over all phases: where brokers have to catch up, and what an undeclared default-allow means."""

import itertools

import pytest

from reconciler.model.listing import Create, Delete
from reconciler.model.topic import Topic
from reconciler.plan.difference import DeclaredChange
from reconciler.plan.order import ordered
from reconciler.plan.phase import Phase, barriers
from tests.worlds import acl

#: Phases that change what brokers enforce; those of one line are sent in one go.
_ACL_PHASES = (
    (Phase.CREATE_FIRST, Phase.CREATE_DENY, Phase.CREATE_ALLOW),
    (Phase.DELETE_ALLOW,),
    (Phase.DELETE_WAITING_ALLOW,),
    (Phase.DELETE_DENY,),
)


@pytest.mark.parametrize(
    ("sent", "later"),
    [
        (sent, later)
        for group in _ACL_PHASES
        for sent, later in itertools.product(group, Phase)
        if group[-1] < later <= Phase.DELETE_LAST
    ],
)
def test_whatever_follows_a_change_of_acls_waits_until_brokers_enforce_it(sent: Phase, later: Phase) -> None:
    assert [phase for phase in barriers({sent, later}) if sent <= phase < later]
    # Whatever else is sent, there is one in between.
    assert [phase for phase in barriers({*Phase}) if sent <= phase < later]


@pytest.mark.parametrize("phase", Phase)
def test_nothing_waits_for_one_phase_alone_or_for_quotas(phase: Phase) -> None:
    assert barriers({phase}) == barriers({phase, Phase.ALTER_QUOTAS}) == ()


def test_an_undeclared_default_allow_counts_as_on() -> None:
    """The last ALLOW on a topic that goes stays until it is gone: without it the topic may be open to everyone."""
    changes = [DeclaredChange(Delete(acl("x", "User:a"))), DeclaredChange(Delete(Topic("x", 1, 1)))]
    undeclared, on, off = (ordered(changes, (), default_allow=word) for word in (None, True, False))
    assert undeclared == on
    assert [step.phase for step in on] == [Phase.DELETE_TOPIC, Phase.DELETE_WAITING_ALLOW]
    assert [step.phase for step in off] == [Phase.DELETE_ALLOW, Phase.DELETE_TOPIC]
    covered = [*changes, DeclaredChange(Create(acl("x", "User:b")))]
    still = ordered(covered, [acl("x", "User:b").pattern], default_allow=None)
    assert [step.phase for step in still] == [Phase.CREATE_ALLOW, Phase.DELETE_ALLOW, Phase.DELETE_TOPIC]
