"""What holds for every article."""

from __future__ import annotations

from ease.wikimedia.wikitext.parser import Article


def check_article(article: Article) -> None:
    """Check that the text has neither marks nor extra spaces, and that links are ordered, disjoint and tight."""
    text, position = article.text, 0
    assert not set(text) & set(map(chr, range(1, 8)))
    assert text == "\n".join(" ".join(line.split()) for line in text.split("\n") if line.strip())
    for start, end, target in article.links:
        assert position <= start < end <= len(text)
        assert text[start:end] == text[start:end].strip()
        assert "\n" not in text[start:end]
        assert target == target.strip() != ""
        position = end
