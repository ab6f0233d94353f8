"""Count the lines of real dumps that lose the words of a template, and show examples to judge by eye.

    python -m benchmarks.template_holes
    python -m benchmarks.template_holes DUMP.xml.bz2 --examples 100 --names 40

For each dump, the table has the share of prose lines with a template inside; of lines with an unknown template and no
mark of a hole (`unmarked`: at most so many lines reach training without a word, since most of these templates print
nothing or stand in brackets that are removed); and of sentences with a hole (`dropped`). With `--examples`, unmarked
lines, lines with a hole, and sentences without a hole from lines with a template (`kept`) are drawn by a fixed seed,
each with its source.
"""

from __future__ import annotations

import random
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

from benchmarks.common import command_line_parser, print_head, print_row
from benchmarks.inputs import dump_slices
from ease.wikimedia.dumps.files import DumpFile, Shard, read_siteinfo, recognise_dump
from ease.wikimedia.dumps.pages import ARTICLES, Page, iterate_pages, reason_to_skip
from ease.wikimedia.template_pages import read_templates
from ease.wikimedia.wikitext.markup import hide_extensions
from ease.wikimedia.wikitext.parser import Article, parse_wikitext
from ease.wikimedia.wikitext.templates import TemplateTable
from ease.wikimedia.wikitext.titles import SiteInfo

SEED = 0
# A line of the source with a template between words, but no list of arguments.
_TEMPLATE = re.compile(r"\{\{([^{}|\n]+)(?:\|[^{}\n]*+)?\}\}")


class Counts(NamedTuple):
    """What was counted in a dump."""

    lines: int
    with_template: int
    sentences: int
    dropped: int
    names: Counter[str]
    unmarked_examples: list[str]
    dropped_examples: list[str]
    kept_examples: list[str]


def count_dump(dump: DumpFile, site: SiteInfo, table: TemplateTable) -> Counts:
    """Count the lines and sentences of a dump's articles, and the names of unknown templates inside lines."""
    lines = with_template = sentences = dropped = 0
    names: Counter[str] = Counter()
    unmarked_examples: list[str] = []
    dropped_examples: list[str] = []
    kept_examples: list[str] = []
    for page in article_pages(dump, site):
        source = page.text
        # References are no part of their lines.
        for line in hide_extensions(source)[0].split("\n"):
            templates = _TEMPLATE.findall(line)
            if not line.strip() or line.lstrip().startswith(("|", "{", "}", "!", "=")):
                continue
            lines += 1
            if not templates:
                continue
            with_template += 1
            article = parse_wikitext(line, site, templates=table, title=page.title)
            unknown = [name.strip() for name in templates if table.find(name) is None]
            example = f"{line}\n      → {show_holes(article)}"
            if article.holes:
                names.update(unknown)
                dropped_examples.append(example)
            elif unknown and article.text:
                unmarked_examples.append(example)
            kept_examples += (f"{line}\n      → {kept.text}" for kept in article.sentences() if not kept.holes)
        for sentence in parse_wikitext(source, site, templates=table, title=page.title).sentences():
            sentences += 1
            dropped += bool(sentence.holes)
    return Counts(lines, with_template, sentences, dropped, names, unmarked_examples, dropped_examples, kept_examples)


def article_pages(dump: DumpFile, site: SiteInfo) -> Iterator[Page]:
    """Yield a dump's articles."""
    for page in iterate_pages(Shard(dump, 0, dump.path.stat().st_size), namespaces=ARTICLES):
        if not reason_to_skip(page, site):
            yield page


def show_holes(article: Article) -> str:
    """Return the text of an article with ⟨?⟩ at its holes."""
    text = article.text
    for hole in reversed(article.holes):
        text = f"{text[:hole]}⟨?⟩{text[hole:]}"
    return text


def main(arguments: Sequence[str] | None = None) -> None:
    """Parse the arguments, measure and print Markdown tables and examples."""
    parser = command_line_parser(__doc__)
    parser.add_argument("dumps", nargs="*", type=Path, help="dump files; default: those of `inputs`")
    parser.add_argument("--examples", type=int, default=0, help="examples of each kind and dump")
    parser.add_argument("--names", type=int, default=0, help="most frequent unknown names of each dump")
    options = parser.parse_args(arguments)
    print_head("dump", "lines", "with a template", "unmarked", "sentences", "dropped")
    shown: list[tuple[str, Counts]] = []
    with TemporaryDirectory() as folder:
        for path in options.dumps or dump_slices(Path(folder)):
            _, dump = recognise_dump(path)
            site = read_siteinfo(dump.path, dump.language)
            counts = count_dump(dump, site, TemplateTable(site, read_templates(path)))
            shown.append((path.name, counts))
            print_row(
                path.name.partition("-pages")[0],
                f"{counts.lines:,}",
                f"{counts.with_template / counts.lines:.1%}",
                f"{len(counts.unmarked_examples) / counts.lines:.2%}",
                f"{counts.sentences:,}",
                f"{counts.dropped / counts.sentences:.1%}",
            )
    generator = random.Random(SEED)
    for name, counts in shown:
        examples_by_kind = {
            "unmarked": counts.unmarked_examples,
            "dropped": counts.dropped_examples,
            "kept": counts.kept_examples,
        }
        for kind, examples in examples_by_kind.items():
            for example in generator.sample(examples, min(options.examples, len(examples))):
                print(f"\n{name} {kind}: {example}")
        if options.names:
            print(f"\n{name}:", ", ".join(f"{word} {count}" for word, count in counts.names.most_common(options.names)))


if __name__ == "__main__":
    main()
