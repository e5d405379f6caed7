"""A cluster's state as a directory of manifests, with everything that it could not say.

An ``Ownership`` for manifests by team comes as comments: it decides nothing until you want it. Each team owns its
principals and names that begin as the team's. All else, the cluster and every wildcard with it, is the platform
owner's. What teams have of others they have by consents, which name exactly what is there.
"""

import datetime
import re
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import field
from itertools import chain
from typing import Final, Literal

from reconciler.codec.kinds import KINDS as LISTED_CODECS
from reconciler.dataclass import dataclass
from reconciler.manifest.manifests import desired_state, load
from reconciler.manifest.parts.clusters import DEFAULT_DELETE_PERCENT, DEFAULT_PERCENT_ABOVE
from reconciler.manifest.parts.document import document_name_problem
from reconciler.manifest.parts.resources import looks_like_a_pattern
from reconciler.manifest.parts.rules import FIELD_OF
from reconciler.manifest.read.findings import Source
from reconciler.manifest.write.kinds import KINDS
from reconciler.manifest.write.kinds.interface import Inexpressible
from reconciler.manifest.write.text import (
    DEFAULT_STYLE,
    WIDTH,
    ExportStyle,
    binding_problem,
    comment,
    document_head,
    mapping,
    one_or_list,
    scalar,
    stem,
    text_problem,
    value,
)
from reconciler.model.acl import (
    WILDCARD_PRINCIPAL,
    AclBinding,
    AclPermissionType,
    PatternType,
    ResourcePattern,
    ResourceType,
)
from reconciler.model.characters import counted
from reconciler.model.frozen import FrozenMap
from reconciler.model.state import ClusterState
from reconciler.model.topic_configs import readable
from reconciler.model.topic_rule import CountRule, NameRule, RelationRule, RulePart, SettingRule, TopicException
from reconciler.policy.topic_policy import ProposedRule

#: Comments only: what belongs to no other file.
LEFT_FILE: Final = "not-exported.yaml"


@dataclass(frozen=True, slots=True)
class Export:
    """Texts by path (with ``/``), and what no manifest can say, each with its reason, in order.

    What is left is also written into the files, as comments; so is what could not be read.
    """

    files: Mapping[str, str] = field(default_factory=FrozenMap)
    inexpressible: tuple[Inexpressible, ...] = ()
    style: ExportStyle = DEFAULT_STYLE


def export_manifests(
    state: ClusterState, *, cluster: str = "", heading: str = "", style: ExportStyle = DEFAULT_STYLE
) -> Export:
    """The manifests of ``state``; ``cluster`` is its name, for the first line of each file, or ``heading`` is that.

    Loading the files gives everything but ``inexpressible``, and besides it only what ``style`` allows.
    """
    head = comment(heading or f"As found on {cluster or 'the cluster'} ({state.cluster_id}).")
    parts = [kind.exported(state, style) for kind in KINDS]
    files: dict[str, list[str]] = {}
    for part in parts:
        for path, lines in part.files.items():
            # Kinds can share a file.
            files[path] = [*files[path], "---", *lines] if path in files else [head, *lines]
    if rest := [comment(text) for part in parts for text in part.comments]:
        files[LEFT_FILE] = [head, *rest]
    texts = {path: "\n".join(lines) + "\n" for path, lines in files.items()}
    return Export(FrozenMap(texts), tuple(item for part in parts for item in part.inexpressible), style)


# The ``Cluster`` document that stands beside exported manifests.


def cluster_document(name: str, bootstrap_servers: Sequence[str]) -> str:
    """A ``Cluster`` of that name.

    Raises ``ValueError`` for text that no manifest can hold, and for a name that no document can have.
    """
    unfit = [text for text in (name, *bootstrap_servers) if text_problem(text) is not None]
    if unfit:
        raise ValueError(f"{unfit[0]!a} cannot stand in a manifest")
    if (problem := document_name_problem(name)) is not None:
        raise ValueError(problem)
    lines = document_head("Cluster", name)
    lines += one_or_list("bootstrapServers", bootstrap_servers, 2, always_list=True)
    # What holds anyway, where somebody looks who has to raise it.
    lines += [
        "  deleteLimits:",
        f"    maxDeletePercent: {DEFAULT_DELETE_PERCENT}",
        f"    percentAbove: {DEFAULT_PERCENT_ABOVE}",
    ]
    return "\n".join(lines) + "\n"


# Which file each ACL and topic of a conversion goes to: by principal, source file or module, team, or all to one.

Layout = Literal["principal", "source", "team", "single"]
#: What names a kind of account and no team.
_KINDS_OF_ACCOUNT: Final = frozenset(("svc", "sa", "srv", "service", "app", "user", "usr", "client", "kafka"))
#: Products around Kafka that people call principals by, and words for those who run it: no team is called so.
NO_TEAMS: Final = frozenset(
    (
        *("admin", "akhq", "anonymous", "broker", "brokers", "burrow", "connect", "control", "cruise", "exporter"),
        *("kafdrop", "kminion", "ksql", "ksqldb", "mirror", "mirrormaker", "mm2", "monitoring", "prometheus"),
        *("registry", "replicator", "rest", "root", "schema", "schemas", "super", "ui", "zookeeper"),
    )
)
_BREAK: Final = re.compile(r"[._-]")
_MODULE: Final = re.compile(r"module\.([\w-]+)(?:\[[^\]]*\])?\.")
#: Files that a conversion writes anyway.
_TAKEN: Final = frozenset(
    (
        "cluster",
        "not-converted",
        "not-exported",
        "ownership-draft",
        "roles",
        "topics-absent",
        *(kind.file_stem for kind in LISTED_CODECS),
    )
)


def places(layout: Layout, state: ClusterState, origins: Mapping[AclBinding | str, str]) -> dict[AclBinding | str, str]:
    """The path without its ending for each binding and topic name; none for what goes to its usual file.

    ``origins`` says where the source has each: ``file:line``, or ``file:address`` in a Terraform state.
    """
    match layout:
        case "principal":
            return {}
        case "single":
            items: Iterable[AclBinding | str] = (*state.bindings, *state.topics)
            return dict.fromkeys(items, "manifests")
        case "source":
            return {item: place for item, origin in origins.items() if (place := _of_origin(origin))}
        case "team":
            return _by_team(state)


def _of_origin(origin: str) -> str:
    """The file, or in a Terraform state the module: a state is one file, whatever it was made from."""
    file, _, address = origin.partition(":")
    parts = (
        (() if file.endswith(".tf") else _MODULE.findall(address)) or file.rpartition(".")[0].split("/")
        if "." in file
        else [file]
    )
    place = "/".join(stem(part).lower() for part in parts)
    return f"{place}-source" if place in _TAKEN else place


def _by_team(state: ClusterState) -> dict[AclBinding | str, str]:
    principals = {binding.entry.principal for binding in state.bindings}
    team_of = teams(principals)
    borne_out = _borne_out(state, team_of)
    place_of: dict[AclBinding | str, str] = {
        binding: f"teams/{team_of[binding.entry.principal]}"
        for binding in state.bindings
        if team_of[binding.entry.principal] in borne_out
    }
    for name in state.topics:
        team = first_word(name)
        if team in borne_out:
            place_of[name] = f"teams/{team}"
    return place_of


def _borne_out(state: ClusterState, team_of: Mapping[str, str]) -> set[str]:
    """The teams that more than the word of one principal speaks for: another principal, or names of resources."""
    principals = Counter(team_of[principal] for principal in team_of if principal != WILDCARD_PRINCIPAL)
    named = {first_word(name) for name in state.topics}
    named |= {
        word
        for pattern, entry in state.bindings
        if not pattern.is_wildcard and (word := first_word(pattern.name)) == team_of[entry.principal]
    }
    return {team for team, count in principals.items() if team not in NO_TEAMS and (count > 1 or team in named)}


def first_word(name: str) -> str:
    """The team that a name of a resource begins with, if there is one."""
    return stem(_BREAK.split(name)[0]).lower()


def teams(principals: Iterable[str]) -> dict[str, str]:
    """A team for each principal, as its name begins: ``User:CN=payments/mail`` and ``User:svc-payments-mail`` alike."""
    words = {principal: _words(principal) for principal in principals}
    while len(words) > 1 and all(len(own) > 1 for own in words.values()):
        if len({own[0] for own in words.values()}) > 1:
            break
        words = {principal: own[1:] for principal, own in words.items()}
    return {principal: stem(own[0]).lower() for principal, own in words.items()}


def _words(principal: str) -> list[str]:
    if principal == WILDCARD_PRINCIPAL:
        return ["everyone"]
    name = principal.partition(":")[2].partition(",")[0]
    name = name.partition("=")[2] or name
    if "/" in name:
        return [name.partition("/")[0] or name]
    words = [word for word in _BREAK.split(name) if word]
    return words[1:] if len(words) > 1 and words[0].lower() in _KINDS_OF_ACCOUNT else words or [name]


# A proposed topic policy as a manifest, each rule under a line that says how many topics keep it.


def policy_text(
    name: str, rules: Iterable[ProposedRule], *, origin: str, labels: Mapping[str, str], notes: Sequence[str] = ()
) -> str:
    """A ``TopicPolicy`` of that name; ``origin`` says where the topics were found, ``labels`` which clusters it is for.

    ``notes`` become comments at the top.
    """
    lines = [comment(f"What the topics of {origin} have in common. Loosen or tighten it: it is a beginning.")]
    lines += map(comment, notes)
    lines += document_head("TopicPolicy", name)
    if labels:
        lines += ["  clusters:", *mapping("matchLabels", labels, 4)]
    lines.append("  rules:")
    accepted: list[str] = []
    for proposed in rules:
        lines += _rule_lines(proposed)
        name = proposed.rule.name or ""
        accepted += [line for exception in proposed.rule.exceptions for line in _exception_lines(name, exception)]
    lines += ["  exceptions:", *accepted] if accepted else []
    return "\n".join(lines) + "\n"


def _rule_lines(proposed: ProposedRule) -> Iterator[str]:
    rule, kept, topics = proposed
    yield "    " + comment(f"kept by {kept:,} of {counted(topics, 'topic')}")
    yield f"    - name: {scalar(rule.name or '')}"
    yield "      topics: {any: true}"
    for part in rule.parts:
        yield from _part_lines(part)


def _part_lines(part: RulePart) -> Iterator[str]:
    match part:
        case NameRule():
            yield f"      names: {{pattern: {_quoted(part.pattern or '')}}}"
        case CountRule():
            limits = {"min": part.minimum, "max": part.maximum}
            shown = {field: str(limit) for field, limit in limits.items() if limit is not None}
            yield from mapping(part.subject, shown, 6)
        case SettingRule():
            yield "      configs:"
            yield from _setting_lines(part)
        case RelationRule():
            pairs = f"value: {part.value}, {part.relation}: {part.other}, required: false"
            yield f"      relations: [{{{pairs}}}]"
        case _:
            raise ValueError("no expression is ever proposed")


def _setting_lines(part: SettingRule) -> Iterator[str]:
    limits = {"required": str(bool(part.required)).lower()}
    if part.allowed is not None:
        shown = (value(readable(part.name, text), flow=True) for text in part.allowed)
        limits["allowed"] = f"[{', '.join(shown)}]"
    for key, bound in (("min", part.minimum), ("max", part.maximum)):
        if bound is not None:
            limits[key] = value(bound.text, flow=True)
    pairs = [f"{key}: {text}" for key, text in limits.items()]
    line = f"        {scalar(part.name)}: {{{', '.join(pairs)}}}"
    if len(line) <= WIDTH:
        yield line
    else:
        yield f"        {scalar(part.name)}:"
        yield from (f"          {pair}" for pair in pairs)


def _exception_lines(rule: str, exception: TopicException) -> Iterator[str]:
    names = exception.topics.literal
    yield f"    - check: {scalar(rule)}"
    if any(map(looks_like_a_pattern, names)):
        yield "      topics:"
        yield from one_or_list("literal", names, 8, always_list=True)
    else:
        yield from one_or_list("topics", names, 6, always_list=True)
    yield f"      reason: {scalar(exception.reason)}"
    yield f"      expires: {exception.expires}"


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


# Manifests read back: what they declare, held against what they were made from.

_LONG_AGO = datetime.date.min


def differences(export: Export, state: ClusterState, cluster: Mapping[str, str], name: str) -> list[str]:
    """How the manifests differ from ``state`` less what the export left; nothing where they say exactly that.

    ``cluster`` is the file that declares the cluster ``name``. Raises ``ManifestError`` where the manifests are not
    valid. With implied operations, a binding besides ``state`` counts only if another one of it implies what it grants.
    """
    texts = {**cluster, **export.files}
    wanted = desired_state(load(Source(path, text) for path, text in texts.items()), name, _LONG_AGO)
    skipped = {item.item for item in export.inexpressible}
    return [line for kind in KINDS for line in kind.differences(state, wanted, skipped, export.style)]


DRAFT_FILE: Final = "ownership-draft.yaml"
_HEAD: Final = (
    "A draft: which team's files may name what (docs/manifests/ownership.md). Remove the first two characters of",
    "each line below, and what is not right. The files of this directory hold by it as they are.",
)
_EXCEPT: Final = "It does not hold for what follows, which needs a decision of yours:"
#: What names those who own the rest, unless a team is called so.
_PLATFORM: Final = ("platform", "cluster-administrators", "owners-of-the-rest")
_BY_NAME: Final = (ResourceType.TOPIC, ResourceType.GROUP, ResourceType.TRANSACTIONAL_ID)
_EVERYTHING: Final = ("topics", "groups", "transactionalIds", "delegationTokens", "users")
#: To whom, with which permission, which operations.
_Terms = tuple[str, AclPermissionType, tuple[str, ...]]


@dataclass(frozen=True, slots=True)
class _Team:
    principals: tuple[str, ...]
    patterns: frozenset[ResourcePattern]


def draft_text(lines: Iterable[str], objections: Collection[str] = ()) -> str:
    """The file: the document's lines as comments, and what it is not right about."""
    head = [
        *map(comment, _HEAD),
        *map(comment, [_EXCEPT, *(f"  {objection}" for objection in objections)] if objections else []),
    ]
    return "\n".join([*head, "#", *(comment(line) for line in lines)]) + "\n"


def ownership_draft(state: ClusterState, places: Mapping[AclBinding | str, str], files: Collection[str]) -> list[str]:
    """The lines of the document; ``files`` are those of the export, ``places`` where in them each binding is."""
    bindings = [binding for binding in sorted(state.bindings) if binding_problem(binding) is None]
    team_of = teams({binding.entry.principal for binding in bindings})
    by_name = _teams(bindings, team_of, places)
    platform = next(name for name in _PLATFORM if name not in by_name)
    given: dict[str, dict[_Terms, list[ResourcePattern]]] = defaultdict(lambda: defaultdict(list))
    for (to, pattern, permission), operations in _borrowed(bindings, team_of, by_name).items():
        owners = (name for name, team in sorted(by_name.items()) if _owns(team, pattern))
        terms = (to, permission, tuple(sorted(operations)))
        given[next(owners, platform)][terms].append(pattern)
    lines = [*document_head("Ownership", "teams"), *(["  teams:"] if by_name else [])]
    for name, team in sorted(by_name.items()):
        lines += [f"    {scalar(name)}:", f"      files: {scalar(_file(name))}"]
        prefixes = sorted({own.name for own in team.patterns if own.pattern_type is PatternType.PREFIXED})
        lines += one_or_list("prefix", prefixes, 6) if prefixes else []
        lines += one_or_list("principals", team.principals, 6, always_list=True)
    lines += ["  owners:"]
    for name, team in sorted(by_name.items()):
        names, *more = _items(own for own in team.patterns if own.pattern_type is PatternType.LITERAL) or [[]]
        first = [*(f"      {line}" for line in names), *_consents(given[name])]
        lines += [f"    - team: {scalar(name)}", *first] if first else []
        for item in more:
            lines += [f"    - team: {scalar(name)}", *(f"      {line}" for line in item)]
    theirs = sorted(set(files) - {_file(name) for name in by_name} - {DRAFT_FILE, "cluster.yaml"})
    lines += [f"    - team: {platform}"]
    lines += one_or_list("files", theirs, 6, always_list=True) if theirs else []
    lines += [f"      {field}: {{any: true}}" for field in ("principals", *_EVERYTHING)]
    return [*lines, "      cluster: true", *_consents(given[platform])]


def _file(team: str) -> str:
    return f"teams/{team}.yaml"


def _teams(
    bindings: Collection[AclBinding], team_of: Mapping[str, str], places: Mapping[AclBinding | str, str]
) -> dict[str, _Team]:
    """Those that own something by its name, or have several principals: others are people, or accounts of no team."""
    principals: dict[str, list[str]] = defaultdict(list)
    for principal, name in sorted(team_of.items()):
        principals[name].append(principal)
    named: dict[str, set[ResourcePattern]] = defaultdict(set)
    for item, place in places.items():
        if isinstance(item, str) and place == _file(team := first_word(item)).removesuffix(".yaml"):
            named[team].add(_by_its_word(ResourcePattern(ResourceType.TOPIC, item)))
    for pattern, entry in bindings:
        team, kind = team_of[entry.principal], pattern.resource_type
        whole = pattern.is_wildcard or kind not in _BY_NAME
        if not whole and first_word(pattern.name) == team:
            own = _by_its_word(pattern)
            named[team] |= {own} if own.contains(pattern) else set()
    return {
        name: _Team(tuple(mine), frozenset(chain.from_iterable(map(_of_every_kind, named[name]))))
        for name, mine in principals.items()
        if WILDCARD_PRINCIPAL not in mine and name not in NO_TEAMS and (named[name] or len(mine) > 1)
    }


def _by_its_word(pattern: ResourcePattern) -> ResourcePattern:
    """All that begins with the same word, with its delimiter; the name itself where that is no more than the word."""
    after = next((at for at, letter in enumerate(pattern.name) if letter in "._-" and at), None)
    if after is None:
        return pattern._replace(pattern_type=PatternType.LITERAL)
    return pattern._replace(name=pattern.name[: after + 1], pattern_type=PatternType.PREFIXED)


def _of_every_kind(pattern: ResourcePattern) -> Iterator[ResourcePattern]:
    """A prefix is that of all that a team calls so, as ``teams`` of Ownership has it; a name is one thing's."""
    kinds = _BY_NAME if pattern.pattern_type is PatternType.PREFIXED else (pattern.resource_type,)
    return (pattern._replace(resource_type=kind) for kind in kinds)


def _owns(team: _Team, pattern: ResourcePattern) -> bool:
    return any(own.contains(pattern) for own in team.patterns)


def _borrowed(
    bindings: Iterable[AclBinding], team_of: Mapping[str, str], by_name: Mapping[str, _Team]
) -> dict[tuple[str, ResourcePattern, AclPermissionType], set[str]]:
    """The operations that each team has of each pattern that is not its own, by permission."""
    used: dict[tuple[str, ResourcePattern, AclPermissionType], set[str]] = defaultdict(set)
    for pattern, entry in bindings:
        to = team_of[entry.principal]
        if to in by_name and not _owns(by_name[to], pattern):
            used[to, pattern, entry.permission_type].add(entry.operation.name)
    return used


def _consents(given: Mapping[_Terms, list[ResourcePattern]]) -> Iterator[str]:
    if given:
        yield "      consents:"
    for (to, permission, operations), patterns in sorted(given.items()):
        for item in _items(patterns, separate=True):
            yield f"        - to: {scalar(to)}"
            yield f"          operations: [{', '.join(operations)}]"
            if permission is AclPermissionType.DENY:
                yield "          permissions: [DENY]"
            yield from (f"          {line}" for line in item)


def _items(patterns: Iterable[ResourcePattern], *, separate: bool = False) -> list[list[str]]:
    """The fields that name these patterns, in as few items as there have to be; ``separate``: a field for each item."""
    forms: dict[str, list[list[str]]] = defaultdict(list)
    literal: dict[str, list[str]] = defaultdict(list)
    for pattern in sorted(patterns):
        field = FIELD_OF[pattern.resource_type]
        if pattern.resource_type is ResourceType.CLUSTER:
            forms[field] = [[f"{field}: true"]]
        elif pattern.is_wildcard:
            forms[field].append([f"{field}: {{any: true}}"])
        elif pattern.pattern_type is PatternType.PREFIXED:
            forms[field].append([f"{field}: {{prefix: {scalar(pattern.name, flow=True)}}}"])
        else:
            literal[field].append(pattern.name)
    for field, names in literal.items():
        if any(map(looks_like_a_pattern, names)):
            forms[field].append(
                [f"{field}:", *(f"  {line}" for line in one_or_list("literal", names, 0, always_list=True))]
            )
        else:
            forms[field].append(one_or_list(field, names, 0, always_list=True))
    if separate:
        return [form for of_field in forms.values() for form in of_field]
    most = max(map(len, forms.values()), default=0)
    return [[line for of_field in forms.values() if at < len(of_field) for line in of_field[at]] for at in range(most)]
