"""Did you mean: the known word that is most like an unknown one."""

from collections.abc import Iterable


def did_you_mean(word: str, known: Iterable[str], otherwise: str = "") -> str:
    """``did you mean 'x'?``, or ``otherwise`` if nothing is alike."""
    from difflib import get_close_matches  # noqa: PLC0415  (4 ms at start-up for what only a mistake needs)

    words = sorted(known)
    folded = {candidate.lower(): candidate for candidate in words}
    alike = get_close_matches(word[:100].lower(), folded, n=1, cutoff=0.6)
    return f"did you mean {folded[alike[0]]!r}?" if alike else otherwise


def one_of(words: Iterable[str]) -> str:
    """``one of a, b, c`` in order."""
    return f"one of {', '.join(sorted(words))}"
