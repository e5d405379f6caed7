"""What JSON asks of a listed kind. Each other module of this folder is one kind, in its ``KIND``."""

import re
from typing import Any, NamedTuple

from reconciler.codec.objects import Record
from reconciler.model.listing import ListedItem


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
