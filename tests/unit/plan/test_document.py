"""The plan file: schema, ids, digest, and what is refused."""

import json
import re
from dataclasses import replace
from itertools import combinations
from pathlib import Path
from typing import Any, cast

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from jsonschema import Draft7Validator

from reconciler.codec.kinds import PRUNABLE
from reconciler.model.acl import ResourceType
from reconciler.model.desired import Origin
from reconciler.model.listing import Change, Create, Delete
from reconciler.model.scope import NameSelector, Scope, Selector
from reconciler.model.topic import Topic, TopicConfigs
from reconciler.plan.file import (
    PlanFileError,
    _difference,
    change_id,
    differences,
    file_digest,
    parse_plan,
    plan_id,
    plan_schema_text,
    plan_text,
    seal,
    verify_digest,
)
from reconciler.plan.phase import Phase
from reconciler.plan.proposal import Options, Plan, Selection
from reconciler.plan.refusal import AcceptedGuard, Guard
from reconciler.plan.review.access_review import AccessReview
from reconciler.plan.step import Step
from tests.property.transitions import Transition, transitions
from tests.topic_changes import configs, partitions
from tests.unit.apply.test_perform import EMPTY, acl, planned

SCHEMA = Path(__file__).parents[3] / "schema" / "plan.json"
ORIGINS = (Origin("teams/a.yaml", 3, 5), Origin("teams/a.yaml", 30, 7), Origin("teams/b.yaml", 3, 5))
SELECTORS = (
    Selector(
        principals=NameSelector(prefixes=("User:svc-",)), resource_type=ResourceType.TOPIC, names=NameSelector(("a",))
    ),
    Selector(resource_type=ResourceType.GROUP, names=NameSelector(any_name=True)),
)


def test_the_committed_schema_is_the_generated_one() -> None:
    Draft7Validator.check_schema(json.loads(plan_schema_text()))
    assert SCHEMA.read_text(encoding="utf-8") == plan_schema_text()


@given(transitions())
def test_every_plan_satisfies_the_schema(transition: Transition) -> None:
    plan = transition.plan(default_allow=None)
    plan = replace(plan, terms=replace(plan.terms, scope=Scope(SELECTORS, SELECTORS[:1], ())))
    Draft7Validator(json.loads(plan_schema_text())).validate(json.loads(plan_text(plan)))


@given(transitions())
def test_names_of_a_plan(transition: Transition) -> None:
    """The change id forgets cluster, counts, day, commit and lines; the plan id forgets day, commit and lines only."""
    plan = transition.plan()
    elsewhere = replace(plan, cluster_id="another", as_of=plan.as_of.replace(year=2030), source_commit="abc")
    elsewhere = replace(elsewhere, created_at="2030-01-01T00:00:00Z", login_warnings=("it may not",))
    assert change_id(elsewhere) == change_id(plan)
    assert plan_id(elsewhere) != plan_id(plan)
    assert plan_id(replace(elsewhere, cluster_id=plan.cluster_id)) == plan_id(plan)
    here, there, another = (tuple(replace(step, origin=at) for step in plan.steps) for at in ORIGINS)
    assert plan_id(replace(plan, steps=here)) == plan_id(replace(plan, steps=there))
    if plan.steps:
        fewer = replace(plan.access, effects=plan.access.effects[1:])
        assert change_id(replace(plan, steps=plan.steps[1:], access=fewer)) != change_id(plan)
        assert plan_id(replace(plan, steps=here)) != plan_id(replace(plan, steps=another))


def _recreated(change: Any) -> Any:
    """The same change of topics that were created anew, or are another cluster's."""
    sides: dict[str, Any] = {side: getattr(change, side, None) for side in ("before", "after")}
    with_ids = {side: value for side, value in sides.items() if getattr(value, "topic_id", None) is not None}
    return replace(change, **{side: replace(value, topic_id="another") for side, value in with_ids.items()})


@given(transitions())
def test_topic_ids_are_of_one_cluster(transition: Transition) -> None:
    """The change id is the same on every cluster in the same state; the plan id says which topics are meant."""
    plan = transition.plan()
    elsewhere = replace(plan, steps=tuple(replace(step, change=_recreated(step.change)) for step in plan.steps))
    assert change_id(elsewhere) == change_id(plan)
    assert (plan_id(elsewhere) == plan_id(plan)) is (elsewhere.steps == plan.steps)


def test_the_ids_of_a_step_on_a_topic_with_an_id() -> None:
    plan = _plan()
    change = Delete(Topic("gone", 1, 1, topic_id="here"))
    here = replace(plan, steps=(replace(plan.steps[0], phase=Phase.DELETE_TOPIC, change=change),))
    here = replace(here, access=replace(here.access, effects=(None,)))
    there = replace(here, steps=tuple(replace(step, change=_recreated(step.change)) for step in here.steps))
    assert change_id(there) == change_id(here)
    assert plan_id(there) != plan_id(here)
    assert here.steps[0].id != there.steps[0].id


@given(transitions())
def test_options_terms_and_accepted_are_part_of_both_ids(transition: Transition) -> None:
    plan = transition.plan()
    others = (
        replace(plan, options=Options(allow_deletes=not plan.options.allow_deletes)),
        replace(plan, options=replace(plan.options, selection=Selection(only=("topics=x",)))),
        replace(plan, terms=replace(plan.terms, scope=Scope(exclude=SELECTORS))),
        replace(plan, terms=replace(plan.terms, barrier_wait=0.0)),
        replace(plan, terms=replace(plan.terms, facts=replace(plan.terms.facts, super_users=("User:eve",)))),
        replace(plan, accepted=(AcceptedGuard(Guard.LIMIT, "maxDeletes"),)),
    )
    for other in others:
        assert plan_id(other) != plan_id(plan)
        assert change_id(other) != change_id(plan)


@pytest.fixture(scope="module")
def text() -> str:
    return plan_text(_plan())


def _plan() -> Plan:
    live = replace(EMPTY, bindings=frozenset({acl("old"), acl("old", "DENY")}))
    return planned(live, acl("x"), acl("y", "DENY"))


def test_every_byte_counts(text: str) -> None:
    assert file_digest(text) == file_digest(plan_text(parse_plan(text)))
    for position in range(0, len(text), 7):
        other = text[:position] + chr((ord(text[position]) + 1) % 128) + text[position + 1 :]
        with pytest.raises(PlanFileError):
            parse_plan(other)
    with pytest.raises(PlanFileError):
        parse_plan(text + "\n")
    with pytest.raises(PlanFileError):
        parse_plan(text[:-40])


def resealed(text: str, change: tuple[str, str]) -> str:
    """The text with something replaced and a digest that fits again, as a forger would write it."""
    body = re.sub(r',\n"digest":.*', "", text, flags=re.DOTALL)
    assert change[0] in body
    return seal(body.replace(*change, 1))


@pytest.mark.parametrize(
    "change",
    [
        ('"permissionType":"DENY","principal":"User:a"', '"permissionType":"DENY","principal":"User:eve"'),
        ('"operation":"READ"', '"operation":"ALL"'),
        ('"phase":1', '"phase":2'),
        ('"formatVersion":"1.0"', '"formatVersion":"2.0"'),
        ('"action":"CreateAcl"', '"action":"DropEverything"'),
        ('"allowDeletes":true', '"allowDeletes":false'),
    ],
)
def test_a_forged_digest_does_not_help(text: str, change: tuple[str, str]) -> None:
    with pytest.raises(PlanFileError):
        parse_plan(resealed(text, change))


def test_the_id_of_a_step_belongs_to_its_change(text: str) -> None:
    step = parse_plan(text).steps[1]
    with pytest.raises(PlanFileError, match=r"steps\[1\]\.id is not what follows"):
        parse_plan(resealed(text, (f'"id":"{step.id}"', '"id":"0123456789ab"')))


@pytest.mark.parametrize(
    ("change", "why"),
    [
        (('"formatVersion":"1.0"', '"formatVersion":"1.7"'), "formatVersion is not what follows from the rest"),
        (('"formatVersion":"1.0"', '"formatVersion":"1.0","news":[1]'), "could not show: news$"),
        (('"permissionType":"DENY"', '"permissionType": "DENY"'), "spells it otherwise than this version"),
    ],
)
def test_what_this_version_could_not_show_is_refused_and_what_it_is(
    text: str, change: tuple[str, str], why: str
) -> None:
    """The id binds it, so whoever approves it has to see it."""
    with pytest.raises(PlanFileError, match=why):
        parse_plan(resealed(text, change))


def test_phases_out_of_order_are_refused(text: str) -> None:
    plan = parse_plan(text)
    with pytest.raises(PlanFileError, match="illegal order"):
        parse_plan(plan_text(replace(plan, steps=plan.steps[::-1])))


TOPIC = Topic("t", 1, 1)
ALTERED = configs("t", {"retention.ms": "1"}, {"retention.ms": "2"})


@pytest.mark.parametrize(
    "steps",
    [
        pytest.param(
            (Step(Phase.CREATE_ALLOW, Create(acl("x"))), Step(Phase.DELETE_ALLOW, Delete(acl("x")))),
            id="a grant that seems to be taken back",
        ),
        pytest.param((Step(Phase.CREATE_ALLOW, Create(acl("x"))),) * 2, id="the same twice"),
        pytest.param(
            (Step(Phase.CREATE_TOPIC, Create(TOPIC)), Step(Phase.DELETE_TOPIC, Delete(TOPIC))),
            id="a topic that comes and goes",
        ),
        pytest.param(
            (Step(Phase.ALTER_CONFIGS, ALTERED), Step(Phase.DELETE_TOPIC, Delete(TOPIC))),
            id="settings of a topic that goes",
        ),
    ],
)
def test_what_touches_one_thing_twice_is_refused(steps: tuple[Step, ...]) -> None:
    """What is created and deleted by one plan seems to grant nothing, and stands when it is through."""
    forged = replace(planned(EMPTY), steps=steps, access=AccessReview(effects=(None,) * len(steps)))
    with pytest.raises(PlanFileError, match="two steps touch one thing"):
        parse_plan(plan_text(forged))


@pytest.mark.parametrize(
    "change",
    [
        pytest.param(
            configs("t", {}, {"retention.ms": "2"}),
            id="settings that were nothing before",
        ),
        pytest.param(replace(ALTERED, after=TopicConfigs("t", {})), id="settings that are nothing after"),
        pytest.param(partitions("t", 1, cast("int", None)), id="no number of partitions"),
    ],
)
def test_a_change_of_which_a_side_is_missing_is_refused(change: Change) -> None:
    forged = replace(planned(EMPTY), steps=(Step(Phase.ALTER_CONFIGS, change),), access=AccessReview(effects=(None,)))
    with pytest.raises(PlanFileError, match="not a plan of format"):
        parse_plan(plan_text(forged))


def test_a_live_topic_may_get_partitions_and_settings() -> None:
    steps = (
        Step(Phase.CREATE_PARTITIONS, partitions("t", 1, 2)),
        Step(Phase.ALTER_CONFIGS, ALTERED),
    )
    plan = replace(planned(EMPTY), steps=steps, access=AccessReview(effects=(None, None)))
    assert parse_plan(plan_text(plan)).steps == steps


_JSON = st.recursive(
    st.sampled_from([None, 1, 2, "x"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from("abc"), inner, max_size=3),
    max_leaves=8,
)
_MISSING = object()


def _at(value: Any, path: list[str | int]) -> Any:
    for key in path:
        if isinstance(value, dict):
            value = value.get(key, _MISSING)
        elif isinstance(value, list):
            value = value[int(key)]
    return value


@settings(max_examples=6 * settings().max_examples)
@given(_JSON, _JSON)
def test_the_place_where_two_documents_differ_is_one_where_they_do_as_deep_as_both_go(here: Any, there: Any) -> None:
    if json.dumps(here, sort_keys=True) == json.dumps(there, sort_keys=True):
        return
    place = _difference("", here, there)
    path: list[str | int] = [key if key.isalpha() else int(key) for key in re.findall(r"[a-z]|[0-9]+", place)]
    one, other = _at(here, path), _at(there, path)
    assert one != other
    if isinstance(one, dict):
        assert not isinstance(other, dict)
    if isinstance(one, list) and isinstance(other, list):
        assert len(one) != len(other)
    # It is the first: what comes before it in either is the same.
    for depth, key in enumerate(path):
        first, second = _at(here, path[:depth]), _at(there, path[:depth])
        if isinstance(key, int):
            assert first[:key] == second[:key]
        else:
            before = [*{**second, **first}][: [*{**second, **first}].index(key)]
            assert all(first.get(name, _MISSING) == second.get(name, _MISSING) for name in before)


def test_which_kinds_are_pruned_is_written_and_read_and_bound_by_the_id() -> None:
    plan = replace(planned(EMPTY, acl("x")), refusals=())
    kinds = sorted(PRUNABLE)
    ids = set()
    for chosen in (frozenset(few) for count in range(len(kinds) + 1) for few in combinations(kinds, count)):
        one = replace(plan, terms=replace(plan.terms, prune=chosen))
        assert parse_plan(plan_text(one)).terms.prune == chosen
        ids.add(plan_id(one))
    assert len(ids) == 2 ** len(kinds)


def test_two_plans_differ_in_the_places_that_ids_bind_and_in_no_others() -> None:
    plan = _plan()
    later = replace(plan, created_at="2030-01-01T00:00:00Z", as_of=plan.as_of.replace(year=2030), source_commit="abc")
    assert differences(plan, later) == differences(plan, plan) == ()
    limited = replace(later, options=replace(plan.options, allow_deletes=not plan.options.allow_deletes))
    (place,) = differences(plan, limited)
    assert place == "options.allowDeletes"
    more = replace(limited, cluster_id="other", accepted=(AcceptedGuard(Guard.LIMIT, "maxDeletes"),))
    assert sorted(differences(plan, more)) == ["accepted", "cluster.id", "options.allowDeletes"]
    assert sorted(differences(more, plan)) == sorted(differences(plan, more))


def test_the_last_digest_counts_and_covers_all_that_is_before_it() -> None:
    """A text that holds a sealed text: the inner seal is a part of what the outer one covers."""
    inner = seal('{\n"a":1')
    whole = seal(inner)
    assert whole[: verify_digest(whole)] == inner
    assert verify_digest(inner) == len('{\n"a":1')
    for altered in (whole.replace('"a":1', '"a":2'), whole + "\n", inner + inner, whole[:-1]):
        with pytest.raises(PlanFileError):
            verify_digest(altered)
