"""Listed kinds in JSON: every kind in one way, a further one without a line of code outside its own file."""

from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any, ClassVar

import pytest

from reconciler.codec import TEXT, SchemaError, field, record
from reconciler.codec import listings as module
from reconciler.codec.kinds import KINDS
from reconciler.codec.listings import DECLARED, listings
from reconciler.model import Declaration, DesiredItem, Listing, NameSelector, Origin, Scope, Selector
from reconciler.model.kinds.quota import ClientQuota, QuotaEntity

ALICE = ClientQuota(QuotaEntity.of("alice"), {"producer_byte_rate": 1})
BOB = ClientQuota(QuotaEntity.of("bob"), {"producer_byte_rate": 2})


@dataclass(frozen=True, order=True)
class _GroupConfig:
    KIND: ClassVar[str] = "groupConfigs"
    name: str
    principal: str | None = None

    @property
    def key(self) -> str:
        return self.name

    @property
    def subject(self) -> str:
        return f"config of group {self.name}"


@pytest.fixture
def two_kinds(monkeypatch: pytest.MonkeyPatch) -> None:
    codec = record(
        _GroupConfig, field("name", TEXT, "The group."), field("principal", TEXT, "Whose.", default=None, omit=True)
    )
    kind = SimpleNamespace(TYPE=_GroupConfig, CODEC=codec, NOUN="groupConfig", WORDS="Group configs")
    monkeypatch.setattr(module, "KINDS", (*KINDS, kind))


@pytest.mark.usefixtures("two_kinds")
@pytest.mark.parametrize(
    "found",
    [
        {},
        {"quotas": Listing(frozenset({BOB, ALICE}))},
        {"quotas": Listing(gap="refused"), "groupConfigs": Listing(frozenset({_GroupConfig("g")}))},
        {"quotas": Listing(frozenset()), "groupConfigs": Listing(gap="refused")},
    ],
)
def test_each_kind_has_its_fields(found: dict[str, Listing[Any]]) -> None:
    codec = listings()
    written = codec.write(found)
    assert set(written) <= {"quotas", "quotaGap", "groupConfigs", "groupConfigGap"}
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


def test_scope_needs_only_the_principal_of_a_resource() -> None:
    scope = Scope(include=(Selector(NameSelector(literal=("User:a",))),))
    assert scope.owns_listed(_GroupConfig("g", "User:a"), declared=False)
    assert not scope.owns_listed(_GroupConfig("g", "User:b"), declared=True)
    assert not scope.owns_listed(_GroupConfig("g"), declared=True), "about nobody: only {any: true} includes it"
