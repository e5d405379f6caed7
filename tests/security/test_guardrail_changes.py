"""A pull request that loosens a rule where nobody looks for it: each edit stands under "Guardrails changed"."""

import pytest

from reconciler.manifest.guardrail_meaning import Meaning
from reconciler.manifest.guardrails import GuardrailChange, guardrail_changes
from reconciler.manifest.manifests import load
from reconciler.manifest.read.findings import Source

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
_EXCEPTION = "  exceptions: [{check: KA010, reason: later, expires: 2099-01-01}]\n"
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


def test_an_exception_in_a_new_document() -> None:
    """An exception of lint comes with the document that needs it: it loosens a rule as much as in an old document."""
    (said,) = _words({}, {"web.yaml": _ACLS + _EXCEPTION})
    assert said.startswith("looser Acls web, spec.exceptions[KA010]: added: {check: KA010, expires: 2099-01-01, ")
    assert _words({}, {"web.yaml": _ACLS}) == []


def test_an_exception_that_moves_to_another_document() -> None:
    """An exception leaves with its document and comes back in one of another name: both are said."""
    said = _words({"a.yaml": _ACLS + _EXCEPTION}, {"a.yaml": (_ACLS + _EXCEPTION).replace("name: web", "name: w")})
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
    # What no rule takes judges nothing: the plan shows what becomes of it.
    assert _words(base, {**base, "cluster.yaml": _CLUSTER.replace("6", "12")}) == []


_POLICY = """\
apiVersion: reconciler/v1
kind: TopicPolicy
metadata: {name: sizes}
spec: {rules: [{name: few, %s, configs: {retention.ms: {max: 30d}}}]}
"""


def test_a_label_that_a_topic_gets() -> None:
    """A new label counts where a rule selects by it, or reads labels: the topic may come under a milder one."""
    got = _TOPICS.replace("tier: gold", "tier: gold, size: large")
    for rule, counts in (
        ("matchLabels: {size: large}", True),
        ("topics: {any: true}, expression: \"labels.size == 'large'\"", True),
        ("matchLabels: {data: personal}", False),
    ):
        policy = {"policy.yaml": _POLICY % rule}
        assert bool(_words({"a.yaml": _TOPICS, **policy}, {"a.yaml": got, **policy})) is counts, rule
        beside = {"policy.yaml": (_POLICY % rule).replace("rules: [", "rules: [{topics: [a], partitions: {max: 9}}, ")}
        assert bool(_words({"a.yaml": _TOPICS, **beside}, {"a.yaml": got, **beside})) is counts, rule
        # One that goes takes a warning of reviews with it, whoever asks for it.
        assert _words({"a.yaml": got, **policy}, {"a.yaml": _TOPICS, **policy})


def test_a_label_of_a_cluster_that_only_grants_ask_for() -> None:
    """What no longer applies to the cluster are wishes: the plan shows what becomes of them."""
    cluster = _CLUSTER.replace("name: prod", "name: prod, labels: {env: prod}")
    acls = _ACLS.replace("spec:\n", "spec:\n  clusters: {matchLabels: {env: prod}}\n") + _EXCEPTION
    topics = _TOPICS.replace("spec: {", "spec: {clusters: {matchLabels: {env: prod}}, ")
    base = {"acls.yaml": acls, "topics.yaml": topics}
    moved = cluster.replace("env: prod", "env: dev")
    assert _words({**base, "c.yaml": cluster}, {**base, "c.yaml": moved}) == [
        "unclear Cluster prod, metadata.labels.env: prod → dev"
    ]


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
    assert said == ["looser Ownership teams, spec.owners[pay].topics: {prefix: payroll.} → {any: true}"]
    # One item that becomes two is a change of the item, and not of its name.
    one = _OWNERS.replace("    - {team: pay, files: pay/**, topics: {prefix: ledger.}}\n", "")
    assert _words({"o.yaml": one}, {"o.yaml": _OWNERS})


def test_of_equal_items_each_counts_and_of_others_the_most_alike_are_held_together() -> None:
    item = "{team: pay, files: pay/**, topics: {prefix: payroll.}}"
    other = "{team: pay, files: other/**, topics: {prefix: ledger.}}"
    head = _OWNERS.partition("    - ")[0]

    def owners(*items: str) -> dict[str, str]:
        return {"o.yaml": head + "".join(f"    - {one}\n" for one in items)}

    gone = "unclear Ownership teams, spec.owners[pay]: removed: {files: pay/**, team: pay, topics: {prefix: payroll.}}"
    assert _words(owners(item, item), owners(item)) == [gone]
    assert _words(owners(item, item), owners(item, item)) == []
    # Whichever stands first: what has more fields in common is the older self.
    for items in ((item, other), (other, item)):
        changed = [one.replace("payroll.", "pay.").replace("ledger.", "log.") for one in items]
        for after in (changed, changed[::-1]):
            said = [words.partition(" Ownership ")[2] for words in _words(owners(*items), owners(*after))]
            assert sorted(said) == [
                "teams, spec.owners[pay].topics: {prefix: ledger.} → {prefix: log.}",
                "teams, spec.owners[pay].topics: {prefix: payroll.} → {prefix: pay.}",
            ]


def test_a_label_of_a_rule_itself_lets_no_cluster_escape() -> None:
    """Only clusters have rules applied to them, whatever labels other documents have."""
    tests = _TESTS.replace("spec: {", "spec: {clusters: {matchLabels: {env: prod}}, ").replace(
        "name: guards}", "name: guards, labels: {env: prod}}"
    )
    assert _words({"t.yaml": tests}, {"t.yaml": tests.replace("labels: {env: prod}}\n", "labels: {env: dev}}\n")}) == [
        "unclear AccessTests guards, metadata.labels.env: prod → dev"
    ]


def _spec(kind: str, spec: str) -> str:
    return f"apiVersion: reconciler/v1\nkind: {kind}\nmetadata: {{name: one}}\nspec: {spec}\n"


def _meanings(kind: str, before: str, after: str) -> list[tuple[Meaning, str]]:
    old, new = (Source("one.yaml", _spec(kind, spec)) for spec in (before, after))
    load([old])
    load([new])
    return [(change.meaning, change.field) for change in guardrail_changes([old], [new])]


_RULE = "{rules: [{name: r, topics: {any: true}, message: m, %s}]}"
_TEST = "{tests: [{name: t, topics: [pay], %s}]}"
_CONSENT = (
    "{owners: [{team: q, topics: [q], files: q/**}, "
    "{team: p, topics: [p], consents: [{to: q, operations: READ, topics: [p]%s}]}]}"
)
_EVERYBODY = "scope: {include: [{principals: {any: true}}]}"
_EXCEPTIONS = "}], exceptions: [{check: r, topics: [a], codes: KT004, reason: r, expires: 2099-01-01"


@pytest.mark.parametrize(
    ("kind", "before", "after"),
    [
        # A limit that goes is not one that falls.
        ("TopicPolicy", _RULE % "partitions: {min: 1, max: 48}", _RULE % "partitions: {min: 1}"),
        ("TopicPolicy", _RULE % "partitions: {min: 1, maxPerBroker: 4}", _RULE % "partitions: {min: 1}"),
        ("TopicPolicy", _RULE % "names: {pattern: a, maxLength: 9}", _RULE % "names: {pattern: a}"),
        (
            "TopicPolicy",
            _RULE % "configs: {retention.ms: {min: 1h, max: 7d}}",
            _RULE % "configs: {retention.ms: {min: 1h}}",
        ),
        (
            "ClusterTests",
            "{tests: [{name: t, configs: {a: {min: 1, max: 9}}}]}",
            "{tests: [{name: t, configs: {a: {min: 1}}}]}",
        ),
        # With the last of its limits a rule goes; one of a config that this version does not know has them too.
        ("TopicPolicy", _RULE % "names: {pattern: a}, partitions: {max: 9}", _RULE % "names: {pattern: a}"),
        ("TopicPolicy", _RULE % "configs: {new.setting: {max: 9}}", _RULE % "configs: {new.setting: {max: 10}}"),
        ("Cluster", "{deleteLimits: {maxDeletes: 9}}", "{}"),
        ("Cluster", "{deleteLimits: {maxDeletePercent: 9}}", "{deleteLimits: {maxDeletes: 9}}"),
        (
            "Fleet",
            "{waves: [{name: a, clusters: {matchLabels: {}}}], limits: {maxDeletes: 9}}",
            "{waves: [{name: a, clusters: {matchLabels: {}}}]}",
        ),
        # Who alone may read: without a list, everybody.
        (
            "AccessTests",
            _TEST % '"onlyReaders": ["User:a"], "onlyWriters": ["User:a"]',
            _TEST % '"onlyWriters": ["User:a"]',
        ),
        # A name is no number.
        (
            "AccessTests",
            _TEST.replace("[pay]", "{prefix: '1001.'}") % "onlyReaders: ['User:a']",
            _TEST.replace("[pay]", "{prefix: '1002.'}") % "onlyReaders: ['User:a']",
        ),
        (
            "AccessTests",
            _TEST.replace("[pay]", "'1'") % "onlyReaders: ['User:a']",
            _TEST.replace("[pay]", "'12'") % "onlyReaders: ['User:a']",
        ),
        (
            "AccessTests",
            _TEST.replace("[pay]", "{prefix: '1'}") % "onlyReaders: ['User:a']",
            _TEST.replace("[pay]", "{prefix: '12'}") % "onlyReaders: ['User:a']",
        ),
        (
            "TopicPolicy",
            _RULE % "except: {prefix: '12'}, partitions: {max: 1}",
            _RULE % "except: {prefix: '1'}, partitions: {max: 1}",
        ),
        ("TopicPolicy", _RULE % "names: {pattern: '1'}", _RULE % "names: {pattern: '12'}"),
        (
            "TopicPolicy",
            "{clusters: {matchLabels: {tier: '2'}}, rules: [{topics: {any: true}, partitions: {max: 1}}]}",
            "{clusters: {matchLabels: {tier: '1'}}, rules: [{topics: {any: true}, partitions: {max: 1}}]}",
        ),
        (
            "TopicPolicy",
            _RULE % "matchLabels: {tier: '2'}, partitions: {max: 1}",
            _RULE % "matchLabels: {tier: '3'}, partitions: {max: 1}",
        ),
        # What limits an exception.
        ("Ownership", _CONSENT % ", expires: 2026-11-01", _CONSENT % ""),
        ("Ownership", _CONSENT % ", expires: 2026-11-01", _CONSENT % ", expires: 2027-11-01"),
        ("Ownership", _CONSENT % ", principals: ['User:q2']", _CONSENT % ""),
        ("Ownership", _CONSENT % ", principals: ['User:q2']", _CONSENT % ", principals: {prefix: 'User:q'}"),
        ("Ownership", _CONSENT % ", permissions: [DENY]", _CONSENT % ""),
        (
            "AccessTests",
            _TEST % "onlyReaders: ['User:a']}], exceptions: [{check: t, reason: r, expires: 2027-01-01",
            _TEST % "onlyReaders: ['User:a']}], exceptions: [{check: t, reason: r, expires: 2028-01-01",
        ),
        # Files of no team may do more.
        ("Ownership", "{owners: [{team: q, files: [q/**, z/**]}]}", "{owners: [{team: q, files: [z/**]}]}"),
        ("Ownership", "{owners: [{team: q, topics: [q], files: [q/**, z/**]}]}", "{owners: [{team: q, topics: [q]}]}"),
        # What is declared there is a problem no more.
        ("Cluster", "{ignore: [{topics: {prefix: secret.}}]}", "{}"),
        # A test that fails under one value of a fact passes under the other.
        ("Cluster", "{allowEveryoneIfNoAclFound: true}", "{allowEveryoneIfNoAclFound: false}"),
        ("Cluster", "{allowEveryoneIfNoAclFound: true}", "{}"),
        ("Cluster", "{allowEveryoneIfNoAclFound: false}", "{allowEveryoneIfNoAclFound: unknown}"),
        ("Cluster", "{superUsers: ['User:root']}", "{}"),
        ("Cluster", "{superUsers: ['User:root', 'User:b']}", "{superUsers: ['User:b']}"),
        ("Cluster", "{brokers: [1]}", "{brokers: [1, 2]}"),
        ("Cluster", "{kafkaVersion: 3.9}", "{kafkaVersion: 4.4}"),
        ("Cluster", f"{{prune: [quotas], {_EVERYBODY}}}", f"{{{_EVERYBODY}}}"),
        # An exception names one breach, and the change makes another of it.
        (
            "TopicPolicy",
            _RULE % f"configs: {{retention.ms: {{max: 7d}}}}{_EXCEPTIONS}",
            _RULE % f"configs: {{retention.ms: {{max: 7d, required: true}}}}{_EXCEPTIONS}",
        ),
        # A severity may be anything.
        (
            "AccessTests",
            _TEST % "onlyReaders: ['User:a'], severity: warning",
            _TEST % "onlyReaders: ['User:a'], severity: '${vars.s}'",
        ),
        # The order of waves is when each cluster gets a change.
        (
            "Fleet",
            "{waves: [{name: canary, clusters: {matchLabels: {}}}, {name: rest, clusters: {matchLabels: {}}}]}",
            "{waves: [{name: rest, clusters: {matchLabels: {}}}, {name: canary, clusters: {matchLabels: {}}}]}",
        ),
    ],
)
def test_what_may_admit_more_is_not_called_tighter(kind: str, before: str, after: str) -> None:
    """Of each of these there is a proposal that the rules refuse before and admit after."""
    assert {meaning for meaning, _ in _meanings(kind, before, after)} - {Meaning.TIGHTER}


@pytest.mark.parametrize(
    ("kind", "before", "after"),
    [
        ("TopicPolicy", _RULE % "partitions: {min: 1}", _RULE % "partitions: {min: 1, max: 48}"),
        ("TopicPolicy", _RULE % "partitions: {max: 48}", _RULE % "partitions: {max: 9}"),
        ("TopicPolicy", _RULE % "configs: {retention.ms: {max: 2d}}", _RULE % "configs: {retention.ms: {max: 24h}}"),
        ("TopicPolicy", _RULE % "configs: {a: {max: 10}}", _RULE % "configs: {a: {max: 9}}"),
        ("TopicPolicy", _RULE % "except: [a, b], partitions: {max: 1}", _RULE % "except: [b], partitions: {max: 1}"),
        (
            "TopicPolicy",
            "{rules: [{topics: {prefix: pay.}, partitions: {max: 1}}]}",
            "{rules: [{topics: {prefix: pay}, partitions: {max: 1}}]}",
        ),
        (
            "TopicPolicy",
            "{rules: [{topics: [a], partitions: {max: 1}}]}",
            "{rules: [{topics: {any: true}, partitions: {max: 1}}]}",
        ),
        ("AccessTests", _TEST % "onlyReaders: ['User:a', 'User:b']", _TEST % "onlyReaders: ['User:a']"),
        (
            "AccessTests",
            _TEST % "principals: ['User:a'], mustNot: READ",
            _TEST % "principals: ['User:a', 'User:b'], mustNot: READ",
        ),
        ("AccessTests", _TEST % "onlyReaders: ['User:a']", _TEST % "onlyReaders: ['User:a'], onlyWriters: ['User:a']"),
        ("AccessTests", _TEST % "onlyReaders: ['User:a'], severity: warning", _TEST % "onlyReaders: ['User:a']"),
        ("AccessTests", _TEST % "onlyReaders: ['User:a']", _TEST % "onlyReaders: ['User:a'], includeSuperUsers: true"),
        ("Ownership", _CONSENT % "", _CONSENT % ", expires: 2026-11-01"),
        ("Ownership", _CONSENT % ", permissions: [ALLOW, DENY]", _CONSENT % ""),
        ("Ownership", _CONSENT % ", principals: {prefix: 'User:q'}", _CONSENT % ", principals: ['User:q2']"),
        ("Cluster", "{deleteLimits: {maxDeletes: 10}}", "{deleteLimits: {maxDeletes: 9}}"),
        ("Cluster", "{protect: []}", "{protect: [{topics: [a]}]}"),
        (
            "Fleet",
            "{waves: [{name: a, clusters: {matchLabels: {}}, gate: {soak: 2h}}]}",
            "{waves: [{name: a, clusters: {matchLabels: {}}, gate: {soak: 1d}}]}",
        ),
    ],
)
def test_what_refuses_more_is_called_tighter(kind: str, before: str, after: str) -> None:
    """And in the other direction never."""
    assert {meaning for meaning, _ in _meanings(kind, before, after)} == {Meaning.TIGHTER}
    assert {meaning for meaning, _ in _meanings(kind, after, before)} - {Meaning.TIGHTER}


@pytest.mark.parametrize(
    ("kind", "before", "after"),
    [
        ("AccessTests", _TEST % "onlyReaders: ['User:a']", _TEST % "onlyReaders: 'User:a'"),
        ("AccessTests", _TEST % "onlyReaders: ['User:a']", _TEST % "onlyReaders: ['User:a'], severity: error"),
        ("AccessTests", _TEST % "onlyReaders: ['User:a']", _TEST % "onlyReaders: ['User:a'], includeSuperUsers: false"),
        ("Cluster", "{deleteLimits: {maxDeletes: 10}}", "{deleteLimits: {maxDeletes: 10}, prune: []}"),
        ("TopicPolicy", _RULE % "configs: {retention.ms: {max: 1d}}", _RULE % "configs: {retention.ms: {max: 24h}}"),
        (
            "AccessTests",
            _TEST % "onlyReaders: ['User:a']",
            _TEST.replace("[pay]", "{literal: [pay]}") % "onlyReaders: ['User:a']",
        ),
        ("Ownership", _CONSENT % "", _CONSENT % ", permissions: [ALLOW]"),
    ],
)
def test_another_spelling_of_a_rule_is_no_difference(kind: str, before: str, after: str) -> None:
    """A default that is written, a text for a list of one, another unit."""
    assert _meanings(kind, before, after) == []


def test_an_exception_that_is_widened_is_one_looser_line() -> None:
    """One that is gone, and that a new one contains, is no tightening beside it; the line shows what moved."""
    test = _TEST % "principals: ['User:*'], mustNot: READ, except: [%s]"
    base, proposal = (
        {"t.yaml": _spec("AccessTests", test % text)}
        for text in ("'User:svc-payments*', 'User:x'", "'User:svc-*', 'User:x'")
    )
    assert _words(base, proposal) == ["looser AccessTests one, spec.tests[t].except: User:svc-payments* → User:svc-*"]
    assert [line.split()[0] for line in _words(proposal, base)] == ["looser", "tighter"]
    covered = {"t.yaml": _spec("AccessTests", test % "'User:svc-*', 'User:svc-a'")}
    assert [line.split()[0] for line in _words(covered, {"t.yaml": _spec("AccessTests", test % "'User:svc-*'")})] == [
        "unclear"
    ]


def test_what_a_team_owns_is_widened() -> None:
    """From one principal to all that begin so: the line shows this field, and not the whole item."""
    item = "{owners: [{team: risk, files: risk/**, topics: {prefix: risk.}, principals: %s}]}"
    base, proposal = (
        {"o.yaml": _spec("Ownership", item % text)} for text in ("'User:svc-risk'", "{prefix: 'User:svc-'}")
    )
    assert _words(base, proposal) == [
        "looser Ownership one, spec.owners[risk].principals: User:svc-risk → {prefix: User:svc-}"
    ]
    assert _words(proposal, base)[0].startswith("unclear ")


def test_items_that_read_alike_are_not_the_same() -> None:
    """A text with a comma is not two texts, and a rule with one is not the rule with two."""
    old, new = (
        _spec("TopicPolicy", "{rules: [{matchLabels: {a: " + text + "}, partitions: {max: 1}}]}")
        for text in ("'1, b: 2'", "'1', b: '2'")
    )
    assert _words({"p.yaml": old}, {"p.yaml": new})


def test_a_field_that_no_document_can_have_is_unclear() -> None:
    """The reader of the manifests refuses it; until then nobody may call it the same, or tighter."""
    texts = [_spec("Cluster", spec) for spec in ("{news: a}", "{news: b}", "{}")]
    for before, after in ((0, 1), (0, 2), (2, 0)):
        old, new = Source("one.yaml", texts[before]), Source("one.yaml", texts[after])
        assert [change.meaning for change in guardrail_changes([old], [new])] == [Meaning.UNCLEAR]
    same = Source("one.yaml", texts[0])
    assert list(guardrail_changes([same], [same])) == []
