"""What the port promises of topics: each request's items succeed and fail alone, under Kafka's names for errors."""

import pytest

from reconciler.model.topic import METADATA_TOPIC, Topic
from reconciler.ports import AnswerStatus, ReadRequest
from tests.contract.subject import Subject, codes, these, verdicts
from tests.topic_changes import configs, partitions
from tests.verbs import creations, deletions


def create(subject: Subject, *topics: Topic) -> dict[str, Topic]:
    assert verdicts(subject.cluster.send(creations(topics))) == [AnswerStatus.DONE] * len(topics)
    return subject.topics(*(topic.name for topic in topics))


def test_a_topic_comes_back_as_it_was_created(subject: Subject, own: str) -> None:
    configs = {"cleanup.policy": "compact,delete", "retention.ms": "604800000", "min.cleanable.dirty.ratio": "0.5"}
    found = create(subject, Topic(own, 3, 1, configs))[own]
    assert (found.name, found.num_partitions, found.replication_factor) == (own, 3, 1)
    assert found.configs == configs
    assert found.topic_id


def test_only_what_is_set_on_the_topic_is_its_state(subject: Subject, own: str) -> None:
    assert create(subject, Topic(own, 1, 1))[own].configs == {}


def test_a_setting_equal_to_the_default_is_set_all_the_same(subject: Subject, own: str) -> None:
    assert create(subject, Topic(own, 1, 1, {"preallocate": "false"}))[own].configs == {"preallocate": "false"}


def test_values_come_back_in_kafkas_form(subject: Subject, own: str) -> None:
    configs = {"retention.ms": " 7 ", "preallocate": "TRUE", "min.cleanable.dirty.ratio": ".50"}
    expected = {"retention.ms": "7", "preallocate": "true", "min.cleanable.dirty.ratio": "0.5"}
    assert create(subject, Topic(own, 1, 1, configs))[own].configs == expected


def test_counts_that_are_left_out_are_the_brokers_defaults(subject: Subject, own: str) -> None:
    found = create(subject, Topic(own))[own]
    assert found.num_partitions is not None
    assert found.num_partitions >= 1
    assert found.replication_factor == 1


def test_replicas_may_be_assigned(subject: Subject, own: str) -> None:
    found = create(subject, Topic(own, replica_assignments=((1,), (1,))))[own]
    assert (found.num_partitions, found.replication_factor) == (2, 1)


@pytest.mark.parametrize(
    ("name", "value", "since"),
    [
        ("message.downconversion.enable", "true", (4, 0)),
        ("message.format.version", "3.0", (4, 0)),
        ("message.timestamp.difference.max.ms", "1", (4, 0)),
        ("segment.bytes", "1048575", (4, 1)),
    ],
)
def test_what_a_release_took_away_is_refused_from_then_on(
    subject: Subject, own: str, name: str, value: str, since: tuple[int, int]
) -> None:
    answers = subject.cluster.validate(creations([Topic(own, 1, 1, {name: value})]))
    assert codes(answers) == (["INVALID_CONFIG"] if subject.version >= since else [""])


@pytest.mark.parametrize(
    ("topic", "code"),
    [
        (Topic("{own} x", 1, 1), "INVALID_TOPIC_EXCEPTION"),
        (Topic("{own}é", 1, 1), "INVALID_TOPIC_EXCEPTION"),
        (Topic(".", 1, 1), "INVALID_TOPIC_EXCEPTION"),
        (Topic("{own}" + "x" * 249, 1, 1), "INVALID_TOPIC_EXCEPTION"),
        (Topic(METADATA_TOPIC, 1, 1), "INVALID_REQUEST"),
        (Topic("{own}-no", 1, 3), "INVALID_REPLICATION_FACTOR"),
        (Topic("{own}-no", replica_assignments=((7,),)), "INVALID_REPLICA_ASSIGNMENT"),
        (Topic("{own}-no", 1, 1, {"no.such.setting": "1"}), "INVALID_CONFIG"),
        (Topic("{own}-no", 1, 1, {"retention.ms": "7d"}), "INVALID_CONFIG"),
        (Topic("{own}-no", 1, 1, {"retention.ms": "-2"}), "INVALID_CONFIG"),
        (Topic("{own}-no", 1, 1, {"min.insync.replicas": "0"}), "INVALID_CONFIG"),
        (Topic("{own}-no", 1, 1, {"cleanup.policy": "shred"}), "INVALID_CONFIG"),
        (Topic("{own}-no", 1, 1, {"compression.type": "rar"}), "INVALID_CONFIG"),
        (Topic("{own}-no", 1, 1, {"min.cleanable.dirty.ratio": "2"}), "INVALID_CONFIG"),
        (Topic("{own}-no", 1, 1, {"preallocate": "maybe"}), "INVALID_CONFIG"),
        (Topic("{own}-no", 1, 1, {"compression.gzip.level": "0"}), "INVALID_CONFIG"),
        (Topic("{own}-no", 1, 1, {"leader.replication.throttled.replicas": "1:"}), "INVALID_CONFIG"),
    ],
)
def test_a_bad_topic_fails_alone_and_in_its_place(subject: Subject, own: str, topic: Topic, code: str) -> None:
    bad = Topic(topic.name.format(own=own), topic.num_partitions, topic.replication_factor, topic.configs,
                replica_assignments=topic.replica_assignments)  # fmt: skip
    answers = subject.cluster.send(creations([Topic(f"{own}-a", 1, 1), bad, Topic(f"{own}-b", 1, 1)]))
    assert codes(answers) == ["", code, ""]
    assert verdicts(answers) == [AnswerStatus.DONE, AnswerStatus.FAILED, AnswerStatus.DONE]
    assert answers[1].message
    assert bad.name not in subject.topics(f"{own}-a", f"{own}-b")


def test_a_name_that_collides_with_a_live_one_is_refused(subject: Subject, own: str) -> None:
    create(subject, Topic(f"{own}.a", 1, 1))
    assert codes(subject.cluster.send(creations([Topic(f"{own}_a", 1, 1)]))) == ["INVALID_TOPIC_EXCEPTION"]


def test_two_new_names_that_collide_are_both_created(subject: Subject, own: str) -> None:
    create(subject, Topic(f"{own}.a", 1, 1), Topic(f"{own}_a", 1, 1))


def test_an_existing_topic_is_an_error_and_stays(subject: Subject, own: str) -> None:
    before = create(subject, Topic(own, 2, 1))
    answers = subject.cluster.send(creations([Topic(own, 5, 1), Topic(f"{own}-new", 1, 1)]))
    assert codes(answers) == ["TOPIC_ALREADY_EXISTS", ""]
    subject.topics(f"{own}-new")
    assert subject.topics(own) == before


def test_a_topic_is_deleted_and_a_missing_one_is_an_error(subject: Subject, own: str) -> None:
    create(subject, Topic(f"{own}-a", 1, 1), Topic(f"{own}-b", 1, 1))
    answers = subject.cluster.send(deletions(map(Topic, [f"{own}-a", f"{own}-none", f"{own}-b"])))
    assert codes(answers) == ["", "UNKNOWN_TOPIC_OR_PARTITION", ""]
    subject.shows(these(f"{own}-a", f"{own}-b"), lambda state: not state.topics and not state.unreadable_topics)


def test_a_topic_that_is_made_anew_is_another_one(subject: Subject, own: str) -> None:
    before = create(subject, Topic(own, 1, 1))[own]
    subject.cluster.send(deletions(map(Topic, [own])))
    subject.shows(these(own), lambda state: not state.topics)
    assert create(subject, Topic(own, 1, 1))[own].topic_id != before.topic_id


def test_partitions_grow_and_never_shrink(subject: Subject, own: str) -> None:
    names = [f"{own}-{letter}" for letter in "abc"]
    create(subject, *(Topic(name, 2, 1) for name in names))
    changes = [
        partitions(names[0], 2, 2),
        partitions(names[1], 2, 5),
        partitions(names[2], 2, 1),
        partitions(f"{own}-none", 2, 3),
    ]
    answers = subject.cluster.send(changes)
    assert codes(answers) == ["INVALID_PARTITIONS", "", "INVALID_PARTITIONS", "UNKNOWN_TOPIC_OR_PARTITION"]
    subject.shows(these(names[1]), lambda state: state.topics[names[1]].num_partitions == 5)
    assert [topic.num_partitions for topic in subject.topics(*names).values()] == [2, 5, 2]


def test_settings_are_set_and_reset_and_others_stay(subject: Subject, own: str) -> None:
    create(subject, Topic(own, 1, 1, {"retention.ms": "7", "preallocate": "true", "flush.ms": "5"}))
    change = configs(
        own,
        {"retention.ms": "7", "preallocate": "true", "segment.ms": None, "segment.bytes": None},
        {"retention.ms": "8", "preallocate": None, "segment.ms": "9", "segment.bytes": None},
    )
    assert verdicts(subject.cluster.send([change])) == [AnswerStatus.DONE]
    expected = {"retention.ms": "8", "segment.ms": "9", "flush.ms": "5"}
    subject.shows(these(own), lambda state: state.topics[own].configs == expected)


def test_a_topics_settings_change_together_or_not_at_all(subject: Subject, own: str) -> None:
    create(subject, Topic(f"{own}-a", 1, 1), Topic(f"{own}-b", 1, 1))
    before: dict[str, str | None] = {"retention.ms": None, "flush.ms": None}
    changes = [
        configs(f"{own}-a", before, {"retention.ms": "8", "flush.ms": "often"}),
        configs(f"{own}-none", before, {"retention.ms": "8", "flush.ms": "5"}),
        configs(f"{own}-b", before, {"retention.ms": "8", "flush.ms": "5"}),
    ]
    answers = subject.cluster.send(changes)
    assert codes(answers) == ["INVALID_CONFIG", "UNKNOWN_TOPIC_OR_PARTITION", ""]
    subject.shows(these(f"{own}-b"), lambda state: bool(state.topics[f"{own}-b"].configs))
    assert subject.topics(f"{own}-a")[f"{own}-a"].configs == {}


def test_kafka_cannot_be_asked_about_a_deletion_in_advance(subject: Subject, own: str) -> None:
    create(subject, Topic(own, 1, 1))
    (answer,) = subject.cluster.validate(deletions([Topic(own)]))
    assert (answer.status, answer.code) == (AnswerStatus.UNKNOWN, "not_validated")
    assert own in subject.topics(own)


def test_what_is_validated_only_is_answered_and_not_done(subject: Subject, own: str) -> None:
    before = create(subject, Topic(f"{own}-a", 2, 1))
    answers = subject.cluster.validate(
        creations([Topic(f"{own}-new", 1, 1), Topic(f"{own}-a", 1, 1), Topic(f"{own}-b", 1, 9)])
    )
    assert codes(answers) == ["", "TOPIC_ALREADY_EXISTS", "INVALID_REPLICATION_FACTOR"]
    grow = [partitions(f"{own}-a", 2, 3)]
    assert codes(subject.cluster.validate(grow)) == [""]
    assert codes(subject.cluster.validate([partitions(f"{own}-a", 2, 1)])) == ["INVALID_PARTITIONS"]
    for value, code in (("5", ""), ("often", "INVALID_CONFIG")):
        change = configs(f"{own}-a", {"flush.ms": None}, {"flush.ms": value})
        assert codes(subject.cluster.validate([change])) == [code]
    assert subject.topics(f"{own}-a") == before
    assert f"{own}-new" not in subject.read(these(f"{own}-new", f"{own}-a")).topics


def test_partitions_may_be_added_on_named_brokers(subject: Subject, own: str) -> None:
    create(subject, Topic(own, 1, 1))
    nowhere = partitions(own, 1, 2, ((7,),))
    assert codes(subject.cluster.send([nowhere])) == ["INVALID_REPLICA_ASSIGNMENT"]
    assert codes(subject.cluster.send([partitions(own, 1, 3, ((1,), (1,)))])) == [""]
    subject.shows(these(own), lambda state: state.topics[own].num_partitions == 3)


def test_what_the_broker_chooses_is_told(subject: Subject) -> None:
    defaults = subject.read(ReadRequest(acls=False, all_topics=False, broker_defaults=True)).broker_defaults
    wanted = {"auto.create.topics.enable": "false", "default.replication.factor": "1", "num.partitions": "1"}
    assert wanted.items() <= dict(defaults).items()
    assert not subject.read(ReadRequest(acls=False, all_topics=False)).broker_defaults


def test_what_topics_are_used_for_is_told_or_why_not(subject: Subject, own: str) -> None:
    create(subject, Topic(own, 2, 1))
    found = subject.cluster.topic_uses([own, f"{own}-none"])
    assert set(found) == {own, f"{own}-none"}
    assert found[own].gaps or (found[own].records, found[own].last_write, found[own].groups) == (0, "", ())
    assert found[f"{own}-none"].gaps
