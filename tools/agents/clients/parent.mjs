// A plain Node parent process: Node starts its children with a socketpair, not with pipes.
//
// usage: parent.mjs HOB DIR REQUESTS     writes the file's lines, closes the input, prints the answers

import { spawn } from "node:child_process";
import { readFileSync } from "node:fs";

const [hob, cwd, requests] = process.argv.slice(2);
const child = spawn(hob, ["mcp"], { cwd, stdio: ["pipe", "pipe", "inherit"] });
child.stdout.pipe(process.stdout);
child.stdin.end(readFileSync(requests));
child.on("close", (code) => { process.exitCode = code ?? 1; });
