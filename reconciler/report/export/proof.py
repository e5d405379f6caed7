"""Manifests read back: what they declare, held against what they were made from."""

import datetime
from collections.abc import Mapping

from reconciler.manifest import Source, desired_state, load
from reconciler.model import ClusterState
from reconciler.report.export.kinds import KINDS
from reconciler.report.export.manifests import Export

_LONG_AGO = datetime.date.min


def differences(export: Export, state: ClusterState, cluster: Mapping[str, str], name: str) -> list[str]:
    """How the manifests differ from ``state`` less what the export left; nothing where they say exactly that.

    ``cluster`` is the file that declares the cluster ``name``. Raises ``ManifestError`` where the manifests are not
    valid. With implied operations, a binding besides ``state`` counts only if another one of it implies what it grants.
    """
    texts = {**cluster, **export.files}
    wanted = desired_state(load(Source(path, text) for path, text in texts.items()), name, _LONG_AGO)
    left = {item.item for item in export.left}
    return [line for kind in KINDS for line in kind.differences(state, wanted, left, export.style)]
