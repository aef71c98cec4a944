"""The Python packages `mcp` and `fastmcp` as clients: everything a client may do, against the example `everything`.

usage: matrix.py mcp|fastmcp stdio|http|sse TARGET MODE      TARGET is a program or an address
Prints one JSON line: {"version", "tools", "progress", "cancel", "ask", "resources", "prompts"}; {"cannot": WHY} stands for
what the client does not support.
"""

import asyncio
import json
import sys

import fastmcp
import mcp
import mcp_types as types
from mcp.client.sse import sse_client
from mcp.client.stdio import stdio_client

KNOWN = ["echo", "hold", "inquire", "report"]
updated = asyncio.Queue()
asked = []


async def on_message(message) -> None:
    inner = getattr(message, "root", message)
    if getattr(inner, "method", "") == "notifications/resources/updated":
        updated.put_nowait(str(inner.params.uri))


async def answer(context, params) -> types.ElicitResult:
    asked.append(params.message)
    return types.ElicitResult(action="accept", content={"color": "red"})


async def fast_answer(message, response_type, params, context):
    asked.append(message)
    return fastmcp.client.elicitation.ElicitResult(action="accept", content={"color": "red"})


def connect(package: str, transport: str, target: str, mode: str):
    if package == "mcp":
        server = {
            "stdio": lambda: stdio_client(mcp.StdioServerParameters(command=target)),
            "http": lambda: target,
            "sse": lambda: sse_client(target),
        }[transport]()
        return mcp.Client(server, mode=mode, elicitation_callback=answer, message_handler=on_message, cache=None)
    server = {
        "stdio": lambda: fastmcp.client.transports.StdioTransport(command=target, args=[]),
        "http": lambda: fastmcp.client.transports.StreamableHttpTransport(target),
        "sse": lambda: fastmcp.client.transports.SSETransport(target),
    }[transport]()
    return fastmcp.Client(server, mode=mode, elicitation_handler=fast_answer, message_handler=on_message)


class Session:
    """One interface to both packages."""

    def __init__(self, client) -> None:
        self.client = client
        self.fast = isinstance(client, fastmcp.Client)

    async def call(self, name, arguments=None, progress=None):
        if not self.fast:
            return await self.client.call_tool(name, arguments or {}, progress_callback=progress)
        return await self.client.call_tool(name, arguments or {}, progress_handler=progress, raise_on_error=False)

    async def text(self, name, arguments=None) -> str:
        return (await self.call(name, arguments)).content[0].text

    async def names(self) -> list[str]:
        tools = await self.client.list_tools()
        return [tool.name for tool in (tools if self.fast else tools.tools)]

    async def read(self, uri: str) -> str:
        contents = await self.client.read_resource(uri)
        return (contents if self.fast else contents.contents)[0].text

    async def complete(self, value: str) -> list[str]:
        reference = types.PromptReference(type="ref/prompt", name="greet")
        done = await self.client.complete(reference, {"name": "name", "value": value})
        return done.values if self.fast else done.completion.values


async def tools(session: Session) -> dict:
    result = await session.call("echo", {"text": "hi"})
    refused = await session.call("refuse")
    return {
        "names": sorted(name for name in await session.names() if name in KNOWN),
        "echo": result.content[0].text,
        "structured": result.structured_content,
        "refused": refused.is_error,
    }


async def progress(session: Session) -> dict:
    seen = []

    async def report(progress, total, message) -> None:
        seen.append([progress, total, message])

    result = await session.call("report", {"count": 3}, report)
    grows = all(one[0] < other[0] for one, other in zip(seen, seen[1:]))
    return {"last": seen[-1] if seen else None, "grows": grows, "text": result.content[0].text}


async def cancel(session: Session) -> dict:
    before = int(await session.text("held"))
    held = asyncio.create_task(session.call("hold"))
    while int(await session.text("holding")) == 0:
        await asyncio.sleep(0.01)
    held.cancel()
    await asyncio.wait([held], timeout=5)
    for _ in range(500):
        let_go = int(await session.text("held")) - before
        if let_go:
            break
        await asyncio.sleep(0.01)
    return {"let_go": let_go}


async def ask(session: Session) -> dict:
    text = await session.text("inquire", {"about": "form"})
    return {"asked": asked, "text": text}


async def resources(session: Session, modern: bool) -> dict:
    client = session.client
    seen = {"hello": await session.read("note://hello"), "template": await session.read("planet://Mars/mass?unit=kg")}
    try:
        await session.read("note://nowhere")
    except mcp.MCPError as error:
        seen["missing"] = error.error.code
    except Exception as error:
        # fastmcp raises its own exception; the code is in its cause.
        cause = error.__cause__
        seen["missing"] = cause.error.code if isinstance(cause, mcp.MCPError) else repr(error)
    if not modern:
        await client.session.subscribe_resource("note://hello")
        await session.call("touch", {"uri": "note://hello"})
        seen["updated"] = await asyncio.wait_for(updated.get(), 10)
        return seen
    async with mcp.client.subscriptions.listen(client.session, resource_subscriptions=["note://hello"]) as changes:
        await session.call("touch", {"uri": "note://hello"})
        async for event in changes:
            seen["updated"] = str(event.uri)
            break
    return seen


async def prompts(session: Session) -> dict:
    got = await session.client.get_prompt("greet", {"name": "Ada", "times": "2"})
    return {"greet": got.messages[0].content.text, "completed": await session.complete("a")}


async def main(package: str, transport: str, target: str, mode: str) -> None:
    async with connect(package, transport, target, mode) as client:
        session = Session(client)
        version = client.protocol_version
        report = {
            "version": version,
            "tools": await tools(session),
            "progress": await progress(session),
            "cancel": await cancel(session),
            "ask": await ask(session),
            "resources": await resources(session, version == "2026-07-28"),
            "prompts": await prompts(session),
        }
        print(json.dumps(report))


asyncio.run(main(*sys.argv[1:5]))
