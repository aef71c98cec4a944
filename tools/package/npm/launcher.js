#!/usr/bin/env node
// Starts the program of this platform's package, with the same arguments, streams and exit status.
"use strict";

const { spawn } = require("node:child_process");
const { constants } = require("node:os");

const platform = `${process.platform}-${process.arch}`;
let program;
try {
  program = require.resolve(`hob-mcp-${platform}/hob`);
} catch {
  console.error(
    `hob: no program for ${platform}: the optional package hob-mcp-${platform} is not installed. ` +
      "hob runs on Linux with glibc, on x64 and arm64. Install hob-mcp again without --omit=optional.",
  );
  process.exit(1);
}

const child = spawn(program, process.argv.slice(2), { stdio: "inherit" });
child.on("error", (error) => {
  console.error(`hob: cannot start ${program}: ${error.message}`);
  process.exit(1);
});
// A terminal sends its signals to both processes; others are passed on. hob decides how it ends.
const PASSED_ON = ["SIGTERM", "SIGHUP"];
for (const signal of ["SIGINT", "SIGQUIT", ...PASSED_ON]) {
  process.on(signal, () => PASSED_ON.includes(signal) && child.kill(signal));
}
child.on("exit", (code, signal) => process.exit(signal ? 128 + constants.signals[signal] : code));
