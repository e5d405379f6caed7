"""What manifests declare for a cluster, variables and roles resolved: each with its place."""

from collections.abc import Iterator, Sequence
from typing import Any, Final

from reconciler.model import Create, Declaration, DesiredItem, DesiredState, Expiry, ListedItem, Topic
from reconciler.model.naming import as_name
from reconciler.plan import TopicReview
from reconciler.report.folding import first_lines
from reconciler.report.kinds import kind_of
from reconciler.report.kinds.listed import ListedKind
from reconciler.report.results.documents import DeclaredBinding, DeclaredTopic, EndEntry
from reconciler.report.style import Style, plain, safe
from reconciler.report.words import binding_words, note_words

#: So many ends are shown one by one.
_FEW_ENDS: Final = 5


def declared_lines(desired: DesiredState, style: Style = plain) -> Iterator[str]:
    """A line for each, of bindings, of topics, then of the listed kinds; configs of a topic have lines of their own."""
    for binding, declared in sorted(desired.bindings.items()):
        role = "" if declared.role is None else f"  by the Role at {declared.role}"
        yield from _line(binding_words(binding), f"{note_words(declared)}{role}", style)
    for name, topic in sorted(desired.topics.items()):
        gone = f"topic {as_name(name)}" if topic.absent else ""
        yield from _thing(topic.topic, Declaration(topic.origin), style, gone)
    for items in desired.listed.values():
        for _, wish in sorted(items.items(), key=lambda pair: pair[0]):
            if not wish.expired:
                yield from _thing(wish.item, wish.declaration, style, wish.item.subject if wish.absent else "")


def declared_entries(desired: DesiredState) -> tuple[DeclaredBinding, ...]:
    """Each binding, for JSON."""
    found = sorted(desired.bindings.items())
    return tuple(DeclaredBinding(binding, declared.origin, declared.role) for binding, declared in found)


def declared_topic_entries(desired: DesiredState) -> tuple[DeclaredTopic, ...]:
    """Each topic, for JSON."""
    return tuple(DeclaredTopic(name, one.origin, one.absent) for name, one in sorted(desired.topics.items()))


def ending_entries(desired: DesiredState) -> tuple[EndEntry, ...]:
    """The items of listed kinds that end, the first to end first: no plan says so before the day comes."""
    found = [
        (wish.declaration.expires.end, _end(wish, wish.declaration.expires))
        for items in desired.listed.values()
        for wish in items.values()
        if wish.declaration.expires is not None and not wish.goes
    ]
    return tuple(entry for _, entry in sorted(found, key=lambda one: (one[0], one[1].subject)))


def _end(wish: DesiredItem[Any], expiry: Expiry) -> EndEntry:
    kind, subject = kind_of(Create(wish.item)), wish.item.subject
    what = f": {kind.special.at_end}" if isinstance(kind, ListedKind) else ""
    return EndEntry(wish.declaration.origin, subject, str(expiry), f"{subject} ends {expiry}{what}")


def end_lines(ends: Sequence[EndEntry], style: Style = plain, *, expand: bool = False) -> Iterator[str]:
    """A line for each; of many, the first to end."""
    lines = [style("dim", "ends") + f"  {safe(str(one.place))}: {safe(one.message)}" for one in ends]
    yield from first_lines(lines, expand=expand, most=_FEW_ENDS, indent="ends  ")


def _thing(thing: Topic | ListedItem, declared: Declaration, style: Style, gone: str) -> Iterator[str]:
    """``gone`` is the name of what must not exist."""
    if gone:
        yield from _line(f"{gone}: absent", note_words(declared), style)
        return
    words = kind_of(change := Create(thing)).words([change], TopicReview())
    yield from _line(words.text, note_words(declared), style)
    yield from (style("dim", f"      {safe(detail.text)}") for detail in words.details)


def _line(text: str, note: str, style: Style) -> Iterator[str]:
    yield f"    {safe(text)}  {style('dim', safe(note))}"
