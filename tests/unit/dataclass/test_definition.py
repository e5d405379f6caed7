"""Our ``dataclass`` defines what Python's own defines: each example is made by both and held together."""

import copy
import dataclasses
import pickle
from collections.abc import Callable
from typing import Any, ClassVar, Generic, TypeVar

import pytest

from reconciler.dataclass import dataclass

T = TypeVar("T")
Decorator = Callable[..., Any]
BOTH: tuple[Decorator, Decorator] = (dataclasses.dataclass, dataclass)
SHAPES: tuple[dict[str, bool], ...] = (
    {},
    {"slots": True},
    {"frozen": True},
    {"frozen": True, "slots": True},
    {"frozen": True, "slots": True, "order": True},
    {"frozen": True, "slots": True, "eq": False},
    {"slots": True, "eq": False, "repr": False},
)


def point(decorator: Decorator, **shape: bool) -> Any:
    @decorator(**shape)
    class Point:
        """A place."""

        x: int
        name: str = "none"
        seen: list[int] = dataclasses.field(default_factory=list, compare=False)
        hidden: int = dataclasses.field(default=7, repr=False)
        total: int = dataclasses.field(init=False, default=0)
        KIND: ClassVar[str] = "point"

        def __post_init__(self) -> None:
            object.__setattr__(self, "total", self.x + self.hidden)

    return Point


@dataclass(frozen=True, slots=True)
class Kept:
    """Defined at the top, so that it can be pickled."""

    first: int
    second: str = "b"


@dataclass(frozen=True, slots=True)
class Deeper(Kept):
    third: float = 0.5


def told(one: Any) -> Any:
    values = [one(1), one(1, "a", [2]), one(x=1, hidden=3), one(2)]
    if not one.__dataclass_params__.eq:
        values = [values[0]]
    ordered = [[a < b for b in values] for a in values] if one.__dataclass_params__.order else None
    return (
        [repr(value).rpartition(".")[2] for value in values] if one.__dataclass_params__.repr else None,
        [[a == b for b in values] for a in values],
        ordered,
        [[(f.name, f.default, f.init, f.compare, f.repr) for f in dataclasses.fields(value)] for value in values],
        [dataclasses.asdict(value) for value in values],
        [dataclasses.asdict(dataclasses.replace(value, x=9)) for value in values],
        [dataclasses.asdict(copy.deepcopy(value)) for value in values],
        one.__match_args__,
        one.__hash__ is None,
        getattr(one, "__slots__", None),
        one.__doc__,
        hasattr(values[0], "__dict__"),
    )


@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_values_tell_the_same(shape: dict[str, bool]) -> None:
    theirs, ours = (told(point(decorator, **shape)) for decorator in BOTH)
    assert theirs == ours


@pytest.mark.parametrize("shape", [one for one in SHAPES if one.get("frozen") and one.get("eq", True)], ids=str)
def test_equal_values_have_equal_hashes(shape: dict[str, bool]) -> None:
    theirs, ours = (point(decorator, **shape) for decorator in BOTH)
    assert hash(ours(1, seen=[1])) == hash(ours(1, seen=[2])) == hash(theirs(1))
    assert ours(1) != theirs(1)


@pytest.mark.parametrize("shape", [one for one in SHAPES if one.get("frozen")], ids=str)
def test_frozen_values_stay(shape: dict[str, bool]) -> None:
    value = point(dataclass, **shape)(1)
    with pytest.raises(dataclasses.FrozenInstanceError, match="cannot assign to field 'x'"):
        value.x = 2
    with pytest.raises(dataclasses.FrozenInstanceError, match="cannot delete field 'x'"):
        del value.x
    assert value.x == 1


def test_each_value_has_a_list_of_its_own() -> None:
    one = point(dataclass)
    one(1).seen.append(3)
    assert one(1).seen == []
    with pytest.raises(ValueError, match="mutable default"):
        dataclass(type("Wrong", (), {"__annotations__": {"a": list}, "a": []}))


def test_wrong_arguments_are_refused_also_the_first_time() -> None:
    for arguments in ((), (1, 2, 3, 4, 5)):
        with pytest.raises(TypeError, match=r"__init__\(\)"):
            point(dataclass, slots=True)(*arguments)
    with pytest.raises(TypeError, match="unexpected keyword argument 'y'"):
        point(dataclass)(1, y=2)


def test_inherited_fields_come_first_and_pickles_are_read() -> None:
    value = Deeper(1, third=2.0)
    assert [field.name for field in dataclasses.fields(value)] == ["first", "second", "third"]
    assert vars(Deeper)["__slots__"] == ("third",)
    assert pickle.loads(pickle.dumps(value)) == value == copy.copy(value)  # noqa: S301 - our own
    assert repr(value) == "Deeper(first=1, second='b', third=2.0)"
    assert Kept(1) != value
    match value:
        case Deeper(1, "b", third):
            assert third == 2.0
        case _:
            pytest.fail("no match")


def test_what_a_class_defines_itself_stays() -> None:
    @dataclass(frozen=True, slots=True)
    class Own(Generic[T]):
        value: T

        def __repr__(self) -> str:
            return "mine"

        def __hash__(self) -> int:
            return 5

        def __eq__(self, other: object) -> bool:
            return True

    assert (repr(Own(1)), hash(Own(1)), Own(1) == Own(2)) == ("mine", 5, True)
    assert Own[int](3).value == 3


def test_a_value_that_holds_itself_has_a_text() -> None:
    @dataclass
    class Knot:
        other: Any = None

    knot = Knot()
    knot.other = knot
    assert repr(knot).endswith("Knot(other=...)")
