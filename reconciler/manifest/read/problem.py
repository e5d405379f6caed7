"""Problems of manifests: codes, places, "did you mean".

A problem in a manifest, with its place, and how it is shown.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from enum import StrEnum
from types import MappingProxyType
from typing import Final, Literal

from reconciler.dataclass import dataclass
from reconciler.model.desired import Origin

# Every problem that a manifest can have, by a stable code; ``docs/manifests/problems.md`` explains each.


class Code(StrEnum):
    """The code of a problem, as users see it and search for it."""

    UNREADABLE_FILE = "KR001"
    OUTSIDE_ROOT = "KR002"
    FILE_TOO_LARGE = "KR003"
    NO_MANIFESTS = "KR004"
    FORBIDDEN_CHARACTER = "KR005"
    YAML_SYNTAX = "KR006"
    ANCHOR_OR_ALIAS = "KR007"
    TAG = "KR008"
    MERGE_KEY = "KR009"
    DUPLICATE_KEY = "KR010"
    TOO_DEEP = "KR011"
    NO_VALUE = "KR012"
    KEY_IS_NO_TEXT = "KR013"
    MORE_PROBLEMS = "KR014"
    NOT_NORMALISED = "KR015"
    FILE_NOT_READ = "KR016"

    NOT_A_MANIFEST = "KR020"
    API_VERSION = "KR021"
    UNKNOWN_KIND = "KR022"
    DUPLICATE_NAME = "KR024"
    MISSING_FIELD = "KR025"
    UNKNOWN_FIELD = "KR026"
    WRONG_SHAPE = "KR027"
    WRONG_VALUE = "KR028"
    VARIABLE_FORM = "KR029"
    UNSET_VARIABLE = "KR030"
    VARIABLE_VALUE = "KR031"

    PRINCIPAL = "KR040"
    DEAD_PRINCIPAL = "KR041"
    HOST = "KR042"
    TOPIC_NAME = "KR043"
    DEAD_NAME = "KR044"
    HANGING_NAME = "KR045"
    RESERVED_NAME = "KR046"
    OPERATION = "KR047"
    UNSUPPORTED_OPERATION = "KR048"
    RULE_FORM = "KR049"
    DUPLICATE_BINDING = "KR050"
    TOO_MANY_BINDINGS = "KR051"
    EXPIRED_RULE = "KR052"
    NAME_LIKE_A_PATTERN = "KR053"

    UNKNOWN_ROLE = "KR060"
    ROLE_PARAMETERS = "KR061"
    BUILT_IN_ROLE = "KR062"
    ROLE_NOT_HERE = "KR063"

    CONFLICTING_TOPIC = "KR070"
    COLLIDING_TOPICS = "KR071"
    SETTING_VALUE = "KR072"
    UNKNOWN_SETTING = "KR073"
    INTERNAL_TOPIC = "KR074"
    ABSENT_TOPIC = "KR075"
    REPLICA_ASSIGNMENT = "KR076"
    REFUSED_SETTING = "KR077"

    OUTSIDE_SCOPE = "KR080"
    UNKNOWN_CLUSTER = "KR081"
    SELECTOR_FORM = "KR082"
    EXPIRED_EXCEPTION = "KR083"
    ADDRESS = "KR084"
    FLEET_WAVE = "KR085"
    CONTRADICTED_FACT = "KR086"
    CLEAR_TEXT = "KR087"
    REFERENCE_IN_MANIFEST = "KR088"
    PRUNES_NOTHING = "KR089"

    TEST_FORM = "KR090"
    OWNERSHIP_FORM = "KR092"
    OWNER_WITHOUT_FILES = "KR093"
    POLICY_FORM = "KR094"
    EXPRESSION = "KR095"

    ITEM_FORM = "KR100"
    CONFLICTING_ITEM = "KR101"
    CLIENT_SETTING = "KR102"


#: What each code is about, in a few words.
CODES: Final[Mapping[Code, str]] = MappingProxyType(
    {
        Code.UNREADABLE_FILE: "a file or directory cannot be read",
        Code.OUTSIDE_ROOT: "a file is outside the manifests' root",
        Code.FILE_TOO_LARGE: "a file is too large",
        Code.NO_MANIFESTS: "there are no manifests",
        Code.FORBIDDEN_CHARACTER: "a character that a reviewer cannot see or tell",
        Code.YAML_SYNTAX: "the text is not YAML",
        Code.ANCHOR_OR_ALIAS: "an anchor or an alias",
        Code.TAG: "a tag",
        Code.MERGE_KEY: "a merge key",
        Code.DUPLICATE_KEY: "a key appears twice in one mapping",
        Code.TOO_DEEP: "the nesting is too deep",
        Code.NO_VALUE: "a key or a list item has no value",
        Code.KEY_IS_NO_TEXT: "a key is not a text",
        Code.MORE_PROBLEMS: "more problems than are shown",
        Code.NOT_NORMALISED: "a text is not in Unicode's composed form",
        Code.FILE_NOT_READ: "a file that looks like manifests is not read",
        Code.NOT_A_MANIFEST: "a document is not a manifest",
        Code.API_VERSION: "the apiVersion is missing or unsupported",
        Code.UNKNOWN_KIND: "the kind is missing or unknown",
        Code.DUPLICATE_NAME: "two documents of one kind have the same name",
        Code.MISSING_FIELD: "a required field is missing",
        Code.UNKNOWN_FIELD: "a field is unknown",
        Code.WRONG_SHAPE: "a mapping, a list or a single value is expected",
        Code.WRONG_VALUE: "a value is of the wrong type or out of range",
        Code.VARIABLE_FORM: "a variable is malformed, or not allowed here",
        Code.UNSET_VARIABLE: "a variable is not set by the cluster",
        Code.VARIABLE_VALUE: "a variable has a value that cannot be put there",
        Code.PRINCIPAL: "a text is not a principal",
        Code.DEAD_PRINCIPAL: "a principal that cannot exist",
        Code.HOST: "a host that no connection can have",
        Code.TOPIC_NAME: "a topic name that Kafka refuses",
        Code.DEAD_NAME: "a wildcard that Kafka does not have, or an empty name",
        Code.HANGING_NAME: "a name that hangs brokers",
        Code.RESERVED_NAME: "a name that is reserved for the reconciler",
        Code.OPERATION: "an operation is unknown",
        Code.UNSUPPORTED_OPERATION: "an operation that the resource type does not have",
        Code.RULE_FORM: "a rule is incomplete or contradicts itself",
        Code.DUPLICATE_BINDING: "one binding is declared in two places",
        Code.TOO_MANY_BINDINGS: "a rule multiplies to more bindings than any cluster holds",
        Code.EXPIRED_RULE: "a rule has expired",
        Code.NAME_LIKE_A_PATTERN: "a plain name looks like a pattern",
        Code.UNKNOWN_ROLE: "a role is unknown",
        Code.ROLE_PARAMETERS: "a role's parameters do not fit",
        Code.BUILT_IN_ROLE: "a built-in role cannot be redefined",
        Code.ROLE_NOT_HERE: "a role does not apply to the cluster",
        Code.CONFLICTING_TOPIC: "one topic is declared in two ways",
        Code.COLLIDING_TOPICS: "two topic names collide",
        Code.SETTING_VALUE: "a config has a value of the wrong type",
        Code.UNKNOWN_SETTING: "a config is unknown",
        Code.INTERNAL_TOPIC: "Kafka manages this topic itself",
        Code.ABSENT_TOPIC: "an absent topic has properties",
        Code.REPLICA_ASSIGNMENT: "a replica assignment contradicts itself, or counts are given as well",
        Code.REFUSED_SETTING: "a topic config that brokers refuse or stumble over",
        Code.OUTSIDE_SCOPE: "a declaration is outside the cluster's scope",
        Code.UNKNOWN_CLUSTER: "a cluster is not declared",
        Code.SELECTOR_FORM: "a selector is empty, or names two kinds of resource",
        Code.EXPIRED_EXCEPTION: "an exception has expired",
        Code.ADDRESS: "a bootstrap server is not host:port",
        Code.FLEET_WAVE: "a fleet wave is declared twice, or has no cluster",
        Code.CONTRADICTED_FACT: "a manifest contradicts the operator's file",
        Code.CLEAR_TEXT: "a secret is written in clear text",
        Code.REFERENCE_IN_MANIFEST: "a manifest refers to a secret",
        Code.PRUNES_NOTHING: "prune of what the scope does not include",
        Code.TEST_FORM: "an access test is incomplete or contradicts itself",
        Code.OWNERSHIP_FORM: "an owner or a consent is incomplete, or names an unknown team",
        Code.OWNER_WITHOUT_FILES: "a team has no files",
        Code.POLICY_FORM: "a policy rule is incomplete or contradicts itself",
        Code.EXPRESSION: "an expression of a policy cannot be compiled",
        Code.ITEM_FORM: "a declared resource is incomplete or contradicts itself",
        Code.CONFLICTING_ITEM: "one resource is declared in two places",
        Code.CLIENT_SETTING: "a client setting that no connection can use",
    }
)


Severity = Literal["error", "warning"]
#: So many problems are shown of all files together; a build server's log and a reader end before that.
MOST_PROBLEMS: Final = 1_000
#: A longer line is shown around the mark only.
_WIDTH: Final = 120


@dataclass(frozen=True, slots=True)
class Problem:
    """One problem. ``length`` is how many characters from the origin's column are meant, at least 1.

    ``line_text`` is the line with secrets masked; ``related`` are other places that have to do with it. A line that
    counts problems instead of showing them stands for ``more`` of them.
    """

    code: str
    origin: Origin
    message: str
    line_text: str = ""
    length: int = 1
    advice: str = ""
    related: tuple[Origin, ...] = ()
    severity: Severity = "error"
    more: int = 0

    def __lt__(self, other: "Problem") -> bool:
        """By place, then code, then words; a count stands after what it counts on from."""
        return self._order() < other._order()

    def _order(self) -> tuple[object, ...]:
        return self.origin.file, self.more > 0, self.origin, self.code, self.message


class ManifestError(Exception):
    """The manifests cannot be used; ``problems`` are sorted, each once, the first thousand and a count of the rest."""

    def __init__(self, problems: Iterable[Problem]) -> None:
        """Sorts."""
        self.problems = in_order(problems)
        super().__init__(self.problems)

    def __str__(self) -> str:
        """Every problem in full."""
        return "\n\n".join(map(render_problem, self.problems))


def in_order(problems: Iterable[Problem]) -> tuple[Problem, ...]:
    """Sorted by place; what is said twice of one place is said once.

    At most :data:`MOST_PROBLEMS` are shown, errors before warnings; a line at the end counts the others of all files.
    """
    ordered = sorted(_once(problems))
    singles = [problem for problem in ordered if not problem.more]
    if len(singles) <= MOST_PROBLEMS:
        return tuple(ordered)
    singles.sort(key=lambda problem: problem.severity != "error")
    others = singles[MOST_PROBLEMS:] + [problem for problem in ordered if problem.more]
    severity: Severity = "error" if any(problem.severity == "error" for problem in others) else "warning"
    last = more_problems(min(others).origin, problem_count(others), "the manifests", severity)
    return (*sorted(singles[:MOST_PROBLEMS]), last)


def _once(problems: Iterable[Problem]) -> Iterator[Problem]:
    """Each problem once, and one count of a file's others.

    A file is read for each cluster, and what is wrong with it is mostly wrong for all of them. Which problems a count
    stands for is not kept, so the largest one counts: all of them together would count one problem several times.
    """
    counts: dict[tuple[str, Severity], Problem] = {}
    by_place: dict[tuple[Origin, str, str], Problem] = {}
    for problem in problems:
        if problem.more:
            key = (problem.origin.file, problem.severity)
            counts[key] = max(counts.get(key, problem), problem, key=lambda count: count.more)
        else:
            by_place[problem.origin, problem.code, problem.message] = problem
    yield from (*by_place.values(), *counts.values())


def problem_count(problems: Iterable[Problem]) -> int:
    """How many there are, those that are only counted among them."""
    return sum(problem.more or 1 for problem in problems)


def more_problems(first: Origin, number: int, where: str, severity: Severity) -> Problem:
    """The line that stands for ``number`` problems that are not shown, the first of them at ``first``."""
    message = f"and {number:,} more {'problem' if number == 1 else 'problems'} in {where}"
    return Problem(Code.MORE_PROBLEMS, first, message, severity=severity, more=number)


def render_problem(problem: Problem) -> str:
    """Text for a person: place, code, message, the line with a mark, advice, related places; no newline at the end."""
    shown, before = _window(problem)
    gutter = " " * len(str(problem.origin.line))
    pad = "".join("\t" if character == "\t" else " " for character in before)
    mark = "^" * max(1, min(problem.length, len(shown) - len(before)))
    parts = [f"{problem.origin}: {problem.severity} {problem.code}: {problem.message}"]
    if shown.strip():
        parts += [f"{gutter} |", f"{problem.origin.line} | {shown}", f"{gutter} | {pad}{mark}"]
    if problem.advice:
        parts.append(f"{gutter} = {problem.advice}")
    parts += [f"{gutter} = see also {place}" for place in problem.related]
    return "\n".join(parts)


# Many problems, by kind: in a directory that holds no manifests nobody reads a thousand of them.

#: So many problems are shown in full,
_FEW: Final = 10
#: and so many places of each kind where there are more; of so many kinds, the others are counted.
_PLACES: Final = 10
_KINDS: Final = 5
#: What a file that is no manifest is told.
_NO_MANIFESTS: Final = frozenset(
    {Code.NOT_A_MANIFEST, Code.API_VERSION, Code.UNKNOWN_KIND, Code.ANCHOR_OR_ALIAS, Code.TAG, Code.MERGE_KEY}
)


def problems_text(problems: Sequence[Problem], *, expand: bool = False, heading: bool = True) -> str:
    """Every problem in full, or of many the likely cause, then kinds: the most frequent first, one problem in full.

    Each kind has its first places and its number; ``heading`` is the number of all.
    """
    number = problem_count(problems)
    many = [f"{number:,} problem{'' if number == 1 else 's'} in the manifests"] if heading else []
    if expand or len(problems) <= _FEW:
        return "\n\n".join([*many, *map(render_problem, problems)])
    kinds: dict[tuple[str, str], list[Problem]] = {}
    for problem in problems:
        kinds.setdefault((problem.severity, problem.code), []).append(problem)
    cause = _likely_cause(problems)
    ordered = sorted(kinds.values(), key=lambda same: (same[0].severity != "error", -problem_count(same)))
    return "\n\n".join(
        [*many, *([cause] if cause else []), *map(_kind_text, ordered[:_KINDS]), *_others(ordered[_KINDS:])]
    )


def _likely_cause(problems: Sequence[Problem]) -> str:
    """What explains most of them; empty if nothing does."""
    strangers = {problem.origin.file for problem in problems if problem.code in _NO_MANIFESTS}
    files = {problem.origin.file for problem in problems}
    if 2 * len(strangers) <= len(files):
        return ""
    evidence = f"{len(strangers):,} file{'' if len(strangers) == 1 else 's'} of other programs"
    return f"Likely cause: this is not a directory of manifests ({evidence}). Name the directory that holds them."


def _others(kinds: Sequence[Sequence[Problem]]) -> list[str]:
    """A line for each kind that there is no room for."""
    lines = [f"{_heading(same)}, first at {same[0].origin}" for same in kinds]
    return ["\n".join([*lines, "reconciler validate --expand shows each"])] if lines else []


def _heading(same: Sequence[Problem]) -> str:
    first, number = same[0], problem_count(same)
    about = CODES.get(Code(first.code), first.message) if first.code in set(Code) else first.message
    return f"{first.severity} {first.code}, {number:,} {'time' if number == 1 else 'times'}: {about}"


def _kind_text(same: Sequence[Problem]) -> str:
    """One kind: one of its problems in full, then places."""
    first, *others = same
    if not others:
        return render_problem(first)
    lines = [_heading(same), render_problem(first)]
    shown = [problem for problem in others if not problem.more][: _PLACES - 1]
    lines += [f"  {problem.origin}: {problem.message}" for problem in shown]
    remaining = problem_count(same) - 1 - len(shown)
    return "\n".join(
        [*lines, *([f"  and {remaining:,} more; reconciler validate --expand shows each"] if remaining else [])]
    )


def _window(problem: Problem) -> tuple[str, str]:
    """The part of the line that is shown, and how much of it is before the mark."""
    column, line = problem.origin.column - 1, problem.line_text
    start = max(0, min(column - _WIDTH // 3, len(line) - _WIDTH))
    head, tail = "…" if start else "", "…" if start + _WIDTH < len(line) else ""
    return f"{head}{line[start : start + _WIDTH]}{tail}", f"{head}{line[start:column]}"


# Did you mean: the known word that is most like an unknown one.


def nearest(word: str, candidates: Iterable[str], *, alike: float = 0.6) -> str | None:
    """The known word that is most like an unknown one, upper and lower case being the same; ``None`` if none is."""
    from difflib import get_close_matches  # noqa: PLC0415  (4 ms at start-up for what only a mistake needs)

    words = sorted(candidates)
    folded = {candidate.lower(): candidate for candidate in words}
    matches = get_close_matches(word[:100].lower(), folded, n=1, cutoff=alike)
    return folded[matches[0]] if matches else None


def did_you_mean(word: str, candidates: Iterable[str], otherwise: str = "") -> str:
    """``did you mean 'x'?``, or ``otherwise`` if nothing is alike."""
    meant = nearest(word, candidates)
    return otherwise if meant is None else f"did you mean {meant!r}?"


def one_of(words: Iterable[str]) -> str:
    """``one of a, b, c`` in order."""
    return f"one of {', '.join(sorted(words))}"
