"""What a cluster says of itself against its ACLs: a doubt is said, and no answer is calmer for it."""

from dataclasses import replace

import pytest

from reconciler.app.options import today
from reconciler.app.terms import access_doubts, terms
from reconciler.apply.environment import Result
from reconciler.manifest.parts.clusters import ClusterDeclaration
from reconciler.model.acl import AclOperation
from reconciler.model.desired import DesiredState, Origin
from reconciler.model.flavor import CLASS_NAME, FLAVORS
from reconciler.model.state import ClusterState, FactSource, FactSources
from reconciler.plan.propose import Request, propose
from reconciler.show.result import result_document, result_lines
from tests.worlds import binding

_O = AclOperation
OURS = ClusterDeclaration(
    "prod",
    Origin("c.yaml", 1, 1),
    principal="User:me",
    allow_everyone_if_no_acl_found=False,
    sources=FactSources(default_allow=FactSource.OPERATOR),
)
MAY = "User:me ALLOW ALTER on CLUSTER kafka-cluster"
ALL = frozenset(
    {_O.CREATE, _O.CLUSTER_ACTION, _O.DESCRIBE_CONFIGS, _O.ALTER_CONFIGS, _O.IDEMPOTENT_WRITE, _O.ALTER, _O.DESCRIBE}
)


def state(*live: str, operations: frozenset[AclOperation] | None) -> ClusterState:
    found = frozenset(map(binding, live))
    return ClusterState("c", found, kafka_version=(4, 4), own_operations=operations)


def test_rights_as_the_acls_have_them_raise_no_doubt() -> None:
    assert access_doubts(state(MAY, operations=frozenset({_O.ALTER, _O.DESCRIBE})), OURS) == ()
    assert access_doubts(state(MAY, operations=None), OURS) == ()
    assert access_doubts(state(operations=ALL), replace(OURS, super_users=("User:me",))) == ()
    assert access_doubts(state(operations=ALL), replace(OURS, principal=None)) == ()
    assert access_doubts(state(operations=ALL), None) == ()


def test_a_login_that_may_do_what_no_acl_lets_it_is_told() -> None:
    (told,) = access_doubts(state(MAY, operations=ALL), OURS)
    assert "brokers let this login CREATE, CLUSTER_ACTION" in told
    assert "a super user that nobody states, spec.principal is not this login, or ACLs do not decide here" in told


def test_a_default_allow_that_only_the_manifests_deny_is_one_more_reason() -> None:
    claimed = replace(OURS, sources=FactSources(default_allow=FactSource.MANIFESTS))
    (told,) = access_doubts(state(operations=ALL), claimed)
    assert "allowEveryoneIfNoAclFound is on, or ACLs do not decide here" in told


def test_a_login_that_may_not_do_what_acls_let_it_is_told() -> None:
    (told,) = access_doubts(state(MAY, operations=frozenset({_O.DESCRIBE})), OURS)
    assert "brokers do not let this login ALTER on the cluster" in told
    (told,) = access_doubts(state(operations=frozenset({_O.DESCRIBE})), replace(OURS, super_users=("User:me",)))
    assert "superUsers is wrong" in told


@pytest.mark.parametrize(
    ("live", "operations", "declaration"),
    [
        # From which address we come, nobody here knows.
        (("User:me ALLOW ALTER on CLUSTER kafka-cluster from 10.0.0.1",), {_O.ALTER, _O.DESCRIBE}, OURS),
        ((MAY, "User:* DENY ALTER on CLUSTER kafka-cluster from 10.0.0.0/8"), {_O.DESCRIBE}, OURS),
        # Nobody knows default-allow, or only the manifests do.
        ((), ALL, replace(OURS, allow_everyone_if_no_acl_found=None)),
        (
            (),
            (),
            replace(OURS, allow_everyone_if_no_acl_found=True, sources=FactSources(default_allow=FactSource.FLAVOR)),
        ),
        # Role bindings.
        ((), ALL, replace(OURS, flavor=FLAVORS["confluent-cloud"])),
    ],
)
def test_what_something_else_may_explain_is_no_doubt(
    live: tuple[str, ...], operations: frozenset[AclOperation], declaration: ClusterDeclaration
) -> None:
    assert access_doubts(state(*live, operations=frozenset(operations)), declaration) == ()


def test_what_is_applied_under_an_authorizer_of_another_make_is_not_called_verified() -> None:
    live = replace(state(operations=None), broker_configs={CLASS_NAME: "com.acme.Authorizer"})
    (doubt,) = access_doubts(live, OURS)
    assert doubt.startswith("ACLs are stored here and may not decide: authorizer.class.name=com.acme.Authorizer")
    plan = propose(DesiredState(), live, terms(OURS), Request(today(), warnings=(doubt,)))
    assert doubt in plan.warnings
    result = Result(plan, (), verified=True, doubt=doubt)
    text = "\n".join(result_lines(result))
    assert "verified" not in text
    assert "may not decide" in text
    assert result_document(result)["enforcementDoubt"] == doubt
    assert "enforcementDoubt" not in result_document(replace(result, doubt=""))
