"""Name sets to bit masks: literals and prefixes compiled so that a look-up is one bisect and a short walk."""

from bisect import bisect_right
from collections.abc import Mapping

from reconciler.access.name_set import ALL_NAMES, LITERAL, PREFIX, NameSet
from reconciler.model import WILDCARD


class NameIndex:
    """For each name the OR of the masks of all name sets that contain it. Immutable."""

    __slots__ = ("base", "literals", "masks", "parents", "prefixes")

    def __init__(self, rules: Mapping[NameSet, int]) -> None:
        """Compile the masks; a longer prefix includes the masks of the shorter ones around it."""
        self.base = rules.get(ALL_NAMES, 0)
        self.prefixes = sorted(names.text for names in rules if names.kind == PREFIX and names.text)
        self.parents: list[int] = []
        self.masks: list[int] = []
        for index, text in enumerate(self.prefixes):
            parent = index - 1
            while parent >= 0 and not text.startswith(self.prefixes[parent]):
                parent = self.parents[parent]
            self.parents.append(parent)
            # Brokers do not apply LITERAL * to names that begin with an asterisk, so its mask is not inherited there.
            around = self.masks[parent] if parent >= 0 else 0 if text[0] == WILDCARD else self.base
            self.masks.append(rules[NameSet(text)] | around)
        literals = {names.text: mask for names, mask in rules.items() if names.kind == LITERAL}
        # Most principals have names alone, and nothing around them.
        wide = self.base or self.prefixes
        self.literals = {text: mask | self.under(text) for text, mask in literals.items()} if wide else literals
        # The name * itself is the one such name that LITERAL * does match.
        if self.base:
            self.literals[WILDCARD] = self.literals.get(WILDCARD, 0) | self.under(WILDCARD) | self.base

    def at(self, name: str) -> int:
        """The mask of one name."""
        found = self.literals.get(name)
        return self.under(name) if found is None else found

    def under(self, prefix: str) -> int:
        """The mask of names that start with ``prefix``, are longer, and are in no narrower set."""
        prefixes = self.prefixes
        index = bisect_right(prefixes, prefix) - 1
        while index >= 0:
            if prefix.startswith(prefixes[index]):
                return self.masks[index]
            index = self.parents[index]
        return 0 if prefix[:1] == WILDCARD else self.base

    def at_names(self, names: NameSet) -> int:
        """The mask on a set of names, except on the narrower sets of this index."""
        text, kind = names
        found = self.literals.get(text) if kind == LITERAL else None
        return self.under(text) if found is None else found
