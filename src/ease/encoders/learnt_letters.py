"""What was learnt about the letters of a language that an encoder does not know. Does not import torch."""

from __future__ import annotations

from pydantic import Field

from ease.options import StrictModel


class LetterGain(StrictModel):
    """A replacement that was adopted."""

    letter: str = Field(description="a lower-case letter")
    replacement: str = Field(description="the letter that is read in its place; empty: none")
    pairs: int = Field(description="names with the letter")
    gain: float = Field(description="mean decrease of their loss, in nats")
    standard_errors: float = Field(description="the gain in standard errors")


class Respelling(StrictModel):
    """What was learnt about a language's letters, and whether it helps."""

    letters: tuple[LetterGain, ...] = Field((), description="letters with their replacements")
    pieces: dict[str, str] = Field({}, description="new pieces, each with the known piece whose embedding it has")
    names: int = Field(0, description="pairs of names that the letters were learnt from")
    held_out: int = Field(0, description="pairs of other names and of first sentences that it was judged on")
    loss_before: float | None = Field(None, description="mean loss of these pairs without respelling, in nats")
    loss_after: float | None = Field(None, description="mean loss of these pairs with it")
    standard_errors: float | None = Field(None, description="the decrease of the loss in standard errors")
    reason: str = Field("", description="why no letter is replaced; empty if some are")

    @property
    def helps(self) -> bool:
        """Whether there is anything to add to the vocabulary."""
        return bool(self.pieces)
