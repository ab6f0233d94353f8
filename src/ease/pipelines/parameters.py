"""Every parameter of a project, for `kedro parameters` and docs/parameters.md: value, place of the value, meaning."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple, get_args

import yaml
from fsspec.implementations.local import LocalFileSystem
from kedro.config import OmegaConfigLoader
from kedro.framework.project import pipelines, settings
from kedro.io.core import is_parameter
from kedro.validation.type_extractor import TypeExtractor
from pydantic import BaseModel
from pydantic.fields import FieldInfo

from ease.encoders.defaults import EncoderDefaults, complete_parameters
from ease.errors import EaseError
from ease.methods import get_method, method_names, method_options
from ease.names import check_name, suggest
from ease.options import dotted, is_within, validate, value_at
from ease.pipelines.recipe import Recipe
from ease.pipelines.setting import MULTILINGUAL, Setting
from ease.pipelines.teach.setting import TEACH_FIELDS, TeachOptions, complete_taught_setting
from ease.training.options import TrainingOptions, training_options

_INTRODUCTION = """# Parameters

Made from the classes of the parameters by `kedro parameters --markdown > docs/parameters.md`; a test compares.
`kedro parameters NAME` shows the value of a parameter in your project, and the file, row of defaults or class that it
comes from; `--encoder=NAME` and `--env=paper` show it for another encoder and environment:

    $ kedro parameters multilingual.ease.training.learning_rate --encoder=intfloat/multilingual-e5-small
    multilingual.ease.training.learning_rate = 1e-05
        peak learning rate of AdamW; both kinds of encoder have other defaults (conf/base/parameters/encoders.yml)
        from encoders.pretrained (conf/base/parameters/encoders.yml)

The defaults here are those of the classes. `SETTING` is `multilingual`, `monolingual`, `low_resource` or `teach`. For
training parameters and the methods' options, the defaults of [the encoder and the
method](own_encoder.md#training-parameters) take precedence over the class's. `conf/base/parameters` has what differs
from the classes."""


class Parameter(NamedTuple):
    """A parameter as a run would read it."""

    name: str
    value: Any
    place: str
    """The file, row of defaults, or class that has the value"""
    description: str


class Configuration:
    """The parameters of a project's environment, without those of a command line."""

    def __init__(self, project: Path, env: str | None = None) -> None:
        """Read the environment, by default `local`.

        Raises:
            EaseError: If there is no such environment.
        """
        folder = project / settings.CONF_SOURCE
        if env is not None:
            check_name(env, [path.name for path in folder.iterdir() if path.is_dir()], "--env")
        loader: OmegaConfigLoader = settings.CONFIG_LOADER_CLASS(str(folder), env=env, **settings.CONFIG_LOADER_ARGS)
        self.values: dict[str, Any] = loader["parameters"]
        complete_taught_setting(self.values)
        self._files: dict[str, str] = {}
        for environment in (loader.base_env, env or loader.default_run_env):
            for file in _parameter_files(loader, folder / environment):
                self._add_file(file, project)

    def _add_file(self, file: Path, project: Path) -> None:
        content = yaml.safe_load(file.read_text(encoding="utf-8")) or {}
        place = file.relative_to(project).as_posix()
        self._files.update(dict.fromkeys(dotted(content), place))

    def value(self, name: str) -> Any:
        """Return the value of a dotted name; None if it is not configured."""
        return value_at(self.values, name)

    def file(self, name: str) -> str | None:
        """Return the file that has a parameter, or a group around or within it; None if no file has it."""
        above = name
        while above:
            if above in self._files:
                return self._files[above]
            above = above.rpartition(".")[0]
        return next((file for other, file in self._files.items() if other.startswith(f"{name}.")), None)


def _parameter_files(loader: OmegaConfigLoader, folder: Path) -> list[Path]:
    """Return the files of parameters of an environment by the loader's patterns, which are those of Kedro's runs."""
    patterns = loader.config_patterns["parameters"]
    # Path.glob understands `parameters*/**` as folders alone.
    matches = {
        Path(match) for pattern in patterns for match in LocalFileSystem().glob(f"{folder.as_posix()}/{pattern}")
    }
    visible = (file for file in matches if not any(part.startswith(".") for part in file.relative_to(folder).parts))
    return sorted(file for file in visible if file.suffix in {".yml", ".yaml", ".json"})


def list_parameters(configuration: Configuration, name: str = "", encoder: str | None = None) -> list[Parameter]:
    """Return a parameter, or those of a group such as `multilingual.ease`; all without a name.

    Args:
        configuration: The project's.
        name: Of a parameter or group.
        encoder: The encoder for whose defaults to ask. Default: the setting's.

    Raises:
        EaseError: If there is no such parameter.
    """
    parameters: list[Parameter] = []
    for group, model in parameter_groups(configuration).items():
        if not name or is_within(group, name) or is_within(name, group):
            parameters += _group_parameters(configuration, group, model, encoder)
    selected = [parameter for parameter in parameters if not name or is_within(parameter.name, name)]
    if not selected:
        names = [parameter.name for parameter in parameters] or list(parameter_groups(configuration))
        raise EaseError(f"There is no parameter {name!r}: {suggest(name, names)}")
    return selected


def parameter_names(inputs: Iterable[str]) -> set[str]:
    """Return the names of the parameters among the inputs of nodes or pipelines, without `params:`."""
    return {name.removeprefix("params:") for name in inputs if is_parameter(name)}


def parameter_groups(configuration: Configuration) -> dict[str, Any]:
    """Return the type of each group of parameters that a node reads; None for one without a class."""
    types = TypeExtractor(dict(pipelines)).extract_types_from_pipelines()
    names = parameter_names(name for pipeline in pipelines.values() for name in pipeline.inputs())
    names.discard("parameters")
    # Sweeps read all groups of a setting at once, some of which no other node reads.
    wholes = {name for name in names if _has_parts(name, names)}
    parts = {f"{whole}.{part}" for whole in wholes for part in configuration.value(whole) or ()}
    names = {name for name in names | parts if not _has_parts(name, names | parts)}
    return {name: types.get(name, _recipe_type(configuration.value(name))) for name in sorted(names)}


def _has_parts(name: str, names: Collection[str]) -> bool:
    return any(other.startswith(f"{name}.") for other in names)


def _recipe_type(value: Any) -> type[Recipe] | None:
    """Return the type of a recipe that only sweeps read, in an argument without a type of its own."""
    if isinstance(value, Mapping) and "method" in value:
        return Recipe
    return None


def _group_parameters(configuration: Configuration, group: str, model: Any, encoder: str | None) -> Iterator[Parameter]:
    value = configuration.value(group)
    if model is Recipe and value is not None:
        yield from _recipe_parameters(configuration, group, encoder)
    elif isinstance(model, type) and issubclass(model, BaseModel) and isinstance(value, Mapping):
        options = validate(model, value, f"Parameter `{group}`")
        yield from _model_parameters(configuration, group, options)
    else:
        values = dotted({group: value})
        for name in values:
            field = TEACH_FIELDS.get(name)
            description = ""
            if field is not None:
                description = field.description or ""
            yield Parameter(name, values[name], configuration.file(name) or "", description)


def _model_parameters(
    configuration: Configuration, group: str, options: BaseModel, places: Mapping[str, str] | None = None
) -> Iterator[Parameter]:
    """Yield the fields of options; `places` are those of defaults that are in no file of the configuration."""
    places = places or {}
    for field, info in type(options).model_fields.items():
        name = f"{group}.{field}"
        value = getattr(options, field)
        if isinstance(value, BaseModel):
            yield from _model_parameters(configuration, name, value, places)
            continue
        place = places.get(name)
        if place is not None and place.startswith("encoders."):
            place = f"{place} ({configuration.file(place.partition(',')[0])})"
        if place is None and configuration.value(name) is not None:
            place = configuration.file(name)
        yield Parameter(name, value, place or f"the class {type(options).__name__}", info.description or "")


def _recipe_parameters(configuration: Configuration, group: str, encoder: str | None) -> Iterator[Parameter]:
    """Yield a recipe's parameters with the defaults of an encoder."""
    recipe = validate(Recipe, configuration.value(group), f"Parameter `{group}`")
    setting = group.partition(".")[0]
    if encoder is None:
        values = configuration.value(f"{setting}.setting")
        encoder = validate(Setting, values, f"Parameter `{setting}.setting`").encoder.name
    encoder_rows = validate(EncoderDefaults, configuration.value("encoders"), "Parameter `encoders`")
    completed = complete_parameters(
        recipe.options, recipe.training, encoder=encoder, method=recipe.method, encoder_rows=encoder_rows
    )
    places = {f"{group}.{name}": place for name, place in completed.places.items()}
    for field in ("method", "data", "rows"):
        name = f"{group}.{field}"
        place = configuration.file(name) or "the class Recipe"
        yield Parameter(name, getattr(recipe, field), place, Recipe.model_fields[field].description or "")
    options = method_options(recipe.method, completed.options)
    yield from _model_parameters(configuration, f"{group}.options", options, places)
    training = training_options(completed.training)
    yield from _model_parameters(configuration, f"{group}.training", training, places)


def format_parameters(parameters: Iterable[Parameter]) -> str:
    """Return each parameter with its meaning and the place of its value, for a terminal."""
    blocks = []
    for parameter in parameters:
        lines = [
            f"{parameter.name} = {format_value(parameter.value)}",
            parameter.description,
            f"from {parameter.place}",
        ]
        blocks.append("\n    ".join(line for line in lines if line))
    return "\n".join(blocks)


def format_value(value: Any) -> str:
    """Return a value as JSON, which is also YAML."""

    def simplify(other: Any) -> Any:
        if isinstance(other, BaseModel):
            return other.model_dump(mode="json")
        return str(other)

    return json.dumps(value, default=simplify, ensure_ascii=False)


def document_parameters() -> str:
    """Return docs/parameters.md: every field of every group, with the default of its class."""
    groups: dict[type[BaseModel], list[str]] = {}
    types = TypeExtractor(dict(pipelines)).extract_types_from_pipelines()
    # The settings have the same groups: the multilingual one, which has all, is named first.
    for name in sorted(types, key=lambda name: (not name.startswith(MULTILINGUAL), name)):
        if isinstance(types[name], type) and issubclass(types[name], BaseModel):
            groups.setdefault(types[name], []).append(name)
    del groups[Recipe], groups[EncoderDefaults]
    sections = {", ".join(f"`{name}`" for name in names): model for model, names in groups.items()}
    sections["`teach`"] = TeachOptions
    sections["`SETTING.METHOD.training`"] = TrainingOptions
    for method in method_names():
        sections[f"`SETTING.{method}.options`"] = get_method(method).Options
    tables = [f"## {title}\n\n{_table(model)}" for title, model in sorted(sections.items())]
    return "\n\n".join([_INTRODUCTION, *tables]) + "\n"


def _table(model: type[BaseModel]) -> str:
    rows = ["| parameter | default | meaning |", "|---|---|---|"]
    for name, field in _all_fields(model):
        default = "required"
        if not field.is_required():
            default = f"`{format_value(field.get_default(call_default_factory=True))}`"
        rows.append(f"| `{name}` | {default} | {field.description or ''} |".replace("<", "&lt;"))
    return "\n".join(rows)


def _all_fields(model: type[BaseModel], prefix: str = "") -> Iterator[tuple[str, FieldInfo]]:
    """Yield the fields of a class by dotted names; those of a group in place of the group."""
    for name, field in model.model_fields.items():
        kinds = (field.annotation, *get_args(field.annotation))
        inner = next((kind for kind in kinds if isinstance(kind, type) and issubclass(kind, BaseModel)), None)
        if inner is None:
            yield f"{prefix}{name}", field
            continue
        if type(None) in kinds:
            yield f"{prefix}{name}", field
        yield from _all_fields(inner, f"{prefix}{name}.")
