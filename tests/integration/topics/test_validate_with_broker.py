"""``plan --validate-with-broker`` on a broker with policies: each answer on its step, word for word, nothing done."""

from pathlib import Path
from typing import Any

import pytest
import yaml

from reconciler.kafka.cluster import KafkaCluster
from reconciler.model.topic import Topic
from reconciler.ports import AnswerStatus, ReadRequest
from tests.integration.topics.conftest import CLUSTER, Asked
from tests.integration.topics.java_classes import compiled
from tests.verbs import creations

pytestmark = pytest.mark.broker

_HERE = Path(__file__).parent
CASES: list[dict[str, Any]] = yaml.safe_load((_HERE / "rulings.yaml").read_text(encoding="utf-8"))


def topics_document(*topics: dict[str, Any]) -> str:
    document = {
        "apiVersion": "reconciler/v1",
        "kind": "Topics",
        "metadata": {"name": "wishes"},
        "spec": {"topics": list(topics)},
    }
    return yaml.safe_dump(document, sort_keys=False)


def make(admin: KafkaCluster, *topics: Topic) -> None:
    answers = admin.send(creations(topics))
    assert {answer.status for answer in answers} == {AnswerStatus.DONE}, answers


def names(admin: KafkaCluster) -> set[str]:
    return set(admin.read(ReadRequest(acls=False)).topics)


@pytest.fixture(scope="module")
def live(admin: KafkaCluster) -> None:
    make(admin, *(Topic(case["topic"]["name"], case["live"]["partitions"], 1) for case in CASES if "live" in case))


@pytest.fixture
def answers(live: None, admin: KafkaCluster, asked: Asked) -> dict[str, Any]:
    """The answers to all cases in one plan, by the topic's name."""
    before = names(admin)
    manifest = topics_document(*(case["topic"] for case in CASES))
    status, plan = asked(manifest, "plan", "--validate-with-broker")
    assert status == 1  # something has no answer, which weighs more than a refusal
    assert names(admin) == before
    steps = {step["id"]: step for step in plan["steps"]}
    told = plan["topics"]["validation"]["answers"]
    assert {answer["step"] for answer in told} == set(steps)
    return {steps[answer["step"]]["after"]["name"]: answer for answer in told}


def test_every_answer_is_the_brokers_and_stands_at_its_line(answers: dict[str, Any]) -> None:
    lines = topics_document(*(case["topic"] for case in CASES)).splitlines()
    for case in CASES:
        name = case["topic"]["name"]
        found = answers[name]
        assert (found["ruling"], found["code"]) == (case["ruling"], case.get("code", "")), case["source"]
        if "message" in case:
            assert found["message"] == case["message"]
        file, line, _ = found["origin"].split(":")
        assert (file, lines[int(line) - 1].strip()) == ("wishes.yaml", f"- name: {name}")


def test_a_refusal_is_exit_3_and_such_a_plan_is_not_saved(asked: Asked, tmp_path: Path) -> None:
    out = tmp_path / "plan.json"
    manifest = topics_document({"name": "policy.small", "partitions": 2}, {"name": "plain.fine", "partitions": 1})
    options = ("--validate-with-broker", "--out", str(out))
    status, text = asked(manifest, "plan", *options, expect_json=False)
    assert status == 3
    assert not out.exists()
    refusal = (
        "the cluster's policy refuses this: POLICY_VIOLATION: Topics should have at least 5 partitions, received 2"
    )
    assert f"      {refusal}\n" in text
    assert "2 steps, 1 accepted, 1 refused." in text
    assert "the cluster refuses 1 of the steps: the plan was not saved" in text


def test_what_is_accepted_is_noted_in_the_saved_plan_and_bound_by_its_id(asked: Asked, tmp_path: Path) -> None:
    manifest = topics_document({"name": "plain.fine"})
    status, plain = asked(manifest, "plan")
    assert status == 0
    out = tmp_path / "plan.json"
    status, noted = asked(manifest, "plan", "--validate-with-broker", "--out", str(out))
    assert status == 0
    assert noted["planId"] != plain["planId"], "a reviewer sees what the broker answers"
    assert plain["topics"]["validation"] is None
    saved = yaml.safe_load(out.read_text(encoding="utf-8"))
    assert saved["topics"] == noted["topics"]
    assert [answer["ruling"] for answer in saved["topics"]["validation"]["answers"]] == ["accepted"]
    assert saved["topics"]["brokerDefaults"] == {"default.replication.factor": "1", "num.partitions": "1"}


def test_a_plug_in_that_breaks_is_no_refusal(live: None, asked: Asked, admin: KafkaCluster) -> None:
    manifest = topics_document(
        {"name": "broken.one", "partitions": 1},
        {"name": "plain.beside", "partitions": 1},
        {"name": "live.valid", "configs": {"flush.ms": "60000"}},
    )
    status, text = asked(manifest, "plan", "--validate-with-broker", expect_json=False)
    assert status == 1
    assert text.count("the broker gave no answer about this: UNKNOWN_SERVER_ERROR: ") == 1
    assert "3 steps, 2 accepted, 1 without an answer." in text
    assert "something other than PolicyViolationException" in text
    assert "the broker refuses" not in text


# In every run of our own answer to it: tests/unit/apply/test_validation.py.
@pytest.mark.long
def test_a_controller_that_fails_over_it_is_not_asked_again(asked_3_9: Asked) -> None:
    """Up to which version a controller resigns over a broken plug-in is not written down; 3.9 does, 4.4 does not."""
    create = topics_document({"name": "live.one", "partitions": 1})
    assert asked_3_9(create, "apply", "--yes", expect_json=False)[0] == 0
    manifest = topics_document(
        {"name": "broken.one", "partitions": 1},
        {"name": "plain.beside", "partitions": 1},
        {"name": "live.one", "configs": {"flush.ms": "60000"}},
    )
    status, plan = asked_3_9(manifest, "plan", "--validate-with-broker")
    assert status == 1
    told = [(answer["ruling"], answer["code"]) for answer in plan["topics"]["validation"]["answers"]]
    assert told == [("unknown", "UNKNOWN_SERVER_ERROR")] * 2 + [("unknown", "not_asked")]
    # The controller is found again by whoever asks next.
    status, _ = asked_3_9(topics_document({"name": "plain.beside", "partitions": 1}), "plan", "--validate-with-broker")
    assert status == 0


_ALICE = CLUSTER.replace("principal: User:reconciler", "principal: User:alice")
_RIGHTS = """
apiVersion: reconciler/v1
kind: Acls
metadata: {name: alice}
spec:
  principal: User:alice
  rules:
    - {allow: [DESCRIBE, DESCRIBE_CONFIGS], cluster: true}
    - {allow: [DESCRIBE, DESCRIBE_CONFIGS], topics: {any: true}}
"""
_MORE = "    - {allow: CREATE, topics: {prefix: fresh.}}\n---\n"


def test_rights_that_the_plan_grants_first_are_reckoned_by_us(asked: Asked) -> None:
    status, text = asked(_RIGHTS, "apply", "--yes", expect_json=False)
    assert status == 0, text
    manifest = _RIGHTS + _MORE + topics_document({"name": "fresh.one"}, {"name": "other.one"})
    status, plan = asked(manifest, "plan", "--validate-with-broker", cluster=_ALICE, user="alice")
    assert status == 3
    told = {answer["subject"]: (answer["ruling"], answer["code"]) for answer in plan["topics"]["validation"]["answers"]}
    assert told == {
        "create topic fresh.one": ("after-grant", "TOPIC_AUTHORIZATION_FAILED"),
        "create topic other.one": ("refused", "TOPIC_AUTHORIZATION_FAILED"),
    }


@pytest.mark.long
def test_the_policies_compile_without_a_jdk(tmp_path: Path) -> None:
    classes = compiled(_HERE / "policies", tmp_path, "4.4", without_jdk=True)
    assert {file.stem for file in classes.rglob("*.class")} == {"TestConfigPolicy", "TestTopicPolicy"}
