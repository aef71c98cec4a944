// Takes the pictures of README and of the guide from the real program: `hob top` in a terminal of tmux as SVG, `hob page` in a
// browser as PNG, light and dark.
//
// usage: node shots.mjs HOB CHROMIUM DIRECTORY

import { spawn, spawnSync } from "node:child_process";
import { mkdirSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { Day } from "./day.mjs";

const [hob, chromium, pictures] = process.argv.slice(2);
const puppeteer = createRequire(import.meta.url)("puppeteer-core");
const [COLUMNS, ROWS] = [98, 16];

// A morning in a shop: one agent waits for an answer, one works, one waits for mail, and a session has crashed.
class Morning extends Day {
  async begin() {
    const [ann, bob, cara] = [await this.agent("ann", "claude-code"), await this.agent("bob", "codex"), await this.agent("cara", "gemini-cli")];
    await ann("register_agent", { name: "ann", role: "lead" });
    await bob("register_agent", { name: "bob", role: "developer" });
    await cara("register_agent", { name: "cara", role: "reviewer" });
    await cara("repl_eval", { session: "probe", profile: "bash", code: "kill -SEGV $$" }).catch(() => {});
    await ann("repl_eval", { session: "api", profile: "bash", code: "seq 1 40" });
    await ann("send_message", { to: "bob", content: "The schema is merged: rebase before you migrate.", priority: "high" });
    await bob("check_messages", {});
    await bob("send_message", { to: "user", content: "The migration runs. Shall I deploy when it is done?", priority: "high" });
    await ann("confirm_action", { action: "Delete the old orders table in production?", details: "12,480 rows. The backup is from last night.", danger: "high", wait_s: 0 });
    bob("repl_eval", { session: "migrate", profile: "bash", code: "for day in $(seq 1 365); do ./migrate $day; done; sleep 900" }).catch(() => {});
    cara("wait_for_message", { timeout: 500 }).catch(() => {});
    await new Promise((resolve) => setTimeout(resolve, 1500));
  }
}

async function main() {
  mkdirSync(pictures, { recursive: true });
  const day = new Morning(hob);
  let page, browser;
  try {
    writeFileSync(join(day.root, "migrate"), "#!/bin/sh\necho \"day $1: 412 orders\"\n", { mode: 0o755 });
    await day.begin();
    for (const [name, keys] of [["top-now", ["1"]], ["top-agents", ["2"]]]) {
      writeFileSync(join(pictures, `${name}.svg`), await terminal(day, keys));
    }
    page = spawn(hob, ["page"], { cwd: day.root, env: day.env, stdio: ["ignore", "pipe", "inherit"] });
    const link = await new Promise((resolve) => createInterface({ input: page.stdout }).once("line", resolve));
    browser = await puppeteer.launch({ executablePath: chromium, headless: true, args: ["--no-sandbox", "--disable-gpu"] });
    const tab = await browser.newPage();
    await tab.setViewport({ width: 1000, height: 640 });
    await tab.goto(link);
    const base = tab.url();
    for (const scheme of ["light", "dark"]) {
      await tab.emulateMediaFeatures([{ name: "prefers-color-scheme", value: scheme }]);
      await tab.goto(`${base}now`);
      await tab.screenshot({ path: join(pictures, `page-now-${scheme}.png`), fullPage: true });
    }
  } finally {
    await browser?.close();
    page?.kill();
    day.end();
  }
}

// Presses keys in `hob top`, and returns its screen as SVG.
async function terminal(day, keys) {
  const socket = join(day.top, "tmux");
  const tmux = (...args) => spawnSync("tmux", ["-f", "/dev/null", "-S", socket, ...args], { cwd: day.root, env: { ...day.env, TERM: "xterm-256color" }, encoding: "utf8" });
  tmux("new-session", "-d", "-x", String(COLUMNS), "-y", String(ROWS), `'${hob}' top`);
  try {
    for (let round = 0; !tmux("capture-pane", "-p").stdout.includes("working ·"); round++) {
      if (round === 100) throw new Error(`hob top shows nothing: ${tmux("capture-pane", "-p").stdout}`);
      await new Promise((resolve) => setTimeout(resolve, 100));
    }
    for (const key of keys) tmux("send-keys", key);
    await new Promise((resolve) => setTimeout(resolve, 500));
    return svg(tmux("capture-pane", "-p", "-e").stdout.split("\n").slice(0, ROWS));
  } finally {
    tmux("kill-server");
  }
}

const COLOURS = ["#3a3f48", "#ff8f85", "#7bd88f", "#ffcf66", "#8fb8ff", "#d6a2ff", "#7fdbe6", "#e9eaed"];
const [BACK, TEXT] = ["#15171b", "#e9eaed"];
const [WIDTH, HEIGHT, EDGE] = [8.4, 18, 14];

// Draws lines with escape sequences of style.
function svg(lines) {
  const out = [];
  // A style holds beyond the end of a line.
  let style = {};
  lines.forEach((line, row) => {
    let column = 0;
    for (const part of line.split(/(\x1b\[[0-9;]*m)/)) {
      const codes = part.match(/^\x1b\[([0-9;]*)m$/);
      if (codes) {
        const all = codes[1].split(";").map(Number);
        // A colour of the 256 is three numbers.
        while (all.length) style = styled(style, all[0] === 38 ? 30 + all.splice(0, 3)[2] : all.shift());
        continue;
      }
      const length = [...part].length;
      const [fore, back] = style.reverse ? [BACK, style.colour ?? TEXT] : [style.colour ?? TEXT, null];
      const [x, y] = [(EDGE + column * WIDTH).toFixed(1), EDGE + row * HEIGHT];
      if (back && length) out.push(`<rect x="${x}" y="${y}" width="${(length * WIDTH).toFixed(1)}" height="${HEIGHT}" fill="${back}"/>`);
      // Each word has its place, so that no viewer's font or treatment of spaces moves it.
      for (const word of part.matchAll(/\S+/g)) {
        const at = (EDGE + (column + [...part.slice(0, word.index)].length) * WIDTH).toFixed(1);
        const faint = style.dim ? ` opacity=".62"` : "", weight = style.bold ? ` font-weight="bold"` : "";
        const text = word[0].replaceAll("&", "&amp;").replaceAll("<", "&lt;");
        out.push(`<text x="${at}" y="${y + 13}" fill="${fore}" textLength="${([...word[0]].length * WIDTH).toFixed(1)}"${weight}${faint}>${text}</text>`);
      }
      column += length;
    }
  });
  const [width, height] = [Math.ceil(2 * EDGE + COLUMNS * WIDTH), 2 * EDGE + lines.length * HEIGHT];
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" width="${width}" height="${height}" font-family="ui-monospace,'DejaVu Sans Mono',Menlo,Consolas,monospace" font-size="14">
<rect width="100%" height="100%" rx="8" fill="${BACK}"/>
${out.join("\n")}
</svg>
`;
}

function styled(style, code) {
  if (code === 0) return {};
  if (code === 1) return { ...style, bold: true };
  if (code === 2) return { ...style, dim: true };
  if (code === 7) return { ...style, reverse: true };
  if (code >= 30 && code <= 37) return { ...style, colour: COLOURS[code - 30] };
  if (code === 39) return { ...style, colour: undefined };
  return style;
}

await main();
