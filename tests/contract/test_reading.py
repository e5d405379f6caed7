"""What the port promises of reading: exactly what was asked for, and nothing else under its name."""

from dataclasses import replace

from reconciler.model.acl import (
    AccessControlEntry,
    AclBinding,
    AclOperation,
    AclPermissionType,
    ResourcePattern,
    ResourceType,
)
from reconciler.model.topic import Topic
from reconciler.ports import ReadRequest
from tests.contract.subject import ACLS, Subject, these
from tests.verbs import creations


def arranged(subject: Subject, own: str) -> AclBinding:
    """Two topics and a binding, seen."""
    entry = AccessControlEntry(f"User:{own}", "*", AclOperation.READ, AclPermissionType.ALLOW)
    binding = AclBinding(ResourcePattern(ResourceType.GROUP, own), entry)
    subject.cluster.send(creations([binding]))
    subject.cluster.send(creations([Topic(f"{own}-a", 1, 1), Topic(f"{own}-b", 1, 1)]))
    subject.topics(f"{own}-a", f"{own}-b")
    subject.bindings_under(own, {binding})
    return binding


def test_everything(subject: Subject, own: str) -> None:
    binding = arranged(subject, own)
    state = subject.read(ReadRequest())
    assert binding in state.bindings
    assert {f"{own}-a", f"{own}-b"} <= set(state.topics)
    assert state.acl_gap is None
    assert state.topic_gap is None


def test_a_pattern_that_the_caller_has_is_the_one_that_it_has(subject: Subject, own: str) -> None:
    binding = arranged(subject, own)
    had = ResourcePattern(*binding.pattern)
    state = subject.read(replace(ACLS, known={had: had}))
    assert state == subject.read(ACLS)
    (found,) = (one for one in state.bindings if one == binding)
    assert found.pattern is had


def test_the_acls_alone(subject: Subject, own: str) -> None:
    binding = arranged(subject, own)
    state = subject.read(ACLS)
    assert binding in state.bindings
    assert dict(state.topics) == {}


def test_the_version_comes_with_the_acls(subject: Subject) -> None:
    assert subject.read(ACLS).kafka_version == subject.version


def test_the_topics_alone(subject: Subject, own: str) -> None:
    arranged(subject, own)
    state = subject.read(ReadRequest(acls=False))
    assert state.bindings == frozenset()
    assert {f"{own}-a", f"{own}-b"} <= set(state.topics)
    assert state.topic_gap is None


def test_the_names_of_topics_beside_the_acls(subject: Subject, own: str) -> None:
    binding = arranged(subject, own)
    state = subject.read(ReadRequest(all_topics=False, topic_names=(f"{own}-a",), topic_listing=True))
    assert binding in state.bindings
    assert list(state.topics) == [f"{own}-a"]
    assert {f"{own}-a", f"{own}-b"} <= state.topic_names
    assert subject.read(ACLS).topic_names == frozenset()


def test_topics_by_name_without_those_that_are_not_there(subject: Subject, own: str) -> None:
    arranged(subject, own)
    state = subject.read(these(f"{own}-b", f"{own}-none"))
    assert list(state.topics) == [f"{own}-b"]
    assert dict(state.unreadable_topics) == {}


def test_names_beside_all_topics_change_nothing(subject: Subject, own: str) -> None:
    arranged(subject, own)
    state = subject.read(ReadRequest(acls=False, topic_names=(f"{own}-b", f"{own}-none")))
    assert {f"{own}-a", f"{own}-b"} <= set(state.topics)
    assert f"{own}-none" not in state.topics


def test_nothing_but_the_cluster_itself(subject: Subject, own: str) -> None:
    arranged(subject, own)
    state = subject.read(ReadRequest(acls=False, all_topics=False))
    assert state.cluster_id == subject.read(ReadRequest()).cluster_id
    assert (state.bindings, dict(state.topics), state.opaque) == (frozenset(), {}, ())


def test_what_did_not_change_reads_alike(subject: Subject, own: str) -> None:
    arranged(subject, own)
    request = these(f"{own}-a", f"{own}-b")
    assert subject.read(request) == subject.read(request)
