"""Listed kinds in JSON: every kind in one way, a further one without a line of code outside its own file."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

import pytest

from reconciler.codec import kinds as module
from reconciler.codec.codec import TEXT, SchemaError
from reconciler.codec.kinds import DECLARED, KINDS, Kind, listings
from reconciler.codec.objects import field as member
from reconciler.codec.objects import record
from reconciler.model.acl import ResourcePattern, ResourceType
from reconciler.model.desired import Declaration, DesiredItem, Origin
from reconciler.model.kinds.quota import ClientQuota, QuotaEntity
from reconciler.model.listing import EVERY_LEVEL, BrokerRefusal, FeatureLevel, ListedItem, Listing
from reconciler.model.scope import NameSelector, Scope, Selector

ALICE = ClientQuota(QuotaEntity.of("alice"), {"producer_byte_rate": 1})
BOB = ClientQuota(QuotaEntity.of("bob"), {"producer_byte_rate": 2})


@dataclass(frozen=True, order=True)
class _Thing(ListedItem):
    KIND: ClassVar[str] = "oddThings"
    NOUN: ClassVar[str] = "OddThing"
    WORDS: ClassVar[str] = "odd things"
    CAN_VALIDATE: ClassVar[bool] = False
    ATOMIC: ClassVar[bool] = True
    LEVEL: ClassVar[FeatureLevel] = EVERY_LEVEL
    PLACE: ClassVar[ResourceType | None] = None
    PERSONAL: ClassVar[bool] = False
    name: str
    principal: str | None = None
    values: Mapping[str, str] = field(default_factory=dict, init=False, compare=False)

    @property
    def place(self) -> ResourcePattern | None:
        return None

    @property
    def key(self) -> str:
        return self.name

    @property
    def subject(self) -> str:
        return f"thing {self.name}"

    @property
    def is_disabled(self) -> bool:
        return False

    @property
    def unmatched(self) -> None:
        return None

    def with_values(self, values: Mapping[str, str]) -> "_Thing":
        return self

    def _refusals(self, release: tuple[int, int] | None) -> Iterator[BrokerRefusal]:
        yield from ()


class _OfGroup(_Thing):
    @property
    def place(self) -> ResourcePattern | None:
        return ResourcePattern(ResourceType.GROUP, self.name)


@pytest.fixture
def two_kinds(monkeypatch: pytest.MonkeyPatch) -> None:
    codec = record(
        _Thing, member("name", TEXT, "The thing."), member("principal", TEXT, "Whose.", default=None, omit=True)
    )
    monkeypatch.setattr(module, "KINDS", (*KINDS, Kind(_Thing, codec)))


@pytest.mark.usefixtures("two_kinds")
@pytest.mark.parametrize(
    "found",
    [
        {},
        {"quotas": Listing(frozenset({BOB, ALICE}))},
        {"quotas": Listing(gap="refused"), "oddThings": Listing(frozenset({_Thing("g")}))},
        {"quotas": Listing(frozenset()), "oddThings": Listing(gap="refused")},
    ],
)
def test_each_kind_has_its_fields(found: dict[str, Listing[Any]]) -> None:
    codec = listings()
    written = codec.write(found)
    assert set(written) <= {"quotas", "quotaGap", "oddThings", "oddThingGap"}
    assert {kind: one for kind, one in codec.read(written).items() if one != Listing()} == found


def test_what_was_not_read_is_not_empty() -> None:
    assert listings().write({"quotas": Listing(None)}) == {}
    assert listings().read({})["quotas"].items is None
    assert listings().write({"quotas": Listing(frozenset())}) == {"quotas": []}
    assert listings().read({"quotas": []})["quotas"].items == frozenset()


def test_the_same_resource_twice_is_refused() -> None:
    written = listings().write({"quotas": Listing(frozenset({ALICE}))})["quotas"]
    with pytest.raises(SchemaError, match="quotas: the quota of user alice occurs twice"):
        listings().read({"quotas": [*written, {**written[0], "values": {}}]})
    with pytest.raises(SchemaError, match="quotas: the quota of user alice occurs twice"):
        listings().read({"quotas": written * 2})


def test_what_is_declared_keeps_its_place_and_whether_it_goes() -> None:
    place = Declaration(Origin("q.yaml", 7, 14), "why", "T-1")
    declared = {
        "quotas": {ALICE.key: DesiredItem(ALICE, place), BOB.key: DesiredItem(BOB, place, expired=True)},
    }
    kept = DECLARED.read(DECLARED.write(declared))["quotas"]
    assert {key: (one.item, one.declaration.origin, one.goes) for key, one in kept.items()} == {
        ALICE.key: (ALICE, place.origin, False),
        BOB.key: (BOB, place.origin, True),
    }


def test_a_declared_kind_that_this_version_does_not_know_is_refused() -> None:
    with pytest.raises(SchemaError, match="scramUsers: is not a field of this version"):
        DECLARED.read({"scramUsers": []})


def test_scope_goes_by_the_principal_of_a_resource() -> None:
    scope = Scope(include=(Selector(NameSelector(literal=("User:a",))),))
    assert scope.owns_listed(_Thing("g", "User:a"), declared=False)
    assert not scope.owns_listed(_Thing("g", "User:b"), declared=True)
    assert not scope.owns_listed(_Thing("g"), declared=True), "about nobody: only {any: true} includes it"


@pytest.mark.parametrize(
    ("selector", "owned"),
    [
        (Selector(None, ResourceType.GROUP, NameSelector(prefixes=("pay.",))), True),
        (Selector(None, ResourceType.GROUP, NameSelector(literal=("pay.in",))), True),
        (Selector(None, ResourceType.GROUP, NameSelector(any_name=True)), True),
        (Selector(None, ResourceType.GROUP, NameSelector(prefixes=("pay.in.",))), False),
        (Selector(None, ResourceType.TOPIC, NameSelector(prefixes=("pay.",))), False),
        (Selector(NameSelector(any_name=True)), False),
        (Selector(NameSelector(any_name=True), ResourceType.GROUP, NameSelector(any_name=True)), False),
    ],
)
def test_scope_goes_by_the_name_of_what_a_resource_is_about(selector: Selector, owned: bool) -> None:
    thing = _OfGroup("pay.in", "User:a")
    assert Scope(include=(selector,)).owns_listed(thing, declared=False) is owned
    assert Scope(exclude=(selector,)).owns_listed(thing, declared=True) is not owned
