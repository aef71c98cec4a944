// A project at work for the check of the page: agents as real MCP clients, sessions, mail and questions of each kind.

import { spawn, spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";

// A picture of one pixel.
const PNG = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";
export const HOSTILE = `<script>document.title="ran"</script><img src=x onerror='document.title="ran"'>" javascript:alert(1) \u202e${"x".repeat(300)}`;

const DIFF = `--- a/deploy.yaml
+++ b/deploy.yaml
@@ -3,5 +3,5 @@
 service: api
-replicas: 3
+replicas: 1
 region: eu-west
`;

export const FORM = [
  { id: "about", kind: "note", label: "The tests are green on all three platforms." },
  { id: "ship", kind: "boolean", label: "Ship it today?", required: true },
  { id: "when", kind: "date", label: "On which day?", required: true, show_if: { field: "ship", equals: true } },
  { id: "why", kind: "multiline", label: "What is missing?", help: "One line for each thing.", show_if: { field: "ship", equals: false } },
  { id: "name", kind: "text", label: "Name of the release", pattern: "v[0-9.]+", help: "Such as v1.2." },
  { id: "copies", kind: "integer", label: "Copies", min: 1, max: 9, default: 2 },
  { id: "to", kind: "choice", label: "Channel", options: [{ id: "stable", label: "Stable", help: "Everybody gets it." }, { id: "beta", label: "Beta" }], other: true },
  { id: "with", kind: "multichoice", label: "Also publish", options: [{ id: "docs" }, { id: "image", label: "Container image" }], default: ["docs"] },
];

export class Day {
  constructor(hob) {
    this.hob = hob;
    this.top = mkdtempSync(join(tmpdir(), "hob-p"));
    this.root = join(this.top, "shop");
    this.peers = [];
    for (const dir of ["shop", "home", "run"]) mkdirSync(join(this.top, dir), { mode: 0o700 });
    writeFileSync(join(this.root, "hob.toml"), "");
    writeFileSync(join(this.root, "shot.png"), Buffer.from(PNG, "base64"));
    // Its shell is the agent's process, so that the page's ancestors started no front-end.
    writeFileSync(join(this.top, "agent"), `"${hob}" mcp "$@"; exit $?\n`);
    this.env = { PATH: process.env.PATH, HOME: join(this.top, "home"), XDG_RUNTIME_DIR: join(this.top, "run"), LANG: "C.UTF-8", USER: "tester" };
  }

  run(...args) {
    return spawnSync(this.hob, args, { cwd: this.root, env: this.env, encoding: "utf8" });
  }

  async agent(name, program, cwd = this.root) {
    const child = spawn("sh", [join(this.top, "agent"), "--as", name], { cwd, env: this.env, stdio: ["pipe", "pipe", "ignore"] });
    this.peers.push(child);
    const waiting = new Map();
    createInterface({ input: child.stdout }).on("line", (line) => {
      const message = JSON.parse(line);
      if (waiting.has(message.id) && !message.method) waiting.get(message.id)(message);
    });
    let last = 0;
    const send = (message) => child.stdin.write(`${JSON.stringify({ jsonrpc: "2.0", ...message })}\n`);
    const request = (method, params) => new Promise((resolve) => {
      waiting.set(++last, resolve);
      send({ id: last, method, params });
    });
    await request("initialize", { protocolVersion: "2025-11-25", capabilities: {}, clientInfo: { name: program, version: "1" } });
    send({ method: "notifications/initialized" });
    return async (tool, args) => {
      const answer = await request("tools/call", { name: tool, arguments: args });
      if (answer.error || answer.result.isError) throw new Error(`${tool}: ${JSON.stringify(answer)}`);
      return answer.result.structuredContent ?? {};
    };
  }

  // Returns the ids of the questions by their kind.
  async begin() {
    const ann = await this.agent("ann", "claude-code");
    const bob = await this.agent("bob", "codex");
    const cara = await this.agent("cara", "gemini-cli");
    this.ann = ann;
    await ann("register_agent", { name: "ann", role: "lead" });
    await bob("register_agent", { name: "bob", role: "developer" });
    await cara("register_agent", { name: "cara", role: "reviewer" });
    await ann("repl_eval", { session: "api", profile: "bash", code: "seq 1 40" });
    // It goes on for hours.
    bob("repl_eval", { session: "migrate", profile: "bash", code: "for i in $(seq 1 100000); do echo row $i; sleep 0.2; done" }).catch(() => {});
    await cara("repl_eval", { session: "probe", profile: "bash", code: "echo from the first byte; echo then a fault >&2; kill -SEGV $$" }).catch(() => {});
    await ann("send_message", { to: ["bob"], content: "The schema is merged: please rebase before you migrate.", priority: "high" });
    await cara("send_message", { to: ["ann"], content: `Odd text in a message: ${HOSTILE}` });
    await bob("send_message", { to: ["ann", "cara"], content: "Migration runs; about ten minutes left.", priority: "critical" });
    const attachments = [
      { kind: "diff", label: "deploy.yaml", text: DIFF },
      { kind: "picture", label: "The new page", path: "shot.png" },
      { kind: "text", label: "Log", text: "all green\n" },
    ];
    const asks = {
      danger: () => bob("confirm_action", { action: "Delete the old orders table in production?", details: "12,480 rows. The backup is from last night.", danger: "high", wait_s: 0 }),
      confirm: () => ann("confirm_action", { action: "Push the branch?", wait_s: 0 }),
      form: () => ann("ask_form", { title: "How do we release?", message: "All is ready.\nPlease decide.", fields: FORM, attachments, wait_s: 0 }),
      select: () => cara("select_option", { prompt: HOSTILE.slice(0, 190), options: [["a", "Wait"], ["b", "Go on"]], wait_s: 0 }),
      guide: () => cara("request_guidance", { context: "Mend the test or the program?", suggestions: ["the test", "the program"], wait_s: 0 }),
    };
    const ids = {};
    for (const [name, ask] of Object.entries(asks)) {
      await ask();
      // The result of a tool has another form for each program.
      ids[name] = JSON.parse(this.run("questions", "--json").stdout).at(-1).question;
    }
    return ids;
  }

  end() {
    this.run("stop");
    this.peers.forEach((peer) => peer.kill());
    rmSync(this.top, { recursive: true, force: true });
  }
}
