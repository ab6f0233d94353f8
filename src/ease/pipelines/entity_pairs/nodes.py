"""From links to pairs: a vocabulary of entities, and the pairs that pass every filter."""

from __future__ import annotations

import logging

from ease.entities.links import first_sentences
from ease.entities.negatives import (
    HardNegativeOptions,
    prepare_mining,
)
from ease.entities.pairs import (
    PairOptions,
    check_pairs_left,
    count_filters,
    pairs_with_filters,
    select_pairs,
)
from ease.entities.vocabulary import VocabularyOptions, build_vocabulary, with_min_link_count
from ease.errors import EaseError
from ease.lazy import DataFrame, Figure, Table
from ease.pipelines.located_dumps import Dumps, has_types, usable_sitelinks
from ease.pipelines.setting import Setting
from ease.reporting.markdown_tables import format_losses
from ease.reporting.plots import plot_pair_funnel

logger = logging.getLogger(__name__)


def make_vocabulary(links: Table, sitelinks: Table, options: VocabularyOptions, setting: Setting) -> Table:
    """Number the entities above `min_link_count`."""
    options = with_min_link_count(options, links)
    vocabulary = build_vocabulary(links, sitelinks, options, setting.languages)
    if not vocabulary.count().execute():
        raise EaseError(
            f"`min_link_count` {options.min_link_count} leaves no entity: "
            f"none of the {links.count().execute()} resolved links leads to one that is linked more often. "
            "Lower it, or give larger dumps."
        )
    return vocabulary


def make_pairs(
    sentences: Table,
    links: Table,
    sitelinks: Table,
    entity_types: Table,
    entity_vocabulary: Table,
    dumps: Dumps,
    audit_pages: Table | None,
    options: PairOptions,
    negatives: HardNegativeOptions,
    setting: Setting,
) -> tuple[Table, DataFrame, Figure]:
    """Select the setting's pairs; with `without: drop`, only pairs that have a hard negative.

    Returns:
        The pairs; how many each filter removed, as a table, also in the log, and as a plot. Pairs on excluded pages of
        the audit are not counted.
    """
    links_of_pairs = links
    if options.sentences == "first":
        # The entity of a page pairs with its first sentence, whether or not the sentence links to it.
        setting_sentences = sentences.filter(sentences.language.isin(list(setting.languages)))
        links_of_pairs = first_sentences(setting_sentences, usable_sitelinks(dumps, sitelinks))
    if options.without_audit:
        if audit_pages is None:
            raise EaseError(
                f"`{setting.name}.pairs.without_audit` is set, and the setting has no audit yet: make it by `kedro run "
                "--pipelines=audit`, or set the parameter to false."
            )
        links_of_pairs = links_of_pairs.anti_join(audit_pages, ["language", "page_id"])
        logger.info("%d pages of the audit are kept out of training", audit_pages.count().execute())
    mining = None
    if negatives.without == "drop" and has_types(dumps):
        mining = prepare_mining(sentences, links, sitelinks, entity_types, negatives)
    filtered = pairs_with_filters(sentences, links_of_pairs, entity_vocabulary, options, mining)
    # Read by the funnel and by the pairs: a lazy expression would be computed for each.
    filtered = filtered.cache()
    funnel = count_filters(filtered, options).to_pandas()
    check_pairs_left(funnel, options.min_pairs_per_language, setting.languages)
    logger.info(
        "Pairs left after each filter (only languages that lost some, and the total):\n%s",
        format_losses(funnel, "pairs", "left"),
    )
    return select_pairs(filtered, sentences, options), funnel, plot_pair_funnel(funnel)
