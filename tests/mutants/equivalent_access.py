"""Faults of ``reconciler/access`` that change nothing that anybody may rely on, each with the reason."""

from typing import Final

_END: Final = "the end of the function, which returns None"

#: As :data:`tests.mutants.equivalent.EQUIVALENT`, which has them too.
EQUIVALENT_ACCESS: Final[dict[tuple[str, str, str, str], str]] = {
    (
        "reconciler/access/assertions.py",
        "Checker.decide",
        "search(assertion, selection, hard) if hard is not easy else None",
        "search(assertion, selection, hard)",
    ): ("a shortcut: the same interpretation has just been searched, and nothing was found"),
    (
        "reconciler/access/lint/ineffective.py",
        "_pattern_problem",
        "return None",
        "pass",
    ): ("the end of the function, which returns None"),
    (
        "reconciler/access/remediation.py",
        "_step",
        "if verdict.assertion.claim is AssertionKind.MUST: return (_missing(verdict.asser …  request, "
        "authorizer, principals), [])",
        "if True: return (_missing(verdict.assertion, request, authorizer, principals), [])",
    ): ("a shortcut: no grant keeps anybody from anything, so the rounds end without a remedy"),
    (
        "reconciler/access/remediation.py",
        "_meeting",
        "for kind, principal in index.group_keys() if kind is ResourceType.CLUSTER or ':' not in principal",
        "for kind, principal in index.group_keys()",
    ): ("more bindings are kept than bear on the assertion, which is only slower"),
    (
        "reconciler/access/interpretation.py",
        "_may_be_range",
        "'/' in binding.entry.host and address_range(binding.entry.host, RANGES_SINCE) is not None",
        "address_range(binding.entry.host, RANGES_SINCE) is not None",
    ): ("a shortcut: no text without a slash is a range"),
    (
        "reconciler/access/effective.py",
        "_OpenNames.edge_around",
        "at >= 0 and self.edges[at].contains(names)",
        "self.edges[at].contains(names)",
    ): ("what sorts before every edge is in none, the last one neither; what is covered at all has edges"),
    (
        "reconciler/access/assertions.py",
        "CounterexampleSearch._denied",
        "0",
        "1",
    ): ("1 is the bit of no operation, let alone of a DENY"),
    (
        "reconciler/access/interpretation.py",
        "as_binding",
        "code or 0",
        "code",
    ): ("a code that is lost is refused like 0; only its type is another"),
    (
        "reconciler/access/lint/covering.py",
        "Covering.redundancy",
        "if not candidates: return ()",
        "if False: return ()",
    ): "a shortcut: none are not enough",
    (
        "reconciler/access/effective.py",
        "_OpenNames.with_own",
        "return None",
        "pass",
    ): "of a name without an edge, and there is none: what a binding names is covered. Tests notice the other return",
    (
        "reconciler/access/comparison.py",
        "_OfEveryone.look_at",
        "return shared",
        "pass",
    ): "a zone is compared in full the first time, which gives the same piece",
    (
        "reconciler/access/effective.py",
        "_holders_in",
        "if piece.effect.gained >> operation & 1: everybody = True yield Access(None, pie … ({operation}), piece.host, "
        "piece.name)",
        "if True: everybody = True yield Access(None, piece.hosts, piece.resources, froze … ({operation}), piece.host, "
        "piece.name)",
    ): "one operation is compared and no piece is unchanged, so each gains it",
    (
        "reconciler/access/remediation.py",
        "suggest_fix",
        "verdict.outcome is AssertionOutcome.UNDECIDED or verdict.witness is None",
        "verdict.outcome is AssertionOutcome.UNDECIDED",
    ): "for the type checker: a failure has a request that breaks the assertion",
    (
        "reconciler/access/remediation.py",
        "_meeting",
        "for binding in own if binding.pattern.overlaps(pattern)",
        "for binding in own",
    ): "more bindings are kept than bear on the assertion, which is only slower",
    (
        "reconciler/access/effective.py",
        "_OpenNames.of",
        "for edge, inside in cuts.items() if inside != [edge]",
        "for edge, inside in cuts.items()",
    ): "a shortcut: what is not kept is taken for the edge itself",
    (
        "reconciler/access/lint/covering.py",
        "Covering._table",
        "1",
        "0",
    ): "fewer tables are kept, and those that are missed are made again",
    (
        "reconciler/access/assertions.py",
        "CounterexampleSearch._granted",
        "grant.names.kind == names.kind or names.contains(grant.names)",
        "grant.names.kind == names.kind and names.contains(grant.names)",
    ): "a shortcut: the search goes on to longer names, of which none is taken",
    (
        "reconciler/access/assertions.py",
        "CounterexampleSearch._granted",
        "grant.names.kind == names.kind or names.contains(grant.names)",
        "names.contains(grant.names)",
    ): "a shortcut: the search goes on to longer names, of which none is taken",
    (
        "reconciler/access/assertions.py",
        "CounterexampleSearch._granted",
        "grant.names.kind == names.kind or names.contains(grant.names)",
        "grant.names.kind == names.kind",
    ): "a shortcut: the search goes on to longer names, of which none is taken",
    (
        "reconciler/access/comparison.py",
        "AccessComparison._alike",
        "if where.usual or not recurring: return where.hosts(classes, self.version)",
        "if True: return where.hosts(classes, self.version)",
    ): "a shortcut: what is kept is what is computed",
    (
        "reconciler/access/comparison.py",
        "AccessComparison.nodes",
        "return [zone] if self._is_possible(resource_type, zone) else []",
        "pass",
    ): "a shortcut: nothing is inside a single name",
    (
        "reconciler/access/difference.py",
        "PossibleChange._forward",
        "before is not after and (_more(before, after, _WRITE) or _more(after, before, _NO_WRITE))",
        "_more(before, after, _WRITE) or _more(after, before, _NO_WRITE)",
    ): "a shortcut: a group sets no bit that it does not set",
    (
        "reconciler/access/reach.py",
        "Reach._hops_of",
        "len(principals) < _FEW",
        "len(principals) <= _FEW",
    ): "a shortcut: both ways find the principals of a row that differ",
    (
        "reconciler/access/reach.py",
        "Rights._holding",
        "self._piece(names, host, but) if but else self._common_piece(names, host)",
        "self._piece(names, host, but)",
    ): "a shortcut: what is kept is what is computed",
    (
        "reconciler/access/comparison.py",
        "_Groups.masks",
        "return self._only_table.at_names(zone)",
        "pass",
    ): "a shortcut: several times the same table says the same",
    (
        "reconciler/access/holders.py",
        "DutyHolders.__init__",
        "flow and topics",
        "flow",
    ): "a shortcut: without topics nothing flows",
    (
        "reconciler/access/hosts.py",
        "RangeIndex.around",
        "return",
        "pass",
    ): "a shortcut: without ranges there is no length to look up",
    ("reconciler/access/assertions.py", "CounterexampleSearch._elsewhere", "return None", "pass"): _END,
    ("reconciler/access/assertions.py", "CounterexampleSearch._writes_somewhere", "return None", "pass"): _END,
    ("reconciler/access/names.py", "_longer_name", "return None", "pass"): _END,
    ("reconciler/access/questions.py", "instead", "return None", "pass"): _END,
}
