"""Compile the scanner of wikitext when the package is built; without a compiler, build the package without it."""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

SOURCE = Path("src/ease/wikimedia/wikitext/compiled/_scanner.pyx")
MODULE = "ease.wikimedia.wikitext.compiled._scanner"


def compile_scanner(source: Path, folder: Path) -> Path:
    """Compile the module into a folder and return its file; any failure is an exception."""
    from Cython.Build import cythonize
    from setuptools import Distribution, Extension

    for file in [source, *source.parent.glob("*.pxi")]:
        shutil.copy(file, folder)
    extensions = cythonize([Extension(MODULE, [str(folder / source.name)], language="c++")], quiet=True)
    command = Distribution({"ext_modules": extensions}).get_command_obj("build_ext")
    command.build_lib, command.build_temp = str(folder / "lib"), str(folder / "temp")
    command.ensure_finalized()
    command.run()
    return Path(command.get_ext_fullpath(MODULE))


class CustomBuildHook(BuildHookInterface):  # type: ignore[type-arg]
    """Adds the compiled scanner to a wheel; for an editable installation, puts it beside its source."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Compile the scanner, or say why the package is built without it."""
        source = Path(self.root) / SOURCE
        if version == "editable":
            for stale in source.parent.glob("_scanner.*.so"):
                stale.unlink()
        self._folder = tempfile.TemporaryDirectory()
        try:
            built = compile_scanner(source, Path(self._folder.name))
        except (Exception, SystemExit) as error:
            self.app.display_warning(
                f"The scanner of wikitext is not compiled ({type(error).__name__}: {error}). "
                "Ingestion gives the same rows in more time."
            )
            return
        if version == "editable":
            shutil.copy(built, source.parent)
        else:
            build_data["force_include"][str(built)] = str(built.relative_to(built.parents[4]))
            build_data["pure_python"] = False
            build_data["infer_tag"] = True

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:
        """Remove the temporary files."""
        self._folder.cleanup()
