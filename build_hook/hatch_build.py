"""Hatchling's hook: with FLIGHTDECK_COMPILE=1 the wheel has compiled modules, else it is pure Python.

A pure wheel needs no compiler and downloads nothing for it. An editable installation is always pure: the checkout is
what runs. `compiling.py` compiles, as a program of its own, because mypyc changes the process in which it runs.
"""

import atexit
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class CompiledModules(BuildHookInterface):  # type: ignore[type-arg]
    """Adds extension modules to a wheel, beside the sources that they were compiled from."""

    def _wanted(self) -> bool:
        return os.environ.get("FLIGHTDECK_COMPILE", "") not in {"", "0", "false", "no"}

    def dependencies(self) -> list[str]:
        """What compiling needs: mypyc, and the packages whose types it reads in the bounds of the project's own."""
        if not self._wanted():
            return []
        compiled = self.metadata.config["tool"]["flightdeck"]["compiled"]
        needed = [each for each in self.metadata.core.dependencies if re.split(r"[^\w-]", each)[0] in compiled["types"]]
        return [*compiled["requires"], *needed]

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Compile, and add what was compiled to the wheel."""
        if not self._wanted():
            return
        if version == "editable":
            self.app.display_warning("an editable installation runs its checkout, which is pure Python: not compiled")
            return
        made = Path(tempfile.mkdtemp(prefix="flightdeck-"))
        atexit.register(shutil.rmtree, made, ignore_errors=True)  # after the wheel is written
        program = Path(self.root) / "build_hook" / "compiling.py"
        if subprocess.run([sys.executable, program, made], cwd=self.root, check=False).returncode:
            sys.exit(1)  # the program has said why
        build_data["pure_python"], build_data["infer_tag"] = False, True
        for module in made.rglob("*.*"):
            build_data["force_include"][str(module)] = module.relative_to(made).as_posix()
