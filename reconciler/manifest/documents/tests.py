"""The kinds ``AccessTests`` and ``ClusterTests``: claims that every plan must keep, and claims about brokers.

Cluster tests are claims about configs of brokers and features of clusters, which nothing changes.
"""

from collections.abc import Iterable, Iterator
from dataclasses import replace
from enum import StrEnum
from typing import TYPE_CHECKING, Final, Literal

from reconciler.dataclass import dataclass
from reconciler.manifest.documents.kind import Declared, Kind, Touched
from reconciler.manifest.parts.document import Document, Heading
from reconciler.manifest.parts.fields import BYTES, MILLISECONDS, amount, in_range, integer
from reconciler.manifest.parts.resources import (
    PatternTable,
    administration_problem,
    named_operations,
    operation_problem,
    principal_glob_problem,
    principal_problem,
)
from reconciler.manifest.parts.rules import checked_texts
from reconciler.manifest.parts.selectors import StatedException, declare_test_exceptions
from reconciler.manifest.read.findings import (
    Findings,
    MappingNode,
    Node,
    ScalarNode,
    SequenceNode,
    Trouble,
    paired,
    quoted,
    report_repeated,
    scalars,
    trouble_of,
)
from reconciler.manifest.read.problem import Code
from reconciler.model.acl import AclOperation, ResourcePattern, ResourceType
from reconciler.model.desired import Control, Duty, Origin, Through
from reconciler.model.flavor import FIRST_LEVELS, release_text
from reconciler.model.scope import RESOURCE_FIELDS

if TYPE_CHECKING:
    from reconciler.manifest.models.tests import (
        AccessTestItem,
        AccessTestsDocument,
        ClusterTestItem,
        ClusterTestsDocument,
    )


class Claim(StrEnum):
    """What a test says; the values are the fields of a manifest."""

    MUST = "must"
    MUST_NOT = "mustNot"
    ONLY_READERS = "onlyReaders"
    ONLY_WRITERS = "onlyWriters"
    ONLY_ADMINS = "onlyAdmins"
    SEPARATE = "separate"


_OF_PRINCIPALS: Final = (Claim.MUST, Claim.MUST_NOT)
_OF_EVERYBODY: Final = (Claim.ONLY_READERS, Claim.ONLY_WRITERS, Claim.ONLY_ADMINS)
_CLAIM = Trouble(
    Code.TEST_FORM,
    "the test claims nothing",
    f"add {', '.join(_OF_PRINCIPALS)} or {Claim.SEPARATE} with principals, or one of {', '.join(_OF_EVERYBODY)}",
)
_MIXED = Trouble(
    Code.TEST_FORM,
    f"{' and '.join(_OF_PRINCIPALS)} speak of principals, {', '.join(_OF_EVERYBODY)} of everybody else",
    "make two tests of it",
)
_WHO = Trouble(Code.TEST_FORM, "the test names no principal", "add principals")
_NOT_WHO = Trouble(Code.TEST_FORM, "this field belongs to must, mustNot and separate only", "remove it")
_ALONE = Trouble(Code.TEST_FORM, "separate names operations and resources itself", "remove this, or make two tests")
_NOT_THROUGH = Trouble(Code.TEST_FORM, "this field belongs to separate only", "remove it")
_TWICE = Trouble(Code.TEST_FORM, "there is another test {}", "rename one of them")
_NOTHING = Trouble(Code.TEST_FORM, "the document has neither tests nor controls", "add tests")
_DUTY = Trouble(Code.TEST_FORM, "the duty names no resource", "add topics, groups or another resource")
_RESOURCE = Trouble(
    Code.TEST_FORM, "the test names no resource", "add topics, groups, transactionalIds or cluster: true"
)


@dataclass(frozen=True, slots=True)
class AccessTest:
    """One claim. A test with several (``must`` and ``mustNot``) is several of these with one name.

    ``principals`` and ``excluded`` are texts in which ``*`` stands for any text; for the claims of the ``only…``
    kind ``principals`` are those who may. ``operations`` is empty there: the claim says which. ``separate`` has its
    ``duties`` instead of patterns and operations. ``origin`` is the place of the claim's field.
    """

    document: str
    name: str
    claim: Claim
    origin: Origin
    principals: tuple[str, ...]
    patterns: tuple[ResourcePattern, ...]
    operations: tuple[AclOperation, ...] = ()
    excluded: tuple[str, ...] = ()
    severity: Literal["error", "warning"] = "error"
    include_super_users: bool = False
    exception: StatedException | None = None
    duties: tuple[Duty, ...] = ()
    through: Through = Through.ACL


@dataclass(frozen=True, slots=True)
class AccessTestsDeclaration:
    """A document's heading, claims and control topics."""

    heading: Heading
    tests: tuple[AccessTest, ...]
    controls: tuple[Control, ...] = ()


#: For a principal that ends as prefixes do.
_GLOB: Final = "end it with a star for all that begin so, as in User:svc-*"


def _controls(node: Node | None, table: PatternTable, findings: Findings) -> Iterator[Control]:
    for item in node.items if isinstance(node, SequenceNode) else ():
        if not isinstance(item, MappingNode):
            continue
        acts = item.get("acts")
        if isinstance(acts, ScalarNode) and (trouble := principal_problem(acts.plain, may_be_everyone=False)):
            findings.add(trouble, acts)
        elif isinstance(acts, ScalarNode) and (topics := item.get("topics")) is not None:
            patterns = tuple(pattern for pattern, _ in table.names(ResourceType.TOPIC, topics, findings))
            yield Control(patterns, acts.plain, findings.origin(item))


def _claims(
    document: str, node: MappingNode, item: "AccessTestItem | None", table: PatternTable, findings: Findings
) -> Iterator[AccessTest]:
    patterns = table.patterns(node, findings)
    principals = checked_texts(node.get("principals"), principal_glob_problem, findings, _GLOB)
    excluded = checked_texts(node.get("except"), principal_glob_problem, findings, _GLOB)
    _check_form(node, findings)
    for claim in Claim:
        place = node.get(claim)
        if place is None:
            continue
        about, operations, duties = principals, tuple[AclOperation, ...](), tuple[Duty, ...]()
        if claim is Claim.SEPARATE:
            duties = tuple(_duties(place, table, findings))
        elif claim in _OF_EVERYBODY:
            about = checked_texts(place, principal_glob_problem, findings, _GLOB)
            _check_kinds(claim, node.keys[claim], {pattern.resource_type for pattern in patterns}, findings)
        else:
            operations = named_operations(place, [pattern.resource_type for pattern in patterns], findings)
        if item is not None:
            yield AccessTest(
                document,
                item.name,
                claim,
                findings.origin(node.keys[claim]),
                about,
                patterns,
                operations,
                excluded,
                item.severity,
                item.include_super_users,
                duties=duties,
                through=Through(item.through),
            )


def _duties(place: Node, table: PatternTable, findings: Findings) -> Iterator[Duty]:
    for item in place.items if isinstance(place, SequenceNode) else ():
        if isinstance(item, MappingNode):
            patterns = table.patterns(item, findings)
            if not item.keys.keys() & RESOURCE_FIELDS.keys():
                findings.add(_DUTY, item)
            kinds = [pattern.resource_type for pattern in patterns]
            yield Duty(named_operations(item.get("can"), kinds, findings), patterns)


def _check_kinds(claim: Claim, place: Node, kinds: Iterable[ResourceType], findings: Findings) -> None:
    """Reports a claim that holds for no reason: nobody can read, or write, or administer such a resource."""
    operation = {Claim.ONLY_READERS: AclOperation.READ, Claim.ONLY_WRITERS: AclOperation.WRITE}.get(claim)
    for kind in sorted(kinds):
        trouble = administration_problem(kind) if operation is None else operation_problem(operation, kind)
        if trouble is not None:
            findings.add(trouble, place)


def _check_form(node: MappingNode, findings: Findings) -> None:
    of_principals = [claim for claim in _OF_PRINCIPALS if claim in node.keys]
    of_everybody = [claim for claim in _OF_EVERYBODY if claim in node.keys]
    if Claim.SEPARATE in node.keys:
        for field in (*of_principals, *of_everybody, *(field for field in node.keys if field in RESOURCE_FIELDS)):
            findings.add(_ALONE, node.keys[field])
        if "principals" not in node.keys:
            findings.add(_WHO, node.keys[Claim.SEPARATE])
        return
    if "through" in node.keys:
        findings.add(_NOT_THROUGH, node.keys["through"])
    if not of_principals and not of_everybody:
        findings.add(_CLAIM, node)
    # `onlyReaders` names its principals itself, so `principals` next to it would be read in two ways.
    elif of_principals and of_everybody:
        findings.add(_MIXED, node.keys[of_everybody[0]])
    elif of_principals and "principals" not in node.keys:
        findings.add(_WHO, node.keys[of_principals[0]])
    elif of_everybody:
        for field in ("principals", "except"):
            if field in node.keys:
                findings.add(_NOT_WHO, node.keys[field])
    if not node.keys.keys() & RESOURCE_FIELDS.keys():
        findings.add(_RESOURCE, node)


class AccessTestsKind(Kind["AccessTestsDocument"]):
    """Claims about access; ``reconciler.access`` decides them."""

    name = "AccessTests"
    touched = Touched.ANY

    def declare(self, document: Document, table: PatternTable) -> AccessTestsDeclaration | None:
        """Checks and converts; ``None`` after reporting problems that leave no document."""
        findings = document.findings
        model = document.validated(self.model())
        nodes = document.spec.get("tests")
        report_repeated(nodes, _TWICE, findings)
        accepted = declare_test_exceptions(document.spec, model.spec.exceptions if model else None, findings)
        tests: list[AccessTest] = []
        for node, item in paired(nodes, model.spec.tests if model else None):
            tests += _claims(document.heading.name, node, item, table, findings)
        tests = [replace(test, exception=accepted.get(test.name)) for test in tests]
        controls = tuple(_controls(document.spec.get("controls"), table, findings))
        if not {"tests", "controls"} & document.spec.keys.keys():
            findings.add(_NOTHING, document.spec)
        return AccessTestsDeclaration(document.heading, tuple(tests), controls) if model else None


METADATA_VERSION: Final = "metadata.version"
_LEVELS: Final = {release_text(release): level for level, release in FIRST_LEVELS}
_MOST: Final = 2**15 - 1
_NO_CLUSTER_CLAIM = Trouble(Code.TEST_FORM, "the test claims nothing", "add configs or features")
_LIMIT = Trouble(Code.TEST_FORM, "this asks nothing of the config", "write a value, or allowed, min or max")
_MIXED_LIMITS = Trouble(Code.TEST_FORM, "allowed is for single values, min and max for numbers", "keep one of the two")
_ORDER = Trouble(Code.TEST_FORM, "no value is both at least min and at most max", "exchange them")


@dataclass(frozen=True, slots=True)
class ClusterTest:
    """One claim about one config or one feature; a test with several is several of these with one name.

    A config is held against ``allowed``, single values, or against ``least`` and ``most``; a feature against
    ``least``. ``words`` is what is asked, as it is written. ``origin`` is the place of the config's or feature's name.
    """

    document: str
    name: str
    origin: Origin
    key: str
    words: str
    is_feature: bool = False
    allowed: tuple[str, ...] | None = None
    least: int | None = None
    most: int | None = None
    severity: Literal["error", "warning"] = "error"
    exception: StatedException | None = None


@dataclass(frozen=True, slots=True)
class ClusterTestsDeclaration:
    """A document's heading and claims."""

    heading: Heading
    tests: tuple[ClusterTest, ...]


class ClusterTestsKind(Kind["ClusterTestsDocument"]):
    """Claims about clusters; ``reconciler.app.cluster_checks`` decides them."""

    name = "ClusterTests"
    touched = Touched.ANY

    def declare(self, document: Document, table: PatternTable) -> Declared | None:
        """Checks and converts; ``None`` after reporting problems that leave no document."""
        model, findings = document.validated(ClusterTestsKind.model()), document.findings
        tests: list[ClusterTest] = []
        report_repeated(document.spec.get("tests"), _TWICE, findings)
        for node, item in paired(document.spec.get("tests"), model.spec.tests if model else None):
            tests += _cluster_claims(document.heading.name, node, item, findings)
        accepted = declare_test_exceptions(document.spec, model.spec.exceptions if model else None, findings)
        tests = [replace(test, exception=accepted.get(test.name)) for test in tests]
        return ClusterTestsDeclaration(document.heading, tuple(tests)) if model else None


def _cluster_claims(
    document: str, node: MappingNode, item: "ClusterTestItem | None", findings: Findings
) -> Iterator[ClusterTest]:
    if not any(
        isinstance(stated := node.get(field), MappingNode) and stated.values for field in ("configs", "features")
    ):
        findings.add(_NO_CLUSTER_CLAIM, node)
    for field in ("configs", "features"):
        claims = node.get(field)
        for key, value in claims.values.items() if isinstance(claims, MappingNode) else ():
            place = claims.keys[key] if isinstance(claims, MappingNode) else value
            read = _feature if field == "features" else _config
            words, allowed, least, most = read(key, value, place, findings)
            if item is not None:
                yield ClusterTest(
                    document,
                    item.name,
                    findings.origin(place),
                    key,
                    words,
                    field == "features",
                    allowed,
                    least,
                    most,
                    item.severity,
                )


_Asked = tuple[str, tuple[str, ...] | None, int | None, int | None]


def _config(name: str, value: Node, place: Node, findings: Findings) -> _Asked:
    if isinstance(value, ScalarNode):
        return f"is {value.plain or 'empty'}", (value.plain,), None, None
    if not isinstance(value, MappingNode):
        return "", None, None, None
    allowed = tuple(scalar.plain for scalar in scalars(value.get("allowed"))) or None
    least, most = (_number(name, value.get(field), findings) for field in ("min", "max"))
    bounds = value.keys.keys() & {"min", "max"}
    if allowed is not None and bounds:
        findings.add(_MIXED_LIMITS, place)
    elif allowed is None and not bounds and not value.keys:
        findings.add(_LIMIT, place)
    elif least is not None and most is not None and least > most:
        findings.add(_ORDER, value.get("min") or place)
    if allowed is not None:
        return f"is {' or '.join(choice or 'empty' for choice in allowed)}", allowed, None, None
    sides = {"min": "at least", "max": "at most"}
    words = [f"{side} {text}" for field, side in sides.items() if (text := value.text(field)) is not None]
    return f"is {' and '.join(words)}", None, least, most


def _number(name: str, node: Node | None, findings: Findings) -> int | None:
    if not isinstance(node, ScalarNode) or findings.marks(node):
        return None
    try:
        number = config_number(name, node.plain)
    except ValueError as error:
        findings.add(trouble_of(Code.SETTING_VALUE, error, name), node)
        return None
    if number < 0:
        # Brokers mean "no limit" or "not set" by a negative number: it is no bound of others.
        advice = f"write the value itself, {name}: {node.plain}, or allowed: [{node.plain}]"
        findings.add(Trouble(Code.TEST_FORM, f"{name}: {node.plain} is no bound", advice), node)
        return None
    return number


def first_level(release: str) -> int | None:
    """The first level of ``metadata.version`` that a release has; ``None`` where no such release is known."""
    return _LEVELS.get(release)


def config_number(name: str, text: str) -> int:
    """A value as a number, units resolved: Kafka's names end in what they count. Raises ``ValueError`` in words."""
    if name.endswith(".ms"):
        return amount(text, MILLISECONDS)
    return amount(text, BYTES) if name.endswith(".bytes") else integer(text)


def _feature(name: str, value: Node, place: Node, findings: Findings) -> _Asked:
    node = value.get("min") if isinstance(value, MappingNode) else None
    if not isinstance(node, ScalarNode) or findings.marks(node):
        return "", None, None, None
    level = first_level(node.plain) if name == METADATA_VERSION else None
    if level is not None:
        return f"is at least {node.plain} (level {level})", None, level, None
    if name == METADATA_VERSION and "." in node.plain:
        releases = [*_LEVELS]
        message = f"{quoted(node.plain)} is no release that is known: {releases[0]} to {releases[-1]} are"
        findings.add(Trouble(Code.WRONG_VALUE, message, "write one of them, or the level as a number"), node)
        return "", None, None, None
    try:
        level = in_range(integer(node.plain), 1, _MOST)
    except ValueError as error:
        findings.add(trouble_of(Code.WRONG_VALUE, error), node)
        return "", None, None, None
    return f"is at least level {level}", None, level, None
