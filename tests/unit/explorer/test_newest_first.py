"""Who asked last comes first, and nobody keeps the lock."""

from __future__ import annotations

import asyncio

from kernlens.explorer.newest_first import NewestFirst


async def _walk(names: str, cancelled: str) -> str:
    """The order in which requests of these names are answered, which all wait for a first one, and some give up."""
    order = []
    turn = NewestFirst()

    async def ask(name: str) -> None:
        async with turn:
            order.append(name)
            await asyncio.sleep(0)

    async with turn:
        asked = {}
        for name in names:
            asked[name] = asyncio.create_task(ask(name))
            await asyncio.sleep(0)
        for name in cancelled:
            asked[name].cancel()
    await asyncio.gather(*asked.values(), return_exceptions=True)
    await asyncio.wait_for(ask("!"), 60)  # The lock is free again.
    return "".join(order)


def test_who_asked_last_comes_first() -> None:
    assert asyncio.run(_walk("abcd", "")) == "dcba!"


def test_who_gave_up_keeps_nobody_waiting() -> None:
    assert asyncio.run(_walk("abcd", "db")) == "ca!"


def test_a_lock_that_came_while_its_request_gave_up_goes_on() -> None:
    async def run() -> str:
        order = []
        turn = NewestFirst()

        async def ask(name: str) -> None:
            async with turn:
                order.append(name)

        await turn.__aenter__()
        first, last = asyncio.create_task(ask("a")), asyncio.create_task(ask("b"))
        await asyncio.sleep(0)
        await turn.__aexit__(None, None, None)  # It goes to b,
        last.cancel()  # which has given up before it runs.
        await asyncio.wait_for(first, 60)
        return "".join(order)

    assert asyncio.run(run()) == "a"
