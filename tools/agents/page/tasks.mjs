// Plays each task of a person by keyboard alone, by the column "keys on the page" of docs/reference/faces.md.
//
// usage: node tasks.mjs HOB CHROMIUM DIRECTORY CHECKOUT

import { spawn, spawnSync } from "node:child_process";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { Day } from "./day.mjs";

const [hob, chromium, , checkout] = process.argv.slice(2);
const puppeteer = createRequire(import.meta.url)("puppeteer-core");

// The most keys of a task, without typed texts.
const MOST = 20;
const ROOMS = ["Now", "Agents", "Sessions", "Mail", "Questions", "Activity", "Work", "Nodes"];

// A project in which each task can be done.
class Project extends Day {
  async begin() {
    const git = (...args) => spawnSync("git", ["-c", "user.name=t", "-c", "user.email=t@t", ...args], { cwd: this.root, env: this.env });
    mkdirSync(join(this.root, "src"));
    writeFileSync(join(this.root, "Cargo.toml"), `[package]\nname = "shop"\nversion = "0.1.0"\n`);
    writeFileSync(join(this.root, "src", "main.rs"), "fn area(side: u32) -> u32 { side }\n\nfn main() { area(2); }\n");
    git("init", "-qb", "main");
    git("add", ".");
    git("commit", "-qm", "one");
    git("worktree", "add", "-q", "-b", "login", join(this.top, "shop-login"));
    const rule = `id = "no-force-push"\ntool = "shell"\ncommand = "git push -f"\ndecide = "deny"\nreason = "it loses others' work"\n`;
    writeFileSync(join(this.root, "hob-policy.toml"), `[[rule]]\n${rule}`);
    mkdirSync(join(this.root, "nodes"));
    writeFileSync(join(this.root, "nodes", "rate.node.md"), `---
description: Rates a text.
input: { schema: { text: string } }
output: { schema: { score: integer 1..5 } }
model: local
---
{{ text | data }}
`);
    // This server never reports that it is ready. Nothing listens at the model's address.
    const server = join(checkout, "crates/code/tests/it/liar.py");
    mkdirSync(join(this.env.HOME, ".config", "hob"), { recursive: true });
    writeFileSync(join(this.env.HOME, ".config", "hob", "config.toml"), `[code.servers.rust-analyzer]\ncommand = ["python3", "${server}", "honest", "0"]\n[nodes.models.local]\nurl = "http://127.0.0.1:9/v1"\nmodel = "m"\n`);

    const ann = await this.agent("ann", "claude-code");
    const bob = await this.agent("bob", "codex", join(this.top, "shop-login"));
    Object.assign(this, { ann, bob });
    await ann("register_agent", { name: "ann", role: "lead" });
    await bob("register_agent", { name: "bob", role: "developer" });
    await ann("repl_eval", { session: "api", profile: "bash", code: "seq 1 40" });
    ann("repl_eval", { session: "main", profile: "bash", code: "echo begun; while true; do sleep 0.2; done", wait_ms: 600_000 }).catch(() => {});
    await ann("repl_eval", { session: "probe", profile: "bash", code: "echo from the first byte; kill -SEGV $$" }).catch(() => {});
    await ann("send_message", { to: "bob", content: "Please migrate the tables first." });
    await bob("send_message", { to: "user", content: "Which port?", priority: "high" });
    await ann("confirm_action", { action: "Push the branch?", wait_s: 0 });
    await ann("confirm_action", { action: "Merge the branch?", wait_s: 0 });
    await bob("confirm_action", { action: "Delete the old table?", danger: "high", wait_s: 0 });
    this.sleeping = bob("repl_eval", { session: "slow", profile: "bash", code: "sleep 900", wait_ms: 600_000 }).catch((error) => error.message);
    spawnSync(hob, ["hook", "PreToolUse", "--agent", "claude", "--deadline", "60"], {
      cwd: this.root,
      env: this.env,
      input: JSON.stringify({ hook_event_name: "PreToolUse", tool_name: "Bash", tool_input: { command: "git push -f" } }),
    });
    this.run("trust", "--yes");
    this.run("callers", "area", "--wait-ms", "0");
    await ann("rate", { text: "It rained." }).catch(() => {});
  }
}

// What each task looks for, by its words, and the sign that it is done. `row` tells rows of one kind apart.
const TASKS = {
  "Find the agent that waits for you, and answer it": { row: "Push the branch?", done: /answered by tester/ },
  "Answer a dangerous question": { row: "Delete the old table?", done: /answered by tester[^]*yes/ },
  "Decline a question": { row: "Merge the branch?", done: /This question is declined/ },
  "Read a message that an agent wrote to you, and reply": { row: "Which port?", done: /Sent to bob[^]*user \(read\)/ },
  "Tell one agent something": { row: "ann", done: /Sent to ann/ },
  "Tell all agents to stop": { done: /Sent to/ },
  "Join a conversation between two agents": { row: "migrate the tables", done: /Sent to ann/ },
  "See whether a message was read": { done: /user \(read\)[^]*bob \(waiting\)/ },
  "Stop a runaway evaluation": { done: /interrupted/ },
  "Restart a session": { done: /main: bash .*idle/ },
  "End a session": { done: /main: it was stopped/ },
  "Read what crashed a session, from its first byte": { row: "probe", done: /from the first byte/ },
  "Follow the output of an evaluation": { row: "main", done: /begun/ },
  "Cancel a call that does not end": { done: /The call is cancelled/ },
  "See what happened since lunch": { done: /session api started/ },
  "See who works in which worktree": { done: /shop-login\s+login\s+bob/ },
  "See which language server is loading": { done: /rust-analyzer\s+loading/ },
  "See the last calls of an agent": { row: "bob", done: /repl_eval\s.*sleep 900/ },
  "See today's denials": { done: /deny \(no-force-push\)/, without: /register_agent/ },
  "Find everything that mentions a word": { done: /migrate the tables/, without: /register_agent/ },
  "See which node fails": { done: /rate[^]*1[^]*1/ },
};
const KINDS = { question: "question?", message: "thread?", agent: "agent?", session: "session?" };

class Keyboard {
  constructor(tab) {
    this.tab = tab;
    this.presses = 0;
  }

  async press(key) {
    this.presses++;
    await this.tab.keyboard.press(key);
  }

  // Goes on to the element that a function of the page accepts.
  async go(what, accepts, ...args) {
    for (let count = 0; count < 120; count++) {
      await this.press("Tab");
      if (await this.tab.evaluate(accepts, ...args)) return;
    }
    throw new Error(`Tab does not reach ${what}`);
  }

  async enter(isElsewhere) {
    const left = isElsewhere && this.tab.waitForNavigation();
    await this.press("Enter");
    await left;
  }

  // Does one step of the table.
  async step(step, row) {
    const text = step.match(/^type \*(.*)\*$/)?.[1] ?? (step === "text" && "as you like");
    const button = step.match(/^\*(.*)\*$/)?.[1];
    if (ROOMS.includes(step)) {
      await this.go(step, (id) => document.activeElement.id === id, `room-${step}`);
      await this.enter(true);
    } else if (KINDS[step]) {
      const isRow = (kind, row) => document.activeElement.getAttribute("href")?.startsWith(kind) && document.activeElement.textContent.includes(row);
      await this.go(row, isRow, KINDS[step], row);
      await this.enter(true);
    } else if (step === "choice") {
      await this.go(step, () => document.activeElement.type === "radio");
      await this.press("Space");
    } else if (text) {
      const isText = () => document.activeElement.matches("textarea, input[type=text]:not(#write-to)");
      if (!(await this.tab.evaluate(isText))) await this.go(step, isText);
      await this.tab.keyboard.type(text);
    } else {
      await this.go(step, (name) => document.activeElement.matches("button, summary, a") && document.activeElement.textContent.includes(name), button);
      await this.enter(await this.tab.evaluate(() => document.activeElement.type === "submit"));
    }
  }
}

async function main() {
  const reference = readFileSync(join(checkout, "docs/reference/faces.md"), "utf8");
  const rows = reference.split("\n").filter((line) => /^\| (?!task)/.test(line)).map((line) => line.split("|").slice(1, -1).map((cell) => cell.trim()));
  const project = new Project(hob);
  let page, browser, failed = 0;
  try {
    await project.begin();
    page = spawn(hob, ["page"], { cwd: project.root, env: project.env, stdio: ["ignore", "pipe", "inherit"] });
    const link = await new Promise((resolve) => createInterface({ input: page.stdout }).once("line", resolve));
    browser = await puppeteer.launch({ executablePath: chromium, headless: true, args: ["--no-sandbox", "--disable-gpu"] });
    const tab = await browser.newPage();
    await tab.setViewport({ width: 1280, height: 900 });
    await tab.goto(link);
    const base = tab.url();
    for (const [task, , keys] of rows) {
      const { row = "", done, without } = TASKS[task] ?? {};
      await tab.goto(`${base}now`);
      const keyboard = new Keyboard(tab);
      let problem = done ? null : "no expectation";
      try {
        for (const step of keys.split(", ")) await keyboard.step(step, row);
        const shows = (done, without) => new RegExp(done).test(document.querySelector("main").innerText) && !(without && new RegExp(without).test(document.querySelector("main").innerText));
        await tab.waitForFunction(shows, { polling: 100, timeout: 5_000 }, done.source, without?.source);
      } catch (error) {
        problem ??= `${error.message}; the page shows: ${await tab.$eval("main", (main) => main.innerText)}`;
      }
      if (!problem && keyboard.presses > MOST) problem = `more than ${MOST} keys`;
      console.log(`${problem ? "FAULT" : "done"} ${keyboard.presses} keys: ${task}${problem ? `: ${problem}` : ""}`);
      failed += problem ? 1 : 0;
    }
    const ended = await project.sleeping;
    if (!/Your user cancelled this call/.test(ended)) {
      failed++;
      console.log(`FAULT the cancelled call ended with ${JSON.stringify(ended)}`);
    }
  } finally {
    await browser?.close();
    page?.kill();
    project.end();
  }
  console.log(`${rows.length - failed} of ${rows.length} tasks done by keyboard`);
  process.exitCode = failed || rows.length < 20 ? 1 : 0;
}

await main();
