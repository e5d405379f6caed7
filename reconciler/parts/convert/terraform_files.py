"""Terraform's own files (``.tf``) where no state is at hand: what they say in so many words.

Each directory that no other one uses as a module is a root module. Its resources are told as far as literals, locals,
variables with a default or in ``terraform.tfvars``, attributes of other resources, ``for_each``, ``count`` and modules
by a relative path decide them. What needs more is named, never guessed. Needs the extra ``terraform`` (python-hcl2).
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import field
from posixpath import normpath
from typing import Any, Final, NamedTuple

from reconciler.dataclass import dataclass
from reconciler.parts.convert.conversion import Conversion
from reconciler.parts.convert.files import SourceError, SourceFiles, Tree
from reconciler.parts.convert.terraform_values import (
    EvaluationScope,
    Evaluator,
    NotPlainError,
    Set,
    Within,
    as_set,
    text_of,
)

# The directories of ``.tf`` files: their blocks with labels and places, and which directory uses which as a module.
#
# Nothing is evaluated here: values are what the parser gives. Needs the extra ``terraform`` (python-hcl2).

_EXTRA: Final = "files of Terraform need python-hcl2: pip install './reconciler[terraform]', or pass a state"
_RELATIVE: Final = ("./", "../")


@dataclass(frozen=True, slots=True)
class TerraformBlock:
    """A block with its labels, and where it stands."""

    labels: tuple[str, ...]
    body: Mapping[str, Any]
    where: str


@dataclass(frozen=True, slots=True)
class TerraformDirectory:
    """The files of one directory: a module."""

    path: str
    locals: Mapping[str, Any]
    blocks: Mapping[str, Sequence[TerraformBlock]]

    def named(self, kind: str, *labels: str) -> TerraformBlock | None:
        """The block of that kind with these labels."""
        return next((block for block in self.blocks.get(kind, ()) if block.labels == labels), None)


def module_source(directory: TerraformDirectory, call: TerraformBlock) -> str | None:
    """The directory of a module with a relative path."""
    text = str(call.body.get("source", "")).strip('"')
    return normpath(f"{directory.path or '.'}/{text}") if text.startswith(_RELATIVE) else None


def read_directory(path: str, names: Sequence[str], files: SourceFiles) -> TerraformDirectory:
    """The blocks and locals of the files of one directory; raises :class:`SourceError`."""
    of: dict[str, Any] = {}
    blocks: dict[str, list[TerraformBlock]] = {}
    for name in names:
        text = files.text(name)
        parsed = parsed_file(name, text)
        for block in parsed.get("locals", ()):
            of |= block
        for kind in ("resource", "module", "variable", "output"):
            for labels, body in _labelled(parsed.get(kind, ()), 2 if kind == "resource" else 1):
                blocks.setdefault(kind, []).append(TerraformBlock(labels, body, f"{name}:{_line(text, kind, *labels)}"))
    return TerraformDirectory(path, of, blocks)


def _labelled(blocks: Any, labels: int) -> Iterator[tuple[tuple[str, ...], Mapping[str, Any]]]:
    """The blocks with so many labels, with their labels."""
    for block in blocks:
        for label, inner in block.items():
            if not isinstance(inner, Mapping) or label.startswith("__"):
                continue
            if labels == 1:
                yield (label.strip('"'),), inner
            else:
                yield from (((label.strip('"'), *more), body) for more, body in _labelled((inner,), labels - 1))


def parsed_file(name: str, text: str) -> Mapping[str, Any]:
    """What the parser gives for one file; raises :class:`SourceError` with the name of the file."""
    try:
        import hcl2  # noqa: PLC0415 - an extra, for sources without a state only
    except ImportError as error:
        raise SourceError(f"{name}: {_EXTRA}") from error
    try:
        options = hcl2.SerializationOptions(with_comments=False)
        parsed: Mapping[str, Any] = hcl2.loads(text + "\n", serialization_options=options)
    except RecursionError:
        raise SourceError(f"{name}: the nesting is too deep") from None
    except Exception as error:
        # The parser has no class of its own for what it refuses.
        reason = str(error).partition("\n")[0]
        raise SourceError(f"{name}: this is not Terraform's language: {reason}") from error
    return parsed


def _line(text: str, *words: str) -> int:
    """The line where a block begins; the parser does not tell it."""
    pattern = r"\s+".join(f'"?{re.escape(word)}"?' for word in words)
    match = re.search(rf"^[ \t]*{pattern}\s*\{{", text, re.M)
    return text.count("\n", 0, match.start()) + 1 if match else 1


#: Of Terraform itself, about how it treats a resource.
#: Of a user: never looked at, let alone copied, and mostly not to be told from the files.
SECRETS: Final = frozenset(("password", "password_wo", "password_wo_version"))
_META: Final = frozenset(("provider", "depends_on", "lifecycle", "provisioner", "connection", "for_each", "count"))
#: Of a module call: not a variable of the module.
_CALL: Final = frozenset(("source", "version", "providers", "depends_on", "for_each", "count"))
_EVALUATES: Final = "only Terraform evaluates this: convert what `terraform show -json` prints of its state or plan"
_OUTSIDE: Final = "its source is not below the given directory: pass the directory that holds both, or a state"
_DEFAULT: Final = "its default is taken: -var, -var-file and TF_VAR_{} can set another value"
_MANY: Final = frozenset(("count", "for_each"))
#: Modules inside of modules.
_DEEPEST: Final = 20


class ResourceInstance(NamedTuple):
    """One instance of a resource, its attributes, and its provider: the alias, then which configuration made it."""

    kind: str
    address: str
    attributes: Tree
    provider: str
    planned: bool = False


@dataclass(slots=True)
class _FileReading:
    """All directories, the values in files of variables by the name of the file, and what was noticed.

    ``decides``: whether an attribute, by the kind of its resource and its name, decides what is converted. Of any other
    the text is enough.
    """

    directories: Mapping[str, TerraformDirectory]
    settings: Mapping[str, Mapping[str, Any]]
    decides: Callable[[str, str], bool]
    evaluator: Evaluator = field(default_factory=Evaluator)
    defaults: dict[tuple[str, str], None] = field(default_factory=dict)

    def sources(self) -> set[str]:
        """The directories that others use as modules."""
        calls = [
            (directory, block)
            for directory in self.directories.values()
            for block in directory.blocks.get("module", ())
        ]
        return {path for directory, block in calls if (path := module_source(directory, block)) is not None}


@dataclass(slots=True)
class _Module(EvaluationScope):
    """One use of a directory; ``given`` are the arguments of its caller, evaluated where they are used, if it has one.

    ``where`` is the place of the outermost call, where a person would look for its resources; empty in a root module.
    ``providers`` are the caller's names of providers, by those that the directory uses.
    """

    directory: TerraformDirectory
    reading: _FileReading
    address: str = ""
    given: Mapping[str, tuple[Any, EvaluationScope]] | None = None
    providers: Mapping[str, str] = field(default_factory=dict)
    where: str = ""
    depth: int = 0
    values: dict[tuple[Any, ...], Any] = field(default_factory=dict)

    def value_of(self, steps: Sequence[Any]) -> tuple[Any, int]:
        """A local, a variable, or an attribute of a resource; see :class:`EvaluationScope`."""
        if len(steps) > 1 and steps[0] in ("local", "var"):
            return self._once((steps[0], steps[1])), 2
        of_module = steps[0] == "module"
        block = self.directory.named(*map(str, steps[:2]) if of_module else ("resource", *map(str, steps[:2])))
        many = block is not None and not _MANY.isdisjoint(block.body)
        end = 4 if many else 3
        if block is None or len(steps) < end:
            raise NotPlainError(".".join(map(str, steps)))
        scope = dict(self.instances(block)).get(steps[2] if many else None)
        body, attribute = block.body, steps[end - 1]
        if of_module and scope is not None:
            scope = self._used(block, "", scope)
            output = scope.directory.named("output", str(attribute))
            body, attribute = output.body if output else {}, "value"
        if scope is None or attribute not in body:
            raise NotPlainError(".".join(map(str, steps)))
        return self.reading.evaluator.value(body[attribute], scope), end

    def _once(self, name: tuple[str, Any]) -> Any:
        if name not in self.values:
            # Found again while it is evaluated, it refers to itself.
            self.values[name] = NotPlainError(".".join(map(str, name)))
            try:
                self.values[name] = self._local(name[1]) if name[0] == "local" else self._variable(str(name[1]))
            except NotPlainError as error:
                self.values[name] = error
        value = self.values[name]
        if isinstance(value, NotPlainError):
            raise value
        return value

    def _local(self, name: str) -> Any:
        if name not in self.directory.locals:
            raise NotPlainError(f"local.{name}")
        return self.reading.evaluator.value(self.directory.locals[name], self)

    def _variable(self, name: str) -> Any:
        block = self.directory.named("variable", name)
        if block is None:
            raise NotPlainError(f"var.{name}")
        kind = str(block.body.get("type", ""))
        if "optional(" in kind:
            raise NotPlainError(f"var.{name} of {kind}")
        value = self._given(name, block)
        return as_set(value) if kind.startswith("${set(string)") else value

    def _given(self, name: str, block: TerraformBlock) -> Any:
        if self.given is not None and name in self.given:
            return self.reading.evaluator.value(*self.given[name])
        if self.given is None:
            # Terraform takes these without being told; which of the others it takes, only the command line says.
            of = self.reading.settings.items()
            mine = {file: values[name] for file, values in of if name in values}
            taken = [file for file in mine if self._is_automatic(file)]
            if len(taken) < len(mine) or len(taken) > 1:
                raise NotPlainError(f"var.{name}, which {' and '.join(sorted(mine))} can set")
            if taken:
                return self.reading.evaluator.value(mine[taken[0]], self)
        if "default" not in block.body:
            raise NotPlainError(f"var.{name}")
        if self.given is None:
            self.reading.defaults[block.where, name] = None
        return self.reading.evaluator.value(block.body["default"], self)

    def _is_automatic(self, file: str) -> bool:
        path, _, name = file.rpartition("/")
        return path == self.directory.path and (name == "terraform.tfvars" or name.endswith(".auto.tfvars"))

    def instances(self, block: TerraformBlock) -> Iterator[tuple[Any, EvaluationScope]]:
        """Each key of a resource or module with what its expressions can refer to; ``None`` is the key of one alone."""
        evaluator = self.reading.evaluator
        if "for_each" in block.body:
            over = evaluator.value(block.body["for_each"], self)
            if isinstance(over, Mapping):
                pairs = list(over.items())
            elif isinstance(over, Set):
                pairs = [(key, key) for key in over]
            else:
                raise NotPlainError("for_each")
            yield from ((key, Within(self, {"each": {"key": key, "value": value}})) for key, value in pairs)
        elif "count" in block.body:
            count = evaluator.value(block.body["count"], self)
            if not isinstance(count, int) or isinstance(count, bool):
                raise NotPlainError("count")
            yield from ((index, Within(self, {"count": {"index": index}})) for index in range(count))
        else:
            yield None, self

    def resources(self, conversion: Conversion) -> Iterator[ResourceInstance]:
        """Every resource here and in the modules that it uses; a remark on each that cannot be told."""
        for block in self.directory.blocks.get("module", ()):
            subject = f"{self.address}module.{block.labels[0]}"
            try:
                for key, scope in self.instances(block):
                    yield from self._used(block, _addressed(subject, key), scope).resources(conversion)
            except NotPlainError as error:
                reason = str(error)
                conversion.skip(block.where, subject, reason if reason == _OUTSIDE else f"{reason}: {_EVALUATES}")
        for block in self.directory.blocks.get("resource", ()):
            kind, label = block.labels
            subject = f"{self.address}{kind}.{label}"
            try:
                yield from [*self._written(block, subject)]
            except NotPlainError as error:
                conversion.skip(block.where, subject, f"{error}: {_EVALUATES}")

    def _used(self, block: TerraformBlock, address: str, scope: EvaluationScope) -> "_Module":
        path = module_source(self.directory, block)
        if path is None or self.depth > _DEEPEST:
            raise NotPlainError("a module")
        directory = self.reading.directories.get("" if path == "." else path)
        if directory is None:
            raise NotPlainError(_OUTSIDE)
        given = {name: (value, scope) for name, value in block.body.items() if name not in _CALL}
        providers = {
            name: self._provider(str(text).strip("${}")) for name, text in block.body.get("providers", {}).items()
        }
        return _Module(
            directory, self.reading, f"{address}.", given, providers, self.where or block.where, self.depth + 1
        )

    def _provider(self, name: str) -> str:
        return self.providers.get(name, name)

    def _written(self, block: TerraformBlock, subject: str) -> Iterator[ResourceInstance]:
        kind, _ = block.labels
        decides, evaluator = self.reading.decides, self.reading.evaluator
        ours = any(decides(kind, name) for name in block.body)
        if "dynamic" in block.body and ours:
            raise NotPlainError("dynamic")
        provider = str(block.body.get("provider", "")).strip('"${}') or kind.partition("_")[0]
        alias = self._provider(provider)
        # How often there is a resource that nothing here converts does not matter.
        for key, scope in self.instances(block) if ours else ((None, self),):
            inside = {name: item for name, item in block.body.items() if name not in _META and name not in SECRETS}
            values = {
                name: (evaluator.value if decides(kind, name) else evaluator.value_or_text)(item, scope)
                for name, item in inside.items()
                if not name.startswith("__")
            }
            default = alias == kind.partition("_")[0]
            yield ResourceInstance(
                kind,
                _addressed(subject, key),
                _tree(self.where or block.where, values),
                "the default provider" if default else alias,
            )


def _addressed(subject: str, key: Any) -> str:
    return subject if key is None else f"{subject}[{key}]"


def written_resources(
    files: SourceFiles, conversion: Conversion, decides: Callable[[str, str], bool]
) -> Iterator[ResourceInstance]:
    """Every resource of the ``.tf`` files that can be told; the others get a remark. Raises :class:`SourceError`.

    ``decides``: whether an attribute, by the kind of its resource and its name, decides what is converted.
    """
    by_path: dict[str, list[str]] = {}
    for name in files.ending(".tf"):
        by_path.setdefault(name.rpartition("/")[0], []).append(name)
    directories = {path: read_directory(path, names, files) for path, names in by_path.items()}
    variables = [name for name in files.names if name.endswith(".tfvars")]
    reading = _FileReading(directories, {name: parsed_file(name, files.text(name)) for name in variables}, decides)
    used = reading.sources()
    for path, directory in directories.items():
        if (path or ".") not in used:
            yield from _Module(directory, reading).resources(conversion)
    for where, name in reading.defaults:
        conversion.add_unmanaged(where, f"var.{name}", _DEFAULT.format(name))


def _tree(where: str, value: Any) -> Tree:
    if isinstance(value, Mapping):
        return Tree(where, {key: _tree(where, item) for key, item in value.items()}, set())
    if isinstance(value, list | tuple):
        return Tree(where, tuple(_tree(where, item) for item in value), set())
    return Tree(where, None if value is None else text_of(value))
