"""What pyproject.toml promises: used and permissive dependencies, one version, the Pythons it names."""

from __future__ import annotations

import re
import sys
import tomllib
from importlib import metadata
from typing import Any

import pytest
from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet

import ytrag_core
from tests.house import PACKAGE, REPOSITORY, imports, modules

COPYLEFT = re.compile(r"\b(A?GPL|LGPL|EUPL|OSL|CC-BY-NC|SSPL|BUSL)|GNU|Affero|non-?commercial", re.IGNORECASE)
with (REPOSITORY / "pyproject.toml").open("rb") as file:
    PROJECT: dict[str, Any] = tomllib.load(file)["project"]
RUNTIME: list[str] = [*PROJECT["dependencies"], *PROJECT["optional-dependencies"]["docs"]]


def test_dependencies_are_what_the_product_imports() -> None:
    foreign = {
        name.partition(".")[0]
        for module in modules()
        for _, name in imports(module)
        if name.partition(".")[0] not in {*sys.stdlib_module_names, PACKAGE}
    }
    owners = metadata.packages_distributions()
    imported = {_canonical(owner) for name in foreign for owner in owners.get(name, [name])}
    declared = {_canonical(Requirement(line).name) for line in RUNTIME}
    assert imported == declared, (
        f"imported but not declared: {sorted(imported - declared)}; "
        f"declared but never imported: {sorted(declared - imported)}"
    )


def test_every_dependency_has_a_lower_bound() -> None:
    extras = PROJECT["optional-dependencies"].values()
    lines = [*PROJECT["dependencies"], *(line for extra in extras for line in extra)]
    unbounded = [
        line
        for line in lines
        if Requirement(line).name != PACKAGE.partition("_")[0]
        and not any(s.operator == ">=" for s in Requirement(line).specifier)
    ]
    assert not unbounded


def test_what_a_user_installs_is_permissive() -> None:
    licences = {name: _licence(name) for name in sorted(_closure(RUNTIME))}
    assert len(licences) > len(RUNTIME)
    restrictive = {name: licence for name, licence in licences.items() if COPYLEFT.search(licence)}
    assert not restrictive, f"copyleft or restricted licences among the runtime dependencies: {restrictive}"


def test_one_version_everywhere() -> None:
    assert PROJECT["version"] == ytrag_core.__version__ == metadata.version("ytrag")


def test_the_pythons_named_are_the_pythons_allowed() -> None:
    allowed = SpecifierSet(PROJECT["requires-python"])
    named = re.findall(r":: Python :: (3\.\d+)$", "\n".join(PROJECT["classifiers"]), re.MULTILINE)
    assert named
    assert all(allowed.contains(f"{version}.0") for version in named)
    assert not allowed.contains("3.10.99")


@pytest.mark.parametrize(
    ("text", "is_copyleft"),
    [
        ("GNU General Public License (GPL)", True),
        ("AGPL-3.0-only", True),
        ("LGPL-2.1-or-later", True),
        ("MIT", False),
        ("BSD-3-Clause AND Zlib", False),
        ("MPL-2.0 AND MIT", False),
    ],
)
def test_copyleft_is_recognised(text: str, is_copyleft: bool) -> None:
    assert bool(COPYLEFT.search(text)) is is_copyleft


def _canonical(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def _closure(requirements: list[str]) -> set[str]:
    found: set[str] = set()
    waiting = [Requirement(line) for line in requirements]
    while waiting:
        requirement = waiting.pop()
        name = _canonical(requirement.name)
        applies = requirement.marker is None or requirement.marker.evaluate({"extra": ""})
        if name in found or not applies:
            continue
        found.add(name)
        waiting += [Requirement(line) for line in metadata.requires(name) or []]
    return found


def _licence(name: str) -> str:
    about = metadata.metadata(name)
    classifiers = [line for line in about.get_all("Classifier") or [] if line.startswith("License ::")]
    # Some packages put the whole text of their licence, and of what they bundle, in this field.
    titles = [text.strip().partition("\n")[0] for text in about.get_all("License") or []]
    return " | ".join([*(about.get_all("License-Expression") or []), *titles, *classifiers])
