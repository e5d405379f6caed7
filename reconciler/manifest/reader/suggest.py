"""Did you mean: the known word that is most like an unknown one."""

from collections.abc import Iterable


def nearest(word: str, known: Iterable[str], *, alike: float = 0.6) -> str | None:
    """The known word that is most like an unknown one, upper and lower case being the same; ``None`` if none is."""
    from difflib import get_close_matches  # noqa: PLC0415  (4 ms at start-up for what only a mistake needs)

    words = sorted(known)
    folded = {candidate.lower(): candidate for candidate in words}
    found = get_close_matches(word[:100].lower(), folded, n=1, cutoff=alike)
    return folded[found[0]] if found else None


def did_you_mean(word: str, known: Iterable[str], otherwise: str = "") -> str:
    """``did you mean 'x'?``, or ``otherwise`` if nothing is alike."""
    meant = nearest(word, known)
    return otherwise if meant is None else f"did you mean {meant!r}?"


def one_of(words: Iterable[str]) -> str:
    """``one of a, b, c`` in order."""
    return f"one of {', '.join(sorted(words))}"
