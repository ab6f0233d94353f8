"""Compile the slowest parts of ingestion when the package is built; without a compiler, build it without them."""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

SOURCES = (Path("src/ease/wikimedia/dumps/_bz2_decoder.pyx"), Path("src/ease/wikimedia/wikitext/passes.py"))


def compile_modules(root: Path, folder: Path) -> dict[Path, Path]:
    """Compile the modules of a checkout into a folder; return their files by their sources.

    Any failure is an exception.
    """
    from Cython.Build import cythonize
    from setuptools import Distribution, Extension

    names = {source: ".".join(source.with_suffix("").parts[1:]) for source in SOURCES}
    extensions = cythonize(
        [Extension(name, [str(root / source)], language="c++") for source, name in names.items()],
        build_dir=str(folder),
        quiet=True,
    )
    command = Distribution({"ext_modules": extensions}).get_command_obj("build_ext")
    command.build_lib, command.build_temp = str(folder / "lib"), str(folder / "temp")
    command.ensure_finalized()
    command.run()
    return {source: Path(command.get_ext_fullpath(name)) for source, name in names.items()}


class CustomBuildHook(BuildHookInterface):  # type: ignore[type-arg]
    """Adds the compiled modules to a wheel; for an editable installation, puts them beside their sources."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Compile the modules, or say why the package is built without them."""
        root = Path(self.root)
        if version == "editable":
            for source in SOURCES:
                for stale in (root / source.parent).glob(f"{source.stem}.*.so"):
                    stale.unlink()
        self._folder = tempfile.TemporaryDirectory()
        try:
            built = compile_modules(root, Path(self._folder.name))
        except (Exception, SystemExit) as error:
            self.app.display_warning(
                f"The readers of bz2 and wikitext are not compiled ({type(error).__name__}: {error}). "
                "Ingestion gives the same rows in more time."
            )
            return
        for source, file in built.items():
            if version == "editable":
                shutil.copy(file, root / source.parent)
            else:
                build_data["force_include"][str(file)] = str(Path(*source.parent.parts[1:], file.name))
        if version != "editable":
            build_data["pure_python"] = False
            build_data["infer_tag"] = True

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:
        """Remove the temporary files."""
        self._folder.cleanup()
