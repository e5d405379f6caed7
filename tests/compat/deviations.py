"""Where kfake does not do what Apache Kafka does: the contract tests that fail on it, each with the reason."""

from typing import Final

_NAMES: Final = "any topic name is accepted"
_HOSTS: Final = "any host is accepted, also one that Kafka 4.4 refuses"
_CONFIGS: Final = "any config is accepted, with any value"

#: By the test's name, with its parameters where only some fail. ``docs/compatibility.md`` lists the reasons.
DEVIATIONS: Final[dict[str, str]] = {
    "test_a_bad_item_fails_alone_and_in_its_place": "an ACL on CLUSTER is accepted with any name",
    "test_a_principal_without_a_colon_is_refused": "an ACL is accepted for any text as its principal",
    "test_what_kafka_refuses_is_refused_alone": "any key and value of a quota is accepted",
    "test_addresses_have_their_own_key": "any key and value of a quota is accepted",
    "test_hosts_that_4_4_refuses_are_texts_before[]": _HOSTS,
    "test_hosts_that_4_4_refuses_are_texts_before[10.0.0.0/33]": _HOSTS,
    "test_hosts_that_4_4_refuses_are_texts_before[host.example/8]": _HOSTS,
    "test_hosts_that_4_4_refuses_are_texts_before[::ffff:10.0.0.0/104]": _HOSTS,
    "test_two_new_names_that_collide_are_both_created": (
        "two new topics of one request are refused if their names collide"
    ),
    "test_partitions_grow_and_never_shrink": "a topic may be given as many partitions as it has",
    "test_partitions_may_be_added_on_named_brokers": "brokers are numbered from 0",
    "test_what_the_broker_chooses_is_told": "the brokers' defaults are others than those of a sandbox",
    "test_a_topics_settings_change_together_or_not_at_all": _CONFIGS,
    "test_what_is_validated_only_is_answered_and_not_done": _CONFIGS,
    "test_values_come_back_in_kafkas_form": "values of configs come back as they were sent, not in Kafka's form",
    "test_what_a_release_took_away_is_refused_from_then_on": _CONFIGS,
    **{f"test_a_bad_topic_fails_alone_and_in_its_place[topic{n}-INVALID_TOPIC_EXCEPTION]": _NAMES for n in range(4)},
    "test_a_bad_topic_fails_alone_and_in_its_place[topic4-INVALID_REQUEST]": _NAMES,
    "test_a_bad_topic_fails_alone_and_in_its_place[topic6-INVALID_REPLICA_ASSIGNMENT]": (
        "replicas may be assigned to brokers that do not exist"
    ),
    **{f"test_a_bad_topic_fails_alone_and_in_its_place[topic{n}-INVALID_CONFIG]": _CONFIGS for n in range(7, 17)},
}
