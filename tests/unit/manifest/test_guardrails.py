"""A proposal that changes its own judge is told, whatever it changes and wherever it does."""

import pytest

from reconciler.manifest.guardrail_meaning import Meaning
from reconciler.manifest.guardrails import guardrail_changes
from reconciler.manifest.manifests import load
from reconciler.manifest.read.findings import Source

_BASE = """\
apiVersion: reconciler/v1
kind: Cluster
metadata: {name: prod, labels: {env: prod}}
spec:
  superUsers: [User:admin]
  allowEveryoneIfNoAclFound: false
  protect: [{topics: [ledger.v1]}]
  ignore: [{principals: {prefix: "User:sa-"}}]
  deleteLimits: {maxDeletes: 200}
  barrier: {wait: 2s}
---
apiVersion: reconciler/v1
kind: AccessTests
metadata: {name: guardrails}
spec:
  clusters: {matchLabels: {env: prod}}
  tests:
    - name: only billing reads personal data
      principals: ["User:*"]
      except: [User:svc-billing]
      mustNot: [READ, WRITE]
      topics: {prefix: pii.}
    - name: ledger readers
      onlyReaders: [User:svc-ledger]
      topics: [payments.ledger]
---
apiVersion: reconciler/v1
kind: Ownership
metadata: {name: teams}
spec:
  owners:
    - {team: payments, files: teams/payments/**, topics: {prefix: payments.}}
    - {team: ledger, files: teams/ledger/**, topics: {prefix: ledger.}}
---
apiVersion: reconciler/v1
kind: TopicPolicy
metadata: {name: production}
spec:
  rules:
    - {topics: {any: true}, replicationFactor: {min: 3}, message: three replicas}
"""


def _changes(*replaced: tuple[str, str]) -> list[tuple[Meaning, str, str | None, str | None]]:
    text = _BASE
    for old, new in replaced:
        assert text.count(old) == 1, old
        text = text.replace(old, new)
    load([Source("a.yaml", text)])
    found = guardrail_changes([Source("a.yaml", _BASE)], [Source("b.yaml", text)])
    return [(change.meaning, change.field, change.before, change.after) for change in found]


def test_equal_guardrails_have_no_difference_in_any_order() -> None:
    documents = _BASE.split("---\n")
    shuffled = "---\n".join(reversed(documents)).replace("[READ, WRITE]", "[WRITE, READ]")
    assert guardrail_changes([Source("a.yaml", _BASE)], [Source("z.yaml", shuffled)]) == ()


@pytest.mark.parametrize(
    ("old", "new", "meaning", "field"),
    [
        ("[User:admin]", "[User:admin, User:x]", Meaning.LOOSER, "spec.superUsers[User:x]"),
        ("Found: false", "Found: true", Meaning.LOOSER, "spec.allowEveryoneIfNoAclFound"),
        ("maxDeletes: 200", "maxDeletes: 2000", Meaning.LOOSER, "spec.deleteLimits.maxDeletes"),
        ("maxDeletes: 200", "maxDeletes: 20", Meaning.TIGHTER, "spec.deleteLimits.maxDeletes"),
        ("barrier: {wait: 2s}", "brokers: [1]", Meaning.LOOSER, "spec.barrier"),
        ("wait: 2s", "wait: 0s", Meaning.LOOSER, "spec.barrier.wait"),
        ('{prefix: "User:sa-"}', '{prefix: "User:"}', Meaning.LOOSER, "spec.ignore"),
        ("except: [User:svc-billing]", "except: [User:svc-billing, User:x]", Meaning.LOOSER, "[User:x]"),
        ("mustNot: [READ, WRITE]", "mustNot: [WRITE]", Meaning.LOOSER, "mustNot[READ]"),
        ("onlyReaders: [User:svc-ledger]", "onlyReaders: [User:svc-ledger, User:x]", Meaning.LOOSER, "onlyReaders"),
        (
            "      topics: {prefix: pii.}",
            "      topics: {prefix: pii.}\n      severity: warning",
            Meaning.LOOSER,
            "severity",
        ),
        (
            "  tests:",
            "  exceptions: [{check: ledger readers, reason: soon, expires: 2027-01-31}]\n  tests:",
            Meaning.LOOSER,
            "exceptions",
        ),
        ("files: teams/ledger/**", 'files: ["teams/ledger/**", "zz.yaml"]', Meaning.LOOSER, "files"),
        (
            "topics: {prefix: ledger.}",
            "topics: {prefix: ledger.}, consents: [{to: payments, operations: READ, topics: [ledger.v2]}]",
            Meaning.LOOSER,
            "consents",
        ),
    ],
)
def test_a_difference_is_told_with_its_meaning(old: str, new: str, meaning: Meaning, field: str) -> None:
    found = _changes((old, new))
    assert any(change[0] is meaning and field in change[1] for change in found), found
    if meaning is Meaning.LOOSER:
        assert found[0][0] is Meaning.LOOSER


def test_a_document_that_is_gone_loosens() -> None:
    without = "---\n".join(part for part in _BASE.split("---\n") if "AccessTests" not in part)
    [change] = guardrail_changes([Source("a.yaml", _BASE)], [Source("a.yaml", without)])
    assert (change.meaning, change.kind, change.document, change.after is None) == (
        Meaning.LOOSER,
        "AccessTests",
        "guardrails",
        True,
    )
    assert str(change.origin).startswith("a.yaml:14")


def test_a_label_that_lets_a_cluster_escape_its_tests_loosens() -> None:
    found = guardrail_changes(
        [Source("a.yaml", _BASE)], [Source("a.yaml", _BASE.replace("labels: {env: prod}", "labels: {env: production}"))]
    )
    assert found[0].meaning is Meaning.LOOSER
    assert found[0].reason == "it no longer applies to the cluster prod"


def test_how_a_cluster_is_reached_is_no_guardrail() -> None:
    reached = ("  superUsers: [User:admin]", "  bootstrapServers: [b:9092]\n  superUsers: [User:admin]")
    assert _changes(reached) == []


def test_a_principal_of_brokers_that_comes_is_unclear() -> None:
    found = _changes(("superUsers: [User:admin]", "superUsers: [User:admin]\n  interBrokerPrincipals: [User:b]"))
    assert [change[0] for change in found] == [Meaning.UNCLEAR]


_BROKERS = """\
apiVersion: reconciler/v1
kind: ClusterTests
metadata: {name: brokers}
spec:
  tests:
    - name: t
      configs: {auto.create.topics.enable: "false", a: {min: 2}, b: {max: 2}, c: {allowed: [x]}}
      features: {metadata.version: {min: 4.1}}
"""


@pytest.mark.parametrize(
    ("old", "new", "meaning"),
    [
        ('"false"', '"true"', Meaning.UNCLEAR),
        ('auto.create.topics.enable: "false", ', "", Meaning.LOOSER),
        ("a: {min: 2}", "a: {min: 1}", Meaning.LOOSER),
        ("a: {min: 2}", "a: {min: 3}", Meaning.TIGHTER),
        ("a: {min: 2}", "a: {min: 2, max: 9}", Meaning.TIGHTER),
        ("b: {max: 2}", "b: {max: 3}", Meaning.LOOSER),
        ("[x]", "[x, y]", Meaning.LOOSER),
        ("min: 4.1", "min: 4.0", Meaning.LOOSER),
        # A release stands for its first level: 7 is less than that of 4.1.
        ("min: 4.1", "min: 7", Meaning.LOOSER),
        ("min: 4.1", "min: 99", Meaning.TIGHTER),
        ("min: 4.1", "min: soon", Meaning.UNCLEAR),
        ("    - name: t", "    - severity: warning\n      name: t", Meaning.LOOSER),
    ],
)
def test_what_a_difference_in_a_cluster_test_does(old: str, new: str, meaning: Meaning) -> None:
    assert old in _BROKERS
    (change,) = guardrail_changes([Source("a.yaml", _BROKERS)], [Source("a.yaml", _BROKERS.replace(old, new))])
    assert change.meaning is meaning


@pytest.mark.parametrize(
    ("more", "meaning"),
    [
        ("{team: incidents, files: teams/incidents/**, denyAny: true}", Meaning.LOOSER),
        ("{team: incidents, files: teams/incidents/**, denyAny: yes}", Meaning.UNCLEAR),
        ("{team: incidents, files: teams/incidents/**, denyAny: false}", Meaning.UNCLEAR),
        ("{team: incidents, files: teams/incidents/**, topics: {prefix: i.}}", Meaning.UNCLEAR),
    ],
)
def test_a_new_owner_who_may_deny_anything_is_looser_whatever_else_it_says(more: str, meaning: Meaning) -> None:
    """What it owns refuses more and what its files may do refuses less; a DENY on everybody's names is less only."""
    last = "    - {team: ledger, files: teams/ledger/**, topics: {prefix: ledger.}}\n"
    item = f"    - {more}\n"
    (change,) = guardrail_changes([Source("a.yaml", _BASE)], [Source("a.yaml", _BASE.replace(last, last + item))])
    assert (change.meaning, change.field) == (meaning, "spec.owners[incidents]")
    # The same in a document of its own. Where nobody was judged by owners before, it admits nothing new.
    document = f"apiVersion: reconciler/v1\nkind: Ownership\nmetadata: {{name: more}}\nspec:\n  owners:\n{item}"
    (change,) = guardrail_changes([Source("a.yaml", _BASE)], [Source("a.yaml", _BASE), Source("b.yaml", document)])
    assert (change.meaning, change.field) == (meaning, "")
    (change,) = guardrail_changes([], [Source("b.yaml", document)])
    assert change.meaning is Meaning.UNCLEAR


def test_a_consent_in_a_new_document_is_looser() -> None:
    given = "{team: ledger, to: payments, operations: READ, topics: [ledger.v2]}"
    document = f"apiVersion: reconciler/v1\nkind: Ownership\nmetadata: {{name: more}}\nspec: {{consents: [{given}]}}\n"
    (change,) = guardrail_changes([Source("a.yaml", _BASE)], [Source("a.yaml", _BASE), Source("b.yaml", document)])
    assert change.meaning is Meaning.LOOSER


def test_a_star_contains_nothing_where_it_is_no_pattern() -> None:
    """A value of a config is compared letter by letter: the one that goes is not in the one that comes."""
    rule = "replicationFactor: {min: 3}, message"
    before, after = (
        _BASE.replace(rule, f"configs: {{new.config: {{allowed: [{text}]}}}}, message") for text in ("abc", "'a*'")
    )
    found = guardrail_changes([Source("a.yaml", before)], [Source("a.yaml", after)])
    places = sorted(change.field.rpartition("allowed")[2] for change in found)
    assert places == ["[a*]", "[abc]"]


def test_what_has_no_name_is_told_by_its_number() -> None:
    overrides = (
        "  topicDefaults: {overrides: [{matchLabels: {a: b}, partitions: 1}, {matchLabels: {a: c}, partitions: %d}]}\n"
    )
    before, after = (_BASE.replace("  barrier:", overrides % count + "  barrier:") for count in (2, 3))
    (change,) = guardrail_changes([Source("a.yaml", before)], [Source("a.yaml", after)])
    assert (change.field, change.before, change.after) == ("spec.topicDefaults.overrides[2].partitions", "2", "3")
