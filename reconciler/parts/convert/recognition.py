"""Formats recognised by their signs, and a directory converted.

Which format the files have, by what only that format writes: an API group, a heading, a field.

A document without a sign of any format is never given to a reader: it may be anything.

Also the formats of ``convert --from``, and the reader of each.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from types import MappingProxyType
from typing import Final, NamedTuple, TypeAlias

from reconciler.model.characters import first_of
from reconciler.parts.convert.conversion import PRINCIPAL, PRINCIPALS, Conversion, ConversionResult, Sign, add_foreign
from reconciler.parts.convert.files import JSON, STDIN, YAML, SourceError, SourceFiles, Tree
from reconciler.parts.convert.kafka_security_manager import is_heading
from reconciler.parts.convert.redpanda import table_columns
from reconciler.parts.convert.shell import CALL, calls_tools
from reconciler.system import plugins

#: Converts the files of one format.
Reader: TypeAlias = Callable[[SourceFiles, Conversion], None]

#: Entry points of other packages' readers: functions as ``Reader``.
GROUP: Final = "reconciler.converters"
#: Instead of a format: the files say which.
AUTO: Final = "auto"


class SourceFormat(NamedTuple):
    """What a source of the format holds, and what tells its clusters apart, ``None`` if it is always one cluster.

    ``module`` is where its reader is, if not in a module of its own.
    """

    holds: str
    clusters: str | None = None
    module: str = ""


#: In the order in which they are offered. The reader of ``a-b`` is ``read_a_b`` in the module ``a_b``.
FORMATS: Final[Mapping[str, SourceFormat]] = MappingProxyType(
    {
        "kafka-gitops": SourceFormat("state.yaml"),
        "julie": SourceFormat("topologies"),
        "jikkou": SourceFormat("resources"),
        "strimzi": SourceFormat("KafkaUser and KafkaTopic", "Strimzi label"),
        "terraform": SourceFormat("states and .tf files", "Terraform provider"),
        "kafka-acls": SourceFormat("the output of kafka-acls --list"),
        "kafka-acls-script": SourceFormat("scripts and Kubernetes Jobs that call Kafka's tools"),
        "kafka-describe": SourceFormat("the output of kafka-topics and kafka-configs --describe"),
        "kafka-security-manager": SourceFormat("CSV files"),
        "confluent": SourceFormat("exports of its CLI and REST API", "Confluent id"),
        "confluent-operator": SourceFormat("KafkaTopic of Confluent for Kubernetes", "kafkaClusterRef", "confluent"),
        "redpanda": SourceFormat("rpk's output, and resources of its operator"),
        "crossplane": SourceFormat("AccessControlList, Topic and User of provider-kafka", "providerConfigRef"),
        "ansible": SourceFormat("tasks with kafka_acls, kafka_topics, kafka_quotas and kafka_users"),
        "topicctl": SourceFormat("topics and ACLs", "topicctl cluster"),
        "kdef": SourceFormat("definitions"),
    }
)
#: Those whose files can be of several clusters.
OF_CLUSTERS: Final = tuple(name for name, form in FORMATS.items() if form.clusters is not None)


def reader(source_format: str) -> Reader:
    """The function that reads a format: ours, else that of another package, which ``--from`` has to name.

    Raises ``KeyError`` for a name that is none, and ``PluginError`` where that of another package cannot be used.
    """
    if source_format not in FORMATS:
        other: Reader = plugins.load(GROUP, source_format)
        return other
    stem = source_format.replace("-", "_")
    module = FORMATS[source_format].module or stem
    ours: Reader = getattr(import_module(f"reconciler.parts.convert.{module}"), f"read_{stem}")
    return ours


def recognised_formats() -> str:
    """``kafka-gitops (state.yaml), julie (topologies)`` and so on, for messages."""
    return ", ".join(f"{name} ({form.holds})" for name, form in FORMATS.items())


#: The formats of Kubernetes resources, by the end of their API group.
_GROUPS: Final = {
    "kafka.strimzi.io": "strimzi",
    "jikkou.io": "jikkou",
    "cluster.redpanda.com": "redpanda",
    "platform.confluent.io": "confluent-operator",
    "kafka.crossplane.io": "crossplane",
    "kafka.m.crossplane.io": "crossplane",
}
#: Kinds of a group that are no business of the reader, though it names them: a sign needs another one beside them.
_OWN_KINDS: Final = {
    "strimzi": ("KafkaUser", "KafkaTopic"),
    "redpanda": ("User", "Topic"),
    "confluent-operator": ("KafkaTopic", "ConfluentRolebinding"),
    "crossplane": ("AccessControlList", "Topic", "User"),
}
#: Documents that only count beside others of their format.
_BESIDE: Final = "beside"
_SCRIPTS: Final = (".sh", ".bash", ".ksh", ".cmd", ".bat")
#: Formats in whose own language double braces stand.
_WITH_BRACES: Final = ("ansible", "julie")
_SERVICES: Final = ("application", "kafka-connect", "kafka-streams")
_ACL_FIELDS: Final = frozenset(("resource_type", "resource_name", "principal", "operation", "permission"))
_ANSIBLE_MODULE: Final = re.compile(r"(?:[\w.]+\.)?kafka_(?:acls?|topics?|quotas|users?|lib)")
_LISTS: Final = (
    ("kafka-acls", re.compile(r"^\s*(?:(?:Current|Adding) ACLs for resource|ACLs for principal) `", re.M)),
    (
        "kafka-describe",
        re.compile(
            r"^Topic: ?\S+\t.*PartitionCount:"
            r"|^(?:(?:Quota|SCRAM credential|Dynamic|All|Default) )?[Cc]onfigs for [^\n]* are\b",
            re.M,
        ),
    ),
)


class Recognition:
    """The documents of each format, the signs of the formats, and the names of files without a sign."""

    def __init__(self, files: SourceFiles) -> None:
        """Look into every file."""
        self.parts: dict[str, dict[str, list[Tree] | None]] = {}
        self.signs: dict[str, Sign] = {}
        #: Documents without a sign, in files that have been read whole.
        self.documents: list[Tree] = []
        #: Files without a sign, each with what kept it from being read, ``None`` if nothing did.
        self.others: dict[str, str | None] = {}
        self._beside: list[tuple[str, str, Tree, str]] = []
        for name in files.names:
            self._file(files, name)
        for source_format, name, tree, words in self._beside:
            if source_format in self.parts:
                self._add(source_format, name, tree, words)
            else:
                self.documents.append(tree)

    def _file(self, files: SourceFiles, name: str) -> None:
        try:
            text = files.text(name)
        except SourceError as error:
            self.others[name] = str(error).partition(": ")[2]
            return
        sign = None if name.lower().endswith((*YAML, *JSON)) else _text_sign(name, text)
        table = sign is None and table_columns(text) is not None
        if sign is not None or table:
            source_format, words, line = sign or ("redpanda", "the headings of rpk", 1)
            self.parts.setdefault(source_format, {})[name] = None
            self.signs.setdefault(source_format, Sign(source_format, words, f"{name}:{line}"))
        elif name.lower().endswith((*YAML, *JSON)) or name == STDIN or text.lstrip()[:1] in ("{", "["):
            self._documents(files, name)
        else:
            self.others[name] = None

    def _documents(self, files: SourceFiles, name: str) -> None:
        try:
            trees = files.trees(name)
        except SourceError as error:
            # A template is mostly no YAML either, and that it is one says more.
            self.others[name] = _template_in(files, name) or str(error).partition(": ")[2]
            return
        template = _template_in(files, name)
        for tree in trees:
            sign = tree_sign(tree)
            if sign is None:
                self.documents.append(tree)
                continue
            source_format, words = sign
            named = source_format.removesuffix(_BESIDE)
            if template is not None and named not in _WITH_BRACES:
                self.others[name] = template
            elif named != source_format:
                self._beside.append((named, name, tree, words))
            else:
                self._add(source_format, name, tree, words)

    def _add(self, source_format: str, name: str, tree: Tree, words: str) -> None:
        held = self.parts.setdefault(source_format, {}).setdefault(name, [])
        if held is not None:
            held.append(tree)
        self.signs.setdefault(source_format, Sign(source_format, words, tree.where.rstrip(":")))


def _template_in(files: SourceFiles, name: str) -> str | None:
    try:
        files.refuse_template(name)
    except SourceError as error:
        return str(error).partition(": ")[2]
    return None


def _text_sign(name: str, text: str) -> tuple[str, str, int] | None:
    """Format, words and line of the first sign in a text that is no YAML or JSON."""
    first = text.lstrip("\n").partition("\n")[0]
    if is_heading(first):
        return "kafka-security-manager", f"the heading {first.strip()[:40]}", 1
    if name.lower().endswith(".tf"):
        return "terraform", "a file", 1
    signs = [(match.start(), form, match) for form, pattern in _LISTS if (match := pattern.search(text))]
    is_script = first.startswith("#!") or name.lower().endswith(_SCRIPTS)
    call = CALL.search(text)
    if is_script and call is not None:
        return "kafka-acls-script", f"a call of {call[0].partition(' ')[0]}", text.count("\n", 0, call.start()) + 1
    if signs:
        start, form, match = min(signs)
        return form, f"{match[0].strip()[:40]!r}", text.count("\n", 0, start) + 1
    if name.lower().endswith((".txt", "-")) and re.match(r"(?:sudo |docker exec |kubectl exec )?\S*kafka-\w+", first):
        return ("kafka-acls-script", f"a call of {first.split()[0]}", 1) if call is not None else None
    return None


def tree_sign(tree: Tree) -> tuple[str, str] | None:
    """The format of a YAML or JSON document, and what tells it; ``None`` without a sign. Marks nothing as read."""
    try:
        return next(filter(None, (sign(tree) for sign in _SIGNS)), None)
    except SourceError:
        return None


def _plain(tree: Tree) -> Mapping[str, Tree]:
    return tree.value if isinstance(tree.value, Mapping) else {}


def _items(tree: Tree) -> Sequence[Tree]:
    return () if isinstance(tree.value, str | Mapping) or tree.value is None else tree.value


def _word(tree: Tree, *path: str) -> str:
    """The text at the end of a path, empty if there is none; unlike :meth:`Tree.text` it marks nothing as read."""
    for key in path:
        tree = _plain(tree).get(key, Tree(tree.where, None))
    return tree.value if isinstance(tree.value, str) else ""


def _below(tree: Tree, *path: str) -> Tree:
    for key in path:
        tree = _plain(tree).get(key, Tree(tree.where, None))
    return tree


def _resource(tree: Tree) -> tuple[str, str] | None:
    """A resource of Kubernetes or jikkou, or a list of them."""
    kind, items = _word(tree, "kind"), _items(_below(tree, "items"))
    if not kind:
        return None
    return next(filter(None, map(_resource, items)), None) or _group(tree, kind)


def _group(tree: Tree, kind: str) -> tuple[str, str] | None:
    group = _word(tree, "apiVersion").partition("/")[0]
    for end, source_format in _GROUPS.items():
        if group == end or group.endswith(f".{end}"):
            own = _OWN_KINDS.get(source_format)
            is_own = own is None or kind in own or kind.removesuffix("List") in own
            return (source_format if is_own else f"{source_format}{_BESIDE}"), f"{group} {kind}"
    return None


def _calls(tree: Tree) -> tuple[str, str] | None:
    kind = _word(tree, "kind") or "document"
    return ("kafka-acls-script", f"a {kind} that calls Kafka's tools") if calls_tools(tree) else None


def _kdef(tree: Tree) -> tuple[str, str] | None:
    kind = _word(tree, "kind")
    is_definition = kind in ("acl", "topic", "broker", "brokers") and _word(tree, "metadata", "name")
    return ("kdef", f"a definition of kind {kind}") if is_definition and _plain(_below(tree, "spec")) else None


def _topicctl(tree: Tree) -> tuple[str, str] | None:
    fields = _plain(tree).keys()
    names_cluster = {"meta", "spec"} <= fields and (
        _word(tree, "meta", "cluster") or _below(tree, "spec", "bootstrapAddrs").value
    )
    return ("topicctl", "meta.cluster") if names_cluster and "kind" not in fields else None


def _kafka_gitops(tree: Tree) -> tuple[str, str] | None:
    fields = _plain(tree)
    for name in ("customServiceAcls", "customUserAcls"):
        if name in fields:
            return "kafka-gitops", name
    for path in (("settings", "ccloud"), ("settings", "topics"), ("settings", "services"), ("settings", "files")):
        if _below(tree, *path).value is not None and fields.keys() & {"topics", "services", "users"}:
            return "kafka-gitops", ".".join(path)
    for name, service in _plain(_below(tree, "services")).items():
        if _word(service, "type") in _SERVICES:
            return "kafka-gitops", f"the service {name} of type {_word(service, 'type')}"
    if fields.keys() <= {"topics", "services", "users"}:
        for name, topic in _plain(_below(tree, "topics")).items():
            if "partitions" in _plain(topic):
                return "kafka-gitops", f"the topic {name}"
        for name, user in _plain(_below(tree, "users")).items():
            if _word(user, "principal"):
                return f"kafka-gitops{_BESIDE}", f"the user {name}"
    return None


def _julie(tree: Tree) -> tuple[str, str] | None:
    fields = _plain(tree).keys()
    if {"context", "projects"} <= fields or ("context" in fields and "platform" in fields):
        return "julie", "context and projects"
    plans = _plain(_below(tree, "plans")) and fields == {"plans"}
    roles = any("acls" in _plain(role) for role in _items(_below(tree, "roles"))) and fields == {"roles"}
    return (f"julie{_BESIDE}", "plans or roles") if plans or roles else None


def _terraform(tree: Tree) -> tuple[str, str] | None:
    fields = _plain(tree).keys()
    state = _word(tree, "version") == "4" and {"resources", "terraform_version"} & fields
    shown = "format_version" in fields and {"values", "planned_values"} & fields
    return ("terraform", "a state or a plan") if state or shown else None


def _confluent(tree: Tree) -> tuple[str, str] | None:
    kind = _word(tree, "kind")
    if kind in ("KafkaAclList", "KafkaTopicList", "KafkaTopicConfigList", "KafkaAcl", "KafkaTopic", "KafkaTopicConfig"):
        return ("confluent", kind) if "metadata" in _plain(tree) and "spec" not in _plain(tree) else None
    first = next(iter(_items(tree)), Tree(tree.where, None))
    return ("confluent", "a list of ACLs") if _plain(first).keys() >= _ACL_FIELDS else None


def _redpanda(tree: Tree) -> tuple[str, str] | None:
    first = next(iter(_items(_below(tree, "matches"))), Tree(tree.where, None))
    return ("redpanda", "matches of rpk") if _plain(first).keys() >= _ACL_FIELDS - {"permission"} else None


def _reassignment(tree: Tree) -> tuple[str, str] | None:
    first = next(iter(_items(_below(tree, "partitions"))), Tree(tree.where, None))
    return ("kafka-describe", "a reassignment") if {"topic", "partition", "replicas"} <= _plain(first).keys() else None


def _ansible(tree: Tree) -> tuple[str, str] | None:
    """A play, tasks, or variables that hold entries of the modules."""
    module = next((key for key in tree.all_keys() if _ANSIBLE_MODULE.fullmatch(key)), None)
    if module is not None and _word(tree, "kind") == "":
        return "ansible", f"the module {module}"
    return ("ansible", "acl_principal") if "acl_principal" in set(tree.all_keys()) else None


_SIGNS: Final[Sequence[Callable[[Tree], tuple[str, str] | None]]] = (
    _confluent,
    _kdef,
    _resource,
    _topicctl,
    _kafka_gitops,
    _julie,
    _terraform,
    _redpanda,
    _reassignment,
    _ansible,
    _calls,
)


# Convert a directory: in one format, or in each that is recognised; nothing in it passes unnamed.

#: So many files without a sign are named one by one.
_NAMED: Final = 5
_PROSE: Final = (".md", ".rst", ".adoc", ".html")
_CALLS: Final = (
    "it calls Kafka's tools, and this is not read here: convert the calls as a script, from a file of its own"
)
_SHOWN: Final = "a text for people: the calls of Kafka's tools that it shows are not read"
_NO_SIGN: Final = "no sign of a format that is known"
#: Endings of files that hold data; programs and tests name principals, too.
_DATA: Final = (".csv", ".tsv", ".txt", ".list", ".acl", ".acls", ".conf", ".properties", ".toml", ".ini", ".xml")
#: Words without which a file that cannot be read is no business of a converter.
_ABOUT_KAFKA: Final = ("kafka", "acl", "topic", "principal")


def convert(source_format: str, files: SourceFiles) -> ConversionResult:
    """Convert ``files`` of that format, or of every format that is recognised.

    Raises :class:`SourceError` if they cannot be read.
    """
    conversion = Conversion()
    if source_format == AUTO:
        _convert_recognised(files, conversion)
        conversion.name_nothing(f"one of {recognised_formats()}")
    else:
        reader(source_format)(files, conversion)
        for tree in files.parsed():
            conversion.name_leftovers(tree)
        _name_unread(source_format, files, conversion)
        conversion.name_nothing(source_format)
    return conversion.result()


def _convert_recognised(files: SourceFiles, conversion: Conversion) -> None:
    recognition = Recognition(files)
    formats = [name for name in FORMATS if name in recognition.parts]
    if files.cluster is not None and formats and not set(formats) & set(OF_CLUSTERS):
        raise SourceError(f"{' and '.join(formats)} speaks of one cluster: --source-cluster says nothing")
    if files.settings and formats and "julie" not in formats:
        raise SourceError(f"--config is for julie, and the files are recognised as {' and '.join(formats)}")
    conversion.add_signs(recognition.signs[name] for name in formats)
    read = set[str]()
    for source_format in formats:
        part = files.part(recognition.parts[source_format])
        reader(source_format)(part, conversion)
        for tree in part.parsed():
            conversion.name_leftovers(tree)
        # A reader may have followed a name to a file that has no sign of its own.
        read |= part.read() - set(part.names)
    for tree in recognition.documents:
        if tree.where.partition(":")[0] not in read:
            _name_document(tree, conversion)
    _name_others({name: why for name, why in recognition.others.items() if name not in read}, files, conversion)


def _name_unread(source_format: str, files: SourceFiles, conversion: Conversion) -> None:
    """Remarks on the files that the reader of one format passed by."""
    unread = files.unread()
    if not unread:
        return
    recognition = Recognition(files.part(dict.fromkeys(unread)))
    for other, part in recognition.parts.items():
        for name in part:
            if other == source_format:
                conversion.add_unmanaged(name, "a file", f"{source_format} is read from other files here")
            else:
                conversion.skip(
                    name, "a file", f"{recognition.signs[other]}: convert it with --from {other}, or --from auto"
                )
    for tree in recognition.documents:
        _name_document(tree, conversion)
    _name_others(recognition.others, files, conversion)


def _name_document(tree: Tree, conversion: Conversion) -> None:
    """A remark on a document without a sign."""
    named = tree.is_mapping()
    kind = (tree.text("kind") if named else None) or "a document"
    version = (tree.text("apiVersion") if named else None) or ""
    add_foreign(conversion, tree, f"{version} {kind}", kind, unmanaged=_NO_SIGN)


def _name_others(others: dict[str, str | None], files: SourceFiles, conversion: Conversion) -> None:
    plain = []
    for name, reason in others.items():
        text = _text(files, name)
        if name.lower().endswith(_PROSE) and reason is None:
            if CALL.search(text):
                conversion.add_unmanaged(name, "a file", _SHOWN)
            else:
                plain.append(name)
        elif CALL.search(text):
            conversion.skip(name, "a file", reason or _CALLS)
        elif reason is None and name.lower().endswith(_DATA) and PRINCIPAL.search(text):
            conversion.skip(name, "a file", PRINCIPALS)
        elif reason is not None and any(word in text.lower() for word in _ABOUT_KAFKA):
            conversion.skip(name, "a file", reason)
        else:
            plain.append(name)
    if plain:
        subject = "a file" if len(plain) == 1 else f"{len(plain):,} files"
        conversion.add_unmanaged(first_of(plain, _NAMED), subject, _NO_SIGN)


def _text(files: SourceFiles, name: str) -> str:
    """The text of a file; empty if it is none, such as an image."""
    try:
        return files.text(name)
    except SourceError:
        return ""
