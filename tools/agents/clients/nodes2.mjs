// The TypeScript SDK 2.x as a client of nodes.
//
// usage: nodes2.mjs HOB DIR OTHER MODE      OTHER is a linked worktree; MODE is legacy, auto or a protocol revision to pin
// Prints one JSON line: the report of `nodes.mjs`.

import { Client } from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";
import { steps } from "./nodes.mjs";

const [hob, directory, other, wanted] = process.argv.slice(2);
const mode = wanted === "legacy" || wanted === "auto" ? wanted : { pin: wanted };

async function connect(cwd) {
  const client = new Client({ name: "nodes2", version: "1.0.0" }, { versionNegotiation: { mode } });
  const session = { client, changes: 0 };
  client.setNotificationHandler("notifications/tools/list_changed", () => { session.changes += 1; });
  await client.connect(new StdioClientTransport({ command: hob, args: ["mcp"], cwd }));
  session.version = client.getNegotiatedProtocolVersion();
  if (session.version >= "2026") await client.listen({ toolsListChanged: true });
  return session;
}

console.log(JSON.stringify(await steps(connect, directory, other)));
