"""An annotated class gives the same codec as a table of its fields."""

import ast
import dataclasses
import json
from collections.abc import Mapping
from enum import StrEnum
from typing import Annotated, Any, ClassVar, NamedTuple

import pytest

from benchmarks import figures
from reconciler.codec.annotated import record_of
from reconciler.codec.codec import (
    ANY_TEXT,
    BOOLEAN,
    COUNT,
    TEXT,
    SchemaError,
    array,
    by_value,
    constant,
    integer,
    mapping,
    nullable,
    same,
)
from reconciler.codec.objects import derived, field, flat, group, optional, record
from reconciler.codec.values import BINDING, NAME, ORIGIN, PATTERN_TYPE
from reconciler.dataclass import dataclass
from reconciler.model.acl import AclBinding, PatternType
from reconciler.model.desired import Origin
from reconciler.model.says import (
    REQUIRED,
    AnyInteger,
    AnyNumber,
    AnyText,
    Apart,
    As,
    FieldGroup,
    Flat,
    Name,
    Reference,
    Says,
)
from tests.worlds import binding

#: Tables of fields by hand, by file: a new value is annotated, so a number may only fall. See docs/decisions/codecs.md.
TABLES = {
    "snapshot/document.py": 3,
    "codec/kinds.py": 3,
    "codec/values.py": 10,
    "plan/file_codec.py": 2,
}


class Colour(StrEnum):
    """An enumeration."""

    RED = "red"
    GREEN = "green"


@dataclass(frozen=True, slots=True)
class Wheel:
    """A value within another."""

    spokes: Annotated[int, Says("How many spokes.", 28)]
    offset_by: Annotated[AnyInteger, Says("How far it is off.", -2)] = 0


@dataclass(frozen=True, slots=True)
class Bike:
    """Every form that a field can have."""

    name: Annotated[str, Says("Its name.", "a")]
    said_of_it: Annotated[AnyText, Says("What is said of it.", "b")]
    colour: Annotated[Colour, Says("Its colour.", "red")]
    ready: Annotated[bool, Says("Whether it is ready.", True)]
    wheels: Annotated[tuple[Wheel, ...], Says("Its wheels.")]
    parts: Annotated[Mapping[str, AnyText | None], Says("Its parts.", {"bell": "brass"})]
    binding: Annotated[AclBinding, Says("Who may ride it.")]
    front: Annotated[Wheel, Flat]
    owner: Annotated[str | None, Says("Its owner; null: nobody.", "c")]
    place: Annotated[Origin | None, Says("Where it is declared.", "a.yaml:1:1", omit=True)] = None
    note: Annotated[str | None, Says("A note.", "d", omit=True, null=True)] = None
    gears: Annotated[int, Says("How many gears.", 7, name="gearCount", default=REQUIRED)] = 3
    bells: Annotated[int, Says("How many bells.", 1, default=1)] = 0
    state: Annotated[Any, constant("sold"), Says("What became of it.")] = "sold"


WHEEL = record(
    Wheel,
    field("spokes", COUNT, "How many spokes.", 28),
    field("offsetBy", integer(None), "How far it is off.", -2, default=0),
)
BIKE = record(
    Bike,
    field("name", TEXT, "Its name.", "a"),
    field("saidOfIt", ANY_TEXT, "What is said of it.", "b"),
    field("colour", by_value(Colour), "Its colour.", "red"),
    field("ready", BOOLEAN, "Whether it is ready.", True),
    field("wheels", array(WHEEL), "Its wheels."),
    field("parts", mapping(nullable(ANY_TEXT)), "Its parts.", {"bell": "brass"}),
    field("binding", BINDING, "Who may ride it."),
    flat(WHEEL, "front"),
    field("owner", nullable(TEXT), "Its owner; null: nobody.", "c"),
    field("place", ORIGIN, "Where it is declared.", "a.yaml:1:1", default=None, omit=True),
    field("note", nullable(TEXT), "A note.", "d", default=None, omit=True),
    field("gearCount", COUNT, "How many gears.", 7, attr="gears"),
    field("bells", COUNT, "How many bells.", 1, default=1),
    field("state", constant("sold"), "What became of it.", default="sold"),
)
SMALL = Bike("a", "\ud800", Colour.RED, True, (), {}, binding("User:a ALLOW READ on TOPIC x"), Wheel(20), None)
WHOLE = Bike(
    "a",
    "b",
    Colour.GREEN,
    False,
    (Wheel(1), Wheel(2, -1)),
    {"bell": None, "seat": "leather"},
    binding("User:b ALLOW READ on TOPIC x"),
    Wheel(3, 4),
    "c",
    Origin("a.yaml", 1, 2),
    "d",
    9,
    2,
)


def test_an_annotated_class_and_a_table_give_one_schema() -> None:
    assert record_of(Bike).schema == BIKE.schema
    assert list(record_of(Bike).schema["properties"]) == list(BIKE.schema["properties"])


@pytest.mark.parametrize("bike", [SMALL, WHOLE])
def test_both_write_and_read_the_same(bike: Bike) -> None:
    written = BIKE.write(bike)
    assert record_of(Bike).write(bike) == written
    assert list(record_of(Bike).write(bike)) == list(written)
    assert record_of(Bike).read(written) == BIKE.read(written) == bike


def _places(codec: Any, document: object) -> str:
    try:
        codec.read(document)
    except SchemaError as error:
        return str(error)
    return ""


def test_both_refuse_the_same_in_the_same_words() -> None:
    whole = BIKE.write(WHOLE)
    spoilt = [{name: value for name, value in whole.items() if name != left} for left in whole]
    wrong: list[Any] = [None, -1, "\ud800", {}, [{"spokes": None}]]
    spoilt += [{**whole, name: value} for name in whole for value in wrong]
    told = [_places(BIKE, document) for document in spoilt]
    assert [_places(record_of(Bike), document) for document in spoilt] == told
    assert "wheels[0].spokes: expected an integer, found null" in told
    assert "gearCount: is missing" in told


def test_a_class_within_a_closed_one_is_closed() -> None:
    document = BIKE.write(WHOLE)
    document["wheels"][1]["size"] = 28
    assert record_of(Bike).read(document) == WHOLE
    assert _places(record_of(Bike, closed=True), document) == "wheels[1].size: is not a field of this version"


def test_names_may_be_those_of_attributes() -> None:
    assert list(record_of(Wheel, named=same).write(Wheel(1))) == ["spokes", "offset_by"]
    assert list(record_of(Bike, named=same).write(WHOLE)["wheels"][0]) == ["spokes", "offset_by"]


def _double(wheel: Wheel) -> int:
    return 2 * wheel.spokes


def test_computed_fields_are_written_and_not_read() -> None:
    double = derived("double", COUNT, "Twice the spokes.", get=_double)
    codec = record_of(Wheel, double)
    assert codec.write(Wheel(4)) == {"spokes": 4, "offsetBy": 0, "double": 8}
    assert codec.read({"spokes": 4, "offsetBy": 0, "double": 1}) == Wheel(4)


_SIZE = FieldGroup("size", "How large it is.")


@dataclass(frozen=True, slots=True, order=True)
class Frame:
    """A value whose JSON has another order than its fields, and some of them in an object of their own."""

    KIND: ClassVar[str] = "frames"
    wheel: Annotated[Wheel | None, Flat]
    height: Annotated[int, Says("How high.", 60, group=_SIZE)]
    length: Annotated[int, Says("How long.", 90, group=_SIZE)]
    name: Annotated[Name, Says("Its name.", "a", before="wheel")]
    pattern: Annotated[PatternType, Says("How it is painted.", "LITERAL")]


LENGTH = derived("lengthSquared", COUNT, "Its square.", get=lambda frame: frame.length**2)
FRAME = record(
    Frame,
    LENGTH,
    field("name", NAME, "Its name.", "a"),
    optional(WHEEL, "wheel", "spokes"),
    group("size", "How large it is.", field("height", COUNT, "How high.", 60), field("length", COUNT, "How long.", 90)),
    field("pattern", PATTERN_TYPE, "How it is painted.", "LITERAL"),
)


def test_order_and_groups_follow_from_annotations() -> None:
    codec = record_of(Frame, first=(LENGTH,))
    assert json.dumps(codec.schema) == json.dumps(FRAME.schema)
    for frame in (Frame(Wheel(3), 1, 2, "a", PatternType.LITERAL), Frame(None, 1, 2, "a", PatternType.PREFIXED)):
        written = FRAME.write(frame)
        assert json.dumps(codec.write(frame)) == json.dumps(written)
        assert codec.read(written) == frame
        wrong: list[Any] = [None, "", {}, -1]
        spoilt = [{**written, name: value} for name in written for value in wrong]
        assert [_places(codec, one) for one in spoilt] == [_places(FRAME, one) for one in spoilt]


@dataclass(frozen=True, slots=True)
class Ride:
    """A value with attributes that its JSON does not show."""

    rider: Annotated[str, Apart("")]
    bike: Annotated[str, Says("The bike.", "a")]
    fast: Annotated[bool, Apart()] = False


def test_what_stands_apart_has_its_default_when_it_is_read() -> None:
    assert record_of(Ride).write(Ride("me", "a", True)) == {"bike": "a"}
    assert record_of(Ride).read({"bike": "a", "rider": "me"}) == Ride("", "a")


class Bell(NamedTuple):
    """A named tuple is described as a dataclass is."""

    sound: Annotated[str, Says("Its sound.", "ding")]
    volume: Annotated[int, Says("How loud.", 3)] = 1


def test_a_named_tuple_is_derived_too() -> None:
    assert record_of(Bell).read({"sound": "ding"}) == Bell("ding")
    assert record_of(Bell).write(Bell("ding", 2)) == {"sound": "ding", "volume": 2}


@dataclass(frozen=True, slots=True)
class Shed:
    """A sum that follows from the rest, an attribute that no file has, and one whose JSON depends on the place."""

    bikes: Annotated[int, Says("How many bikes.", 2)]
    wheels: Annotated[int, Says("How many wheels.", 4)] = dataclasses.field(init=False)
    visits: Annotated[int, Apart()] = 0
    key: Annotated[str, Says("Its key.", "a", default=REQUIRED)] = ""

    def __post_init__(self) -> None:
        """Two wheels a bike."""
        object.__setattr__(self, "wheels", 2 * self.bikes)


def test_an_attribute_that_follows_from_others_is_written_in_its_place_and_checked_only() -> None:
    assert list(record_of(Shed).write(Shed(3, 9, "k")).items()) == [("bikes", 3), ("wheels", 6), ("key", "k")]
    assert record_of(Shed).read({"bikes": 3, "wheels": 1, "key": "k"}) == Shed(3, key="k")
    assert _places(record_of(Shed), {"bikes": 3, "wheels": "a", "key": "k"}).startswith("wheels: ")
    assert _places(record_of(Shed), {"bikes": 3, "key": "k"}) == "wheels: is missing"


def test_an_attribute_apart_is_neither_written_nor_read() -> None:
    codec = record_of(Shed, closed=True)
    assert "visits" not in codec.schema["properties"]
    assert _places(codec, {**codec.write(Shed(1)), "visits": 1}) == "visits: is not a field of this version"


def test_a_codec_may_be_given_for_an_attribute() -> None:
    codec = record_of(Shed, codecs={"key": by_value(Colour)})
    assert codec.schema["properties"]["key"]["enum"] == ["red", "green"]
    assert codec.read({"bikes": 1, "wheels": 2, "key": "red"}) == Shed(1, key=Colour.RED)
    assert record_of(Shed).schema["properties"]["key"]["type"] == "string"


@dataclass(frozen=True, slots=True)
class OfNoCodec:
    """Nobody knows how a complex number looks in JSON."""

    number: Annotated[tuple[complex, ...], Says("A number.")]


@dataclass(frozen=True, slots=True)
class WithoutWords:
    """A field that would have no description."""

    number: int


@dataclass(frozen=True, slots=True)
class OfTwoTypes:
    """A type that leaves open how it reads."""

    number: Annotated[int | str, Says("A number.")]


class Rack(NamedTuple):
    """A value with a field that JSON has otherwise, an unbounded number and a reference to a secret."""

    bikes: Annotated[
        tuple[str, ...], As(Mapping[str, int], tuple, lambda found: dict.fromkeys(found, 1)), Says("Whose.")
    ]
    size: Annotated[int, As(Wheel, lambda wheel: wheel.spokes, Wheel), Says("Of its largest wheel.")] = 28
    weight: Annotated[AnyNumber, Says("In kilograms.")] = 0
    lock: Annotated[Reference, Says("Its code.", omit=True)] = ""


def test_a_field_may_be_another_value_in_json() -> None:
    codec = record_of(Rack)
    rack = Rack(("a", "b"), 3, 1e300, "${env:LOCK}")
    size = {"spokes": 3, "offsetBy": 0}
    assert codec.write(rack) == {"bikes": {"a": 1, "b": 1}, "size": size, "weight": 1e300, "lock": "${env:LOCK}"}
    assert codec.read(codec.write(rack)) == rack
    assert _places(codec, {"bikes": {"a": -1}}).startswith("bikes.a: ")
    assert _places(codec, {"bikes": {}, "weight": -1}).startswith("weight: ")
    assert _places(codec, {"bikes": {}, "lock": "1234"}) == "lock: is not a reference to a secret"


@pytest.mark.parametrize(
    ("cls", "words"),
    [
        (OfNoCodec, "OfNoCodec.number: no codec is known of <class 'complex'>"),
        (WithoutWords, "WithoutWords.number: no word about it"),
        (OfTwoTypes, "OfTwoTypes.number: no codec is known of int | str"),
    ],
)
def test_what_does_not_say_enough_is_refused_at_once(cls: type, words: str) -> None:
    with pytest.raises(TypeError) as caught:
        record_of(cls)
    assert str(caught.value) == words


def test_no_more_tables_are_written_by_hand() -> None:
    """Each table that repeats the fields of a class is one that can say something else."""
    found = {
        str(file.path): count
        for file in figures.sources()
        if "record" in file.text
        and str(file.path) != "codec/annotated.py"
        and (count := sum(map(_is_table, ast.walk(file.tree))))
    }
    assert found == TABLES


def _is_table(node: ast.AST) -> bool:
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "record"
