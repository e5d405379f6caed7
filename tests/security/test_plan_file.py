"""A saved plan in the hands of somebody who may write the file, and seal it again, but who approves nothing."""

import copy
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import Phase, given, settings

from reconciler.model.desired import Expiry, Origin
from reconciler.plan.file import (
    NOT_BOUND,
    ONE_CLUSTER,
    PlanFileError,
    change_id,
    parse_plan,
    plan_id,
    plan_text,
    plan_to_json,
    seal,
    verify_digest,
)
from reconciler.plan.proposal import Options, Plan
from reconciler.plan.review.access_review import AccessReview
from tests.plan_files import ids_of, sealed_with_ids, texts_of
from tests.property.transitions import Transition, transitions

Path = tuple[str | int, ...]
#: An object where there was none: a forger may write anything.
ANYTHING = {"kind": "forged", "origin": None}
#: Fields that hold file, line and column, of which the file is bound.
PLACES = {pattern.rpartition(".")[2] for pattern in NOT_BOUND if "**" in pattern}


def _plan(transition: Transition) -> Plan:
    return transition.plan(default_allow=None)


def _leaves(value: Any, at: Path = ()) -> Iterator[Path]:
    """Every place of a document that holds no object and no list, and every list, which could have an item more."""
    if isinstance(value, dict):
        for key, item in value.items():
            yield from _leaves(item, (*at, key))
        return
    if isinstance(value, list):
        for index, item in enumerate(value):
            yield from _leaves(item, (*at, index))
    yield at


def _altered(document: Any, place: Path, whole: Path | None = None) -> Any:
    """The document with another value in one place; it shares all other places with the first."""
    whole = place if whole is None else whole
    if place:
        other = copy.copy(document)
        other[place[0]] = _altered(document[place[0]], place[1:], whole)
        return other
    match document:
        case bool():
            return not document
        case int() | float():
            return document + 1
        case str() if whole[-1] in PLACES:
            return f"other/{document}"
        case str():
            return f"{document}x"
        case list():
            more = {**ANYTHING, "before": None, "after": None, "effect": None}
            return [*document, document[0] if document else more]
        case _:
            return ANYTHING


def _is_bound(place: Path) -> bool:
    names = [str(part) for part in place if isinstance(part, str)]
    return not any(_matches(pattern.split("."), names) for pattern in NOT_BOUND if "**" not in pattern)


def _matches(pattern: Sequence[str], names: Sequence[str]) -> bool:
    return len(pattern) <= len(names) and all(one in ("*", name) for one, name in zip(pattern, names, strict=False))


def _is_of_one_cluster(document: dict[str, Any], place: Path) -> bool:
    """Whether only the plan id binds it: topic ids, and the ids of steps that are digests of those, too."""
    if place[0] == "steps" and place[-1] == "id":
        step = document["steps"][place[1]]
        return any((step[side] or {}).get("topicId") is not None for side in ("before", "after"))
    return place[0] in ONE_CLUSTER or "topicId" in place


@settings(max_examples=10, phases=[Phase.generate])
@given(transitions())
def test_no_field_can_be_changed_under_the_id_to_approve(transition: Transition) -> None:
    """The attacker changes any one field and seals the file again: it has another id, or is refused."""
    document = plan_to_json(_plan(transition))
    known = ids_of(document)
    assert known == (document["changeId"], document["planId"])
    texts = texts_of(document)
    for place in _leaves(document):
        found = ids_of(_altered(document, place), texts)
        assert (found[1] != known[1]) is _is_bound(place), place
        if not _is_of_one_cluster(document, place):
            assert (found[0] != known[0]) is _is_bound(place), place


def test_of_a_topic_that_goes_what_is_measured_alone_is_not_bound() -> None:
    """The attacker changes who uses it or what could not be found out: another id, as brokers' answers have one."""
    document = plan_to_json(_some())
    use = {"sizeBytes": 1, "records": 2, "lastWrite": "2026-01-01T00:00:00Z", "groups": ["g"], "gaps": ["a gap"]}
    answer = {
        "step": "0" * 12,
        "subject": "topic t",
        "ruling": "accepted",
        "code": "",
        "message": "",
        "origin": "a:1:1",
    }
    document["topics"] |= {"uses": {"t": use}, "validation": {"asked": "now", "answers": [answer]}}
    known = ids_of(document)
    places = [place for place in _leaves(document) if place[0] == "topics"]
    for place in places:
        found = ids_of(_altered(document, place))
        assert [one != other for one, other in zip(found, known, strict=True)] == [_is_bound(place)] * 2, place
    assert {place[-1] for place in places if not _is_bound(place)} == {"sizeBytes", "records", "lastWrite", "asked"}
    moved = _altered(document, ("topics", "validation", "answers", 0, "origin"))
    moved["topics"]["validation"]["answers"][0]["origin"] = "a:2:7"
    assert ids_of(moved) == known, "the line is not bound"


def test_a_field_that_is_added_later_is_bound() -> None:
    """The attacker adds what this version does not know: it has another id, and is not read."""
    document = plan_to_json(_some())
    for news in ("rows", 1, ["x"], {"origin": "a:1:1"}):
        assert ids_of({**document, "news": news}) != ids_of(document)
        with pytest.raises(PlanFileError):
            parse_plan(sealed_with_ids({**document, "news": news}))


def test_two_plannings_of_one_change_have_one_id() -> None:
    """The merged commit is planned on another day, from other lines, by another login: the id is the approved one."""
    plan = _some()
    later = replace(
        plan,
        created_at="2030-01-01T00:00:00Z",
        as_of=plan.as_of.replace(year=2030),
        source_commit="0123abc",
        login_warnings=("this login may not change ACLs",),
        counts=replace(plan.counts, live_bindings=9, outside=9, ignored=9, live_topics=9),
    )
    assert plan_id(later) == plan_id(plan)
    assert plan_text(later) != plan_text(plan)


def test_forged_access_rows_have_another_id() -> None:
    """The attacker empties the rows, callouts and effects that a reviewer reads: it is not the approved plan."""
    plan = _some()
    calm = replace(plan, access=AccessReview(effects=(None,) * len(plan.steps)))
    assert parse_plan(plan_text(calm)) == calm
    assert plan_id(calm) != plan_id(plan)
    assert change_id(calm) != change_id(plan)


def test_forged_larger_rows_have_another_id() -> None:
    """The attacker adds gains that a later run would then take for reviewed: it is not the approved plan."""
    plan = _some()
    row = plan.access.access_changes[0]
    everything = replace(row, principal=None, gained=tuple(type(row.gained[0]))[3:])
    more = replace(plan, access=replace(plan.access, access_changes=(*plan.access.access_changes, everything)))
    assert plan_id(more) != plan_id(plan)
    assert change_id(more) != change_id(plan)


def test_a_stripped_last_day_has_another_id() -> None:
    """The attacker removes ``expires``, so that a grant never ends: it is not the approved plan."""
    plan = _some()
    ending = replace(plan, steps=tuple(replace(step, expires=Expiry(plan.as_of)) for step in plan.steps))
    assert plan_id(ending) != plan_id(plan)
    assert change_id(ending) != change_id(plan)


@pytest.mark.parametrize("count", ["owned", "desired_bindings", "opaque", "desired_topics"])
def test_forged_counts_have_another_id(count: str) -> None:
    """The attacker changes a count that a guard compares: it is not the approved plan."""
    plan = _some()
    assert plan_id(replace(plan, counts=replace(plan.counts, **{count: 5000}))) != plan_id(plan)


@pytest.mark.parametrize(
    ("place", "value"),
    [
        (("steps", 0, "destructive"), True),
        (("steps", 0, "reversible"), False),
        (("accessChange",), "none"),
        (("access", "rows", 0, "description"), "nothing of importance"),
        (("steps", 0, "after", "principal"), "User:eve"),
    ],
)
def test_what_follows_from_the_plan_cannot_be_said_otherwise(place: Path, value: object) -> None:
    """The attacker contradicts the steps in a field that only describes them: the file is refused."""
    document = plan_to_json(_some())
    inner: Any = document
    for key in place[:-1]:
        inner = inner[key]
    assert inner[place[-1]] != value
    inner[place[-1]] = value
    with pytest.raises(PlanFileError):
        parse_plan(sealed_with_ids(document))


@pytest.mark.parametrize(
    ("written", "instead"),
    [
        pytest.param('"expires":null', '"expires": null', id="a space"),
        pytest.param('"reason":null', '"reason":"approved","reason":null', id="a field twice"),
        pytest.param('"principal":"User:a"', '"principal":"\\u0055ser:a"', id="an escape that nothing needs"),
        pytest.param('"percentAbove":0', '"percentAbove":-0', id="a second zero"),
        pytest.param('"asOf":"2026-', '"asOf":"2026', id="a day without a hyphen"),
        pytest.param('{\n"formatVersion":"1.0",', '{"formatVersion":"1.0",\n', id="another line"),
        pytest.param('"exclude":[],"only":[]', '"only":[],"exclude":[]', id="another order"),
    ],
)
def test_a_plan_has_one_spelling(written: str, instead: str) -> None:
    """The attacker writes the same plan otherwise, for readers that differ about what it says: the file is refused."""
    text = plan_text(_some())
    assert written in text
    body = text[: verify_digest(text)].replace(written, instead, 1)
    with pytest.raises(PlanFileError, match=r"not what follows|spells it otherwise|occurs twice|not a plan of format"):
        parse_plan(seal(body))


@pytest.mark.parametrize("name", sorted(PLACES))
def test_a_config_called_as_a_place_is_bound_to_its_last_character(name: str) -> None:
    """The attacker names a config as a field of which ids forget the line: its value is bound all the same."""
    document = plan_to_json(_some())
    step = document["steps"][0]

    def configured(value: str) -> dict[str, Any]:
        return {**document, "steps": [{**step, "after": {"name": "t", "configs": {name: value}}}]}

    assert ids_of(configured("a:1:1")) != ids_of(configured("a:1:2"))


def test_an_edit_above_a_rule_of_a_role_keeps_the_id() -> None:
    """A comment is added above a Role between review and merge: the plan is the approved one, another file is not."""
    plan = _some()
    first, *others = plan.steps

    def of_role(place: Origin) -> str:
        return plan_id(replace(plan, steps=(replace(first, role=place), *others)))

    assert of_role(Origin("roles.yaml", 8, 7)) == of_role(Origin("roles.yaml", 9, 7))
    assert of_role(Origin("roles.yaml", 8, 7)) != of_role(Origin("other.yaml", 8, 7))


def test_a_plan_that_was_read_and_changed_has_an_id_of_its_own() -> None:
    """The attacker has a plan read, whose ids are known by then, and changes it: the known ids do not stick to it."""
    plan = parse_plan(plan_text(_some()))
    changed = replace(plan, access=AccessReview(effects=(None,) * len(plan.steps)))
    assert plan_id(changed) != plan_id(plan)
    assert plan_id(changed) == plan_id(parse_plan(plan_text(changed)))


def _some() -> Plan:
    """A plan with a step that grants something."""
    from tests.unit.apply.test_perform import EMPTY, acl, planned

    plan = replace(planned(EMPTY, acl("x")), options=Options(allow_deletes=True))
    assert plan.access.access_changes
    return plan
