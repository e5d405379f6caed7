"""Corners of documents: duties, claims about settings of brokers, names of teams, very many problems."""

import pytest

from reconciler.manifest.documents.tests import ClusterTestsDeclaration
from reconciler.manifest.manifests import load
from reconciler.manifest.read.findings import MOST_PROBLEMS, Source
from reconciler.manifest.read.problem import CODES, ManifestError, Problem, problem_count, problems_text
from reconciler.manifest.safeguards import coverage_notices, declares_access_tests
from reconciler.model.desired import Origin

_HEAD = "apiVersion: reconciler/v1\nkind: %s\nmetadata: {name: %s}\nspec: %s\n"
_CLUSTER = Source("c.yaml", _HEAD % ("Cluster", "c", "{vars: {a: b}}"))


def _problems(*sources: Source) -> list[tuple[int, int, str]]:
    with pytest.raises(ManifestError) as refused:
        load(sources)
    return [
        (one.origin.line, one.origin.column, one.message) for one in refused.value.problems if one.severity == "error"
    ]


def _source(kind: str, spec: str, name: str = "a") -> Source:
    return Source(f"{kind}.yaml", _HEAD % (kind, name, spec))


def test_each_duty_names_what_it_is_about() -> None:
    duties = "[{can: WRITE, topics: [a]}, {can: READ}, {can: ALL, cluster: true}]"
    spec = f"{{tests: [{{name: t, principals: ['User:a'], separate: {duties}}}]}}"
    assert _problems(_source("AccessTests", spec)) == [(4, 88, "the duty names no resource")]


@pytest.mark.parametrize(
    ("claim", "words", "allowed", "least", "most"),
    [
        ("x", "is x", ("x",), None, None),
        ("''", "is empty", ("",), None, None),
        ("{allowed: [x, '']}", "is x or empty", ("x", ""), None, None),
        ("{allowed: y}", "is y", ("y",), None, None),
        ("{min: 1}", "is at least 1", None, 1, None),
        ("{max: 2}", "is at most 2", None, None, 2),
        ("{min: 2, max: 2}", "is at least 2 and at most 2", None, 2, 2),
    ],
)
def test_a_claim_about_a_setting_of_brokers(
    claim: str, words: str, allowed: tuple[str, ...] | None, least: int | None, most: int | None
) -> None:
    found = load([_source("ClusterTests", f"{{tests: [{{name: t, configs: {{a.b: {claim}}}}}]}}")]).documents
    (test,) = [test for one in found if isinstance(one, ClusterTestsDeclaration) for test in one.tests]
    assert (test.words, test.allowed, test.least, test.most, test.key) == (words, allowed, least, most, "a.b")
    assert not test.is_feature


@pytest.mark.parametrize(
    ("claim", "why"),
    [
        ("{}", "this asks nothing of the config"),
        ("{allowed: [x], min: 1}", "allowed is for single values, min and max for numbers"),
        ("{allowed: [x], max: 1}", "allowed is for single values, min and max for numbers"),
        ("{min: 3, max: 2}", "no value is both at least min and at most max"),
        ("{min: -1}", "a.b: -1 is no bound"),
    ],
)
def test_a_claim_that_asks_nothing_or_cannot_hold(claim: str, why: str) -> None:
    found = _problems(_source("ClusterTests", f"{{tests: [{{name: t, configs: {{a.b: {claim}}}}}]}}"))
    assert [one[2] for one in found] == [why]


@pytest.mark.parametrize(
    ("owners", "consent", "why"),
    [
        ("{team: a, files: x}", "{team: a, to: b, operations: READ, topics: [t]}", ["there is no team 'b'"]),
        (
            "{team: a, files: x}",
            "{team: c, to: b, operations: READ, topics: [t]}",
            ["there is no team 'c'", "there is no team 'b'"],
        ),
        ("{team: a, files: x}", "{team: a, to: a, operations: READ, topics: [t]}", []),
        # A name that comes from a variable may be any.
        ("{team: a, files: x}", "{team: a, to: '${vars.a}', operations: READ, topics: [t]}", []),
        ("{team: '${vars.a}', files: x}", "{team: a, to: b, operations: READ, topics: [t]}", []),
    ],
)
def test_a_consent_is_of_a_team_to_a_team(owners: str, consent: str, why: list[str]) -> None:
    source = _source("Ownership", f"{{owners: [{owners}], consents: [{consent}]}}")
    if why:
        assert sorted(one[2] for one in _problems(source, _CLUSTER)) == sorted(why)
    else:
        load([source, _CLUSTER])


def test_of_very_many_problems_the_first_are_shown_and_the_others_counted() -> None:
    for count in (MOST_PROBLEMS - 1, MOST_PROBLEMS, MOST_PROBLEMS + 1, MOST_PROBLEMS + 7):
        rules = "".join(f"\n    - {{allow: READ, topics: [t{number}], nothing: x}}" for number in range(count))
        with pytest.raises(ManifestError) as refused:
            load([_source("Acls", f"\n  principal: User:a\n  rules:{rules}")])
        problems = refused.value.problems
        assert problem_count(problems) == count
        assert len([one for one in problems if not one.more]) == min(count, MOST_PROBLEMS)


def test_whether_tests_are_declared_is_known_of_documents_with_variables_too() -> None:
    test = "{tests: [{name: t, onlyReaders: ['User:%s'], topics: [a]}]}"
    for spec in (test % "a", test % "${vars.a}"):
        assert declares_access_tests(load([_CLUSTER, _source("AccessTests", spec)]))
    assert not declares_access_tests(load([_CLUSTER]))
    elsewhere = "{clusters: {matchLabels: {env: other}}, %s"
    for text in ("a", "${vars.a}"):
        manifests = load([_CLUSTER, _source("AccessTests", elsewhere % (test % text)[1:])])
        assert [one.rule for one in coverage_notices(manifests, "c")] == ["no-access-tests"]
    claims = "{clusters: {matchLabels: {env: other}}, tests: [{name: t, configs: {a: %s}}]}"
    for text in ("x", "'${vars.a}'"):
        manifests = load([_CLUSTER, _source("ClusterTests", claims % text)])
        assert [one.rule for one in coverage_notices(manifests, "c")] == ["no-cluster-tests"]
    assert coverage_notices(load([_CLUSTER]), "c") == ()


def test_a_pattern_that_cannot_be_read_is_one_problem_and_nothing_on_stderr(capfd: pytest.CaptureFixture[str]) -> None:
    """RE2 is no Python, and would write a line of its own."""
    rule = "{rules: [{topics: a, names: {pattern: '[a-z'}}]}"
    ((line, _, message),) = _problems(Source("p.yaml", _HEAD % ("TopicPolicy", "p", rule)))
    assert (line, message) == (4, "'[a-z' is not a regular expression: missing ]: [a-z")
    assert capfd.readouterr().err == ""


def test_kinds_of_problems_that_there_is_no_room_for_are_counted_with_their_first_place() -> None:
    codes = sorted(CODES)[:7]
    problems = [
        Problem(code, Origin("a.yaml", 10 * number + line, 1), "wrong")
        for number, code in enumerate(codes)
        for line in range(1, 9 - number)
    ]
    *_, last = problems_text(problems).split("\n\n")
    assert last.splitlines() == [
        f"error {codes[5]}, 3 times: {CODES[codes[5]]}, first at a.yaml:51:1",
        f"error {codes[6]}, 2 times: {CODES[codes[6]]}, first at a.yaml:61:1",
        "reconciler validate --expand shows each",
    ]
    assert "--expand" not in problems_text(problems, expand=True)
    assert "--expand" not in problems_text([problem for problem in problems if problem.code in codes[:5]])
