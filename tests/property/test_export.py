"""Export and the manifests' reader agree: what is exported loads as exactly what was live, whatever its names hold."""

import datetime
import re
from collections.abc import Callable, Mapping

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from reconciler.manifest.manifests import desired_state, load
from reconciler.manifest.read.findings import Source
from reconciler.manifest.read.problem import ManifestError
from reconciler.manifest.write.kinds.acl import acls_document
from reconciler.manifest.write.manifests import cluster_document, differences, export_manifests
from reconciler.manifest.write.text import ExportStyle, binding_problem, text_problem
from reconciler.model.acl import (
    AccessControlEntry,
    AclBinding,
    AclOperation,
    AclPermissionType,
    ResourcePattern,
    ResourceType,
)
from reconciler.model.desired import DesiredState
from reconciler.model.scope import Scope
from reconciler.model.state import ClusterState
from reconciler.model.topic import Topic
from reconciler.model.topic_configs import TOPIC_CONFIGS
from reconciler.parts.edit.app.adopt import adopted
from reconciler.parts.edit.app.adopt import differences as adoptable
from reconciler.plan.difference import DiffRules
from reconciler.plan.kinds import compare
from tests.property.edits import NOWHERE
from tests.property.strategies import (
    bindings,
    entries,
    patterns,
    principals,
    states,
    wild_bindings,
    wild_names,
    wild_states,
    wild_text,
)

CLUSTER = cluster_document("prod", ["broker-1:9093"])
TODAY = datetime.date(2026, 1, 1)


def desired(files: Mapping[str, str]) -> DesiredState:
    sources = [Source("cluster.yaml", CLUSTER), *(Source(path, text) for path, text in files.items())]
    return desired_state(load(sources), "prod", TODAY)


@given(states())
def test_what_is_exported_is_what_was_live(state: ClusterState) -> None:
    check(state)


def from_nothing(state: ClusterState) -> Mapping[str, str]:
    """The files by which an editor adopts all of a state that no manifest declares yet."""
    rules = DiffRules(prune={Topic.KIND})
    found, unseen = adoptable(compare(desired({}), state, Scope(), rules), state)
    files, refused = adopted({"cluster.yaml": CLUSTER}, "prod", found, state, NOWHERE)
    assert (unseen, refused) == ([], [])
    return {path: text for path, text in files.items() if path != "cluster.yaml"}


#: Each way in which manifests are written of a state: by the exporter, in the styles that commands use, and the editor.
WAYS: Mapping[str, Callable[[ClusterState], Mapping[str, str]]] = {
    "plain": lambda state: export_manifests(state, style=ExportStyle(roles=False)).files,
    "roles": lambda state: export_manifests(state).files,
    "together": lambda state: export_manifests(state, style=ExportStyle(together=True)).files,
    "applications": lambda state: export_manifests(state, style=ExportStyle(applications=True)).files,
    "adopt": from_nothing,
}


@pytest.mark.parametrize("way", WAYS)
@settings(max_examples=20)
@given(state=states())
def test_what_is_written_in_any_way_reads_back_as_what_it_was(way: str, state: ClusterState) -> None:
    unwritable = [item.item for item in export_manifests(state).inexpressible]
    names = {item.name for item in unwritable if isinstance(item, Topic)}
    topics = {name: topic for name, topic in state.topics.items() if name not in names}
    kept = state.bindings.difference(item for item in unwritable if isinstance(item, AclBinding))
    state = ClusterState(state.cluster_id, kept, topics)
    assume(not export_manifests(state).inexpressible)
    read_back = desired(WAYS[way](state))
    left = compare(read_back, state, Scope(), DiffRules(prune={Topic.KIND}))
    assert (left.changes, left.skipped) == ((), ())


@given(wild_states)
def test_whatever_its_names_hold(state: ClusterState) -> None:
    check(state)


def check(state: ClusterState) -> None:
    for style in (ExportStyle(), ExportStyle(together=True, applications=True)):
        check_style(state, style)


def check_style(state: ClusterState, style: ExportStyle) -> None:
    export = export_manifests(state, cluster="prod", style=style)
    wanted = desired(export.files)
    left = {item.item for item in export.inexpressible if isinstance(item.item, AclBinding)}
    assert wanted.bindings.keys() | left == state.bindings
    assert not wanted.bindings.keys() & left
    left_topics = {item.item.name for item in export.inexpressible if isinstance(item.item, Topic)}
    assert wanted.topics.keys() | left_topics == state.topics.keys()
    for name, topic in wanted.topics.items():
        live = state.topics[name]
        assert not topic.absent
        assert (topic.topic.num_partitions, topic.topic.replication_factor, topic.topic.configs) == (
            live.num_partitions,
            live.replication_factor,
            live.configs,
        )


ordinary = st.builds(AclBinding, patterns(wild_names), entries(principals))


@given(st.one_of(bindings, ordinary, wild_bindings))
def test_only_what_the_reader_refuses_is_left(binding: AclBinding) -> None:
    text = "\n".join(acls_document("x", [binding.entry.principal], [binding])) + "\n"
    try:
        read = set(desired({"acls/x.yaml": text}).bindings)
    except ManifestError:
        read = set()
    # The cluster as a prefix has no form of its own and would read as the literal one.
    assert (read == {binding}) is (binding_problem(binding) is None)


@given(wild_states)
def test_the_same_state_gives_the_same_files(state: ClusterState) -> None:
    shuffled = ClusterState(
        state.cluster_id,
        frozenset(sorted(state.bindings, reverse=True)),
        dict(sorted(state.topics.items(), reverse=True)),
        state.opaque[::-1],
        state.unreadable_topics,
        state.acl_gap,
        state.topic_gap,
    )
    assert export_manifests(shuffled) == export_manifests(state)


@given(wild_states)
def test_paths_are_safe_and_unique_on_every_file_system(state: ClusterState) -> None:
    paths = export_manifests(state).files
    assert len({path.casefold() for path in paths}) == len(paths)
    for path in paths:
        assert re.fullmatch(r"((acls|topics)/)?[A-Za-z0-9][A-Za-z0-9._-]*\.yaml", path)


@given(wild_states)
def test_everything_that_is_left_is_said_in_a_file(state: ClusterState) -> None:
    export = export_manifests(state)
    comments = [line for text in export.files.values() for line in text.splitlines() if line.startswith("# ")]
    reasons = [item.reason for item in export.inexpressible]
    assert all(any(line.endswith(reason) for line in comments) for reason in reasons)
    assert sum(line.startswith("# An ACL of a kind") for line in comments) == len(state.opaque)


@given(wild_text.filter(lambda text: "${" not in text))
def test_a_cluster_document_holds_the_texts_it_was_given_or_refuses_them(text: str) -> None:
    if text_problem(text) is not None:
        with pytest.raises(ValueError, match="cannot stand in a manifest"):
            cluster_document("prod", [text])
    else:
        try:
            clusters = load([Source("cluster.yaml", cluster_document("prod", [text]))]).clusters
        except ManifestError:  # it is no address
            return
        assert clusters["prod"].bootstrap_servers == (text,)


#: Brokers keep a value as it was typed, and take more spellings and values than manifests do.
live_settings = st.one_of(
    st.tuples(st.sampled_from(sorted(TOPIC_CONFIGS)), st.text("0159.+-_ adegnoprtuz", max_size=6)),
    st.tuples(
        st.sampled_from(["cleanup.policy", "preallocate", "retention.ms", "min.cleanable.dirty.ratio", "new.setting"]),
        st.sampled_from(
            ["compact, delete", "delete,compact", "", "TRUE", "+604800000", "0086400000", "0.50", ".5", "7d"]
        ),
    ),
)


@given(live_settings)
def test_a_setting_is_exported_as_the_value_it_has_or_its_topic_is_left(setting: tuple[str, str]) -> None:
    name, text = setting
    state = ClusterState("c", topics={"t": Topic("t", 1, 1, {name: text}), "u": Topic("u", 1, 1)})
    export = export_manifests(state)
    wanted = desired(export.files)
    assert differences(export, state, {"cluster.yaml": CLUSTER}, "prod") == []
    assert wanted.topics.keys() | {item.item.name for item in export.inexpressible if isinstance(item.item, Topic)} == {
        "t",
        "u",
    }
    assert not compare(wanted, state, Scope(), DiffRules()).changes


def test_many_topics_are_split_by_what_stands_before_the_first_dot() -> None:
    names = [f"{prefix}topic-{number}" for prefix in ("pay.", "Pay.", "", "_.") for number in range(20)]
    state = ClusterState("c", topics={name: Topic(name, 1, 1) for name in names})
    export = export_manifests(state)
    assert sorted(export.files) == ["topics/others.yaml", "topics/pay.yaml", "topics/unnamed.yaml"]
    assert desired(export.files).topics.keys() == state.topics.keys()


def test_a_host_with_a_zone_is_exported() -> None:
    entry = AccessControlEntry("User:a", "fe80:0:0:0:0:0:0:1%eth0", AclOperation.READ, AclPermissionType.ALLOW)
    live = AclBinding(ResourcePattern(ResourceType.TOPIC, "t"), entry)
    export = export_manifests(ClusterState("c", frozenset([live])))
    assert export.inexpressible == ()
    assert desired(export.files).bindings.keys() == {live}
