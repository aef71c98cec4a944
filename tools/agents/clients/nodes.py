"""The Python package `mcp` as a client of nodes: a prompt file is saved and is a tool, which the offline engine answers; the file
is edited, broken and deleted; another worktree has its own version; and a node without a model is left to the caller, whose
answer is checked. The package validates every result against its tool's schema.

usage: nodes.py HOB DIR OTHER MODE      OTHER is a linked worktree; MODE is legacy, auto or a protocol revision to pin
Prints one JSON line, as `nodes.mjs` does.
"""

import asyncio
import contextlib
import json
import os
import sys

from mcp import Client, StdioServerParameters
from mcp.client.stdio import stdio_client
from mcp.client.subscriptions import listen

RATE = """---
description: Rates a text.
input: { schema: { text: string } }
output: { schema: { reason: string, score: integer 1..5 } }
---
Rate this text: {{ text | data }}
"""
OWN = RATE.replace("---\n", "---\nmodel: delegate\n", 1)
TEXT = {"text": "It rained."}


def save(directory: str, name: str, text: str) -> None:
    """As many editors do: a new file takes its place, so that none is seen half-written."""
    os.makedirs(f"{directory}/nodes", exist_ok=True)
    path = f"{directory}/nodes/{name}.node.md"
    with open(f"{path}.new", "w") as file:
        file.write(text)
    os.replace(f"{path}.new", path)


async def until(what: str, there):
    for _ in range(600):
        value = await there()
        if value:
            return value
        await asyncio.sleep(0.05)
    raise TimeoutError(f"waited 30 s for {what}")


class Session:
    """A client, and how often it was told that the list of tools changed."""

    def __init__(self, hob: str, directory: str, mode: str) -> None:
        self.changes = 0
        server = StdioServerParameters(command=hob, args=["mcp"], cwd=directory)
        self.client = Client(stdio_client(server), mode=mode, message_handler=self.on_message, cache=None)

    async def on_message(self, message) -> None:
        inner = getattr(message, "root", message)
        self.changes += getattr(inner, "method", "") == "notifications/tools/list_changed"

    @contextlib.asynccontextmanager
    async def connected(self):
        async with self.client:
            # Without a handshake, only who listens is told.
            if self.client.protocol_version < "2026":
                yield self
                return
            async with listen(self.client.session, tools_list_changed=True):
                yield self

    async def told(self, times: int) -> None:
        async def enough():
            return self.changes >= times

        await until(f"change {times} of the list", enough)

    async def tools(self) -> dict:
        return {tool.name: tool for tool in (await self.client.list_tools()).tools}

    async def call(self, name: str, arguments: dict):
        result = await self.client.call_tool(name, arguments)
        if result.is_error:
            raise RuntimeError(result.content)
        return result

    async def structured(self, name: str, arguments: dict):
        return (await self.call(name, arguments)).structured_content

    async def hash(self) -> str:
        return (await self.call("rate", TEXT)).meta["hob/ledger"]["node_hash"]


async def main(hob: str, directory: str, other: str, mode: str) -> None:
    announced = {}
    async with Session(hob, directory, mode).connected() as session:
        before = [name for name in await session.tools() if name == "rate" or name.startswith("node")]

        save(directory, "rate", RATE)
        await session.told(1)
        listed = (await session.tools())["rate"]
        called = await session.call("rate", TEXT)
        first = called.meta["hob/ledger"]["node_hash"]
        announced["saved"] = session.changes

        save(other, "rate", RATE.replace("Rates a text.", "Rates the text of another."))
        async with Session(hob, other, mode).connected() as there:
            elsewhere = {"described": (await there.tools())["rate"].description, "hash": await there.hash()}

        save(directory, "rate", RATE.replace("Rate this", "Rate with care this"))

        async def edited_hash():
            hash = await session.hash()
            return hash if hash != first else None

        edited = await until("the new version", edited_hash)
        announced["body edited"] = session.changes

        save(directory, "rate", RATE.replace("1..5", "1..9"))
        await session.told(announced["body edited"] + 1)
        wider = (await session.tools())["rate"].output_schema
        last_good = await session.hash()
        announced["schema edited"] = session.changes

        save(directory, "rate", RATE.replace("| data", "| dat"))

        async def broken_status():
            status = (await session.structured("nodes_status", {"node": "rate"}))["nodes"][0]
            return status if status["state"] != "serving" else None

        broken = await until("the broken file", broken_status)
        still = await session.hash()
        announced["broken"] = session.changes

        os.remove(f"{directory}/nodes/rate.node.md")
        await session.told(announced["broken"] + 1)
        gone = "rate" not in await session.tools()
        announced["deleted"] = session.changes

        save(directory, "own", OWN)
        await session.told(announced["deleted"] + 1)
        delegate = await session.structured("own", TEXT)
        ticket = delegate["delegate"]["ticket"]
        wrong = await session.structured("node_submit", {"ticket": ticket, "value": {"reason": "wet", "score": 9}})
        right = await session.structured("node_submit", {"ticket": ticket, "value": {"reason": "wet", "score": 2}})
        prompt = await session.client.get_prompt("own", TEXT)
        os.remove(f"{directory}/nodes/own.node.md")
        await session.told(announced["deleted"] + 2)
        announced["own, come and gone"] = session.changes

        report = {
            "version": session.client.protocol_version,
            "before": before,
            "input": listed.input_schema,
            "output": listed.output_schema,
            "called": called.structured_content,
            "ledger": called.meta["hob/ledger"],
            "elsewhere": elsewhere,
            "hashes": {"first": first, "edited": edited, "last_good": last_good, "still": still},
            "wider": wider,
            "broken": broken,
            "gone": gone,
            "delegate": delegate["state"],
            "wrong": wrong,
            "right": right,
            "prompt": prompt.messages[0].content.text,
            "announced": announced,
        }
        print(json.dumps(report))


asyncio.run(main(*sys.argv[1:5]))
