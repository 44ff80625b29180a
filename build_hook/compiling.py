"""Compile the modules in which a flight spends its time, with mypyc: `python build_hook/compiling.py DIRECTORY`.

The extension modules land below DIRECTORY, each where its source would be. Run it from the root of the project, where
`[tool.flightdeck.compiled]` names the modules. What they import has to be installed: mypyc reads its types.

The sources are plain Python, and mean the same in both builds. mypyc only warns where they would not, so each of its
warnings is an error here. One example: a generator that is kept in a variable becomes a list.
"""

import contextlib
import io
import os
import shlex
import shutil
import sys
import sysconfig
import tempfile
import tomllib
from concurrent.futures import ThreadPoolExecutor
from importlib import metadata
from pathlib import Path
from typing import Any

from mypyc.build import mypycify
from setuptools import Distribution
from setuptools.command.build_ext import build_ext
from setuptools.errors import CompileError, LinkError

LIBRARY = "flightdeck"
COMPILED_MODULES = Path("cluster", "compiled_modules.txt")  # read by recordings/version.py


class CompilationError(Exception):
    """The message says what cannot be compiled, and why."""


class ParallelBuild(build_ext):
    """The build of extension modules by setuptools, with a C compiler for each core."""

    def build_extensions(self) -> None:
        """Compile the C files of each extension side by side."""
        in_turn = self.compiler.compile

        def side_by_side(sources: list[str], **options: object) -> list[str]:
            with ThreadPoolExecutor(os.cpu_count()) as pool:
                compiled = pool.map(lambda source: in_turn([source], **options), sources)
                return [made for each in compiled for made in each]

        self.compiler.compile = side_by_side
        super().build_extensions()


def modules_of(root: Path) -> list[str]:
    """The modules that pyproject.toml wants compiled. Raises CompilationError if an exclusion excludes nothing."""
    wanted = tomllib.loads((root / "pyproject.toml").read_text())["tool"]["flightdeck"]["compiled"]

    def matched(pattern: str) -> set[str]:
        found = {path.relative_to(root).as_posix() for path in root.glob(pattern)}
        if not found:
            raise CompilationError(f"pyproject.toml: {pattern} matches no module")
        return found

    modules = {module for pattern in wanted["modules"] for module in matched(pattern)}
    for pattern in wanted["except"]:
        excluded = matched(pattern)
        if not excluded & modules:
            raise CompilationError(f"pyproject.toml: {pattern} excludes nothing")
        modules -= excluded
    return sorted(modules)


def require_c_compiler() -> None:
    """Raise CompilationError without the C compiler that this Python builds extension modules with."""
    program = shlex.split(os.environ.get("CC") or sysconfig.get_config_var("CC") or "cc")[0]
    if shutil.which(program) is None:
        raise CompilationError(
            f"FLIGHTDECK_COMPILE=1 needs the C compiler {program}, which is not on PATH; without the variable the build"
            " is pure Python and needs none"
        )


def translate(modules: list[str], scratch: Path) -> list[Any]:
    """Translate modules to C, as setuptools' extensions. Raises CompilationError for an error and for any warning."""
    said = io.StringIO()
    version = f"{sys.version_info.major}.{sys.version_info.minor}"
    options = ["--strict", "--explicit-package-bases", f"--cache-dir={scratch / 'mypy'}", f"--python-version={version}"]
    try:
        with contextlib.redirect_stdout(said):
            extensions = mypycify(
                [*options, *modules],
                opt_level="2",
                debug_level="0",
                multi_file=True,
                target_dir=str(scratch / "c"),
                group_name=LIBRARY,
            )
    except SystemExit as refusal:
        raise CompilationError(said.getvalue()) from refusal
    if said.getvalue():
        raise CompilationError(said.getvalue())
    return extensions


def build(modules: list[str], into: Path) -> None:
    """Compile modules into extension modules below a directory."""
    with tempfile.TemporaryDirectory(prefix="flightdeck-") as scratch:
        distribution = Distribution({"name": LIBRARY, "ext_modules": translate(modules, Path(scratch))})
        command = ParallelBuild(distribution)
        command.build_temp, command.build_lib = str(Path(scratch) / "objects"), str(into.resolve())
        command.ensure_finalized()
        try:
            command.run()
        except (CompileError, LinkError) as error:
            raise CompilationError(f"the C compiler failed: {error}") from error
    names = [module.removesuffix(".py").removesuffix("/__init__").replace("/", ".") for module in modules]
    (into / COMPILED_MODULES).write_text("\n".join([f"mypyc {metadata.version('mypy')}", *names, ""]), encoding="utf-8")


if __name__ == "__main__":
    try:
        require_c_compiler()
        build(modules_of(Path.cwd()), Path(sys.argv[1]))
    except CompilationError as error:
        sys.exit(f"flightdeck is not compiled:\n{error}")
