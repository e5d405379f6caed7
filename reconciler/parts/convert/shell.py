"""Simple commands of a shell script, and calls of Kafka's tools in YAML, as far as they can be read without a run.

Source: POSIX.1-2024, Shell Command Language; ``<<<``, ``&>`` and ``<(…)`` of bash. ``Command.doubt`` is the reason why
a command may not run: its script may mean it, but only running the script would tell.

Source of calls: Kubernetes' ``Container``: ``command`` replaces the image's entrypoint, ``args`` follow it, and
``$(NAME)`` in either is a variable of the container.
"""

import re
from collections.abc import Iterator, Mapping
from typing import Final, NamedTuple

from reconciler.parts.convert.files import Tree

_READS_ONLY: Final = re.compile(r"-[A-Za-z]*n[A-Za-z]*|noexec")
_OPENS: Final = frozenset(("if", "for", "while", "until", "case", "select", "{", "("))
_CLOSES: Final = frozenset(("fi", "done", "esac", "}", ")"))
_BETWEEN: Final = frozenset(("then", "do", "else", "elif", "!", "time"))
_FUNCTION: Final = re.compile(r"[\w-]+\(\)\{?")
_OPERATOR: Final = re.compile(r"&&|\|\||;;&?|;&|\|&|[;&|\n]")
_JOINED: Final = re.compile(r"\\\r?\n")
_SPACE: Final = re.compile(r"(?:[ \t\r]|\\\r?\n)+")
_HEREDOC_START: Final = re.compile(r"<<(-?)(?!<)[ \t]*['\"\\]?(\w+)['\"]?")
#: An operator that takes the next word as its target; not ``<(`` and ``>(``, which stand for a file name.
_REDIRECTION: Final = re.compile(r"\d*(?:<<<|<<-?|>>|>\||>&|<&|<>|[<>](?!\())|&>>?")
_ASSIGNMENT: Final = re.compile(r"\w+\+?=.*", re.S)
#: Commands that do not fail: what stands behind them and ``&&`` runs.
_SUCCEEDING: Final = frozenset((":", "echo", "export", "printf", "set", "sleep", "true", "unset"))
_SHELLS: Final = frozenset(("bash", "sh", "dash", "ksh", "zsh", "ash"))
_LETTERS_WITH_C: Final = re.compile(r"-[a-z]*c")

_NESTED: Final = "inside a loop, a condition or a function: whether and how often it runs, only the shell knows"
_CONDITIONAL: Final = "behind && or ||: whether it runs depends on the command before it"
_HEREDOC: Final = "inside a heredoc: which program reads that text, and whether it runs it, is not known"
_UNREACHED: Final = "behind the end of the script: nothing runs after exit, return, exec or set -n"
_VARIABLE: Final = "a variable or a command of the shell"
#: Stands for what is quoted where only what is not counts.
_QUOTED: Final = "\0"
#: Braces, a home directory, and patterns of ksh, which bash has as an option.
_EXPANDED: Final = re.compile(r"\{.*(?:,|\.\.).*\}|^~|[+@!]\(", re.DOTALL)


class Word(NamedTuple):
    """One word of a command; ``open`` says what only a shell can put in its place, ``None`` if it stands for itself."""

    text: str
    open: str | None = None


class Command(NamedTuple):
    """A command with its line, without assignments before it and redirections in it.

    ``doubt`` says why it may not run; ``None`` if it runs whenever the script does.
    """

    line: int
    words: tuple[Word, ...]
    doubt: str | None = None


class _Heredoc(NamedTuple):
    """A heredoc that begins behind the next line end; with ``tabs``, tabs before the delimiter do not count."""

    delimiter: str
    tabs: bool


def commands(text: str) -> Iterator[Command]:
    """Every simple command, in order, also those that may not run.

    Raises ``ValueError`` with the line where a quotation or a bracket never ends.
    """
    return _Script(text).commands()


def script_in(command: Command) -> Word | None:
    """The script that a command hands to a shell by ``-c``; ``None`` if there is none."""
    shell = False
    for word, following in zip(command.words, command.words[1:], strict=False):
        shell = shell or word.text.rpartition("/")[2] in (*_SHELLS, "su")
        if shell and _LETTERS_WITH_C.fullmatch(word.text):
            return following
    return None


class _Script:
    """Reads a text from left to right."""

    def __init__(self, text: str) -> None:
        self._text = text + "\n"
        self._position = 0
        self._words: list[Word] = []
        self._line = 1
        self._counted = 0
        # The doubt that each construct around the next command brings; ``None`` of a plain group in braces.
        self._around: list[str | None] = []
        self._heredocs: list[_Heredoc] = []
        # Of the list of commands that && and || join.
        self._conditional = False
        self._ended = False
        self._of_function = False

    def commands(self) -> Iterator[Command]:
        text = self._text
        while self._position < len(text):
            if blank := _SPACE.match(text, self._position):
                self._position = blank.end()
            elif text[self._position] == "#":
                self._position = text.index("\n", self._position)
            elif redirection := _REDIRECTION.match(text, self._position):
                self._redirect(redirection[0], redirection.end())
            elif operator := _OPERATOR.match(text, self._position):
                self._position = operator.end()
                yield from self._finish(operator[0])
                if operator[0] == "\n":
                    yield from self._bodies()
            else:
                self._begin()
                word, self._position = _word(text, self._position)
                self._words.append(word)
        yield from self._finish("\n")

    def _begin(self) -> None:
        if not self._words:
            self._line += self._text.count("\n", self._counted, self._position)
            self._counted = self._position

    def _redirect(self, operator: str, end: int) -> None:
        """Pass over an operator and its target; a heredoc's target is its delimiter."""
        blank = _SPACE.match(self._text, end)
        target, self._position = _word(self._text, blank.end() if blank else end)
        if operator.lstrip("0123456789") in ("<<", "<<-"):
            self._heredocs.append(_Heredoc(target.text, operator.endswith("-")))

    def _bodies(self) -> Iterator[Command]:
        """The texts of the heredocs that begin here; without its delimiter one goes on to the end of the script."""
        for heredoc in self._heredocs:
            start = self._position
            self._position = _after_heredoc(self._text, start, heredoc.delimiter, heredoc.tabs)
            first = self._text.count("\n", 0, start)
            for command in _commands_or_lines(self._text[start : self._position]):
                yield Command(first + command.line, command.words, _HEREDOC)
        self._heredocs = []

    def _finish(self, operator: str) -> Iterator[Command]:
        """The command that ends at ``operator``, without the words that only open, close or join."""
        if not self._words:
            return
        words, replaced = self._without_keywords(), False
        while words and (words[0].text == "exec" or _ASSIGNMENT.fullmatch(words[0].text)):
            replaced = replaced or words[0].text == "exec"
            words = words[1:]
        doubt = self._doubt()
        if words:
            yield Command(self._line, tuple(words), doubt)
        name = words[0].text if words else ""
        # With ``set -n`` a shell reads the rest and runs nothing of it.
        reads_only = name == "set" and any(_READS_ONLY.fullmatch(word.text) for word in words[1:])
        if doubt is None and ((replaced and words) or name in ("exit", "return") or reads_only):
            self._ended = True
        if operator == "||" or (operator == "&&" and not (doubt is None and name in _SUCCEEDING)):
            self._conditional = True
        elif operator not in ("&&", "|", "|&"):
            self._conditional = False

    def _doubt(self) -> str | None:
        nested = next(filter(None, self._around), None)
        if nested is not None:
            return nested
        if self._conditional:
            return _CONDITIONAL
        return _UNREACHED if self._ended else None

    def _without_keywords(self) -> list[Word]:
        words, self._words = self._words, []
        while words:
            first = words[0].text
            if first == "{" and not self._of_function:
                self._around.append(self._doubt())
            elif first in _OPENS:
                self._around.append(_NESTED)
            elif first in _CLOSES:
                del self._around[-1:]
            elif _FUNCTION.fullmatch(first):
                # The body begins with a brace, here or in a word of its own.
                self._around += [_NESTED] * first.endswith("{")
            elif first == "function":
                words = words[1:]
            elif first not in _BETWEEN:
                break
            self._of_function = first == "function" or (bool(_FUNCTION.fullmatch(first)) and not first.endswith("{"))
            words = words[1:]
            if first in ("for", "select"):
                return []
            if first == "case":
                # The first branch may stand on the line of the heading, behind its pattern.
                pattern = next((at for at, word in enumerate(words) if word.text.endswith(")")), len(words))
                words = words[pattern + 1 :]
        return words


def _commands_or_lines(text: str) -> list[Command]:
    """The commands of a text that may be none: then each line as words, so that a call in it can be named."""
    try:
        return list(commands(text))
    except ValueError:
        lines = enumerate(text.split("\n"), 1)
        return [Command(number, tuple(map(Word, line.split()))) for number, line in lines if line.strip()]


def _word(text: str, position: int) -> tuple[Word, int]:
    """The word that begins there, and where it ends."""
    parts: list[str] = []
    # What a shell may still expand: all that is neither quoted nor escaped.
    bare: list[str] = []
    unknown: str | None = None
    while position < len(text) and not _ends(text, position):
        letter = text[position]
        if letter in "'\"":
            end = _closing(text, position)
            inside = text[position + 1 : end]
            if letter == '"':
                unknown = unknown or _substitution(inside)
                # In double quotes a backslash escapes these four, and stays before anything else (POSIX 2.2.3).
                inside = re.sub(r'\\([\\"$`])', r"\1", inside.replace("\\\n", ""))
            parts.append(inside)
            bare.append(_QUOTED)
            position = end + 1
        elif text.startswith(("$(", "<(", ">("), position):
            end = _bracket(text, position + 1)
            unknown = unknown or _VARIABLE
            parts.append(text[position : end + 1])
            position = end + 1
        elif text.startswith("$'", position):
            end = _closing(text, position + 1, escapes=True)
            unknown = unknown or _VARIABLE
            parts.append(text[position + 2 : end])
            position = end + 1
        elif joined := _JOINED.match(text, position):
            position = joined.end()
        elif letter == "\\":
            parts.append(text[position + 1 : position + 2])
            bare.append(_QUOTED)
            position += 2
        else:
            if letter in "*?[":
                unknown = unknown or "a pattern that the shell replaces by names of files"
            elif letter in "$`":
                unknown = unknown or _VARIABLE
            parts.append(letter)
            bare.append(letter)
            position += 1
    if _EXPANDED.search("".join(bare)):
        unknown = unknown or "a form that the shell replaces"
    return Word("".join(parts), unknown), position


def _ends(text: str, position: int) -> bool:
    if text[position] in "<>":
        return not text.startswith(("<(", ">("), position)
    return text[position] in " \t\r" or bool(_OPERATOR.match(text, position))


def _bracket(text: str, start: int) -> int:
    """Where the bracket that opens there is closed; not inside a quotation or a heredoc of what it holds."""
    depth, position, heredocs = 0, start, list[tuple[str, bool]]()
    while position < len(text):
        letter = text[position]
        if letter == "\\":
            position += 1
        elif letter in "'\"":
            position = _closing(text, position)
        elif letter == "#" and text[position - 1] in " \t\n":
            position = text.index("\n", position) - 1
        elif (heredoc := _HEREDOC_START.match(text, position)) and not text.startswith("((", start):
            heredocs.append((heredoc[2], heredoc[1] == "-"))
            position = heredoc.end() - 1
        elif letter == "\n":
            for delimiter, tabs in heredocs:
                position = _after_heredoc(text, position + 1, delimiter, tabs) - 1
            heredocs = []
        depth += {"(": 1, ")": -1}.get(letter, 0)
        if not depth:
            return position
        position += 1
    raise ValueError(f"line {text.count(chr(10), 0, start) + 1}: a bracket never ends")


def _after_heredoc(text: str, position: int, delimiter: str, tabs: bool) -> int:
    """Where the line after the delimiter begins."""
    while position < len(text):
        end = text.find("\n", position)
        line, position = text[position:end], end + 1 if end >= 0 else len(text)
        if (line.lstrip("\t") if tabs else line).removesuffix("\r") == delimiter:
            break
    return position


def _substitution(inside: str) -> str | None:
    return _VARIABLE if re.search(r"(?<!\\)[$`]", inside) else None


def _closing(text: str, start: int, *, escapes: bool = False) -> int:
    """Where the quotation that opens there is closed; with ``escapes`` a backslash counts in single quotes too."""
    quote, position = text[start], start + 1
    while position < len(text):
        letter = text[position]
        if letter == quote:
            return position
        if letter == "\\" and (quote == '"' or escapes):
            position += 1
        elif quote == '"' and text.startswith("$(", position):
            position = _bracket(text, position + 1)
        position += 1
    raise ValueError(f"line {text.count(chr(10), 0, start) + 1}: a quotation never ends")


#: A call that changes something, in a text of one line or many.
CALL: Final = re.compile(
    r"\bkafka-(?:acls|topics|configs|client-metrics)(?:\.sh|\.bat)?\b(?:[^\n]|\\\n)*--(?:add|create|alter|allow-principal|deny-principal)\b"
    r"|\bconfluent\b[^\n]*\brole-binding\b"
)
#: Where each kind of workload has its pods.
_PODS: Final[Mapping[str, tuple[str, ...]]] = {
    "Pod": ("spec",),
    "CronJob": ("spec", "jobTemplate", "spec", "template", "spec"),
    **dict.fromkeys(("Job", "Deployment", "StatefulSet", "DaemonSet", "ReplicaSet"), ("spec", "template", "spec")),
}
_SUSPENDED: Final = "it is suspended, or has no replicas: it does not run"
_ENTRYPOINT: Final = "it has args and no command: which program gets them, the image decides"
_CALL_VARIABLE: Final = "a variable of the container"
#: Fields of a mapping that make a pod or a container what it is.
_CONTAINERS: Final = ("initContainers", "containers")


class ContainerCall(NamedTuple):
    """What one container runs, with its place; ``doubt`` says why it may not."""

    where: str
    words: tuple[Word, ...]
    doubt: str | None


def calls_tools(tree: Tree) -> bool:
    """Whether something below may call one of Kafka's tools to change something."""
    return next(_calls(tree), None) is not None


def container_calls(tree: Tree) -> list[ContainerCall]:
    """What the containers of a workload run, in order; none of a document that is no workload."""
    path = _PODS.get(tree.text("kind") or "") if tree.is_mapping() else None
    if path is None:
        return []
    stopped = tree.get("spec").flag("suspend") or tree.text("spec", "replicas") == "0"
    calls = []
    for field in _CONTAINERS:
        for container in tree.items(*path, field):
            command, args = (container.get(name) for name in ("command", "args"))
            texts = [*command.texts(), *args.texts()]
            doubt = _SUSPENDED if stopped else _ENTRYPOINT if args.value and not command.value else None
            if CALL.search(" ".join(texts)):
                calls.append(ContainerCall(container.where, tuple(map(_call_word, texts)), doubt))
    return calls


def calls_elsewhere(tree: Tree) -> list[tuple[str, str]]:
    """Place and text of each call that no container of a workload runs."""
    read = {text for call in container_calls(tree) for text in (word.text for word in call.words)}
    return [(where, text) for where, text, parts in _calls(tree) if not read.issuperset(parts)]


def _call_word(text: str) -> Word:
    return Word(text, _CALL_VARIABLE if "$(" in text else None)


def _calls(tree: Tree) -> Iterator[tuple[str, str, tuple[str, ...]]]:
    """Place, text and parts of each call below: in one text, or in the texts of a list."""
    open_trees, seen = [tree], set[int]()
    while open_trees:
        node = open_trees.pop()
        if isinstance(node.value, str):
            if CALL.search(node.value):
                yield node.where, node.value, (node.value,)
        elif node.value is not None and id(node.value) not in seen:
            seen.add(id(node.value))
            children = node.value.values() if isinstance(node.value, Mapping) else node.value
            texts = tuple(child.value for child in children if isinstance(child.value, str))
            if (
                not isinstance(node.value, Mapping)
                and not any(map(CALL.search, texts))
                and CALL.search(" ".join(texts))
            ):
                yield node.where, " ".join(texts), texts
            open_trees += reversed(list(children))
