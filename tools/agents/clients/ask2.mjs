// The TypeScript SDK 2.x as a client with dialogs: each asking tool of `hob mcp ask` is accepted, declined and cancelled by
// a person who takes a moment.
//
// usage: ask2.mjs HOB DIR MODE      MODE is legacy, auto or a protocol revision to pin
// Prints one JSON line: {"version", "answers", "shown"}: structured results, and the fields of the dialogs, by tool and action.

import { readFileSync } from "node:fs";
import { Client } from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";

const [hob, cwd, wanted] = process.argv.slice(2);
const calls = JSON.parse(readFileSync(new URL("ask.json", import.meta.url)));
const mode = wanted === "legacy" || wanted === "auto" ? wanted : { pin: wanted };
const client = new Client(
  { name: "ask2", version: "1.0.0" },
  { capabilities: { elicitation: {} }, versionNegotiation: { mode } },
);
const now = {};
client.setRequestHandler("elicitation/create", async ({ params }) => {
  now.shown = Object.keys(params.requestedSchema.properties).sort();
  // Whoever answers at once is no person.
  await new Promise((resolve) => setTimeout(resolve, 400));
  return now.action === "accept" ? { action: "accept", content: now.content } : { action: now.action };
});
await client.connect(new StdioClientTransport({ command: hob, args: ["mcp", "ask"], cwd }));
const answers = {};
const shown = {};
for (const [name, call] of Object.entries(calls)) {
  answers[name] = {};
  for (const action of ["accept", "decline", "cancel"]) {
    Object.assign(now, { action, content: call.content });
    // Each is a question of its own.
    const args = { ...call.arguments, key: `typescript ${wanted} ${name} ${action}` };
    answers[name][action] = (await client.callTool({ name, arguments: args })).structuredContent;
    shown[name] = now.shown;
  }
}
console.log(JSON.stringify({ version: client.getNegotiatedProtocolVersion(), answers, shown }));
await client.close();
