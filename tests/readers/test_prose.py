"""Prose is split by rule: speech by its marks, speakers by the words beside it, and nothing lost."""

from pathlib import Path

import pytest

from shortdrama_pipeline.readers.reading import read_script
from shortdrama_pipeline.rules.script import LineKind
from tests.readers.shape import read, remarks, shape, words

# 聊斋志异·画皮, the opening; 蒲松龄, 17th century.
HUAPI = (
    "太原王生，早行，遇一女郎，抱袱独奔，甚艰于步，急走趁之，乃二八姝丽。心相爱乐，问：「何夙夜踽踽独行？」"
    "女曰：「行道之人，不能解愁忧，何劳相问。」生曰：「卿何愁忧？或可效力，不辞也。」女黯然曰：「父母贪赂，"
    "鬻妾朱门。嫡妒甚，朝詈而夕楚辱之，所弗堪也，将远遁耳。」问：「何之？」曰：「在亡之人，乌有定所。」生言："
    "「敝庐不远，即烦枉顾。」女喜，从之。生代携袱物，导与同归。\n"
)

# 孔乙己, a part; 鲁迅, 1919.
KONG_YIJI = (
    "孔乙己是站着喝酒而穿长衫的唯一的人。因为他姓孔，别人便从描红纸上的“上大人孔乙己”这半懂不懂的话里，替他取下"
    "一个绰号，叫作孔乙己。孔乙己一到店，所有喝酒的人便都看着他笑，有的叫道，“孔乙己，你脸上又添上新伤疤了！”他不"
    "回答，对柜里说，“温两碗酒，要一碟茴香豆。”便排出九文大钱。他们又故意的高声嚷道，“你一定又偷了人家的东西了！”"
    "孔乙己睁大眼睛说，“你怎么这样凭空污人清白……”“什么清白？我前天亲眼见你偷了何家的书，吊着打。”孔乙己便涨红了"
    "脸，额上的青筋条条绽出，争辩道，“窃书不能算偷……窃书！……读书人的事，能算偷么？”接连便是难懂的话，什么“君子固"
    "穷”，什么“者乎”之类，引得众人都哄笑起来：店内外充满了快活的空气。\n\n"
    "孔乙己很颓唐的仰面答道，“这……下回还清罢。这一回是现钱，酒要好。”\n"
)

# Pride and Prejudice, the opening; Jane Austen, 1813. Hard-wrapped, as plain text editions are.
PRIDE = """It is a truth universally acknowledged, that a single man in possession
of a good fortune, must be in want of a wife.

“My dear Mr. Bennet,” said his lady to him one day, “have you heard that
Netherfield Park is let at last?”

Mr. Bennet replied that he had not.

“But it is,” returned she; “for Mrs. Long has just been here, and she
told me all about it.”

“What is his name?”

“Bingley.”

"My dear," replied Mrs. Bennet, "how can you be so tiresome?"
"""

# A Scandal in Bohemia, a part; Arthur Conan Doyle, 1891.
SCANDAL = """“Wedlock suits you,” he remarked. “I think, Watson, that you have put on
seven and a half pounds since I saw you.”

“Seven!” I answered.

“Quite so,” he answered, lighting a cigarette, and throwing himself down
into an armchair. “You see, but you do not observe. The distinction is clear.”
"""


def without_marks(text: str) -> str:
    return "".join(each for each in words(text) if each not in '“”「」『』"')


def all_text(text: str) -> str:
    script = read(text, ".txt").script
    return "".join(line.text for scene in script.scenes for line in scene.lines)


def test_huapi_has_seven_speeches_of_two_speakers_and_all_its_words() -> None:
    script = read(HUAPI, ".txt").script
    assert shape(script)[1:] == [
        "> 太原王生，早行，遇一女郎，抱袱独奔，甚艰于步，急走趁之，乃二八姝丽。心相爱乐，",
        "问： [attribution]",
        "?: 何夙夜踽踽独行？",
        "女曰： [attribution]",
        "女: 行道之人，不能解愁忧，何劳相问。",
        "生曰： [attribution]",
        "生: 卿何愁忧？或可效力，不辞也。",
        "女黯然曰： [attribution]",
        "女 (黯然): 父母贪赂，鬻妾朱门。嫡妒甚，朝詈而夕楚辱之，所弗堪也，将远遁耳。",
        "问： [attribution]",
        "?: 何之？",
        "曰： [attribution]",
        "?: 在亡之人，乌有定所。",
        "生言： [attribution]",
        "生: 敝庐不远，即烦枉顾。",
        "> 女喜，从之。生代携袱物，导与同归。",
    ]
    assert [each.name for each in script.characters] == ["女", "生"]
    assert all_text(HUAPI) == without_marks(HUAPI)


def test_the_shared_case_is_this_text(request: pytest.FixtureRequest) -> None:
    path = Path(request.config.rootpath) / "tests" / "readers" / "huapi.txt"
    assert path.read_text("utf-8").strip() == HUAPI.strip()
    assert len([x for x in read_script(path).script.scenes[0].lines if x.kind is LineKind.DIALOGUE]) == 7


@pytest.mark.parametrize(
    "text", [HUAPI, KONG_YIJI, PRIDE, SCANDAL], ids=["huapi", "kong", "pride", "scandal"]
)
def test_literature_comes_out_whole_and_in_order(text: str) -> None:
    assert without_marks(all_text(text)) == without_marks(text)


def test_lu_xun_quotes_terms_that_are_no_speech_and_leaves_who_he_does_not_name() -> None:
    found = read(KONG_YIJI, ".txt")
    spoken = [each for each in shape(found.script) if ": " in each and not each.startswith(("##", ">"))]
    assert spoken == [
        "?: 孔乙己，你脸上又添上新伤疤了！",
        "? (对柜里): 温两碗酒，要一碟茴香豆。",
        "? (又故意的高声): 你一定又偷了人家的东西了！",
        "孔乙己 (睁大眼睛): 你怎么这样凭空污人清白……",
        "?: 什么清白？我前天亲眼见你偷了何家的书，吊着打。",
        "?: 窃书不能算偷……窃书！……读书人的事，能算偷么？",
        "孔乙己 (很颓唐的仰面): 这……下回还清罢。这一回是现钱，酒要好。",
    ]
    assert remarks(found) == [(1, "5 speeches have no named speaker (lines 1)")]


def test_austen_names_only_whom_she_names() -> None:
    assert shape(read(PRIDE, ".txt").script)[2:] == [
        "?: My dear Mr. Bennet,",
        "said his lady to him one day, [attribution]",
        "?: have you heard that Netherfield Park is let at last?",
        "> Mr. Bennet replied that he had not.",
        "?: But it is,",
        "returned she; [attribution]",
        "?: for Mrs. Long has just been here, and she told me all about it.",
        "?: What is his name?",
        "?: Bingley.",
        "Mrs. Bennet: My dear,",
        "replied Mrs. Bennet, [attribution]",
        "Mrs. Bennet: how can you be so tiresome?",
    ]


def test_doyle_tells_what_is_done_while_speaking() -> None:
    assert shape(read(SCANDAL, ".txt").script)[1:] == [
        "?: Wedlock suits you,",
        "he remarked. [attribution]",
        "?: I think, Watson, that you have put on seven and a half pounds since I saw you.",
        "I: Seven!",
        "I answered. [attribution]",
        "?: Quite so,",
        "he answered, lighting a cigarette, and throwing himself down into an armchair.",
        "?: You see, but you do not observe. The distinction is clear.",
    ]


SPEAKERS = [
    ("林晚说：“走吧。”", "林晚"),
    ("林晚冷冷地说道：“走吧。”", "林晚 (冷冷地)"),
    ("林晚轻轻松松地答：“走吧。”", "林晚 (轻轻松松地)"),
    ("林晚对顾沉说：“走吧。”", "林晚 (对顾沉)"),
    ("林晚笑道：“走吧。”", "林晚"),
    ("忽然，林晚大声喊道：“走吧！”", "林晚 (大声)"),
    ("“走吧。”林晚说。", "林晚"),
    ("“走吧，”林晚低声说，“天黑了。”", "林晚 (低声)"),
    ("“真的吗？”林晚问，“你没骗我？”", "林晚"),
    ("「走吧。」林晚說。", "?"),
    ("『走吧。』林晚问道。", "林晚"),
    ("他说：“走吧。”", "?"),
    ("她冷冷地说：“走吧。”", "? (冷冷地)"),
    ("有人问：“谁？”", "?"),
    ("我说：“走吧。”", "我"),
    ("“走吧。”", "?"),
    ("“走吧。”天黑了。", "?"),
    ("子曰：「学而时习之，不亦说乎？」", "子"),
    ("生乃曰：「诺。」", "生 (乃)"),
    ('"Go," said Maya.', "Maya"),
    ('"Go," Maya said.', "Maya"),
    ('"Go!" cried Mr. Smith.', "Mr. Smith"),
    ('"Go," Maya quietly replied.', "Maya (quietly)"),
    ('"Go," said the old man.', "the old man"),
    ('"Go," she said.', "?"),
    ('"Go," I said.', "I"),
    ('Maya said, "Go."', "Maya"),
    ('Maya asked: "Where?"', "Maya"),
    ('Maya said, striking a match, "Go."', "Maya"),
    ('"Go." Then said nothing.', "?"),
    ("‘Go,’ said Maya.", "Maya"),
    ("'Go,' said Maya.", "Maya"),
]


@pytest.mark.parametrize(("text", "speaker"), SPEAKERS)
def test_the_speaker_is_the_one_the_words_name(text: str, speaker: str) -> None:
    lines = shape(read(text, ".txt", language="zh").script)
    spoken = [each for each in lines if ": " in each and not each.endswith("[attribution]")]
    assert spoken[0].split(": ")[0] == speaker


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        ("“甲。”“乙。”", ["?: 甲。", "?: 乙。"]),
        ("他叫“老王”。", ["> 他叫“老王”。"]),
        ("“他说‘走吧’，我没走。”林晚说。", ["林晚: 他说‘走吧’，我没走。", "林晚说。 [attribution]"]),
        ("「他說『走』，我沒走。」", ["?: 他說『走』，我沒走。"]),
        ('"He said \'go,\' and I went."', ["?: He said 'go,' and I went."]),
        ("It's the dogs' bowl, isn't it?", ["> It's the dogs' bowl, isn't it?"]),
        ("He’s here. The dogs’ bowl.", ["> He’s here. The dogs’ bowl."]),
        ("这是“没有合上的话。", ["> 这是“没有合上的话。"]),
        ("她喊：“……！”", ["她喊： [attribution]", "……！"]),
        ("“”空的。", ["> “”空的。"]),
    ],
)  # fmt: skip
def test_marks_are_told_apart(text: str, lines: list[str]) -> None:
    assert shape(read(text, ".txt", language="zh").script)[1:] == lines


def test_a_speech_over_several_paragraphs_has_one_speaker() -> None:
    text = "“第一段。\n\n“第二段。\n\n“第三段。”林晚说。\n\n“好。”\n"
    spoken = [each for each in shape(read(text, ".txt").script) if ": " in each]
    assert spoken == ["林晚: 第一段。", "林晚: 第二段。", "林晚: 第三段。", "?: 好。"]


def test_a_speech_that_is_not_opened_again_still_goes_on() -> None:
    text = "林晚说：“第一段。\n\n第二段。”\n\n她走了。\n"
    assert shape(read(text, ".txt").script)[1:] == [
        "林晚说： [attribution]",
        "林晚: 第一段。",
        "林晚: 第二段。",
        "> 她走了。",
    ]


def test_chapters_and_breaks_are_scenes_and_a_lone_first_line_the_title() -> None:
    text = "长夜\n\n第一章 雨\n\n天黑了。\n\n第二章 晴\n\n“走吧。”林晚说。\n\n***\n\n三年后。\n"
    script = read(text, ".txt").script
    assert script.title == "长夜"
    assert [each.heading for each in script.scenes] == ["第一章 雨", "第二章 晴", ""]
    assert [each.lines[0].source_line for each in script.scenes] == [5, 9, 13]


def test_characters_come_only_from_what_is_attributed_to_them() -> None:
    script = read("老王和小李去了北京。“到了。”小李说。老王没有说话。\n", ".txt").script
    assert [each.name for each in script.characters] == ["小李"]
