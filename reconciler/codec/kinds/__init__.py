"""The listed kinds in JSON: one module each."""

from collections.abc import Mapping
from typing import Final

from reconciler.codec.kinds.interface import Kind
from reconciler.model.kinds import listed_kinds
from reconciler.model.topic import Topic

__all__ = ["KINDS", "LISTED", "PLURALS", "PRUNE_FIELDS", "Kind"]

KINDS: Final[tuple[Kind, ...]] = listed_kinds(__name__)
#: The names of all listed kinds: who wants to read everything asks for these.
LISTED: Final = tuple(kind.TYPE.KIND for kind in KINDS)
#: What people call several of each, by name: ``group configs``.
PLURALS: Final[Mapping[str, str]] = {kind.TYPE.KIND: kind.file_stem.replace("-", " ") for kind in KINDS}
#: The fields of manifests and plan files that say of which kinds everything undeclared is to go: ``pruneTopics``.
PRUNE_FIELDS: Final[Mapping[str, str]] = {f"prune{name[0].upper()}{name[1:]}": name for name in (Topic.KIND, *LISTED)}
