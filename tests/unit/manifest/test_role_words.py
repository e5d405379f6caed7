"""A role that builds names from words: an application as a unit, declared by its id."""

import datetime

import pytest

from reconciler.manifest.manifests import desired_state, load
from reconciler.manifest.read.findings import Source
from reconciler.manifest.read.problem import ManifestError

CLUSTER = Source("c.yaml", "apiVersion: reconciler/v1\nkind: Cluster\nmetadata: {name: c}\nspec: {vars: {env: dev}}\n")
ROLE = "apiVersion: reconciler/v1\nkind: Role\nmetadata: {name: application}\nspec:\n"
USE = "apiVersion: reconciler/v1\nkind: Acls\nmetadata: {name: a}\nspec:\n  principal: User:a\n  rules:\n"
RULES = """\
  parameters: [id]
  rules:
    - {allow: [READ, WRITE], topics: {prefix: $id.}}
    - {allow: READ, groups: [$id, "$id-retry", shared]}
    - {allow: WRITE, transactionalIds: {prefix: $id-}}
    - {allow: WRITE, topics: audit}
"""


def declared(role: str, use: str) -> set[str]:
    sources = [CLUSTER, Source("r.yaml", ROLE + role), Source("a.yaml", f"{USE}    - {use}\n")]
    return {str(binding) for binding in desired_state(load(sources), "c", datetime.date.min).bindings}


def problems(role: str, use: str) -> list[str]:
    with pytest.raises(ManifestError) as caught:
        declared(role, use)
    return [str(problem) for problem in caught.value.problems]


def test_every_name_with_the_word_is_completed() -> None:
    assert declared(RULES, "{role: application, parameters: {id: pay}}") == {
        "User:a ALLOW READ on TOPIC PREFIXED pay.",
        "User:a ALLOW WRITE on TOPIC PREFIXED pay.",
        "User:a ALLOW READ on GROUP pay",
        "User:a ALLOW READ on GROUP pay-retry",
        "User:a ALLOW READ on GROUP shared",
        "User:a ALLOW WRITE on TRANSACTIONAL_ID PREFIXED pay-",
        "User:a ALLOW WRITE on TOPIC audit",
    }


def test_words_stand_beside_resources_and_variables() -> None:
    role = """\
  parameters: [topics, id, team]
  rules:
    - {allow: WRITE, topics: $topics}
    - {allow: READ, groups: "$team-$id-${vars.env}"}
"""
    found = declared(role, "{role: application, topics: [x], parameters: {team: '${vars.env}', id: pay}}")
    assert found == {"User:a ALLOW WRITE on TOPIC x", "User:a ALLOW READ on GROUP dev-pay-dev"}


@pytest.mark.parametrize(
    ("use", "said"),
    [
        ("{role: application}", "the role application needs a value for id"),
        ("{role: application, parameters: {id: pay, di: x}}", "the role application has no parameter 'di'"),
        ("{role: application, parameters: {id: '*'}}", "the value of id holds '*'"),
        ("{role: application, parameters: {id: 'pay*'}}", "the value of id holds '*'"),
        ("{role: application, parameters: {id: ''}}", "the value of id is empty"),
        ("{role: application, parameters: {id: $id}}", "the value of id holds '$'"),
        ("{role: application, parameters: {id: a b}}", "no topic's name can begin with 'a b.'"),
        ("{role: application, parameters: {id: '__kr'}}", "is reserved"),
        ("{role: application, topics: x, parameters: {id: pay}}", "does not take topics"),
        ("{allow: READ, topics: x, parameters: {id: pay}}", "parameters are those of a role"),
        ("{role: consumer, topics: x, groups: g, parameters: {id: pay}}", "the role consumer has no parameter 'id'"),
        ("{role: application, topics: $id., parameters: {id: pay}}", "no topic can be called '$id.'"),
    ],
)
def test_a_value_names_and_never_widens(use: str, said: str) -> None:
    found = problems(RULES, use)
    assert any(said in problem for problem in found), found


@pytest.mark.parametrize(
    ("role", "said"),
    [
        ("  parameters: [id]\n  rules: [{allow: READ, topics: x}]\n", "no name holds $id"),
        ("  parameters: [id]\n  rules: [{allow: READ, topics: $ids.x}]\n", "$ids is not a parameter of this role"),
        ("  rules: [{allow: READ, topics: $id.x}]\n", "topics can take $topics only"),
        ("  parameters: [id]\n  rules: [{allow: READ, topics: '$id*'}]\n", "is not a pattern"),
        ("  parameters: [id]\n  rules: [{allow: READ, topics: '$id x'}]\n", "no topic can be called 'x x'"),
        ("  parameters: [id]\n  rules: [{allow: READ, topics: {prefix: $id., any: true}}]\n", "exactly one of prefix"),
        ("  parameters: ['i d']\n  rules: [{allow: READ, topics: x}]\n", "i d"),
        ("  parameters: [id]\n  rules: [{allow: WRITE, groups: $id}]\n", "WRITE"),
    ],
)
def test_names_with_words_are_checked_where_they_are_written(role: str, said: str) -> None:
    found = problems(role, "{allow: READ, topics: y}")
    assert any(said in problem for problem in found), found


def test_a_binding_has_the_places_of_its_use_and_of_the_role() -> None:
    use = "{role: application, parameters: {id: pay}}"
    sources = [CLUSTER, Source("r.yaml", ROLE + RULES), Source("a.yaml", f"{USE}    - {use}\n")]
    found = desired_state(load(sources), "c", datetime.date.min).bindings
    assert {(one.origin.file, one.origin.line, one.role.file if one.role else "") for one in found.values()} == {
        ("a.yaml", 7, "r.yaml")
    }
