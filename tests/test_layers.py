"""Imports inside donkey_aicc go one way: the list in docs/architecture.md, checked on the source without importing it."""

import ast
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = ROOT / "donkey_aicc"

LAYERS = (
    ("errors", "untrusted", "stored", "files", "progress", "channels", "resources", "limits", "plugins", "watchdog", "workers"),
    ("nets", "faults"),
    ("tubs", "simulator", "web"),
    ("scoring",),
    ("alarm", "calibration"),
    ("overhead", "labelling", "training", "evaluation", "parts", "replay"),
    ("car", "demo", "gym", "sim_server", "trials"),
    ("commands", "cli", "__main__"),
)
# Within a layer only these: importer -> imported.
SIBLINGS = {
    "untrusted": {"errors"},
    "stored": {"errors"},
    "plugins": {"errors"},
    "workers": {"errors", "plugins", "resources"},
    "files": {"errors", "untrusted"},
    "resources": {"errors"},
    "calibration": {"alarm"},
    "demo": {"car"},
    "gym": {"car"},
    "trials": {"car"},
    "__main__": {"cli"},
}
LAYER_OF = {name: number for number, names in enumerate(LAYERS, start=1) for name in names}
FACADE = "__init__"  # donkey_aicc/__init__.py: below everything, so anyone may import it and it imports nothing


def component_of(path: Path, package: Path) -> str:
    """The first name below the package: `sim` for sim/track.py, `files` for files.py."""
    return path.relative_to(package).parts[0].removesuffix(".py")


def imported_components(tree: ast.AST, path: Path, package: Path) -> Iterator[tuple[int, str]]:
    """(line, component) of every import of our own package, at any depth, relative ones and `import a.b` too."""
    module_package = [package.name, *path.relative_to(package).parent.parts]
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names = [alias.name.split(".") for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            above = module_package[: len(module_package) - node.level + 1] if node.level else []
            base = above + (node.module.split(".") if node.module else [])
            names = [base + [alias.name] for alias in node.names]
        else:
            continue
        for name in names:
            if name[0] == package.name:
                yield node.lineno, _existing_component(name, package)


def _existing_component(name: list[str], package: Path) -> str:
    """`from donkey_aicc import files` imports a component, `from donkey_aicc import __version__` only the facade."""
    if len(name) < 2:
        return FACADE
    is_module = (package / name[1]).is_dir() or (package / f"{name[1]}.py").is_file()
    return name[1] if is_module or len(name) > 2 else FACADE


def violations(package: Path) -> list[str]:
    """One line for each import that goes the wrong way, and for each module that stands in no layer."""
    found = []
    for path in sorted(package.rglob("*.py")):
        importer = component_of(path, package)
        if importer != FACADE and importer not in LAYER_OF:
            found.append(f"{importer} is in no layer: add it to docs/architecture.md and to LAYERS in tests/test_layers.py")
            continue
        tree = ast.parse(path.read_text(encoding="utf-8"), str(path))
        for line, imported in imported_components(tree, path, package):
            if not _allowed(importer, imported):
                where = f"{path.relative_to(package.parent)}:{line}"
                found.append(f"{where}: {importer} (layer {_layer(importer)}) imports {imported} (layer {_layer(imported)})")
    return sorted(set(found))


def _layer(component: str) -> int | str:
    return 0 if component == FACADE else LAYER_OF.get(component, "none")


def _allowed(importer: str, imported: str) -> bool:
    if imported in (importer, FACADE):
        return True
    if importer == FACADE or imported not in LAYER_OF:
        return False
    return LAYER_OF[imported] < LAYER_OF[importer] or imported in SIBLINGS.get(importer, ())


def test_imports_go_one_way():
    wrong = violations(PACKAGE)
    assert not wrong, "imports against the direction in docs/architecture.md:\n" + "\n".join(wrong)


def test_every_permission_within_a_layer_is_used():
    used = {(component_of(path, PACKAGE), name) for path, name in _all_imports()}
    assert [(who, name) for who, names in SIBLINGS.items() for name in names if (who, name) not in used] == []


def _all_imports() -> Iterator[tuple[Path, str]]:
    for path in PACKAGE.rglob("*.py"):
        for _, name in imported_components(ast.parse(path.read_text(encoding="utf-8")), path, PACKAGE):
            yield path, name


def test_no_two_files_of_the_package_have_one_name():
    names = Counter(path.name for path in PACKAGE.rglob("*.py") if path.name != "__init__.py")
    assert [name for name, times in names.items() if times > 1] == []


def test_no_file_of_the_package_is_over_250_lines():
    assert [path.name for path in PACKAGE.rglob("*.py") if len(path.read_text(encoding="utf-8").splitlines()) > 250] == []


def test_the_architecture_page_lists_the_same_layers():
    page = (ROOT / "docs/architecture.md").read_text(encoding="utf-8")
    section = page.split("## Import direction")[1].split("\n## ")[0]
    listed = [tuple(names.split()) for names in re.findall(r"^\d+\. `([^`]+)`", section, re.MULTILINE)]
    assert listed == list(LAYERS)
    pairs = dict(re.findall(r"^- `(\w+)` may import `([^`]+)`", section, re.MULTILINE))
    assert {importer: set(names.split()) for importer, names in pairs.items()} == SIBLINGS


@pytest.mark.parametrize(
    ("file", "source", "complaint"),
    [
        ("nets/vae.py", "from donkey_aicc.simulator import track", "nets (layer 2) imports simulator (layer 3)"),
        ("parts/scorer.py", "def run():\n    from donkey_aicc.training import trainer", "parts (layer 6) imports training"),
        ("parts/scorer.py", "import donkey_aicc.evaluation.metrics", "parts (layer 6) imports evaluation"),
        ("web/page.py", "from ..parts import scorer", "web (layer 3) imports parts"),
        ("errors.py", "from . import cli", "errors (layer 1) imports cli"),
        ("__init__.py", "import donkey_aicc.files", "__init__ (layer 0) imports files"),
        ("helpers.py", "", "helpers is in no layer"),
    ],
)
def test_a_wrong_import_is_named(tmp_path, file, source, complaint):
    package = tmp_path / "donkey_aicc"
    for name in ("cli.py", "files.py", "errors.py", file):
        (package / name).parent.mkdir(parents=True, exist_ok=True)
        (package / name).write_text("")
    (package / file).write_text(source)
    assert [complaint in line for line in violations(package)] == [True]


def test_allowed_imports_pass(tmp_path):
    package = tmp_path / "donkey_aicc"
    package.mkdir()
    (package / "errors.py").write_text("")
    (package / "cli.py").write_text("import donkey_aicc\nfrom donkey_aicc import __version__, errors\nimport numpy")
    assert violations(package) == []


def names_of(tree: ast.AST) -> set[str]:
    """What a module binds, branches and `try` included."""
    found: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            found.add(node.name)
        elif isinstance(node, ast.Import | ast.ImportFrom):
            found |= {name.asname or name.name.partition(".")[0] for name in node.names}
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            found.add(node.id)
    return found


def test_what_is_imported_by_name_is_there():
    """Two changes that are right alone can be wrong together: one takes a name away, the other begins to use it."""
    files = [file for folder in (PACKAGE, ROOT / "studies", ROOT / "benchmarks") for file in folder.rglob("*.py")]
    trees = {file: ast.parse(file.read_text(encoding="utf-8")) for file in files}
    known = {file: names_of(tree) for file, tree in trees.items()}
    missing = []
    for file, tree in trees.items():
        for node in ast.walk(tree):
            if not isinstance(node, ast.ImportFrom) or not (node.module or "").startswith(("donkey_aicc", "studies")):
                continue
            place = ROOT.joinpath(*str(node.module).split("."))
            there = known.get(place.with_suffix(".py")) or known.get(place / "__init__.py", set())
            there |= {inside.stem for inside in place.glob("*")}
            missing += [f"{file.name}: {node.module}.{name.name}" for name in node.names if name.name not in there]
    assert missing == []
