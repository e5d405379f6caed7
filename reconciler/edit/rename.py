"""A second principal next to one that is there: where manifests name the old one, they name both."""

from collections.abc import Iterator, Mapping, Sequence

from reconciler.edit.kinds import KINDS
from reconciler.edit.layout import TextSpan
from reconciler.edit.pages import Book, Page
from reconciler.edit.splices import Splice, spliced, with_flow_item, with_lines_after
from reconciler.edit.writing import quoted
from reconciler.model import DesiredState


def second(state: DesiredState, old: str, new: str) -> DesiredState:
    """With the same for ``new`` of what is declared for ``old``, of every kind that the editor writes."""
    for kind in KINDS:
        state = kind.second(state, old, new)
    return state


def without_principal(state: DesiredState, old: str) -> DesiredState:
    """Without what is declared for ``old``."""
    for kind in KINDS:
        state = kind.without(state, old)
    return state


def unwritten(book: Book, old: str) -> Iterator[str]:
    """What is declared for ``old`` in documents that the editor does not write: a user's password is nobody else's."""
    left = [without_principal(state, old) for state in book.desired.values()]
    found = [wish for state in left for items in state.listed.values() for wish in items.values()]
    for wish in sorted(found, key=lambda one: one.declaration.origin):
        if wish.item.principal == old:
            yield f"the {wish.item.subject} is declared at {wish.declaration.origin}: change that yourself"


def with_second(book: Book, old: str, new: str) -> dict[str, str]:
    """The texts in which every rule, owner and grant for ``old`` is also one for ``new``; a proposal to be proven."""
    texts = {path: source.text for path, source in book.manifests.sources.items()}
    splices: dict[str, list[Splice]] = {}
    for page in book.of("Acls", "Topics"):
        splices.setdefault(page.path, []).extend(_of_page(book, page, old, new))
    return {path: spliced(text, splices.get(path, ())) for path, text in texts.items()}


def _of_page(book: Book, page: Page, old: str, new: str) -> Iterator[Splice]:
    texts = [page.texts(book.clusters[name]) for name in sorted(book.where(page))]
    spec = page.span.get("spec")
    for holder in _holders(page, spec) if spec is not None and texts else ():
        for field in ("principal", "principals", "owner"):
            entry = holder.entry(field)
            if entry is not None and _named(entry[1], texts, old) and not _named(entry[1], texts, new):
                yield from _added(page.text, entry, new)


def _holders(page: Page, spec: TextSpan) -> Iterator[TextSpan]:
    if page.heading.kind == "Acls":
        yield spec
        return
    topics = spec.get("topics")
    for holder in (spec.get("defaults"), *(topics.items if topics is not None else ())):
        if holder is not None:
            yield holder
            grants = holder.get("grants")
            yield from grants.items if grants is not None else ()


def _named(value: TextSpan, texts: Sequence[Mapping[tuple[int, int], str]], principal: str) -> TextSpan | None:
    """The text that is this principal, on every cluster."""
    for one in value.texts:
        if {found.get((one.line, one.column)) for found in texts} == {principal}:
            return one
    return None


def _added(text: str, entry: tuple[TextSpan, TextSpan], new: str) -> Iterator[Splice]:
    key, value = entry
    if value.kind == "scalar":
        if key.plain == "principal":
            yield Splice(key.start, key.end, "principals")
        yield Splice(value.start, value.end, f"[{quoted(value.plain)}, {quoted(new)}]")
    elif value.flow:
        yield with_flow_item(text, value, quoted(new))
    else:
        yield with_lines_after(text, value.end, [f"{' ' * value.column}- {quoted(new)}"])


def mentions(book: Book, principal: str) -> list[str]:
    """The places at which other kinds of documents name a principal: Ownership, access tests, scope, waivers."""
    return [
        f"{page.path}:{one.line + 1}:{one.column + 1}"
        for page in book.pages
        for one in page.span.walk()
        if one.kind == "scalar"
        and one.plain == principal
        and (page.heading.kind not in ("Acls", "Topics") or _is_waiver(page, one))
    ]


def _is_waiver(page: Page, one: TextSpan) -> bool:
    span = page.span.get("spec", "waive")
    return span is not None and any(below is one for below in span.walk())
