"""Resources, names, operations, principals and hosts as manifests write them, every value checked.

The forms in which resources are named, in rules, selectors, tests and owners.
"""

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from struct import pack, unpack_from
from typing import Annotated, Any, Final, NamedTuple, Self, TypeAlias

from pydantic import ConfigDict, Discriminator, Field, Tag
from pydantic.json_schema import SkipJsonSchema

from reconciler.dataclass import dataclass
from reconciler.manifest.parts import fields
from reconciler.manifest.read.findings import (
    Findings,
    MappingNode,
    Node,
    ScalarNode,
    SequenceNode,
    Trouble,
    quoted,
    scalars,
)
from reconciler.manifest.read.problem import Code
from reconciler.model.acl import (
    CLUSTER_NAME,
    SUPPORTED_OPERATIONS,
    WILDCARD,
    WILDCARD_PRINCIPAL,
    AclOperation,
    AclPermissionType,
    PatternType,
    ResourcePattern,
    ResourceType,
)
from reconciler.model.addresses import ip_range
from reconciler.model.characters import is_visible
from reconciler.model.desired import Declaration, Expiry, Origin
from reconciler.model.scope import RESERVED_PREFIXES, RESOURCE_FIELDS, is_reserved
from reconciler.model.topic import MAX_TOPIC_NAME_LENGTH, METADATA_TOPIC, topic_name_problem

# Principals that Kafka can know (``KafkaPrincipal``, ``StandardAuthorizerData``; nothing is trimmed there).

#: Stands for a star that is a pattern, while the rest of a text is checked as a principal.
_STAR: Final = "\u2217"


def principal_problem(text: str, *, may_be_everyone: bool = True) -> Trouble | None:
    """Why ``text`` is not a principal, or one that no connection can have; ``None`` if it is fine."""
    if text == WILDCARD_PRINCIPAL:
        return None if may_be_everyone else _NOT_EVERYONE
    principal_type, colon, name = text.partition(":")
    if not colon:
        message = f"{quoted(text)} is not a principal: a principal is Type:name"
        return Trouble(Code.PRINCIPAL, message, f"write User:{text.strip()}" if text.strip() else "write User:name")
    if not name.strip():
        return Trouble(Code.PRINCIPAL, f"the principal {quoted(text)} has no name", f"write {principal_type}:name")
    if not is_visible(text) or text != text.strip() or name != name.lstrip() or not principal_type.isalnum():
        message = f"the principal {quoted(text)} has spaces or other characters that no principal has"
        bare = text.strip().strip("“”„‘’‚«»'\"")
        write = bare if bare != text.strip() and ":" in bare else "Type:name"
        return Trouble(Code.PRINCIPAL, message, f"Kafka compares every character; write {write}")
    # A rule for `user:alice` would be accepted and match nobody.
    if principal_type != "User" and principal_type.lower() == "user":
        message = f"{quoted(text)} is not User:{name}: Kafka compares the case of the type too"
        return Trouble(Code.PRINCIPAL, message, f"write User:{name}")
    return _wildcard_problem(text, principal_type, name)


def principal_glob_problem(text: str) -> Trouble | None:
    """Why ``text`` is neither a principal nor a pattern of principals, where ``*`` stands for any text."""
    principal_type, colon, name = text.partition(":")
    if colon and "*" in principal_type:
        message = f"{quoted(text)}: the type of a principal is written out"
        return Trouble(Code.PRINCIPAL, message, f"write User:{name or '*'}")
    trouble = principal_problem(text.replace("*", _STAR))
    if trouble is None:
        return None
    return trouble._replace(message=trouble.message.replace(_STAR, "*"), advice=trouble.advice.replace(_STAR, "*"))


def _wildcard_problem(text: str, principal_type: str, name: str) -> Trouble | None:
    if name == "*":
        message = (
            f"{text} does not exist: only {WILDCARD_PRINCIPAL} is a wildcard, and it covers principals of every type"
        )
        return Trouble(Code.DEAD_PRINCIPAL, message, f"write {WILDCARD_PRINCIPAL}, or name the {principal_type}s")
    # A distinguished name may well hold a star: CN=*.example.com,O=Example.
    if name.endswith("*") or (name.startswith("*") and "=" not in name):
        message = (
            f"{quoted(text)} matches no principal: Kafka has no patterns for principals, only {WILDCARD_PRINCIPAL}"
        )
        return Trouble(Code.DEAD_PRINCIPAL, message, "name each principal: principals: [User:a, User:b]")
    return None


_NOT_EVERYONE = Trouble(
    Code.DEAD_PRINCIPAL, f"{WILDCARD_PRINCIPAL} is not a wildcard here", "name each principal: User:name"
)


# Names that a resource pattern can have, checked before any broker sees them (``Topic.java``, ``AclAuthorizer``).

_ANY_ADVICE: Final = "write {any: true} for every name"


#: After one of these a name goes on: with one at its end, a text looks like a prefix.
NAME_ENDS: Final = (".", "-", "_")
_ALL: Final = (WILDCARD, WILDCARD_PRINCIPAL)


def looks_like_a_pattern(text: str) -> bool:
    """Whether a reader takes a name for others too: by its end, or by a star in it that no distinguished name has.

    As a name it is written ``{literal: …}``.
    """
    return text.endswith(NAME_ENDS) or (WILDCARD in text and text not in _ALL and "=" not in text)


def pattern_warning(text: str) -> Trouble:
    """What a plain name that ends as prefixes do, or has a star, may have been meant for."""
    if text.endswith(NAME_ENDS):
        message = f"{quoted(text)} is one name here: it does not cover the names that begin with it"
        advice = f"did you mean {{prefix: {text}}}? If the name ends so, write {{literal: {text}}}"
    else:
        message = f"{quoted(text)} is one name here: in Kafka '*' is an ordinary character in names"
        before = text.partition(WILDCARD)[0]
        advice = f"did you mean {{prefix: {before}}}? " if before.removeprefix("User:") else ""
        advice += f"If the name has the star, write {{literal: {quoted(text)}}}"
    return Trouble(Code.NAME_LIKE_A_PATTERN, message, advice)


def name_problem(kind: ResourceType, text: str, pattern_type: PatternType, *, spelled_out: bool) -> Trouble | None:
    """Why ``text`` cannot be the name of such a pattern; ``spelled_out`` if it is in ``{literal: …}``."""
    if not text:
        return Trouble(Code.DEAD_NAME, "a name cannot be empty", _ANY_ADVICE)
    if text == WILDCARD:
        return Trouble(Code.DEAD_NAME, "a lone '*' is not a name here", _ANY_ADVICE)
    if is_reserved(text):
        message = f"{quoted(text)} is reserved: names under {' and '.join(RESERVED_PREFIXES)} are the reconciler's own"
        return Trouble(Code.RESERVED_NAME, message, "choose another name")
    if text.endswith(WILDCARD) and (kind is ResourceType.TOPIC or not spelled_out) and kind is not ResourceType.USER:
        return _star_problem(kind, text, pattern_type)
    if kind is ResourceType.TOPIC:
        return _topic_problem(text, pattern_type)
    return _other_problem(kind, text, pattern_type)


def _star_problem(kind: ResourceType, text: str, pattern_type: PatternType) -> Trouble:
    bare = text.rstrip(WILDCARD)
    if "\\" in bare:  # a regular expression, in which a dot before the star is any letter
        bare = bare.removesuffix(".").replace("\\", "")
    message = f"{quoted(text)} is not a pattern: in Kafka '*' is an ordinary character in names"
    advice = f"write {{prefix: {bare}}}" if bare else _ANY_ADVICE
    if pattern_type is PatternType.LITERAL and kind is not ResourceType.TOPIC:
        advice += f"; if the name does end with a star, {{literal: [{quoted(text)}]}}"
    return Trouble(Code.DEAD_NAME, message, advice)


def _topic_problem(text: str, pattern_type: PatternType) -> Trouble | None:
    if text == METADATA_TOPIC and pattern_type is PatternType.LITERAL:
        return Trouble(Code.TOPIC_NAME, f"{METADATA_TOPIC} is not a topic that ACLs speak of", "remove it")
    if pattern_type is PatternType.PREFIXED and text in (".", ".."):
        return None
    problem = topic_name_problem(text)
    if problem is None:
        return None
    if pattern_type is PatternType.LITERAL:
        return Trouble(Code.TOPIC_NAME, f"no topic can be called {quoted(text)}: {problem}", _topic_advice(text))
    return Trouble(Code.TOPIC_NAME, f"no topic's name can begin with {quoted(text)}: {problem}", _topic_advice(text))


def _topic_advice(text: str) -> str:
    if text.startswith("$"):
        return "parameters such as $topics belong in a Role; variables are written ${vars.name}"
    if len(text) > MAX_TOPIC_NAME_LENGTH:
        return "shorten it"
    return "name the topic as the broker lists it"


def _other_problem(kind: ResourceType, text: str, pattern_type: PatternType) -> Trouble | None:
    if text[0] < WILDCARD:
        message = f"{quoted(text)} begins with a character below '*': an ACL on such a name can hang brokers"
        return Trouble(Code.HANGING_NAME, message, "rename the resource, or cover it with another pattern")
    if not is_visible(text):
        return Trouble(Code.DEAD_NAME, f"{quoted(text)} contains a line break or a tab", "write the name on one line")
    if kind is ResourceType.USER and pattern_type is PatternType.LITERAL:
        return principal_problem(text, may_be_everyone=False)
    return None


class NameForms(fields.ManifestModel):
    """Names by one of three forms: exactly one field."""

    model_config = ConfigDict(json_schema_extra={"minProperties": 1, "maxProperties": 1})

    prefix: fields.OneOrMoreTexts | None = Field(
        None, description="Every name that begins with this text, or with one of several.", examples=["payments."]
    )
    any: fields.Boolean | None = Field(None, description="With true, every name.", examples=[True])
    literal: fields.OneOrMoreTexts | None = Field(
        None,
        description="These names, letter by letter, even where one ends with a star, or as a prefix does.",
        examples=[["payments.orders"]],
    )


_NameOrForms = Annotated[
    Annotated[fields.Text, Tag(fields.TEXT_TAG)] | Annotated[NameForms, Tag(fields.MAPPING_TAG)],
    Discriminator(fields.one_or_mapping),
]
#: Lists of texts have a branch of their own, in which none of a million names is asked what it is.
Names = Annotated[
    Annotated[fields.Text, Tag(fields.TEXT_TAG)]
    | Annotated[list[fields.Text], Field(min_length=1), SkipJsonSchema(), Tag(fields.LIST_TAG)]
    | Annotated[list[_NameOrForms], Field(min_length=1), Tag(fields.MIXED_TAG)]
    | Annotated[NameForms, Tag(fields.MAPPING_TAG)],
    Discriminator(fields.shape_of_names),
]


_NO_STAR: Final = {
    "pattern": "^[^*]*$",
    "patternErrorMessage": "Kafka has no patterns of names: write {prefix: …} or {any: true}.",
}


def _without_stars(schema: dict[str, Any]) -> None:
    """The forms of names of topics, in none of which is a star."""
    forms = next(union["oneOf"] for union in schema["anyOf"] if "oneOf" in union)
    listed = next(form["items"]["oneOf"] for form in forms if "items" in form)
    for text in (forms[0], listed[0]):
        text.update(_NO_STAR)


class Resources(fields.ManifestModel):
    """The resources that a rule speaks of, by kind."""

    topics: Names | None = Field(
        None,
        description="Topics: a name, {prefix: …}, {literal: …} or a list of these; or {any: true}.",
        examples=[["payments.orders", {"prefix": "refunds."}], {"prefix": "payments."}],
        json_schema_extra=_without_stars,
    )
    groups: Names | None = Field(
        None, description="Consumer, share and streams groups, in the same forms.", examples=[{"prefix": "payments-"}]
    )
    transactional_ids: Names | None = Field(
        None, description="Transactional ids, in the same forms.", examples=[["payments-tx"]]
    )
    cluster: fields.Boolean | None = Field(None, description="With true, the cluster itself.", examples=[True])
    delegation_tokens: Names | None = Field(
        None, description="Delegation tokens by token id, in the same forms.", examples=[{"any": True}]
    )
    users: Names | None = Field(
        None,
        description="Users whose tokens are created or described; names are principals.",
        examples=[["User:alice"]],
    )


FORMS = Trouble(Code.RULE_FORM, "exactly one of prefix, any and literal is expected here", "keep one of them")
_ONLY_TRUE = Trouble(Code.RULE_FORM, "only true makes sense here", "remove the field")
ANY_IN_A_LIST = Trouble(Code.RULE_FORM, "{any: true} is every name: the rest adds nothing", "write it alone")


#: A pattern and the scalar that names it.
Named: TypeAlias = tuple[ResourcePattern, ScalarNode]
#: Names that no rule speaks against; most are.
_ORDINARY = re.compile(r"(?!__kr|__cluster_metadata$|\.{1,2}$)[A-Za-z0-9._-]{1,200}", re.ASCII)
_ORDINARY_KINDS: Final = frozenset({ResourceType.TOPIC, ResourceType.GROUP, ResourceType.TRANSACTIONAL_ID})


class PatternTable:
    """Makes patterns, each checked and built once however often it is named."""

    def __init__(self) -> None:
        """Starts empty."""
        # By all but the text, which alone is the key then: one of both would be an object more for each name.
        self._known: defaultdict[tuple[ResourceType, PatternType, bool], dict[str, ResourcePattern]] = defaultdict(dict)
        # Apart, because the same text as a name is a problem.
        self._whole: dict[ResourceType, ResourcePattern] = {}
        # A field may be read for several kinds of resource, and is warned of once.
        self._warned: set[Origin] = set()

    def named(self, mapping: MappingNode, findings: Findings) -> dict[ResourceType, list[Named]]:
        """What the resource fields of ``mapping`` name, by type; problems are reported and left out."""
        return {
            kind: self.names(kind, mapping.values[field], findings)
            for field, kind in RESOURCE_FIELDS.items()
            if field in mapping.values
        }

    def patterns(self, mapping: MappingNode, findings: Findings) -> tuple[ResourcePattern, ...]:
        """The same as patterns alone."""
        return tuple(pattern for names in self.named(mapping, findings).values() for pattern, _ in names)

    def names(self, kind: ResourceType, node: Node, findings: Findings) -> list[Named]:
        """The patterns of one field."""
        if kind is ResourceType.CLUSTER:
            return self._only_true(kind, CLUSTER_NAME, node, findings)
        if isinstance(node, MappingNode):
            return self._forms(kind, node, findings)
        plain = scalars(node)
        named = self._all(kind, plain, PatternType.LITERAL, findings, spelled_out=False)
        if isinstance(node, SequenceNode) and len(plain) < len(node.items):
            for item in node.items:
                if isinstance(item, MappingNode):
                    if "any" in item.values:
                        findings.add(ANY_IN_A_LIST, item)
                    named += self._forms(kind, item, findings)
        return named

    def _forms(self, kind: ResourceType, node: MappingNode, findings: Findings) -> list[Named]:
        # Two forms in one mapping could mean either or both; the reader of a review must not have to guess.
        if len(node.keys) != 1 and not findings.marks(node):
            findings.add(FORMS, node)
        named: list[Named] = []
        for form, value in node.values.items():
            if form == "any":
                named += self._only_true(kind, WILDCARD, value, findings)
            elif form == "literal":
                named += self._all(kind, scalars(value), PatternType.LITERAL, findings, spelled_out=True)
            elif form == "prefix":
                named += self._all(kind, scalars(value), PatternType.PREFIXED, findings, spelled_out=False)
        return named

    def _only_true(self, kind: ResourceType, name: str, node: Node, findings: Findings) -> list[Named]:
        if not isinstance(node, ScalarNode) or node.plain != "true":
            if node.plain == "false":
                findings.add(_ONLY_TRUE, node)
            return []
        return [(self._whole.setdefault(kind, ResourcePattern(kind, name)), node)]

    def _all(
        self,
        kind: ResourceType,
        nodes: list[ScalarNode],
        pattern_type: PatternType,
        findings: Findings,
        *,
        spelled_out: bool,
    ) -> list[Named]:
        named, patterns, ordinary = [], self._known[kind, pattern_type, spelled_out], _ORDINARY.fullmatch
        plain = pattern_type is PatternType.LITERAL and not spelled_out
        for node in nodes:
            pattern = patterns.get(node.plain)
            if pattern is None or (plain and looks_like_a_pattern(node.plain)):
                if findings.marks(node):
                    continue
                if not (ordinary(node.plain) and kind in _ORDINARY_KINDS):
                    trouble = name_problem(kind, node.plain, pattern_type, spelled_out=spelled_out)
                    if trouble is not None:
                        findings.add(trouble, node)
                        continue
                if plain and looks_like_a_pattern(node.plain):
                    self._warn(node, findings)
                pattern = patterns.setdefault(node.plain, ResourcePattern(kind, node.plain, pattern_type))
            named.append((pattern, node))
        return named

    def _warn(self, node: ScalarNode, findings: Findings) -> None:
        place = findings.origin(node)
        if place not in self._warned:
            self._warned.add(place)
            findings.add(pattern_warning(node.plain), node, severity="warning")


def name_scalars(node: Node | None) -> Iterator[tuple[str, ScalarNode]]:
    """Every text of a field in the forms of names, with its form; ``""`` where it is a plain name."""
    if isinstance(node, MappingNode):
        yield from ((form, scalar) for form, value in node.values.items() for scalar in scalars(value))
        return
    yield from (("", scalar) for scalar in scalars(node))
    for item in node.items if isinstance(node, SequenceNode) else ():
        if isinstance(item, MappingNode):
            yield from name_scalars(item)


# The operations of a rule, checked against the resource types it names.

_PERMISSIONS = {"allow": AclPermissionType.ALLOW, "deny": AclPermissionType.DENY}
_TWICE = Trouble(Code.DUPLICATE_BINDING, "this operation is in the list twice", "remove one of them")


class Permission(NamedTuple):
    """What a rule permits or refuses."""

    permission_type: AclPermissionType
    operations: tuple[AclOperation, ...]


#: Mostly a few kinds of rules are written for thousands of principals.
_permission: Final = lru_cache(maxsize=256)(Permission)


def permission(rule: MappingNode, kinds: list[ResourceType], findings: Findings) -> Permission | None:
    """The operations under ``allow`` or ``deny``; ``None`` where there is neither.

    Unknown operations are left to the models.
    """
    for field, permission_type in _PERMISSIONS.items():
        if field not in rule.values:
            continue
        operations: dict[AclOperation, None] = {}
        for node in scalars(rule.values[field]):
            operation = fields.OPERATIONS.get(node.plain)
            if operation is None:
                continue
            for kind in kinds:
                trouble = operation_problem(operation, kind)
                if trouble is not None:
                    findings.add(trouble, node)
            if operation in operations:
                findings.add(_TWICE, node)
            operations[operation] = None
        return _permission(permission_type, tuple(operations))
    return None


def named_operations(node: Node | None, kinds: Iterable[ResourceType], findings: Findings) -> tuple[AclOperation, ...]:
    """The operations of a field that claims or consents, each once; unknown ones are left to the models.

    One that a resource does not have is reported: a claim about it would hold, or fail, for no reason.
    """
    operations: dict[AclOperation, None] = {}
    for item in scalars(node):
        operation = fields.OPERATIONS.get(item.plain)
        if operation is None:
            continue
        for kind in dict.fromkeys(kinds):
            trouble = operation_problem(operation, kind)
            if trouble is not None:
                findings.add(trouble, item)
        operations[operation] = None
    return tuple(operations)


def administration_problem(kind: ResourceType) -> Trouble | None:
    """Why nobody can administer such a resource; ``None`` if there is something to do but to describe it."""
    if SUPPORTED_OPERATIONS[kind] > {AclOperation.DESCRIBE}:
        return None
    message = f"{kind.name} has nothing to administer: nothing ever asks for more than DESCRIBE"
    return Trouble(Code.UNSUPPORTED_OPERATION, message, "remove it from this test")


def operation_problem(operation: AclOperation, kind: ResourceType) -> Trouble | None:
    """Why nothing ever asks for the operation on such a resource; ``None`` if it has it."""
    if operation is AclOperation.ALL or operation in SUPPORTED_OPERATIONS[kind]:
        return None
    supported = sorted(possible.name for possible in SUPPORTED_OPERATIONS[kind])
    message = f"{kind.name} has no operation {operation.name}: Kafka never checks it there"
    return Trouble(Code.UNSUPPORTED_OPERATION, message, f"it has {', '.join(supported)} and ALL")


# Hosts that a connection can have: ``*``, the exact text of Java's ``InetAddress.getHostAddress()``, or a range.
#
# Brokers before 4.4 accept any other text, ranges too, and never match it, so that a DENY on it denies nobody. A plan
# refuses ranges where the cluster is older; here nothing is known of the cluster.


def host_problem(text: str) -> Trouble | None:
    """Why no connection can come from ``text``, with the form that matches; ``None`` if it is fine."""
    if text == WILDCARD:
        return None
    if not text.strip():
        return Trouble(Code.HOST, "a host cannot be empty", "write an address, or omit hosts for every host")
    if "/" in text:
        return _range_problem(text)
    right = right_form(text.strip())
    if right is None:
        message = f"{quoted(text)} is not an IP address: Kafka compares addresses, never host names or patterns"
        return Trouble(Code.HOST, message, "list the addresses the clients connect from, as the broker sees them")
    if right != text:
        message = (
            f"the host {quoted(text)} never matches: Kafka compares texts, and brokers write this address otherwise"
        )
        return Trouble(Code.HOST, message, f"write {right}")
    return None


def _range_problem(text: str) -> Trouble | None:
    """Why a text with a slash is no range that a reviewer can read, as ``CidrUtils`` of Kafka 4.4 reads it."""
    addresses = ip_range(text)
    if addresses is None:
        advice = "write 10.0.0.0/8 or fe80::/10: an address, a slash, and how many of its bits count"
        return Trouble(Code.HOST, f"{quoted(text)} is not a range of addresses", advice)
    if addresses.first > addresses.last:
        return Trouble(Code.HOST, f"no connection comes from {quoted(text)}", "write the addresses that are meant")
    if str(addresses) != text:
        # Brokers store the text as it is and ignore the bits after the length: 10.0.0.5/8 reads like one address.
        return Trouble(Code.HOST, f"{quoted(text)} means all of {addresses}", f"write {addresses}")
    return None


def right_form(text: str) -> str | None:
    """The address as a broker writes it: IPv6 in full and lower case, IPv4-mapped as IPv4; ``None`` if it is none."""
    import ipaddress  # noqa: PLC0415  (needed by few manifests, and not free at start-up)

    parts = text.split(".")
    if len(parts) == 4 and all(part.isascii() and part.isdigit() and len(part) < 10 for part in parts):
        text = ".".join(str(int(part)) for part in parts)
    try:
        address = ipaddress.ip_address(text)
    except ValueError:
        return None
    if isinstance(address, ipaddress.IPv4Address):
        return str(address)
    if address.ipv4_mapped is not None:
        return str(address.ipv4_mapped)
    groups = (int.from_bytes(address.packed[i : i + 2]) for i in range(0, 16, 2))
    scope = f"%{address.scope_id}" if address.scope_id else ""
    return ":".join(f"{group:x}" for group in groups) + scope


# Patterns with the places that name them: of a million names, a declaration for each would take 200 MB.

#: The bytes of one place: its line and its column.
_PLACE: Final = 8


@lru_cache(maxsize=256)
def terms_in(
    file: str,
    reason: str | None = None,
    ticket: str | None = None,
    expires: Expiry | None = None,
    keep: str | None = None,
) -> Declaration:
    """What the names of a rule have in common; mostly many rules of a file have the same."""
    return Declaration(Origin(file, 1, 1), reason, ticket, expires, None, keep)


def declared_at(terms: Declaration, places: bytes, index: int) -> Declaration:
    """The declaration at one of packed places, with ``terms`` in everything else."""
    line, column = unpack_from("2I", places, _PLACE * index)
    return terms._replace(origin=Origin(terms.origin.file, line, column))


@dataclass(frozen=True, slots=True)
class DeclaredPatterns:
    """The patterns of one field of a rule; ``kind`` is the field's resource type.

    ``places`` are those of the texts that name the patterns, packed for :func:`declared_at`. In ``terms`` is all else
    that is declared; its own place is not used.
    """

    kind: ResourceType
    patterns: tuple[ResourcePattern, ...]
    places: bytes
    terms: Declaration

    @classmethod
    def of(cls, kind: ResourceType, named: Sequence[Named], terms: Declaration) -> Self:
        """Each pattern at the place of the text that names it."""
        places = [number for _, node in named for number in (node.line + 1, node.column + 1)]
        return cls(kind, tuple([pattern for pattern, _ in named]), pack(f"{len(places)}I", *places), terms)

    @classmethod
    def at(cls, kind: ResourceType, patterns: Sequence[ResourcePattern], declaration: Declaration) -> Self:
        """All of them with one declaration."""
        _, line, column = declaration.origin
        return cls(kind, tuple(patterns), pack("2I", line, column) * len(patterns), declaration)

    def with_role(self, role: Origin) -> "DeclaredPatterns":
        """The same with the place of a role's rule: who edits that decides as much as who uses the role."""
        return DeclaredPatterns(self.kind, self.patterns, self.places, self.terms._replace(role=role))

    def renamed(self, pattern: ResourcePattern) -> "DeclaredPatterns":
        """``pattern`` at the place of the first of them."""
        return DeclaredPatterns(self.kind, (pattern,), self.places[:_PLACE], self.terms)

    def of_type(self, kind: ResourceType) -> "DeclaredPatterns":
        """Those of one type, where the fields of a rule follow each other."""
        of_kind = [index for index, pattern in enumerate(self.patterns) if pattern.resource_type is kind]
        start, end = (of_kind[0], of_kind[-1] + 1) if of_kind else (0, 0)
        return DeclaredPatterns(kind, self.patterns[start:end], self.places[_PLACE * start : _PLACE * end], self.terms)

    def __iter__(self) -> Iterator[tuple[ResourcePattern, Declaration]]:
        """Each pattern with its declaration."""
        for index, pattern in enumerate(self.patterns):
            yield pattern, declared_at(self.terms, self.places, index)
