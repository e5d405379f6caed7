"""YAML text as people write it, what can be expressed, names of files.

YAML as people write it: plain texts where YAML allows, quotes where it does not, lists on one line if they fit.
"""

import hashlib
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import field
from typing import Final

from reconciler.dataclass import dataclass
from reconciler.manifest.parts.document import document_name_problem
from reconciler.manifest.parts.resources import right_form
from reconciler.manifest.parts.topic_settings import setting_problem
from reconciler.model.acl import (
    CLUSTER_NAME,
    SUPPORTED_OPERATIONS,
    WILDCARD,
    WILDCARD_PRINCIPAL,
    AccessControlEntry,
    AclBinding,
    AclOperation,
    PatternType,
    ResourcePattern,
    ResourceType,
)
from reconciler.model.addresses import ip_range
from reconciler.model.characters import composed, is_visible
from reconciler.model.scope import is_reserved
from reconciler.model.topic import INTERNAL_TOPICS, METADATA_TOPIC, Topic, topic_name_problem

#: The longest line that is filled; a longer list gets a line for each item.
WIDTH: Final = 100

# Indicators that cannot start a plain text (YAML 1.2, 5.3), and words that other readers than ours type otherwise.
_STARTS: Final = "-?:,[]{}#&*!|>'\"%@`=~<"
_UNSAFE = re.compile(r":(\s|$)|\s#|[\[\]{}]")
_TYPED = re.compile(
    r"(?i:null|true|false|yes|no|on|off|y|n)|[-+]?(0[xob])?[0-9a-fA-F_]*[0-9][0-9_,:]*(\.[0-9_]*)?([eE][-+]?[0-9]+)?"
    r"|[-+]?\.[0-9_]+([eE][-+]?[0-9]+)?|[-+]?\.(?i:inf|nan)|[0-9]{4}-[0-9]{1,2}-[0-9]{1,2}.*"
)


def scalar(text: str, *, flow: bool = False) -> str:
    """One printable text, quoted only where needed; in ``flow`` collections a comma needs it too."""
    if _is_plain(text, flow=flow) and not _TYPED.fullmatch(text):
        return text
    return "'" + text.replace("'", "''") + "'"


def value(text: str, *, flow: bool = False) -> str:
    """A text whose field has a type of its own, so that numbers and truths need no quotes."""
    return text if _is_plain(text, flow=flow) else scalar(text, flow=flow)


def _is_plain(text: str, *, flow: bool) -> bool:
    if not text or text != text.strip() or text[0] in _STARTS:
        return False
    return not _UNSAFE.search(text) and not (flow and "," in text)


def one_or_list(key: str, texts: Sequence[str], indent: int, *, always_list: bool = False) -> list[str]:
    """``key: a``, ``key: [a, b]``, or an item a line; ``indent`` in spaces."""
    margin = " " * indent
    if len(texts) == 1 and not always_list:
        return [f"{margin}{key}: {scalar(texts[0])}"]
    line = f"{margin}{key}: [{', '.join(scalar(text, flow=True) for text in texts)}]"
    if len(line) <= WIDTH:
        return [line]
    return [f"{margin}{key}:", *(f"{margin}  - {scalar(text)}" for text in texts)]


def mapping(key: str, items: Mapping[str, str], indent: int) -> list[str]:
    """``key: {a: 1, b: 2}``, or an item a line; the values' fields have types of their own."""
    margin = " " * indent
    pairs = ", ".join(f"{scalar(name, flow=True)}: {value(text, flow=True)}" for name, text in items.items())
    line = f"{margin}{key}: {{{pairs}}}"
    if len(line) <= WIDTH and len(items) < 4:
        return [line]
    return [f"{margin}{key}:", *(f"{margin}  {scalar(name)}: {value(text)}" for name, text in items.items())]


def document_head(kind: str, name: str) -> list[str]:
    """The first lines of a document, up to its ``spec``."""
    return ["apiVersion: reconciler/v1", f"kind: {kind}", f"metadata: {{name: {scalar(name, flow=True)}}}", "spec:"]


def comment(text: str) -> str:
    """A comment line in which no character can do anything; what could is written as an escape."""
    return "# " + "".join(letter if " " <= letter < "\x7f" else _escape(letter) for letter in text)


def _escape(letter: str) -> str:
    if letter.isalnum() and is_visible(letter):
        return letter
    return letter.encode("unicode_escape").decode("ascii")


# How a state is written as manifests: which roles, which files, which comments.

_MOST_FILES: Final = 4
_MOST_TOPS: Final = 12
#: In characters, for the places in one file.
_ROOM: Final = 60


@dataclass(frozen=True, slots=True)
class ExportStyle:
    """With ``roles``, built-in roles say what they say exactly; with ``implied``, they may add DESCRIBE, if implied.

    ``places`` are paths without an ending, by binding and by the name of a topic: everything with one path goes into
    one file. What has none goes to the file of its principal, or to that of its topic's prefix. ``notes`` become
    comments above the rule or the topic, ``origins`` (``file:line`` or ``file:address``) one above the document,
    and ``tops``, the comments above the source's documents, too.
    With ``together``, principals of one file with equal rules share a document, and a rule names topics, groups and
    transactional ids at once where it allows the same on them.
    With ``applications``, principals whose rules differ in one id alone use a role that is written for them.
    ``absent`` are names of topics that the manifests say must not exist, ``absent_listed`` those of resources of listed
    kinds, by ``KIND``.
    """

    roles: bool = True
    implied: bool = False
    places: Mapping[AclBinding | str, str] = field(default_factory=dict)
    notes: Mapping[AclBinding | str, tuple[str, ...]] = field(default_factory=dict)
    origins: Mapping[AclBinding | str, str] = field(default_factory=dict)
    tops: Mapping[AclBinding | str, tuple[str, ...]] = field(default_factory=dict)
    together: bool = False
    applications: bool = False
    absent: frozenset[str] = frozenset()
    absent_listed: Mapping[str, frozenset[str]] = field(default_factory=dict)

    def origin_lines(self, items: Iterable[AclBinding | str]) -> list[str]:
        """Comments that say where the source has these, and what it says of them; nothing if that is not known."""
        places: dict[str, list[str]] = {}
        items = sorted(items, key=lambda item: _natural(self.origins.get(item, "")))
        tops = dict.fromkeys(text for item in items for text in self.tops.get(item, ()))
        origins = {origin for item in items if (origin := self.origins.get(item)) is not None}
        for origin in sorted(origins, key=_natural):
            file, _, place = origin.partition(":")
            places.setdefault(file, []).append(place)
        shown = [f"{file}:{_some(where)}" for file, where in places.items()]
        more = f" and {len(shown) - _MOST_FILES} more files" if len(shown) > _MOST_FILES else ""
        comments = [comment(text) for text in list(tops)[:_MOST_TOPS]]
        return [comment(f"From {', '.join(shown[:_MOST_FILES])}{more}"), *comments] if shown else []


def _some(places: Sequence[str]) -> str:
    """The first places of a file, as many as a line has room for."""
    shown = list(places[:1])
    for place in places[1:]:
        if sum(map(len, shown)) + len(place) > _ROOM:
            return f"{', '.join(shown)} and {len(places) - len(shown)} more"
        shown.append(place)
    return ", ".join(shown)


def _natural(origin: str) -> tuple[str, int, str]:
    """Line 9 before line 10."""
    file, _, place = origin.partition(":")
    number = re.match("[0-9]+", place)
    return file, int(number[0]) if number else 0, place


DEFAULT_STYLE: Final = ExportStyle()


# What a manifest can say of a live cluster, and why it cannot say the rest.
#
# Kafka accepts texts that no connection has, that break or hang brokers, or that a reviewer could not see; manifests
# do not. The rules are those of the manifests' reader; a property test holds the two together.

_VARIABLE: Final = "${"


def binding_problem(binding: AclBinding) -> str | None:
    """Why no manifest can declare ``binding``, or ``None``."""
    return _pattern_problem(binding.pattern) or _entry_problem(binding.pattern.resource_type, binding.entry)


def _entry_problem(resource_type: ResourceType, entry: AccessControlEntry) -> str | None:
    operation = entry.operation
    if operation is not AclOperation.ALL and operation not in SUPPORTED_OPERATIONS[resource_type]:
        return f"{resource_type.name} resources have no operation {operation.name}"
    return _principal_problem(entry.principal) or _host_problem(entry.host)


def _pattern_problem(pattern: ResourcePattern) -> str | None:
    if pattern.resource_type is ResourceType.CLUSTER:
        literal = pattern.pattern_type is PatternType.LITERAL
        return None if literal and pattern.name == CLUSTER_NAME else "the cluster is declared by its one name only"
    if pattern.is_wildcard:
        return None
    if is_reserved(pattern.name):
        return "the name is reserved for the reconciler"
    if pattern.resource_type is ResourceType.TOPIC:
        return _topic_name_problem(pattern)
    return _other_name_problem(pattern)


def _topic_name_problem(pattern: ResourcePattern) -> str | None:
    if pattern.pattern_type is PatternType.PREFIXED and pattern.name in (".", ".."):
        return None
    if pattern.pattern_type is PatternType.LITERAL and pattern.name == METADATA_TOPIC:
        return "Kafka keeps this topic itself"
    return topic_name_problem(pattern.name)


def _other_name_problem(pattern: ResourcePattern) -> str | None:
    if pattern.name[0] < WILDCARD:
        return "the name begins with a character below '*': an ACL on it can hang brokers"
    problem = text_problem(pattern.name)
    if problem is not None or pattern.resource_type is not ResourceType.USER:
        star = pattern.pattern_type is PatternType.PREFIXED and pattern.name.endswith(WILDCARD)
        return problem or ("a prefix that ends with '*', which stands for itself" if star else None)
    if pattern.pattern_type is PatternType.PREFIXED:
        return "a prefix of '*' is not a prefix" if pattern.name == WILDCARD else None
    return "the name is not a user" if pattern.name == WILDCARD_PRINCIPAL else _principal_problem(pattern.name)


def _principal_problem(text: str) -> str | None:
    if text == WILDCARD_PRINCIPAL:
        return None
    principal_type, colon, name = text.partition(":")
    if not colon:
        return "the principal has no type and colon: it breaks brokers up to 3.9"
    if not name.strip() or text != text.strip() or name != name.lstrip() or not principal_type.isalnum():
        return "the principal has no name, or spaces or other characters that no principal has"
    if principal_type != "User" and principal_type.lower() == "user":
        return "the principal's type is User in another case: it matches nobody"
    if name.endswith(WILDCARD) or (name.startswith(WILDCARD) and "=" not in name):
        return f"only {WILDCARD_PRINCIPAL} is a wildcard: the principal matches nobody"
    return text_problem(text)


def _host_problem(host: str) -> str | None:
    addresses = ip_range(host)
    if addresses is not None and addresses.first <= addresses.last:
        return None if str(addresses) == host else f"a manifest writes {addresses} for that range"
    return None if host == WILDCARD or _as_java_writes_it(host) else "no connection has that host: it matches nobody"


def _as_java_writes_it(host: str) -> bool:
    """Whether ``host`` is a text of ``InetAddress.getHostAddress``: IPv6 in full, lower case, no leading zeros."""
    return text_problem(host) is None and right_form(host) == host


def topic_problem(topic: Topic) -> str | None:
    """Why no manifest can declare the topic as it is, or ``None``."""
    if topic.name in INTERNAL_TOPICS or topic.name == METADATA_TOPIC:
        return "Kafka keeps this topic itself"
    if is_reserved(topic.name):
        return "the name is reserved for the reconciler"
    problem = topic_name_problem(topic.name)
    if problem is not None:
        return problem
    for name, setting in topic.configs.items():
        if text_problem(name) or text_problem(setting):
            return "a setting holds text that no manifest can hold"
    return next(filter(None, (setting_problem(name, text) for name, text in topic.configs.items())), None)


def text_problem(text: str) -> str | None:
    """Why a reviewer could not see all of ``text``, or what a manifest reads as a variable; ``None`` if it is fine."""
    if not is_visible(text):
        return "it holds a control, bidirectional or invisible character"
    if composed(text) != text:
        return "it is not in Unicode's composed form"
    return "it reads like a variable" if _VARIABLE in text else None


# File names for principals: safe on every file system, unique without regard to case, and the same on each export.

_OTHER = re.compile(r"[^A-Za-z0-9._-]+|\.{2,}", re.ASCII)
_LONGEST: Final = 80
#: What Windows takes for a device, whatever the ending.
_DEVICES = re.compile(r"(con|prn|aux|nul|com[0-9]|lpt[0-9])(\..*)?", re.IGNORECASE)


def file_stems(principals: Iterable[str]) -> dict[str, str]:
    """A stem for each principal, also fit as a document's name.

    A principal whose name says itself (``User:svc-pay`` is ``svc-pay``) keeps it; where two would share a stem,
    those whose names had to be changed get part of a digest.
    """
    wanted = {principal: stem(_bare(principal)) for principal in sorted(set(principals))}
    exact = Counter(text.casefold() for principal, text in wanted.items() if text == _bare(principal))
    shared = Counter(text.casefold() for text in wanted.values())
    keeps = {
        principal
        for principal, text in wanted.items()
        if shared[text.casefold()] == 1 or (text == _bare(principal) and exact[text.casefold()] == 1)
    }
    taken = {wanted[principal].casefold() for principal in keeps}
    stems = {}
    for principal, text in wanted.items():
        stems[principal] = text if principal in keeps else _distinct(text, principal, taken)
    return stems


def stem(text: str) -> str:
    """``text`` with everything but ASCII letters, digits, ``.``, ``_`` and ``-`` made to ``-``; never empty."""
    slug = _OTHER.sub("-", text).strip("._-")[:_LONGEST].rstrip("._-")
    return f"{slug}-file" if _DEVICES.fullmatch(slug) else slug or "unnamed"


def document_name(text: str) -> str:
    """``text`` where a document can be called so, else its stem."""
    return text if document_name_problem(text) is None else stem(text)


def _bare(principal: str) -> str:
    if principal == WILDCARD_PRINCIPAL:
        return "everyone"
    return principal.removeprefix("User:")


def _distinct(text: str, principal: str, taken: set[str]) -> str:
    digest = hashlib.sha256(principal.encode()).hexdigest()
    distinct = next(name for end in range(8, 65, 4) if (name := f"{text}-{digest[:end]}").casefold() not in taken)
    taken.add(distinct.casefold())
    return distinct
