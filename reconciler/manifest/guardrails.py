"""What a proposal changes about the rules that judge it.

A change is judged by documents that the same change may edit: ``Cluster`` facts and limits, ``AccessTests``,
``ClusterTests``, ``Ownership``, ``TopicPolicy``. Here two sets of manifests are compared as they are written, document
by document and field by field; :mod:`reconciler.manifest.guardrail_meaning` has an entry for each field.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Annotated, Any, Final, NamedTuple, TypeAlias, assert_never

from reconciler.codec.document import compact
from reconciler.dataclass import dataclass
from reconciler.manifest.guardrail_meaning import (
    GUARDRAILS,
    ByName,
    Either,
    FieldMeaning,
    Fields,
    Meaning,
    Names,
    NotJudged,
    Records,
    Texts,
    Value,
)
from reconciler.manifest.guardrail_set import judging_documents
from reconciler.manifest.parts.document import Document
from reconciler.manifest.parts.resources import name_scalars
from reconciler.manifest.read.findings import MappingNode, Node, ScalarNode, SequenceNode, Source, scalars
from reconciler.manifest.variables import variable_scalars
from reconciler.model.desired import Origin
from reconciler.model.says import AnyText, Says
from reconciler.model.scope import NameSelector, glob_contains


@dataclass(frozen=True, slots=True)
class GuardrailChange:
    """One difference. ``field`` is its path, ``spec.tests[only billing].mustNot``, or empty for the whole document.

    ``before`` and ``after`` are values as written, ``None`` where there is none; ``origin`` is the place in the
    proposal, or in the base where the proposal has none (``removed``).
    """

    kind: Annotated[str, Says("The kind of the document.", "AccessTests")]
    document: Annotated[AnyText, Says("Its name.", "payroll")]
    field: Annotated[AnyText, Says("What of it differs; empty: all of it.", "spec.tests[only payroll].severity")]
    meaning: Annotated[
        Meaning, Says("Whether the rules refuse more (tighter), less (looser), or that is unclear.", "looser")
    ]
    before: Annotated[AnyText | None, Says("The value in the base; null: none.", "error")]
    after: Annotated[AnyText | None, Says("The value in the proposal; null: none.", "warning")]
    origin: Annotated[
        Origin,
        Says("The place in the proposal, or in the base where it is gone.", "guards.yaml:7:5", name="place"),
    ]
    reason: Annotated[AnyText, Says("What follows, where the values do not show it.", "")] = ""

    @property
    def subject(self) -> tuple[str, str, str]:
        """Kind, document and field."""
        return self.kind, self.document, self.field

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
_VARIABLES: Final = "spec.vars."
#: Of kinds whose documents judge nothing, the fields that take values for a guardrail.
_JUDGING: Final[Mapping[str, tuple[str, ...]]] = {
    "Acls": ("spec.exceptions",),
    "Topics": ("metadata.labels", "spec.topics.labels"),
}


def guardrail_changes(base: Iterable[Source], proposal: Iterable[Source]) -> tuple[GuardrailChange, ...]:
    """Every difference between the guardrails of two sets of manifests, sorted, loosening ones first.

    Documents that cannot be read are left to :func:`reconciler.manifest.manifests.load`, which reports them.
    """
    before, after = _documents(base), _documents(proposal)
    changes: list[GuardrailChange] = []
    judging = {kind for kind, _ in before}
    for key in sorted(before.keys() | after.keys()):
        changes.extend(_Comparison(*key, before.get(key), after.get(key), first=key[0] not in judging).changes())
    changes.extend(_escaped(before, after))
    changes.extend(_lost_labels(before, after))
    changes = [_with_users(change, before, after) for change in changes if _judges(change, before, after)]
    return gravest_first(changes)


def gravest_first(changes: Iterable[GuardrailChange]) -> tuple[GuardrailChange, ...]:
    """Sorted, loosening ones first."""
    order = (Meaning.LOOSER, Meaning.UNCLEAR, Meaning.TIGHTER)
    return tuple(
        sorted(changes, key=lambda change: (order.index(change.meaning), *change.subject, change.origin, change.moved))
    )


def _documents(sources: Iterable[Source]) -> dict[tuple[str, str], Document]:
    return {
        (document.heading.kind, document.heading.name): document for document in judging_documents(sources, GUARDRAILS)
    }


class _Path(NamedTuple):
    """A field of a document: its path, as people read it, and the nearest name that people chose for a field."""

    path: str
    name: str = ""

    def below(self, field: str) -> "_Path":
        return _Path(f"{self.path}.{field}".lstrip("."), self.name)

    def called(self, name: str) -> "_Path":
        return _Path(f"{self.path}.{name}", name)

    def item(self, label: str) -> "_Path":
        return _Path(f"{self.path}[{label}]", self.name)


class _Comparison:
    """Two versions of one document, of which one may be missing; ``first``: no document of its kind judged before."""

    __slots__ = ("_first", "_key", "_new", "_old")

    def __init__(self, kind: str, name: str, old: Document | None, new: Document | None, *, first: bool) -> None:
        self._key, self._old, self._new, self._first = (kind, name), old, new, first

    def changes(self) -> Iterator[GuardrailChange]:
        kind, old, new = self._key[0], self._old, self._new
        group = GUARDRAILS[kind]
        # The labels of topics are followed from document to document: `_lost_labels`.
        if kind == "Topics" and None in (old, new):
            return
        roots = (old and old.root, new and new.root)
        if group.added is None or group.removed is None or None not in roots:
            yield from self._within(group, _Path(""), *roots)
        elif new is not None:
            meaning = group.added if self._first else _of_new(group, group.added, new.root)
            yield GuardrailChange(*self._key, "", meaning, None, "declared", new.heading.origin)
        elif old is not None:
            yield GuardrailChange(*self._key, "", group.removed, "declared", None, old.heading.origin)

    def _change(
        self,
        place: _Path,
        meaning: Meaning,
        nodes: tuple[Node | None, Node | None],
        texts: tuple[str | None, str | None],
    ) -> GuardrailChange:
        """``nodes`` and ``texts`` are before and after."""
        (old, new), (before, after) = nodes, texts
        if new is not None and self._new is not None:
            origin = self._new.findings.origin(new)
        elif old is not None and self._old is not None:
            origin = self._old.findings.origin(old)
        else:
            origin = (self._new or self._old).heading.origin  # type: ignore[union-attr]
        return GuardrailChange(*self._key, place.path, meaning, before, after, origin)

    def _presence(
        self, place: _Path, field: Value | Texts | Names | Fields, old: Node | None, new: Node | None
    ) -> Iterator[GuardrailChange]:
        meaning = field.added if old is None else field.removed
        if old is None and meaning is not None and isinstance(field, Fields):
            meaning = _of_new(field, meaning, new)
        if meaning is not None:
            yield self._change(place, meaning, (old, new), (_text(old), _text(new)))

    def _within(
        self, field: FieldMeaning, place: _Path, old: Node | None, new: Node | None
    ) -> Iterator[GuardrailChange]:
        """The differences of one field."""
        if (old is None and new is None) or isinstance(field, NotJudged):
            return
        match field:
            case Value():
                yield from self._value(field, place, old, new)
            case Texts():
                yield from self._texts(field, place, old, new)
            case Names():
                yield from self._names(field, place, old, new)
            case Fields():
                yield from self._group(field, place, old, new)
            case Records():
                yield from self._records(field, place, old, new)
            case ByName():
                for key in sorted(_values(old).keys() | _values(new).keys()):
                    yield from self._within(
                        field.entry, place.called(key), _values(old).get(key), _values(new).get(key)
                    )
            case Either():
                mappings = [node for node in (old, new) if isinstance(node, MappingNode)]
                same = len(mappings) == sum(node is not None for node in (old, new))
                yield from self._within(field.mapping if mappings and same else field.text, place, old, new)
            case _:
                assert_never(field)

    def _value(self, field: Value, place: _Path, old: Node | None, new: Node | None) -> Iterator[GuardrailChange]:
        before, after = (field.default if node is None else _text(node) for node in (old, new))
        if before is None or after is None:
            yield from self._presence(place, field, old, new)
            return
        scalar = all(node is None or isinstance(node, ScalarNode) for node in (old, new))
        meaning = field.between(place.name, before, after) if scalar else Meaning.UNCLEAR
        if meaning is not None and before != after:
            yield self._change(place, meaning, (old, new), (_text(old), _text(new)))

    def _texts(self, field: Texts, place: _Path, old: Node | None, new: Node | None) -> Iterator[GuardrailChange]:
        if field.default is None and (old is None or new is None):
            yield from self._presence(place, field, old, new)
            return
        before, after = _listed(old, field.default or ()), _listed(new, field.default or ())
        gone, come = before.keys() - after.keys(), after.keys() - before.keys()
        reported: set[str] = set()
        for text in sorted(gone):
            wider = sorted(other for other in after if field.globs and glob_contains(other, text))
            grown = next((other for other in wider if other in come), None)
            if grown is not None and field.more is Meaning.LOOSER:
                reported.add(grown)
                yield self._change(place, field.more, (before[text], after[grown]), (text, grown))
            else:
                # One that another contains is no loss.
                meaning = Meaning.UNCLEAR if wider and field.less is Meaning.TIGHTER else field.less
                yield self._change(place.item(text), meaning, (before[text], None), ("", None))
        for text in sorted(come - reported):
            yield self._change(place.item(text), field.one_more(text), (None, after[text]), (None, ""))

    def _names(self, field: Names, place: _Path, old: Node | None, new: Node | None) -> Iterator[GuardrailChange]:
        if old is None or new is None:
            yield from self._presence(place, field, old, new)
        elif any(form for node in (old, new) for form, _ in name_scalars(node)):
            meaning = field.between(_selector(old), _selector(new))
            if meaning is not None:
                yield self._change(place, meaning, (old, new), (_text(old), _text(new)))
        else:
            each = Texts(field.added, field.removed, field.wider, field.narrower)
            yield from self._texts(each, place, old, new)

    def _group(self, field: Fields, place: _Path, old: Node | None, new: Node | None) -> Iterator[GuardrailChange]:
        if field.added is not None and (old is None or new is None):
            yield from self._presence(place, field, old, new)
            return
        values = _values(old), _values(new)
        for name, inner in field.fields.items():
            yield from self._within(inner, place.below(name), values[0].get(name), values[1].get(name))
        # What no document can have: who reads the manifests reports it.
        for name in sorted((values[0].keys() | values[1].keys()) - field.fields.keys()):
            nodes = values[0].get(name), values[1].get(name)
            if _text(nodes[0]) != _text(nodes[1]):
                yield self._change(place.below(name), Meaning.UNCLEAR, nodes, (_text(nodes[0]), _text(nodes[1])))

    def _records(self, field: Records, place: _Path, old: Node | None, new: Node | None) -> Iterator[GuardrailChange]:
        before, after = (node.items if isinstance(node, SequenceNode) else [] for node in (old, new))
        if field.ordered:
            yield from self._order(field, place, before, after)
        pairs, gone, come = _paired(field, before, after)
        for was, now in pairs:
            label = _identity(field, now) or str(after.index(now) + 1)
            yield from self._within(field.item, place.item(label), was, now)
        for item in gone:
            yield from self._presence(_labelled(place, field, item), field.item, item, None)
        for item in come:
            yield from self._presence(_labelled(place, field, item), field.item, None, item)

    def _order(self, field: Records, place: _Path, before: list[Node], after: list[Node]) -> Iterator[GuardrailChange]:
        names = [[_identity(field, item) or _brief(item.plain) for item in items] for items in (before, after)]
        old, new = ([name for name in own if name in other] for own, other in (names, names[::-1]))
        if old != new and sorted(old) == sorted(new):
            yield self._change(place, Meaning.UNCLEAR, (None, after[0]), (", ".join(old), ", ".join(new)))


def _of_new(field: Fields, added: Meaning, new: Node | None) -> Meaning:
    """What something new does, of which it is unclear as a whole: looser, if something in it is looser by itself."""
    return Meaning.LOOSER if added is Meaning.UNCLEAR and _loosens(field, new) else added


def _loosens(field: FieldMeaning, node: Node | None) -> bool:
    match field:
        case Value(alone=True, default=str(default)) if isinstance(node, ScalarNode):
            return field.between("", default, node.plain) is Meaning.LOOSER
        case Fields():
            return any(_loosens(inner, _values(node).get(name)) for name, inner in field.fields.items())
        case Records() if isinstance(node, SequenceNode):
            return (field.alone and bool(node.items)) or any(_loosens(field.item, item) for item in node.items)
        case _:
            return False


def _paired(
    field: Records, before: Iterable[Node], after: Iterable[Node]
) -> tuple[list[tuple[Node, Node]], list[Node], list[Node]]:
    """The items of two lists that are two versions of one, and those of either list that are left; equal ones go."""
    equal = Counter(_canonical(item.plain) for item in before) & Counter(_canonical(item.plain) for item in after)
    gone, come = (list(_without(equal, items)) for items in (before, after))
    pairs: list[tuple[Node, Node]] = []
    alike = [
        (-_likeness(was, now), index, other)
        for index, was in enumerate(gone)
        for other, now in enumerate(come)
        if field.paired and _identity(field, was) == _identity(field, now)
    ]
    used: tuple[set[int], set[int]] = set(), set()
    for _, index, other in sorted(alike):
        if index not in used[0] and other not in used[1]:
            used[0].add(index)
            used[1].add(other)
            pairs.append((gone[index], come[other]))
    lost = [item for index, item in enumerate(gone) if index not in used[0]]
    return pairs, lost, [item for index, item in enumerate(come) if index not in used[1]]


def _labelled(place: _Path, field: Records, item: Node) -> _Path:
    label = _identity(field, item)
    return place.item(label) if label else place


def _without(equal: Counter[str], items: Iterable[Node]) -> Iterator[Node]:
    remaining = Counter(equal)
    for item in items:
        text = _canonical(item.plain)
        if remaining[text]:
            remaining[text] -= 1
        else:
            yield item


def _likeness(item: Node, other: Node) -> int:
    """In how many fields two items are equal."""
    pairs = _values(item), _values(other)
    return sum(
        _canonical(pairs[0][name].plain) == _canonical(pairs[1][name].plain) for name in pairs[0].keys() & pairs[1]
    )


def _identity(field: Records, item: Node) -> str:
    """``only billing``: what an item is called, or nothing."""
    nodes = (_values(item).get(name) for name in field.identity)
    return " ".join(node.plain for node in nodes if isinstance(node, ScalarNode))


def _canonical(plain: Any) -> str:
    """The same text for two values in which no order counts."""
    if isinstance(plain, dict):
        return compact({key: _canonical(value) for key, value in sorted(plain.items())})
    return compact(sorted(map(_canonical, plain))) if isinstance(plain, list) else compact(plain)


def _values(node: Node | None) -> Mapping[str, Node]:
    return node.values if isinstance(node, MappingNode) else {}


def _listed(node: Node | None, default: tuple[str, ...]) -> dict[str, Node | None]:
    """The texts of a list, or of a text alone, each with its place."""
    return {scalar.plain: scalar for scalar in scalars(node)} if node is not None else dict.fromkeys(default)


def _selector(node: Node) -> NameSelector | None:
    """What names in any of their forms select; ``None`` where it depends on a variable, or is in no form."""
    named = [*name_scalars(node)]
    items = node.items if isinstance(node, SequenceNode) else [node]
    if any(isinstance(item, MappingNode) and len(item.values) != 1 for item in items):
        return None
    if [form for form, _ in named] == ["any"] and isinstance(node, MappingNode):
        return NameSelector(any_name=True) if named[0][1].plain == "true" else None
    if any(form not in ("", "literal", "prefix") or "${" in scalar.plain for form, scalar in named):
        return None
    literal = tuple(scalar.plain for form, scalar in named if form != "prefix")
    return NameSelector(literal, tuple(scalar.plain for form, scalar in named if form == "prefix"))


def _text(node: Node | None) -> str | None:
    return None if node is None else _brief(node.plain)


def _brief(plain: Any) -> str:
    if isinstance(plain, dict):
        return "{" + ", ".join(f"{key}: {_brief(value)}" for key, value in sorted(plain.items())) + "}"
    if isinstance(plain, list):
        return "[" + ", ".join(sorted(map(_brief, plain))) + "]"
    return str(plain)


def _escaped(before: _Documents, after: _Documents) -> Iterator[GuardrailChange]:
    """Guardrails that applied to a cluster and no longer do, because its labels or their selector changed."""
    for key, old in before.items():
        new = after.get(key)
        if key[0] in ("Cluster", *_JUDGING) or new is None:
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
            elsewhere = {other: labels[topic] for other, labels in now if topic in labels}
            # Where the document still declares the topic, the labels are compared with the document.
            for label in set() if key in elsewhere else had - set().union(*elsewhere.values()):
                for other in elsewhere:
                    origin = after[other].heading.origin
                    field = f"spec.topics[{topic}].labels.{label[0]}"
                    yield GuardrailChange(*other, field, Meaning.UNCLEAR, label[1], None, origin)


def _topic_labels(document: Document) -> dict[str, set[tuple[str, str]]]:
    """The labels of each topic of a ``Topics`` document, those of the document among them."""
    topics = document.root.get("spec", "topics")
    topic_labels = {}
    for item in topics.items if isinstance(topics, SequenceNode) else ():
        name = item.text("name") if isinstance(item, MappingNode) else None
        labels = item.get("labels") if isinstance(item, MappingNode) else None
        own = labels.values if isinstance(labels, MappingNode) else {}
        if name is not None:
            pairs = {**document.heading.labels, **{key: str(value.plain) for key, value in own.items()}}
            topic_labels[name] = set(pairs.items())
    return topic_labels


def _judges(change: GuardrailChange, before: _Documents, after: _Documents) -> bool:
    """Whether a rule can come to another answer by it: by a variable that some rule takes, by a label if one asks.

    What else a variable decides stands in the plan. A label that goes also takes a warning of reviews with it.
    """
    name = change.field.rpartition(".")[2]
    if change.kind == "Cluster" and change.field.startswith(_VARIABLES):
        return bool(_users(change, before, after))
    if change.kind == "Topics" and ".labels." in change.field and change.before is None:
        return any(_asks(document.root.plain.get("spec"), name) for document in after.values())
    return True


def _asks(plain: Any, label: str) -> bool:
    """Whether a rule selects by a label, or reads labels in an expression."""
    if isinstance(plain, list):
        return any(_asks(value, label) for value in plain)
    if not isinstance(plain, dict):
        return False
    chosen = label in (plain.get("matchLabels") or ()) or "labels" in str(plain.get("expression", ""))
    return chosen or any(_asks(value, label) for value in plain.values())


def _users(change: GuardrailChange, before: _Documents, after: _Documents) -> list[tuple[str, str]]:
    """The rules that take their value from a variable of a cluster."""
    variable = "${vars." + change.field.removeprefix(_VARIABLES) + "}"
    return sorted(
        {key for documents in (before, after) for key, document in documents.items() if _uses(document, variable)}
    )


def _with_users(change: GuardrailChange, before: _Documents, after: _Documents) -> GuardrailChange:
    """For a variable of a cluster, with the rules that take their value from it: they stand in other documents."""
    if change.kind != "Cluster" or not change.field.startswith(_VARIABLES):
        return change
    users = _users(change, before, after)
    return replace(change, reason=f"{change.moved}, the value in {', '.join(map(' '.join, users))}")


def _uses(document: Document, variable: str) -> bool:
    fields = _JUDGING.get(document.heading.kind, ("spec",))
    nodes = (document.root.get(*field.split(".")) for field in fields)
    return any(variable in scalar.plain for node in nodes for scalar in variable_scalars(node))
