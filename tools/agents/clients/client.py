"""The Python package `mcp` as a client: lists the tools and evaluates in GHCi through `hob mcp`.

usage: client.py HOB DIR MODE      MODE is legacy, auto or a protocol revision to pin
Prints one JSON line: {"version", "tools", "text", "structured"}.
"""

import asyncio
import json
import sys

from mcp import Client, StdioServerParameters
from mcp.client.stdio import stdio_client


async def main(hob: str, directory: str, mode: str) -> None:
    server = StdioServerParameters(command=hob, args=["mcp"], cwd=directory)
    async with Client(stdio_client(server), mode=mode) as client:
        tools = await client.list_tools()
        await client.call_tool("repl_start", {"profile": "ghci"})
        result = await client.call_tool("repl_eval", {"code": ":t map", "wait_ms": 50_000})
        if result.is_error:
            raise SystemExit(f"repl_eval failed: {result.content}")
        text = "".join(part.text for part in result.content if part.type == "text")
        report = {
            "version": client.protocol_version,
            "tools": len(tools.tools),
            "text": text,
            "structured": result.structured_content is not None,
        }
        print(json.dumps(report))


asyncio.run(main(*sys.argv[1:4]))
