// The TypeScript SDK 1.x as a client of nodes.
//
// usage: nodes1.mjs HOB DIR OTHER MODE      OTHER is a linked worktree; MODE is `legacy`, the only era of this SDK
// Prints one JSON line: the report of `nodes.mjs`.

import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";
import { ToolListChangedNotificationSchema } from "@modelcontextprotocol/sdk/types.js";
import { steps } from "./nodes.mjs";

const [hob, directory, other] = process.argv.slice(2);

async function connect(cwd) {
  const client = new Client({ name: "nodes1", version: "1.0.0" });
  const session = { client, changes: 0 };
  client.setNotificationHandler(ToolListChangedNotificationSchema, () => { session.changes += 1; });
  const transport = new StdioClientTransport({ command: hob, args: ["mcp"], cwd });
  transport.setProtocolVersion = (negotiated) => { session.version = negotiated; };
  await client.connect(transport);
  return session;
}

console.log(JSON.stringify(await steps(connect, directory, other)));
