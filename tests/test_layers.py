"""The shape of the package: which module may know which, and where each outside library lives."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from enum import IntEnum
from pathlib import Path

import pytest

import gitmem

PACKAGE = Path(gitmem.__file__).parent


class Layer(IntEnum):
    """The layers from the bottom up; a module imports from its own layer and those below."""

    BASE = 0
    MODEL = 1
    STORAGE = 2
    USE_CASES = 3
    API = 4
    FACES = 5


# A name stands for the module and, where it is a package, for all that is in it; `gitmem` alone
# for `gitmem/__init__.py`. A new module is put here first.
LAYERS = {
    "gitmem": Layer.API,
    "gitmem.errors": Layer.BASE,
    "gitmem.ids": Layer.BASE,
    "gitmem.clock": Layer.BASE,
    "gitmem.visible": Layer.BASE,
    "gitmem.model": Layer.MODEL,
    "gitmem.git": Layer.STORAGE,
    "gitmem.files": Layer.STORAGE,
    "gitmem.exclude": Layer.STORAGE,
    "gitmem.layout": Layer.STORAGE,
    "gitmem.config": Layer.STORAGE,
    "gitmem.store": Layer.STORAGE,
    "gitmem.dropbox": Layer.STORAGE,
    "gitmem.index": Layer.STORAGE,
    "gitmem.witness": Layer.STORAGE,
    "gitmem.transcripts": Layer.STORAGE,
    "gitmem.records": Layer.STORAGE,
    "gitmem.sessionfiles": Layer.STORAGE,
    "gitmem.trust": Layer.STORAGE,
    "gitmem.signed": Layer.STORAGE,
    "gitmem.views": Layer.USE_CASES,
    "gitmem.stories": Layer.USE_CASES,
    "gitmem.memory": Layer.USE_CASES,
    "gitmem.proposals": Layer.USE_CASES,
    "gitmem.tiersetup": Layer.USE_CASES,
    "gitmem.answers": Layer.USE_CASES,
    "gitmem.adoption": Layer.USE_CASES,
    "gitmem.findings": Layer.USE_CASES,
    "gitmem.audit": Layer.USE_CASES,
    "gitmem.settings": Layer.USE_CASES,
    "gitmem.server": Layer.USE_CASES,
    "gitmem.arrivals": Layer.USE_CASES,
    "gitmem.hooks": Layer.USE_CASES,
    "gitmem.mergedriver": Layer.USE_CASES,
    "gitmem.review": Layer.USE_CASES,
    "gitmem.inbox": Layer.USE_CASES,
    "gitmem.undoing": Layer.USE_CASES,
    "gitmem.status": Layer.USE_CASES,
    "gitmem.upkeep": Layer.USE_CASES,
    "gitmem.sessions": Layer.USE_CASES,
    "gitmem.remotes": Layer.USE_CASES,
    "gitmem.joining": Layer.USE_CASES,
    "gitmem.sync": Layer.USE_CASES,
    "gitmem.exchange": Layer.USE_CASES,
    "gitmem.replay": Layer.USE_CASES,
    "gitmem.doctor": Layer.USE_CASES,
    "gitmem.rebuild": Layer.USE_CASES,
    "gitmem.lookaround": Layer.USE_CASES,
    "gitmem.demo": Layer.USE_CASES,
    "gitmem.differences": Layer.USE_CASES,
    "gitmem.cli": Layer.FACES,
    "gitmem.mcp": Layer.FACES,
    "gitmem.web": Layer.FACES,
    "gitmem.__main__": Layer.FACES,
}

# What may be known only in some places: a module, or a name in one.
GIT = ("gitmem.git",)
CLOCK = ("gitmem.clock",)
ENVIRONMENT = ("gitmem.config", "gitmem.git")
HOMES = {
    "pygit2": GIT,
    "subprocess": GIT,
    "os.system": GIT,
    "os.popen": GIT,
    "os.execv": GIT,
    "os.execvp": GIT,
    "os.execvpe": GIT,
    "os.spawnvp": GIT,
    "os.posix_spawn": GIT,
    "os.posix_spawnp": GIT,
    "click": ("gitmem.cli",),
    "mcp": ("gitmem.mcp",),
    "rapidfuzz": ("gitmem.review",),
    "os.environ": ENVIRONMENT,
    "os.environb": ENVIRONMENT,
    "os.getenv": ENVIRONMENT,
    "os.putenv": ENVIRONMENT,
    "os.unsetenv": ENVIRONMENT,
    "os.path.expanduser": ENVIRONMENT,
    "os.path.expandvars": ENVIRONMENT,
    "pathlib.Path.home": ENVIRONMENT,
    "time": CLOCK,
    "random": CLOCK,
    "secrets": CLOCK,
    "uuid": CLOCK,
    "os.urandom": CLOCK,
    "datetime.datetime.now": CLOCK,
    "datetime.datetime.utcnow": CLOCK,
    "datetime.datetime.today": CLOCK,
    "datetime.date.today": CLOCK,
}
# What the model, which holds values only, must not touch: files, the machine, what changes by itself.
IMPURE = (
    "glob",
    "locale",
    "os",
    "pathlib.Path",
    "shutil",
    "socket",
    "sys",
    "tempfile",
    "threading",
    "builtins.open",
    "gitmem.clock.now",
    "gitmem.clock.random_suffix",
    "gitmem.clock.utc_offset",
)


def _source_files(package: Path) -> Iterator[tuple[str, Path]]:
    for path in sorted(package.rglob("*.py")):
        parts = path.relative_to(package).with_suffix("").parts
        names = parts[:-1] if parts[-1] == "__init__" else parts
        yield ".".join(("gitmem", *names)), path


def _dotted(node: ast.expr) -> str:
    """`a.b.c` as it is written, or nothing where it begins with something computed."""
    if isinstance(node, ast.Name):
        return node.id
    if isinstance(node, ast.Attribute) and (begin := _dotted(node.value)):
        return f"{begin}.{node.attr}"
    return ""


@dataclass(frozen=True)
class Module:
    """A module's name, its syntax tree and the names of all modules of the package."""

    name: str
    tree: ast.Module
    is_package: bool
    siblings: frozenset[str]

    def _absolute(self, node: ast.ImportFrom) -> str:
        if not node.level:
            return node.module or ""
        parts = self.name.split(".")
        base = parts[: len(parts) - node.level + self.is_package]
        return ".".join([*base, *([node.module] if node.module else [])])

    def imported(self, *, lazy: bool = True) -> Iterator[tuple[str, str]]:
        """The local name and the full name of each import; `lazy`: those within functions too."""
        for node in ast.walk(self.tree) if lazy else _at_loading(self.tree):
            if isinstance(node, ast.Import):
                for alias in node.names:
                    full = alias.name if alias.asname else alias.name.partition(".")[0]
                    yield alias.asname or full, full
                    yield "", alias.name
            elif isinstance(node, ast.ImportFrom):
                origin = self._absolute(node)
                for alias in node.names:
                    yield alias.asname or alias.name, f"{origin}.{alias.name}"

    def dependencies(self, *, lazy: bool = True) -> set[str]:
        """The modules of the package that this one imports, apart from the version number."""
        found = set()
        for _, full in self.imported(lazy=lazy):
            if full in self.siblings:
                found.add(full)
            elif full.startswith("gitmem.") and full != "gitmem.__version__":
                found.add(full.rpartition(".")[0])
        return found - {self.name}

    def used(self) -> Iterator[tuple[str, int]]:
        """The full names that it imports or reaches through an import, with line numbers."""
        local = {name: full for name, full in self.imported() if name}
        for _, full in self.imported():
            yield full, 0
        for node in ast.walk(self.tree):
            if isinstance(node, ast.Attribute | ast.Name):
                first, _, rest = _dotted(node).partition(".")
                if first in local:
                    yield f"{local[first]}.{rest}".rstrip("."), node.lineno
                elif first == "open" and not rest:
                    yield "builtins.open", node.lineno
                if isinstance(node, ast.Attribute) and node.attr == "expanduser":
                    yield "os.path.expanduser", node.lineno


def _at_loading(tree: ast.AST) -> Iterator[ast.AST]:
    """The nodes that run when the module is loaded."""
    for node in ast.iter_child_nodes(tree):
        yield node
        if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
            yield from _at_loading(node)


def _modules(package: Path) -> dict[str, Module]:
    files = list(_source_files(package))
    names = frozenset(name for name, _ in files)
    return {
        name: Module(
            name,
            ast.parse(path.read_text(encoding="utf-8"), path),
            path.name == "__init__.py",
            names,
        )
        for name, path in files
    }


def _within(name: str, place: str) -> bool:
    return name == place or name.startswith(f"{place}.")


def _unit(name: str) -> str | None:
    """The entry of the table that `name` falls under."""
    parts = name.split(".")
    unit = ".".join(parts[:2])
    return unit if unit in LAYERS else None


def _layer_faults(modules: dict[str, Module]) -> list[str]:
    faults = []
    for name, module in modules.items():
        own = _unit(name)
        if own is None:
            faults.append(f"{name} is in no layer: put it into LAYERS")
            continue
        for other in sorted(module.dependencies()):
            theirs = _unit(other)
            if theirs is None or theirs == own:
                continue
            if LAYERS[theirs] > LAYERS[own]:
                faults.append(f"{name} imports {other}, which is above it")
            elif LAYERS[own] == Layer.FACES == LAYERS[theirs] and own != "gitmem.__main__":
                faults.append(f"{name} imports {other}, another face")
    return faults


def _home_faults(modules: dict[str, Module]) -> list[str]:
    faults = set()
    for name, module in modules.items():
        for used, line in module.used():
            for thing, homes in HOMES.items():
                if _within(used, thing) and not any(_within(name, home) for home in homes):
                    faults.add(f"{name}:{line} uses {thing}, at home in {', '.join(homes)}")
    return sorted(faults)


def _purity_faults(modules: dict[str, Module]) -> list[str]:
    return sorted(
        {
            f"{name}:{line} uses {thing}"
            for name, module in modules.items()
            if _within(name, "gitmem.model")
            for used, line in module.used()
            for thing in IMPURE
            if _within(used, thing)
        }
    )


def _catches_all(handler: ast.ExceptHandler) -> bool:
    """Whether it stops every error; one that tidies up and raises it again does not."""
    if handler.type is None:
        return True
    names = {part.id for part in ast.walk(handler.type) if isinstance(part, ast.Name)}
    last = handler.body[-1]
    passed_on = isinstance(last, ast.Raise) and last.exc is None
    return bool(names & {"Exception", "BaseException"}) and not passed_on


def _broad_handlers(modules: dict[str, Module]) -> list[str]:
    return [
        f"{name}:{node.lineno} catches everything"
        for name, module in modules.items()
        for node in ast.walk(module.tree)
        if isinstance(node, ast.ExceptHandler) and _catches_all(node)
    ]


def _without_ends(needs: dict[str, set[str]]) -> dict[str, set[str]]:
    """`needs` without the modules from which no path comes back to where it began."""
    while ends := {name for name, others in needs.items() if not others & set(needs)}:
        needs = {name: others for name, others in needs.items() if name not in ends}
    return needs


def _cycles(modules: dict[str, Module]) -> list[str]:
    """The modules that lie on a cycle of imports, or between two."""
    needs = _without_ends(
        {name: module.dependencies(lazy=False) for name, module in modules.items()}
    )
    needed_by = {name: {other for other in needs if name in needs[other]} for name in needs}
    return sorted(_without_ends(needed_by))


@pytest.fixture(scope="module")
def package() -> dict[str, Module]:
    """All modules of the package as it is."""
    return _modules(PACKAGE)


def test_imports_point_down(package: dict[str, Module]) -> None:
    """No module imports from a layer above it, no face another face, and each is in a layer."""
    assert _layer_faults(package) == []


def test_libraries_stay_at_home(package: dict[str, Module]) -> None:
    """Each outside library, the environment, time and chance are known in their home only."""
    assert _home_faults(package) == []


def test_model_is_pure(package: dict[str, Module]) -> None:
    """The model knows values: no files, no environment, no clock."""
    assert _purity_faults(package) == []


def test_handlers_name_what_they_expect(package: dict[str, Module]) -> None:
    """No handler catches everything: what nobody expected must be seen."""
    assert _broad_handlers(package) == []


def test_no_import_cycles(package: dict[str, Module]) -> None:
    """No two modules need each other to be loaded."""
    assert _cycles(package) == []


@pytest.mark.parametrize(
    ("name", "source", "fault"),
    [
        ("ids.py", "from gitmem import store", "gitmem.ids imports gitmem.store"),
        ("ids.py", "from gitmem.store import put", "gitmem.ids imports gitmem.store"),
        ("ids.py", "import gitmem.store", "gitmem.ids imports gitmem.store"),
        ("ids.py", "from . import store", "gitmem.ids imports gitmem.store"),
        ("ids.py", "def f():\n    from gitmem.store import put", "gitmem.ids imports gitmem.store"),
        ("store.py", "from gitmem import open", "gitmem.store imports gitmem, which is above"),
        ("model/entries.py", "from .. import store", "gitmem.model.entries imports gitmem.store"),
        ("model/__init__.py", "from ..store import put", "gitmem.model imports gitmem.store"),
        ("web/page.py", "from gitmem.cli import main", "imports gitmem.cli.main, another face"),
        ("helpers.py", "", "gitmem.helpers is in no layer"),
        ("store.py", "import pygit2.enums", "gitmem.store:0 uses pygit2"),
        ("store.py", "def f():\n    import subprocess", "uses subprocess, at home in gitmem.git"),
        ("cli/main.py", "import os\nos.environ['X']", "gitmem.cli.main:2 uses os.environ"),
        ("store.py", "from os import environ", "uses os.environ"),
        ("store.py", "import os as o\no.getenv('X')", "gitmem.store:2 uses os.getenv"),
        ("store.py", "from pathlib import Path\nPath.home()", "uses pathlib.Path.home"),
        ("store.py", "from pathlib import Path\nPath('~').expanduser()", "uses os.path.expanduser"),
        ("store.py", "from datetime import datetime\ndatetime.now()", "uses datetime.datetime.now"),
        ("store.py", "import datetime as d\nd.datetime.now(d.UTC)", "uses datetime.datetime.now"),
        ("store.py", "from time import sleep", "uses time, at home in gitmem.clock"),
        ("memory.py", "import click", "uses click, at home in gitmem.cli"),
        ("model/entries.py", "open('x')", "gitmem.model.entries:1 uses builtins.open"),
        ("model/entries.py", "import os.path", "gitmem.model.entries:0 uses os"),
        ("model/entries.py", "from gitmem import clock\nclock.now()", "uses gitmem.clock.now"),
        ("store.py", "try:\n    pass\nexcept Exception:\n    pass", "gitmem.store:3 catches"),
        ("store.py", "try:\n    pass\nexcept:\n    pass", "gitmem.store:3 catches"),
        (
            "store.py",
            "try:\n    pass\nexcept (OSError, BaseException):\n    pass",
            "gitmem.store:3 catches",
        ),
        ("store.py", "try:\n    pass\nexcept Exception:\n    raise OSError", "gitmem.store:3"),
        ("store.py", "from gitmem import layout", "gitmem.layout\ngitmem.store"),
    ],
)
def test_the_checks_see(tmp_path: Path, name: str, source: str, fault: str) -> None:
    """Each way to break the shape is found by one of the checks above."""
    small = {
        "__init__.py": "def open(): ...",
        "errors.py": "",
        "ids.py": "",
        "clock.py": "import time",
        "layout.py": "from gitmem import store" if fault.startswith("gitmem.layout") else "",
        "store.py": "def put(): ...",
        "model/__init__.py": "",
        "cli/__init__.py": "",
        "cli/main.py": "import click\nfrom gitmem import __version__",
    }
    for file, text in (small | {name: source}).items():
        path = tmp_path / "gitmem" / file
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    modules = _modules(tmp_path / "gitmem")

    faults = [
        *_layer_faults(modules),
        *_home_faults(modules),
        *_purity_faults(modules),
        *_broad_handlers(modules),
        *_cycles(modules),
    ]

    assert fault in "\n".join(faults)


def test_the_checks_are_content_with_a_sound_package(tmp_path: Path) -> None:
    """Lazy imports downwards, the clock's formats and names that only look alike are fine."""
    sources = {
        "__init__.py": "def open():\n    from gitmem.memory import Memory\n    return Memory",
        "clock.py": "import time\ndef now(): return time.time()\ndef rfc3339(at): ...",
        "memory.py": "from gitmem import clock, store\nclass Memory:\n    at = clock.now()",
        "model/__init__.py": "",
        "model/events.py": "from gitmem.clock import rfc3339\nfrom pathlib import PurePosixPath",
        "store.py": "from gitmem import layout\nfrom gitmem.model import events\nclass S:\n    def open(self): self.time = 1",
        "layout.py": "def f():\n    from gitmem import store\ntry:\n    pass\nexcept BaseException:\n    tidy()\n    raise",
        "cli/main.py": "import click\nfrom gitmem import __version__, memory",
    }
    for file, text in sources.items():
        path = tmp_path / "gitmem" / file
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    modules = _modules(tmp_path / "gitmem")

    assert _layer_faults(modules) == []
    assert _home_faults(modules) == []
    assert _purity_faults(modules) == []
    assert _broad_handlers(modules) == []
    assert _cycles(modules) == []
