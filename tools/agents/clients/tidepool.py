"""The Python package `mcp` as a client of `hob mcp --profile tidepool`: the tools that say where the work stands, and those
that answer questions about code, in each of some directories.

usage: tidepool.py HOB DIR MODE      MODE is legacy, auto or a protocol revision to pin; each directory in DIR is a project
Prints one JSON line: {"version", "answers"}: by directory and tool, {"text", "structured", "is_error"}.
"""

import asyncio
import json
import os
import pathlib
import sys

from mcp import Client, StdioServerParameters
from mcp.client.stdio import stdio_client


CALLS = {
    "exo_status": {},
    "exo_reconstitute": {},
    "find_callers": {"name": "area", "context_lines": 1, "max_results": 50},
    "show_fields": {"type_name": "Shape"},
    "show_constructors": {"type_name": "Shape"},
}


async def main(hob: str, directory: str, mode: str) -> None:
    answers, version = {}, None
    for project in sorted(path for path in pathlib.Path(directory).iterdir() if path.is_dir()):
        server = StdioServerParameters(
            command=hob, args=["mcp", "--profile", "tidepool"], cwd=str(project), env=dict(os.environ)
        )
        async with Client(stdio_client(server), mode=mode) as client:
            version = client.protocol_version
            for tool, arguments in CALLS.items():
                result = await client.call_tool(tool, arguments)
                text = "".join(part.text for part in result.content if part.type == "text")
                answers.setdefault(project.name, {})[tool] = {
                    "text": text,
                    "structured": result.structured_content,
                    "is_error": result.is_error,
                }
    print(json.dumps({"version": version, "answers": answers}))


asyncio.run(main(*sys.argv[1:4]))
