"""Every field of every kind that judges has an entry, of a sort that fits the field's type, and there is no default."""

import dataclasses
import types
import typing
from collections.abc import Iterator, Mapping
from typing import Annotated, Any, Literal, Union, get_args, get_origin

import pytest
from pydantic import BaseModel
from typing_extensions import TypeAliasType

from reconciler.manifest.documents import KINDS_BY_NAME
from reconciler.manifest.guardrail_meaning import (
    GUARDRAILS,
    ByName,
    Either,
    FieldMeaning,
    Fields,
    Meaning,
    Names,
    NotJudged,
    Records,
    Texts,
    Value,
)
from reconciler.manifest.guardrail_set import HELD, KINDS, HeldTerm, with_guardrails
from reconciler.manifest.manifests import Manifests, load
from reconciler.manifest.models.cluster import ClusterSpec
from reconciler.manifest.parts.clusters import ClusterDeclaration
from reconciler.manifest.parts.resources import NameForms
from reconciler.manifest.read.findings import Source
from reconciler.model.desired import Expiry
from reconciler.model.scope import NameSelector, glob_contains
from reconciler.parts.fleet.membership import Fleet, FleetLimits, Wave, fleet_of

#: Fields that a manifest writes as any text, and that a rule compares as numbers: those of settings and features.
_NUMBERS_AS_TEXTS = {
    "TopicPolicy.spec.rules.configs.*.min",
    "TopicPolicy.spec.rules.configs.*.max",
    "ClusterTests.spec.tests.configs.*.min",
    "ClusterTests.spec.tests.configs.*.max",
    "ClusterTests.spec.tests.features.*.min",
}
#: Choices that have an order.
_ORDERED_CHOICES = {"severity", "through", "allowEveryoneIfNoAclFound"}


def _types(annotation: Any) -> Iterator[Any]:
    """The types that a field may have, without what checks or describes them."""
    if get_origin(annotation) is Annotated:
        yield from _types(get_args(annotation)[0])
    elif isinstance(annotation, TypeAliasType):
        yield from _types(annotation.__value__)
    elif get_origin(annotation) in (Union, types.UnionType):
        for part in get_args(annotation):
            yield from _types(part)
    elif annotation is not type(None):
        yield annotation


def _model(annotations: list[Any]) -> type[BaseModel] | None:
    return next((one for one in annotations if isinstance(one, type) and issubclass(one, BaseModel)), None)


def _unfit(path: str, annotation: Any, field: FieldMeaning) -> Iterator[str]:
    """The places at or below ``path`` where the table and the model disagree."""
    found = list(_types(annotation))
    lists = [get_args(one)[0] for one in found if get_origin(one) is list]
    maps = [get_args(one)[1] for one in found if get_origin(one) is dict]
    model = _model(found)
    if isinstance(field, NotJudged):
        if not field.because:
            yield f"{path}: nobody says why it is no rule"
        return
    if isinstance(field, Records):
        parts = [part for one in lists for part in _types(one)]
        yield from _unfit_items(path, parts, field.item.fields)
    elif isinstance(field, ByName):
        yield from _unfit(f"{path}.*", maps[0], field.entry) if maps else [f"{path}: not by name"]
    elif isinstance(field, Fields):
        yield from [f"{path}: not a mapping"] if model is None else _fields(path, model, field)
    elif isinstance(field, Either):
        yield from _fields(path, model, field.mapping) if model else [f"{path}: never a mapping"]
        if str not in found:
            yield f"{path}: never a text"
    elif isinstance(field, Names):
        if model is not NameForms:
            yield f"{path}: not the forms of names"
    elif isinstance(field, Texts):
        if not lists and NameForms is not model:
            yield f"{path}: not a list of texts"
    else:
        yield from _unfit_value(path, found, field)


def _unfit_items(path: str, parts: list[Any], entries: Mapping[str, FieldMeaning]) -> Iterator[str]:
    """Of several sorts of items, the entries are for all of them."""
    models = [one for one in parts if isinstance(one, type) and issubclass(one, BaseModel)]
    known = {name for model in models for name in _annotations(model)}
    yield from (f"{path}.{name}: no such field" for name in entries.keys() - known)
    for model in models:
        yield from _fields(
            path, model, Fields({name: entries[name] for name in entries if name in _annotations(model)})
        )
    if not models:
        yield f"{path}: not a list"


def _unfit_value(path: str, found: list[Any], field: Value) -> Iterator[str]:
    """A size is for numbers, ends, truths and choices with an order; a name is never one."""
    if any(get_origin(one) in (list, dict) for one in found) or _model(found):
        yield f"{path}: not a single value"
    sized = found[0] in (int, float, bool, Expiry) or (
        get_origin(found[0]) is Literal and path.rpartition(".")[2] in _ORDERED_CHOICES
    )
    if field.size is not None and not sized and path not in _NUMBERS_AS_TEXTS:
        yield f"{path}: {found[0]} has no size"


def _annotations(model: type[BaseModel]) -> dict[str, Any]:
    hints = typing.get_type_hints(model, include_extras=True)
    return {info.alias or name: hints[name] for name, info in model.model_fields.items()}


def _fields(path: str, model: type[BaseModel], group: Fields) -> Iterator[str]:
    declared = _annotations(model)
    for name in declared.keys() ^ group.fields.keys():
        yield f"{path}.{name}: {'no entry' if name in declared else 'no such field'}"
    for name, annotation in declared.items():
        if name in group.fields:
            yield from _unfit(f"{path}.{name}", annotation, group.fields[name])


@pytest.mark.parametrize("kind", GUARDRAILS)
def test_every_field_has_an_entry_that_fits_its_type(kind: str) -> None:
    model = KINDS_BY_NAME[kind].model()
    assert list(_fields(kind, model, GUARDRAILS[kind])) == []


def test_a_field_without_an_entry_is_found() -> None:
    """The test above can fail: take one entry away, at the top and deep inside, or give a name a size."""
    model, group = KINDS_BY_NAME["TopicPolicy"].model(), GUARDRAILS["TopicPolicy"]
    assert list(_fields("p", model, Fields({key: one for key, one in group.fields.items() if key != "spec"})))
    spec = group.fields["spec"]
    assert isinstance(spec, Fields)
    rules = spec.fields["rules"]
    assert isinstance(rules, Records)
    for name in ("severity", "except"):
        less = Fields({key: one for key, one in rules.item.fields.items() if key != name})
        changed = Fields({**group.fields, "spec": Fields({**spec.fields, "rules": Records(less)})})
        assert f"p.spec.rules.{name}: no entry" in list(_fields("p", model, changed))
    assert list(_unfit("p.name", str, Value(Meaning.UNCLEAR, Meaning.UNCLEAR, lambda _, text: float(text))))


def test_every_kind_that_judges_is_in_the_table() -> None:
    assert GUARDRAILS.keys() == {*KINDS, "Acls", "Topics"}
    assert all(GUARDRAILS[kind].added and GUARDRAILS[kind].removed for kind in KINDS)


@pytest.mark.parametrize(
    ("outer", "inner", "contains"),
    [
        ("User:svc-*", "User:svc-payments*", True),
        ("User:svc-*", "User:svc-a", True),
        ("User:svc-payments*", "User:svc-*", False),
        ("User:a?", "User:a*", False),
        ("User:a??", "User:a*", False),
        ("User:a?", "User:ab", True),
        ("User:a", "User:a", True),
        ("User:*a", "User:*", False),
        ("*", "User:*", True),
    ],
)
def test_one_glob_contains_another(outer: str, inner: str, contains: bool) -> None:
    assert glob_contains(outer, inner) is contains


#: Of a declaration, what no field of the document says by itself: what it is called, where it stands, whose word it is.
_BESIDE = {"name", "origin", "sources", "fact_origins", "client_origins", "var_origins", "ignore_origins", "guardrail"}
#: The operator's word alone.
_OPERATORS = {"secret_permit", "only_scram_logins", "emergency"}
_OPEN, _BROKERS = "allow_everyone_if_no_acl_found", "inter_broker_principals"
#: Fields that no guardrails hold, as a declaration calls them, and one that only words a warning.
_NOT_HELD = {"labels", "bootstrap_servers", "client", "topic_defaults", "lint_exceptions", "vars", "short_wait"}


def test_guardrails_hold_every_field_of_a_cluster_or_say_why_not() -> None:
    """A new field of the document, or of its declaration, fails here until somebody decides."""
    fields = {info.alias or name for name, info in ClusterSpec.model_fields.items()}
    assert HELD.keys() == {*fields, "labels"}
    held = {name for term in HELD.values() if isinstance(term, HeldTerm) for name in term.holds}
    known = {one.name for one in dataclasses.fields(ClusterDeclaration)}
    assert known == held | _BESIDE | _OPERATORS | _NOT_HELD
    assert all(isinstance(term, HeldTerm) or term.because for term in HELD.values())


def _held(base: str, proposal: str) -> tuple[ClusterDeclaration, list[str]]:
    head = "apiVersion: reconciler/v1\nkind: Cluster\nmetadata: {name: c}\nspec: "
    found: Manifests = with_guardrails(load([Source("c.yaml", head + proposal)]), [Source("c.yaml", head + base)])
    assert found.guardrails is not None
    return found.clusters["c"], [notice.message for notice in found.guardrails.notices["c"]]


@pytest.mark.parametrize(
    ("base", "proposal", "field", "counts", "notice"),
    [
        (
            "{allowEveryoneIfNoAclFound: true}",
            "{allowEveryoneIfNoAclFound: false}",
            "allow_everyone_if_no_acl_found",
            None,
            "it counts as unknown",
        ),
        ("{}", "{allowEveryoneIfNoAclFound: false}", _OPEN, None, "it counts as unknown"),
        ("{allowEveryoneIfNoAclFound: true}", "{}", _OPEN, None, "it counts as unknown"),
        (
            "{allowEveryoneIfNoAclFound: true}",
            "{allowEveryoneIfNoAclFound: true}",
            "allow_everyone_if_no_acl_found",
            True,
            "",
        ),
        ("{superUsers: ['User:a']}", "{superUsers: ['User:b']}", "super_users", ("User:a",), "theirs count"),
        ("{superUsers: ['User:a']}", "{}", "super_users", ("User:a",), "theirs count"),
        ("{}", "{superUsers: ['User:b']}", "super_users", (), "theirs count"),
        ("{kafkaVersion: 4.4}", "{kafkaVersion: 3.9}", "kafka_version", (4, 4), "theirs counts"),
        ("{principal: 'User:a'}", "{principal: 'User:b'}", "principal", "User:a", "theirs counts"),
        ("{}", "{principal: 'User:b'}", "principal", "User:b", ""),
        ("{brokers: [1, 2]}", "{brokers: [1, 2, 3]}", "brokers", (1, 2), "theirs count"),
        (
            "{interBrokerPrincipals: ['User:a']}",
            "{interBrokerPrincipals: ['User:b']}",
            "inter_broker_principals",
            ("User:b", "User:a"),
            "",
        ),
        ("{ignoreConfigs: [a]}", "{ignoreConfigs: [a, b]}", "ignore_configs", ("a", "b"), "no drift shows in b"),
        ("{barrier: {wait: 5s}}", "{barrier: {wait: 1s}}", "barrier_wait", 5.0, ""),
        # What a document that says nothing has: at most 20 percent, where more than 10 bindings go.
        ("{}", "{deleteLimits: {maxDeletePercent: 100}}", "limits", (None, 20, 0), ""),
        ("{deleteLimits: {percentAbove: 3}}", "{deleteLimits: {maxDeletePercent: 60}}", "limits", (None, 20, 0), ""),
        ("{deleteLimits: {maxDeletes: 3}}", "{deleteLimits: {percentAbove: 50}}", "limits", (3, 20, 10), ""),
        ("{}", "{deleteLimits: {maxDeletes: 3}}", "limits", (3, None, None), ""),
    ],
)
def test_what_counts_where_a_proposal_says_otherwise(
    base: str, proposal: str, field: str, counts: object, notice: str
) -> None:
    found, notices = _held(base, proposal)
    assert getattr(found, field) == counts
    assert len(notices) == bool(notice)
    assert all(notice in one for one in notices)


_RING = "kind: Cluster, metadata: {name: %s, labels: {ring: %s}}, spec: {}"
_CANARY = "{name: canary, clusters: {matchLabels: {ring: canary}}, gate: {soak: 1h, maxFailures: 1}}"
_REST = "{name: rest, clusters: {matchLabels: {ring: rest}}}"
_LIMITS = "limits: {maxChangedClustersPercent: 50, maxDeletes: 9}"
_WORLD = f"waves: [{_CANARY}, {_REST}], {_LIMITS}"
#: Each field of a Fleet document, and what a proposal makes of it to be held less.
_LOOSER_FLEETS = {
    "waves.name": ("name: canary", "name: other"),
    "waves.clusters": ("matchLabels: {ring: canary}", "matchLabels: {}"),
    "waves.gate.soak": ("soak: 1h", "soak: 1s"),
    "waves.gate.maxFailures": ("maxFailures: 1", "maxFailures: 9"),
    "limits.maxChangedClustersPercent": ("maxChangedClustersPercent: 50", "maxChangedClustersPercent: 100"),
    "limits.maxDeletes": ("maxDeletes: 9", "maxDeletes: 90"),
}
#: Fields taken away as a whole, the order, and the name of the document.
_GONE_FLEETS = (
    ("gate: {soak: 1h, maxFailures: 1}", "gate: {maxFailures: 9}"),
    (f", {_LIMITS}", ""),
    (_WORLD, f"waves: [{{name: every, clusters: {{matchLabels: {{}}}}}}], {_LIMITS}"),
    (_WORLD, f"waves: [{_REST}, {_CANARY}], {_LIMITS}"),
    ("kind: Fleet, metadata: {name: world}", "kind: Fleet, metadata: {name: moon}"),
)


def _leaves(path: str, group: Fields) -> Iterator[str]:
    for name, entry in group.fields.items():
        inner = entry.item if isinstance(entry, Records) else entry
        here = f"{path}{name}"
        if isinstance(inner, Fields) and name != "clusters":
            yield from _leaves(f"{here}.", inner)
        else:
            yield here


def _world(change: tuple[str, str], ring: str) -> list[Source]:
    """Two clusters and a fleet, of which a text is changed."""
    fleet = f"kind: Fleet, metadata: {{name: world}}, spec: {{{_WORLD}}}"
    assert change[0] in fleet
    documents = (_RING % ("a", "canary"), _RING % ("b", ring), fleet.replace(*change, 1))
    return [Source("f.yaml", "\n---\n".join(f"{{apiVersion: reconciler/v1, {one}}}" for one in documents))]


def _fleet(change: tuple[str, str], ring: str = "rest") -> tuple[Fleet, list[str]]:
    found = with_guardrails(load(_world(change, ring)), _world(("", ""), "rest"))
    assert found.guardrails is not None
    notices = [one.message for one in found.guardrails.notices["a"] if one.rule == "guardrail-fleet"]
    return fleet_of(found, "world"), notices


_AS_DECLARED = Fleet(
    "world", (Wave("canary", ("a",), 3600.0, 1), Wave("rest", ("b",))), FleetLimits(50, 9), unassigned=()
)


def test_every_field_of_a_fleet_is_tried() -> None:
    spec = GUARDRAILS["Fleet"].fields["spec"]
    assert isinstance(spec, Fields)
    assert {*_leaves("", spec)} == _LOOSER_FLEETS.keys()


@pytest.mark.parametrize("change", [*_LOOSER_FLEETS.values(), *_GONE_FLEETS])
def test_no_proposal_loosens_a_fleet_that_guardrails_hold(change: tuple[str, str]) -> None:
    found, notices = _fleet(change)
    assert found == _AS_DECLARED
    assert notices == ["the fleet world is not what the guardrails say: their waves and the tighter terms count"]


def test_a_tighter_fleet_counts_and_a_new_label_moves_no_cluster_to_an_earlier_wave() -> None:
    for change, field in (
        (("soak: 1h", "soak: 2h"), 7200.0),
        (("maxFailures: 1", "maxFailures: 0"), 0),
        (("maxDeletes: 9", "maxDeletes: 3"), 3),
    ):
        found, notices = _fleet(change)
        assert field in (found.waves[0].soak, found.waves[0].max_failures, found.limits.max_deletes)
        assert notices == []
    assert _fleet(("", ""), "canary")[0] == _AS_DECLARED


def test_names_of_which_one_side_cannot_be_read_are_unclear() -> None:
    names = Names(Meaning.LOOSER, Meaning.TIGHTER, Meaning.LOOSER, Meaning.TIGHTER)
    one = NameSelector(literal=("a",))
    assert [names.between(*pair) for pair in ((None, one), (one, None), (None, None))] == [Meaning.UNCLEAR] * 3
    assert names.between(one, one) is None
    assert names.between(one, NameSelector(any_name=True)) is Meaning.LOOSER


@pytest.mark.parametrize("more", list(Meaning))
def test_one_more_text_is_what_the_field_says_but_unclear_where_it_may_take_all_others_place(more: Meaning) -> None:
    texts = Texts(Meaning.UNCLEAR, Meaning.UNCLEAR, more, Meaning.UNCLEAR, widest="ALL")
    assert texts.one_more("READ") is more
    assert texts.one_more("ALL") is (Meaning.UNCLEAR if more is Meaning.TIGHTER else more)
