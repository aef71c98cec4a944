"""The Python package `mcp` as a client of the Cure compiler: calls every tool, reads a resource of each kind and gets a
prompt through `hob mcp --profile cure`.

usage: cure.py HOB DIR MODE      MODE is legacy, auto or a protocol revision to pin
Prints one JSON line: {"version", "tools", "answers", "resources", "prompts", "deep", "dear"}; an answer is
{"text", "structured", "is_error"}.
"""

import asyncio
import json
import sys

from mcp import Client, StdioServerParameters
from mcp.client.stdio import stdio_client

PROGRAM = """module Shop do
  export [main/0, price/1]
  # What so many cost.
  def price(n: {x: Int | x > 0}): Int = if n > 9 then n * 9 else n * 10
  def main(): Int = price(3) + price(10)
end
"""
WRONG = PROGRAM.replace("price(3)", "price(0 - 3)")
LAMP = """module Light do
  fsm Lamp do
    Off --> |toggle| On
    On --> |toggle| Off
  end
end
"""
CALLS = {
    "analyze_fsm": {"code": LAMP},
    "check_project": {"path": "."},
    "compile_cure": {"file_path": "shop.cure"},
    "format_cure": {"code": PROGRAM.replace("  def", "     def")},
    "generate_tests": {"code": PROGRAM, "function": "price"},
    "get_ast": {"code": PROGRAM},
    "get_examples": {"category": "fsm"},
    "get_stdlib_docs": {"module": "Std.Option"},
    "get_syntax_help": {"topic": "records"},
    "parse_cure": {"code": PROGRAM},
    "run_cure": {"code": PROGRAM},
    "type_check_cure": {"code": WRONG},
    "validate_syntax": {"code": PROGRAM},
}


def answer(result) -> dict:
    text = "".join(part.text for part in result.content if part.type == "text")
    return {"text": text, "structured": result.structured_content, "is_error": result.is_error}


async def main(hob: str, directory: str, mode: str) -> None:
    with open(f"{directory}/shop.cure", "w") as file:
        file.write(PROGRAM)
    server = StdioServerParameters(command=hob, args=["mcp", "--profile", "cure"], cwd=directory)
    async with Client(stdio_client(server), mode=mode) as client:

        async def call(tool: str, arguments: dict) -> dict:
            return answer(await client.call_tool(tool, arguments))

        tools = [tool.name for tool in (await client.list_tools()).tools]
        answers = {tool: await call(tool, arguments) for tool, arguments in CALLS.items()}
        resources = {}
        for uri in ["cure://syntax/fsm", "cure://std/Std.List", "cure://examples/turnstile"]:
            resources[uri] = (await client.read_resource(uri)).contents[0].text
        prompt = await client.get_prompt("cure_fix_errors", {"code": WRONG})
        report = {
            "version": client.protocol_version,
            "tools": tools,
            "answers": answers,
            "resources": resources,
            "prompts": [message.content.model_dump(mode="json") for message in prompt.messages],
            # Programs that try to overflow a compiler's stack, or to keep it busy for ever.
            "deep": await call("validate_syntax", {"code": "module T do\n  def f(): Int = " + "(" * 100_000}),
            "dear": await call("type_check_cure", {"code": doubling()}),
        }
        print(json.dumps(report))


def doubling() -> str:
    lines = "".join(f"    let a{at + 1} = {{a{at}, a{at}}}\n" for at in range(60))
    return f"module T do\n  def f(n: Int): Any =\n    let a0 = n\n{lines}    a60\nend\n"


asyncio.run(main(*sys.argv[1:4]))
