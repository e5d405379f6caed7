"""What the port promises of ACLs: created, listed and deleted by all seven fields, one answer an item, in order."""

import pytest

from reconciler.model.acl import (
    CLUSTER_NAME,
    SUPPORTED_OPERATIONS,
    AccessControlEntry,
    AclBinding,
    AclOperation,
    AclPermissionType,
    PatternType,
    ResourcePattern,
    ResourceType,
)
from reconciler.ports import AnswerStatus
from tests.contract.subject import Subject, codes, verdicts
from tests.verbs import creations, deletions

CARRIED = [ResourceType.TOPIC, ResourceType.GROUP, ResourceType.CLUSTER, ResourceType.TRANSACTIONAL_ID]
LAST_CARRIED = AclOperation.IDEMPOTENT_WRITE
BOTH = [PatternType.LITERAL, PatternType.PREFIXED]

ODD_TEXTS = [
    "with space",
    "a:b:c",
    "a,b;c",
    'it\'s "quoted"',
    "back\\slash",
    "<script>&amp;",
    "café 名前 🦀",
    "e\u0301 is not é",
    "\u202eright to left",
    "tab\there\nand a line",
    "x" * 249,
    "x" * 2_000,
]


def binding(
    name: str,
    principal: str,
    operation: AclOperation = AclOperation.READ,
    *,
    kind: ResourceType = ResourceType.TOPIC,
    pattern_type: PatternType = PatternType.LITERAL,
    host: str = "*",
    permission: AclPermissionType = AclPermissionType.ALLOW,
) -> AclBinding:
    entry = AccessControlEntry(principal, host, operation, permission)
    return AclBinding(ResourcePattern(kind, name, pattern_type), entry)


def create(subject: Subject, own: str, *wanted: AclBinding) -> None:
    assert verdicts(subject.cluster.send(creations(wanted))) == [AnswerStatus.DONE] * len(wanted)
    subject.bindings_under(own, set(wanted))


def test_nothing_asked_is_nothing_answered(subject: Subject) -> None:
    assert subject.cluster.send([]) == []
    assert subject.cluster.validate([]) == []


def test_kafka_cannot_be_asked_about_bindings_in_advance(subject: Subject, own: str) -> None:
    asked = binding(own, own)
    for verb in (creations, deletions):
        (answer,) = subject.cluster.validate(verb([asked]))
        assert (answer.status, answer.code) == (AnswerStatus.UNKNOWN, "not_validated")
    subject.bindings_under(own, set())


@pytest.mark.parametrize("kind", CARRIED)
def test_every_operation_that_a_resource_has_is_carried(subject: Subject, own: str, kind: ResourceType) -> None:
    name = CLUSTER_NAME if kind is ResourceType.CLUSTER else own
    operations = [operation for operation in SUPPORTED_OPERATIONS[kind] if operation <= LAST_CARRIED]
    wanted = [
        binding(name, f"User:{own}", operation, kind=kind, permission=permission)
        for operation in [AclOperation.ALL, *sorted(operations)]
        for permission in (AclPermissionType.DENY, AclPermissionType.ALLOW)
    ]
    create(subject, own, *wanted)
    assert verdicts(subject.cluster.send(deletions(wanted))) == [AnswerStatus.DONE] * len(wanted)
    subject.bindings_under(own, set())


def test_pattern_types_and_the_wildcard_are_told_apart(subject: Subject, own: str) -> None:
    user = f"User:{own}"
    wanted = [
        binding(name, user, kind=kind, pattern_type=pattern_type)
        for kind in (ResourceType.TOPIC, ResourceType.GROUP, ResourceType.TRANSACTIONAL_ID)
        for name in (own, "*")
        for pattern_type in BOTH
    ]
    create(subject, own, *wanted)
    gone = [item for item in wanted if item.pattern.pattern_type is PatternType.LITERAL]
    subject.cluster.send(deletions(gone))
    subject.bindings_under(own, set(wanted) - set(gone))


@pytest.mark.parametrize("field", ["group", "topic", "principal", "host"])
def test_odd_texts_come_back_exactly_and_are_deleted_exactly(subject: Subject, own: str, field: str) -> None:
    texts = [f"{own} {text}" for text in ODD_TEXTS]
    user = f"User:{own}"
    wanted = {
        "group": [binding(text, user, kind=ResourceType.GROUP) for text in texts],
        "topic": [binding(text, user) for text in texts],
        "principal": [binding(own, f"User:{text}") for text in texts],
        "host": [binding(own, user, host=text) for text in texts],
    }[field]
    create(subject, own, *wanted)
    subject.cluster.send(deletions(wanted[::2]))
    subject.bindings_under(own, set(wanted[1::2]))


@pytest.mark.parametrize(
    "host", ["", "10.0.0.0/33", "host.example/8", "::ffff:10.0.0.0/104", "fe80::%1/10", "10.0.0.5/8"]
)
def test_hosts_that_4_4_refuses_are_texts_before(subject: Subject, own: str, host: str) -> None:
    wanted = binding(own, f"User:{own}", host=host)
    # CidrUtils of 4.4 ignores the bits after the length and a numbered scope.
    refused = subject.version >= (4, 4) and host not in ("fe80::%1/10", "10.0.0.5/8")
    (answer,) = subject.cluster.send(creations([wanted]))
    assert answer.code == ("INVALID_REQUEST" if refused else "")
    subject.bindings_under(own, set() if refused else {wanted})


def test_what_differs_in_one_field_is_another_binding(subject: Subject, own: str) -> None:
    user = f"User:{own}"
    one = binding(own, user)
    others = [
        binding(f"{own}x", user),
        binding(own.upper(), user),
        binding(own, f"Group:{own}"),
        binding(own, f"user:{own}"),
        binding(own, f"User: {own}"),
        binding(own, user, host="10.0.0.7"),
        binding(own, user, AclOperation.ALL),
        binding(own, user, kind=ResourceType.GROUP),
        binding(own, user, pattern_type=PatternType.PREFIXED),
        binding(own, user, permission=AclPermissionType.DENY),
    ]
    create(subject, own, one, *others)
    subject.cluster.send(deletions([one]))
    subject.bindings_under(own, set(others))


def test_deleting_what_everybody_means_deletes_that_entry_only(subject: Subject, own: str) -> None:
    everybody, somebody = binding(own, "User:*"), binding(own, f"User:{own}", host="10.0.0.7")
    create(subject, own, everybody, somebody)
    subject.cluster.send(deletions([everybody]))
    subject.bindings_under(own, {somebody})


def test_an_existing_binding_is_created_again_with_success(subject: Subject, own: str) -> None:
    there, new = binding(own, "User:a"), binding(own, "User:b")
    create(subject, own, there)
    assert verdicts(subject.cluster.send(creations([there, new]))) == [AnswerStatus.DONE] * 2
    subject.bindings_under(own, {there, new})


def test_a_missing_binding_is_deleted_with_success(subject: Subject, own: str) -> None:
    there, missing = binding(own, "User:a"), binding(own, "User:b")
    create(subject, own, there)
    assert verdicts(subject.cluster.send(deletions([missing]))) == [AnswerStatus.DONE]
    subject.bindings_under(own, {there})


def test_a_bad_item_fails_alone_and_in_its_place(subject: Subject, own: str) -> None:
    good = [binding(own, f"User:{letter}") for letter in "abc"]
    bad = binding(f"not-the-cluster-{own}", "User:a", AclOperation.ALTER, kind=ResourceType.CLUSTER)
    answers = subject.cluster.send(creations([good[0], bad, good[1], good[2]]))
    assert codes(answers) == ["", "INVALID_REQUEST", "", ""]
    assert verdicts(answers) == [AnswerStatus.DONE, AnswerStatus.FAILED, AnswerStatus.DONE, AnswerStatus.DONE]
    assert answers[1].message
    subject.bindings_under(own, set(good))


def test_the_cluster_may_be_a_prefix_of_its_one_name(subject: Subject, own: str) -> None:
    prefixed = binding(CLUSTER_NAME, f"User:{own}", kind=ResourceType.CLUSTER, pattern_type=PatternType.PREFIXED)
    create(subject, own, prefixed)


def test_a_principal_without_a_colon_is_refused(subject: Subject, own: str) -> None:
    # KAFKA-18051, 4.0, and in 3.9.2 too; where it was accepted, the entry broke every request that met it.
    answers = subject.cluster.send(creations([binding(own, own, kind=ResourceType.GROUP)]))
    assert codes(answers) == ["INVALID_REQUEST"]
    assert own in answers[0].message
    subject.bindings_under(own, set())


def test_a_thousand_in_one_request(subject: Subject, own: str) -> None:
    wanted = [binding(f"{own}-{number // 10}", f"User:{number % 10}") for number in range(1_000)]
    create(subject, own, *wanted)
    assert verdicts(subject.cluster.send(deletions(wanted))) == [AnswerStatus.DONE] * len(wanted)
    subject.bindings_under(own, set())
