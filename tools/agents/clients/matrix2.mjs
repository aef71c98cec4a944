// The TypeScript SDK 2.x as a client: everything a client may do, against the example `everything`.
//
// usage: matrix2.mjs stdio|http|sse TARGET MODE [race]      MODE is legacy, auto or a protocol revision to pin
// Prints one JSON line: {"version", "tools", "progress", "cancel", "ask", "resources", "prompts"}, or with `race`
// {"version", "race"}: the outcome of a thousand calls that report progress and end immediately.

import { Client, SSEClientTransport, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";
import { everything, race } from "./matrix.mjs";

const [kind, target, wanted, what] = process.argv.slice(2);
const transport = {
  stdio: () => new StdioClientTransport({ command: target }),
  http: () => new StreamableHTTPClientTransport(new URL(target)),
  sse: () => new SSEClientTransport(new URL(target)),
}[kind]();
const mode = wanted === "legacy" || wanted === "auto" ? wanted : { pin: wanted };
const client = new Client(
  { name: "matrix2", version: "1.0.0" },
  { capabilities: { elicitation: {} }, versionNegotiation: { mode } },
);
const asked = [];
client.setRequestHandler("elicitation/create", ({ params }) => {
  asked.push(params.message);
  return { action: "accept", content: { color: "red" } };
});
let updated;
const update = new Promise((resolve) => { updated = resolve; });
client.setNotificationHandler("notifications/resources/updated", ({ params }) => updated(params.uri));
await client.connect(transport);
const version = client.getNegotiatedProtocolVersion();
const watch = async (uri, change) => {
  if (version < "2026") await client.subscribeResource({ uri });
  else await client.listen({ resourceSubscriptions: [uri] });
  await change();
  return update;
};
const call = (params, options) => client.callTool(params, options);
const report = what === "race" ? await race({ client, call }) : await everything({ client, asked, watch, call });
console.log(JSON.stringify({ version, ...report }));
await client.close();
