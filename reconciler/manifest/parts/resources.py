"""The forms in which resources are named, in rules, selectors, tests and owners."""

import re
from collections import defaultdict
from typing import Annotated, Final, TypeAlias

from pydantic import ConfigDict, Discriminator, Field, Tag

from reconciler.manifest.parts.fields import (
    LIST_TAG,
    MAPPING_TAG,
    TEXT_TAG,
    Boolean,
    ManifestModel,
    OneOrMoreTexts,
    Text,
    shape,
)
from reconciler.manifest.parts.names import FIELDS, name_problem
from reconciler.manifest.reader.codes import Code
from reconciler.manifest.reader.findings import Findings, Trouble
from reconciler.manifest.reader.nodes import MappingNode, Node, ScalarNode, scalars
from reconciler.model import CLUSTER_NAME, WILDCARD, PatternType, ResourcePattern, ResourceType


class NameForms(ManifestModel):
    """Names by one of three forms: exactly one field."""

    model_config = ConfigDict(json_schema_extra={"minProperties": 1, "maxProperties": 1})

    prefix: Text | None = Field(None, description="Every name that begins with this text.", examples=["payments."])
    any: Boolean | None = Field(None, description="With true, every name.", examples=[True])
    literal: OneOrMoreTexts | None = Field(
        None,
        description="These names, letter by letter, even where one ends with a star.",
        examples=[["payments.orders"]],
    )


Names = Annotated[
    Annotated[Text, Tag(TEXT_TAG)]
    | Annotated[list[Text], Field(min_length=1), Tag(LIST_TAG)]
    | Annotated[NameForms, Tag(MAPPING_TAG)],
    Discriminator(shape),
]


class Resources(ManifestModel):
    """The resources that a rule speaks of, by kind."""

    topics: Names | None = Field(
        None,
        description="Topics: a name, a list of names, {prefix: …}, {any: true} or {literal: […]}.",
        examples=[["payments.orders", "payments.refunds"], {"prefix": "payments."}],
    )
    groups: Names | None = Field(
        None, description="Consumer, share and streams groups, in the same forms.", examples=[{"prefix": "payments-"}]
    )
    transactional_ids: Names | None = Field(
        None, description="Transactional ids, in the same forms.", examples=[["payments-tx"]]
    )
    cluster: Boolean | None = Field(None, description="With true, the cluster itself.", examples=[True])
    delegation_tokens: Names | None = Field(
        None, description="Delegation tokens by token id, in the same forms.", examples=[{"any": True}]
    )
    users: Names | None = Field(
        None,
        description="Users whose tokens are created or described; names are principals.",
        examples=[["User:alice"]],
    )


_FORMS = Trouble(Code.RULE_FORM, "exactly one of prefix, any and literal is expected here", "keep one of them")
_ONLY_TRUE = Trouble(Code.RULE_FORM, "only true makes sense here", "remove the field")


#: A pattern and the scalar that names it.
Named: TypeAlias = tuple[ResourcePattern, ScalarNode]
#: Names that no rule speaks against; most are.
_ORDINARY = re.compile(r"(?!__kr|__cluster_metadata$|\.{1,2}$)[A-Za-z0-9._-]{1,200}", re.ASCII)
_ORDINARY_KINDS: Final = frozenset({ResourceType.TOPIC, ResourceType.GROUP, ResourceType.TRANSACTIONAL_ID})


class PatternTable:
    """Makes patterns, each checked and built once however often it is named."""

    def __init__(self) -> None:
        """Starts empty."""
        # By all but the text, which alone is the key then: one of both would be an object more for each name.
        self._known: defaultdict[tuple[ResourceType, PatternType, bool], dict[str, ResourcePattern]] = defaultdict(dict)
        # Apart, because the same text as a name is a problem.
        self._whole: dict[ResourceType, ResourcePattern] = {}

    def named(self, mapping: MappingNode, findings: Findings) -> dict[ResourceType, list[Named]]:
        """What the resource fields of ``mapping`` name, by type; problems are reported and left out."""
        return {
            kind: self.names(kind, mapping.values[field], findings)
            for field, kind in FIELDS.items()
            if field in mapping.values
        }

    def names(self, kind: ResourceType, node: Node, findings: Findings) -> list[Named]:
        """The patterns of one field."""
        if kind is ResourceType.CLUSTER:
            return self._only_true(kind, CLUSTER_NAME, node, findings)
        if not isinstance(node, MappingNode):
            return self._all(kind, scalars(node), PatternType.LITERAL, findings, spelled_out=False)
        # Two forms in one mapping could mean either or both; the reader of a review must not have to guess.
        if len(node.keys) != 1:
            findings.add(_FORMS, node)
        found: list[Named] = []
        for form, value in node.values.items():
            if form == "any":
                found += self._only_true(kind, WILDCARD, value, findings)
            elif form == "literal":
                found += self._all(kind, scalars(value), PatternType.LITERAL, findings, spelled_out=True)
            elif form == "prefix" and isinstance(value, ScalarNode):
                found += self._all(kind, [value], PatternType.PREFIXED, findings, spelled_out=False)
        return found

    def prefixes(self, kind: ResourceType, nodes: list[ScalarNode], findings: Findings) -> list[Named]:
        """The patterns of texts that are prefixes wherever they are written."""
        return self._all(kind, nodes, PatternType.PREFIXED, findings, spelled_out=False)

    def _only_true(self, kind: ResourceType, name: str, node: Node, findings: Findings) -> list[Named]:
        if not isinstance(node, ScalarNode) or node.plain != "true":
            if node.plain == "false":
                findings.add(_ONLY_TRUE, node)
            return []
        return [(self._whole.setdefault(kind, ResourcePattern(kind, name)), node)]

    def _all(
        self,
        kind: ResourceType,
        nodes: list[ScalarNode],
        pattern_type: PatternType,
        findings: Findings,
        *,
        spelled_out: bool,
    ) -> list[Named]:
        found, known, ordinary = [], self._known[kind, pattern_type, spelled_out], _ORDINARY.fullmatch
        for node in nodes:
            pattern = known.get(node.plain)
            if pattern is None:
                if findings.marks(node):
                    continue
                if not (ordinary(node.plain) and kind in _ORDINARY_KINDS):
                    trouble = name_problem(kind, node.plain, pattern_type, spelled_out=spelled_out)
                    if trouble is not None:
                        findings.add(trouble, node)
                        continue
                pattern = known[node.plain] = ResourcePattern(kind, node.plain, pattern_type)
            found.append((pattern, node))
        return found
