"""Reports what is declared and not in a cluster's scope."""

from collections.abc import Callable
from typing import Final

from reconciler.manifest.parts.clusters import ClusterDeclaration
from reconciler.manifest.reader.codes import Code
from reconciler.manifest.reader.findings import Findings, Trouble
from reconciler.model import Origin, Selector

#: So many declarations are named of those that one item ignores.
_NAMED: Final = 3
_IGNORED: Final = (
    "remove what is declared, or narrow this item: what it selects is somebody else's and is never planned"
)


class OutsideScope:
    """What lies outside is reported where it is declared; what an item of ``ignore`` selects, once at that item.

    Whoever adds such an item reads there what it would take out of the manifests' hands.
    """

    def __init__(self, cluster: ClusterDeclaration, findings_of: Callable[[str], Findings]) -> None:
        """Starts empty."""
        self._cluster, self._findings_of = cluster, findings_of
        self._ignored: dict[Origin, list[tuple[Origin, str]]] = {}

    def add(self, declared: Origin, what: str, selects: Callable[[Selector], bool], advice: str) -> None:
        """Something that the scope does not own; ``selects`` says whether an item of ``ignore`` is about it."""
        ignoring = self._cluster.ignoring(selects)
        if ignoring is not None:
            self._ignored.setdefault(ignoring, []).append((declared, what))
            return
        message = f"{what} is outside the scope of the cluster {self._cluster.name}"
        trouble = Trouble(Code.OUTSIDE_SCOPE, message, advice)
        self._findings_of(declared.file).add_at(trouble, declared, related=self._cluster.scope_origins)

    def report_ignored(self) -> None:
        """Reports each item that ignores something declared."""
        for item, found in self._ignored.items():
            found.sort()
            more = f" and {len(found) - _NAMED:,} more" if len(found) > _NAMED else ""
            named = ", ".join(what for _, what in found[:_NAMED])
            message = f"the cluster {self._cluster.name} ignores what the manifests declare: {named}{more}"
            trouble, related = Trouble(Code.OUTSIDE_SCOPE, message, _IGNORED), [place for place, _ in found[:_NAMED]]
            self._findings_of(item.file).add_at(trouble, item, related=dict.fromkeys(related))
