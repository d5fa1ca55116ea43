"""The hand-over pack is whole or not there; the page beside it stands by itself."""

import csv
import io
import json
import re
from dataclasses import replace
from pathlib import Path

import pytest
from PIL import Image

from shortdrama_pipeline.errors import MediaInvalid, NotReady, ToolFailed
from shortdrama_pipeline.media import cover, fonts, stills, tools
from shortdrama_pipeline.media.object_store import LocalObjectStore
from shortdrama_pipeline.media.pack import (
    PackedFile,
    build_pack,
    find_problems,
    is_current,
    read_manifest,
    script_text,
    shot_list,
)
from shortdrama_pipeline.media.page import FileRow, GateRow, PageData, ShotRow, write_page
from tests.media.making import clip, cut_of, shot, voice
from tests.stages_.flow import small_script

SAID = [("林晚", '你好 & "再见" <i>')]
ROW = ShotRow("s1-01", "thumbs/s1-01.jpg", "0:00", "3.0 s", "客厅", SAID, "0.10 CNY", "v2", "clips/s1-01.mp4")
PAGE = PageData(
    language="zh-CN", title="<b>雨夜</b>", logline="一封信", episode_id="2026-W49-0", duration="1:02",
    size="1080 × 1920", loudness="-16.0 LUFS", made="2026-11-30 22:40", film="film.mp4", cover="cover.jpg",
    shots=[ROW],
    gates=[GateRow("outline", "lin", "2026-11-30 21:00", rights=True, note="好"),
           GateRow("export", "", "", rights=False, note="")],
    costs=[("shots", "1.20 CNY")], total="1.20 CNY", files=[FileRow("film", "film.mp4", "15 MB")],
)  # fmt: skip


@pytest.fixture
def store(tmp_path: Path) -> LocalObjectStore:
    return LocalObjectStore(tmp_path / "media")


def manifest_of(store: LocalObjectStore, *texts: str, version: str = "ver_1") -> dict[str, object]:
    files = []
    for number, text in enumerate(texts):
        sha256, size = store.put([text.encode()], bytes_max=100)
        files.append(PackedFile("script", f"part/{number}.md", sha256, size, "text/markdown").to_json())
    return {"export_version": version, "files": files}


def test_a_pack_is_laid_whole_and_proves_itself(store: LocalObjectStore, tmp_path: Path) -> None:
    place = tmp_path / "episode"
    folder = build_pack(place, manifest=manifest_of(store, "one", "two"), page="<p>", path_of=store.path)
    assert (folder / "part" / "1.md").read_text() == "two"
    manifest = read_manifest(place)
    assert manifest is not None
    assert find_problems(place, manifest) == []
    assert is_current(place, version_id="ver_1", page="<p>")
    assert not is_current(place, version_id="ver_1", page="<q>")
    assert not is_current(place, version_id="ver_2", page="<p>")
    (folder / "part" / "0.md").unlink()
    assert not is_current(place, version_id="ver_1", page="<p>")
    assert find_problems(place, manifest) == ["part/0.md: missing"]


def test_a_pack_of_changed_bytes_is_never_shown(store: LocalObjectStore, tmp_path: Path) -> None:
    place = tmp_path / "episode"
    build_pack(place, manifest=manifest_of(store, "old"), page="", path_of=store.path)
    wanted = manifest_of(store, "new", version="ver_2")
    files = wanted["files"]
    assert isinstance(files, list)
    broken = store.path(files[0]["sha256"])
    broken.chmod(0o644)
    broken.write_text("bad")
    with pytest.raises(MediaInvalid):
        build_pack(place, manifest=wanted, page="", path_of=store.path)
    assert (place / "export" / "part" / "0.md").read_text() == "old"
    assert [each.name for each in place.iterdir() if each.is_dir()] == ["export"]


def test_what_a_killed_builder_left_is_cleared_and_an_orphaned_pack_returns(
    store: LocalObjectStore, tmp_path: Path
) -> None:
    place = tmp_path / "episode"
    build_pack(place, manifest=manifest_of(store, "old"), page="", path_of=store.path)
    (place / "export").rename(place / ".old-killed")  # killed between the two renames
    (place / ".pack_half").mkdir()
    (place / ".pack_half" / "film.mp4").write_text("half")
    build_pack(place, manifest=manifest_of(store, "new"), page="", path_of=store.path)
    assert [each.name for each in place.iterdir() if each.is_dir()] == ["export"]
    assert (place / "export" / "part" / "0.md").read_text() == "new"
    (place / "export" / "manifest.json").write_text("{")
    assert read_manifest(place) is None


def test_the_page_escapes_everything_and_asks_nobody(tmp_path: Path) -> None:
    page = write_page(PAGE)
    assert "&lt;b&gt;雨夜&lt;/b&gt;" in page
    assert "你好 &amp; &#34;再见&#34; &lt;i&gt;" in page
    assert "<script" not in page
    assert not re.findall(r"(?:https?:)?//[a-z]", page)
    assert 'lang="zh-CN"' in page
    assert all(
        word in page for word in ("镜头", "审批", "已确认权利", "未通过", "0.10 CNY", "v2", "film.mp4")
    )
    assert "AI-generated" in write_page(replace(PAGE, language="en-US"))


def test_the_cover_is_upright_and_any_title_fits() -> None:
    for title in (
        "雨",
        "天台上的信：她没有回来" * 3,
        "The Letter on the Rooftop 😀",
        "Supercalifragilisticexpialidocious",
    ):
        drawn = cover.draw_cover(
            Image.new("RGB", (640, 360), "teal"), title=title, below="x", language="zh-CN"
        )
        assert drawn.size == (1080, 1920)
        letters = drawn.crop((0, 900, 1080, 1590)).convert("L").point(lambda light: 255 * (light > 230))
        box = letters.getbbox()
        assert box is not None
        assert box[0] >= cover.MARGIN - 8
        assert box[2] <= 1080 - cover.MARGIN + 16


def test_a_picture_below_its_slate_keeps_its_shape() -> None:
    picture = Image.new("RGB", (90, 160), "teal")
    picture.paste("white", (0, 0, 90, 32))
    rest = stills.below(picture, 20)
    assert rest.size == (72, 128)
    assert rest.getcolors() == [(72 * 128, (0, 128, 128))]
    assert stills.fit(picture, (9, 16)).size == (9, 16)


def test_a_still_is_upright_and_merit_prefers_a_picture_to_black(tmp_path: Path) -> None:
    film = clip(tmp_path / "plain.mp4", size="192x108")
    tools.run_ffmpeg(["-display_rotation", "90", "-i", film, "-c", "copy", tmp_path / "turned.mp4"])
    assert stills.middle_picture(tmp_path / "turned.mp4").size == (108, 192)
    assert stills.merit(stills.middle_picture(film)) > stills.merit(Image.new("RGB", (90, 160)))
    (tmp_path / "turned.mp4").write_bytes((tmp_path / "turned.mp4").read_bytes()[:700])
    with pytest.raises(MediaInvalid):
        stills.middle_picture(tmp_path / "turned.mp4")


def test_the_shot_list_opens_in_a_spreadsheet_and_computes_nothing(
    store: LocalObjectStore, tmp_path: Path
) -> None:
    shots = [replace(shot(1, text="=1+1"), action="@sum", characters=("c1", "c2")), shot(2)]
    timeline = cut_of(
        store, shots, [clip(tmp_path / "f.mp4")] * 2, {"s1-l1": voice(tmp_path / "v.wav", ms=300)}
    )
    text = shot_list(shots, timeline)
    assert text.startswith("\ufeff")
    rows = list(csv.DictReader(io.StringIO(text[1:])))
    assert [row["shot"] for row in rows] == ["s1-01", "s1-02"]
    assert (rows[0]["action"], rows[0]["line"], rows[0]["characters"]) == ("'@sum", "'=1+1", "c1 / c2")
    assert rows[1]["start"] == "1.000"


def test_the_script_reads_as_markdown() -> None:
    text = script_text(small_script())
    assert "# 天台上的信" in text
    assert "**林晚**: 你终于来了！" in text
    assert "> 那封信，改变了一切。" in text
    json.dumps(text)


def test_tools_say_what_is_wrong(tmp_path: Path) -> None:
    with pytest.raises(ToolFailed) as failed:
        tools.run_ffmpeg(["-i", tmp_path / "none.mp4", tmp_path / "out.mp4"])
    assert "No such file" in failed.value.message
    with pytest.raises(ToolFailed):
        tools.run_ffmpeg(["-f", "lavfi", "-i", "anullsrc", "-f", "null", "-"], seconds_max=1)
    with pytest.raises(NotReady):
        fonts.require_glyphs("ไทย", place="the title")
