"""A film is measured against one picture and one loudness unit."""

import pytest

from shortdrama_pipeline.rules.quality import AV_DIFFERENCE_US_MAX, film_faults


@pytest.mark.parametrize(
    ("milli_lufs", "difference_us", "count"),
    [
        (-16_000, 0, 0),
        (-16_100, AV_DIFFERENCE_US_MAX, 0),
        (-17_000, -AV_DIFFERENCE_US_MAX, 0),
        (None, 0, 0),
        (-17_001, 0, 1),
        (-14_999, 0, 1),
        (-16_000, AV_DIFFERENCE_US_MAX + 1, 1),
        (-30_000, -500_000, 2),
    ],
)
def test_a_film_is_good_within_one_picture_and_one_loudness_unit(
    milli_lufs: int | None, difference_us: int, count: int
) -> None:
    assert len(film_faults(loudness_milli_lufs=milli_lufs, av_difference_us=difference_us)) == count
