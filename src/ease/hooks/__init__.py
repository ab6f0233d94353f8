"""What happens around every run: errors in one line, provenance beside every version, parameters and data in MLflow."""

from ease.hooks.errors import ConciseErrors
from ease.hooks.given import TrailingColons
from ease.hooks.in_use import InUse
from ease.hooks.mlflow_store import MlflowStore
from ease.hooks.provenance import Provenance
from ease.hooks.tracking import Tracking
from ease.hooks.work import WorkFolders

__all__ = ["ConciseErrors", "InUse", "MlflowStore", "Provenance", "Tracking", "TrailingColons", "WorkFolders"]
