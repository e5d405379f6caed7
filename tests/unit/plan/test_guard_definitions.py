"""Which safety checks refuse a plan, stated guard by guard over many small plans and clusters."""

import re
from dataclasses import replace
from pathlib import Path
from random import Random
from typing import Final

from reconciler.model.flavor import APACHE
from reconciler.model.listing import Change, Create, Delete, Update
from reconciler.model.topic import Topic, TopicReplicas
from reconciler.plan.guards import DeleteLimits, Surroundings, refusals
from reconciler.plan.observed import MOST_COPIED
from reconciler.plan.overlap import CoverageChange
from reconciler.plan.phase import Phase
from reconciler.plan.refusal import AcceptedGuard, Guard
from reconciler.plan.step import Step
from tests.worlds import acl

BINDINGS: Final = [acl(name, f"User:{user}") for name in ("a", "b-", "c") for user in "xyz"]
PATTERNS: Final = sorted({one.pattern for one in BINDINGS})
SMALL: Final = replace(APACHE, title="A small service", max_bindings=6)


def _around(random: Random) -> Surroundings:
    return Surroundings(
        cluster="prod",
        owned=random.randrange(6),
        desired=random.choice((0, 0, 3)),
        limits=DeleteLimits(
            random.choice((None, 0, 1, 2)), random.choice((None, 0, 40, 50, 100)), random.choice((0, 0, 1, 2))
        ),
        default_allow=random.choice((True, True, False, None)),
        coverage=CoverageChange(opened=tuple(random.sample(PATTERNS, random.randrange(2)))),
        in_use=tuple(random.sample(PATTERNS, random.randrange(2))),
        expected_live=random.choice((None, 0, 4)),
        live=random.randrange(8),
        flavor=random.choice((APACHE, SMALL)),
        expired=[one for one in BINDINGS if random.random() < 0.5],
    )


def _expected(changes: list[Change], around: Surroundings) -> list[tuple[Guard, str, str]]:
    """Each refusal with its object and the beginning of its message."""
    gone = [change for change in changes if isinstance(change, Delete)]
    topics = [change.before.name for change in gone if isinstance(change.before, Topic)]
    bindings = [change.before for change in gone if not isinstance(change.before, Topic)]
    created = [change for change in changes if isinstance(change, Create)]
    limits, found = around.limits, []
    found += [(Guard.TOPIC_DELETE, name, f"deletes topic {name} and all its records") for name in topics]
    if limits.max_deletes is not None and len(gone) > limits.max_deletes:
        text = f"{len(gone)} deletions, but deleteLimits.maxDeletes is {limits.max_deletes}"
        found.append((Guard.LIMIT, "maxDeletes", text))
    percent, above = limits.max_delete_percent, limits.percent_above
    if percent is not None and len(bindings) > above and len(bindings) > percent / 100 * around.owned:
        few = f", and more than {above} go" if above else ""
        share = f"{len(bindings)} of {around.owned} bindings in scope would go"
        found.append((Guard.LIMIT, "maxDeletePercent", f"{share}, but deleteLimits.maxDeletePercent is {percent}{few}"))
    if around.flavor is SMALL and created and around.live + len(created) > 6:
        text = f"{around.live} ACLs are live and the plan creates {len(created)} before it deletes any, but "
        found.append((Guard.LIMIT, "maxBindings", f"{text}A small service takes 6 at most"))
    if around.desired == 0 and any(one not in around.expired for one in bindings):
        found.append((Guard.EMPTY_DESIRED, "prod", "the manifests declare no binding at all for this cluster"))
    if around.expected_live and around.owned == 0:
        text = f"no live binding in scope, where {around.expected_live} were seen before"
        found.append((Guard.EMPTY_LIVE, "prod", text))
    if around.default_allow is True:
        for pattern in around.coverage.opened:
            found.append((Guard.OPEN_BY_DEFAULT, str(pattern), "the last binding on "))
        for pattern in around.in_use:
            found.append((Guard.CLOSED_BY_DEFAULT, str(pattern), "the first binding on "))
    return found


def test_each_guard_refuses_what_it_names_unless_a_person_named_it_too() -> None:
    random, met = Random(12), set[tuple[Guard, str]]()
    for _ in range(3_000):
        changes: list[Change] = [
            random.choice((Create, Delete))(one) for one in random.sample(BINDINGS, random.randrange(5))
        ]
        changes += [Delete(Topic("t", 1, 1))] * (random.random() < 0.2)
        around = _around(random)
        steps = [Step(Phase.CREATE_ALLOW, change) for change in changes]
        expected = _expected(changes, around)
        found = refusals(steps, around, ())
        assert [(one.guard, one.object) for one in found] == [(guard, name) for guard, name, _ in expected]
        assert all(one.message.startswith(text) for one, (_, _, text) in zip(found, expected, strict=True))
        met |= {(guard, "" if name.startswith("TOPIC") else name) for guard, name, _ in expected}
        given = [AcceptedGuard(guard, name, "why") for guard, name, _ in expected if random.random() < 0.5]
        given.append(AcceptedGuard(Guard.LIMIT, "another"))
        left = [
            (guard, name) for guard, name, _ in expected if (guard, name) not in {(g.guard, g.object) for g in given}
        ]
        assert [(one.guard, one.object) for one in refusals(steps, around, given)] == left
    assert len(met) == 8


def test_a_move_needs_a_word_where_it_copies_more_than_any_may() -> None:
    for more in (-1, 0, 1):
        after = TopicReplicas("t", ((2,),), "id", MOST_COPIED + more)
        step = Step(Phase.MOVE_REPLICAS, Update(TopicReplicas("t", ((1,),), "id"), after))
        found = refusals([step], _around(Random(1)), ())
        moves = [(one.object, one.message) for one in found if one.guard is Guard.REPLICA_MOVE]
        text = "copies up to 16 GiB between brokers to move replicas of topic t"
        assert moves == ([("t", text)] if more > 0 else [])


def test_the_documents_say_what_each_guard_judges() -> None:
    text = Path("docs/order-and-safety.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| `([a-z-]+)` \| (steps|plan) \| ", text, re.MULTILINE)
    assert {*rows} == {(str(guard), str(guard.judges.value)) for guard in Guard}
