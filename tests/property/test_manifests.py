"""Laws of reading: order means nothing, nothing but ManifestError is raised, and problems lie inside their files."""

import datetime
import re
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from reconciler.manifest.connections import connections
from reconciler.manifest.manifests import desired_state, load
from reconciler.manifest.read.findings import Source
from reconciler.manifest.read.problem import ManifestError, Problem, render_problem
from reconciler.model.desired import DesiredState

_DAY = datetime.date(2027, 1, 1)
_UNIT = Path(__file__).parent.parent / "unit" / "manifest"
_EXAMPLES = (_UNIT / "examples.yaml").read_text(encoding="utf-8")
_DOCUMENTS = [part.strip("\n") + "\n" for part in re.split(r"^---\n", _EXAMPLES, flags=re.MULTILINE)]
_PIECES = sorted(set(re.findall(r"[\w.$-]+|[\[\]{}:,&*!|>'\"#%@`?-]|\s+", _EXAMPLES)))


def _without_places(state: DesiredState) -> object:
    return (
        {binding: item[1:] for binding, item in state.bindings.items()},
        {name: (item.topic, item.labels, item.absent) for name, item in state.topics.items()},
        {binding: item[1:] for binding, item in state.expired.items()},
        {
            key: (one.item, one.declaration[1:], one.absent, one.expired)
            for items in state.listed.values()
            for key, one in items.items()
        },
    )


def _outcome(sources: list[Source]) -> tuple[Problem, ...]:
    """Everything that reading says; only a ManifestError may come out of it."""
    try:
        manifests = load(sources)
        for name in manifests.clusters:
            desired_state(manifests, name, _DAY)
    except ManifestError as error:
        return error.problems
    return manifests.warnings


def _assert_inside(problems: tuple[Problem, ...], text: str) -> None:
    lines = re.split(r"\r\n|\r|\n", text)
    for problem in problems:
        assert 1 <= problem.origin.line <= len(lines)
        line = lines[problem.origin.line - 1]
        assert len(problem.line_text) == len(line)
        assert 1 <= problem.origin.column <= len(line) + 1
        assert 1 <= problem.length <= max(1, len(line) - problem.origin.column + 1)
        assert render_problem(problem).startswith(f"a.yaml:{problem.origin.line}:{problem.origin.column}: ")


@given(st.permutations(_DOCUMENTS), st.lists(st.booleans(), min_size=len(_DOCUMENTS), max_size=len(_DOCUMENTS)))
def test_documents_may_stand_in_any_order_and_in_any_file(documents: list[str], together: list[bool]) -> None:
    files: list[str] = []
    for document, joined in zip(documents, together, strict=True):
        if joined and files:
            files[-1] += "---\n" + document
        else:
            files.append(document)
    sources = [Source(f"{index}.yaml", text) for index, text in enumerate(files)]
    shuffled = desired_state(load(sources), "prod-eu", _DAY)
    straight = desired_state(load([Source("a.yaml", _EXAMPLES)]), "prod-eu", _DAY)
    assert _without_places(shuffled) == _without_places(straight)
    assert desired_state(load(reversed(sources)), "prod-eu", _DAY) == shuffled


@given(st.data())
def test_fields_may_stand_in_any_order(data: st.DataObject) -> None:
    def mapping(*fields: str) -> str:
        return "{" + ", ".join(data.draw(st.permutations(fields))) + "}"

    written = mapping("allow: [READ, DESCRIBE]", "topics: [x, y]", "hosts: [10.0.0.7, 10.0.0.8]", "reason: audit")
    rules = data.draw(st.permutations([written, mapping("role: consumer", "topics: z", "groups: g")]))
    spec = mapping("principals: [User:a, User:b]", f"rules: [{', '.join(rules)}]")
    text = mapping("apiVersion: reconciler/v1", "kind: Acls", "metadata: {name: a}", f"spec: {spec}")
    cluster = "apiVersion: reconciler/v1\nkind: Cluster\nmetadata: {name: c}\nspec: {}\n"
    state = desired_state(load([Source("a.yaml", text), Source("c.yaml", cluster)]), "c", _DAY)
    assert len(state.bindings) == 2 * (8 + 3)
    assert {item.reason for item in state.bindings.values()} == {"audit", None}


_OPERATIONS = {"topics": ["READ", "WRITE", "ALL"], "groups": ["READ", "DELETE"], "transactionalIds": ["WRITE"]}
_TYPES = {"topics": "TOPIC", "groups": "GROUP", "transactionalIds": "TRANSACTIONAL_ID"}


@st.composite
def _rules(draw: st.DrawFn, number: int) -> tuple[str, set[str]]:
    """One rule, and its bindings by a second way of counting; names tell rules apart."""
    field = draw(st.sampled_from(sorted(_OPERATIONS)))
    action = draw(st.sampled_from(["allow", "deny"]))
    operations = draw(st.lists(st.sampled_from(_OPERATIONS[field]), min_size=1, unique=True))
    hosts = draw(st.lists(st.sampled_from(["*", "10.0.0.7", "0:0:0:0:0:0:0:1"]), min_size=1, unique=True))
    names = [f"n{number}.{index}" for index in range(draw(st.integers(1, 3)))]
    form = draw(st.sampled_from(["list", "literal", "prefix", "prefixes", "mixed"]))
    names = names[:1] if form == "prefix" else names
    written = {
        "list": f"{names}",
        "literal": f"{{literal: {names}}}",
        "prefix": f"{{prefix: {names[0]}}}",
        "prefixes": f"{{prefix: {names}}}",
        "mixed": f"[{names[0]}, {{literal: {names[1:]}}}, {{prefix: p{number}.}}]" if names[1:] else f"{names}",
    }[form]
    text = f"{{{action}: [{', '.join(operations)}], {field}: {written}, hosts: {hosts}}}"
    kind = f"{_TYPES[field]} {'PREFIXED ' if form.startswith('prefix') else ''}"
    patterns = [f"{kind}{name}" for name in names]
    patterns += [f"{_TYPES[field]} PREFIXED p{number}."] if form == "mixed" and names[1:] else []
    return text, {
        f"{principal} {action.upper()} {operation}{'' if host == '*' else f' from {host}'} on {pattern}"
        for principal in ("User:a", "User:b")
        for operation in operations
        for host in hosts
        for pattern in patterns
    }


@given(st.integers(0, 6).flatmap(lambda count: st.tuples(*(_rules(number) for number in range(count)))))
def test_nothing_that_is_declared_is_lost_and_nothing_is_added(rules: tuple[tuple[str, set[str]], ...]) -> None:
    text = f"""apiVersion: reconciler/v1
kind: Acls
metadata: {{name: a}}
spec: {{principals: [User:a, User:b], rules: [{", ".join(rule for rule, _ in rules)}]}}
---
apiVersion: reconciler/v1
kind: Cluster
metadata: {{name: c}}
spec: {{}}
"""
    state = desired_state(load([Source("a.yaml", text)]), "c", _DAY)
    assert sorted(map(str, state.bindings)) == sorted(binding for _, bindings in rules for binding in bindings)


@given(st.text())
@example("\ud800")
@example("? - : [\n")
@example("%YAML 2.0\n---\n")
@example("a: !<tag:yaml.org,2002:str\n")
@example("'\x85'")
@example("- " * 2000)
@example("kind: {[1]: 2}\n")
@example("\ufffe")
def test_any_text_is_read_or_refused(text: str) -> None:
    _assert_inside(_outcome([Source("a.yaml", text)]), text)


@given(st.lists(st.sampled_from(_PIECES), max_size=60))
def test_any_pieces_are_read_or_refused(pieces: list[str]) -> None:
    text = "".join(pieces)
    _assert_inside(_outcome([Source("a.yaml", text)]), text)


@given(st.data())
def test_any_change_to_a_manifest_is_read_or_refused(data: st.DataObject) -> None:
    text = data.draw(st.sampled_from(_DOCUMENTS))
    for _ in range(data.draw(st.integers(1, 3))):
        start = data.draw(st.integers(0, len(text)))
        end = data.draw(st.integers(start, min(start + 20, len(text))))
        text = text[:start] + data.draw(st.one_of(st.sampled_from(_PIECES), st.text(max_size=5))) + text[end:]
    _assert_inside(_outcome([Source("a.yaml", text)]), text)
    try:
        connections([Source("a.yaml", text)])
    except ManifestError as error:
        _assert_inside(error.problems, text)


_SECRET = "S3CRET-x9"
_STYLES = (
    "{client: {sasl.password: VALUE, sasl.username: me}}",
    "{client: {sasl.jaas.config: 'a.B required password=\"VALUE\";'}}",
    "\n  client:\n    ssl.key.password: VALUE # here\n    sasl.username: me",
    '\n  client:\n    "sasl.password": "VALUE"\n    sasl.username: me',
    "\n  client:\n    ssl.keystore.key: |\n      first\n\n      VALUE\n    sasl.username: me",
    "\n  client:\n    sasl.oauthbearer.client.secret:\n      'a\n      VALUE'\n    sasl.username: me",
)


@given(st.data())
def test_a_secret_is_never_shown(data: st.DataObject) -> None:
    secret = data.draw(st.sampled_from([_SECRET, f"a,{_SECRET}", f"a}} {_SECRET}", f"a: {_SECRET}", f"it''s{_SECRET}"]))
    spec = data.draw(st.sampled_from(_STYLES)).replace("VALUE", secret)
    lines = f"apiVersion: reconciler/v1\nkind: Cluster\nmetadata: {{name: c}}\nspec: {spec}\n".split("\n")
    pieces = [piece for piece in _PIECES if piece != "---"]
    for _ in range(data.draw(st.integers(0, 3))):
        number, piece = data.draw(st.integers(0, len(lines) - 1)), data.draw(st.sampled_from(pieces))
        at_end = data.draw(st.booleans()) or "\n" in piece or _SECRET in lines[number]
        lines[number] = lines[number] + piece if at_end else piece + lines[number]
    assert not any(_SECRET in render_problem(problem) for problem in _outcome([Source("a.yaml", "\n".join(lines))]))


@pytest.mark.parametrize(
    "spec",
    [
        f"{{client: {{sasl.password: a,{_SECRET}, sasl.username: me}}}}",
        f"{{client: {{sasl.password: a, b: c,{_SECRET}, sasl.username: me}}}}",
        f"{{client: {{sasl.jaas.config: a, b: {_SECRET}, c}}}}",
        f"\n  client: {{sasl.password: a,\n    b: {_SECRET}, c}}",
    ],
)
def test_what_may_be_the_rest_of_a_secret_is_not_advised(spec: str) -> None:
    """After a comma it looks like a second value of a field, which advice repeats in brackets."""
    text = f"apiVersion: reconciler/v1\nkind: Cluster\nmetadata: {{name: c}}\nspec: {spec}\n"
    found = _outcome([Source("a.yaml", text)])
    assert found
    assert not any(_SECRET in render_problem(problem) for problem in found)
