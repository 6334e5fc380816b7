"""Recordings whose launches lie, replayed on PoCL: ``python -m tests.corpus.hostile_launches [--count 2000] [--seed 1]``.

A recording with launches of every kind of argument and memory is changed at random: numbers and texts in a launch's
description, and rows of its contents. Each change is read and replayed in the confined child. The kernels do nothing, so
that what goes wrong is the data's. Each must end with an answer or with an error of kernlens, within its time. Children that
end are counted and named with what they last called: drivers get flags, formats and sizes as they are. The exit status is 1
if anything else happens.
"""

from __future__ import annotations

import argparse
import json
import random
import sqlite3
import struct
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

from kernlens.errors import KernlensError
from kernlens.model.build import Build, HeldParts, Source
from kernlens.model.kept_launch import ImageForm, KeptArgument, KeptLaunch, KeptMemory
from kernlens.recording.blobs import PackedBlob, pack, unpack
from kernlens.verbs.replay.kept import open_recording, recorded_launches
from kernlens.verbs.replay.replay import Settings, replaying
from tests.writers.kept_launches import READ_ONLY, READ_WRITE, WRITE_ONLY, content, record_launches

SOURCE = """
kernel void memory(global int *out, global const int *in, global int *part, local int *tile, int number) {}
kernel void picture(read_only image2d_t in, write_only image2d_t out, sampler_t sampler) {}
kernel void view(global int *out, read_only image1d_buffer_t in) {}
kernel void address(global void *first, global int *absent) {}
"""
FIRST, SECOND = 0x7F00_0000_0000, 0x7F00_0001_0000
#: Seconds that one may take, the start of a new child included.
LIMIT, KERNEL_LIMIT = 60.0, 8.0
_HOSTILE: tuple[Any, ...] = (
    *(sign * ((1 << power) + more) for power in (31, 32, 47, 48, 62, 63, 64) for more in (-1, 0, 1) for sign in (1, -1)),
    *(0, 1, 2, 3, 7, -1, 4096, 1.5, True, None, "", "x", "00", "ff" * 70_000, [], {}, [1 << 63], [[]] * 5, "svm", "image"),
    *("buffer", "pointer", "memory", "local", "sampler", "null", "value", "\x1b[31m", 0x10B5, 0x10DE, 0x10F0, 0x10F4),
)  # fmt: skip


def whole(path: Path) -> None:
    """Write a recording whose launches have buffers, parts, images, samplers, local memory, values and addresses."""
    words, form = content(bytes(range(256)) * 2), ImageForm(0x10B5, 0x10DA, 0x10F1, 16, 8, 1, 1, element_size=4)
    view = ImageForm(0x10B0, 0x10DC, 0x10F6, 128, 1, 1, 1, element_size=4, buffer=0)
    linked = content(struct.pack("<QqQq", SECOND, 5, 0, 1) + bytes(480))

    def launch(kernel: str, arguments: list[KeptArgument], memory: list[KeptMemory], **more: Any) -> KeptLaunch:
        sizes: dict[str, Any] = {"global_size": (4,), "local_size": (2,), "global_offset": (0,), **more}
        return KeptLaunch(kernel, 1, 1, **sizes, arguments=tuple(arguments), memory=tuple(memory))

    held = [KeptArgument("memory", memory=number) for number in range(3)]
    launches = [
        launch(
            "memory",
            [*held[:2], KeptArgument("memory", memory=2, offset=128, size=128, flags=1), KeptArgument("local", size=64),
             KeptArgument("value", bytes(4))],
            [KeptMemory("buffer", 512, flags, before=words, after=words) for flags in (WRITE_ONLY, READ_ONLY, READ_WRITE)],
        ),
        launch(
            "picture", [*held[:2], KeptArgument("sampler", sampler=(0, 0x1131, 0x1140))],
            [KeptMemory("image", 512, flags, image=form, before=words, after=words) for flags in (READ_ONLY, WRITE_ONLY)],
            global_size=(4, 4), local_size=None, global_offset=(0, 0),
        ),
        launch(
            "address", [KeptArgument("pointer", memory=0, offset=16), KeptArgument("null", size=8)],
            [KeptMemory("svm", 512, 1, each, before=linked, after=linked) for each in (FIRST, SECOND)], indirect=(1,),
        ),
        launch(
            "view", held[:2],
            [KeptMemory("buffer", 512, 1, before=words, after=words), KeptMemory("image", 512, READ_ONLY, image=view)],
        ),
    ]  # fmt: skip
    build = Build("hostile", "nothing", options="-cl-std=CL2.0", parts=HeldParts(sources=(Source("k.cl", SOURCE),)))
    record_launches(path, build, *launches)


def _places(value: Any) -> Iterator[tuple[Any, Any]]:
    """Yield each container of a document with each of its keys."""
    for key in value if isinstance(value, dict) else range(len(value)) if isinstance(value, list) else ():
        yield value, key
        yield from _places(value[key])


def change(database: sqlite3.Connection, chance: random.Random) -> None:
    """Change a description, or rows of contents, of one launch."""
    if chance.random() < 0.2:
        column, value = chance.choice(("number", "moment", "piece", "blob", "launch")), chance.choice(_HOSTILE)
        row = chance.choice(database.execute("SELECT program, launch, number, moment, piece FROM memory").fetchall())
        where = "program = ? AND launch = ? AND number = ? AND moment = ? AND piece = ?"
        if chance.random() < 0.2:
            database.execute(f"DELETE FROM memory WHERE {where}", row)
        else:
            within = chance.choice((value, chance.randrange(8))) if not isinstance(value, list | dict) else 0
            database.execute(f"UPDATE memory SET {column} = ? WHERE {where}", (within, *row))
        return
    number, (sha256, size, coding, packed) = chance.choice(
        [(each[0], each[1:]) for each in database.execute(
            "SELECT DISTINCT blob.id, sha256, size, coding, content FROM launch JOIN blob ON blob.id = launch.blob"
        )]
    )  # fmt: skip
    document = json.loads(unpack(PackedBlob(sha256, size, coding, packed)))
    for _ in range(chance.choice((1, 1, 1, 2, 3))):
        container, key = chance.choice(list(_places(document)))
        old = container[key]
        if isinstance(old, list) and old and chance.random() < 0.3:
            old.append(chance.choice(old)) if chance.random() < 0.5 else old.pop()
        elif isinstance(old, int) and chance.random() < 0.4:
            container[key] = old + chance.choice((-1, 1, 8, 64, 1 << 20, -old))
        else:
            container[key] = chance.choice(_HOSTILE)
    blob = pack(json.dumps(document).encode())
    database.execute("UPDATE blob SET sha256 = ?, size = ?, coding = ?, content = ? WHERE id = ?", (*blob, number))


def main(arguments: list[str]) -> int:
    """Print how many ended how; the number of those that did as they must not."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=2000)
    parser.add_argument("--seed", type=int, default=1)
    chosen = parser.parse_args(arguments)
    ends, faults, settings = Counter[str](), 0, Settings(runs=0, timeout=KERNEL_LIMIT)
    with tempfile.TemporaryDirectory() as name, replaying(settings, []) as run:
        path = Path(name, "x.klens")
        whole(path)
        template = path.read_bytes()
        for number in range(chosen.count):
            path.write_bytes(template)
            with closing(sqlite3.connect(path)) as database:
                try:
                    change(database, random.Random(f"{chosen.seed}.{number}"))
                except (sqlite3.Error, OverflowError):
                    ends["no such row can be written"] += 1
                    continue
                database.commit()
            start = time.monotonic()
            end = _end(path, run, settings)
            if end.startswith("FAULT") or time.monotonic() - start > LIMIT:
                faults += 1
                print(f"seed {chosen.seed}.{number}: {end}, {time.monotonic() - start:.1f} s", flush=True)
            if "DriverDied" in end:
                print(f"seed {chosen.seed}.{number}: {end}", flush=True)
            ends[end] += 1
    for end, count in ends.most_common():
        print(f"{count:6,} {end}")
    print(f"{chosen.count:,} recordings, {faults} faults")
    return faults


def _named(error: KernlensError) -> str:
    call = getattr(error, "call", "")
    what = "ended for its time" if "was ended" in str(error) else type(error).__name__
    return f"{what} ({call})" if call else what


def _end(path: Path, run: Any, settings: Settings) -> str:
    """Return how the launches of a recording end, the worst first."""
    ends = set[str]()
    try:
        with open_recording(path) as recording:
            for launch in recorded_launches(recording):
                try:
                    ends.add("ran: " + ("equal" if run(launch, settings).is_equal else "differs"))
                except KernlensError as error:
                    ends.add(_named(error))
    except KernlensError as error:
        ends.add(f"{type(error).__name__} when read")
    except Exception as error:
        return f"FAULT {type(error).__name__}: {str(error)[:200]}"
    return ", ".join(sorted(ends - {"ran: equal"})) or "ran: equal"


if __name__ == "__main__":
    sys.exit(min(main(sys.argv[1:]), 1))
