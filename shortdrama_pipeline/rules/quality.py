"""What a delivered film must measure up to (P-2.9)."""

from shortdrama_pipeline.rules.renders import LOUDNESS_MILLI_LUFS

LOUDNESS_OFF_MAX = 1_000  # thousandths of a LUFS: one LU to either side
AV_DIFFERENCE_US_MAX = 41_667  # one picture at 24 a second


def film_faults(*, loudness_milli_lufs: int | None, av_difference_us: int) -> tuple[str, ...]:
    """Return in words what is wrong with a film; empty for a good one. A silent film has no loudness."""
    faults = []
    if abs(av_difference_us) > AV_DIFFERENCE_US_MAX:
        faults.append(f"sound and picture end {abs(av_difference_us) // 1000} ms apart")
    if loudness_milli_lufs is not None and abs(loudness_milli_lufs - LOUDNESS_MILLI_LUFS) > LOUDNESS_OFF_MAX:
        faults.append(
            f"the loudness is off by {abs(loudness_milli_lufs - LOUDNESS_MILLI_LUFS)} thousandths of a LU"
        )
    return tuple(faults)
