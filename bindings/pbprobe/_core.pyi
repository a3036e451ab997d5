from collections.abc import Callable
from pathlib import Path

version: str
commit: str

def report(
    artifact: Path | None,
    roots: list[Path],
    claim: str | None,
    program: Path,
    python: list[str],
    quick: bool,
    budget_seconds: float,
    progress: Callable[[str], None] | None,
) -> tuple[str, bool]: ...
def render(document: str, colour: bool) -> str: ...
