"""What the ports promise, on an implementation of Kafka that shares no code with Apache's; see ``DEVIATIONS``."""

# pytest collects them here again, with this directory's fixture ``subject``.
from tests.contract.test_acl_writes import *  # noqa: F403
from tests.contract.test_lease import *  # noqa: F403
from tests.contract.test_quota_writes import *  # noqa: F403
from tests.contract.test_reading import *  # noqa: F403
from tests.contract.test_topic_writes import *  # noqa: F403
