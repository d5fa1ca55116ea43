"""A studio with published prices."""

import pytest

from shortdrama_pipeline.services.context import Studio
from shortdrama_pipeline.services.pricing import ensure_published


@pytest.fixture
def priced(studio: Studio) -> Studio:
    """The studio of the tests with its price list in force. No vendor answers behind it."""
    ensure_published(studio)
    return studio
