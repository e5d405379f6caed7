"""Confluent Cloud's two names of an account, over the wire, whichever client lists ACLs."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from reconciler.kafka.cluster import connect
from reconciler.kafka.flavored import FlavoredCluster
from reconciler.kafka.listing import AclReader
from reconciler.model.flavor import FLAVORS
from reconciler.model.listing import Create, Delete
from reconciler.ports import ClusterError
from tests.compat.kfake import running, settings_for
from tests.contract.subject import ACLS
from tests.worlds import binding

CLOUD = FLAVORS["confluent-cloud"]
MINE = binding("User:sa-abc123 ALLOW READ on TOPIC orders")
EVERYBODYS = binding("User:* ALLOW DESCRIBE on TOPIC public")


@pytest.fixture(scope="module")
def servers(kfake: Path) -> Iterator[str]:
    with running(kfake, "-acls", "cloud", "-cluster-id", "lkc-9gz21") as found:
        yield found


@pytest.mark.parametrize("reader", list(AclReader))
def test_acls_are_listed_and_deleted_by_resource_ids(servers: str, reader: AclReader) -> None:
    with connect(settings_for(servers), readers=[reader]) as plain:
        cluster = FlavoredCluster(plain, CLOUD)
        assert [answer.good for answer in cluster.send([Create(MINE), Create(EVERYBODYS)])] == [True, True]
        # What the flavor is there for: without it, the account has a name that nobody declared.
        listed = plain.read(ACLS).bindings
        assert MINE not in listed
        assert EVERYBODYS in listed
        assert {one.entry.principal[5:].isdecimal() for one in listed - {EVERYBODYS}} == {True}
        assert cluster.read(ACLS).bindings == {MINE, EVERYBODYS}
        cluster.send([Delete(MINE), Delete(EVERYBODYS)])
        assert cluster.read(ACLS).bindings == frozenset()


def test_another_cluster_lists_nothing_under_the_filter_and_is_refused_by_its_id(kfake: Path) -> None:
    with running(kfake, "-acls", "open") as other, connect(settings_for(other)) as plain:
        plain.send([Create(MINE)])
        assert plain.read(ACLS).bindings == {MINE}
        with pytest.raises(ClusterError, match="flavor is confluent-cloud, but the cluster id is kfake"):
            FlavoredCluster(plain, CLOUD).read(ACLS)
