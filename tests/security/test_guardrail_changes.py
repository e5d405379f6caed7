"""A pull request that loosens a rule where nobody looks for it: each edit stands under "Guardrails changed"."""

from reconciler.manifest import GuardrailChange, Source, guardrail_changes

_CLUSTER = """\
apiVersion: reconciler/v1
kind: Cluster
metadata: {name: prod}
spec: {vars: {reader: "User:svc-payroll", partitions: 6}}
"""
_TESTS = """\
apiVersion: reconciler/v1
kind: AccessTests
metadata: {name: guards}
spec: {tests: [{name: only payroll, onlyReaders: ["${vars.reader}"], topics: {prefix: payroll.}}]}
"""
_ACLS = """\
apiVersion: reconciler/v1
kind: Acls
metadata: {name: web}
spec:
  principal: User:svc-web
  rules: [{allow: READ, topics: {any: true}}]
"""
_WAIVE = "  waive: [{rule: wildcard-grant, reason: later, expires: 2099-01-01}]\n"
_TOPICS = """\
apiVersion: reconciler/v1
kind: Topics
metadata: {name: pay, labels: {data: personal}}
spec: {topics: [{name: payroll.salaries, labels: {tier: gold}}]}
"""
_OWNERS = """\
apiVersion: reconciler/v1
kind: Ownership
metadata: {name: teams}
spec:
  owners:
    - {team: pay, files: pay/**, topics: {prefix: payroll.}}
    - {team: pay, files: pay/**, topics: {prefix: ledger.}}
"""


def _changes(base: dict[str, str], proposal: dict[str, str]) -> list[GuardrailChange]:
    return list(guardrail_changes(*([Source(*item) for item in files.items()] for files in (base, proposal))))


def _words(base: dict[str, str], proposal: dict[str, str]) -> list[str]:
    return [f"{change.meaning} {change.words}" for change in _changes(base, proposal)]


def test_a_waiver_in_a_new_document() -> None:
    """A waiver of lint comes with the document that needs it: it is as much a loosened rule as in an old document."""
    (said,) = _words({}, {"web.yaml": _ACLS + _WAIVE})
    assert said.startswith("looser Acls web, spec.waive: added: [{expires: 2099-01-01, ")
    assert _words({}, {"web.yaml": _ACLS}) == []


def test_a_waiver_that_moves_to_another_document() -> None:
    """A waiver leaves with its document and comes back in one of another name: both are said."""
    said = _words({"a.yaml": _ACLS + _WAIVE}, {"a.yaml": (_ACLS + _WAIVE).replace("name: web", "name: w")})
    assert [words.split(",")[0] for words in said] == ["looser Acls w", "tighter Acls web"]


def test_a_variable_that_is_the_value_of_a_rule_elsewhere() -> None:
    """The file of the access test is untouched; the cluster's file says who passes it, and the change says so."""
    base = {"cluster.yaml": _CLUSTER, "guard.yaml": _TESTS}
    changed = {**base, "cluster.yaml": _CLUSTER.replace("svc-payroll", "svc-web")}
    assert _words(base, changed) == [
        "unclear Cluster prod, spec.vars.reader: User:svc-payroll → User:svc-web, the value in AccessTests guards"
    ]
    inside = {**base, "guard.yaml": _TESTS.replace('"${vars.reader}"', '"User:svc-${vars.team}"')}
    team = _CLUSTER.replace("partitions: 6", "team: payroll")
    (said,) = _words(
        {**inside, "cluster.yaml": team}, {**inside, "cluster.yaml": team.replace("team: p", "team: web-p")}
    )
    assert said.endswith("payroll → web-payroll, the value in AccessTests guards")
    (other,) = _words(base, {**base, "cluster.yaml": _CLUSTER.replace("6", "12")})
    assert "the value in" not in other


def test_a_label_that_a_topic_loses_by_moving() -> None:
    """A topic moves to a document without the label that a policy is about: the label is lost as if it were deleted."""
    moved = _TOPICS.replace("name: pay, labels: {data: personal}", "name: other").replace("gold", "tin")
    assert _words({"a.yaml": _TOPICS}, {"a.yaml": moved}) == [
        "unclear Topics other, spec.topics[payroll.salaries].labels.data: removed: personal",
        "unclear Topics other, spec.topics[payroll.salaries].labels.tier: removed: gold",
    ]
    kept = _TOPICS.replace("name: pay,", "name: other,")
    assert _words({"a.yaml": _TOPICS}, {"a.yaml": kept}) == []


def test_two_items_of_one_name_do_not_hide_each_other() -> None:
    """A team has two items of Ownership, and the change widens the first: the second must not stand for both."""
    said = _words({"o.yaml": _OWNERS}, {"o.yaml": _OWNERS.replace("{prefix: payroll.}", "{any: true}")})
    assert len(said) == 2
    assert any("any: true" in words for words in said)
    assert any("prefix: payroll." in words for words in said)
    # One item that becomes two is a change of the item, and not of its name.
    one = _OWNERS.replace("    - {team: pay, files: pay/**, topics: {prefix: ledger.}}\n", "")
    assert _words({"o.yaml": one}, {"o.yaml": _OWNERS})
