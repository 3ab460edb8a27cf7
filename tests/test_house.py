"""The rules of the house: one-way imports, true public names, nothing unsafe, a fixed top level."""

from __future__ import annotations

import ast
import json
import shutil
import subprocess
import sys
from importlib import import_module

import pytest

import ytrag_core
from tests.house import PACKAGE, REPOSITORY, Module, imports, modules

# From the ground up: a room may import rooms of lower storeys, never of its own or a higher one.
STOREYS = (
    ("errors",),
    ("config", "schemas"),
    ("workers", "recent"),
    ("kernels",),
    ("storage",),
    ("documents", "schema", "embedding", "llm"),
    ("extraction",),
    ("graph",),
    ("tree",),
    ("retrieval",),
    ("pipeline",),
    ("agent",),
    ("sample",),
    ("knowledge_base",),
    ("evaluation", "service"),
    ("cli",),
)
# Modules that are the command line together.
COMMAND_LINE = {
    "agent_view",
    "cli",
    "cli_index",
    "cli_jobs",
    "cli_entities",
    "cli_explain",
    "cli_extraction",
    "cli_filters",
    "cli_groups",
    "cli_agent",
    "cli_eval",
    "cli_models",
    "cli_options",
    "cli_repair",
    "cli_retrieve",
    "cli_schema",
    "cli_schema_review",
    "cli_tune",
    "console",
    "demo",
    "environment",
    "rendering",
    "reports",
    "schema_rendering",
    "__main__",
}
STOREY_OF = {room: storey for storey, rooms in enumerate(STOREYS) for room in rooms}

TOP_LEVEL = {
    ".ci", ".gitignore", "CHANGELOG.md", "LICENSE", "Makefile", "README.md", "benches", "kernels",
    "pyproject.toml", "schemas", "storage", "tests", "ytrag_core",
}  # fmt: skip
MAX_LINES = 400

UNSAFE_MODULES = {"pickle", "_pickle", "cPickle", "cloudpickle", "dill", "joblib", "marshal", "shelve"}
UNSAFE_CALLS = {"eval", "exec", "os.system", "os.popen", "numpy.load", "np.load", "pickle.loads", "yaml.load"}


def test_every_module_belongs_to_a_room() -> None:
    unknown = {m.where for m in modules() if m.name != PACKAGE and _room(m.name) not in STOREY_OF}
    assert not unknown, f"modules in no room; add the room to STOREYS at its height: {sorted(unknown)}"


def test_imports_go_one_way() -> None:
    wrong = [f"{m.where}:{line} imports {name}" for m in modules() for line, name in _backward(m)]
    assert not wrong, "imports that run back or sideways:\n" + "\n".join(wrong)


@pytest.mark.parametrize(
    ("importer", "source"),
    [
        ("ytrag_core.kernels.csr", "from ytrag_core.graph import tables"),
        ("ytrag_core.schema.load", "def f():\n    import ytrag_core.embedding.encoder"),
        ("ytrag_core.tree.build", "if TYPE_CHECKING:\n    from ytrag_core.retrieval.model import Evidence"),
        ("ytrag_core.storage.arrays", "from ..documents.model import Document"),
        ("ytrag_core.retrieval.routes", "from ytrag_core import KnowledgeBase"),
        ("ytrag_core.evaluation.metrics", "import_module('ytrag_core.service.app')"),
    ],
)
def test_the_contract_catches(importer: str, source: str) -> None:
    path = REPOSITORY / (importer.replace(".", "/") + ".py")
    assert _backward(Module(importer, path, ast.parse(source)))


@pytest.mark.parametrize(
    ("importer", "source"),
    [
        ("ytrag_core.kernels.csr", "from ytrag_core.kernels.decorator import kernel"),
        ("ytrag_core.graph.tables", "from ytrag_core.errors import YtragError\nimport numpy"),
        (
            "ytrag_core.pipeline.build",
            "from ytrag_core import __version__, tree",
        ),
        ("ytrag_core.cli", "from ytrag_core.console import bar\nfrom ytrag_core import kernels"),
    ],
)
def test_the_contract_lets_pass(importer: str, source: str) -> None:
    path = REPOSITORY / (importer.replace(".", "/") + ".py")
    assert not _backward(Module(importer, path, ast.parse(source)))


def test_every_module_says_what_it_is_in_its_first_line() -> None:
    silent = []
    for module in modules():
        first, docstring = module.tree.body[:1], ast.get_docstring(module.tree, clean=False)
        if not (docstring and docstring.split("\n")[0].strip() and first[0].lineno == 1):
            silent.append(module.where)
    assert not silent, f"modules whose first line is no docstring: {silent}"


def test_modules_hold_one_idea() -> None:
    lengths = {m.where: len(m.path.read_text(encoding="utf-8").splitlines()) for m in modules()}
    assert not {where: length for where, length in lengths.items() if length > MAX_LINES}


def test_nothing_runs_text_or_unpickles() -> None:
    unsafe = [f"{m.where}:{line} {what}" for m in modules() for line, what in _unsafe(m)]
    assert not unsafe, "\n".join(unsafe)


def test_unsafe_things_are_seen() -> None:
    source = (
        "import pickle\nfrom joblib import load\neval('1')\nos.system('ls')\n"
        "subprocess.run('ls', shell=True)\nnp.load('a', allow_pickle=True)\nfrom os import system"
    )
    module = Module("ytrag_core.x", REPOSITORY / "x.py", ast.parse(source))
    assert {line for line, _ in _unsafe(module)} == {1, 2, 3, 4, 5, 6, 7}


def test_the_environment_is_read_by_the_command_line_only() -> None:
    readers = [
        f"{m.where}:{node.lineno}"
        for m in modules()
        if _room(m.name) != "cli"
        for node in ast.walk(m.tree)
        if isinstance(node, ast.Attribute | ast.Name)
        and ast.unparse(node) in {"os.environ", "os.getenv", "environ", "getenv"}
    ]
    assert not readers, f"settings come from the caller, not from the environment: {readers}"


def test_public_names_are_true() -> None:
    root = next(m for m in modules() if m.name == PACKAGE)
    for_checkers = {name.rpartition(".")[2]: name for _, name in imports(root) if name.startswith(PACKAGE)}
    assert list(ytrag_core.__all__) == sorted(ytrag_core.__all__)
    assert {*for_checkers, "__version__"} == set(ytrag_core.__all__) == set(dir(ytrag_core))
    for name, home in for_checkers.items():
        assert getattr(ytrag_core, name) is getattr(import_module(home.rpartition(".")[0]), name)
    with pytest.raises(AttributeError, match="no_such_name"):
        getattr(ytrag_core, "no_such_name")  # noqa: B009


def test_importing_the_package_stays_light() -> None:
    loaded = json.loads(_child("import json, sys, ytrag_core; print(json.dumps(sorted(sys.modules)))"))
    assert "ytrag_core" in loaded
    assert not {"numba", "numpy", "onnxruntime", "pyarrow", "openai"} & set(loaded)


@pytest.mark.parametrize("folder", ["kernels", "storage", "schemas"])
def test_mapped_folders_are_linked_for_static_tools(folder: str) -> None:
    link = REPOSITORY / PACKAGE / folder
    assert link.is_symlink()
    assert link.readlink().as_posix() == f"../{folder}"


@pytest.mark.parametrize("folder", ["kernels", "storage"])
def test_mapped_folders_import_by_one_name(folder: str) -> None:
    code = (
        f"import sys; sys.path.insert(0, {str(REPOSITORY)!r})\n"
        f"try: import {folder}\n"
        "except ImportError as error: print(error)"
    )
    assert f"ytrag_core.{folder}" in _child(code)


def test_the_top_level_is_fixed() -> None:
    if shutil.which("git") is None or not (REPOSITORY / ".git").exists():
        pytest.skip("not a git clone")
    listing = subprocess.run(
        ["git", "ls-files", "-z"], cwd=REPOSITORY, check=True, capture_output=True, text=True
    )
    tracked = {name.partition("/")[0] for name in listing.stdout.split("\0") if name}
    if not tracked:
        pytest.skip("nothing is committed yet")
    assert tracked == TOP_LEVEL


def _room(name: str) -> str:
    first = name.split(".")[1] if "." in name else name
    return "cli" if first in COMMAND_LINE else first


def _backward(module: Module) -> list[tuple[int, str]]:
    if module.name == PACKAGE:
        return []
    room = _room(module.name)
    wrong = []
    for line, name in imports(module):
        if name.partition(".")[0] != PACKAGE or name == f"{PACKAGE}.__version__":
            continue
        other = _room(name)
        # A public name of the package root lies above every room.
        height = STOREY_OF.get(other, len(STOREYS))
        if other != room and height >= STOREY_OF.get(room, 0):
            wrong.append((line, name))
    return wrong


def _unsafe(module: Module) -> list[tuple[int, str]]:
    found = [
        (line, f"imports {name}")
        for line, name in imports(module)
        if name.partition(".")[0] in UNSAFE_MODULES or name in UNSAFE_CALLS
    ]
    for node in ast.walk(module.tree):
        if not isinstance(node, ast.Call):
            continue
        called = ast.unparse(node.func)
        shell = any(k.arg == "shell" and ast.unparse(k.value) != "False" for k in node.keywords)
        if called in UNSAFE_CALLS or shell:
            found.append((node.lineno, f"calls {called}{' through a shell' if shell else ''}"))
    return found


def _child(code: str) -> str:
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout
