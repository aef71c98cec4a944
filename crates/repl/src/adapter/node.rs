//! Node: hob's driver runs inside it and receives frames on a separate descriptor, as Python's does. `node_code.js`
//! rewrites code, `node_watch.js` sees interrupts, and `node_driver.js` does the rest.

use super::{Adapter, Barrier, Channel, Nonce, Plan, Printed, Refusal, Step, Verdict, frames};

/// The adapter for Node 20.12 and newer.
#[derive(Debug, Clone, Copy)]
pub struct Node;

/// The arguments after the program. The script reads the driver from the code descriptor and runs it; a script in
/// `--eval` sees the modules of the directory, and imports none. The checks are about the nesting of callbacks, which
/// an interrupt cuts off.
pub const ARGUMENTS: [&str; 3] = [
    "--no-force-async-hooks-checks",
    "--eval",
    "{ const fs = require('fs'), fd = +process.env.HOB_CODE_FD, byte = Buffer.alloc(1); \
     let length = ''; while (fs.readSync(fd, byte) && byte[0] !== 10) length += byte; \
     const text = Buffer.alloc(+length); \
     for (let offset = 0; offset < text.length;) offset += fs.readSync(fd, text, { offset }) || process.exit(); \
     require('vm').compileFunction(`${text}`, ['require', 'fd'], { filename: 'hob:driver' })(require, fd) }",
];

const DRIVER: &str =
    concat!(include_str!("node_code.js"), "\n", include_str!("node_watch.js"), "\n", include_str!("node_driver.js"));

impl Adapter for Node {
    fn channel(&self) -> Channel {
        Channel::Apart
    }

    fn install(&self, nonce: &Nonce) -> Vec<u8> {
        let source = format!("'use strict';\nconst nonce = '{}';\n{DRIVER}", nonce.as_str());
        format!("{}\n{source}", source.len()).into_bytes()
    }

    fn version(&self, banner: &str) -> Option<String> {
        banner.lines().find_map(|line| line.strip_prefix("Node.js v")).map(|version| version.trim().to_owned())
    }

    fn plan(&self, code: &str) -> Result<Plan, Refusal> {
        Ok(frames::plan(code))
    }

    fn plan_with_input(&self, code: &str) -> Result<Plan, Refusal> {
        Ok(frames::plan_with_input(code))
    }

    fn number(&self, step: &mut Step, eval: u64) {
        frames::number(step, eval);
    }

    fn is_quit(&self, code: &str) -> bool {
        code.trim().starts_with("process.exit(")
    }

    fn classify(&self, printed: Printed<'_>) -> Verdict {
        frames::verdict(printed, "Node")
    }

    fn barrier(&self, _: &Nonce, _: u64) -> Barrier {
        // Only the driver reads frames, so counting is enough.
        Barrier { bytes: frames::frame('B', ""), echo: None }
    }

    fn watches_input_to_read(&self) -> bool {
        true
    }

    fn quit(&self) -> Vec<u8> {
        frames::frame('Q', "")
    }

    fn prompt(&self, _: &str) -> String {
        "> ".to_owned()
    }

    fn replayable(&self, code: &str) -> bool {
        // Judged by the unindented lines. A module is loaded again, a function or class is only defined.
        let mut any = false;
        for line in code.lines().filter(|line| !line.trim().is_empty() && !line.starts_with([' ', '\t', ')', ']', '}']))
        {
            if !line.starts_with("//") && !is_definition(line.strip_prefix("export ").unwrap_or(line)) {
                return false;
            }
            any |= !line.starts_with("//");
        }
        any
    }
}

/// Returns true if an unindented line only begins a definition, or loads a module.
fn is_definition(line: &str) -> bool {
    const STARTS: [&str; 6] = ["function ", "function* ", "async function", "class ", "interface ", "type "];
    let line = line.trim_end().trim_end_matches(';');
    if STARTS.iter().any(|start| line.starts_with(start)) {
        return line.ends_with(['{', '}', '(', ',']) || line.starts_with("type ");
    }
    if line.starts_with("import ") {
        return !line.contains(';');
    }
    let Some((_, value)) = line.strip_prefix("const ").and_then(|rest| rest.split_once(" = ")) else { return false };
    let required = value.strip_prefix("require(").and_then(|rest| rest.strip_suffix(')'));
    required.is_some_and(|name| !name.contains(['(', ')', ';'])) || is_arrow(value)
}

/// Returns true if an expression is an arrow function, whose parameters call nothing.
fn is_arrow(value: &str) -> bool {
    let value = value.strip_prefix("async ").unwrap_or(value);
    let rest = match value.strip_prefix('(').map(|parameters| parameters.split_once(')')) {
        Some(Some((parameters, _))) if parameters.contains(['(', '=']) => return false,
        Some(Some((_, rest))) => rest,
        Some(None) => return false,
        None => value.trim_start_matches(|c: char| c.is_alphanumeric() || c == '_' || c == '$'),
    };
    rest.trim_start().starts_with("=>") && !rest.contains(';')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_definitions_are_replayed() {
        for code in [
            "import fs from 'fs'",
            "const fs = require('fs');\nconst { join } = require('path')",
            "function f(x) {\n  return g(x);\n}",
            "async function* f(\n  x,\n) {\n}",
            "// a comment\nexport class A {\n  x = f();\n}",
            "const f = (x, y) => x + y",
            "const f = async x => {\n  await g(x);\n};",
            "interface I {\n  x: number\n}\ntype T = I | null;",
        ] {
            assert!(Node.replayable(code), "{code}");
        }
        for code in [
            "const x = f()",
            "import fs from 'fs'; fs.rmSync('x')",
            "const x = require('a')(1)",
            "const x = f(a => a)",
            "function f() { g() } f()",
            "const f = (x) => x; f()",
            "const f = (x = g()) => x",
            "// only a comment",
            "f()",
        ] {
            assert!(!Node.replayable(code), "{code}");
        }
    }

    #[test]
    fn an_older_node_is_told_what_the_profile_needs() {
        if !testkit::has_program("node") {
            return;
        }
        let older = "Object.defineProperty(process, 'versions', { value: { node: '20.11.1' } });";
        let output = std::process::Command::new("node").args(["--eval", &format!("{older} {{ {DRIVER} }}")]).output();
        let output = output.unwrap();
        let stderr = String::from_utf8_lossy(&output.stderr);
        let expected = "This profile needs Node 20.12 or newer; this is 20.11.1.\n";
        assert_eq!((output.status.code(), &*stderr), (Some(1), expected));
    }

    #[test]
    fn the_version_is_read_from_the_banner() {
        assert_eq!(Node.version("Node.js v24.19.0\n").as_deref(), Some("24.19.0"));
    }
}
