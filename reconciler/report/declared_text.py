"""What manifests declare for a cluster, variables and roles resolved: each with its place."""

from collections.abc import Iterator

from reconciler.model import Create, Declaration, DesiredState, ListedItem, Topic
from reconciler.model.naming import as_name
from reconciler.plan import TopicReview
from reconciler.report.kinds import kind_of
from reconciler.report.results.documents import DeclaredBinding, DeclaredTopic
from reconciler.report.style import Style, plain, safe
from reconciler.report.words import binding_words, note_words


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
