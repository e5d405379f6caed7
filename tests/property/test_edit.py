"""The editor: the manifests declare exactly what is wanted, and a person's file is still that person's file."""

import re
from collections.abc import Iterable, Mapping
from random import Random

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from reconciler.codec.kinds import LISTED
from reconciler.manifest.write.pages import Book, Page, read
from reconciler.model.desired import DesiredState, Origin
from reconciler.model.scope import Scope
from reconciler.model.topic import Topic
from reconciler.parts.edit.app.adopt import adopted, differences
from reconciler.parts.edit.app.editing import as_live, edited
from reconciler.plan.difference import DiffRules
from reconciler.plan.kinds import compare
from tests.property import edits
from tests.property.edits import NOWHERE


def declared(state: DesiredState) -> tuple[object, ...]:
    """Everything that is declared, in a form of its own: not the one of the editor's proof."""
    return (
        {one: said[1:4] for one, said in state.bindings.items()},
        {name: (one.topic.num_partitions, dict(one.topic.configs), one.absent) for name, one in state.topics.items()},
        {str(key): (one.item, one.declaration[1:4]) for kind in state.listed.values() for key, one in kind.items()},
    )


def origins(state: DesiredState) -> dict[object, tuple[object, Origin]]:
    """What is declared of each thing, and where."""
    listed = ((key, one) for kind in state.listed.values() for key, one in kind.items())
    return {
        **{one: (said[1:4], said.origin) for one, said in state.bindings.items()},
        **{name: ((one.topic, one.absent), one.origin) for name, one in state.topics.items()},
        **{key: ((one.item, one.absent, one.declaration[1:4]), one.declaration.origin) for key, one in listed},
    }


def touched(before: Book, wanted: DesiredState) -> set[tuple[str, str]]:
    """The documents that declare something which is to go, or to be declared otherwise."""
    old, new = origins(before.desired["demo"]), origins(wanted)
    places = [place for key, (said, place) in old.items() if key not in new or new[key][0] != said]
    return {page.key for page in before.pages for place in places if _is_in(place, page, before)}


def _is_in(place: Origin, page: Page, book: Book) -> bool:
    first, last = lines_of(page, book)
    return place.file == page.path and first < place.line <= last


def lines_of(page: Page, book: Book) -> tuple[int, int]:
    """The lines of a document, from the one after ``first`` to ``last``, counted from 1; with those before the next."""
    starts = [one.start for one in book.pages if one.path == page.path and one.start > page.start]
    end = min(starts, default=len(page.text))
    return page.text[: page.start].count("\n"), page.text[:end].rstrip("\r\n").count("\n") + 1


def is_part(lines: Iterable[str], of: Iterable[str]) -> bool:
    """Whether all lines are there, in their order."""
    left = iter(of)
    return all(line in left for line in lines)


def check(seed: int) -> None:
    random = Random(seed)
    texts = edits.Author(random).manifests()
    wishes: dict[str, DesiredState] = {}

    def wanted(book: Book) -> Mapping[str, DesiredState]:
        wishes.update(edits.wish(random, book))
        return wishes

    changes = edited(texts, wanted)
    after = {path: text for path, text in {**texts, **changes}.items() if text is not None}
    assert declared(read(after).desired["demo"]) == declared(wishes["demo"])
    assert all(texts.get(path) != text for path, text in changes.items())
    check_intact(texts, after, wishes)


def check_intact(texts: Mapping[str, str], after: Mapping[str, str], wishes: Mapping[str, DesiredState]) -> None:
    """All lines of documents of which nothing goes are there, and the comments between the others."""
    before = read(texts)
    going = touched(before, wishes["demo"])
    for page in before.pages:
        first, last = lines_of(page, before)
        kept = page.text.splitlines()[first:last]
        lines = after.get(page.path, "").splitlines()
        if page.key in going:
            # Between documents: in none of their rules.
            # Those of a document that goes lose their margin.
            comments = [line for line in kept if "# between " in line]
            assert {line.strip() for line in comments} <= {line.strip() for line in lines}, (page.key, page.path)
            kept = [line for line in kept if line.startswith(("#", "  # line", "  # - looks"))]
        elif page.start == 0 or not first:
            kept = [line for line in kept if line != "---"]
        # Between brackets something new stands on the line of the last item.
        whole = page.key not in going and is_part(re.sub(r" \[ *\]", "", "".join(kept)), "".join(lines))
        assert is_part(kept, lines) or whole, (page.key, page.path)


@given(st.integers(0, 2**32))
@example(2547)  # the last key between brackets goes, and another one comes
@example(85)  # all that a document in brackets says goes
def test_what_is_wanted_is_declared_and_the_rest_of_the_file_stays(seed: int) -> None:
    check(seed)


def check_adopted(seed: int) -> None:
    """A cluster that drifted from random manifests is adopted whole: then nothing differs, and comments are there."""
    random = Random(seed)
    texts = edits.Author(random).manifests()
    book = read(texts)
    wishes = edits.wish(random, book)
    live, rules = as_live(wishes["demo"]), DiffRules(prune={Topic.KIND, *LISTED})
    found, unseen = differences(compare(book.desired["demo"], live, Scope(), rules), live)
    after, refused = adopted(texts, "demo", found, live, NOWHERE._replace(reason="adopted: #1", ticket="T-1"))
    assert (unseen, refused) == ([], [])
    read_back = read(after)
    remaining = compare(read_back.desired["demo"], live, Scope(), rules)
    assert (remaining.changes, remaining.skipped) == ((), ())
    check_intact(texts, after, read_back.desired)


@given(st.integers(0, 2**32))
def test_whatever_drifted_adopts_to_nothing(seed: int) -> None:
    check_adopted(seed)


@pytest.mark.long
def test_five_hundred_drifts_adopt_to_nothing() -> None:
    for seed in range(500):
        check_adopted(seed)


@pytest.mark.long
@pytest.mark.parametrize("part", range(5))
def test_the_same_of_many(part: int) -> None:
    for seed in range(part * 400, part * 400 + 400):
        check(seed)
