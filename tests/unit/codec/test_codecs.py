"""What a codec writes reads back and fits its schema; what does not fit is refused with its place."""

import json
from dataclasses import dataclass
from typing import Any, Final

import pytest
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft7Validator

from reconciler.codec.codec import (
    BOOLEAN,
    COUNT,
    DATE,
    NUMBER,
    TEXT,
    TEXTS,
    Codec,
    SchemaError,
    array,
    mapping,
    nullable,
)
from reconciler.codec.document import known_minor, load, schema_text
from reconciler.codec.kinds import json_kind
from reconciler.codec.objects import Record, derived, field, flat, group, optional, record, tagged
from reconciler.codec.values import BINDING, ORIGIN, PATTERN, SCOPE
from reconciler.model.frozen import FrozenMap
from reconciler.model.kinds.quota import ClientQuota
from reconciler.model.scope import NameSelector, Scope, Selector
from reconciler.plan.kinds import CHANGE
from tests.property.strategies import bindings


@dataclass(frozen=True, slots=True)
class Engine:
    """Something inside."""

    power: int
    fuel: str | None = None


@dataclass(frozen=True, slots=True)
class Car:
    """Something with fields of every sort."""

    name: str
    engine: Engine
    seats: tuple[int, ...]
    labels: Any
    spare: Engine | None = None
    sold: bool = False


ENGINE: Final[Record[Engine]] = record(
    Engine, field("power", COUNT, "Power.", 3), field("fuel", TEXT, "Fuel.", "gas", default=None, omit=True)
)
CAR: Final[Record[Car]] = record(
    Car,
    group("about", "About it.", field("name", TEXT, "Name.", "x")),
    flat(ENGINE, "engine"),
    field("seats", array(COUNT), "Seats."),
    field("labels", mapping(nullable(COUNT)), "Labels."),
    field("spare", nullable(ENGINE), "Spare.", default=None),
    field("sold", BOOLEAN, "Sold.", False, default=False),
    derived("places", COUNT, "Places.", 4, get=lambda car: len(car.seats)),
)
_counts = st.integers(0, 9)
_texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=4)
_engines = st.builds(Engine, _counts, st.none() | _texts)
_cars = st.builds(
    Car,
    _texts,
    _engines,
    st.lists(_counts, max_size=3).map(tuple),
    st.dictionaries(_texts, st.none() | _counts, max_size=3).map(FrozenMap),
    st.none() | _engines,
    st.booleans(),
)


@given(_cars)
def test_what_is_written_reads_back_and_fits_the_schema(car: Car) -> None:
    written = json.loads(json.dumps(CAR.write(car)))
    assert CAR.read(written) == car
    Draft7Validator(json.loads(schema_text("Car", CAR))).validate(written)


@given(st.frozensets(bindings, max_size=4))
def test_bindings_and_patterns_read_back(found: frozenset[Any]) -> None:
    for binding in found:
        assert BINDING.read(BINDING.write(binding)) == binding
        assert PATTERN.read(PATTERN.write(binding.pattern)) == binding.pattern


GOOD: Final[dict[str, Any]] = {
    "about": {"name": "a"},
    "power": 1,
    "seats": [1, 2],
    "labels": {},
    "spare": {"power": 1},
    "sold": True,
    "places": 2,
}


@pytest.mark.parametrize(
    ("change", "place"),
    [
        ({"about": {}}, "about.name"),
        ({"about": None}, "about"),
        ({"power": True}, "power"),
        ({"power": 1.0}, "power"),
        ({"power": -1}, "power"),
        ({"power": 2**63}, "power"),
        ({"seats": {}}, "seats"),
        ({"seats": [1, "2"]}, "seats[1]"),
        ({"labels": {"a": "b"}}, "labels.a"),
        ({"spare": {"power": 1, "fuel": "\ud800"}}, "spare.fuel"),
        ({"spare": {"power": 1, "fuel": None}}, "spare.fuel"),
        ({"sold": 0}, "sold"),
        ({"places": "2"}, "places"),
    ],
)
def test_what_does_not_fit_is_named_with_its_place(change: dict[str, Any], place: str) -> None:
    assert CAR.read(GOOD)
    with pytest.raises(SchemaError) as caught:
        CAR.read({**GOOD, **change})
    assert caught.value.place == place


def test_fields_that_are_not_known_are_ignored_unless_the_object_is_closed() -> None:
    assert CAR.read({**GOOD, "news": 1}) == CAR.read(GOOD)
    closed = record(Engine, *ENGINE.fields, closed=True)
    with pytest.raises(SchemaError, match="news"):
        closed.read({"power": 1, "news": 1})


def test_a_table_cannot_forget_a_field() -> None:
    with pytest.raises(TypeError, match="fuel"):
        record(Engine, field("power", COUNT, "Power.", 3))


def test_a_value_that_may_be_absent_is_told_by_its_first_field() -> None:
    @dataclass(frozen=True, slots=True)
    class Garage:
        car: Engine | None = None

    garage = record(Garage, optional(ENGINE, "car", "power"))
    for value in (Garage(), Garage(Engine(3))):
        assert garage.read(garage.write(value)) == value


def test_a_tag_says_the_form() -> None:
    forms: Codec[Any] = tagged("kind", {"engine": ENGINE, "car": CAR}, lambda it: type(it).__name__.lower(), "Kind.")
    assert forms.read({"kind": "engine", "power": 2}) == Engine(2)
    wrongs: list[Any] = [{}, {"kind": "plane"}, {"kind": 1}, []]
    for wrong in wrongs:
        with pytest.raises(SchemaError):
            forms.read(wrong)


@pytest.mark.parametrize(
    ("codec", "value"),
    [
        (DATE, "9999-99-99"),
        (ORIGIN, "a:b:c"),
        (ORIGIN, "1:1"),
        (NUMBER, float("inf")),
        (NUMBER, 10**400),
        (TEXTS, "a"),
        (json_kind(ClientQuota).CODEC, {"entity": {"user": ""}, "values": {}}),
        (CHANGE, {"action": "CreateAcl", "before": {}, "after": {}}),
        (SCOPE, {"include": [{"topics": {"any": True}, "groups": {"any": True}}], "exclude": [], "ignore": []}),
        (SCOPE, {"include": [{"topic": {"any": True}}], "exclude": [], "ignore": []}),
        (SCOPE, {"include": [{"topics": {"any": True, "prefix": "a"}}], "exclude": [], "ignore": []}),
    ],
)
def test_values_that_no_type_has(codec: Codec[Any], value: object) -> None:
    with pytest.raises(SchemaError):
        codec.read(value)


def test_scopes_read_back() -> None:
    scope = Scope((Selector(NameSelector(prefixes=("User:a",))),), (), (Selector(NameSelector(any_name=True)),))
    assert SCOPE.read(SCOPE.write(scope)) == scope


@pytest.mark.parametrize("text", ['{"a": 1, "a": 1}', '{"a": {"b": 1, "b": 2}}', '{"a": NaN}', "[]", "", "[" * 100_000])
def test_texts_that_are_not_one_object(text: str) -> None:
    with pytest.raises(SchemaError):
        load(text)


def test_another_major_version_is_refused() -> None:
    assert known_minor({"formatVersion": "1.0"}, "1.0")
    assert not known_minor({"formatVersion": "1.7"}, "1.0")
    for wrong in ("2.0", "1", None, 1.0):
        with pytest.raises(SchemaError, match="formatVersion"):
            known_minor({"formatVersion": wrong}, "1.0")
