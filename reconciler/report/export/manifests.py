"""A state as a directory of manifests, with everything that it could not say."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from reconciler.model import ClusterState, FrozenMap
from reconciler.report.export.kinds import KINDS, Inexpressible
from reconciler.report.export.yaml_text import comment

#: Comments only: what belongs to no other file.
LEFT_FILE: Final = "not-exported.yaml"


@dataclass(frozen=True, slots=True)
class Export:
    """Texts by path (with ``/``), and what no manifest can say, each with its reason, in order.

    What is left is also written into the files, as comments; so is what could not be read.
    """

    files: Mapping[str, str] = field(default_factory=FrozenMap)
    left: tuple[Inexpressible, ...] = ()


def export_manifests(state: ClusterState, *, cluster: str = "", heading: str = "", roles: bool = True) -> Export:
    """The manifests of ``state``; ``cluster`` is its name, for the first line of each file, or ``heading`` is that.

    With ``roles``, built-in roles say what they say exactly. Loading the files gives everything but ``left``.
    """
    head = comment(heading or f"As found on {cluster or 'the cluster'} ({state.cluster_id}).")
    parts = [kind.exported(state, roles=roles) for kind in KINDS]
    files = {path: [head, *lines] for part in parts for path, lines in part.files.items()}
    if rest := [comment(text) for part in parts for text in part.comments]:
        files[LEFT_FILE] = [head, *rest]
    texts = {path: "\n".join(lines) + "\n" for path, lines in files.items()}
    return Export(FrozenMap(texts), tuple(item for part in parts for item in part.left))
