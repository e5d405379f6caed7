"""What a step that was not performed holds back where an uncovered resource is open to everyone."""

import pytest

from reconciler.model import (
    AccessControlEntry,
    AclBinding,
    AclOperation,
    AclPermissionType,
    Create,
    Delete,
    ResourcePattern,
    ResourceType,
)
from reconciler.plan import Blockers, Phase, Step

DENY, ALLOW = AclPermissionType.DENY, AclPermissionType.ALLOW


def acl(principal: str, host: str, permission: AclPermissionType) -> AclBinding:
    return AclBinding(
        ResourcePattern(ResourceType.GROUP, "g"), AccessControlEntry(principal, host, AclOperation.READ, permission)
    )


@pytest.mark.parametrize("default_allow", [True, None])
@pytest.mark.parametrize("hosts", [("10.0.0.1", "10.0.0.2"), ("*", "10.0.0.2"), ("10.0.0.1", "10.0.0.1")])
@pytest.mark.parametrize(
    ("created", "deleted", "phase"),
    [
        (ALLOW, ALLOW, Phase.DELETE_ALLOW),
        (DENY, ALLOW, Phase.DELETE_ALLOW),
        (ALLOW, DENY, Phase.DELETE_DENY),
        (DENY, DENY, Phase.DELETE_DENY),
    ],
)
def test_the_last_cover_stays_until_another_is_there_whatever_the_hosts(
    default_allow: bool | None,
    hosts: tuple[str, str],
    created: AclPermissionType,
    deleted: AclPermissionType,
    phase: Phase,
) -> None:
    failed = Create(acl("User:new", hosts[0], created))
    step = Step(phase, Delete(acl("User:old", hosts[1], deleted)))
    assert Blockers([failed], default_allow=default_allow).blocking(step) == failed


def test_where_default_allow_is_off_other_hosts_hold_nothing_back() -> None:
    failed = Create(acl("User:a", "10.0.0.1", ALLOW))
    step = Step(Phase.DELETE_ALLOW, Delete(acl("User:a", "10.0.0.2", ALLOW)))
    assert Blockers([failed], default_allow=False).blocking(step) is None
