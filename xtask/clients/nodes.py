"""The Python package `mcp` as a client of nodes: a prompt file is saved and is a tool, its call is left to the caller, whose
answer is checked; the file is edited, broken and deleted. The package validates every result against its tool's schema.

usage: nodes.py HOB DIR MODE      MODE is legacy, auto or a protocol revision to pin
Prints one JSON line: {"version", "input", "output", "delegate", "wrong", "right", "prompt", "broken", "gone"}.
"""

import asyncio
import json
import os
import sys

from mcp import Client, StdioServerParameters
from mcp.client.stdio import stdio_client

NODE = """---
description: Rates a text.
input: { schema: { text: string } }
output: { schema: { reason: string, score: integer 1..5 } }
---
Rate this text: {{ text | data }}
"""


async def main(hob: str, directory: str, mode: str) -> None:
    os.makedirs(f"{directory}/nodes", exist_ok=True)
    path = f"{directory}/nodes/rate.node.md"

    def save(text: str) -> None:
        with open(path, "w") as file:
            file.write(text)

    server = StdioServerParameters(command=hob, args=["mcp"], cwd=directory)
    async with Client(stdio_client(server), mode=mode) as client:

        async def tool(is_there) -> object:
            for _ in range(600):
                tools = {tool.name: tool for tool in (await client.list_tools()).tools}
                if is_there(tools.get("rate")):
                    return tools.get("rate")
                await asyncio.sleep(0.05)
            raise TimeoutError("the list of tools did not change")

        async def call(name: str, arguments: dict) -> dict:
            result = await client.call_tool(name, arguments)
            if result.is_error:
                raise RuntimeError(result.content)
            return result.structured_content

        save(NODE)
        listed = await tool(lambda tool: tool is not None)
        delegate = await call("rate", {"text": "It rained."})
        ticket = delegate["delegate"]["ticket"]
        wrong = await call("node_submit", {"ticket": ticket, "value": {"reason": "wet", "score": 9}})
        right = await call("node_submit", {"ticket": ticket, "value": {"reason": "wet", "score": 2}})
        prompt = await client.get_prompt("rate", {"text": "It rained."})
        save(NODE.replace("1..5", "1..9"))
        await tool(lambda tool: tool and '"maximum": 9' in json.dumps(tool.output_schema))
        save(NODE.replace("| data", "| dat"))
        for _ in range(600):
            broken = (await call("nodes_status", {"node": "rate"}))["nodes"][0]
            if broken["state"] != "serving":
                break
            await asyncio.sleep(0.05)
        still = await call("rate", {"text": "It rained."})
        os.remove(path)
        gone = await tool(lambda tool: tool is None)
        report = {
            "version": client.protocol_version,
            "input": listed.input_schema,
            "output": listed.output_schema,
            "delegate": delegate["state"],
            "wrong": wrong,
            "right": right,
            "prompt": prompt.messages[0].content.text,
            "broken": broken,
            "still": still["state"],
            "gone": gone is None,
        }
        print(json.dumps(report))


asyncio.run(main(*sys.argv[1:4]))
