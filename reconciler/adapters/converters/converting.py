"""Convert a directory: in one format, or in each that is recognised; nothing in it passes unnamed."""

from typing import Final

from reconciler.adapters.converters.container_calls import CALL
from reconciler.adapters.converters.conversion import Conversion, ConversionResult
from reconciler.adapters.converters.files import SourceFiles
from reconciler.adapters.converters.foreign import PRINCIPAL, PRINCIPALS, add_foreign
from reconciler.adapters.converters.formats import AUTO, FORMATS, OF_CLUSTERS, reader, recognised_formats
from reconciler.adapters.converters.recognition import Recognition
from reconciler.adapters.converters.tree import SourceError, Tree

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
    found = Recognition(files)
    formats = [name for name in FORMATS if name in found.parts]
    if files.cluster is not None and formats and not set(formats) & set(OF_CLUSTERS):
        raise SourceError(f"{' and '.join(formats)} speaks of one cluster: --source-cluster says nothing")
    if files.settings and formats and "julie" not in formats:
        raise SourceError(f"--config is for julie, and the files are recognised as {' and '.join(formats)}")
    conversion.add_signs(found.signs[name] for name in formats)
    read = set[str]()
    for source_format in formats:
        part = files.part(found.parts[source_format])
        reader(source_format)(part, conversion)
        for tree in part.parsed():
            conversion.name_leftovers(tree)
        # A reader may have followed a name to a file that has no sign of its own.
        read |= part.read() - set(part.names)
    for tree in found.documents:
        if tree.where.partition(":")[0] not in read:
            _name_document(tree, conversion)
    _name_others({name: why for name, why in found.others.items() if name not in read}, files, conversion)


def _name_unread(source_format: str, files: SourceFiles, conversion: Conversion) -> None:
    """Remarks on the files that the reader of one format passed by."""
    unread = files.unread()
    if not unread:
        return
    found = Recognition(files.part(dict.fromkeys(unread)))
    for other, part in found.parts.items():
        for name in part:
            if other == source_format:
                conversion.add_unmanaged(name, "a file", f"{source_format} is read from other files here")
            else:
                conversion.skip(name, "a file", f"{found.signs[other]}: convert it with --from {other}, or --from auto")
    for tree in found.documents:
        _name_document(tree, conversion)
    _name_others(found.others, files, conversion)


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
        more = f" and {len(plain) - _NAMED:,} more" if len(plain) > _NAMED else ""
        subject = "a file" if len(plain) == 1 else f"{len(plain):,} files"
        conversion.add_unmanaged(f"{', '.join(plain[:_NAMED])}{more}", subject, _NO_SIGN)


def _text(files: SourceFiles, name: str) -> str:
    """The text of a file; empty if it is none, such as an image."""
    try:
        return files.text(name)
    except SourceError:
        return ""
