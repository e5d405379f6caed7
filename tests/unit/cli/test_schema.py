"""The committed schemas are those that ``reconciler schema`` writes, all of them."""

from pathlib import Path

from reconciler.cli.schema import command

COMMITTED = Path(__file__).parents[3] / "schema"


def test_the_committed_schemas_are_the_generated_ones(tmp_path: Path) -> None:
    command.main(["--out", str(tmp_path)], standalone_mode=False)
    written = {file.name: file.read_text(encoding="utf-8") for file in tmp_path.iterdir()}
    assert written == {file.name: file.read_text(encoding="utf-8") for file in COMMITTED.iterdir()}
