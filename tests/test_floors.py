"""A lower floor never imports a higher one."""

import ast
from pathlib import Path

import pytest

LIBRARY = Path(__file__).parents[1] / "lib" / "resolvent"

GROUND = {"errors", "strict_yaml", "keyed_random", "study", "writable", "encodings"}

ABOVE_GROUND = {
    "operators": set(),
    "statistics": set(),
    "representations": set(),
    "texts": set(),
    "models": {"texts", "operators"},
    "evidence": {"models", "texts", "operators", "statistics", "representations"},
    "registry": {"evidence", "models", "texts", "operators", "statistics"},
    "report": {"registry", "evidence", "models", "texts", "operators", "statistics"},
    "pytest_plugin": {"report", "registry", "evidence", "models", "texts", "operators", "statistics"},
    "cli": {"pytest_plugin", "report", "registry", "evidence", "models", "texts", "operators", "statistics"},
}


def imported_floors(file):
    """(line, floor) of every import of resolvent in a file, inside functions and for type checking too."""
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        names = []
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{file}:{node.lineno}: relative import"
            names = [node.module or ""]
            if node.module == "resolvent":
                names = [f"resolvent.{alias.name}" for alias in node.names]
        for name in names:
            top, _, below = name.partition(".")
            if top == "resolvent" and below:
                yield node.lineno, below.partition(".")[0]


def floor_files():
    for file in sorted(LIBRARY.rglob("*.py")):
        floor = file.relative_to(LIBRARY).parts[0].removesuffix(".py")
        if floor != "__init__":
            yield pytest.param(floor, file, id=str(file.relative_to(LIBRARY)))


@pytest.mark.parametrize(("floor", "file"), list(floor_files()))
def test_no_floor_imports_a_higher_one(floor, file):
    """operators and statistics stay usable alone, evidence stays free of pytest, and so on up."""
    allowed = GROUND | ABOVE_GROUND.get(floor, set()) | {floor, "__version__"}
    for line, imported in imported_floors(file):
        assert imported in allowed, f"{file}:{line}: {floor} imports {imported}"


@pytest.mark.parametrize(
    "floor", ["operators", "statistics", "representations", "texts", "evidence", "registry", "report", "models"]
)
def test_only_the_plugin_knows_pytest(floor):
    """Shard functions run under other engines too."""
    for file in (LIBRARY / floor).rglob("*.py"):
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            names += [node.module or ""] if isinstance(node, ast.ImportFrom) else []
            assert not any(name.partition(".")[0] in {"pytest", "_pytest", "xdist"} for name in names), file


def test_only_models_imports_torch():
    """Everything above asks `models`; the battery and the claims run where torch is absent."""
    for file in LIBRARY.rglob("*.py"):
        if file.relative_to(LIBRARY).parts[0] == "models":
            continue
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            names += [node.module or ""] if isinstance(node, ast.ImportFrom) else []
            assert not any(name.partition(".")[0] in {"torch", "transformers"} for name in names), f"{file}: {names}"
