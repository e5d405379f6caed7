"""Many hosts: comparing each class of hosts only where its own entries match finds what comparing all of them finds."""

from unittest.mock import patch

from hypothesis import given
from hypothesis import strategies as st

from reconciler.access import comparison as dense_or_not
from reconciler.access.authorizer import Authorizer, may_on_some_resource
from reconciler.access.difference import compare_access
from reconciler.model.acl import AclBinding, AclOperation, ResourceType
from tests.property.access_naive import Cluster, on_some_resource
from tests.property.access_states import ASKERS, FROM, HOSTS, bindings, clusters
from tests.property.test_access_authorizer import authorizer_of
from tests.property.test_access_difference import quick

hosted = st.builds(
    lambda binding, host: binding._replace(entry=binding.entry._replace(host=host)),
    bindings,
    st.sampled_from(HOSTS[12:]),
)
many = st.frozensets(st.one_of(hosted, hosted, bindings), min_size=4, max_size=14)


@quick
@given(many, many, st.sampled_from([False, True, None]), st.sampled_from([(4, 3), (4, 4)]))
def test_hosts_one_by_one_and_by_what_they_touch(
    old: frozenset[AclBinding], new: frozenset[AclBinding], default_allow: bool | None, version: tuple[int, int]
) -> None:
    found = []
    for least in (2, 10**6):
        with patch.object(dense_or_not, "_MANY_CLASSES", least):
            before, after = (Authorizer(side, (), default_allow, version) for side in (old, new))
            difference = compare_access(before, after)
            found.append((difference.rows, difference.exceptions, difference.reached_with_exceptions()))
    assert found[0] == found[1]


@given(
    clusters, st.sampled_from(ASKERS), st.sampled_from(FROM), st.sampled_from([AclOperation.READ, AclOperation.WRITE])
)
def test_what_the_tables_say_of_a_whole_type(
    cluster: Cluster, principal: str, host: str, operation: AclOperation
) -> None:
    interpretation = authorizer_of(cluster).interpretations.least
    expected = on_some_resource(cluster._replace(super_users=()), principal, host, operation, ResourceType.TOPIC)
    assert may_on_some_resource(interpretation, principal, host, operation, ResourceType.TOPIC) == expected
