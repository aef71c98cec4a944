"""The Python package `mcp` as a client of the tools that say where the work stands: `exo_status` and `exo_reconstitute` of
`hob mcp --profile tidepool`, in each of some directories.

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


async def main(hob: str, directory: str, mode: str) -> None:
    answers, version = {}, None
    for project in sorted(path for path in pathlib.Path(directory).iterdir() if path.is_dir()):
        server = StdioServerParameters(
            command=hob, args=["mcp", "--profile", "tidepool"], cwd=str(project), env=dict(os.environ)
        )
        async with Client(stdio_client(server), mode=mode) as client:
            version = client.protocol_version
            for tool in ["exo_status", "exo_reconstitute"]:
                result = await client.call_tool(tool, {})
                text = "".join(part.text for part in result.content if part.type == "text")
                answers.setdefault(project.name, {})[tool] = {
                    "text": text,
                    "structured": result.structured_content,
                    "is_error": result.is_error,
                }
    print(json.dumps({"version": version, "answers": answers}))


asyncio.run(main(*sys.argv[1:4]))
