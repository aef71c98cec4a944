// Nodes through the TypeScript SDK, the steps of both generations: a prompt file is saved and is a tool, which the offline engine
// answers; the file is edited, broken and deleted; another worktree has its own version; and a node without a model is left to the
// caller, whose answer is checked. The SDK validates every result against its tool's schema.
//
// Gives what `nodes.py` prints. A session is {client, changes, version}: `changes` counts how often it was told that the list of
// tools changed.

import { mkdirSync, renameSync, rmSync, writeFileSync } from "node:fs";

const RATE = `---
description: Rates a text.
input: { schema: { text: string } }
output: { schema: { reason: string, score: integer 1..5 } }
---
Rate this text: {{ text | data }}
`;
const OWN = RATE.replace("---\n", "---\nmodel: delegate\n");
const TEXT = { text: "It rained." };

const file = (directory, name) => `${directory}/nodes/${name}.node.md`;

// As many editors do: a new file takes its place, so that none is seen half-written.
function save(directory, name, text) {
  mkdirSync(`${directory}/nodes`, { recursive: true });
  const path = file(directory, name);
  writeFileSync(`${path}.new`, text);
  renameSync(`${path}.new`, path);
}

async function until(what, there) {
  for (let tries = 0; tries < 600; tries += 1) {
    const value = await there();
    if (value) return value;
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  throw new Error(`waited 30 s for ${what}`);
}

export async function steps(connect, directory, other) {
  const session = await connect(directory);
  const { client } = session;
  const told = (times) => until(`change ${times} of the list`, () => session.changes >= times);
  const tools = async (of = client) => {
    const { tools } = await of.listTools();
    return Object.fromEntries(tools.map((tool) => [tool.name, tool]));
  };
  const call = async (name, args, of = client) => {
    const result = await of.callTool({ name, arguments: args });
    if (result.isError) throw new Error(JSON.stringify(result.content));
    return result;
  };
  const structured = async (name, args) => (await call(name, args)).structuredContent;
  const hash = async (of = client) => (await call("rate", TEXT, of))._meta["hob/ledger"].node_hash;
  const announced = {};
  const before = Object.keys(await tools()).filter((name) => name === "rate" || name.startsWith("node"));

  save(directory, "rate", RATE);
  await told(1);
  const listed = (await tools()).rate;
  const called = await call("rate", TEXT);
  const first = called._meta["hob/ledger"].node_hash;
  announced.saved = session.changes;

  save(other, "rate", RATE.replace("Rates a text.", "Rates the text of another."));
  const there = (await connect(other)).client;
  const elsewhere = { described: (await tools(there)).rate.description, hash: await hash(there) };
  await there.close();

  save(directory, "rate", RATE.replace("Rate this", "Rate with care this"));
  const edited = await until("the new version", async () => {
    const now = await hash();
    return now !== first && now;
  });
  announced["body edited"] = session.changes;

  save(directory, "rate", RATE.replace("1..5", "1..9"));
  await told(announced["body edited"] + 1);
  const wider = (await tools()).rate.outputSchema;
  const lastGood = await hash();
  announced["schema edited"] = session.changes;

  save(directory, "rate", RATE.replace("| data", "| dat"));
  const broken = await until("the broken file", async () => {
    const [status] = (await structured("nodes_status", { node: "rate" })).nodes;
    return status.state !== "serving" && status;
  });
  const still = await hash();
  announced.broken = session.changes;

  rmSync(file(directory, "rate"));
  await told(announced.broken + 1);
  const gone = !("rate" in (await tools()));
  announced.deleted = session.changes;

  save(directory, "own", OWN);
  await told(announced.deleted + 1);
  const delegate = await structured("own", TEXT);
  const { ticket } = delegate.delegate;
  const submit = (score) => structured("node_submit", { ticket, value: { reason: "wet", score } });
  const wrong = await submit(9);
  const right = await submit(2);
  const { messages } = await client.getPrompt({ name: "own", arguments: TEXT });
  rmSync(file(directory, "own"));
  await told(announced.deleted + 2);
  announced["own, come and gone"] = session.changes;

  const report = {
    version: session.version,
    before,
    input: listed.inputSchema,
    output: listed.outputSchema,
    called: called.structuredContent,
    ledger: called._meta["hob/ledger"],
    elsewhere,
    hashes: { first, edited, last_good: lastGood, still },
    wider,
    broken,
    gone,
    delegate: delegate.state,
    wrong,
    right,
    prompt: messages[0].content.text,
    announced,
  };
  await client.close();
  return report;
}
