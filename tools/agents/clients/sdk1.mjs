// The TypeScript SDK 1.x as a client: lists the tools and evaluates in GHCi through `hob mcp`.
//
// usage: sdk1.mjs HOB DIR MODE      MODE is `legacy`, the only era of this SDK
// Prints one JSON line: {"version", "tools", "text", "structured"}.

import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";

const [hob, cwd] = process.argv.slice(2);
const client = new Client({ name: "sdk1", version: "1.0.0" });
const transport = new StdioClientTransport({ command: hob, args: ["mcp"], cwd });
let version;
transport.setProtocolVersion = (negotiated) => { version = negotiated; };
await client.connect(transport);

const { tools } = await client.listTools();
await client.callTool({ name: "repl_start", arguments: { profile: "ghci" } });
const result = await client.callTool({ name: "repl_eval", arguments: { code: ":t map", wait_ms: 50_000 } });
const text = result.content.map((part) => part.text ?? "").join("");
if (result.isError) throw new Error(`repl_eval failed: ${text}`);
console.log(JSON.stringify({ version, tools: tools.length, text, structured: result.structuredContent !== undefined }));
await client.close();
