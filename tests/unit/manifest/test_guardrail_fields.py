"""Each field of each guardrail: a difference in it is seen, at its line, and is never tighter in both directions."""

import copy
import itertools
import json
import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

import pytest

from reconciler.manifest.guardrail_meaning import (
    GUARDRAILS,
    ByName,
    Either,
    FieldMeaning,
    Fields,
    Meaning,
    NotJudged,
    Records,
    Value,
)
from reconciler.manifest.guardrails import GuardrailChange, guardrail_changes
from reconciler.manifest.read.findings import Source
from reconciler.model.scope import RESOURCE_FIELDS
from tests.worlds import at_place, with_value

Path = tuple[str | int, ...]

_NAMES: Final = {field: ["a", "b"] for field in RESOURCE_FIELDS if field != "cluster"} | {"cluster": "true"}


def _filled(field: FieldMeaning, name: str = "") -> Any:
    """A value that has each field; single values are words, which no field's size can read."""
    match field:
        case Fields():
            return {key: _filled(inner, key) for key, inner in field.fields.items()}
        case Records():
            return [_filled(field.item)]
        case ByName():
            return {"one": _filled(field.entry), "two": _filled(field.entry)}
        case Either():
            return _filled(field.mapping)
        case Value() | NotJudged():
            return f"some {name}"
        case _:
            return ["one", "two"]


def _document(kind: str) -> dict[str, Any]:
    found = _filled(GUARDRAILS[kind])
    return {**found, "apiVersion": "reconciler/v1", "kind": kind, "metadata": {"name": "it", "labels": {"a": "b"}}}


def _leaves(node: Any, path: Path = ()) -> Iterator[Path]:
    entries = node.items() if isinstance(node, dict) else enumerate(node) if isinstance(node, list) else None
    if entries is None:
        yield path
    else:
        for key, inner in entries:
            yield from _leaves(inner, (*path, key))


def _meaning(kind: str, path: Path) -> FieldMeaning:
    field: FieldMeaning = GUARDRAILS[kind]
    for key in path:
        match field:
            case Fields():
                field = field.fields[str(key)]
            case Either():
                field = field.mapping.fields[str(key)]
            case ByName():
                field = field.entry
            case Records():
                field = field.item
    return field


def _source(name: str, document: Mapping[str, Any]) -> Source:
    """JSON is YAML, and soon written: each value on a line of its own."""
    return Source(name, json.dumps(document, indent=1))


def _compared(base: Mapping[str, Any], proposal: Mapping[str, Any]) -> tuple[GuardrailChange, ...]:
    return guardrail_changes([_source("base.yaml", base)], [_source("new.yaml", proposal)])


def _line(base: Mapping[str, Any], proposal: Mapping[str, Any]) -> int:
    texts = (_source("", document).text.splitlines() for document in (base, proposal))
    (line,) = (number for number, (old, new) in enumerate(zip(*texts, strict=True), 1) if old != new)
    return line


def _judged(kind: str) -> Iterator[tuple[Path, dict[str, Any]]]:
    """The places of the values that are compared, each with a document that has little else."""
    document = _document(kind)
    for path in _leaves(document):
        if path[0] == "spec" and not isinstance(_meaning(kind, path), NotJudged):
            yield path, {**document, "spec": _only(document["spec"], path[1:])}


def _only(node: Any, path: Path) -> Any:
    """What leads to a place; lists of texts stay whole."""
    if isinstance(node, dict):
        return {path[0]: _only(node[path[0]], path[1:])}
    return [_only(node[0], path[1:])] if isinstance(node, list) and isinstance(node[0], dict) else node


def _whole(kind: str, path: Path) -> bool:
    """Whether a difference is about the whole item that a value is in: no item of the other list is the same one."""
    around = (_meaning(kind, path[:end]) for end in range(1, len(path)))
    return any(isinstance(field, Records) and not field.paired for field in around)


@pytest.mark.parametrize("kind", GUARDRAILS)
def test_another_value_is_a_difference_at_its_line_that_shows_both(kind: str) -> None:
    for path, base in _judged(kind):
        # A variable of a cluster counts where a rule takes it, and a label of a topic where a rule asks for it.
        if path[1] == "vars":
            continue
        proposal = with_value(base, path, "another")
        found, line = _compared(base, proposal), _line(base, proposal)
        assert _compared(base, base) == ()
        assert {(one.kind, one.document) for one in found} == {(kind, "it")}, path
        # An item begins at its bracket, a line above its first field.
        above = 2 + path[-1] if isinstance(path[-1], int) else 1
        lines = {line - above} if _whole(kind, path) else {line}
        assert {one.origin.line for one in found} == lines, path
        # What is gone is nowhere in the proposal.
        assert all(one.origin.file == ("base.yaml" if one.after is None else "new.yaml") for one in found), path
        said = " ".join(one.words for one in found)
        assert at_place(base, path) in said, path
        assert "another" in said, path
        assert "added: another" not in said
        where = ".".join(key for key in path if isinstance(key, str))
        assert all(re.sub(r"\[.*?\]", "", one.field) in (where, where.rpartition(".")[0]) for one in found), path


@pytest.mark.parametrize("kind", GUARDRAILS)
def test_no_difference_is_tighter_forth_and_back(kind: str) -> None:
    """Tighter says that all that was refused is refused: in both directions it would be no difference."""
    for path, base in _judged(kind):
        without = copy.deepcopy(base)
        del at_place(without, path[:-1])[path[-1]]
        for proposal in (with_value(base, path, "another"), without):
            both = [_compared(base, proposal), _compared(proposal, base)]
            assert any({one.meaning for one in found} != {Meaning.TIGHTER} for found in both), path


_L, _T, _U = Meaning.LOOSER, Meaning.TIGHTER, Meaning.UNCLEAR
_TEST: Final = "{tests: [{name: t, topics: [a], onlyReaders: ['User:a'], %s: %s}]}"
_BROKER: Final = "{tests: [{name: t, configs: {%s: %s}}]}"
_RULE: Final = "{rules: [{name: r, topics: [a], %s: %s}]}"
_EXCEPTION: Final = "{tests: [], exceptions: [{check: t, reason: r, %s: %s}]}"
_CONSENT: Final = "{owners: [], consents: [{team: a, to: b, topics: [a], %s: %s}]}"
_OWNER: Final = "{owners: [{team: a, topics: [a], %s: %s}]}"
_WAVE: Final = "{waves: [{name: w, gate: {%s: %s}}]}"
_CLUSTER: Final = "{%s: %s}"
_LIMIT: Final = "{deleteLimits: {%s: %s}}"
_ENDS: Final = ("2026-11-01T10:00:00Z", "2026-11-01", "2026-11-02T00:00:01Z", "2027-01-31", "2100-01-01")
#: Values of a field in their order, by what a step to the next one is, and a step back.
_LADDERS: Final = (
    ("AccessTests", _TEST, "severity", ("warning", "error"), _T, _L),
    ("AccessTests", _TEST, "through", ("acl", "identity", "flow"), _T, _L),
    ("AccessTests", _TEST, "includeSuperUsers", ("false", "true"), _T, _L),
    ("AccessTests", _EXCEPTION, "expires", _ENDS, _L, _T),
    ("Cluster", _CLUSTER, "allowEveryoneIfNoAclFound", ("false", "true"), _L, _U),
    ("Cluster", _CLUSTER, "barrier", ("{wait: 0s}", "{wait: 900ms}", "{wait: 1s}", "{wait: 1m}"), _T, _L),
    *(("Cluster", _LIMIT, name, ("0", "9", "10", "11"), _L, _T) for name in ("maxDeletes", "percentAbove")),
    ("Cluster", _LIMIT, "maxDeletePercent", ("9", "10", "100"), _L, _T),
    ("ClusterTests", _BROKER, "a.bytes", ("{min: 9}", "{min: 1KiB}", "{min: 1025}", "{min: 1MiB}"), _T, _L),
    ("ClusterTests", _BROKER, "a.ms", ("{max: 999}", "{max: 1s}", "{max: 59s}", "{max: 1h}"), _L, _T),
    ("ClusterTests", _BROKER, "a", ("{min: 9}", "{min: 10}"), _T, _L),
    (
        "ClusterTests",
        "{tests: [{name: t, features: {%s: %s}}]}",
        "metadata.version",
        ("{min: 1}", "{min: 3.9}", "{min: 4.0}", "{min: 4.1}", "{min: 99}"),
        _T,
        _L,
    ),
    ("ClusterTests", "{tests: [{name: t, features: {%s: %s}}]}", "other", ("{min: 9}", "{min: 10}"), _T, _L),
    ("TopicPolicy", _RULE, "severity", ("warning", "error"), _T, _L),
    ("TopicPolicy", _RULE, "names", ("{maxLength: 9}", "{maxLength: 10}"), _L, _T),
    *(
        ("TopicPolicy", _RULE, field, tuple(f"{{{name}: {number}}}" for number in (9, 10)), more, less)
        for field in ("partitions", "replicationFactor")
        for name, more, less in (("min", _T, _L), ("minPerBroker", _T, _L), ("max", _L, _T), ("maxPerBroker", _L, _T))
    ),
    ("TopicPolicy", _RULE, "partitions", ("{min: 1, required: false}", "{min: 1}", "{min: 1, required: true}"), _T, _L),
    *(
        ("TopicPolicy", _RULE, "configs", tuple(f"{{{name}: {{max: {text}}}}}" for text in values), _L, _T)
        for name, values in (
            ("retention.ms", ("59m", "1h", "3600001", "7d")),
            ("max.message.bytes", ("9", "1KiB", "1025", "1MiB")),
            ("min.cleanable.dirty.ratio", ("0.05", "0.5", "0.51", "1")),
            ("new.setting", ("9", "10")),
        )
    ),
    (
        "TopicPolicy",
        _RULE,
        "configs",
        tuple(f"{{a: {{min: 1{more}}}}}" for more in (", required: false", "", ", required: true")),
        _U,
        _L,
    ),
    ("TopicPolicy", _RULE, "configs", ("{a: {min: 1}}", "{a: {min: 1, forbidden: true}}"), _U, _L),
    ("Ownership", _OWNER, "denyAny", ("false", "true"), _L, _T),
    ("Ownership", _CONSENT, "expires", _ENDS, _L, _T),
    ("Fleet", _WAVE, "soak", ("900ms", "1s", "59s", "1m", "1d"), _T, _L),
    ("Fleet", _WAVE, "maxFailures", ("0", "1", "10"), _L, _T),
)


def _meanings(kind: str, before: str, after: str) -> set[Meaning]:
    documents = (
        Source("one.yaml", f"apiVersion: reconciler/v1\nkind: {kind}\nmetadata: {{name: one}}\nspec: {spec}\n")
        for spec in (before, after)
    )
    return {change.meaning for change in guardrail_changes(*([one] for one in documents))}


@pytest.mark.parametrize(("kind", "spec", "field", "values", "step", "back"), _LADDERS)
def test_a_step_of_a_value_loosens_or_tightens_whatever_its_unit(
    kind: str, spec: str, field: str, values: tuple[str, ...], step: Meaning, back: Meaning
) -> None:
    specs = [spec % (field, value) for value in values]
    for lower, higher in itertools.pairwise(specs):
        assert _meanings(kind, lower, higher) == {step}, (lower, higher)
        assert _meanings(kind, higher, lower) == {back}, (lower, higher)


@pytest.mark.parametrize(
    ("kind", "spec"),
    [
        ("AccessTests", _TEST % ("severity", "%s")),
        ("AccessTests", _TEST % ("through", "%s")),
        ("AccessTests", _TEST % ("includeSuperUsers", "%s")),
        ("AccessTests", _EXCEPTION % ("expires", "%s")),
        ("Cluster", _LIMIT % ("maxDeletes", "%s")),
        ("Cluster", "{barrier: {wait: %s}}"),
        ("ClusterTests", "{tests: [{name: t, configs: {a: {min: %s}}}]}"),
        ("ClusterTests", "{tests: [{name: t, features: {metadata.version: {min: %s}}}]}"),
        ("TopicPolicy", "{rules: [{name: r, partitions: {min: %s}}]}"),
        ("TopicPolicy", "{rules: [{name: r, configs: {retention.ms: {max: %s}}}]}"),
        ("Fleet", _WAVE % ("soak", "%s")),
    ],
)
def test_a_variable_has_no_size(kind: str, spec: str) -> None:
    """What it stands for may differ from cluster to cluster: nothing is proven of it."""
    for value in ("1", "error", "true", "2027-01-01", "1s", "'${vars.b}'"):
        assert _meanings(kind, spec % value, spec % "'${vars.a}'") == {_U}
        assert _meanings(kind, spec % "'${vars.a}'", spec % value) == {_U}


def test_no_limit_is_no_bound() -> None:
    """-1 means that there is no limit: it is the greatest value, and reads as the least."""
    for text in ("-1", "-2"):
        rule = "{rules: [{name: r, configs: {retention.ms: {max: %s}}}]}"
        assert _meanings("TopicPolicy", rule % "7d", rule % text) == {_U}
        assert _meanings("TopicPolicy", rule % text, rule % "7d") == {_U}


_CONSENTED: Final = "{owners: [], consents: [{team: a, to: b, topics: [a], operations: [READ]%s}]}"
_READ: Final = "{tests: [{name: t, topics: %s, onlyReaders: ['User:a']}]}"
_WAVES: Final = "{waves: [%s]}"
_OWNED: Final = "{owners: [%s]}"
_ONE: Final = "{team: a, files: a/**, topics: [a]}"


@pytest.mark.parametrize(
    ("kind", "before", "after", "words"),
    [
        # Lists of names are told name by name; other forms as a whole.
        (
            "AccessTests",
            _READ % "[a, b]",
            _READ % "[a, c]",
            ["looser Tests one, spec.tests[t].topics[b]: removed", "tighter Tests one, spec.tests[t].topics[c]: added"],
        ),
        (
            "AccessTests",
            _READ % "[a, {prefix: b}]",
            _READ % "[a, {prefix: c}]",
            ["unclear Tests one, spec.tests[t].topics: [a, {prefix: b}] → [a, {prefix: c}]"],
        ),
        # A name in two forms at once is refused by who reads it; nothing is proven of it.
        (
            "AccessTests",
            _READ % "{literal: a}",
            _READ % "{literal: a, prefix: b}",
            ["unclear Tests one, spec.tests[t].topics: {literal: a} → {literal: a, prefix: b}"],
        ),
        # What a variable stands for is not known.
        (
            "AccessTests",
            _READ % "{any: true}",
            _READ % "{prefix: '${vars.a}'}",
            ["unclear Tests one, spec.tests[t].topics: {any: true} → {prefix: ${vars.a}}"],
        ),
        (
            "AccessTests",
            _READ % "{any: false}",
            _READ % "[a]",
            ["unclear Tests one, spec.tests[t].topics: {any: false} → [a]"],
        ),
        # Without principals, those that the other team owns.
        (
            "Ownership",
            _CONSENTED % "",
            _CONSENTED % ", principals: {prefix: 'User:b'}",
            ["unclear Ownership one, spec.consents[a b].principals: added: {prefix: User:b}"],
        ),
        (
            "Ownership",
            _CONSENTED % ", principals: {any: true}",
            _CONSENTED % "",
            ["unclear Ownership one, spec.consents[a b].principals: removed: {any: true}"],
        ),
        # What is not written has a value all the same.
        (
            "Ownership",
            _CONSENTED % "",
            _CONSENTED % ", permissions: [DENY]",
            [
                "looser Ownership one, spec.consents[a b].permissions[DENY]: added",
                "tighter Ownership one, spec.consents[a b].permissions[ALLOW]: removed",
            ],
        ),
        # One of two items of a name is the other one's older self, and the second is gone.
        (
            "Ownership",
            _OWNED % f"{_ONE}, {_ONE.replace('[a]', '[b]')}",
            _OWNED % _ONE.replace("[a]", "[c]"),
            [
                "looser Ownership one, spec.owners[a].topics[c]: added",
                "unclear Ownership one, spec.owners[a]: removed: {files: a/**, team: a, topics: [b]}",
                "unclear Ownership one, spec.owners[a].topics[a]: removed",
            ],
        ),
        (
            "Ownership",
            _OWNED % _ONE.replace("[a]", "[c]"),
            _OWNED % f"{_ONE}, {_ONE.replace('[a]', '[b]')}",
            [
                "looser Ownership one, spec.owners[a].topics[a]: added",
                "unclear Ownership one, spec.owners[a]: added: {files: a/**, team: a, topics: [b]}",
                "unclear Ownership one, spec.owners[a].topics[c]: removed",
            ],
        ),
        # The order of waves; one more is no other order.
        (
            "Fleet",
            _WAVES % "{name: a}, {name: b}",
            _WAVES % "{name: b}, {name: a}",
            ["unclear Fleet one, spec.waves: a, b → b, a"],
        ),
        (
            "Fleet",
            _WAVES % "{name: a}, {name: b}",
            _WAVES % "{name: a}, {name: c}, {name: b}",
            ["unclear Fleet one, spec.waves[c]: added: {name: c}"],
        ),
    ],
)
def test_a_difference_is_told_in_the_words_of_the_document(
    kind: str, before: str, after: str, words: list[str]
) -> None:
    base, proposal = (
        f"apiVersion: reconciler/v1\nkind: {kind}\nmetadata: {{name: one}}\nspec: {spec}\n" for spec in (before, after)
    )
    found = guardrail_changes([Source("base.yaml", base)], [Source("new.yaml", proposal)])
    assert [f"{one.meaning} {one.words}" for one in found] == [word.replace(" Tests ", f" {kind} ") for word in words]
    # What is in the proposal is shown there.
    assert all(one.origin.file == "new.yaml" for one in found if one.after is not None)


def test_a_default_that_is_lost_is_shown_in_the_proposal() -> None:
    texts = (_CONSENTED % more for more in ("", ", permissions: [DENY]"))
    old, new = (
        f"apiVersion: reconciler/v1\nkind: Ownership\nmetadata: {{name: one}}\nspec: {spec}\n" for spec in texts
    )
    found = guardrail_changes([Source("base.yaml", old)], [Source("new.yaml", new)])
    assert [str(one.origin) for one in found] == ["new.yaml:4:95", "new.yaml:3:18"]


def test_the_order_of_waves_is_shown_where_the_first_stands() -> None:
    texts = ("[{name: a}, {name: b}, {name: c}]", "\n    - {name: c}\n    - {name: a}\n    - {name: b}")
    old, new = (
        f"apiVersion: reconciler/v1\nkind: Fleet\nmetadata: {{name: f}}\nspec:\n  waves: {waves}\n" for waves in texts
    )
    (change,) = guardrail_changes([Source("base.yaml", old)], [Source("new.yaml", new)])
    assert str(change.origin) == "new.yaml:6:7"


@pytest.mark.parametrize("text", ["apiVersion: reconciler/v1\nkind: Role\n", "[1]\n", "a: [\n"])
def test_what_is_no_guardrail_or_cannot_be_read_is_left_to_its_reader(text: str) -> None:
    assert guardrail_changes([Source("a.yaml", text)], []) == ()
    assert guardrail_changes([], [Source("a.yaml", f"{text}metadata: {{name: a}}\n")]) == ()
