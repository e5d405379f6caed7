"""What a proposal changes about the rules that judge it.

A change is judged by documents that the same change may edit: ``Cluster`` facts and limits, ``AccessTests``,
``Ownership``, ``TopicPolicy``. Here two sets of manifests are compared as they are written, document by document, so
that no field is exempt because nobody thought of it: what the table below does not know is reported as unclear.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Final

from reconciler.manifest.kinds import KINDS_BY_NAME
from reconciler.manifest.parts.document import Document, open_document
from reconciler.manifest.reader.documents import read_documents
from reconciler.manifest.reader.findings import Findings
from reconciler.manifest.reader.nodes import MappingNode, Node, ScalarNode, SequenceNode
from reconciler.manifest.reader.source import Source
from reconciler.model import Origin


class Meaning(StrEnum):
    """What a difference does to the rules: they refuse more, they refuse less, or a person has to decide."""

    TIGHTER = "tighter"
    LOOSER = "looser"
    UNCLEAR = "unclear"


@dataclass(frozen=True, slots=True, order=True)
class GuardrailChange:
    """One difference. ``field`` is its path, ``spec.tests[only billing].mustNot``, or empty for the whole document.

    ``before`` and ``after`` are values as written, ``None`` where there is none; ``origin`` is the place in the
    proposal, or in the base where the proposal has none (``removed``).
    """

    kind: str
    document: str
    field: str
    meaning: Meaning
    before: str | None
    after: str | None
    origin: Origin
    reason: str = ""

    @property
    def removed(self) -> bool:
        """Whether the base has it and the proposal does not."""
        return self.after is None


#: What more of a field does. A scalar field counts as more where it is added or grows.
_MORE: Final[Mapping[str, Mapping[str, Meaning]]] = {
    "Cluster": {
        "spec.superUsers": Meaning.LOOSER,
        "spec.ignore": Meaning.LOOSER,
        "spec.ignoreConfigs": Meaning.LOOSER,
        "spec.scope.exclude": Meaning.LOOSER,
        "spec.scope.include": Meaning.TIGHTER,
        "spec.protect": Meaning.TIGHTER,
        "spec.limits": Meaning.LOOSER,
        "spec.acknowledge": Meaning.LOOSER,
        "spec.waivers": Meaning.LOOSER,
        "spec.pruneTopics": Meaning.LOOSER,
        "spec.allowEveryoneIfNoAclFound": Meaning.LOOSER,
        "spec.barrier": Meaning.TIGHTER,
        "spec.barrier.wait": Meaning.TIGHTER,
        "spec.brokers": Meaning.TIGHTER,
    },
    "AccessTests": {
        "spec.tests": Meaning.TIGHTER,
        "spec.tests.must": Meaning.TIGHTER,
        "spec.tests.mustNot": Meaning.TIGHTER,
        "spec.tests.principals": Meaning.TIGHTER,
        "spec.tests.topics": Meaning.TIGHTER,
        "spec.tests.groups": Meaning.TIGHTER,
        "spec.tests.transactionalIds": Meaning.TIGHTER,
        "spec.tests.cluster": Meaning.TIGHTER,
        "spec.tests.includeSuperUsers": Meaning.TIGHTER,
        "spec.tests.except": Meaning.LOOSER,
        "spec.tests.onlyReaders": Meaning.LOOSER,
        "spec.tests.onlyWriters": Meaning.LOOSER,
        "spec.tests.onlyAdmins": Meaning.LOOSER,
        "spec.tests.waiver": Meaning.LOOSER,
        "spec.clusters": Meaning.LOOSER,
    },
    "Ownership": {
        "spec.owners.files": Meaning.LOOSER,
        "spec.owners.consents": Meaning.LOOSER,
        "spec.consents": Meaning.LOOSER,
        "spec.clusters": Meaning.LOOSER,
    },
    "TopicPolicy": {
        "spec.rules": Meaning.TIGHTER,
        "spec.rules.waivers": Meaning.LOOSER,
        "spec.rules.except": Meaning.LOOSER,
        "spec.clusters": Meaning.LOOSER,
    },
}
#: Where a cluster is and how it is reached: what an operator's file decides, and no rule about access.
_CONNECTION: Final = ("spec.bootstrapServers", "spec.client", "spec.barrier.client")
#: The field by which an item of a list is known from one version to the next.
_IDENTITY: Final = ("name", "team", "to")
_OPPOSITE: Final = {
    Meaning.TIGHTER: Meaning.LOOSER,
    Meaning.LOOSER: Meaning.TIGHTER,
    Meaning.UNCLEAR: Meaning.UNCLEAR,
}
_SEVERITIES: Final = {"warning": 0, "error": 1}


def guardrail_changes(base: Iterable[Source], proposal: Iterable[Source]) -> tuple[GuardrailChange, ...]:
    """Every difference between the guardrails of two sets of manifests, sorted, loosening ones first.

    Documents that cannot be read are left to :func:`reconciler.manifest.load`, which reports them.
    """
    before, after = _documents(base), _documents(proposal)
    found: list[GuardrailChange] = []
    for key in sorted(before.keys() | after.keys()):
        old, new = before.get(key), after.get(key)
        if old is None or new is None:
            found.append(_whole(key, old, new))
        else:
            found.extend(_within(key, old, new))
    found.extend(_escaped(before, after))
    order = (Meaning.LOOSER, Meaning.UNCLEAR, Meaning.TIGHTER)
    return tuple(sorted(found, key=lambda change: (order.index(change.meaning), change)))


def _documents(sources: Iterable[Source]) -> dict[tuple[str, str], Document]:
    found: dict[tuple[str, str], Document] = {}
    for source in sources:
        findings = Findings(source)
        for root in read_documents(findings):
            document = open_document(root, findings, KINDS_BY_NAME)
            if document is not None and document.heading.kind in _MORE:
                found[document.heading.kind, document.heading.name] = document
    return found


def _whole(key: tuple[str, str], old: Document | None, new: Document | None) -> GuardrailChange:
    """A document that came or went. A new ``Ownership`` may restrict or permit, and a cluster is a new subject."""
    kind, name = key
    if new is None:
        assert old is not None  # noqa: S101 - one of the two is there
        meaning = Meaning.UNCLEAR if kind == "Cluster" else Meaning.LOOSER
        return GuardrailChange(kind, name, "", meaning, "declared", None, old.heading.origin)
    meaning = Meaning.TIGHTER if kind in ("AccessTests", "TopicPolicy") else Meaning.UNCLEAR
    return GuardrailChange(kind, name, "", meaning, None, "declared", new.heading.origin)


def _within(key: tuple[str, str], old: Document, new: Document) -> Iterator[GuardrailChange]:
    """The differences inside one document, by DeepDiff over the values as written."""
    from deepdiff import DeepDiff  # noqa: PLC0415 - slow to import, and for this comparison only

    kind, name = key
    tree = DeepDiff(_values(old.root, new.root), _values(new.root, old.root), view="tree", threshold_to_diff_deeper=0)
    for report in tree.values():
        for level in report:
            path = [str(part) for part in level.path(output_format="list")]
            rule, field = _field(path)
            if any(rule == taken or rule.startswith(f"{taken}.") for taken in _CONNECTION):
                continue
            before, after = _text(level.t1), _text(level.t2)
            meaning = _meaning(kind, rule, before, after)
            yield GuardrailChange(kind, name, field, meaning, before, after, _origin(path, old, new))


def _values(node: Node, twin: Node | None) -> Any:
    """A document as nested dicts, in which no order counts: items by what they are called, texts by themselves.

    ``twin`` is the same place in the other document: one text is a list of one where the other has a list.
    """
    if isinstance(node, ScalarNode):
        return {_label(node): ""} if isinstance(twin, SequenceNode) else node.plain
    if isinstance(node, MappingNode):
        return {key: _values(value, _found(twin, [key])) for key, value in node.values.items()}
    labelled = ((_label(item), item) for item in node.items)
    return {
        label: "" if isinstance(item, ScalarNode) else _values(item, _found(twin, [label])) for label, item in labelled
    }


def _label(item: Node) -> str:
    """``[only billing]`` for an item of a list: its name, its text, or all of it."""
    if isinstance(item, ScalarNode):
        return f"[{item.plain}]"
    if isinstance(item, MappingNode):
        named = [text for field in _IDENTITY if (text := item.text(field)) is not None]
        if named:
            return f"[{' '.join(named)}]"
    return f"[{_brief(item.plain)}]"


def _brief(plain: Any) -> str:
    if isinstance(plain, dict):
        return "{" + ", ".join(f"{key}: {_brief(value)}" for key, value in sorted(plain.items())) + "}"
    if isinstance(plain, list):
        return "[" + ", ".join(sorted(map(_brief, plain))) + "]"
    return str(plain)


def _field(path: list[str]) -> tuple[str, str]:
    """The path without list items, as the table spells it, and with them, as people read it."""
    rule = ".".join(part for part in path if not part.startswith("["))
    return rule, ".".join(path).replace(".[", "[")


def _text(value: Any) -> str | None:
    if value.__class__.__name__ == "NotPresent":
        return None
    if isinstance(value, dict):
        inner = ((key, _text(item) or "") for key, item in value.items())
        return "{" + ", ".join(f"{key}: {text}" if text else key for key, text in inner) + "}"
    return str(value)


def _meaning(kind: str, rule: str, before: str | None, after: str | None) -> Meaning:
    """What a difference at ``rule`` does; a field that the table does not know is unclear."""
    if rule.endswith(".severity"):
        old, new = (_SEVERITIES.get(value or "error", 1) for value in (before, after))
        return Meaning.LOOSER if new < old else Meaning.TIGHTER
    more = _rule_of(kind, rule)
    if before is not None and after is not None:
        grown = _grown(before, after)
        return Meaning.UNCLEAR if grown is None else more if grown else _OPPOSITE[more]
    if rule.startswith("spec.limits"):
        # A limit that is not written does not limit.
        return Meaning.TIGHTER if after is not None else Meaning.LOOSER
    return more if after is not None else _OPPOSITE[more]


def _rule_of(kind: str, rule: str) -> Meaning:
    """The nearest field of the table at or above ``rule``."""
    parts = rule.split(".")
    for end in range(len(parts), 1, -1):
        found = _MORE[kind].get(".".join(parts[:end]))
        if found is not None:
            return found
    return Meaning.UNCLEAR


def _grown(before: str, after: str) -> bool | None:
    """Whether a number or a boolean became more; ``None`` for any other pair."""
    truths = {"false": 0.0, "true": 1.0}
    try:
        old, new = (truths[text] if text in truths else float(text) for text in (before, after))
    except ValueError:
        return None
    return new > old


def _origin(path: list[str], old: Document, new: Document) -> Origin:
    """The place in the proposal; where it has none, that in the base."""
    for document in (new, old):
        node = _found(document.root, path)
        if node is not None:
            return document.findings.origin(node)
    return new.heading.origin


def _found(node: Node | None, path: list[str]) -> Node | None:
    for part in path:
        if isinstance(node, MappingNode):
            node = node.values.get(part)
        elif isinstance(node, SequenceNode):
            node = next((item for item in node.items if _label(item) == part), None)
        else:
            return None
    return node


def _escaped(
    before: Mapping[tuple[str, str], Document], after: Mapping[tuple[str, str], Document]
) -> Iterator[GuardrailChange]:
    """Guardrails that applied to a cluster and no longer do, because its labels or their selector changed."""
    for key, old in before.items():
        new = after.get(key)
        if key[0] == "Cluster" or new is None:
            continue
        for (kind, cluster), was in before.items():
            now = after.get((kind, cluster))
            if kind != "Cluster" or now is None:
                continue
            applied = old.heading.applies_to(was.heading.labels)
            if applied and not new.heading.applies_to(now.heading.labels):
                place = new.heading.origin if old.heading.match_labels != new.heading.match_labels else None
                reason = f"it no longer applies to the cluster {cluster}"
                where = place or now.heading.origin
                yield GuardrailChange(*key, "", Meaning.LOOSER, cluster, None, where, reason)
