"""The control of `race`: a server that writes a progress report and its answer at once, as ours must not. A client that
loses no report here could not show that ours keeps them apart.
"""

import json
import sys


def line(message) -> str:
    return json.dumps({"jsonrpc": "2.0", **message}) + "\n"


for text in sys.stdin:
    request = json.loads(text)
    method, params = request.get("method"), request.get("params", {})
    out = ""
    if method == "initialize":
        server = {"name": "together", "version": "1"}
        result = {"protocolVersion": params["protocolVersion"], "capabilities": {"tools": {}}, "serverInfo": server}
    elif method == "tools/list":
        result = {"tools": [{"name": "report", "inputSchema": {"type": "object"}}]}
    elif method == "tools/call":
        token = params["_meta"]["progressToken"]
        out = line({"method": "notifications/progress", "params": {"progressToken": token, "progress": 1}})
        result = {"content": [{"type": "text", "text": "reported"}]}
    else:
        result = {}
    if "id" in request:
        sys.stdout.write(out + line({"id": request["id"], "result": result}))
        sys.stdout.flush()
