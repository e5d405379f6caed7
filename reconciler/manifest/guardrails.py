"""What a proposal changes about the rules that judge it.

A change is judged by documents that the same change may edit: ``Cluster`` facts and limits, ``AccessTests``,
``ClusterTests``, ``Ownership``, ``TopicPolicy``. Here two sets of manifests are compared as they are written, document
by document, so that no field is exempt because nobody thought of it: what the table below does not know is reported as
unclear.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any, Final, TypeAlias

from reconciler.dataclass import dataclass
from reconciler.manifest.guardrail_meaning import MORE, ONLY, Meaning, meaning_of
from reconciler.manifest.kinds import KINDS_BY_NAME
from reconciler.manifest.parts.document import Document, open_document
from reconciler.manifest.reader.documents import read_documents
from reconciler.manifest.reader.findings import Findings
from reconciler.manifest.reader.nodes import MappingNode, Node, ScalarNode, SequenceNode
from reconciler.manifest.reader.source import Source
from reconciler.manifest.variables import variable_scalars
from reconciler.model import Origin


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

    @property
    def words(self) -> str:
        """``AccessTests guards, spec.tests[only payroll].severity: error → warning``."""
        subject = f"{self.kind} {self.document}" + (f", {self.field}" if self.field else "")
        return f"{subject}: {self.moved}"

    @property
    def moved(self) -> str:
        """``error → warning``, or the reason why it counts as a change."""
        if self.reason:
            return self.reason
        if self.before is None:
            return "added" if self.after in ("", "declared") else f"added: {self.after}"
        if self.after is None:
            return "removed" if self.before in ("", "declared") else f"removed: {self.before}"
        return f"{self.before} → {self.after}"


#: Documents by kind and name.
_Documents: TypeAlias = Mapping[tuple[str, str], Document]
#: Where a cluster is and how it is reached: what an operator's file decides, and no rule about access.
_CONNECTION: Final = ("spec.bootstrapServers", "spec.client", "spec.barrier.client")
#: The field by which an item of a list is known from one version to the next.
_IDENTITY: Final = ("name", "team", "to")


def guardrail_changes(base: Iterable[Source], proposal: Iterable[Source]) -> tuple[GuardrailChange, ...]:
    """Every difference between the guardrails of two sets of manifests, sorted, loosening ones first.

    Documents that cannot be read are left to :func:`reconciler.manifest.load`, which reports them.
    """
    before, after = _documents(base), _documents(proposal)
    found: list[GuardrailChange] = []
    for key in sorted(before.keys() | after.keys()):
        old, new = before.get(key), after.get(key)
        if old is not None and new is not None:
            found.extend(_within(key, old, new))
        elif key[0] in ONLY:
            found.extend(_accepting(key, old, new))
        else:
            found.append(_whole(key, old, new))
    found.extend(_escaped(before, after))
    found.extend(_lost_labels(before, after))
    found = [_with_users(change, before, after) for change in found]
    return gravest_first(found)


def gravest_first(changes: Iterable[GuardrailChange]) -> tuple[GuardrailChange, ...]:
    """Sorted, loosening ones first."""
    order = (Meaning.LOOSER, Meaning.UNCLEAR, Meaning.TIGHTER)
    return tuple(sorted(changes, key=lambda change: (order.index(change.meaning), change)))


def _documents(sources: Iterable[Source]) -> dict[tuple[str, str], Document]:
    found: dict[tuple[str, str], Document] = {}
    for source in sources:
        findings = Findings(source)
        for root in read_documents(findings):
            document = open_document(root, findings, KINDS_BY_NAME)
            if document is not None and document.heading.kind in MORE:
                found[document.heading.kind, document.heading.name] = document
    return found


def _whole(key: tuple[str, str], old: Document | None, new: Document | None) -> GuardrailChange:
    """A document that came or went. A new ``Ownership`` may restrict or permit, and a cluster is a new subject."""
    kind, name = key
    if new is None:
        assert old is not None  # noqa: S101 - one of the two is there
        meaning = Meaning.UNCLEAR if kind == "Cluster" else Meaning.LOOSER
        return GuardrailChange(kind, name, "", meaning, "declared", None, old.heading.origin)
    meaning = Meaning.TIGHTER if kind in ("AccessTests", "ClusterTests", "TopicPolicy") else Meaning.UNCLEAR
    return GuardrailChange(kind, name, "", meaning, None, "declared", new.heading.origin)


def _accepting(key: tuple[str, str], old: Document | None, new: Document | None) -> Iterator[GuardrailChange]:
    """What a document that came or went accepts, if it is of a kind that judges nothing else."""
    kind, name = key
    for document in (old, new):
        for field in ONLY[kind] if document is not None else ():
            node = document and document.root.get(*field.split("."))
            if document is None or node is None or field not in MORE[kind]:
                continue
            text = _brief(node.plain)
            before, after = (text, None) if document is old else (None, text)
            meaning = meaning_of(kind, field, before, after)
            yield GuardrailChange(kind, name, field, meaning, before, after, document.findings.origin(node))


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
            if kind in ONLY and not any(rule == one or rule.startswith(f"{one}.") for one in ONLY[kind]):
                continue
            before, after = _text(level.t1), _text(level.t2)
            meaning = meaning_of(kind, rule, before, after)
            yield GuardrailChange(kind, name, field, meaning, before, after, _origin(path, old, new))


def _values(node: Node, twin: Node | None) -> Any:
    """A document as nested dicts, in which no order counts: items by what they are called, texts by themselves.

    ``twin`` is the same place in the other document: one text is a list of one where the other has a list.
    """
    if isinstance(node, ScalarNode):
        return {_label(node): ""} if isinstance(twin, SequenceNode) else node.plain
    if isinstance(node, MappingNode):
        return {key: _values(value, _found(twin, [key])) for key, value in node.values.items()}
    # Two items with one name would hide each other: they are known by all of their text.
    shared = {label for one in (node, twin) for label in _shared(one)}
    labelled = ((_whole_label(item) if _label(item) in shared else _label(item), item) for item in node.items)
    return {
        label: "" if isinstance(item, ScalarNode) else _values(item, _found(twin, [label])) for label, item in labelled
    }


def _shared(node: Node | None) -> Iterator[str]:
    counts = Counter(map(_label, node.items) if isinstance(node, SequenceNode) else ())
    yield from (label for label, number in counts.items() if number > 1)


def _label(item: Node) -> str:
    """``[only billing]`` for an item of a list: its name, its text, or all of it."""
    if isinstance(item, ScalarNode):
        return f"[{item.plain}]"
    if isinstance(item, MappingNode):
        named = [text for field in _IDENTITY if (text := item.text(field)) is not None]
        if named:
            return f"[{' '.join(named)}]"
    return _whole_label(item)


def _whole_label(item: Node) -> str:
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
            node = next((item for item in node.items if part in (_label(item), _whole_label(item))), None)
        else:
            return None
    return node


def _escaped(before: _Documents, after: _Documents) -> Iterator[GuardrailChange]:
    """Guardrails that applied to a cluster and no longer do, because its labels or their selector changed."""
    for key, old in before.items():
        new = after.get(key)
        if key[0] in ("Cluster", *ONLY) or new is None:
            continue
        for (kind, cluster), was in before.items():
            now = after.get((kind, cluster))
            if kind != "Cluster" or now is None:
                continue
            # Neither document looks looser on its own: a label moved, and a rule that held no longer meets its cluster.
            applied = old.heading.applies_to(was.heading.labels)
            if applied and not new.heading.applies_to(now.heading.labels):
                place = new.heading.origin if old.heading.match_labels != new.heading.match_labels else None
                reason = f"it no longer applies to the cluster {cluster}"
                where = place or now.heading.origin
                yield GuardrailChange(*key, "", Meaning.LOOSER, cluster, None, where, reason)


def _lost_labels(before: _Documents, after: _Documents) -> Iterator[GuardrailChange]:
    """Labels that a topic loses by moving to another document: rules for labelled topics no longer find it."""
    now = [(key, _topic_labels(document)) for key, document in after.items() if key[0] == "Topics"]
    for key, document in before.items():
        for topic, had in _topic_labels(document).items() if key[0] == "Topics" else ():
            found = {other: labels[topic] for other, labels in now if topic in labels}
            # Where the document still declares the topic, the labels are compared with the document.
            for label in set() if key in found else had - set().union(*found.values()):
                for other in found:
                    origin = after[other].heading.origin
                    field = f"spec.topics[{topic}].labels.{label[0]}"
                    yield GuardrailChange(*other, field, Meaning.UNCLEAR, label[1], None, origin)


def _topic_labels(document: Document) -> dict[str, set[tuple[str, str]]]:
    """The labels of each topic of a ``Topics`` document, those of the document among them."""
    topics = document.root.get("spec", "topics")
    found = {}
    for item in topics.items if isinstance(topics, SequenceNode) else ():
        name = item.text("name") if isinstance(item, MappingNode) else None
        labels = item.get("labels") if isinstance(item, MappingNode) else None
        own = labels.values if isinstance(labels, MappingNode) else {}
        if name is not None:
            pairs = {**document.heading.labels, **{key: str(value.plain) for key, value in own.items()}}
            found[name] = set(pairs.items())
    return found


def _with_users(change: GuardrailChange, before: _Documents, after: _Documents) -> GuardrailChange:
    """For a variable of a cluster, with the rules that take their value from it: they stand in other documents."""
    prefix = "spec.vars."
    if change.kind != "Cluster" or not change.field.startswith(prefix):
        return change
    variable = "${vars." + change.field.removeprefix(prefix) + "}"
    users = sorted({key for documents in (before, after) for key, one in documents.items() if _uses(one, variable)})
    if not users:
        return change
    return replace(change, reason=f"{change.moved}, the value in {', '.join(map(' '.join, users))}")


def _uses(document: Document, variable: str) -> bool:
    fields = ONLY.get(document.heading.kind, ("spec",))
    nodes = (document.root.get(*field.split(".")) for field in fields)
    return any(variable in scalar.plain for node in nodes for scalar in variable_scalars(node))
