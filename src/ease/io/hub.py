"""Upload of a folder to the Hugging Face hub, with errors in one line."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Literal

from ease.errors import EaseError

Kind = Literal["model", "dataset"]

LATER = "the folder is complete; run the same command again to push it."
_ADVICE = {
    401: "set HF_TOKEN to a valid token.",
    403: "use a token with the right to write, or an owner whose repositories it may change.",
}
"""What to do after an HTTP status"""


def require_token(repository: str) -> str:
    """Return the token for a push; raises EaseError without one, or if the hub's library is set to work offline."""
    from huggingface_hub import get_token
    from huggingface_hub.constants import is_offline_mode

    if is_offline_mode():
        raise EaseError(f"HF_HUB_OFFLINE is set: unset it to push {repository}.")
    # From HF_TOKEN, or stored by `hf auth login`.
    token = get_token()
    if token is None:
        raise EaseError(
            f"There is no token to push {repository}: set HF_TOKEN to one that may write, or run `hf auth login`."
        )
    return token


def push_folder(
    folder: Path,
    repository: str,
    token: str,
    kind: Kind = "model",
    *,
    endpoint: str | None = None,
    private: bool = True,
    replaced: Sequence[str] = (),
) -> str:
    """Commit all files of a folder at once to a repository, made if missing, and return the commit's address.

    Args:
        folder: The folder.
        repository: `OWNER/NAME`.
        token: A token that may write to the repository.
        kind: Kind of the repository.
        endpoint: Address of the hub; None: the environment variable HF_ENDPOINT, or huggingface.co.
        private: Whether a new repository is private.
        replaced: Patterns of files that are removed unless the folder has them.

    Raises:
        EaseError: If the hub refuses the token, the name or the files, or cannot be reached.
    """
    from huggingface_hub import HfApi
    from huggingface_hub.errors import HfHubHTTPError, HFValidationError, HTTPError  # type: ignore[attr-defined]

    api = HfApi(endpoint=endpoint, token=token)
    try:
        api.create_repo(repository, repo_type=kind, private=private, exist_ok=True)
        commit = api.upload_folder(
            repo_id=repository,
            folder_path=folder,
            repo_type=kind,
            commit_message=f"Publish {folder.name}",
            delete_patterns=list(replaced) or None,
        )
    except HFValidationError as error:
        raise EaseError(f"{repository!r} is not a name on the hub: write OWNER/NAME.") from error
    except HfHubHTTPError as error:
        status = error.response.status_code
        answer = f"HTTP status {status}"
        # The hub's own message may have several lines, or none.
        message = " ".join((error.server_message or "").split())
        if message:
            answer += f" ({message})"
        raise EaseError(
            f"The hub at {api.endpoint} refused {repository} with {answer}: {_ADVICE.get(status, LATER)}"
        ) from error
    except (HTTPError, OSError) as error:
        cause = (str(error).splitlines() or [type(error).__name__])[0]
        raise EaseError(f"The hub at {api.endpoint} cannot be reached ({cause}): {LATER}") from error
    return str(commit.commit_url)
