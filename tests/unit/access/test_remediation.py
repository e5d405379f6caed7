"""What would mend a failed assertion: proven by applying it, over random states."""

from hypothesis import given
from hypothesis import strategies as st

from reconciler.access.assertion import Assertion, AssertionKind, AssertionOutcome
from reconciler.access.assertions import check
from reconciler.access.authorizer import Authorizer
from reconciler.access.remediation import simplify, suggest_fix
from reconciler.model.acl import SUPPORTED_OPERATIONS, AclBinding, AclOperation, ResourceType
from tests.worlds import bindings, pattern

_TEXTS = [
    f"{where} {who} {permission} {operation}"
    for where in ("TOPIC:L:a", "TOPIC:L:ab", "TOPIC:P:a", "TOPIC:L:*", "CLUSTER:L:kafka-cluster")
    for who in ("User:x@*", "User:y@10.0.0.1", "User:*@*")
    for permission in ("ALLOW", "DENY")
    for operation in (("ALTER",) if where.startswith("CLUSTER") else ("READ", "DESCRIBE", "ALL"))
]
_STATES = st.lists(st.sampled_from(_TEXTS), max_size=5, unique=True).map(lambda texts: bindings(*texts))
_CLAIMS = st.builds(
    Assertion,
    st.just("t"),
    st.sampled_from(AssertionKind),
    st.sets(st.sampled_from([AclOperation.READ, AclOperation.DESCRIBE]), min_size=1).map(frozenset),
    st.sampled_from(["TOPIC:L:a", "TOPIC:P:a", "TOPIC:L:*"]).map(lambda text: (pattern(text),)),
    st.sampled_from([("User:x",), ("User:*",), ("User:x", "User:y")]),
    hosts=st.sampled_from([("*",), ("10.0.0.1",)]),
)


@given(_STATES, _CLAIMS)
def test_a_mending_mends_and_changes_only_what_is_there(state: list[AclBinding], claim: Assertion) -> None:
    authorizer = Authorizer(state)
    verdict = check(claim, authorizer)
    found = suggest_fix(verdict, authorizer)
    if verdict.outcome is AssertionOutcome.PASS:
        assert found == ((), ())
        return
    if found is None:
        return
    assert found.create or found.delete
    assert set(found.delete) <= set(state)
    assert not set(found.create) & set(state)
    after = authorizer.with_changes(found.create, found.delete)
    assert check(claim, after).outcome is AssertionOutcome.PASS


@given(_STATES, _CLAIMS)
def test_what_is_undecided_is_not_mended(state: list[AclBinding], claim: Assertion) -> None:
    """Where the default decides, nobody knows whether anything is amiss."""
    authorizer = Authorizer(state, (), None)
    verdict = check(claim, authorizer)
    found = suggest_fix(verdict, authorizer)
    assert found is None or verdict.outcome is not AssertionOutcome.UNDECIDED


def mended(claim: Assertion, *texts: str, default_allow: bool = False, super_users: tuple[str, ...] = ()) -> str:
    authorizer = Authorizer(bindings(*texts), super_users, default_allow)
    found = suggest_fix(check(claim, authorizer), authorizer)
    return (
        "nothing" if found is None else "; ".join([*(f"+{b}" for b in found.create), *(f"-{b}" for b in found.delete)])
    )


READ = Assertion("t", AssertionKind.MUST, frozenset({AclOperation.READ}), (pattern("TOPIC:P:a"),), ("User:x",))


def test_a_missing_grant_is_created_on_the_whole_pattern() -> None:
    assert mended(READ, "TOPIC:L:ab User:x@* ALLOW READ") == "+User:x ALLOW READ on TOPIC PREFIXED a"


def test_no_more_is_granted_than_is_needed() -> None:
    configs = frozenset({AclOperation.DESCRIBE_CONFIGS, AclOperation.ALTER_CONFIGS})
    claim = Assertion("t", AssertionKind.MUST, configs, (pattern("TOPIC:P:a"),), ("User:x",))
    assert mended(claim) == "+User:x ALLOW ALTER_CONFIGS on TOPIC PREFIXED a"


def test_everything_is_one_grant_and_so_is_everybody() -> None:
    kind = SUPPORTED_OPERATIONS[ResourceType.TOPIC]
    everything = Assertion("t", AssertionKind.MUST, kind, (pattern("TOPIC:P:a"),), ("User:x",))
    assert mended(everything, "TOPIC:P:a User:x@* ALLOW READ") == "+User:x ALLOW ALL on TOPIC PREFIXED a"
    everybody = Assertion("t", AssertionKind.MUST, frozenset({AclOperation.READ}), (pattern("TOPIC:P:a"),))
    assert mended(everybody, "TOPIC:L:b User:x@* ALLOW READ") == "+User:* ALLOW READ on TOPIC PREFIXED a"


def test_write_on_a_topic_that_starts_an_idempotent_producer_is_named_and_goes() -> None:
    claim = Assertion(
        "t", AssertionKind.MUST_NOT, frozenset({AclOperation.IDEMPOTENT_WRITE}), (pattern("CLUSTER:L:kafka-cluster"),)
    )
    state = bindings("TOPIC:L:pay User:x@* ALLOW WRITE", "TOPIC:L:pay User:x@* ALLOW READ")
    assert check(claim, Authorizer(state)).bindings == (state[0],)
    assert mended(claim, *("TOPIC:L:pay User:x@* ALLOW WRITE", "TOPIC:L:pay User:x@* ALLOW READ")) == (
        "-User:x ALLOW WRITE on TOPIC pay"
    )


def test_a_deny_in_the_way_is_deleted() -> None:
    texts = ("TOPIC:P:a User:x@* ALLOW READ", "TOPIC:L:ab User:*@10.0.0.1 DENY READ")
    assert mended(READ, *texts) == "-User:* DENY READ from 10.0.0.1 on TOPIC ab"


def test_what_no_binding_permits_is_not_for_bindings_to_mend() -> None:
    nobody = Assertion("t", AssertionKind.MUST_NOT, frozenset({AclOperation.READ}), (pattern("TOPIC:P:a"),))
    assert mended(nobody, default_allow=True) == "nothing"
    supers = Assertion(*(nobody.name, nobody.claim, nobody.operations, nobody.patterns), include_super_users=True)
    assert mended(supers, super_users=("User:admin",)) == "nothing"


def test_fewer_acls_are_without_a_deny_that_denies_nothing_and_with_an_allow_that_a_later_release_reads() -> None:
    """Neither has an effect in this release: the DENY is dead weight, the ALLOW somebody wanted."""
    nothing = bindings("GROUP:L:g User:a@* ALLOW CREATE", "GROUP:L:h User:a@* DENY CREATE")
    authorizer = Authorizer([*nothing, *bindings("GROUP:L:k User:a@* ALLOW READ")])
    assert [removal.binding for removal in simplify(authorizer).removed] == [nothing[1]]
