"""The kind ``AccessTests``: claims about access that every plan must keep."""

from collections.abc import Iterable, Iterator
from dataclasses import replace
from enum import StrEnum
from typing import TYPE_CHECKING, Final, Literal

from reconciler.dataclass import dataclass
from reconciler.manifest.documents.kind import Declared, Kind
from reconciler.manifest.parts.document import Document, Heading
from reconciler.manifest.parts.resources import (
    FIELDS,
    PatternTable,
    administration_problem,
    named_operations,
    operation_problem,
    principal_glob_problem,
    principal_problem,
)
from reconciler.manifest.parts.rules import checked_texts
from reconciler.manifest.parts.selectors import StatedException, declare_test_exceptions
from reconciler.manifest.read.findings import Findings, MappingNode, Node, ScalarNode, SequenceNode, Trouble, quoted
from reconciler.manifest.read.problem import Code
from reconciler.model.acl import AclOperation, ResourcePattern, ResourceType
from reconciler.model.desired import Origin
from reconciler.model.duty import Control, Duty, Through

if TYPE_CHECKING:
    from reconciler.manifest.models.access_tests import AccessTestItem, AccessTestsDocument


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


def declare_access_tests(document: Document, table: PatternTable) -> AccessTestsDeclaration | None:
    """Checks and converts; ``None`` after reporting problems that leave no document."""
    findings = document.findings
    model = document.validated(AccessTestsKind.model())
    nodes = document.spec.get("tests")
    places = nodes.items if isinstance(nodes, SequenceNode) else []
    _check_names(places, findings)
    accepted = declare_test_exceptions(document.spec, model.spec.exceptions if model else None, findings)
    tests: list[AccessTest] = []
    for index, node in enumerate(places):
        if isinstance(node, MappingNode):
            item = model.spec.tests[index] if model else None
            tests += _claims(document.heading.name, node, item, table, findings)
    tests = [replace(test, exception=accepted.get(test.name)) for test in tests]
    controls = tuple(_controls(document.spec.get("controls"), table, findings))
    if not {"tests", "controls"} & document.spec.keys.keys():
        findings.add(_NOTHING, document.spec)
    return AccessTestsDeclaration(document.heading, tuple(tests), controls) if model else None


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


def _check_names(places: list[Node], findings: Findings) -> None:
    first: dict[str, Origin] = {}
    for place in places:
        name = place.get("name") if isinstance(place, MappingNode) else None
        if isinstance(name, ScalarNode):
            origin = findings.origin(name)
            if first.setdefault(name.plain, origin) != origin:
                trouble = Trouble(Code.TEST_FORM, f"there is another test {quoted(name.plain)}", "rename one of them")
                findings.add(trouble, name, related=[first[name.plain]])


def _claims(
    document: str, node: MappingNode, item: "AccessTestItem | None", table: PatternTable, findings: Findings
) -> Iterator[AccessTest]:
    patterns = tuple(pattern for names in table.named(node, findings).values() for pattern, _ in names)
    principals = checked_texts(node.get("principals"), principal_glob_problem, findings)
    excluded = checked_texts(node.get("except"), principal_glob_problem, findings)
    _check_form(node, findings)
    for claim in Claim:
        place = node.get(claim)
        if place is None:
            continue
        about, operations, duties = principals, tuple[AclOperation, ...](), tuple[Duty, ...]()
        if claim is Claim.SEPARATE:
            duties = tuple(_duties(place, table, findings))
        elif claim in _OF_EVERYBODY:
            about = checked_texts(place, principal_glob_problem, findings)
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
            patterns = tuple(pattern for names in table.named(item, findings).values() for pattern, _ in names)
            if not item.keys.keys() & FIELDS.keys():
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
        for field in (*of_principals, *of_everybody, *(field for field in node.keys if field in FIELDS)):
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
    if not node.keys.keys() & FIELDS.keys():
        findings.add(_RESOURCE, node)


class AccessTestsKind(Kind["AccessTestsDocument"]):
    """Claims about access; ``reconciler.access`` decides them."""

    name = "AccessTests"

    def declare(self, document: Document, table: PatternTable) -> Declared | None:
        """Checks and converts; ``None`` after reporting problems that leave no document."""
        return declare_access_tests(document, table)
