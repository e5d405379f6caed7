"""Topic policies by the command line: validate, plan and apply hold topics to them; init proposes what holds."""

import json
from pathlib import Path

import pytest

from reconciler.cli.console import Exit
from reconciler.model.state import ClusterState
from reconciler.model.topic import Topic
from reconciler.show.policy import DEFAULT_POLICY
from reconciler.snapshot.document import BrokerFacts, snapshot_text
from tests.integration.asked import Place, place

TOPICS = """\
apiVersion: reconciler/v1
kind: Topics
metadata: {name: pay}
spec:
  topics:
    - {name: pay.orders, partitions: 3, replicationFactor: 1, configs: {retention.ms: 40d}}
    - {name: pay.audit, labels: {data: audit}}
"""
POLICY = """\
apiVersion: reconciler/v1
kind: TopicPolicy
metadata: {name: production}
spec:
  rules:
"""
REPLICAS = "{name: replicas, topics: {any: true}, replicationFactor: {min: 3}, message: brokers fail"


@pytest.fixture
def here(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Place:
    made = place(tmp_path, capsys)
    made.write("topics.yaml", TOPICS)
    return made


def agree(here: Place, *rules: str) -> str:
    *items, last = rules
    rule, exceptions, accepted = last.partition("  exceptions:")
    text = "".join(f"    - {one}\n" for one in (*items, rule))
    here.write("policy.yaml", POLICY + text + (f"{exceptions}{accepted}\n" if accepted else ""))
    return str(here.directory)


def live(here: Place, *topics: Topic, brokers: tuple[int, ...] | None = (1, 2), factor: int = 1) -> None:
    state = ClusterState("prod-id", topics={topic.name: topic for topic in topics})
    facts = BrokerFacts(broker_ids=brokers, default_replication_factor=factor)
    here.snapshot.write_text(snapshot_text(state, facts), encoding="utf-8")


def test_validate_names_topic_rule_values_and_cure(here: Place) -> None:
    ran = here.bare("validate", agree(here, REPLICAS + "}"))
    assert ran.status == Exit.FAILED_CHECK
    assert (
        "broken KT003  pay.orders  topics.yaml:6:14\n"
        "    replicationFactor is 1; wanted: at least 3\n"
        "    `brokers fail`\n"
        "    rule production/replicas at policy.yaml:6:45\n"
        "    declare replicationFactor; a live topic keeps its replicas until somebody moves them\n"
    ) in ran.out
    assert "undecided KT003  pay.audit" in ran.out
    assert "2 topics against 1 rule of topic policies: 1 broken, 1 undecided" in ran.out


def test_what_programs_read(here: Place) -> None:
    exception = "{check: replicas, topics: pay.audit, reason: r, expires: 2099-01-01, ticket: T}"
    document = here.document("validate", agree(here, f"{REPLICAS}}}  exceptions: [{exception}]"))
    assert not document["valid"]
    policies = document["clusters"]["prod"]["policies"]
    assert (policies["rules"], policies["topics"], policies["idleExceptions"]) == (1, 2, [])
    broken, excepted = policies["findings"]
    assert broken == {
        "rule": "KT003",
        "name": "replication-factor",
        "severity": "error",
        "standing": "broken",
        "stops": True,
        "topic": "pay.orders",
        "place": "topics.yaml:6:14",
        "policy": "production",
        "policyRule": "replicas",
        "rulePlace": "policy.yaml:6:45",
        "about": "replicationFactor",
        "found": "1",
        "wanted": "at least 3",
        "message": "replicationFactor is 1; wanted: at least 3",
        "reason": "brokers fail",
        "advice": "declare replicationFactor; a live topic keeps its replicas until somebody moves them",
        "exception": None,
    }
    assert (excepted["standing"], excepted["stops"]) == ("excepted", False)
    assert excepted["exception"] == {
        "place": "policy.yaml:7:16",
        "reason": "r",
        "expires": "2099-01-01",
        "ticket": "T",
    }


def test_times_are_shown_both_ways(here: Place) -> None:
    out = here.bare("validate", agree(here, "{topics: pay.orders, configs: {retention.ms: {max: 30d}}}")).out
    assert "retention.ms is 3456000000 (40d); wanted: at most 30d" in out
    here.write("topics.yaml", TOPICS.replace("40d", "-1"))
    assert "retention.ms is -1 (no limit); wanted: at most 30d" in here.bare("validate", str(here.directory)).out


def test_what_is_different_on_a_cluster_is_judged_there(here: Place) -> None:
    topics = TOPICS.replace("replicationFactor: 1", "replicationFactor: 3").replace(
        "{name: pay.audit,", "{name: pay.audit, replicationFactor: 3,"
    )
    here.write("topics.yaml", topics)
    assert here.bare("validate", agree(here, REPLICAS + "}")).status == Exit.OK
    override = "  overrides: [{clusters: {matchLabels: {}}, topics: [pay.orders], replicationFactor: 1}]\n"
    here.write("topics.yaml", topics + override)
    ran = here.bare("validate", str(here.directory))
    assert ran.status == Exit.FAILED_CHECK
    assert "broken KT003  pay.orders" in ran.out


def test_warnings_are_said_and_an_idle_exception_is_named(here: Place) -> None:
    exception = "exceptions: [{check: replicas, topics: nobody, reason: r, expires: 2099-01-01}]"
    ran = here.bare("validate", agree(here, f"{REPLICAS}, severity: warning}}  {exception}"))
    assert ran.status == Exit.OK
    assert "broken (warning) KT003" in ran.out
    assert "matches no finding: remove it" in ran.out


@pytest.mark.parametrize(("day", "status"), [("2027-01-31", Exit.OK), ("2027-02-01", Exit.FAILED_CHECK)])
def test_an_exception_counts_through_its_last_day(here: Place, day: str, status: Exit) -> None:
    exception = "exceptions: [{check: replicas, topics: {prefix: pay.}, reason: moves soon, expires: 2027-01-31}]"
    ran = here.bare("validate", agree(here, f"{REPLICAS}}}  {exception}"), "--as-of", day)
    assert ran.status == status
    assert "moves soon" in ran.out
    assert ("2 excepted" in ran.out) is (status == Exit.OK)
    assert ("warning KR083" in ran.out) is (status == Exit.FAILED_CHECK)


def test_policies_are_for_some_clusters(here: Place) -> None:
    text = POLICY.replace("  rules:", "  clusters: {matchLabels: {env: test}}\n  rules:") + f"    - {REPLICAS}}}\n"
    here.write("policy.yaml", text)
    ran = here.bare("validate", str(here.directory))
    assert ran.status == Exit.OK
    assert "topic policies" not in ran.out


def test_a_mistake_in_an_expression_is_a_problem_of_the_manifests(here: Place) -> None:
    directory = agree(here, "{topics: {any: true}, expression: partitions > tree}")
    ran = here.bare("validate", directory)
    assert ran.status == Exit.ERROR
    assert "policy.yaml:6:54: error KR095: not CEL: undeclared reference to 'tree'" in ran.err
    document = here.document("validate", directory)
    assert [problem["code"] for problem in document["problems"]] == ["KR095"]


def test_plan_knows_what_the_broker_chooses(here: Place) -> None:
    directory = agree(here, "{topics: pay.audit, replicationFactor: {min: 2}}")
    assert here.bare("validate", directory).status == Exit.FAILED_CHECK
    live(here, factor=2)
    ran = here.bare("plan", directory, *here.cluster)
    assert ran.status == Exit.OK, ran.out
    assert "1 rule of topic policies: all kept" in ran.out
    live(here, factor=1)
    ran = here.bare("plan", directory, *here.cluster)
    assert ran.status == Exit.FAILED_CHECK
    assert "replicationFactor is 1, which the broker chooses; wanted: at least 2" in ran.out


def test_plan_knows_what_a_topic_has(here: Place) -> None:
    directory = agree(here, "{topics: pay.audit, partitions: {min: 4}}")
    live(here, Topic("pay.audit", 5, 1))
    assert here.bare("plan", directory, *here.cluster).status == Exit.OK
    live(here, Topic("pay.audit", 3, 1))
    assert here.bare("plan", directory, *here.cluster).status == Exit.FAILED_CHECK


@pytest.mark.parametrize(("brokers", "status"), [((1, 2, 3), Exit.OK), ((1, 2), Exit.FAILED_CHECK), (None, 3)])
def test_plan_counts_brokers(here: Place, brokers: tuple[int, ...] | None, status: Exit) -> None:
    live(here, brokers=brokers)
    ran = here.bare("plan", agree(here, "{topics: pay.orders, partitions: {max: 9, maxPerBroker: 1}}"), *here.cluster)
    assert ran.status == status
    assert ("for each of 2 brokers" in ran.out) is (brokers == (1, 2))
    assert ("how many brokers there are is not known" in ran.out) is (brokers is None)


def test_declared_brokers_and_seen_ones_count(here: Place) -> None:
    text = (here.directory / "cluster.yaml").read_text(encoding="utf-8")
    here.write("cluster.yaml", text + "  brokers: [1, 2, 3]\n")
    live(here, brokers=(1, 4))
    directory = agree(here, "{topics: pay.orders, partitions: {min: 1, minPerBroker: 1}}")
    assert here.bare("validate", directory).status == Exit.OK
    ran = here.bare("plan", directory, *here.cluster)
    assert ran.status == Exit.FAILED_CHECK
    assert "at least 1 for each of 4 brokers" in ran.out


def test_a_plan_that_breaks_a_policy_is_neither_saved_nor_applied(here: Place, tmp_path: Path) -> None:
    live(here)
    directory = agree(here, REPLICAS + "}")
    saved = tmp_path / "plan.json"
    ran = here.bare("plan", directory, *here.cluster, "--out", str(saved))
    assert ran.status == Exit.FAILED_CHECK
    assert not saved.exists()
    before = here.snapshot.read_text(encoding="utf-8")
    ran = here.bare("apply", directory, *here.cluster, "--yes")
    assert ran.status == Exit.FAILED_CHECK
    assert "broken KT003  pay.orders" in ran.err
    assert here.snapshot.read_text(encoding="utf-8") == before


def test_a_saved_plan_is_held_to_the_policies_of_the_day(here: Place, tmp_path: Path) -> None:
    live(here)
    saved = tmp_path / "plan.json"
    directory = agree(here, "{topics: {any: true}, partitions: {max: 9}}")
    assert here.bare("plan", directory, *here.cluster, "--out", str(saved)).status == Exit.OK
    before = here.snapshot.read_text(encoding="utf-8")
    agree(here, "{topics: {any: true}, partitions: {max: 2}}")
    ran = here.bare("apply", str(saved), directory, *here.cluster, "--yes")
    assert ran.status == Exit.FAILED_CHECK
    assert here.snapshot.read_text(encoding="utf-8") == before
    agree(here, "{topics: {any: true}, partitions: {max: 9}}")
    assert here.bare("apply", str(saved), directory, *here.cluster, "--yes").status == Exit.OK
    # The new topic's partitions are the broker's choice, and known now.
    assert here.bare("plan", directory, *here.cluster).status == Exit.OK


def lived_in() -> list[Topic]:
    common = {"min.insync.replicas": "2", "retention.ms": "604800000", "cleanup.policy": "delete"}
    usual = [Topic(f"pay.t{number:02}", 6, 3, common) for number in range(28)]
    odd = Topic("Pay_Old", 90, 1, {"retention.ms": "-1", "cleanup.policy": "compact", "odd": "${x}"})
    return [*usual, Topic("pay.long", 12, 3, {**common, "retention.ms": "2592000000"}), odd]


def test_init_proposes_what_the_cluster_keeps(here: Place, tmp_path: Path) -> None:
    live(here, *lived_in())
    alone = ("--cluster", f"snapshot:{here.snapshot}", "--as-of", "2027-01-01")
    out = tmp_path / "proposal.yaml"
    ran = here.bare("policy", "init", *alone, "--name", "prod", "--out", str(out))
    assert ran.status == Exit.OK, ran.err
    text = out.read_text(encoding="utf-8")
    for line in (
        "# Skipped, because no manifest can declare it: topic Pay_Old",
        "      names: {pattern: '[a-z0-9]+([.-][a-z0-9]+)*'}",
        "      partitions: {min: 6, max: 12}",
        "      replicationFactor: {min: 3}",
        "        retention.ms: {required: true, min: 7d, max: 30d}",
        "        min.insync.replicas: {required: true, allowed: [2]}",
    ):
        assert line in text
    assert here.bare("policy", "init", *alone, "--out", str(out)).status == Exit.USAGE
    assert json.loads(here.bare("policy", "init", *alone, "--output", "json").out)["excepted"] == {}


def test_exceptions_are_excepted_by_name_for_half_a_year(here: Place) -> None:
    odd = Topic("Pay_Old", 90, 1, {"retention.ms": "-1"})
    live(here, *lived_in()[:-1], odd)
    ran = here.bare("policy", "init", "--cluster", f"snapshot:{here.snapshot}", "--as-of", "2027-01-01")
    assert ran.status == Exit.OK, ran.err
    assert "# kept by 29 of 30 topics" in ran.out
    assert "      topics: [Pay_Old]" in ran.out
    assert "expires: 2027-07-02" in ran.out
    assert "exceptions by name" in ran.err


def test_init_needs_topics_and_one_source(here: Place) -> None:
    live(here)
    assert here.bare("policy", "init", "--cluster", f"snapshot:{here.snapshot}").status == Exit.ERROR
    assert here.bare("policy", "init").status == Exit.ERROR  # no manifests, so no only cluster
    assert here.bare("policy", "init", "--defaults", "--cluster", "x").status == Exit.USAGE


def test_the_defaults_are_the_example(here: Place) -> None:
    ran = here.bare("policy", "init", "--defaults")
    assert ran.status == Exit.OK
    assert ran.out == DEFAULT_POLICY
    example = Path(__file__).parents[2] / "examples/policies/defaults.yaml"
    assert example.read_text(encoding="utf-8") == DEFAULT_POLICY


BREAKING = [
    ("Names_", {}, "KT001"),
    ("a", {"min.insync.replicas": "3"}, "KT008"),
    ("a", {"unclean.leader.election.enable": "true"}, "KT006"),
    ("a", {"leader.replication.throttled.replicas": "*"}, "KT005"),
    ("a", {"retention.ms": "31d"}, "KT007"),
]


@pytest.mark.parametrize(("name", "configs", "code"), BREAKING)
def test_the_defaults_refuse_what_they_say(here: Place, name: str, configs: dict[str, str], code: str) -> None:
    settings = json.dumps({"min.insync.replicas": "2", "retention.ms": "1d", **configs})
    here.write("policy.yaml", DEFAULT_POLICY)
    topic = f"{{name: {name}, partitions: 3, replicationFactor: 3, labels: {{data: personal}}, configs: {settings}}}"
    here.write("cluster.yaml", "apiVersion: reconciler/v1\nkind: Cluster\nmetadata: {name: prod}\nspec: {}\n")
    here.write("topics.yaml", TOPICS.split("    - ", maxsplit=1)[0] + f"    - {topic}\n")
    document = here.document("validate", str(here.directory))
    assert [one["rule"] for one in document["clusters"]["prod"]["policies"]["findings"] if one["stops"]] == [code]


def test_a_topic_has_the_labels_of_its_document_for_policies_too(here: Place) -> None:
    labelled = TOPICS.replace("{name: pay}", "{name: pay, labels: {team: pay, data: personal}}")
    here.write("topics.yaml", labelled)
    rule = "{matchLabels: {data: personal}, configs: {retention.ms: {max: 30d, required: false}}}"
    ran = here.bare("validate", agree(here, rule))
    assert ran.status == Exit.FAILED_CHECK
    assert "broken KT007  pay.orders" in ran.out
    assert "pay.audit" not in ran.out
    assert (
        here.bare("validate", agree(here, "{topics: {any: true}, expression: labels.team == 'pay'}")).status == Exit.OK
    )
