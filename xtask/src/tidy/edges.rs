//! Permitted dependencies: this table lists every allowed edge between our crates. A new edge changes the architecture,
//! so it is added here deliberately.

use serde_json::Value;

/// Each crate, and those of our crates that it may depend on.
const ALLOWED: &[(&str, &[&str])] = &[
    ("mcp", &[]),
    ("diagnostics", &[]),
    ("project", &["system"]),
    ("system", &[]),
    ("process", &["system"]),
    ("watch", &[]),
    ("client", &["project", "mcp", "system"]),
    ("repl", &["mcp", "process", "project", "diagnostics", "system"]),
    ("syntax", &["process", "system"]),
    ("lsp", &["process", "project", "syntax", "watch"]),
    ("code", &["lsp", "mcp", "process", "project", "syntax", "system", "watch"]),
    ("work", &["mcp", "process", "project"]),
    ("mail", &["mcp", "project", "system"]),
    ("nodes", &["mcp", "process", "project", "watch"]),
    ("cure", &["mcp", "project"]),
    ("ask", &["mcp", "project"]),
    ("hooks", &["mcp", "project"]),
    ("explore", &["mcp", "process", "project", "code"]),
    ("ui", &["client", "project", "mcp"]),
    (
        "daemon",
        &[
            "mcp", "process", "project", "repl", "mail", "code", "nodes", "explore", "cure", "ask", "hooks", "system",
            "work",
        ],
    ),
    ("hob", &["daemon", "client", "ui", "project", "cure", "hooks", "nodes", "system"]),
    ("testkit", &["project"]),
    ("taskkit", &[]),
    ("agents", &["taskkit"]),
    ("bench", &["taskkit"]),
    ("package", &["taskkit"]),
    ("xtask", &["taskkit"]),
];

/// Crates that may use only the feature `wire` of `mcp`, which needs no async runtime.
const WIRE_ONLY: &[&str] = &["client", "ui"];

/// Meaningless names. Such code belongs to the module that uses it.
pub(crate) const FORBIDDEN_NAMES: &[&str] =
    &["core", "common", "util", "utils", "helper", "helpers", "misc", "manager"];

/// The parts: the crates that the daemon may use, except those below all parts.
pub(super) fn parts() -> impl Iterator<Item = &'static str> {
    let daemon = ALLOWED.iter().find(|(name, _)| *name == "daemon").map_or(&[][..], |(_, uses)| uses);
    daemon.iter().copied().filter(|name| !["mcp", "process", "project", "system"].contains(name))
}

/// Checks the output of `cargo metadata --no-deps`.
pub(crate) fn check(metadata: &Value) -> Vec<String> {
    let packages = metadata["packages"].as_array().map(Vec::as_slice).unwrap_or_default();
    let ours: Vec<&str> = packages.iter().filter_map(|package| package["name"].as_str()).collect();
    let mut complaints = Vec::new();
    for package in packages {
        let name = package["name"].as_str().unwrap_or_default();
        if FORBIDDEN_NAMES.contains(&name) {
            complaints.push(format!("crate {name}: the name says nothing; name it for what it owns"));
        }
        let Some((_, allowed)) = ALLOWED.iter().find(|(of, _)| *of == name) else {
            complaints
                .push(format!("crate {name}: not in the table of allowed edges; add it to xtask/src/tidy/edges.rs"));
            continue;
        };
        for dependency in package["dependencies"].as_array().map(Vec::as_slice).unwrap_or_default() {
            complaints.extend(edge(name, allowed, &ours, dependency));
        }
    }
    complaints
}

fn edge(from: &str, allowed: &[&str], ours: &[&str], dependency: &Value) -> Option<String> {
    let to = dependency["name"].as_str().unwrap_or_default();
    if !ours.contains(&to) {
        return None;
    }
    let is_dev = dependency["kind"] == "dev";
    if to == "testkit" {
        let is_tool = ["agents", "bench"].contains(&from);
        return (!is_dev && !is_tool).then(|| format!("{from} → testkit: it is for tests; make it a dev-dependency"));
    }
    // A crate may use itself in its own tests, to switch features on.
    if to == from && is_dev {
        return None;
    }
    if !allowed.contains(&to) {
        return Some(format!("{from} → {to}: not an allowed edge ({from} may use: {})", join(allowed)));
    }
    let features: Vec<&str> =
        dependency["features"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
    let only_wire = dependency["uses_default_features"] == false && features.iter().all(|feature| *feature == "wire");
    (to == "mcp" && WIRE_ONLY.contains(&from) && !is_dev && !only_wire).then(|| {
        format!("{from} → mcp: with its feature `wire` only (default-features = false, features = [\"wire\"])")
    })
}

fn join(names: &[&str]) -> String {
    if names.is_empty() { "nothing of ours".to_owned() } else { names.join(", ") }
}

#[cfg(test)]
mod tests {
    use expect_test::expect;
    use serde_json::json;

    use super::*;

    fn dep(name: &str, kind: Option<&str>, features: &[&str]) -> Value {
        json!({ "name": name, "kind": kind, "features": features, "uses_default_features": false })
    }

    #[test]
    fn allowed_edges_pass() {
        let metadata = json!({ "packages": [
            { "name": "mcp", "dependencies": [dep("serde", None, &[])] },
            { "name": "project", "dependencies": [] },
            { "name": "client", "dependencies": [dep("mcp", None, &["wire"]), dep("project", None, &[]), dep("testkit", Some("dev"), &[])] },
            { "name": "testkit", "dependencies": [dep("project", None, &[])] },
        ]});
        assert_eq!(check(&metadata), Vec::<String>::new());
    }

    #[test]
    fn every_other_edge_is_named() {
        let metadata = json!({ "packages": [
            { "name": "mcp", "dependencies": [dep("project", None, &[])] },
            { "name": "project", "dependencies": [] },
            { "name": "repl", "dependencies": [dep("testkit", None, &[]), dep("daemon", Some("dev"), &[])] },
            { "name": "client", "dependencies": [dep("mcp", None, &["server"])] },
            { "name": "daemon", "dependencies": [] },
            { "name": "testkit", "dependencies": [] },
            { "name": "helpers", "dependencies": [] },
        ]});
        expect![[r#"
            mcp → project: not an allowed edge (mcp may use: nothing of ours)
            repl → testkit: it is for tests; make it a dev-dependency
            repl → daemon: not an allowed edge (repl may use: mcp, process, project, diagnostics, system)
            client → mcp: with its feature `wire` only (default-features = false, features = ["wire"])
            crate helpers: the name says nothing; name it for what it owns
            crate helpers: not in the table of allowed edges; add it to xtask/src/tidy/edges.rs"#]]
        .assert_eq(&check(&metadata).join("\n"));
    }
}
