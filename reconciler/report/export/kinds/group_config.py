"""Live group configs as one ``Groups`` document."""

from collections.abc import Iterator
from typing import Final

from reconciler.codec.kinds import json_kind
from reconciler.manifest.kinds.groups import group_name_problem
from reconciler.model.kinds.group_config import GroupConfig
from reconciler.report.export.expressible import text_problem
from reconciler.report.export.kinds.interface import Kind
from reconciler.report.export.kinds.listed import ListedKind
from reconciler.report.export.yaml_text import scalar


def group_problem(config: GroupConfig) -> str | None:
    """Why no manifest can declare the configs of a group; ``None`` if one can."""
    trouble = group_name_problem(config.group)
    texts = (config.group, *config.values, *config.values.values())
    refused = config.refusal()
    if trouble is not None:
        return trouble.message
    return next(filter(None, map(text_problem, texts)), None) or (refused and refused.message)


def _item(config: GroupConfig) -> Iterator[str]:
    yield f"    - name: {scalar(config.group)}"
    yield "      configs:"
    yield from (f"        {scalar(name)}: {scalar(value)}" for name, value in config.values.items())


KIND: Final[Kind] = ListedKind(json_kind(GroupConfig), "Groups", "groups", group_problem, _item)
