"""What is refused before a Quote: each case alone, and all its reasons at once (P-1.3, P-9.1, P-12.2)."""

from collections.abc import Mapping
from dataclasses import replace

import pytest

from shortdrama_pipeline.errors import NotReady
from shortdrama_pipeline.rules.plans import ItemRequest
from shortdrama_pipeline.rules.readiness import Channel, channel_of, check_item, refuse
from shortdrama_pipeline.rules.states import MediaKind

SHA = "a" * 64
VIDEO = ItemRequest(
    "2026-W32-0",
    "shot:s1-01",
    "video",
    MediaKind.VIDEO,
    {
        "width": 1080,
        "height": 1920,
        "frame_rate": [24, 1],
        "duration_frames": 96,
        "frame": {"sha256": SHA},
        "references": [{"sha256": SHA}],
    },
    constraints={"references": 1},
)
SPEECH = ItemRequest(
    "2026-W32-0",
    "line:s1-l1",
    "speech",
    MediaKind.SPEECH,
    {"text": "你来了。", "voice": "female-1", "language": "zh-CN", "speaker": "林晚"},
    constraints={"binding_id": "talk"},
)
CHANNELS = (
    Channel("film", MediaKind.VIDEO, duration_ms_min=1000, duration_ms_max=5000, references_max=2),
    Channel("talk", MediaKind.SPEECH, characters_max=10, voices=("female-1",)),
)
PRICED = {"film", "talk"}


def changed(request: ItemRequest, **params: object) -> ItemRequest:
    return replace(request, params={**request.params, **params})


@pytest.mark.parametrize("request_", [VIDEO, SPEECH])
def test_a_complete_item_is_ready_and_stale_when_its_choice_is(request_: ItemRequest) -> None:
    assert check_item(request_, CHANNELS, priced=PRICED, stale=False).state == "ready"
    assert check_item(request_, CHANNELS, priced=PRICED, stale=True).state == "stale"


@pytest.mark.parametrize(
    ("params", "code"),
    [
        ({"frame": {"sha256": None}}, "reference"),
        ({"references": []}, "reference"),
        ({"references": [{"sha256": None}]}, "reference"),
        ({"duration_frames": 0}, "duration"),
        ({"duration_frames": -24}, "duration"),
        ({"duration_frames": None}, "duration"),
        ({"duration_frames": 24 * 61}, "duration"),
        ({"frame_rate": [24, 0]}, "duration"),
        ({"frame_rate": [0, 1]}, "duration"),
        ({"frame_rate": None}, "duration"),
        ({"frame_rate": [120, 1]}, "duration"),
        ({"width": 0}, "ratio"),
        ({"width": -1080}, "ratio"),
        ({"width": 1081}, "ratio"),
        ({"width": 200, "height": 1920}, "ratio"),
        ({"height": 100_000}, "ratio"),
        ({"height": None}, "ratio"),
        ({"duration_frames": 23}, "capability"),
        ({"duration_frames": 121}, "capability"),
        ({"references": [{"sha256": SHA}] * 3}, "capability"),
    ],
)
def test_a_film_that_cannot_be_made_is_not_ready(params: Mapping[str, object], code: str) -> None:
    found = check_item(changed(VIDEO, **params), CHANNELS, priced=PRICED, stale=False)
    assert found.state == "notReady"
    assert code in {reason.code for reason in found.reasons}


@pytest.mark.parametrize(
    ("params", "code"),
    [
        ({"text": " "}, "text"),
        ({"text": "长" * 2001}, "text"),
        ({"text": "长" * 11}, "capability"),
        ({"voice": None}, "voice"),
        ({"voice": "unheard-of"}, "voice"),
    ],
)
def test_a_line_that_cannot_be_spoken_is_not_ready(params: Mapping[str, object], code: str) -> None:
    found = check_item(changed(SPEECH, **params), CHANNELS, priced=PRICED, stale=False)
    assert code in {reason.code for reason in found.reasons}


@pytest.mark.parametrize(
    ("channels", "priced", "code"),
    [((), PRICED, "capability"), (CHANNELS[1:], PRICED, "capability"), (CHANNELS, {"talk"}, "price")],
)
def test_without_a_binding_or_a_price_nothing_is_ready(
    channels: tuple[Channel, ...], priced: set[str], code: str
) -> None:
    found = check_item(VIDEO, channels, priced=priced, stale=False)
    assert [reason.code for reason in found.reasons] == [code]


def test_a_pinned_binding_is_the_only_one_that_counts() -> None:
    other = Channel("other", MediaKind.SPEECH, voices=("female-1",))
    assert check_item(SPEECH, (other,), priced={"other"}, stale=False).state == "notReady"


def test_all_reasons_are_told_at_once() -> None:
    broken = changed(VIDEO, width=0, duration_frames=0, frame=None)
    found = check_item(broken, CHANNELS, priced=PRICED, stale=False)
    assert {reason.code for reason in found.reasons} == {"ratio", "duration", "reference"}
    with pytest.raises(NotReady, match=r"shot:s1-01#video is not ready.*and 2 more") as refused:
        refuse(found.reasons)
    assert len(refused.value.facts["reasons"]) == 3  # type: ignore[arg-type]
    refuse(())


def test_limits_are_read_from_the_labels_of_a_binding() -> None:
    labels = {"duration_ms_max": "15000", "references_max": "9", "voices": "a, b ,,c", "duration_ms_min": "x"}
    assert channel_of("film", "video", labels) == Channel(
        "film", MediaKind.VIDEO, duration_ms_max=15000, references_max=9, voices=("a", "b", "c")
    )
