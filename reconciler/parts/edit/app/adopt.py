"""Drift becomes manifests: each difference is kept and written where it belongs, or left for the next apply.

What the cluster has and the manifests do not say, or say otherwise, becomes what they say. Also a principal's second
name.
"""

import datetime
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from copy import deepcopy
from dataclasses import replace
from typing import Any

from reconciler.app.manifests import desired, sound
from reconciler.app.options import ConnectionOptions, Tell, ignore, moment
from reconciler.app.planning import declared_for
from reconciler.app.reasons import RequestError
from reconciler.app.session import open_declared, refuse_another_time, whole
from reconciler.app.terms import read_request, terms
from reconciler.dataclass import dataclass
from reconciler.manifest.manifests import load as load_sources
from reconciler.manifest.read.findings import Source
from reconciler.manifest.write.pages import Book, Page
from reconciler.manifest.write.spans import Splice, TextSpan, quoted, spliced, with_flow_item, with_lines_after
from reconciler.manifest.write.text import text_problem
from reconciler.model.desired import UNWRITTEN, Declaration, DesiredState, Origin, moment_text
from reconciler.model.listing import Change, Delete
from reconciler.model.locks import denials_of_locks
from reconciler.model.markers import running_break_glass
from reconciler.model.state import ClusterState
from reconciler.model.topic import Topic
from reconciler.parts.edit.app import editing
from reconciler.parts.edit.app.editing import AS_SHOWN, EditError, ManifestEdit
from reconciler.parts.edit.kinds import KINDS, kind_of
from reconciler.plan.difference import Comparison, SkipReason
from reconciler.plan.kinds import compare, describe
from reconciler.plan.proposal import selection_of


@dataclass(frozen=True, slots=True)
class Difference:
    """One difference: the ``change`` that a plan would make, or Kafka cannot; and where the manifests speak of it."""

    change: Change
    origin: Origin | None = None

    @property
    def keeps(self) -> bool:
        """Whether adopting it writes something that the cluster has; otherwise it removes what the cluster lacks."""
        return self.change.before is not None

    def __str__(self) -> str:
        """In a few words: of what is on one side only, what it is."""
        return describe(self.change).removeprefix("delete ").removeprefix("create ")


@dataclass(frozen=True, slots=True)
class NotAdopted:
    """A difference that stays, and why."""

    subject: str
    reason: str


def differences(comparison: Comparison, live: ClusterState) -> tuple[list[Difference], list[NotAdopted]]:
    """What can be adopted, in the order of plans, and what not even the cluster shows."""
    adoptable = [Difference(change.change, change.origin) for change in comparison.changes]
    not_adopted: list[NotAdopted] = []
    for skipped in comparison.skipped:
        undeclared = skipped.subject.removeprefix(f"{Topic.KIND[:-1]} ")
        if skipped.change is not None:
            adoptable.append(Difference(skipped.change, skipped.origin))
        elif skipped.reason is SkipReason.UNDECLARED and undeclared in live.topics:
            adoptable.append(Difference(Delete(live.topics[undeclared])))
        else:
            not_adopted.append(NotAdopted(skipped.subject, skipped.detail))
    return adoptable, not_adopted


def adopted(
    texts: Mapping[str, str], cluster: str, chosen: Sequence[Difference], live: ClusterState, declaration: Declaration
) -> tuple[dict[str, str], list[NotAdopted]]:
    """The texts that declare what the cluster has, and the differences that no edit adopts.

    ``declaration`` gives reason and ticket of what is new.
    """
    unplaced = declaration._replace(origin=UNWRITTEN)
    if not chosen:
        return dict(texts), []
    refused: list[NotAdopted] = []
    try:
        changes = editing.edited(texts, lambda book: _wanted(book, cluster, chosen, live, unplaced, refused))
        after = {path: text for path, text in {**texts, **changes}.items() if text is not None}
        return after, refused
    except EditError as error:
        if len(chosen) == 1:
            return dict(texts), [NotAdopted(str(chosen[0]), error.reasons[0])]
    # One that cannot be written must not keep the others out: each half by itself, down to the one.
    half = len(chosen) // 2
    first, rejected = adopted(texts, cluster, chosen[:half], live, declaration)
    second, more = adopted(first, cluster, chosen[half:], live, declaration)
    return second, rejected + more


def _wanted(
    book: Book,
    cluster: str,
    chosen: Iterable[Difference],
    live: ClusterState,
    declaration: Declaration,
    refused: list[NotAdopted],
) -> Mapping[str, DesiredState]:
    state = _Growing(book.desired[cluster])
    for difference in chosen:
        problem = state.adopt(difference.change, live, declaration)
        if problem is not None:
            refused.append(NotAdopted(str(difference), problem))
    return {**book.desired, cluster: state.state}


class _Growing:
    """A declared state that takes in one change after the other."""

    def __init__(self, state: DesiredState) -> None:
        self.state = replace(state, bindings=dict(state.bindings), topics=dict(state.topics))

    def adopt(self, change: Change, live: ClusterState, declaration: Declaration) -> str | None:
        """Take a change in, or say why not."""
        adopted = kind_of(change).adopted(self.state, change, live, declaration)
        if isinstance(adopted, str):
            return adopted
        self.state = adopted
        return None


# A second principal next to one that is there: where manifests name the old one, they name both.


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
    states = [without_principal(state, old) for state in book.desired.values()]
    declared = [desired_item for state in states for items in state.listed.values() for desired_item in items.values()]
    for desired_item in sorted(declared, key=lambda item: item.declaration.origin):
        if desired_item.item.principal == old:
            place = desired_item.declaration.origin
            yield f"the {desired_item.item.subject} is declared at {place}: change that yourself"


def with_second(book: Book, old: str, new: str) -> dict[str, str]:
    """The texts in which every rule, owner, grant and scope for ``old`` is also one for ``new``, to be proven."""
    texts = {path: source.text for path, source in book.manifests.sources.items()}
    splices: dict[str, list[Splice]] = {}
    for page in book.of("Acls", "Topics"):
        splices.setdefault(page.path, []).extend(_of_page(book, page, old, new))
    for page in book.of("Cluster"):
        for entry in _included(page, old):
            if not _texts_of(entry, new):
                splices.setdefault(page.path, []).extend(_added(page.text, entry, new))
    return {path: spliced(text, splices.get(path, ())) for path, text in texts.items()}


def _of_page(book: Book, page: Page, old: str, new: str) -> Iterator[Splice]:
    texts = [page.texts(book.clusters[name]) for name in sorted(book.where(page))]
    spec = page.span.get("spec")
    for holder in _holders(page, spec) if spec is not None else ():
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
    for text in value.texts:
        if {by_place.get((text.line, text.column)) for by_place in texts} == {principal}:
            return text
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


def _included(page: Page, principal: str) -> Iterator[tuple[TextSpan, TextSpan]]:
    """The keys and values in a cluster's ``scope.include`` that name a principal, ``literal`` or bare."""
    include = page.span.get("spec", "scope", "include")
    for item in include.items if include is not None else ():
        entry = item.entry("principals")
        entry = entry if entry is None or entry[1].kind != "mapping" else entry[1].entry("literal")
        if entry is not None and _texts_of(entry, principal):
            yield entry


def _texts_of(entry: tuple[TextSpan, TextSpan], principal: str) -> list[TextSpan]:
    return [text for text in entry[1].texts if text.plain == principal]


def in_scope(book: Book, principal: str) -> list[str]:
    """The places at which a scope includes a principal by its name."""
    return [
        _place(page, text)
        for page in book.of("Cluster")
        for entry in _included(page, principal)
        for text in _texts_of(entry, principal)
    ]


def with_second_in_scope(book: Book, old: str, new: str) -> dict[tuple[str, str], object]:
    """The clusters of which a scope includes ``old``, as plain data that includes ``new`` as well."""
    clusters: dict[tuple[str, str], object] = {}
    for page in book.of("Cluster"):
        if any(True for _ in _included(page, old)):
            plain: Any = deepcopy(page.root.plain)
            for item in plain["spec"]["scope"]["include"]:
                holder, key = item, "principals"
                if isinstance(item.get(key), dict):
                    holder, key = item[key], "literal"
                names = holder.get(key)
                names = names if isinstance(names, list) else [names]
                if old in names and new not in names:
                    holder[key] = [*names, new]
            clusters[page.key] = plain
    return clusters


def mentions(book: Book, principal: str) -> list[str]:
    """The places at which other kinds of documents name a principal: Ownership, access tests, exceptions."""
    scopes = in_scope(book, principal)
    return [
        _place(page, span)
        for page in book.pages
        for span in page.span.walk()
        if span.kind == "scalar"
        and span.plain == principal
        and (page.heading.kind not in ("Acls", "Topics") or _is_exception(page, span))
        and _place(page, span) not in scopes
    ]


def _place(page: Page, text: TextSpan) -> str:
    return f"{page.path}:{text.line + 1}:{text.column + 1}"


def _is_exception(page: Page, mention: TextSpan) -> bool:
    span = page.span.get("spec", "exceptions")
    return span is not None and any(below is mention for below in span.walk())


#: Which of the differences to keep.
Choose = Callable[[Sequence[Difference]], Sequence[Difference]]


@dataclass(frozen=True, slots=True)
class AdoptOptions:
    """``only`` selects as in plans; ``reason`` and ``ticket`` are written beside what is new.

    Without a reason, the cluster and the day are.
    """

    only: tuple[str, ...] = ()
    reason: str | None = None
    ticket: str | None = None
    as_of: datetime.date | None = None


@dataclass(frozen=True, slots=True)
class Adoption:
    """The edit, how many differences there were and were kept, which cannot be, and how many a plan still finds."""

    edit: ManifestEdit
    differences: int
    kept: int
    refused: tuple[NotAdopted, ...]
    remaining: int


def adopt(
    path: str,
    cluster: str | None,
    choose: Choose,
    options: AdoptOptions = AdoptOptions(),
    connection: ConnectionOptions = ConnectionOptions(),
    *,
    tell: Tell = ignore,
) -> Adoption:
    """Make the manifests below ``path`` declare what ``cluster`` has, in the differences that ``choose`` keeps.

    Nothing is written, neither to the files nor to the cluster. Raises a :class:`WorkflowError`.
    """
    try:
        selects = selection_of(options.only).predicate()
    except ValueError as error:
        raise RequestError(str(error)) from error
    for text in (options.reason, options.ticket):
        if text is not None and (problem := text_problem(text)) is not None:
            raise RequestError(f"{text!a} cannot be written: {problem}")
    refuse_another_time(cluster, options.as_of)
    day = options.as_of or moment()
    with open_declared(path, cluster, connection, tell) as (manifests, target):
        declaration = declared_for(target)
        wanted = desired(manifests, declaration.name, day)
        # Else what was not seen would go from the manifests, and by the next plan from the cluster.
        live = whole(target.read(read_request(declaration, wanted)))
    # What an operator gave for an hour is not adopted for good.
    emergency = {
        binding: end
        for binding, end in running_break_glass(live.bindings, day).items()
        if binding not in wanted.bindings
    }
    held = denials_of_locks(live.bindings)
    live = replace(live, bindings=live.bindings.difference(emergency, held))
    rules = terms(declaration).diff_rules
    adoptable, unseen = differences(compare(wanted.without(held), live, declaration.scope, rules), live)
    chosen = list(choose([difference for difference in adoptable if selects(difference.change)]))
    reason = options.reason or f"adopted from {declaration.name} on {moment_text(day)}"
    stated = Declaration(UNWRITTEN, reason, options.ticket)
    texts = editing.texts_of(manifests)
    with editing.refused(), sound():
        after, refusals = adopted(texts, declaration.name, chosen, live, stated)
        # Compared again as written: what "adopted" says is what the next plan will find.
        read_back = load_sources(Source(name, text) for name, text in after.items())
    remaining = compare(desired(read_back, declaration.name, day).without(held), live, declaration.scope, rules)
    edit = editing.reviewed(path, manifests, editing.changed(texts, after), AS_SHOWN, day)
    unseen += [
        NotAdopted(
            describe(Delete(binding)).removeprefix("delete "), f"break-glass access until {moment_text(mark.end)}"
        )
        for binding, mark in sorted(emergency.items())
    ]
    unseen += [
        NotAdopted(describe(Delete(binding)).removeprefix("delete "), "a lock: “reconciler unlock” ends it")
        for binding in sorted(held)
    ]
    refusals += unseen
    return Adoption(
        edit,
        len(adoptable) + len(unseen),
        len(chosen) - (len(refusals) - len(unseen)),
        tuple(refusals),
        len(remaining.changes) + len(remaining.skipped),
    )
