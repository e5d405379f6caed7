"""The same tests as on Apache Kafka, on an implementation that shares no code with it; see ``DEVIATIONS``."""

from tests.contract.test_user_writes import *  # noqa: F403 - pytest collects them here with this directory's ``subject``
