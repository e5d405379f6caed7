"""Ansible: tasks with the modules of ansible-kafka-admin (StephenSorriaux/ansible-kafka-admin, 369f7f9).

Playbooks are read and not run: variables that one place sets and loops over lists that are written out are followed,
and everything else that only Ansible knows is named. Other tasks decide nothing here.

Sources: ``module_acl_commons``, ``module_topic_commons``, ``module_user_spec_commons``, ``kafka_quotas``,
``kafka_scram``, whose iterations are 4096.
"""

import re
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from typing import Final

from reconciler.model.kinds.quota import QuotaEntity
from reconciler.parts.convert.conversion import Conversion, Resource
from reconciler.parts.convert.files import SourceError, SourceFiles, Tree
from reconciler.parts.convert.shell import calls_elsewhere

_MODULE: Final = re.compile(r"(?:[\w.]+\.)?kafka_(acl|acls|topic|topics|quotas|user|users|lib)")
_VARIABLE: Final = re.compile(r"\{\{\s*(\w+)((?:\.\w+)*)\s*\}\}")
_TEMPLATE: Final = re.compile(r"\{\{|\{%")
#: How the modules log in and wait, and whether they delete what they do not list.
_CONNECTION: Final = re.compile(
    r"bootstrap_servers|api_version|security_protocol|(?:ssl|sasl|zookeeper|kafka)_\w+|zookeeper|request_timeout_ms"
    r"|connections_max_idle_ms|mark_others_as_absent|ignore_topics|preserve_topics"
)
_ITERATIONS: Final = "4096"
_LOOPS: Final = ("loop", "with_items", "with_list")
_OTHER_LOOPS: Final = re.compile(r"with_\w+|loop")
#: Parts of a playbook that run on some occasion only.
_OCCASIONS: Final = ("handlers", "rescue", "always")
#: The nesting of blocks and plays; deeper than anybody writes.
_DEEPEST: Final = 50

_WHEN: Final = "it runs on a condition, which only Ansible decides"
_OCCASION: Final = "it stands in {}, which runs on some occasion only"
_NEVER: Final = "it has the tag never: it runs only when somebody asks for it"
_CHECK: Final = "it runs in check mode, which changes nothing"
_UNKNOWN: Final = "it holds {}, which only Ansible knows"
_LOOP: Final = "it loops over something that only Ansible knows"
_GONE: Final = "it is to be removed: no manifest declares it"
_UNUSED: Final = (
    "no task here takes this list, or more than one place sets it: add the tasks, or leave one of the places"
)
_CALL: Final = "it calls Kafka's tools: convert the calls as a script, from a file of its own"
_Add = Callable[[Tree, Conversion], None]


def read_ansible(files: SourceFiles, conversion: Conversion) -> None:
    """Every task of every file, with the variables of all of them."""
    trees = [tree for name in files.ending(".yaml", ".yml") for tree in _parsed(files, name, conversion)]
    for tree in trees:
        tree.ignore()
    playbook = _Playbook(trees, conversion)
    for tree in trees:
        playbook.read(tree, None, 0)
    for tree in trees:
        for where, text in calls_elsewhere(tree):
            conversion.skip(where, " ".join(text.split())[:80], _CALL)
    playbook.name_unused()


def _parsed(files: SourceFiles, name: str, conversion: Conversion) -> list[Tree]:
    """The documents; ``{{ … }}`` belongs to Ansible's own language."""
    try:
        return files.trees(name)
    except SourceError as error:
        if len(files.names) == 1:
            raise
        where, _, reason = str(error).partition(": ")
        conversion.skip(where, "a file", reason)
        return []


class _Playbook:
    """The tasks of all files, and what variables they can take."""

    def __init__(self, trees: Sequence[Tree], conversion: Conversion) -> None:
        self._conversion = conversion
        self._variables: dict[str, list[Tree]] = defaultdict(list)
        self._taken: set[int] = set()
        for tree in trees:
            self._collect(tree)

    def _collect(self, tree: Tree) -> None:
        """Variables of a file of variables, and of the plays of a playbook."""
        if isinstance(tree.value, Mapping):
            for name, value in tree.value.items():
                self._variables[name].append(value)
        elif tree.value is not None and not isinstance(tree.value, str):
            for play in tree.value:
                for name, value in _fields(_fields(play).get("vars")).items():
                    self._variables[name].append(value)

    def read(self, tree: Tree, doubt: str | None, depth: int) -> None:
        """Convert every task below, with the doubts of what it stands in."""
        if depth > _DEEPEST or tree.value is None or isinstance(tree.value, str):
            return
        if not isinstance(tree.value, Mapping):
            for item in tree.value:
                self.read(item, doubt, depth + 1)
            return
        doubt = doubt or _doubt(tree)
        for name, value in tree.value.items():
            module = _MODULE.fullmatch(name)
            if module is not None and isinstance(value.value, Mapping):
                self._task(module[1], tree, value, doubt)
            elif name != "vars":
                self.read(value, doubt or (_OCCASION.format(name) if name in _OCCASIONS else None), depth + 1)

    def _task(self, module: str, task: Tree, parameters: Tree, doubt: str | None) -> None:
        subject = f"a task with kafka_{module}"
        if doubt is not None:
            self._conversion.skip(parameters.where, subject, doubt)
            return
        own = {name: [value] for name, value in _fields(_fields(task).get("vars")).items()}
        scope = {**self._variables, **own}
        items = self._items(task, scope)
        if items is None:
            self._conversion.skip(parameters.where, subject, _LOOP)
            return
        for item in items:
            filled = self._filled(parameters, {**scope, **({} if item is None else {"item": [item]})}, 0)
            self._module(module, filled)

    def _items(self, task: Tree, scope: Mapping[str, list[Tree]]) -> Sequence[Tree | None] | None:
        """What a task loops over, ``None`` in it without a loop; ``None`` if only Ansible knows."""
        loops = [name for name in _fields(task) if _OTHER_LOOPS.fullmatch(name)]
        if not loops:
            return [None]
        values = self._filled(_fields(task)[loops[0]], scope, 0).value
        if loops[0] not in _LOOPS or "loop_control" in _fields(task) or values is None:
            return None
        return None if isinstance(values, str | Mapping) else list(values)

    def _filled(self, tree: Tree, scope: Mapping[str, list[Tree]], depth: int) -> Tree:
        """A copy with the variables that one place sets; others stay as they are written."""
        if depth > _DEEPEST:
            raise SourceError(f"{tree.where}: the nesting is too deep")
        if isinstance(tree.value, str):
            whole = _VARIABLE.fullmatch(tree.value.strip())
            if whole is not None and (variable := self._variable(whole, scope)) is not None:
                return self._filled(variable, scope, depth + 1)
            return Tree(tree.where, _VARIABLE.sub(lambda match: self._text(match, scope), tree.value))
        if isinstance(tree.value, Mapping):
            fields = {name: self._filled(value, scope, depth + 1) for name, value in tree.value.items()}
            return Tree(tree.where, fields, set())
        if tree.value is None:
            return tree
        return Tree(tree.where, tuple(self._filled(item, scope, depth + 1) for item in tree.value), set())

    def _variable(self, match: re.Match[str], scope: Mapping[str, list[Tree]]) -> Tree | None:
        values = scope.get(match[1], [])
        if len(values) != 1:
            return None
        node: Tree | None = values[0]
        self._taken.add(id(values[0].value))
        for key in filter(None, match[2].split(".")):
            node = _fields(node).get(key)
        return node

    def _text(self, match: re.Match[str], scope: Mapping[str, list[Tree]]) -> str:
        node = self._variable(match, scope)
        is_plain = node is not None and isinstance(node.value, str) and not _TEMPLATE.search(node.value)
        return str(node.value) if is_plain and node is not None else match[0]

    def _module(self, module: str, parameters: Tree) -> None:
        for name in filter(_CONNECTION.fullmatch, parameters.names()):
            parameters.ignore(name)
        if module == "lib":
            module = parameters.text("resource") or ""
        if module in _LISTS:
            field, add = _LISTS[module]
            entries = parameters.get(field)
            if isinstance(entries.value, str):
                self._conversion.skip(
                    parameters.where, f"{field} of kafka_{module}", _UNKNOWN.format(entries.value[:60])
                )
            for entry in entries.items() if not isinstance(entries.value, str) else ():
                self._entry(entry, add)
            self._conversion.name_leftovers(parameters)
        elif module in _SINGLE:
            self._entry(parameters, _SINGLE[module])
        else:
            self._conversion.skip(parameters, f"kafka_lib for {module!r}", "this resource is not read")

    def _entry(self, entry: Tree, add: _Add) -> None:
        if not entry.is_mapping():
            self._conversion.skip(entry.where, "an entry", _UNKNOWN.format(str(entry.value)[:60]))
            return
        fields = {name: value for name, value in entry.fields().items() if not _CONNECTION.fullmatch(name)}
        entry = Tree(entry.where, fields, set())
        deciding = (value for name, value in fields.items() if name != "password")
        unknown = next((text for value in deciding for text in value.all_texts() if _TEMPLATE.search(text)), None)
        if unknown is not None:
            self._conversion.skip(
                entry, fields["name"].text() or "" if "name" in fields else "an entry", _UNKNOWN.format(unknown[:60])
            )
            return
        entry.ignore("resource", "password")
        add(entry, self._conversion)
        self._conversion.name_leftovers(entry)

    def name_unused(self) -> None:
        """Remarks on lists of ACLs in variables that no task takes."""
        for name, values in self._variables.items():
            for value in values:
                held = not isinstance(value.value, str | None) and "acl_principal" in set(value.all_keys())
                if held and id(value.value) not in self._taken:
                    self._conversion.skip(value.where, f"the variable {name}", _UNUSED)


def _fields(tree: Tree | None) -> Mapping[str, Tree]:
    """The fields of a mapping; none counts as read."""
    return tree.value if tree is not None and isinstance(tree.value, Mapping) else {}


def _doubt(task: Tree) -> str | None:
    """Why a task, a block or a play may not run."""
    fields = _fields(task)
    if "when" in fields:
        return _WHEN
    tags = fields["tags"].value if "tags" in fields else None
    texts = [tags] if isinstance(tags, str) else [item.value for item in tags or () if isinstance(item, Tree)]
    if "never" in texts:
        return _NEVER
    return _CHECK if "check_mode" in fields and fields["check_mode"].value not in ("no", "false", "False") else None


def _acl(entry: Tree, conversion: Conversion) -> None:
    kind = entry.text("acl_resource_type") or "topic"
    operations = entry.texts("acl_operations") if "acl_operations" in entry.names() else []
    operations = [text] if (text := entry.text("acl_operation")) is not None else operations
    principal, name = entry.text("acl_principal") or "", entry.text("name") or ""
    resource = Resource("cluster" if kind == "broker" else kind, name, entry.text("acl_pattern_type") or "literal")
    permission, host = entry.text_or("allow", "acl_permission"), entry.text_or("*", "acl_host")
    if entry.text("state") == "absent":
        conversion.add_unmanaged(entry, f"{principal} on {kind} {name}", _GONE)
        return
    conversion.add_binding(principal, resource, operations, entry.where, permission=permission, host=host)
    if not operations:
        conversion.skip(entry, f"an ACL of {principal}", "it has no operation")


def _topic(entry: Tree, conversion: Conversion) -> None:
    name = entry.text("name") or ""
    if entry.text("state") == "absent":
        entry.ignore("partitions", "replica_factor", "options")
        conversion.add_absent_topic(name, entry.where)
        return
    # Zero says nothing of a count.
    counts = [None if (text := entry.text(field)) == "0" else text for field in ("partitions", "replica_factor")]
    conversion.add_topic(name, counts[0], counts[1], entry.settings("options"), entry.where)


def _user(entry: Tree, conversion: Conversion) -> None:
    name, mechanism = entry.text("name") or "", entry.text("mechanism") or "SCRAM-SHA-512"
    iterations = entry.text("iterations") or _ITERATIONS
    if entry.text("state") == "absent":
        # Only one mechanism goes, which the user may not be left without.
        conversion.add_unmanaged(entry, f"{mechanism} of SCRAM user {name}", _GONE)
    else:
        conversion.add_user(name, mechanism, iterations, entry.where)


def _quota(entry: Tree, conversion: Conversion) -> None:
    entity = entry.get("entity")
    user, client = entity.text("user"), entity.text("client")
    if user is None and client is None:
        conversion.skip(entry, "a quota", "its entity has neither a user nor a client")
        return
    conversion.add_quota(QuotaEntity.of(user, client), entry.settings("quotas"), entry.where)


_SINGLE: Final[Mapping[str, _Add]] = {"acl": _acl, "topic": _topic, "user": _user}
_LISTS: Final[Mapping[str, tuple[str, _Add]]] = {
    "acls": ("acls", _acl),
    "topics": ("topics", _topic),
    "users": ("users", _user),
    "quotas": ("entries", _quota),
}
