"""Two thousand spoilt plans and as many spoilt journals: a clear refusal, or what they say; never anything else."""

import copy
import json
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from random import Random
from typing import Any

import pytest

from reconciler.apply.preflight import RefusedError, StalePlanError, UndeclaredDefaultError, check
from reconciler.apply.records import JournalError, past_runs
from reconciler.plan.file import PlanFileError, parse_plan, plan_text, seal
from reconciler.show.plan import plan_lines
from reconciler.system.journal import read_records
from tests.faults.scenario import before, plan_for, wish
from tests.plan_files import sealed, sealed_with_ids, texts_of

_HOSTILE: list[Any] = [
    None,
    True,
    -1,
    10**400,
    1e308,
    "",
    "x" * 10_000,
    "\x1b[2J",
    "\u202e",
    "\ud800",
    "[red]",
    "<script>",
    [],
    {},
    [[[[[]]]]],
    {"name": {"name": {}}},
    "../../etc/passwd",
    "1:1",
    "a:b:c",
    "9999-99-99",
]


def _places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    if path:
        yield path
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from _places(inner, (*path, key))
    elif isinstance(value, list):
        for index, inner in enumerate(value):
            yield from _places(inner, (*path, index))


def _spoilt(document: Any, random: Random, places: list[tuple[Any, ...]]) -> Any:
    """The document with one to three values replaced or taken away; it shares all other values with the first."""
    spoilt = copy.copy(document)
    for _ in range(random.randint(1, 3)):
        *way, last = random.choice(places)
        inner = spoilt
        try:
            for part in way:
                inner[part] = copy.copy(inner[part])
                inner = inner[part]
            if random.random() < 0.2:
                del inner[last]
            else:
                inner[last] = random.choice(_HOSTILE)
        except (KeyError, IndexError, TypeError):
            continue
    return spoilt


def _bytes_spoilt(text: str, random: Random) -> str:
    start, end = sorted((random.randrange(len(text)), random.randrange(len(text))))
    match random.randrange(4):
        case 0:
            return text[:start]
        case 1:
            return text[:start] + text[end:]
        case 2:
            return text[:start] + random.choice(["{", "[" * 100_000, "\x00", '"', "\ufeff", "NaN"]) + text[start:]
        case _:
            return text[:start] + chr(random.randrange(1, 0xD7FF)) + text[start + 1 :]


def _plan_texts() -> Iterator[str]:
    text = plan_text(plan_for(before(2), wish(2)))
    document = json.loads(text)
    del document["digest"]
    places, random, texts = list(_places(document)), Random(7), texts_of(document)
    for number in range(2_000):
        if number % 2:
            yield _bytes_spoilt(text, random)
        else:
            spoilt = _spoilt(document, random, places)
            try:
                yield sealed_with_ids(spoilt, texts)
            except (KeyError, TypeError, AttributeError):  # too far from a plan to have ids
                yield sealed(spoilt, texts)


def test_spoilt_plans_are_refused_or_read() -> None:
    """What can be read can be shown and held against a cluster as well."""
    read, live = 0, before(2)
    for text in _plan_texts():
        try:
            plan = parse_plan(text)
        except PlanFileError:
            continue
        read += 1
        assert list(plan_lines(plan, expand=True))
        assert parse_plan(plan_text(plan)) == plan
        with suppress(StalePlanError, RefusedError, UndeclaredDefaultError):
            check(plan, live, plan.terms)
    assert 10 < read < 1_000


@pytest.mark.parametrize(
    ("spoil", "place"),
    [
        (lambda plan: plan["steps"][0].update(phase="2"), r"steps\[0\].phase"),
        (lambda plan: plan["steps"][3].update(phase=2.0), r"steps\[3\].phase"),
        (lambda plan: plan["steps"][1]["after"].update(principal=7), r"steps\[1\].after.principal"),
        (lambda plan: plan["terms"].update(barrierWaitSeconds=float("nan")), "NaN"),
        (lambda plan: plan["terms"].update(barrierSeconds=10**400), "terms.barrierSeconds"),
        (lambda plan: plan["counts"].update(owned=True), "counts.owned"),
        (lambda plan: plan.pop("warnings"), "warnings"),
        (lambda plan: plan["options"].update(only=["x", None]), r"options.only\[1\]"),
    ],
)
def test_the_place_that_is_of_another_kind_is_named(spoil: Callable[[Any], Any], place: str) -> None:
    document = json.loads(plan_text(plan_for(before(2), wish(2))))
    del document["digest"]
    spoil(document)
    with pytest.raises(PlanFileError, match=f": {place}: "):
        parse_plan(sealed(document))


def test_spoilt_journals_are_refused_or_read(tmp_path: Path) -> None:
    run = {
        "record": "run",
        "format": 1,
        "run": "r",
        "operator": "o",
        "planId": "p",
        "changeId": "x",
        "fileDigest": None,
        "approvals": None,
        "proposer": None,
        "url": None,
        "toolVersion": "0",
        "steps": 2,
        "cluster": {"id": "c", "name": "n"},
        "commit": None,
        "time": "t",
    }
    intent = {"record": "intent", "run": "r", "batch": 1, "phase": 1, "steps": ["a", "b"], "time": "t"}
    outcomes = {
        "record": "outcomes",
        "run": "r",
        "batch": 1,
        "outcomes": [{"step": "a", "outcome": "done"}],
        "time": "t",
    }
    end = {
        "record": "end",
        "run": "r",
        "succeeded": True,
        "verified": True,
        "interrupted": False,
        "stopped": "",
        "differences": [],
        "counts": {"done": 1},
        "time": "t",
    }
    records = [run, intent, outcomes, end]
    assert len(past_runs(records)) == 1
    text = "".join(json.dumps(record) + "\n" for record in records)
    places, random = list(_places(records)), Random(8)
    file = tmp_path / "journal"
    for number in range(2_000):
        if number % 2:
            spoilt = _bytes_spoilt(text, random)
        else:
            changed = _spoilt(records, random, places)
            spoilt = "".join(json.dumps(record) + "\n" for record in changed)
        file.write_text(spoilt, encoding="utf-8", errors="surrogatepass")
        try:
            for found in past_runs(read_records(str(file))):
                assert found.performed <= {"a", "b", *found.steps}
        except JournalError:
            continue


_DEEP = seal('{"steps":' + "[" * 100_000)


@pytest.mark.parametrize("text", [_DEEP, "", "\x00", "{}", "[]", "null", '{"digest":"x"}', "{" * 100_000])
def test_what_is_no_plan_at_all(text: str) -> None:
    with pytest.raises(PlanFileError):
        parse_plan(text)
