"""Throttles that a move left behind are told, those that somebody declares or needs are not."""

from reconciler.app.planning import leftover_throttles
from reconciler.model.desired import DesiredState, DesiredTopic, Origin
from reconciler.model.state import ClusterState
from reconciler.model.topic import Topic

KEY = "leader.replication.throttled.replicas"


def said(*, configs: dict[str, str], declared: dict[str, str] | None = None, behind: bool = False) -> tuple[str, ...]:
    wanted = {} if declared is None else {"t": DesiredTopic(Topic("t", configs=declared), Origin("t.yaml", 1, 1))}
    live = ClusterState("c", topics={"t": Topic("t", 1, 1, configs)}, under_replicated=frozenset("t" if behind else ""))
    return leftover_throttles(DesiredState({}, wanted), live)


def test_only_what_nobody_declares_and_nothing_needs_is_told() -> None:
    (text,) = said(configs={KEY: "0:1"})
    assert text.startswith("replicas of topic t are throttled, and nothing is copied")
    assert len(said(configs={KEY: "0:1"}, declared={"retention.ms": "1"})) == 1
    assert said(configs={KEY: "0:1"}, declared={KEY: "0:1"}) == ()
    assert said(configs={KEY: "0:1"}, behind=True) == ()
    assert said(configs={KEY: ""}) == ()
    assert said(configs={"retention.ms": "1"}) == ()


def test_many_topics_are_one_sentence() -> None:
    topics = {f"t{n}": Topic(f"t{n}", 1, 1, {KEY: "*"}) for n in range(9)}
    (text,) = leftover_throttles(DesiredState(), ClusterState("c", topics=topics))
    assert "t0, t1, t2, t3, t4 and 4 more are throttled" in text
