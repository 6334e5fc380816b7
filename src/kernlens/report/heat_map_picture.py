"""The heat map as a PNG, drawn with Pillow."""

from __future__ import annotations

import io

from kernlens.analysis.cxx_names import kernel_title
from kernlens.errors import UnsupportedError
from kernlens.report.heat_map import FIRST_DARK, MARK, SHADES, HeatMap
from kernlens.report.style import rendered

#: Kernels that a picture shows at most: more make it larger than programs open.
KERNELS_IN_PICTURE = 1000
_FONT_SIZE = 13
_LINE = 20
_MARGIN = 8
#: Characters of a name.
_NAME = 48
_WHITE, _BLACK, _GREY = (255, 255, 255), (0, 0, 0), (200, 200, 200)


def check_pictures() -> None:
    """Raise UnsupportedError, with what to install, if no picture can be drawn."""
    try:
        import PIL  # noqa: F401
    except ImportError as error:
        raise UnsupportedError("a heat map in PNG needs Pillow: pip install pillow, or write it to X.html") from error


def heat_map_picture(shown: HeatMap) -> bytes:
    """Return the content of a PNG file. Raises UnsupportedError without Pillow."""
    check_pictures()
    from PIL import Image, ImageDraw, ImageFont

    font = ImageFont.load_default(_FONT_SIZE)
    names = [_cut(f"{shown.names[source]}  {kernel_title(kernel) or '-'}") for source, kernel in shown.kernels]
    heads = [[_cut(part) for part in parts] for parts in shown.column_titles()]
    texts = [
        # The mark is not in every font; what is marked has a frame, and a word.
        [
            shown.text(shown.cells.get((source, kernel, column)), source, column).replace(MARK, "!")
            for column in shown.columns
        ]
        for source, kernel in shown.kernels
    ]

    def width(text: str) -> int:
        return int(font.getlength(text)) + 1

    left = max(map(width, names), default=0) + 2 * _MARGIN
    widths = [
        max(map(width, (*head, *(row[place] for row in texts)))) + 2 * _MARGIN for place, head in enumerate(heads)
    ]
    titles = 1 + max((len(head) for head in heads), default=0)
    title = f"{shown.figure.heading}: {shown.figure.meaning} ({shown.figure.unit}); ! marks the worst"
    top = titles * _LINE + _MARGIN
    size = max(left + sum(widths), width(title)) + _MARGIN, top + len(names) * _LINE + _MARGIN
    picture = Image.new("RGB", size, _WHITE)
    draw = ImageDraw.Draw(picture)
    draw.text((_MARGIN, 2), title, font=font, fill=_BLACK)
    starts = [left + sum(widths[:place]) for place in range(len(widths))]
    for head, start in zip(heads, starts, strict=True):
        for line, part in enumerate(head, start=titles - len(head)):
            draw.text((start + _MARGIN, line * _LINE), part, font=font, fill=_BLACK)
    for line, (name, (source, kernel)) in enumerate(zip(names, shown.kernels, strict=True)):
        y = top + line * _LINE
        draw.text((_MARGIN, y + 2), name, font=font, fill=_BLACK)
        for place, (column, start) in enumerate(zip(shown.columns, starts, strict=True)):
            row = shown.cells.get((source, kernel, column))
            shade = shown.shade(row.value(shown.figure)) if row is not None else None
            is_worst = row is not None and id(row) in shown.worst
            draw.rectangle(
                (start, y, start + widths[place] - 2, y + _LINE - 2),
                fill=_WHITE if shade is None else SHADES[shade],
                outline=_BLACK if is_worst else _GREY,
                width=2 if is_worst else 1,
            )
            text = texts[line][place]
            ink = _WHITE if shade is not None and shade >= FIRST_DARK else _BLACK
            draw.text((start + widths[place] - _MARGIN - width(text), y + 2), text, font=font, fill=ink)
    content = io.BytesIO()
    picture.save(content, "PNG")
    return content.getvalue()


def _cut(text: str) -> str:
    text = rendered(text)
    return text if len(text) <= _NAME else f"{text[: _NAME - 1]}…"
