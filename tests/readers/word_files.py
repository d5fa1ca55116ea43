"""Word files made on the spot, whole and broken."""

import io
import zipfile
from collections.abc import Sequence

from docx import Document
from docx.enum.style import WD_STYLE_TYPE
from PIL import Image

Rows = Sequence[tuple[str, str]]


def document(*paragraphs: str, title: str = "") -> bytes:
    """A document of plain paragraphs."""
    made = Document()
    if title:
        made.add_heading(title, 0)
    for each in paragraphs:
        made.add_paragraph(each)
    return saved(made)


def styled(rows: Rows) -> bytes:
    """A document of (style, text), as screenplay templates make."""
    made = Document()
    for style, text in rows:
        if style not in {each.name for each in made.styles}:
            made.styles.add_style(style, WD_STYLE_TYPE.PARAGRAPH)
        made.add_paragraph(text, style=style)
    return saved(made)


def picture() -> io.BytesIO:
    made = io.BytesIO()
    Image.new("RGB", (8, 8)).save(made, "PNG")
    made.seek(0)
    return made


def saved(made: object) -> bytes:
    file = io.BytesIO()
    made.save(file)  # type: ignore[attr-defined]
    return file.getvalue()


def with_body(xml: str) -> bytes:
    """A document whose body is this WordprocessingML."""
    return rewritten(
        document("x"),
        {
            "word/document.xml": (
                '<?xml version="1.0" encoding="UTF-8"?><w:document xmlns:w='
                '"http://schemas.openxmlformats.org/wordprocessingml/2006/main">'
                f"<w:body>{xml}</w:body></w:document>"
            ).encode()
        },
    )


def rewritten(raw: bytes, parts: dict[str, bytes]) -> bytes:
    """The same package with parts replaced or added."""
    file = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(raw)) as old, zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as new:
        for name in dict.fromkeys([*old.namelist(), *parts]):
            new.writestr(name, parts[name] if name in parts else old.read(name))
    return file.getvalue()
