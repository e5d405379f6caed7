"""Names that a reviewer could take for others, stated pair by pair: what a plan brings, against all that is known."""

from collections.abc import Iterable, Iterator
from itertools import chain
from typing import Final

from hypothesis import given
from hypothesis import strategies as st

from reconciler.model.acl import AclBinding, ResourceType
from reconciler.model.characters import as_name, mixed_scripts, skeleton
from reconciler.model.desired import Declaration, DesiredState, DesiredTopic, Origin
from reconciler.model.state import ClusterState
from reconciler.model.topic import Topic
from reconciler.plan.proposal import Options, Selection, Terms
from reconciler.plan.propose import Request, propose
from reconciler.plan.review.access_review import confusable
from reconciler.plan.review.callouts import Callout
from tests.faults.scenario import DAY
from tests.worlds import acl

PLACE: Final = Origin("t.yaml", 1, 1)
#: Latin, and with letters of other scripts that look the same: four names that look alike, and others of their own.
NAMES: Final = ("pay", "p\u0430y", "\u0440\u0430\u0443", "pa\u0443", "orders", "\u03bfrders", "l1", "11", "z")
_bindings = st.frozensets(
    st.builds(
        acl,
        st.sampled_from(NAMES),
        st.sampled_from(NAMES).map("User:{}".format),
        resource_type=st.sampled_from([ResourceType.TOPIC, ResourceType.GROUP]),
    ),
    max_size=4,
)
_topics = st.frozensets(st.sampled_from(NAMES), max_size=2)


def _named(bindings: Iterable[AclBinding], topics: Iterable[str]) -> Iterator[tuple[str, str]]:
    """What is named, and its name."""
    for pattern, entry in bindings:
        yield "principal", entry.principal
        yield pattern.resource_type.noun, pattern.name
    for name in topics:
        yield "topic", name


def _told(live: ClusterState, desired: DesiredState) -> set[Callout]:
    """Each name that comes with a binding or topic that is not there yet, against every other of its type."""
    there = {*live.topics, *live.topic_names}
    wanted = {name for name, one in desired.topics.items() if not one.absent}
    known = set(_named(chain(live.bindings, desired.bindings), there | wanted))
    found = set()
    for what, name in set(_named(desired.bindings.keys() - live.bindings, wanted - there)):
        alike = sorted(
            other for kind, other in known if kind == what and other != name and skeleton(other) == skeleton(name)
        )
        if alike:
            others = ", ".join(as_name(other) for other in alike[:3])
            found.add(
                Callout("confusable", name, f"the {what} {as_name(name)} looks like {others}, and is another {what}")
            )
        if scripts := mixed_scripts(name):
            found.add(
                Callout("mixed-scripts", name, f"the {what} {as_name(name)} mixes letters of {' and '.join(scripts)}")
            )
    return found


@given(st.tuples(_bindings, _bindings, _bindings), st.tuples(_topics, _topics), st.tuples(_topics, _topics))
def test_each_new_name_is_told_that_looks_like_a_known_one_of_its_type(
    bindings: tuple[frozenset[AclBinding], ...], there: tuple[frozenset[str], ...], wanted: tuple[frozenset[str], ...]
) -> None:
    """Bindings before, in both and after; topics read and merely seen; topics declared and declared absent."""
    before, both, after = bindings
    listed, seen = there
    present, absent = wanted
    live = ClusterState("c", before | both, {name: Topic(name, 1, 1) for name in listed}, topic_names=seen)
    declared = {name: DesiredTopic(Topic(name), PLACE, absent=name in absent) for name in present | absent}
    desired = DesiredState({one: Declaration(PLACE) for one in after | both}, declared)
    assert confusable(live, desired, desired.bindings.keys() - live.bindings) == tuple(sorted(_told(live, desired)))


def test_a_new_principal_that_looks_like_one_that_is_there_is_told() -> None:
    live = ClusterState("c", frozenset({acl("a", "User:pay")}))
    fake = acl("a", "User:p\u0430y")
    (looks, mixes) = confusable(live, DesiredState({fake: Declaration(PLACE)}), [fake])
    assert (looks.rule, mixes.rule) == ("confusable", "mixed-scripts")
    assert looks.principal == fake.entry.principal
    assert looks.text.endswith("looks like User:pay, and is another principal")


def test_a_name_that_is_there_already_is_not_told() -> None:
    bindings = frozenset({acl("a", "User:pay"), acl("a", "User:p\u0430y")})
    assert confusable(ClusterState("c", bindings), DesiredState(dict.fromkeys(bindings, Declaration(PLACE))), ()) == ()


def test_a_plan_tells_of_a_name_that_comes_with_a_topic_alone_or_with_an_acl_that_is_left_out() -> None:
    live = ClusterState("c", frozenset({acl("pay", "User:pay")}), topic_names=frozenset({"orders"}))
    kept = dict.fromkeys(live.bindings, Declaration(PLACE))
    topics = {"\u03bfrders": DesiredTopic(Topic("\u03bfrders", 1, 1), PLACE)}
    fake = acl("p\u0430y", "User:pay")
    left_out = Options(selection=Selection(exclude=("topics=p\u0430y",)))
    for desired, options, name in (
        (DesiredState(kept, topics), Options(), "\u03bfrders"),
        (DesiredState({**kept, fake: Declaration(PLACE)}), left_out, "p\u0430y"),
    ):
        plan = propose(desired, live, Terms("c", default_allow=False), Request(DAY, options))
        assert ("confusable", name) in {(one.rule, one.principal) for one in plan.access.callouts}
