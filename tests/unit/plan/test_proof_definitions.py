"""Proof of an order against its definition: every request, asked before, after and between any two phases."""

from collections.abc import Iterator, Sequence
from itertools import groupby, product
from random import Random
from typing import Final

import pytest

from reconciler.access.authorizer import Authorizer
from reconciler.access.interpretation import TooMuchToDecideError, Work
from reconciler.model.acl import AclBinding, AclOperation, AclPermissionType, ResourceType
from reconciler.model.listing import Change, Create, Delete
from reconciler.model.topic import Topic
from reconciler.plan.order import UnsafeOrderError, prove
from reconciler.plan.phase import Phase
from reconciler.plan.step import Step
from tests.property.access_naive import Ask, Cluster, allowed_plainly
from tests.worlds import bindings

POOL: Final = bindings(
    *(
        f"{where} {who} {what}"
        for where in ("GROUP:L:*", "GROUP:P:*", "GROUP:L:*x", "GROUP:P:x", "GROUP:L:x", "GROUP:L:xa")
        for who in ("User:a@*", "User:a@10.0.0.1", "User:*@*", "User:b@*")
        for what in ("ALLOW READ", "ALLOW ALL", "DENY READ", "DENY ALL", "ALLOW DELETE")
    )
)
ASKS: Final = [
    Ask(who, host, operation, ResourceType.GROUP, name)
    for who, host, operation, name in product(
        ("User:a", "User:b", "User:z"),
        ("10.0.0.1", "10.0.0.2"),
        (AclOperation.READ, AclOperation.DESCRIBE, AclOperation.DELETE),
        ("*", "*x", "*xa", "x", "xa", "xab", "y"),
    )
]
_PHASES: Final = {
    (AclPermissionType.DENY, True): Phase.CREATE_DENY,
    (AclPermissionType.ALLOW, True): Phase.CREATE_ALLOW,
    (AclPermissionType.ALLOW, False): Phase.DELETE_ALLOW,
    (AclPermissionType.DENY, False): Phase.DELETE_DENY,
}


def _steps(random: Random, before: set[AclBinding], after: set[AclBinding]) -> list[Step]:
    """The steps by phase, phases in any order; a topic comes with them at times."""
    changes: list[Change] = [*map(Create, sorted(after - before)), *map(Delete, sorted(before - after))]
    order = random.sample([*_PHASES.values()], 4)
    steps = [
        Step(_PHASES[(one.after or one.before).entry.permission_type, one.before is None], one)  # type: ignore[union-attr]
        for one in changes
    ]
    steps.sort(key=lambda step: order.index(step.phase))
    if random.random() < 0.3:
        steps.insert(random.randint(0, len(steps)), Step(Phase.CREATE_TOPIC, Create(Topic("t"))))
    return steps


def _states(before: set[AclBinding], steps: Sequence[Step]) -> Iterator[tuple[Phase, set[AclBinding]]]:
    state = set(before)
    for phase, several in groupby(
        [step for step in steps if step.phase is not Phase.CREATE_TOPIC], lambda one: one.phase
    ):
        for step in several:
            state ^= {step.change.after or step.change.before}  # type: ignore[arg-type]
        yield phase, set(state)


@pytest.mark.parametrize("default_allow", [False, True])
def test_an_order_is_refused_where_some_request_is_answered_otherwise_than_at_both_ends(
    default_allow: bool,
) -> None:
    random, met = Random(9), set()
    for _ in range(130):
        few = random.sample(POOL, 6)
        before, after = ({one for one in few if random.random() < 0.5} for _ in "12")
        steps = _steps(random, before, after)
        states = [*_states(before, steps)]
        answers = [
            [allowed_plainly(Cluster(state, (), default_allow), ask) for ask in ASKS]
            for state in (before, *(state for _, state in states), after)
        ]
        open_, cut = (
            {
                (phase, ask)
                for (phase, _), now in zip(states, answers[1:], strict=False)
                for ask, *found in zip(ASKS, answers[0], now, answers[-1], strict=True)
                if tuple(found) == wrong
            }
            for wrong in ((False, True, False), (True, False, True))
        )
        # With default-allow a first binding may interrupt, so only what is too open is proven.
        wrong = open_ | cut if not default_allow else open_
        try:
            told = prove(Authorizer(before, (), default_allow), steps, default_allow=default_allow)
        except UnsafeOrderError as error:
            said = error.violation
            ask = Ask(said.principal, said.host, said.operation, said.resource_type, said.name)
            ends = (before, dict(states)[said.phase], after)
            found = tuple(allowed_plainly(Cluster(state, (), default_allow), ask) for state in ends)
            assert found == {"too open": (False, True, False), "interrupted": (True, False, True)}[said.kind]
            met.add(said.kind)
        else:
            assert told == ()
            assert not wrong
            met.add("safe" if states else "empty")
    assert {"too open", "safe"} <= met


def test_what_a_proof_costs_counts_towards_the_work_of_the_whole_plan() -> None:
    before, after = bindings("GROUP:P:x User:a@* ALLOW READ"), bindings("GROUP:L:x User:a@* ALLOW READ")
    steps = [Step(Phase.CREATE_ALLOW, Create(*after)), Step(Phase.DELETE_ALLOW, Delete(*before))]
    work = Work()
    prove(Authorizer(before), steps, default_allow=False, work=work)
    assert work.spent > 0
    with pytest.raises(TooMuchToDecideError):
        prove(Authorizer(before), steps, default_allow=False, work=Work(work.spent - 1))
    prove(Authorizer(before), steps, default_allow=False, work=Work(work.spent))
