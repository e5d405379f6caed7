"""Texts of a policy that an engine will run: patterns of names, and expressions; what bounds them.

Policies come in pull requests of many people, so no text may take long or much memory, whatever it says. Patterns run
in RE2, in time linear to the name. Expressions have no loops but CEL's macros over lists, of which the engine counts
every round; the limits here bound what the rounds could build.
"""

import re
from collections.abc import Iterable, Mapping
from typing import Final, NamedTuple

from reconciler.manifest.reader.codes import Code
from reconciler.manifest.reader.findings import Findings, Trouble
from reconciler.manifest.reader.problem import Problem, in_order
from reconciler.manifest.reader.source import Source, lines_of, quoted
from reconciler.model import Origin

MAX_PATTERN: Final = 500
MAX_EXPRESSION: Final = 1000
#: Nested macros bind what is built in one round for the next, and ``+`` builds: together they could grow without end.
MAX_MACROS: Final = 4
MAX_PLUS: Final = 16
_MACRO = re.compile(r"\b(?:all|exists|exists_one|filter|map)\b")


class ExpressionFault(NamedTuple):
    """What CEL says of one expression: ``line`` and ``column`` count from 1 in ``text``, which begins at ``origin``."""

    origin: Origin
    text: str
    line: int
    column: int
    message: str


def pattern_problem(text: str) -> Trouble | None:
    """Why ``text`` is not a pattern of names; ``None`` if it is."""
    import re2  # noqa: PLC0415 - native code, for policies with patterns only

    if len(text) > MAX_PATTERN:
        return Trouble(Code.POLICY_FORM, f"a pattern has at most {MAX_PATTERN} characters", "shorten it")
    options = re2.Options()
    options.log_errors = False
    try:
        re2.compile(text, options=options)
    except re2.error as error:
        words = error.args[0].decode("utf-8", "replace") if error.args else "it cannot be read"
        advice = "write it as RE2 reads it: no lookaround, no references back"
        return Trouble(Code.POLICY_FORM, f"{quoted(text)} is not a regular expression: {words}", advice)
    return None


def expression_problem(text: str) -> Trouble | None:
    """Why an expression is refused before it is compiled; ``None`` if its size is within bounds."""
    if not text.strip():
        return Trouble(Code.POLICY_FORM, "the expression is empty", "write the condition that must be true")
    if len(text) > MAX_EXPRESSION:
        return Trouble(Code.POLICY_FORM, f"an expression has at most {MAX_EXPRESSION} characters", "make rules of it")
    if len(_MACRO.findall(text)) > MAX_MACROS:
        message = f"an expression has at most {MAX_MACROS} of all, exists, exists_one, filter and map"
        return Trouble(Code.POLICY_FORM, message, "make rules of it")
    if text.count("+") > MAX_PLUS:
        return Trouble(Code.POLICY_FORM, f"an expression has at most {MAX_PLUS} plus signs", "make rules of it")
    return None


def expression_problems(sources: Mapping[str, Source], faults: Iterable[ExpressionFault]) -> tuple[Problem, ...]:
    """The faults as problems of the manifests, each at the place in the file that CEL means."""
    problems: list[Problem] = []
    for fault in faults:
        findings = Findings(sources.get(fault.origin.file, Source(fault.origin.file, "")))
        place = _place(findings.source.text, fault)
        advice = "variables are name, partitions, replicationFactor, configs, labels, brokers and cluster"
        findings.add_at(Trouble(Code.EXPRESSION, fault.message, advice), place)
        problems += findings.problems
    return in_order(problems)


def _place(text: str, fault: ExpressionFault) -> Origin:
    """The place of the fault in the file, or where the expression begins if YAML folded its lines."""
    lines, wanted = lines_of(text), fault.text.split("\n")
    part = wanted[fault.line - 1] if 0 < fault.line <= len(wanted) else ""
    start = fault.origin.line - 1
    # A block's first line is the one after its indicator; any other form begins where the value does.
    for number in (start + fault.line - 1, start + fault.line):
        if part and number < len(lines):
            column = lines[number].find(part, fault.origin.column - 1 if number == start else 0)
            if column >= 0:
                return Origin(fault.origin.file, number + 1, column + fault.column)
    return fault.origin
