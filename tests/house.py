"""What the house is made of: its modules, and what each of them imports."""

from __future__ import annotations

import ast
from dataclasses import dataclass
from functools import cache
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parent.parent
PACKAGE = "ytrag_core"
FOLDERS = {
    PACKAGE: REPOSITORY / PACKAGE,
    f"{PACKAGE}.kernels": REPOSITORY / "kernels",
    f"{PACKAGE}.storage": REPOSITORY / "storage",
    f"{PACKAGE}.schemas": REPOSITORY / "schemas",
}


@dataclass(frozen=True, slots=True)
class Module:
    """One Python file of the product under the name it is imported by."""

    name: str
    path: Path
    tree: ast.Module

    @property
    def where(self) -> str:
        """The file as a reader of a failure looks for it."""
        return self.path.relative_to(REPOSITORY).as_posix()


def product_files() -> dict[str, Path]:
    """Map each file that must ship, as a path inside the installed package, to where it lies here."""
    files = {}
    for package, folder in FOLDERS.items():
        installed = package.replace(".", "/")
        for path in _walk(folder):
            files[f"{installed}/{path.relative_to(folder).as_posix()}"] = path
    return files


@cache
def modules() -> tuple[Module, ...]:
    """Return every module of the product, parsed."""
    found = []
    for installed, path in sorted(product_files().items()):
        if path.suffix == ".py":
            name = installed.removesuffix(".py").replace("/", ".").removesuffix(".__init__")
            found.append(Module(name, path, ast.parse(path.read_text(encoding="utf-8"), str(path))))
    return tuple(found)


def imports(module: Module) -> list[tuple[int, str]]:
    """List the line and full name of everything a module imports, wherever in it the import stands.

    ``from a.b import c`` gives ``a.b.c``. Imports for type checkers only, imports inside functions and calls
    of ``import_module`` with a literal name count like any other.
    """
    found: list[tuple[int, str]] = []
    for node in ast.walk(module.tree):
        match node:
            case ast.Import():
                found += [(node.lineno, alias.name) for alias in node.names]
            case ast.ImportFrom():
                home = _home(module, node)
                found += [(node.lineno, f"{home}.{alias.name}") for alias in node.names]
            case ast.Call(
                func=ast.Name(id="import_module" | "__import__") | ast.Attribute(attr="import_module"),
                args=[ast.Constant(value=str(name)), *_],
            ):
                found.append((node.lineno, name))
    return found


def _home(module: Module, node: ast.ImportFrom) -> str:
    if node.level == 0:
        return node.module or ""
    parts = module.name.split(".")
    is_package = module.path.name == "__init__.py"
    parts = parts[: len(parts) - node.level + is_package]
    return ".".join([*parts, *([node.module] if node.module else [])])


def _walk(folder: Path) -> list[Path]:
    files: list[Path] = []
    for path in sorted(folder.iterdir()):
        if path.is_symlink() or path.name.startswith(".") or path.name == "__pycache__":
            continue
        files += _walk(path) if path.is_dir() else [path]
    return files
