"""Markdown scripts: `## scene`, `**角色**：台词`, `NAME: line`, `> narration`, `*(action)*`.

CommonMark tells the blocks apart; inside a paragraph only emphasis is layout, all else is text. A
document without a single cue is prose, and its headings are its chapters. Tables, code and HTML are
refused by line, since their words would have no place in a script.
"""

import re
from dataclasses import dataclass

from markdown_it import MarkdownIt
from markdown_it.token import Token

from shortdrama_pipeline.readers.building import ScriptBuilder
from shortdrama_pipeline.readers.cues import Cue
from shortdrama_pipeline.readers.headings import Heading, read_heading
from shortdrama_pipeline.readers.marks import (
    is_cast_heading,
    is_transition,
    joined,
    read_cast_line,
    without_emphasis,
)
from shortdrama_pipeline.readers.outcome import ReadScript, TextLine, shown, unreadable
from shortdrama_pipeline.readers.prose import add_prose
from shortdrama_pipeline.readers.screenplay import cue_of, is_body_line, read_body_line, say
from shortdrama_pipeline.rules.script import LineKind

_ACTION = re.compile(r"^(?P<mark>\*{1,3}|_)?\s*[（(](?P<inside>[^（）()]+)[）)]\s*(?(mark)(?P=mark))$")
_EMPHASISED = re.compile(r"^(?:\*(?P<star>[^*]+)\*|_(?P<line>[^_]+)_)$")
_PICTURE = re.compile(r"!\[(?P<alt>[^\[\]]{0,200})\]\((?P<url>[^()\s]{0,500})[^()]{0,200}\)")
_LINK = re.compile(r"\[(?P<text>[^\[\]]{1,200})\]\((?P<url>[^()\s]{0,500})[^()]{0,200}\)")
_COMMENT = re.compile(r"<!--(?P<inside>.*?)-->", re.DOTALL)
_FRONT = re.compile(r"^(?P<key>[^\s:：][^:：]{0,30}?)\s*[:：]\s*(?P<value>.*)$")
_REFUSED = {
    "table_open": "a table",
    "fence": "a code block",
    "html_block": "HTML",
}


@dataclass(frozen=True, slots=True)
class _Block:
    """`form` is h1 to h6, quote or text."""

    form: str
    lines: tuple[TextLine, ...]


def read_markdown(lines: list[TextLine], *, language: str | None) -> ReadScript:
    """Read a Markdown script, or prose written in Markdown."""
    builder = ScriptBuilder()
    blocks = _blocks(_front_matter(lines, builder), builder)
    scenes_at = _scene_level(blocks)
    prose = not any(_is_cue(line.text) for block in blocks for line in block.lines if block.form == "text")
    waiting: list[TextLine] = []
    cast = False
    for index, block in enumerate(blocks):
        cast = is_cast_heading(_whole(block)) if block.form.startswith("h") else cast
        if cast:
            _cast(block, builder)
            continue
        if prose and block.form == "text" and not _is_staged(block):
            waiting.append(TextLine(block.lines[0].number, _whole(block)))
            continue
        add_prose(builder, waiting)
        waiting = []
        if block.form.startswith("h"):
            _heading(block, blocks[index + 1 :][:1], builder, scenes_at)
        elif block.form == "quote":
            _narration(block, builder)
        else:
            _paragraph(block, builder)
    add_prose(builder, waiting)
    return builder.finish(language=language)


# --- blocks -----------------------------------------------------------------------------------------


def _front_matter(lines: list[TextLine], builder: ScriptBuilder) -> list[TextLine]:
    """Take `title:`, `logline:` and `language:` from between two `---` at the head."""
    if lines[0].text.strip() != "---":
        return lines
    for index, line in enumerate(lines[1:], start=1):
        text = line.text.strip()
        if text in ("---", "..."):
            return lines[index + 1 :]
        field = _FRONT.match(text)
        if text and not field:
            break
        if field:
            _front_field(builder, field["key"].casefold(), field["value"].strip().strip("\"'"), line.number)
    return lines


def _front_field(builder: ScriptBuilder, key: str, value: str, line: int) -> None:
    if key in ("title", "标题", "剧名"):
        builder.title = value
    elif key in ("logline", "简介", "梗概"):
        builder.logline = value
    elif key in ("language", "lang", "语言") and value:
        builder.language = value
    else:
        builder.remark(line, f"front matter: {shown(key)}: {shown(value)}")


def _blocks(lines: list[TextLine], builder: ScriptBuilder) -> list[_Block]:
    """Let CommonMark find the blocks; their lines come from the file itself."""
    markdown = MarkdownIt("commonmark").enable("table").disable(["code", "reference", "inline", "text_join"])
    if not lines:
        return []
    first = lines[0].number
    tokens = markdown.parse(_without_comments("\n".join(each.text for each in lines), builder, first))
    blocks: list[_Block] = []
    quotes = 0
    heading = ""
    for token in tokens:
        number = (token.map[0] if token.map else 0) + first
        if token.type in _REFUSED:
            what = _REFUSED[token.type]
            raise unreadable(number, f"{what}, which no script has", hint="write it as paragraphs")
        quotes += {"blockquote_open": 1, "blockquote_close": -1}.get(token.type, 0)
        if token.type == "heading_open":
            heading = token.tag
        elif token.type == "inline" and token.content.strip():
            form = heading or ("quote" if quotes else "text")
            blocks.append(_Block(form, _lines_of(token, number, builder)))
            heading = ""
    return [each for each in blocks if each.lines]


def _without_comments(text: str, builder: ScriptBuilder, first: int) -> str:
    """Take HTML comments out, each to a remark; line numbers stay."""

    def remarked(match: re.Match[str]) -> str:
        line = first + text.count("\n", 0, match.start())
        builder.remark(line, f"comment: {shown(match['inside'])}")
        return "\n" * match.group().count("\n")

    return _COMMENT.sub(remarked, text) if "-->" in text else text


def _lines_of(token: Token, number: int, builder: ScriptBuilder) -> tuple[TextLine, ...]:
    found: list[TextLine] = []
    texts = token.content.split("\n")
    for offset, text in enumerate(texts):
        line = number + offset
        for picture in _PICTURE.finditer(text):
            builder.remark(line, f"a picture is not read: {shown(picture['alt'] or picture['url'])}")
        kept = _PICTURE.sub("", text)
        for link in _LINK.finditer(kept):
            builder.remark(line, f"a link's address is not read: {shown(link['url'])}")
        kept = _LINK.sub(r"\g<text>", kept).strip()
        if offset + 1 < len(texts):
            kept = kept.removesuffix("\\")  # a hard line break
        if kept:
            found.append(TextLine(line, kept))
    return tuple(found)


# --- meaning ----------------------------------------------------------------------------------------


def _scene_level(blocks: list[_Block]) -> int:
    """Return the heading level of scenes: below the one title, or the top if there are several."""
    levels = [int(each.form[1]) for each in blocks if each.form.startswith("h")]
    return 1 if levels.count(1) > 1 or (levels and set(levels) == {1} and blocks[0].form != "h1") else 2


def _is_cue(text: str) -> bool:
    return cue_of(without_emphasis(text)) is not None


def _is_staged(block: _Block) -> bool:
    """Tell what is stage direction even in prose: `*(action)*`, a transition."""
    return len(block.lines) == 1 and bool(
        _ACTION.match(block.lines[0].text) or is_transition(block.lines[0].text)
    )


def _whole(block: _Block) -> str:
    text = ""
    for each in block.lines:
        text = joined(text, without_emphasis(each.text))
    return text


def _heading(block: _Block, following: list[_Block], builder: ScriptBuilder, scenes_at: int) -> None:
    level, text, line = int(block.form[1]), _whole(block), block.lines[0].number
    deeper = following and following[0].form.startswith("h") and int(following[0].form[1]) > level
    if level < scenes_at and not builder.scenes:
        builder.title = builder.title or text
    elif not following or deeper:
        builder.remark(line, f"section: {shown(text)}")
    else:
        builder.open_scene(read_heading(text, forced=True) or Heading(text, text, ""), line)


def _cast(block: _Block, builder: ScriptBuilder) -> None:
    """Read the people below a heading such as `## 人物`."""
    for each in block.lines if not block.form.startswith("h") else ():
        read_cast_line(builder, without_emphasis(each.text), each.number)


def _narration(block: _Block, builder: ScriptBuilder) -> None:
    """Read a quoted block: the narrator's, whether or not it says so."""
    said = ""
    for each in block.lines:
        text = without_emphasis(each.text)
        found = cue_of(text)
        said = joined(said, found[1] if found and found[0].kind is LineKind.NARRATION else text)
    if any(each.isalnum() for each in said):
        builder.say("", said, block.lines[0].number, kind=LineKind.NARRATION)
    elif said:
        builder.act(said, block.lines[0].number)


def _paragraph(block: _Block, builder: ScriptBuilder) -> None:
    """Read a paragraph line by line; neighbouring lines without any mark are one action."""
    action, action_at = "", 0
    at = 0
    while at < len(block.lines):
        line = block.lines[at]
        at += 1
        text = without_emphasis(line.text)
        inside = _ACTION.match(line.text)
        staged = inside["inside"].strip() if inside else text if _EMPHASISED.match(line.text) else ""
        found = cue_of(text, known=builder)
        if not found and not staged and not is_body_line(text):
            action, action_at = joined(action, text), action_at or line.number
            continue
        if action:
            builder.act(action, action_at)
            action, action_at = "", 0
        if found:
            at = _speech(block, at, found, builder)
        elif staged:
            builder.act(staged, line.number)
        else:
            read_body_line(text, line.number, builder)
    if action:
        builder.act(action, action_at)


def _speech(block: _Block, at: int, found: tuple[Cue, str], builder: ScriptBuilder) -> int:
    """Read what a cue says; if nothing stands beside it, the lines below."""
    cue, said = found
    line = block.lines[at - 1]
    while (
        not said
        and at < len(block.lines)
        and cue_of(without_emphasis(block.lines[at].text), known=builder) is None
    ):
        said = without_emphasis(block.lines[at].text)
        at += 1
    if not said:
        raise unreadable(
            line.number, f"the cue {shown(line.text)!r} has no line", hint="write what is said after it"
        )
    say(builder, cue, said, line.number)
    return at
