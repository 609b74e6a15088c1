"""House rules that a syntax tree can hold. The reasons are in CONTRIBUTING.md."""

from __future__ import annotations

import ast
import importlib
import re
import shutil
import subprocess
import sys
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).resolve().parents[1]
FILE_LINES = 400
FUNCTION_LINES = 70
BAR_LOOP = "dream/engine/kernel.py"
"""Its loop is one function: what it keeps in locals is what makes it fast."""
ARGUMENTS = 6

Function = ast.FunctionDef | ast.AsyncFunctionDef


def sources(*folders: str) -> list[Path]:
    return sorted(p for folder in folders for p in (ROOT / folder).rglob("*.py"))


@cache
def tree(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"), str(path))


def inside(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


def functions(path: Path) -> Iterator[Function]:
    return (n for n in ast.walk(tree(path)) if isinstance(n, Function))


def at(path: Path, node: ast.stmt | ast.expr, what: str) -> str:
    return f"{inside(path)}:{node.lineno} {what}"


def none(found: list[str]) -> None:
    """Fail with every find on a line of its own."""
    if found:
        pytest.fail("\n".join(found), pytrace=False)


ALL = sources("dream", "tests", "benchmarks")
PACKAGE = sources("dream")


# Sizes


def test_files_are_short() -> None:
    lengths = {inside(p): len(p.read_text(encoding="utf-8").splitlines()) for p in ALL}
    none([f"{name}: {n} lines" for name, n in lengths.items() if n > FILE_LINES])


def test_functions_are_short() -> None:
    long = [
        at(path, f, f"{f.name}: {length} lines")
        for path in ALL
        for f in functions(path)
        if (length := (f.end_lineno or 0) - f.lineno + 1) > FUNCTION_LINES
        and not (inside(path) == BAR_LOOP and jitted(path, f))
    ]
    none(long)


def decorators(f: Function) -> set[str]:
    """Last names of a function's decorators: `njit` of `@numba.njit(cache=True)`."""
    calls = (d.func if isinstance(d, ast.Call) else d for d in f.decorator_list)
    return {ast.unparse(c).rpartition(".")[2] for c in calls}


def jitted(path: Path, f: Function) -> bool:
    """Compiled functions may take arrays one by one: numba does not take them packed."""
    return may_import_numba(inside(path)) and any("jit" in name for name in decorators(f))


def takes_what_others_give(path: Path, f: Function) -> bool:
    """Arguments of a command are its options, those of a test its fixtures and examples."""
    if inside(path).startswith("dream/cli/"):
        return not f.name.startswith("_")
    return inside(path).startswith("tests/") and (
        f.name.startswith("test_") or bool(decorators(f) & {"fixture", "composite"})
    )


def arguments(path: Path, f: Function) -> int:
    """How many a function takes; a strategy's keywords are its settings and do not count."""
    given = [a.arg for a in (*f.args.posonlyargs, *f.args.args)]
    settings = 0 if inside(path).startswith("dream/strategies/") else len(f.args.kwonlyargs)
    return len([name for name in given if name not in {"self", "cls"}]) + settings


def test_functions_take_few_arguments() -> None:
    greedy = [
        at(path, f, f"{f.name}: {n} arguments")
        for path in ALL
        for f in functions(path)
        if (n := arguments(path, f)) > ARGUMENTS
        and not jitted(path, f)
        and not takes_what_others_give(path, f)
    ]
    none(greedy)


# Names and words

EMPTY_NAME = re.compile(r"(^|_)(utils?|helpers?)(_|$)|manager$|^_*common$", re.IGNORECASE)


def test_names_say_what_a_thing_is() -> None:
    folders = {part for p in ALL for part in Path(inside(p)).with_suffix("").parts}
    defined = {
        node.name
        for path in ALL
        for node in ast.walk(tree(path))
        if isinstance(node, ast.ClassDef | Function)
    }
    none([name for name in sorted(folders | defined) if EMPTY_NAME.search(name)])


FOREIGN_WORDS = re.compile(
    # a path of somebody's machine; the host of a package registry or an index to install from
    r"(?<![\w.~}/-])/(work|home|Users|root)/\w"
    r"|[A-Z]:\\Users"
    r"|pypi\.org/simple|pythonhosted|registry\.npmjs|proxy\.golang"
    r"|--(extra-)?index-url|--find-links",
)


def tracked_files() -> list[Path]:
    """Every file that is or would be committed."""
    git = shutil.which("git")
    if git is None or not (ROOT / ".git").exists():
        pytest.skip("not a git checkout: which files are tracked is not known")
    listing = subprocess.run(
        [git, "-c", "safe.directory=*", "ls-files", "-z", "-co", "--exclude-standard"],
        cwd=ROOT,
        check=True,
        capture_output=True,
        text=True,
    ).stdout
    return [p for name in listing.split("\0") if name and (p := ROOT / name).is_file()]


def test_no_file_names_a_machine_or_a_registry() -> None:
    found: list[str] = []
    for path in tracked_files():
        raw = path.read_bytes()
        if path == Path(__file__) or b"\0" in raw:
            continue
        for number, line in enumerate(raw.decode("utf-8", "replace").splitlines(), 1):
            if match := FOREIGN_WORDS.search(line):
                found.append(f"{inside(path)}:{number} {match.group()}")
    none(found)


@pytest.mark.parametrize(
    ("line", "foreign"),
    [
        (f"see {ROOT.anchor}work/bars", True),
        ("'/home/ann/gold.csv'", True),
        ("pip install --index-url https://example.org", True),
        ("https://pypi.org/simple/dream", True),
        ("docs/work/plan and a/home/b", False),
        ("https://example.org/home/x", False),
    ],
)
def test_the_words_that_are_looked_for(line: str, foreign: bool) -> None:
    assert bool(FOREIGN_WORDS.search(line)) is foreign


# Who may use what


def imported(path: Path) -> Iterator[tuple[ast.stmt, str]]:
    """Every absolute import as a dotted name, those inside functions and guards included."""
    for node in ast.walk(tree(path)):
        if isinstance(node, ast.Import):
            yield from ((node, alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.level == 0 and node.module:
            yield from ((node, f"{node.module}.{alias.name}") for alias in node.names)


def may_import_numba(name: str) -> bool:
    places = r"dream/(engine/kernel|indicators\b.*|strategies/.*|memory/scan)\.py"
    return re.fullmatch(places, name) is not None


def importers(package: str) -> set[str]:
    return {
        inside(path)
        for path in PACKAGE
        for _, name in imported(path)
        if name.split(".")[0] == package
    }


def test_compiled_code_stays_where_the_disk_cache_is_safe() -> None:
    none([name for name in sorted(importers("numba")) if not may_import_numba(name)])


def test_one_file_knows_the_model_sdk() -> None:
    assert importers("anthropic") == {"dream/llm/anthropic.py"}


AMBIENT = {
    "time.time",
    "time.time_ns",
    "datetime.now",
    "datetime.utcnow",
    "datetime.today",
    "date.today",
    "os.environ",
    "os.getenv",
}


def ambient(module: ast.Module) -> Iterator[tuple[ast.stmt | ast.expr, str]]:
    """Where the clock, the environment or an unseeded generator is asked."""
    for node in ast.walk(module):
        if isinstance(node, ast.Attribute):
            name = ".".join(ast.unparse(node).split(".")[-2:])
            if name in AMBIENT:
                yield node, name
        elif isinstance(node, ast.ImportFrom):
            names = (f"{node.module}.{alias.name}" for alias in node.names)
            yield from ((node, name) for name in names if name in AMBIENT)
        elif isinstance(node, ast.Call) and not (node.args or node.keywords):
            name = ast.unparse(node.func).rpartition(".")[2]
            if name in {"default_rng", "Random", "SystemRandom"}:
                yield node, f"{name}() without a seed"


def test_the_clock_and_the_environment_enter_as_arguments() -> None:
    found = [
        at(path, node, name)
        for path in PACKAGE
        if not inside(path).startswith(("dream/cli/", "dream/runs/"))
        for node, name in ambient(tree(path))
    ]
    none(found)


def test_what_counts_as_asking_the_surroundings() -> None:
    asking = "time.time(); dt.datetime.now(UTC); os.environ['A']; np.random.default_rng()"
    assert len(list(ambient(ast.parse(asking)))) == 4
    assert len(list(ambient(ast.parse("from os import environ, getenv, path")))) == 2
    told = "def f(now_ns, env): time.sleep(1); np.random.default_rng(seed); self.time.monotonic()"
    assert list(ambient(ast.parse(told))) == []


def test_everything_public_is_documented() -> None:
    silent = [
        at(path, node, node.name)
        for path in PACKAGE
        for node in tree(path).body
        if isinstance(node, ast.ClassDef | Function)
        and not node.name.startswith("_")
        and not (isinstance(node, Function) and "overload" in decorators(node))
        and ast.get_docstring(node) is None
    ]
    silent += [inside(path) for path in PACKAGE if ast.get_docstring(tree(path)) is None]
    none(silent)


def as_isort_does(name: str) -> tuple[bool, bool, str]:
    """CONSTANTS, then Classes, then functions: the order that ruff keeps."""
    return not name.isupper(), not name[0].isupper(), name


def test_public_names_are_sorted_and_can_be_had() -> None:
    dream = importlib.import_module("dream")
    assert list(dream.__all__) == sorted(dream.__all__, key=as_isort_does)
    assert len(set(dream.__all__)) == len(dream.__all__)
    assert [name for name in dream.__all__ if getattr(dream, name, None) is None] == []


# Layers


def lint_imports(root: Path) -> subprocess.CompletedProcess[str]:
    program = shutil.which("lint-imports", path=str(Path(sys.executable).parent))
    assert program, "import-linter is in the test extra: pip install -e '.[test]'"
    return subprocess.run(
        [program, "--no-cache"], cwd=root, check=False, capture_output=True, text=True
    )


def test_imports_go_downward_only() -> None:
    result = lint_imports(ROOT)
    assert result.returncode == 0, result.stdout + result.stderr


@pytest.mark.parametrize(
    ("file", "line", "edge"),
    [
        ("engine/kernel.py", "import time", "dream.engine.kernel -> time"),
        ("strategies/__init__.py", "import dream.bars.store", "dream.strategies -> dream.bars"),
        ("reports/metrics.py", "import anthropic", "dream.reports.metrics -> anthropic"),
    ],
)
def test_a_planted_import_is_found(tmp_path: Path, file: str, line: str, edge: str) -> None:
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    leave = shutil.ignore_patterns("__pycache__")
    shutil.copytree(ROOT / "dream", tmp_path / "dream", ignore=leave)
    planted = tmp_path / "dream" / file
    planted.write_text(f"{planted.read_text(encoding='utf-8')}\n{line}\n", encoding="utf-8")
    result = lint_imports(tmp_path)
    assert result.returncode == 1, result.stdout + result.stderr
    assert edge in result.stdout
