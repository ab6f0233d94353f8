"""The base class of parameters and of records that are written as JSON."""

from pydantic import BaseModel, ConfigDict


class StrictModel(BaseModel):
    """A Pydantic model that refuses unknown fields and does not change after its construction."""

    model_config = ConfigDict(extra="forbid", frozen=True)
