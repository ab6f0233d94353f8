"""Search on the command line: `python -m ease.search {build,find,entities,serve}`."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ease.errors import EaseError
from ease.wikimedia.languages import check_languages

if TYPE_CHECKING:
    from ease.search.engine import Search


class _Commands(click.Group):
    """Prints an error that a user can fix as one line."""

    def invoke(self, ctx: click.Context) -> Any:
        try:
            return super().invoke(ctx)
        except EaseError as error:
            raise click.ClickException(click.style(str(error), fg="red")) from error


@click.group(cls=_Commands, context_settings={"show_default": True})
def main() -> None:
    """Search the sentences of a project by their meaning, in all of its languages."""


def _check_reader(context: click.Context, parameter: click.Parameter, language: str) -> str:
    check_languages([language], "--reader")
    return language


_setting = click.option("--setting", default="multilingual", help="Setting whose sentences are searched.")
_project = click.option("--project", type=Path, default=Path("."), help="Folder of the project.")
_k = click.option("-k", type=click.IntRange(min=1), default=10, help="Number of results.")
_reader = click.option("--reader", default="en", callback=_check_reader, help="Language of the entities' labels.")
_model = click.option(
    "--model", default="ease_plus", help="A trained method, `untrained`, or the folder or hub name of any encoder."
)


def _options(command: Callable[..., None]) -> Callable[..., None]:
    return _setting(_model(_project(command)))


@main.command()
@_options
def build(**options: Any) -> None:
    """Build a model's index, or complete an interrupted one."""
    index = _open_with_progress(options).index
    click.echo(f"{len(index.sentences):,} sentences in {index.folder}")


@main.command()
@click.argument("text")
@_k
@click.option("--language", "languages", multiple=True, help="Only sentences of this language; may be repeated.")
@_reader
@_options
def find(text: str, k: int, languages: tuple[str, ...], reader: str, **options: Any) -> None:
    """Print the sentences nearest to TEXT, with language, page, linked entities, and why each is near."""
    for result in _open_with_progress(options).search(text, k, languages, reader):
        click.echo(f"{result.cosine:6.3f}  {result.language}  {result.text}")
        pages = result.pages[0]
        if len(result.pages) > 1:
            pages += f" and {len(result.pages) - 1} more"
        click.echo(f"        page: {pages}")
        _echo_list("entities", [link.label for link in result.entities])
        _echo_list("shared entities", [link.label for link in result.why.entities])
        _echo_list("shared words", result.why.words)


@main.command()
@click.argument("text")
@_k
@_reader
@_options
def entities(text: str, k: int, reader: str, **options: Any) -> None:
    """Print the entities nearest to TEXT."""
    search = _open_with_progress(options)
    if search.entities is None:
        raise EaseError(f"No sentence in {search.index.folder} links to an entity: choose another --setting.")
    for link in search.nearest_entities(text, k, reader):
        click.echo(f"{link.cosine:6.3f}  {link.label} ({link.entity})")


@main.command()
@_setting
@_project
@click.option("--model", "models", multiple=True, help="Folder or hub name of a further encoder; may be repeated.")
@click.option("--host", default="127.0.0.1", help="Address to listen at.")
@click.option("--port", type=click.IntRange(0, 65535), default=8000, help="Port; 0: any.")
def serve(setting: str, project: Path, models: tuple[str, ...], host: str, port: int) -> None:
    """Serve the search page until Ctrl-C."""
    try:
        from ease.search.page import serve_page
    except ImportError as error:
        raise EaseError(f"The search page needs {error.name}: install the extra `demo`.") from error
    serve_page(project, setting, models, host, port)


def _open_with_progress(options: dict[str, Any]) -> Search:
    """Open the search, with a progress bar while an index is built."""
    # Inside the function: `--help` needs no torch.
    from ease.io.progress import ProgressBar
    from ease.search.engine import open_search

    with ProgressBar(desc="embedding", unit="sentence", delay=2) as bar:

        def report(embedded: int, total: int) -> None:
            bar.update(embedded - bar.done, total)

        return open_search(**options, report=report)


def _echo_list(name: str, values: list[str]) -> None:
    if values:
        click.echo(f"        {name}: {', '.join(values)}")


if __name__ == "__main__":
    main()
