"""The same tests as on Apache Kafka, on an implementation that shares no code with it; see ``DEVIATIONS``."""

from tests.contract.test_lease import *  # noqa: F403 - pytest collects them here with this directory's ``subject``
