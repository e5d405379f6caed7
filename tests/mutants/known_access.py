"""The known faults of access: what decides who may do what, and all that compares it."""

from typing import Final

from tests.mutants.mutant import Mutant

_TESTS: Final = (
    "tests/unit/access",
    "tests/unit/conformance/test_access_conformance.py",
    "tests/property/test_access_authorizer.py",
    "tests/property/test_access_difference.py",
    "tests/property/test_access_assertions.py",
    "tests/property/test_access_effective.py",
    "tests/property/test_access_opaque.py",
    "tests/property/test_access_floods.py",
    "tests/property/test_access_uniform_zones.py",
    "tests/property/test_broker_defects.py",
    "tests/property/test_hosts.py",
)

KNOWN_OF_ACCESS: Final = (
    Mutant("model/acl.py", "    _O.ALTER: _O.DESCRIBE,\n", "", "ALTER implies DESCRIBE", _TESTS),
    *(
        Mutant(f"access/{file}", before, after, law, _TESTS)
        for file, before, after, law in (
            (
                "group.py",
                "& ~(mask >> DENIED)",
                "",
                "a DENY of an operation takes away what it names from the allowed",
            ),
            (
                "group.py",
                "        return named << DENIED",
                "        return (named | 1 << _O.DESCRIBE) << DENIED",
                "a DENY takes away what it names, not what that implies",
            ),
            (
                "names.py",
                "while index >= 0:\n            if prefix",
                "if index >= 0:\n            if prefix",
                "the nearest prefix that holds a name may be several prefixes out",
            ),
            (
                "names.py",
                "around = self.masks[parent] if parent >= 0 else 0 if",
                "around = 0 if",
                "a prefix passes on what the prefixes around it give",
            ),
            (
                "index.py",
                "who = dict.fromkeys((principal, WILDCARD_PRINCIPAL))\n            groups",
                "who = (principal,)\n            groups",
                "a principal has what User:* has",
            ),
            (
                "index.py",
                "own = self._changed.get(group_key) if self._changed else None",
                "own = None",
                "groups compiled before a change are not kept after it",
            ),
            (
                "names.py",
                "            shared.extend(inside(disjoint, key))",
                "            pass",
                "names disjoint from a binding's own are found inside of it",
            ),
            (
                "names.py",
                "    return not key.literal and at <",
                "    return False and at <",
                "a prefix meets a key inside of it",
            ),
            (
                "names.py",
                "if key.matches(name):",
                "if name:",
                "names are covered by a prefix only where they match it",
            ),
            (
                "names.py",
                "at_names(key) != 0 or (key.kind == LITERAL and self._holds(key.text))",
                "at_names(key) != 0",
                "the literal of a name covers it",
            ),
            (
                "interpretation.py",
                "if mask and self.index is self.cover:",
                "if mask:",
                "only where the index is the cover is what it finds the whole answer",
            ),
            (
                "difference.py",
                "if old.covers(key) is not new.covers(key))",
                "if old.covers(key) and not new.covers(key))",
                "a key that came with the change is compared",
            ),
            (
                "difference.py",
                "if any(zone.matches(PROBE) for zone in zones):",
                "if any(False for zone in zones):",
                "default-allow decides the one name that brokers ask about",
            ),
            (
                "difference.py",
                "            zones.update(everyone)\n",
                "",
                "a change for User:* is a change for everybody",
            ),
            (
                "difference.py",
                "(zone, meets_any(zone, everyone))",
                "(zone, False)",
                "what overrides the comparison leaves the rest unchanged",
            ),
            (
                "comparison.py",
                "{zone, ASTERISK_NAMES, literal(WILDCARD)} if zone.contains(ASTERISK_NAMES) else {zone}",
                "{zone}",
                "the wildcard and the names that begin with * are sets of their own",
            ),
            (
                "comparison.py",
                "            if group.hosts_on(zone):",
                "            if False:",
                "a zone on which entries distinguish hosts is compared host by host",
            ),
            (
                "comparison.py",
                "            if shared is None or ((own.hosts or zone.kind != LITERAL) and own.divide(zone)):",
                "            if shared is None:",
                "a zone that a principal's own entries divide is compared part by part",
            ),
            (
                "comparison.py",
                "or self._groups.divide(zone)",
                "",
                "a zone that entries of User:* divide is compared part by part",
            ),
            (
                "comparison.py",
                "if len(inner) > 1 or (inner and inner[0] != zone):",
                "if len(inner) > 1:",
                "one entry inside a zone divides it",
            ),
            (
                "comparison.py",
                "not self._cluster_hosts and not any(of)",
                "not self._cluster_hosts",
                "rights on the cluster count on topics",
            ),
            (
                "comparison.py",
                "not self._cluster_hosts and not any(of)",
                "not any(of)",
                "entries of User:* on the cluster may be for one host",
            ),
            (
                "comparison.py",
                "return not all(coverage.covers(zone) for coverage in self._coverages)",
                "return False",
                "what no entry covers is divided where default-allow opens it",
            ),
            (
                "comparison.py",
                'if zone.text[:1] in ("", WILDCARD) or',
                "if",
                "LITERAL * does not reach every name that begins with an asterisk",
            ),
            (
                "comparison.py",
                "self._tables[0] if len(set(self._tables)) == 1 else None",
                "self._tables[0]",
                "a principal's own entries may change too",
            ),
            (
                "resource_sets.py",
                "self._kept[outer].cuts.append(index)",
                "pass",
                "an inner set is cut out of the outer one",
            ),
            (
                "comparison.py",
                "            if interpretation.default_allow:",
                "            if False:",
                "default-allow gives what no binding speaks of",
            ),
            (
                "comparison.py",
                "operations |= interpretation.access(*asked) & ON_EVERY_TOPIC",
                "pass",
                "WRITE on any topic counts wherever a producer is asked about",
            ),
            (
                "hosts.py",
                "self.lacking.difference(self.members)",
                "self.lacking",
                "a set of all but some keeps what it has as members",
            ),
            (
                "resource_sets.py",
                "for outer, (parts, added) in outside.items():",
                "for outer, (parts, added) in ():",
                "the parts outside a set are compared too",
            ),
            (
                "difference.py",
                "for before, after in self._pairs:\n            old, new = (reading.access",
                "for before, after in self._pairs[:1]:\n            old, new = (reading.access",
                "every pair of interpretations is compared",
            ),
            (
                "difference.py",
                "gained = gained & ~(before.least.access(*other) & ON_EVERY_TOPIC)",
                "gained = gained & ~before.most.access(*other)",
                "what was certain before is not gained, what was possible is",
            ),
            (
                "interpretation.py",
                "plain = self.guessed or (*self.both, *self.both)",
                "plain = (*self.both, *self.both)",
                "guessed interpretations are tried in place of the known ones",
            ),
            (
                "assertions.py",
                "            denied.append(literal(WILDCARD))",
                "            pass",
                "the wildcard as a name is tried as a counterexample",
            ),
            (
                "assertions.py",
                "                if text == WILDCARD and host_class.label == WILDCARD:",
                "                if True:",
                "only the wildcard stands for all names in a counterexample",
            ),
            (
                "hosts.py",
                "for outer, label in sorted(ranges.items())",
                "for outer, label in ()",
                "ranges within ranges are told apart",
            ),
            (
                "hosts.py",
                "        if number < first:\n            break\n",
                "",
                "the lowest free address is before the first range, where that leaves room",
            ),
            (
                "broker_defects.py",
                "or resource_type in self._scan_ends_early",
                "",
                "a scan that ends early is a defect of its resource type",
            ),
            (
                "lint/covering.py",
                "if self._authorizer.interpretations.most.default_allow or not",
                "if not",
                "under default-allow a DENY is not without effect, whatever is known",
            ),
            (
                "interpretation.py",
                'principal = entry.principal if ":" in entry.principal else WILDCARD_PRINCIPAL',
                "principal = entry.principal",
                "an opaque entry without a type may be for everybody",
            ),
            (
                "authorizer.py",
                "and not denied.at_names(names_of(binding.pattern))",
                "",
                "what is denied on the names of a binding gives no access by resource type",
            ),
            (
                "effective.py",
                "return [names]\n    if _reaches",
                "return []\n    if _reaches",
                "names that a binding reaches are among the effective ones",
            ),
            (
                "lint/covering.py",
                "key == ALL_NAMES or not (ASTERISK_NAMES.contains(key) or key.contains(ASTERISK_NAMES))",
                "True",
                "names that begin with * are not covered by a binding on all names",
            ),
        )
    ),
)
