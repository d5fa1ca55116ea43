"""One translator: what the product refuses becomes a failure that Dagster may not retry by itself."""

from collections.abc import Iterator
from contextlib import contextmanager

import dagster as dg

from shortdrama_pipeline.errors import ShortdramaError


@contextmanager
def refusals() -> Iterator[None]:
    """Raise `dg.Failure(allow_retries=False)` with message, hint and facts for any error of ours.

    Dagster has three kinds of retry and `allow_retries` speaks to one of them only, so no room of ours
    carries a RetryPolicy, runs are never retried, and every purchase ends at its fence anyway.
    """
    try:
        yield
    except ShortdramaError as error:
        facts = {name: dg.MetadataValue.text(str(value)) for name, value in error.facts.items()}
        said = {"code": dg.MetadataValue.text(error.code), "to do": dg.MetadataValue.text(error.hint)}
        raise dg.Failure(
            description=f"{error.message}. {error.hint}", metadata={**said, **facts}, allow_retries=False
        ) from error
