"""How long a text takes to say: five characters or two and a half words a second, and pauses."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shortdrama_pipeline.rules.script import LineKind
from shortdrama_pipeline.rules.speech_rate import SPOKEN_MS_MIN, can_be_spoken, estimated_ms


@pytest.mark.parametrize(
    ("text", "language", "milliseconds"),
    [
        ("你来晚了", "zh-CN", 800),
        ("你来晚了。", "zh-CN", 800),  # the shot leaves air at the end
        ("你来晚了，我等了三年。", "zh-CN", 9 * 200 + 150),
        ("走！快走！", "zh-CN", 3 * 200 + 300),
        ("走……快走", "zh-CN", 3 * 200 + 300),  # a run of marks pauses once
        ("“走，”他说", "zh-CN", 3 * 200 + 150),
        ("二〇二六年", "zh-CN", 1_000),
        ("2026年", "zh-CN", 5 * 200),
        ("我爱OK绷", "zh-CN", 3 * 200 + 400),
        ("You are late", "en-US", 3 * 400),
        ("You're late. I waited.", "en-US", 4 * 400 + 300),
        ("mother-in-law", "en-US", 3 * 400),
        ("啊", "zh-CN", SPOKEN_MS_MIN),
        ("", "zh-CN", 0),
        ("……！？", "zh-CN", 0),
        ("😀", "en-US", 0),
    ],
)
def test_a_text_takes_its_time(text: str, language: str, milliseconds: int) -> None:
    assert estimated_ms(text, language, LineKind.DIALOGUE) == milliseconds


def test_a_thought_is_slower_than_a_line() -> None:
    assert estimated_ms("我从没告诉过他", "zh-CN", LineKind.INNER) == 7 * 200 * 110 // 100


@given(st.text(max_size=200), st.sampled_from(["zh-CN", "en-US"]))
def test_only_what_can_be_spoken_takes_time(text: str, language: str) -> None:
    assert (estimated_ms(text, language) > 0) == can_be_spoken(text)


@given(st.text(max_size=60), st.text(max_size=60))
def test_more_text_never_takes_less_time(one: str, other: str) -> None:
    assert estimated_ms(one + " " + other, "zh-CN") >= estimated_ms(one, "zh-CN")
