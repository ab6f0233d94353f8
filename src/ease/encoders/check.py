"""Check whether an encoder can be loaded, without reading its weights, and say what is known about it.

The `name` of an encoder is a hub name, a folder, a file of word vectors, or `random:`; `revision` is a commit, branch
or tag on the hub, None `main`.
"""

from __future__ import annotations

import errno
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from threading import Lock, Thread
from typing import Annotated, Any

from pydantic import BaseModel, Field, TypeAdapter, ValidationError
from safetensors import SafetensorError

from ease.encoders.options import RANDOM
from ease.errors import EaseError
from ease.io.contents import POINTER, is_pointer
from ease.io.files import read_json

HUB_TIMEOUT = 5.0
"""Seconds in which the hub must answer, with the look-up of its address."""

HUB_NAME = re.compile(r"\w[\w.-]*(?:/\w[\w.-]*)?")
"""Form of names on the Hugging Face hub"""

MODULES = "modules.json"
"""List of an encoder's modules, which sentence-transformers saves"""
ADAPTER = "adapter_config.json"
"""Configuration of PEFT's adapters"""
CONFIG = "config.json"
"""Configuration of a transformer"""
LENGTH = "sentence_bert_config.json"
"""Settings of an encoder's transformer, which sentence-transformers saves"""
WEIGHTS = tuple(name + ending for name in ("model.safetensors", "pytorch_model.bin") for ending in ("", ".index.json"))
"""Names of the files of a transformer's weights, or of the index of their parts"""

_SMALL_JSON = 1 << 20
"""Bytes; a tokenizer's file has several million, and is read with the tokenizer"""
_CACHED = re.compile(r"models--([\w.-]+?)--([\w.-]+)")
"""Folder of a model of an organisation in the hub's cache"""
_LAYER = re.compile(r"encoder\.layer\.\d+\.")
"""Names of the weights of BERT's and RoBERTa's layers"""
_UNUSED = re.compile(r"(^|\.)(pooler|decoder)\.")
"""Names of weights without which texts are embedded all the same"""
READING = Lock()
"""Held while transformers reads a model: meanwhile it replaces `PreTrainedModel.tie_weights` for all threads, and two
threads at once leave it replaced."""
_NO_CODE = {"local_files_only": True, "trust_remote_code": False}
"""transformers would otherwise ask on a terminal whether to run code that is in the folder."""


class _Module(BaseModel):
    """An entry of an encoder's list of modules."""

    type: str
    path: str


def check_encoder(name: str, *, transformer: bool = False) -> None:
    """Check the files of an encoder in a folder, in the hub's cache or on the hub, and what they contain.

    With `transformer`, it must begin with a transformer, as the encoders that methods train.
    """
    check_encoder_files(name, transformer=transformer)
    check_encoder_contents(name)


def check_encoder_files(name: str, *, transformer: bool = False) -> None:
    """Check what needs no torch: that an encoder's files are there, or that the hub has them."""
    if name == RANDOM:
        return
    if name.startswith(RANDOM):
        raise EaseError(f"Unknown encoder {name!r}: write `{RANDOM}` alone and its architecture in `random`.")
    try:
        _check_files(name)
        fits = not transformer or _begins_with_transformer(name)
    except Exception as error:  # whatever libraries raise for the files of others
        raise EaseError(cannot_load(name, error)) from error
    if not fits:
        raise EaseError(
            f"Encoder {name!r} is not a transformer, and this training run needs one: give a transformer's folder "
            "or name on the Hugging Face hub."
        )


def check_encoder_contents(name: str) -> None:
    """Check that the architecture is known, and that weights and tokenizer fit it; imports torch and transformers.

    Only complete encoders on this machine are checked.
    """
    if name.startswith(RANDOM) or is_vector_file(name):
        return
    folder = _local_folder(name)
    if folder is None or _is_to_download(name, folder):
        return
    try:
        transformer = _transformer_folder(folder)
        if transformer is not None and not (transformer / ADAPTER).is_file():
            _check_transformer(transformer)
    except Exception as error:  # whatever libraries raise for the files of others
        raise EaseError(cannot_load(name, error)) from error


def cannot_load(name: str, error: Exception) -> str:
    """Return the error message for an encoder that does not load."""
    cause = _first_line(error)
    if type(error).__name__ == "UnpicklingError":  # torch's text advises to run what the file holds
        cause = "a file of its weights is broken or holds more than tensors, which may run code: save it as safetensors"
    return (
        f"Encoder {name!r} does not load: {cause.rstrip('.')}. Give a folder that holds one, or a name on the Hugging "
        "Face hub; offline, the folder of `hf download NAME --local-dir FOLDER` on a machine with network access."
    )


def _first_line(error: Exception) -> str:
    lines = str(error).splitlines() or [type(error).__name__]
    if lines[0].endswith(":"):
        return " ".join(" ".join(lines).split())
    return lines[0]


def ask_hub(name: str, revision: str | None = None) -> set[str]:
    """Ask the hub once for a model and return its files; loading would retry for minutes if the hub is silent."""
    # Slow to import, and so below.
    from huggingface_hub import auth_check, constants, model_info
    from huggingface_hub.errors import (
        GatedRepoError,
        HFValidationError,
        RepositoryNotFoundError,
        RevisionNotFoundError,
    )

    if constants.HF_HUB_OFFLINE:
        raise ValueError(
            f"there is no folder {name!r}, HF_HUB_OFFLINE is set, and the cache of this machine has no such model"
        )
    answers: list[Any] = []

    def ask() -> None:
        try:
            model = model_info(name, revision=revision, timeout=HUB_TIMEOUT)
            if model.gated:
                auth_check(name)
            answers.append(model)
        except Exception as error:  # raised below
            answers.append(error)

    # A thread: the timeout of a request counts for each address of the hub, and not for looking up its name.
    request = Thread(target=ask, daemon=True)
    request.start()
    request.join(HUB_TIMEOUT)
    answer: Any = TimeoutError(f"no answer in {HUB_TIMEOUT:g} s")
    if answers:
        answer = answers[0]
    if not isinstance(answer, Exception):
        return {file.rfilename for file in answer.siblings or ()}
    hub = constants.ENDPOINT
    message = _first_line(answer)
    causes: dict[type[Exception], str] = {
        GatedRepoError: f"access to it is restricted: accept its conditions at {hub}/{name}, and set HF_TOKEN",
        RevisionNotFoundError: f"the hub at {hub} has no revision {revision!r} of it",
        RepositoryNotFoundError: f"the hub at {hub} has no such model or a private one: check the name or set HF_TOKEN",
        HFValidationError: message,
        Exception: f"the hub at {hub} cannot be reached ({message})",
    }
    cause = next(text for kind, text in causes.items() if isinstance(answer, kind))
    raise ValueError(cause) from answer


def place_of(name: str, revision: str | None = None) -> str:
    """Return where to load an encoder from: its name, or its folder in the hub's cache if the hub does not give it."""
    if name and Path(name).exists():
        if revision is not None:
            raise ValueError(f"{name} is a folder, which has no revision: remove `revision`")
        return name
    _require_hub_name(name)
    try:
        ask_hub(name, revision)
    except ValueError:
        cached = _local_folder(name, revision)
        if cached is None:
            raise
        return str(cached)
    return name


def _require_hub_name(name: str) -> None:
    """Refuse a name that is no folder's and cannot be one on the hub: it is a path."""
    if not HUB_NAME.fullmatch(name):
        raise ValueError(f"there is no folder {name!r}")


def commit_of(name: str, revision: str | None = None) -> str | None:
    """Return the commit of a model in the hub's cache; None for a folder, or if the model is not there."""
    if Path(name).exists():
        return None
    folder = _local_folder(name, revision)
    if folder is None:
        return None
    return folder.name


def _local_folder(name: str, revision: str | None = None) -> Path | None:
    """Return an encoder's own folder or file, or its folder in the hub's cache, which is named by the commit."""
    from huggingface_hub import try_to_load_from_cache

    if name and Path(name).exists():
        return Path(name)
    if not HUB_NAME.fullmatch(name):
        return None
    # A model of word vectors has no config.json, one of transformers no modules.json.
    for file in (CONFIG, MODULES):
        path = try_to_load_from_cache(name, file, revision=revision)
        if isinstance(path, str):
            return Path(path).parent
    return None


def _transformer_folder(folder: Path) -> Path | None:
    """Return the folder of a model's transformer, if the model begins with one."""
    modules = _modules(folder)
    if not modules:
        return folder
    if not modules[0].type.endswith("Transformer"):
        return None
    return folder / modules[0].path


def _modules(folder: Path) -> list[_Module]:
    """Return the entries of an encoder's list of modules; none if sentence-transformers did not save it."""
    file = folder / MODULES
    if not file.is_file():
        return []
    try:
        return TypeAdapter(Annotated[list[_Module], Field(min_length=1)]).validate_json(file.read_bytes())
    except ValidationError as error:
        raise ValueError(f"{file} is no list of modules ({error.errors()[0]['msg']}): get it again") from error


def _has_weights(folder: Path) -> bool:
    return any((folder / name).is_file() for name in WEIGHTS)


def _begins_with_transformer(name: str) -> bool:
    """Return whether an encoder's first module is a transformer, by its list of modules."""
    from huggingface_hub import hf_hub_download
    from huggingface_hub.errors import EntryNotFoundError

    folder = _local_folder(name)
    if folder is None:
        try:
            folder = Path(hf_hub_download(name, MODULES, etag_timeout=HUB_TIMEOUT)).parent
        except EntryNotFoundError:  # it was not saved by sentence-transformers
            return True
    return folder.is_dir() and _transformer_folder(folder) is not None


def is_vector_file(name: str) -> bool:
    """Whether the name of an encoder denotes a file of word vectors, which may be missing."""
    return name.endswith((".txt", ".vec", ".gz")) or Path(name).is_file()


def _is_to_download(name: str, folder: Path) -> bool:
    """Return whether an encoder's folder is of the hub's cache, and lacks the weights, which the hub has."""
    from huggingface_hub import constants

    return folder != Path(name) and not constants.HF_HUB_OFFLINE and not _has_weights(folder)


def _check_files(name: str) -> None:
    """Check that the files are there, or that the hub has them."""
    if is_vector_file(name):
        if not Path(name).is_file():
            raise ValueError(f"there is no file {name}")
        return
    folder = _local_folder(name)
    if folder is None:
        _require_hub_name(name)
    if folder is None or _is_to_download(name, folder):
        files = ask_hub(name)
        if MODULES not in files and not (CONFIG in files and files & set(WEIGHTS)):
            raise ValueError(f"the hub's {name} has no {MODULES}, or no {CONFIG} with one of {', '.join(WEIGHTS)}")
        return
    _check_folder(folder)


def check_local_files(name: str, revision: str | None = None) -> None:
    """Check the files of an encoder that is on this machine."""
    folder = _local_folder(name, revision)
    if folder is not None and folder.is_dir() and not _is_to_download(name, folder):
        _check_folder(folder)


def _check_folder(folder: Path) -> None:
    """Check that the files of an encoder are there, and that their JSON can be read."""
    # Not all below the folder, which may hold anything if it is not an encoder's.
    files = sorted(folder.glob("*"))
    _check_readable(files)
    for module in _modules(folder):
        inside = folder / module.path
        # Git keeps no empty folder, and a normalisation has no file.
        if not inside.is_dir() and not module.type.endswith("Normalize"):
            raise ValueError(f"its {MODULES} names {inside}, which does not exist: get the folder again")
        if inside != folder:
            _check_readable(sorted(inside.glob("*")))
    transformer = _transformer_folder(folder)
    # PEFT's adapters name the model that they change, in place of a configuration.
    if transformer is None or (transformer / ADAPTER).is_file():
        return
    _check_saved_length(transformer)
    if not (transformer / CONFIG).is_file():
        raise ValueError(f"{folder} holds no model: there is no {CONFIG} in it")
    if not isinstance(read_json(transformer / CONFIG), dict):
        raise ValueError(f"{transformer / CONFIG} is no configuration of a model: get it again")
    if not _has_weights(transformer):
        raise ValueError(f"{transformer} has no weights: none of {', '.join(WEIGHTS)}")


def _check_readable(files: Sequence[Path]) -> None:
    """Refuse pointers of Git LFS, as a clone without Git LFS leaves them, and broken JSON."""
    for file in filter(Path.is_file, files):
        if is_pointer(file):
            raise ValueError(f"{file} is {POINTER}")
        if file.suffix == ".json" and file.stat().st_size < _SMALL_JSON and read_json(file) is None:
            raise ValueError(f"{file} is not JSON: get it again")


def _check_transformer(transformer: Path) -> None:
    """Check that the architecture is known, and that weights and tokenizer are complete."""
    from transformers import AutoTokenizer

    config = _check_weights(transformer)
    try:
        tokenizer = AutoTokenizer.from_pretrained(transformer, **_NO_CODE)
    except Exception as error:  # of several libraries, which name no file
        raise ValueError(f"the tokenizer in {transformer} is broken: get its files again") from error
    check_tokenizer(tokenizer, config)


def _check_saved_length(transformer: Path) -> None:
    settings = read_json(transformer / LENGTH)
    if isinstance(settings, dict) and settings.get("max_seq_length") is not None:
        check_length(settings["max_seq_length"])


def check_length(length: Any) -> None:
    """Refuse a `max_seq_length` that is no positive number, which fails at the first text only."""
    if isinstance(length, bool) or not isinstance(length, int) or length < 1:
        raise ValueError(f"its `max_seq_length` is {length!r}, in {LENGTH}: set a positive number of tokens")


def check_saved(name: str, revision: str | None = None) -> None:
    """Check that an encoder on this machine has all weights of its configuration; missing ones would be random."""
    folder = _local_folder(name, revision)
    if folder is None:
        return
    transformer = _transformer_folder(folder)
    if transformer is not None and _has_weights(transformer):
        _check_weights(transformer)


def _check_weights(transformer: Path) -> Any:
    """Compare names and sizes of the stored weights, which are not read, with the configuration, and return it."""
    from transformers import CONFIG_MAPPING, AutoModel
    from transformers.utils import logging

    config = read_json(transformer / CONFIG)
    kind = config.get("model_type")
    if kind not in CONFIG_MAPPING and "auto_map" not in config:
        raise ValueError(f"transformers does not know its `model_type` {kind!r}, in {CONFIG}: update the library")
    level = logging.get_verbosity()
    logging.set_verbosity_error()
    try:
        with READING, no_progress_bars():
            model, names = AutoModel.from_pretrained(
                transformer, device_map="meta", output_loading_info=True, ignore_mismatched_sizes=True, **_NO_CODE
            )
    except (SafetensorError, EOFError, KeyError, OSError, RuntimeError) as error:
        if not _is_of_damaged_weights(error, transformer):
            raise
        raise ValueError(f"the weights in {transformer} are cut or damaged: get them again") from error
    finally:
        logging.set_verbosity(level)
    missing = sorted(name for name in names["missing_keys"] if not _UNUSED.search(name))
    further = sorted(filter(_LAYER.search, names["unexpected_keys"]))
    other_sizes = sorted(name for name, *_ in names["mismatched_keys"])
    fault = ""
    if missing:
        fault = f"lack `{missing[0]}`"
    elif further:
        fault = f"have `{further[0]}`, which it does not describe"
    elif other_sizes:
        fault = f"have another size of `{other_sizes[0]}`"
    if fault:
        raise ValueError(
            f"the weights in {transformer} do not fit its {CONFIG}, since they {fault}: get both files from one place"
        )
    return model.config


def _is_of_damaged_weights(error: Exception, transformer: Path) -> bool:
    """Return whether a reader of weights raised an error for the content of a file."""
    if isinstance(error, SafetensorError):
        return True
    # transformers raises an OSError without a number for a file that is not there.
    if isinstance(error, OSError) and error.errno != errno.EINVAL:
        return False
    # torch's reader has no error of its own.
    return any(transformer.glob("pytorch_model*.bin")) and not any(transformer.glob("model*.safetensors"))


def check_tokenizer(tokenizer: Any, config: Any) -> None:
    """Refuse a tokenizer of another model, or of special tokens only, as transformers makes without its files."""
    if len(tokenizer) <= len(tokenizer.all_special_tokens):
        raise ValueError("it has no tokenizer, so every word would be unknown: add the tokenizer's files")
    rows = getattr(config.get_text_config(), "vocab_size", None)
    highest = max(tokenizer.get_vocab().values())
    if rows is not None and highest >= rows:
        raise ValueError(
            f"its tokenizer has a token {highest}, but the embeddings end at {rows - 1}: get both from one place"
        )


@contextmanager
def no_progress_bars() -> Iterator[None]:
    """Disable the progress bars of transformers."""
    from transformers.utils import logging

    enabled = logging.is_progress_bar_enabled()
    logging.disable_progress_bar()
    try:
        yield
    finally:
        if enabled:
            logging.enable_progress_bar()


def base_model_of(name: str) -> str | None:
    """Return the hub name of an encoder; None if the encoder has no hub name.

    A folder is named by its place in the hub's cache, its configuration, or the `base_model` of its card.
    """
    place = Path(name)
    if not place.exists() and HUB_NAME.fullmatch(name):  # `random:` is no hub name
        return name
    if not place.is_dir():
        return None
    return _cached_name(place) or next(iter(_declared_bases(place)), None)


def origins_of(name: str) -> list[str]:
    """Return the names by which an encoder may be known: its own, then those of the models that it was made from.

    A hub name and the folder of its files have the same origins, if the files are on this machine.
    """
    origins = [name]
    folder = _local_folder(name)
    if folder is None or not folder.is_dir():
        return origins
    cached = _cached_name(folder)
    if cached is not None:
        origins.append(cached)
    return origins + _declared_bases(folder)


def _cached_name(folder: Path) -> str | None:
    """Return the hub name of a folder in the hub's cache."""
    for part in folder.parts:
        if match := _CACHED.fullmatch(part):
            return f"{match[1]}/{match[2]}"
    return None


def _declared_bases(folder: Path) -> list[str]:
    """Return the hub names that a folder's configuration and card give as the model that it was made from."""
    from huggingface_hub import ModelCard

    try:
        card = ModelCard.load(folder / "README.md").data.base_model
    except (OSError, ValueError):
        card = None
    if isinstance(card, list):
        card = card[0]
    declared = (configuration_of(str(folder)).get("_name_or_path"), card)
    # transformers may have written the path that the encoder was saved from, which is not its name.
    return [base for base in declared if isinstance(base, str) and HUB_NAME.fullmatch(base) and not Path(base).exists()]


def downloaded_commit(name: str) -> str | None:
    """Return the hub's commit of the files that `hf download NAME --local-dir FOLDER` wrote to a folder, if any."""
    for file in (CONFIG, MODULES):
        metadata = Path(name) / ".cache" / "huggingface" / "download" / f"{file}.metadata"
        if metadata.is_file():
            # The lines are the commit, the file's hash and the time.
            return metadata.read_text(encoding="utf-8").partition("\n")[0].strip()
    return None


def start_of(name: str) -> str:
    """Return a description of a training run's starting encoder; a folder appears without its path."""
    if name.startswith(RANDOM):
        return "random weights"
    place = Path(name)
    base = base_model_of(name)
    if not place.exists() or any(map(_CACHED.fullmatch, place.parts)):
        return f"`{base or name}`"
    folder = f"`{place.resolve().name}`"
    if base is None:
        return folder
    return f"{folder}, based on `{base}`"


def configuration_of(name: str) -> dict[str, Any]:
    """Return the transformer's configuration; empty if it is neither in a folder nor in the hub's cache."""
    folder = _local_folder(name)
    if folder is None:
        return {}
    config = read_json(folder / CONFIG)
    if not isinstance(config, dict):
        return {}
    return config


def is_sentence_encoder(name: str) -> bool:
    """Return whether a folder, or a model in the hub's cache, was saved by sentence-transformers."""
    folder = _local_folder(name)
    return folder is not None and (folder / MODULES).is_file()
