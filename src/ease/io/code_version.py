"""Version of the code, for provenance."""

from __future__ import annotations

import hashlib
from functools import cache
from pathlib import Path

import ease


@cache
def code_version() -> str:
    """Return the package's version and a digest of its Python and YAML sources."""
    digest = hashlib.sha256()
    package = Path(ease.__file__).parent
    for source in sorted(file for ending in ("py", "yml") for file in package.rglob(f"*.{ending}")):
        digest.update(source.read_bytes())
    return f"{ease.__version__}+{digest.hexdigest()[:12]}"
