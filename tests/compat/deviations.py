"""Where kfake does not do what Apache Kafka does: the contract tests that fail on it, each with the reason."""

from typing import Final

_NAMES: Final = "any topic name is accepted"
_CONFIGS: Final = "any config is accepted, with any value"

#: By the test's name, with its parameters where only some fail. ``docs/compatibility.md`` lists the reasons.
DEVIATIONS: Final[dict[str, str]] = {
    "test_a_bad_item_fails_alone_and_in_its_place": "an ACL on CLUSTER is accepted with any name",
    "test_a_principal_without_a_colon_is_refused": "an ACL is accepted for any text as its principal",
    "test_what_kafka_refuses_is_refused_alone": "any key and value of a quota is accepted",
    "test_addresses_have_their_own_key": "any key and value of a quota is accepted",
    "test_values_come_back_in_kafkas_form": "values of configs come back as they were sent, not in Kafka's form",
    "test_what_4_0_took_away_is_refused_from_then_on": _CONFIGS,
    **{f"test_a_bad_topic_fails_alone_and_in_its_place[topic{n}-INVALID_TOPIC_EXCEPTION]": _NAMES for n in range(4)},
    "test_a_bad_topic_fails_alone_and_in_its_place[topic4-INVALID_REQUEST]": _NAMES,
    "test_a_bad_topic_fails_alone_and_in_its_place[topic6-INVALID_REPLICA_ASSIGNMENT]": (
        "replicas may be assigned to brokers that do not exist"
    ),
    **{f"test_a_bad_topic_fails_alone_and_in_its_place[topic{n}-INVALID_CONFIG]": _CONFIGS for n in range(7, 14)},
}
