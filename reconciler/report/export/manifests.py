"""A state as a directory of manifests, with everything that it could not say."""

from collections.abc import Mapping
from dataclasses import field
from typing import Final

from reconciler.dataclass import dataclass
from reconciler.model import ClusterState, FrozenMap
from reconciler.report.export.kinds import KINDS, Inexpressible
from reconciler.report.export.style import DEFAULT_STYLE, ExportStyle
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
    style: ExportStyle = DEFAULT_STYLE


def export_manifests(
    state: ClusterState, *, cluster: str = "", heading: str = "", style: ExportStyle = DEFAULT_STYLE
) -> Export:
    """The manifests of ``state``; ``cluster`` is its name, for the first line of each file, or ``heading`` is that.

    Loading the files gives everything but ``left``, and besides it only what ``style`` allows.
    """
    head = comment(heading or f"As found on {cluster or 'the cluster'} ({state.cluster_id}).")
    parts = [kind.exported(state, style) for kind in KINDS]
    files: dict[str, list[str]] = {}
    for part in parts:
        for path, lines in part.files.items():
            # Kinds can share a file.
            files[path] = [*files[path], "---", *lines] if path in files else [head, *lines]
    if rest := [comment(text) for part in parts for text in part.comments]:
        files[LEFT_FILE] = [head, *rest]
    texts = {path: "\n".join(lines) + "\n" for path, lines in files.items()}
    return Export(FrozenMap(texts), tuple(item for part in parts for item in part.left), style)
