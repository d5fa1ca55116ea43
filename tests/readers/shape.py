"""A script in the short form tests compare: headings, and who says what how."""

from shortdrama_pipeline.readers.outcome import ReadScript
from shortdrama_pipeline.readers.reading import read_raw
from shortdrama_pipeline.rules.script import LineKind, Script


def read(text: str, ending: str, *, language: str | None = None) -> ReadScript:
    return read_raw(text.encode(), ending=ending, language=language)


def shape(script: Script) -> list[str]:
    """One string a line: `## heading`, `action`, `> narration`, `NAME (manner): line`, `NAME ~ thought`."""
    names = {each.id: each.name for each in script.characters} | {"": "?"}
    lines: list[str] = []
    for scene in script.scenes:
        lines.append(f"## {scene.heading}")
        for line in scene.lines:
            manner = f" ({line.manner})" if line.manner else ""
            match line.kind:
                case LineKind.ACTION:
                    lines.append(line.text + (f" [{line.manner}]" if line.manner else ""))
                case LineKind.NARRATION:
                    lines.append(f"> {line.text}")
                case LineKind.DIALOGUE:
                    lines.append(f"{names[line.speaker or '']}{manner}: {line.text}")
                case LineKind.INNER:
                    lines.append(f"{names[line.speaker or '']}{manner} ~ {line.text}")
    return lines


def remarks(read_: ReadScript) -> list[tuple[int, str]]:
    return [(each.line, each.what) for each in read_.remarks]


def words(text: str) -> str:
    """What is left when spaces and line ends do not count."""
    return "".join(text.split())
