"""What every format is expected to look like, in ``expected``; run as a module it writes the files again.

Read the difference before committing it: it is what readers will see.
"""

import re
import tempfile
from pathlib import Path
from typing import Final

from reconciler.show.reading import Report
from tests.integration.report.formats import FORMATS, bare, report_of
from tests.integration.report.results import example_documents, hostile_documents

EXPECTED: Final = Path(__file__).parent / "expected"


def written(name: str, report: Report) -> str:
    """A format's text as its file holds it; an id binds all of a plan, and so changes with every field of it."""
    text = bare(FORMATS[name](report)) if name.endswith(".html") else FORMATS[name](report)
    text = re.sub(r"\b(plan|change)-[0-9a-f]{64}\b", rf"\1-{'0' * 64}", text)
    text = re.sub(r"\d{4}-\d\d-\d\dT[\d:]+Z by reconciler [\w.]+", "just now by this version", text)
    # The id of an event is a digest of what it says, the plan's id included.
    return re.sub(r'"id":"[0-9a-f]{32}"', f'"id":"{"0" * 32}"', text)


def main() -> None:
    """Write all files again."""
    with tempfile.TemporaryDirectory() as examples, tempfile.TemporaryDirectory() as others:
        documents = example_documents(Path(examples))
        reports = {
            "example": report_of([documents["plan"], documents["lint"], documents["test"]]),
            "drift": report_of([documents["drift"], documents["validate"]]),
            "hostile": report_of(hostile_documents(Path(others)).values()),
        }
    for kind, report in reports.items():
        for name in FORMATS:
            file = EXPECTED / kind / name
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(written(name, report), encoding="utf-8")


if __name__ == "__main__":
    main()
