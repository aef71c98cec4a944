// The TypeScript SDK 1.x as a client: everything a client may do, against the example `everything`.
//
// usage: matrix1.mjs stdio|http|sse|websocket TARGET legacy [race]      TARGET is a program or an address
// Prints one JSON line: {"version", "tools", "progress", "cancel", "ask", "resources", "prompts"}, or with `race`
// {"version", "race"}: the outcome of a thousand calls that report progress and end immediately.

import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { SSEClientTransport } from "@modelcontextprotocol/sdk/client/sse.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { WebSocketClientTransport } from "@modelcontextprotocol/sdk/client/websocket.js";
import { ElicitRequestSchema, ResourceUpdatedNotificationSchema } from "@modelcontextprotocol/sdk/types.js";
import { everything, race } from "./matrix.mjs";

const [kind, target, , what] = process.argv.slice(2);
const transport = {
  stdio: () => new StdioClientTransport({ command: target }),
  http: () => new StreamableHTTPClientTransport(new URL(target)),
  sse: () => new SSEClientTransport(new URL(target)),
  websocket: () => new WebSocketClientTransport(new URL(target)),
}[kind]();
let version;
const told = transport.setProtocolVersion?.bind(transport);
transport.setProtocolVersion = (negotiated) => { version = negotiated; told?.(negotiated); };

const client = new Client({ name: "matrix1", version: "1.0.0" }, { capabilities: { elicitation: {} } });
const asked = [];
client.setRequestHandler(ElicitRequestSchema, ({ params }) => {
  asked.push(params.message);
  return { action: "accept", content: { color: "red" } };
});
let updated;
const update = new Promise((resolve) => { updated = resolve; });
client.setNotificationHandler(ResourceUpdatedNotificationSchema, ({ params }) => updated(params.uri));
await client.connect(transport);
const watch = async (uri, change) => {
  await client.subscribeResource({ uri });
  await change();
  return update;
};
const call = (params, options) => client.callTool(params, undefined, options);
const report = what === "race" ? await race({ client, call }) : await everything({ client, asked, watch, call });
console.log(JSON.stringify({ version, ...report }));
await client.close();
