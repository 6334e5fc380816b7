"""Write the explore document of a recording in all its forms, for whoever works at the viewer or the server:

    python scripts/explore_sample.py sharpen.klens -o FOLDER

FOLDER then holds index.json, chunks/ID.deflate, chunks/ID.json (the same unpacked), and page.html, whose script is a
placeholder.
"""

from __future__ import annotations

import argparse
import json
import zlib
from pathlib import Path

import kernlens
from kernlens.report.explore import explore_document
from kernlens.report.explore.single_file import page


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("path")
    parser.add_argument("-o", "--output", type=Path, required=True)
    words = parser.parse_args()
    whole = explore_document(kernlens.load(words.path), title=Path(words.path).name, version=kernlens.__version__)
    folder = words.output / "chunks"
    folder.mkdir(parents=True, exist_ok=True)
    (words.output / "index.json").write_text(json.dumps(whole.index, indent=1))
    for chunk_id, content in whole.chunks.items():
        (folder / f"{chunk_id}.deflate").write_bytes(content)
        (folder / f"{chunk_id}.json").write_bytes(zlib.decompress(content, wbits=-15))
    with (words.output / "page.html").open("w") as file:
        file.writelines(page(whole, "/* the viewer */"))


if __name__ == "__main__":
    main()
