"""The listed kinds in JSON, by the annotations of their values."""

import re
from collections.abc import Mapping
from typing import Any, Final, NamedTuple

from reconciler.codec.annotated import record_of
from reconciler.codec.objects import Record
from reconciler.model.kinds import listed_types
from reconciler.model.listing import ListedItem
from reconciler.model.topic import Topic


class Kind(NamedTuple):
    """A listed kind: the type of its resources, whose ``KIND`` names the field that holds them, and their codec."""

    TYPE: type[ListedItem]
    CODEC: Record[Any]

    @property
    def gap_field(self) -> str:
        """The field that says why they could not be read: ``quotaGap``."""
        return f"{self.TYPE.KIND.removesuffix('s')}Gap"

    @property
    def file_stem(self) -> str:
        """The file of an export that holds them, without its ending: ``quotas``."""
        return re.sub("[A-Z]", lambda found: f"-{found[0].lower()}", self.TYPE.KIND)


KINDS: Final = tuple(Kind(item, record_of(item)) for item in listed_types())
#: The names of all listed kinds: who wants to read everything asks for these.
LISTED: Final = tuple(kind.TYPE.KIND for kind in KINDS)
#: What people call several of each, by name: ``group configs``.
PLURALS: Final[Mapping[str, str]] = {kind.TYPE.KIND: kind.file_stem.replace("-", " ") for kind in KINDS}
#: The kinds of which everything undeclared can be to go, as manifests and plan files say it under ``prune``.
PRUNABLE: Final = (Topic.KIND, *LISTED)


def json_kind(resource: type[ListedItem]) -> Kind:
    """The listed kind with resources of this type."""
    return next(kind for kind in KINDS if kind.TYPE is resource)
