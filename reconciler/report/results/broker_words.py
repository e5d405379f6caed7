"""What brokers say against a cluster test, in words."""

from collections.abc import Iterable, Iterator

from reconciler.report.results.documents import BrokerAnswerEntry, ClusterTestEntry


def broken_lines(found: ClusterTestEntry) -> Iterator[str]:
    """What breaks a claim, by the brokers that say the same; then what could not be found out."""
    yield from (f"but {line}" for line in _together(found.breaking))
    yield from (f"could not be found out: {line}" for line in _together(found.unknown))
    if found.note:
        yield found.note


def _together(answers: Iterable[BrokerAnswerEntry]) -> Iterator[str]:
    """``brokers 1, 3: true (from its file)``; in the order of the first broker that says so."""
    who: dict[str, list[str]] = {}
    for answer in answers:
        words = ", ".join(filter(None, (answer.found, answer.doubt)))
        who.setdefault(words, []).append("" if answer.broker is None else str(answer.broker))
    for words, brokers in who.items():
        named = f"broker{'' if len(brokers) == 1 else 's'} {', '.join(brokers)}: " if any(brokers) else ""
        yield named + words
