"""Results of cluster tests as text and for programs: which broker differs, what it has, and what nobody could tell."""

from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Final

from reconciler.manifest.documents.cluster_tests import ClusterTest
from reconciler.model.characters import Style, as_name, counted, plain, safe, ticked
from reconciler.results.checks import ClaimStatus, ClusterTestResult, ToldByBroker
from reconciler.results.documents import BrokerAnswerEntry, ClusterTestEntry, ExceptionEntry, broken_lines
from reconciler.results.findings import Level

_STYLE: Final = {
    ClaimStatus.PASSED: "add",
    ClaimStatus.FAILED: "error",
    ClaimStatus.UNDECIDED: "warn",
    ClaimStatus.EXCEPTED: "warn",
}


def cluster_test_lines(
    results: Iterable[ClusterTestResult], style: Style = plain, *, all_of_them: bool = False
) -> Iterator[str]:
    """Each result that did not pass, or every one, then a line that counts them all; nothing without any."""
    results = tuple(results)
    for result in results:
        if all_of_them or result.standing is not ClaimStatus.PASSED:
            yield from _lines(result, style)
    if results:
        found = Counter(result.standing for result in results)
        parts = ", ".join(f"{found[standing]:,} {standing}" for standing in ClaimStatus if found[standing])
        yield f"{counted(len(results), 'claim')} about brokers and features: {parts}"


def _lines(result: ClusterTestResult, style: Style) -> Iterator[str]:
    test = result.test
    word = str(result.standing)
    if test.severity == "warning" and result.standing in (ClaimStatus.FAILED, ClaimStatus.UNDECIDED):
        word += " (warning)"
    place = style("dim", f"  {safe(str(test.origin))}")
    yield style(_STYLE[result.standing], word) + f"  {safe(test.name)}{place}"
    if result.standing is ClaimStatus.PASSED:
        return
    yield f"    claimed: {safe(claim_words(test))}"
    yield from (f"    {safe(line)}" for line in broken_lines(entry(result)))
    if test.exception is not None:
        stands = "accepted until" if result.standing is ClaimStatus.EXCEPTED else "was accepted until"
        yield safe(f"    {stands} {test.exception.expires}: {ticked(test.exception.reason)}")


def claim_words(test: ClusterTest) -> str:
    """``auto.create.topics.enable is false on every broker``."""
    return f"{as_name(test.key)} {test.words}" + ("" if test.is_feature else " on every broker")


def entry(result: ClusterTestResult) -> ClusterTestEntry:
    """One result as commands print it for programs."""
    test, exception = result.test, result.test.exception
    return ClusterTestEntry(
        test=test.name,
        document=test.document,
        key=test.key,
        place=test.origin,
        severity=Level(test.severity),
        standing=result.standing.value,
        stops=result.stops,
        words=claim_words(test),
        breaking=tuple(map(_answer, result.breaking)),
        unknown=tuple(map(_answer, result.unknown)),
        note=result.note,
        exception=None
        if exception is None
        else ExceptionEntry(exception.reason, str(exception.expires), exception.ticket),
    )


def _answer(answer: ToldByBroker) -> BrokerAnswerEntry:
    return BrokerAnswerEntry(answer.broker, answer.found, answer.doubt)
