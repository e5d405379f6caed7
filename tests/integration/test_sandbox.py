"""Sandboxes on the real thing: what logs in, what is refused, what is left afterwards."""

import pytest
from confluent_kafka import KafkaException
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic

from reconciler.adapters.sandbox import Sandbox

pytestmark = pytest.mark.broker


@pytest.mark.parametrize("mechanism", ["PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512", "OAUTHBEARER"])
@pytest.mark.parametrize(("user", "answer"), [("admin", "allowed"), ("alice", "TOPIC_AUTHORIZATION_FAILED")])
def test_every_user_logs_in_with_every_mechanism_and_is_that_user(
    broker: Sandbox, user: str, mechanism: str, answer: str
) -> None:
    assert _may_create_topics(broker.settings(user, mechanism)) == answer


def _may_create_topics(settings: dict[str, str]) -> str:
    with AdminClient({**settings, "log_level": 0}) as admin:
        (future,) = admin.create_topics([NewTopic("wish", 1, 1)], validate_only=True, request_timeout=10).values()
        try:
            future.result()
        except KafkaException as error:
            return str(error.args[0].name())
        return "allowed"
