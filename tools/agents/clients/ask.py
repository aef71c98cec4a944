"""The Python package `mcp` as a client with dialogs: each asking tool of `hob mcp ask` is accepted, declined and cancelled
by a person who takes a moment.

usage: ask.py HOB DIR MODE      MODE is legacy, auto or a protocol revision to pin
Prints one JSON line: {"version", "answers", "shown"}: structured results, and the fields of the dialogs, by tool and action.
"""

import asyncio
import json
import pathlib
import sys

import mcp
import mcp_types as types
from mcp.client.stdio import stdio_client

# Beside this script, and used by the TypeScript client too.
CALLS = json.loads(pathlib.Path(__file__).with_name("ask.json").read_text())


async def main(hob: str, directory: str, mode: str) -> None:
    now: dict = {}

    async def answer(context, params):
        now["shown"] = sorted(params.requested_schema["properties"])
        # Whoever answers at once is no person.
        await asyncio.sleep(0.4)
        content = now["content"] if now["action"] == "accept" else None
        return types.ElicitResult(action=now["action"], content=content)

    server = mcp.StdioServerParameters(command=hob, args=["mcp", "ask"], cwd=directory)
    answers, shown = {}, {}
    async with mcp.Client(stdio_client(server), mode=mode, elicitation_callback=answer) as client:
        for tool, call in CALLS.items():
            for action in ["accept", "decline", "cancel"]:
                now |= {"content": call["content"], "action": action}
                # Each is a question of its own.
                arguments = call["arguments"] | {"key": f"python {mode} {tool} {action}"}
                result = await client.call_tool(tool, arguments)
                answers.setdefault(tool, {})[action] = result.structured_content
                shown[tool] = now.get("shown")
        print(json.dumps({"version": client.protocol_version, "answers": answers, "shown": shown}))


asyncio.run(main(*sys.argv[1:4]))
