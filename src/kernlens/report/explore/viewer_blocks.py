"""The viewer's script as a page holds it: packed, with a few lines before it that unpack and start it.

Packed it takes 40% of the page that it takes as it is, and browsers unpack it in 10 ms. The page's policy names both
scripts by their hashes, so nothing else runs.
"""

from __future__ import annotations

from base64 import b64encode
from functools import lru_cache
from hashlib import sha256
from typing import NamedTuple

from kernlens.report.explore.packing import ALPHABET, SMALLEST, in_base85, packed

#: Unpacks the block "viewer" and runs what is in it. A browser too old to do so says it.
_LOADER = """"use strict";
(async () => {
  const block = document.getElementById("viewer"), text = block.textContent, values = new Uint8Array(128);
  [..."DIGITS"].forEach((digit, value) => { values[digit.charCodeAt(0)] = value; });
  const bytes = new Uint8Array(text.length / 5 * 4), view = new DataView(bytes.buffer);
  for (let at = 0; at < text.length; at += 5) {
    let group = 0;
    for (let digit = 0; digit < 5; digit++) group = group * 85 + values[text.charCodeAt(at + digit)];
    view.setUint32(at / 5 * 4, group);
  }
  const packed = new Blob([bytes.subarray(0, Number(block.dataset.bytes))]).stream();
  const code = await new Response(packed.pipeThrough(new DecompressionStream("deflate-raw"))).text();
  const script = document.createElement("script");
  const policy = window.trustedTypes?.createPolicy("kernlens", { createScript: code => code });
  script.textContent = policy === undefined ? code : policy.createScript(code);
  block.remove();
  document.body.append(script);
})().catch(problem => document.body.append(`This browser cannot show the page: ${problem}. A newer one can.`));
""".replace("DIGITS", ALPHABET.decode())


class ViewerBlocks(NamedTuple):
    """A viewer's parts of a page: the packed script in base85, how many bytes that is before base85, the script that
    starts it, and the hashes of both for the page's policy."""

    packed: str
    size: int
    loader: str
    hashes: tuple[str, str]


@lru_cache(maxsize=2)
def viewer_blocks(script: str) -> ViewerBlocks:
    """Return a viewer's script as pages hold it."""
    content = script.encode()
    frame = packed(content, SMALLEST)
    hashes = (_hash(_LOADER.encode()), _hash(content))
    return ViewerBlocks(in_base85(frame).decode("ascii"), len(frame), _LOADER, hashes)


def _hash(content: bytes) -> str:
    return f"'sha256-{b64encode(sha256(content).digest()).decode()}'"
