"""Rules narrowed by place: what is to go leaves their lists; where it does not fit there, names or whole rules go."""

from collections.abc import Iterable, Sequence

from reconciler.edit.kinds.acl.units import CONTENT, Involved, RemovableUnit, Said, lists, of_place, of_principal
from reconciler.edit.layout import TextSpan, comments
from reconciler.edit.pages import Page
from reconciler.edit.splices import Splice, emptied, with_notes, without_entries, without_items
from reconciler.edit.writing import with_entry


class Reduction:
    """One document, without what is to go."""

    def __init__(self, page: Page, units: list[RemovableUnit], texts: dict[str, dict[tuple[int, int], str]]) -> None:
        self._page, self._units, self._texts = page, units, texts
        self._splices: list[Splice] = []
        self._narrowed: list[tuple[RemovableUnit, list[Splice]]] = []
        self._whole: list[tuple[RemovableUnit, bool]] = []

    def splices(self) -> list[Splice]:
        """All changes of the document."""
        self._without_principals()
        for unit in self._units:
            if any(said.goes for said in unit.said):
                self._reduce(unit)
        going = {(unit.parent.start, unit.key) for unit, _ in self._whole if unit.number is None}
        for unit, cuts in self._narrowed:
            if unit.key == "reads" and (unit.parent.start, "owns") in going:
                self._whole.append((unit, True))  # it takes its groups from owns
            else:
                self._splices += cuts
        self._remove_units()
        return self._splices

    def _without_principals(self) -> None:
        """Principals of the document that lose all of it leave its list."""
        named = self._page.span.get("spec", "principals")
        said = [one for unit in self._units for one in unit.said]
        gone = self._gone(named, said, of_principal) if named is not None else []
        if named is not None and gone and len(gone) < len(named.texts):
            self._splices += without_items(self._page.text, named, gone)
            for unit in self._units:
                unit.said = [one for one in unit.said if not self._involves(named, gone, one, of_principal)]

    def _gone(self, span: TextSpan, said: Sequence[Said], involved: Involved) -> list[int]:
        """The texts of a list all of whose bindings go, by number."""
        found = []
        for number in range(len(span.texts)):
            concerned = [one for one in said if self._involves(span, [number], one, involved)]
            if concerned and all(one.goes for one in concerned):
                found.append(number)
        return found

    def _involves(self, span: TextSpan, numbers: Iterable[int], said: Said, involved: Involved) -> bool:
        places = [(span.texts[number].line, span.texts[number].column) for number in numbers]
        return any(involved(said, self._texts[said.cluster].get(place, ""), place) for place in places)

    def _reduce(self, unit: RemovableUnit) -> None:
        """Narrow a unit, or mark it to be removed as a whole, where that says more clearly or only that says it."""
        left = unit.said
        cut: dict[int, tuple[TextSpan, set[int]]] = {}
        for span, involved in (*lists(unit, names=True), *lists(unit, names=False)):
            gone = self._gone(span, left, involved)
            if gone and len(gone) < len(span.texts):
                cut[span.start] = (span, set(gone))
                left = [one for one in left if not self._involves(span, gone, one, involved)]
        for span, involved in (*lists(unit, names=True), *lists(unit, names=False)):
            # What is left to go shares its names (or its principals) with what stays, which is written out again.
            if involved not in (of_place, of_principal):
                continue
            known = cut.get(span.start, (span, set[int]()))[1]
            going = [one for one in left if one.goes]
            more = known | {
                number
                for number in range(len(span.texts))
                if any(self._involves(span, [number], one, involved) for one in going)
            }
            if more > known and len(more) < len(span.texts):
                cut[span.start] = (span, more)
                left = [one for one in left if not self._involves(span, more, one, involved)]
        if any(one.goes for one in left):
            self._whole.append((unit, not all(one.goes for one in unit.said)))
            return
        cuts = [one for span, numbers in cut.values() for one in without_items(self._page.text, span, numbers)]
        self._narrowed.append((unit, cuts))

    def _remove_units(self) -> None:
        text, parents = self._page.text, dict[tuple[int, str], list[tuple[RemovableUnit, bool]]]()
        fields: dict[int, tuple[TextSpan, set[str]]] = {}
        for unit, replaced in self._whole:
            if unit.number is None:
                fields.setdefault(unit.parent.start, (unit.parent, set()))[1].add(unit.key)
            else:
                parents.setdefault((unit.parent.start, unit.key), []).append((unit, replaced))
        for found in parents.values():
            parent, key = found[0][0].parent, found[0][0].key
            named, span = parent.entry(key) or (parent, parent)
            notes = self._notes(span, found)
            if len(found) < len(span.items):
                numbers = [unit.number for unit, _ in found if unit.number is not None]
                self._splices += with_notes(text, span, without_items(text, span, numbers), notes)
            elif key == "grants":
                fields.setdefault(parent.start, (parent, set()))[1].add(key)
            else:
                self._splices += emptied(text, named, span, notes)
        for parent, keys in fields.values():
            self._remove_fields(parent, keys)

    def _notes(self, span: TextSpan, found: list[tuple[RemovableUnit, bool]]) -> list[list[str]]:
        """The comments of units of which something is written again, for each unit of the list in its order."""
        found.sort(key=lambda one: one[0].span.start)
        return [comments(self._page.text, unit.span, flow=span.flow) if replaced else [] for unit, replaced in found]

    def _remove_fields(self, parent: TextSpan, keys: set[str]) -> None:
        text, spec = self._page.text, self._page.span.get("spec")
        if "owns" in keys and parent.entry("reads") is not None:
            keys.add("reads")
        if spec is not None and len(keys) == len(parent.entries):
            self._splices += without_entries(text, spec, {"defaults"})
            return
        empty = spec is parent and not any(key.plain not in keys and key.plain in CONTENT for key, _ in parent.entries)
        if empty and parent.flow:
            key, value = next((key, value) for key, value in parent.entries if key.plain in keys)
            self._splices += [Splice(key.start, value.end, "rules: []")]
            keys.remove(key.plain)
        self._splices += without_entries(text, parent, keys)
        if empty and not parent.flow:
            self._splices += with_entry(text, parent, "rules", "[]")
