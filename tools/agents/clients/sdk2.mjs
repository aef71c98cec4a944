// The TypeScript SDK 2.x as a client: lists the tools and evaluates in GHCi through `hob mcp`.
//
// usage: sdk2.mjs HOB DIR MODE      MODE is legacy, auto or a protocol revision to pin
// Prints one JSON line: {"version", "tools", "text", "structured"}.

import { Client } from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";

const [hob, cwd, wanted] = process.argv.slice(2);
const mode = wanted === "legacy" || wanted === "auto" ? wanted : { pin: wanted };
const client = new Client({ name: "sdk2", version: "1.0.0" }, { versionNegotiation: { mode } });
await client.connect(new StdioClientTransport({ command: hob, args: ["mcp"], cwd }));

const { tools } = await client.listTools();
await client.callTool({ name: "repl_start", arguments: { profile: "ghci" } });
const result = await client.callTool({ name: "repl_eval", arguments: { code: ":t map", wait_ms: 50_000 } });
const text = result.content.map((part) => part.text ?? "").join("");
if (result.isError) throw new Error(`repl_eval failed: ${text}`);
const version = client.getNegotiatedProtocolVersion();
console.log(JSON.stringify({ version, tools: tools.length, text, structured: result.structuredContent !== undefined }));
await client.close();
