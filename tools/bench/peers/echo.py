"""The echo server on the Python package `mcp`, on standard streams, in both eras."""

from mcp.server import MCPServer

server = MCPServer("echo")


@server.tool()
async def echo(text: str) -> str:
    """Gives back what it is given."""
    return text


server.run("stdio")
