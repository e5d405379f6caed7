"""What many principals have in common is computed once, and what each of them has costs what its own bindings do."""

from unittest.mock import patch

import pytest

from reconciler.access import comparison as comparing
from reconciler.access.authorizer import Authorizer
from reconciler.access.comparison import permitted_by_api
from reconciler.access.effective import CommonAccess, OwnAccess, access_of
from reconciler.model.acl import ResourceType
from tests.worlds import bindings

TOPIC, GROUP, CLUSTER = ResourceType.TOPIC, ResourceType.GROUP, ResourceType.CLUSTER
MANY = 12
#: Under default-allow each name that is covered is an exception to what everybody may do.
HELD = [
    *(f"TOPIC:L:t{n} User:{n}@* ALLOW READ" for n in range(MANY)),
    *(f"TOPIC:P:p{n}. User:{n}@* ALLOW ALL" for n in range(MANY)),
    *(f"GROUP:L:g{n} User:{n}@* ALLOW READ" for n in range(MANY)),
    # Everybody has what these close to others, so they close nothing.
    "TOPIC:L:open User:*@* ALLOW ALL",
    *(f"CLUSTER:L:kafka-cluster User:{n}@* ALLOW CREATE" for n in range(0, MANY, 2)),
    "CLUSTER:L:kafka-cluster User:1@* ALLOW DESCRIBE",
]


def _asked(authorizer: Authorizer, kind: ResourceType) -> list[int]:
    """How many decisions each principal costs, the first one what all have in common, too."""
    common = CommonAccess(authorizer)
    counts = []
    for n in range(MANY):
        with patch.object(comparing, "permitted_by_api", side_effect=permitted_by_api) as counted:
            rows = common.of(f"User:{n}", kind)
        counts.append(counted.call_count)
        own = {tuple(row) for row in rows}
        whole = [row for row in access_of(authorizer, f"User:{n}") if row.resources.resource_type is kind]
        assert own == {(row.hosts, row.resources, row.operations, row.certain) for row in whole}
    return counts


@pytest.mark.parametrize("kind", [TOPIC, GROUP])
def test_a_principal_costs_what_its_own_names_do(kind: ResourceType) -> None:
    counts = _asked(Authorizer(bindings(*HELD), (), True, (4, 4)), kind)
    # Of topics there are two of them: those who may create by the cluster, and those who may not.
    first = 2 if kind is TOPIC else 1
    assert all(count >= MANY for count in counts[:first])
    assert all(0 < count <= 6 for count in counts[first:]), counts


def test_who_has_no_bindings_has_what_everybody_has() -> None:
    for default_allow in (False, True, None):
        common = CommonAccess(Authorizer(bindings(*HELD), ["User:root"], default_allow, (4, 4)))
        for kind in (TOPIC, GROUP, CLUSTER):
            everybody = common.of(common.everybody_else, kind)
            assert common.of("User:nobody-knows", kind) is everybody
            assert common.of(common.everybody_else, kind) is everybody
            assert common.of("User:1", kind) is not everybody


def test_nothing_is_in_common_where_every_name_is_covered_or_closed() -> None:
    covered = ["TOPIC:L:* User:1@* ALLOW READ", "GROUP:L:* User:1@10.0.0.1 ALLOW READ", "GROUP:P:* User:2@* DENY READ"]
    for default_allow in (False, True, None):
        authorizer = Authorizer(bindings(*HELD, *covered), (), default_allow, (4, 4))
        for kind in (TOPIC, GROUP, CLUSTER):
            _asked(authorizer, kind)
    hosted = [
        "TOPIC:L:h User:*@10.0.0.0/8 ALLOW ALL",
        "TOPIC:L:h User:3@10.0.0.1 DENY READ",
        "CLUSTER:P:k User:*@10.0.0.9 ALLOW DELETE",
    ]
    for more in (hosted[:1], hosted[:2], hosted, hosted[2:]):
        for kind in (TOPIC, CLUSTER):
            _asked(Authorizer(bindings(*HELD, *more), (), True, (4, 4)), kind)


@pytest.mark.parametrize("default_allow", [False, True, None])
def test_rows_of_its_own_cost_what_its_own_acls_do(default_allow: bool | None) -> None:
    of_all = [f"TOPIC:L:all{n} User:*@* ALLOW READ" for n in range(MANY)]
    own = OwnAccess(Authorizer(bindings(*HELD, *of_all), (), default_allow, (4, 4)))

    for n in range(2, MANY):
        with patch.object(comparing, "permitted_by_api", side_effect=permitted_by_api) as counted:
            rows = own.rows(f"User:{n}")
        assert 0 < counted.call_count <= 12
        assert len(rows) <= 8
