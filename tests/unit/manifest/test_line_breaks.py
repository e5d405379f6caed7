"""A line ends for YAML where it ends for a reviewer."""

import pytest

from reconciler.manifest.manifests import load
from reconciler.manifest.read.findings import Source
from reconciler.manifest.read.problem import ManifestError

_ACLS = """\
apiVersion: reconciler/v1
kind: Acls
metadata: {name: a}
spec:
  principal: User:a
  rules:
    - {allow: READ, topics: [b]} # harmless%s    - {allow: ALL, topics: [payroll.salaries]}
"""


@pytest.mark.parametrize("line_break", ["\n", "\r\n"])
def test_line_breaks_that_everybody_sees_are_accepted(line_break: str) -> None:
    load([Source("a.yaml", (_ACLS % "\n").replace("\n", line_break))])


@pytest.mark.parametrize("line_break", ["\r", "\r    # more\r"])
def test_a_lone_carriage_return_is_refused(line_break: str) -> None:
    """Diffs and terminals show the second rule inside the comment of the first."""
    with pytest.raises(ManifestError) as caught:
        load([Source("a.yaml", _ACLS % line_break)])
    assert {problem.code for problem in caught.value.problems} == {"KR005"}
    assert "U+000D" in caught.value.problems[0].message
    assert str(caught.value.problems[0].origin) == "a.yaml:7:44"


def test_an_escaped_carriage_return_is_refused_too() -> None:
    with pytest.raises(ManifestError, match=r"U\+000D"):
        load([Source("a.yaml", (_ACLS % "\n").replace("[b]", '["b\\rc"]'))])
