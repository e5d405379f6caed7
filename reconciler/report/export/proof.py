"""Manifests read back: what they declare, held against what they were made from."""

import datetime
from collections.abc import Mapping
from dataclasses import replace

from reconciler.manifest import Source, desired_state, load
from reconciler.model import AclBinding, ClusterState, Topic, normal_form
from reconciler.report.export.manifests import Export

_LONG_AGO = datetime.date.min


def differences(export: Export, state: ClusterState, cluster: Mapping[str, str], name: str) -> list[str]:
    """How the manifests differ from ``state`` less what the export left; nothing where they say exactly that.

    ``cluster`` is the file that declares the cluster ``name``. Raises ``ManifestError`` where the manifests are not
    valid.
    """
    texts = {**cluster, **export.files}
    wanted = desired_state(load(Source(path, text) for path, text in texts.items()), name, _LONG_AGO)
    expected = state.bindings - {binding for binding, _ in export.left}
    left = {topic for topic, _ in export.left_topics}
    topics = {key: _in_normal_form(topic) for key, topic in state.topics.items() if key not in left}
    declared = {key: topic.topic for key, topic in wanted.topics.items() if not topic.absent}
    return [
        *(f"missing: {binding}" for binding in sorted(expected - wanted.bindings.keys())),
        *(f"too much: {binding}" for binding in _sorted(wanted.bindings.keys() - expected)),
        *(f"topic {key} differs" for key in sorted(topics) if declared.get(key) != topics[key]),
        *(f"too much: topic {key}" for key in sorted(declared.keys() - topics.keys())),
    ]


def _in_normal_form(topic: Topic) -> Topic:
    """The topic with its settings as manifests are read: two spellings of one value are no difference."""
    return replace(topic, configs={name: normal_form(name, text) for name, text in topic.configs.items()})


def _sorted(bindings: set[AclBinding]) -> list[AclBinding]:
    return sorted(bindings)
