//! Rules on naming parts: a part joins the daemon in `crates/daemon/src/parts`, and the rest of the daemon loops over
//! the list. Settings, journal and front-end get what they need from each part. Tests may name parts, since they must
//! serve one.

use std::path::Path;

use super::edges;
use super::sources::tests_start;

/// Crates that may not name a part, and the exempt directory of each.
const BELOW_PARTS: [&str; 3] = ["crates/daemon/src", "crates/project/src", "crates/client/src"];
const PARTS_DIR: &str = "crates/daemon/src/parts";

/// Checks one file, whose path is relative to the root.
pub(crate) fn check(file: &Path, text: &str) -> Vec<String> {
    if !BELOW_PARTS.iter().any(|below| file.starts_with(below)) || file.starts_with(PARTS_DIR) {
        return Vec::new();
    }
    let code = text.lines().take(tests_start(file, text)).enumerate();
    let code = code.filter(|(_, line)| !line.trim_start().starts_with("//"));
    // True if another crate's module of that name is imported.
    let is_module = |part: &str| {
        let imported = text.lines().filter_map(|line| line.strip_prefix("use "));
        let of_others = imported.filter(|path| !path.trim_start_matches(':').starts_with(part));
        of_others.flat_map(|line| line.split(|c: char| !c.is_alphanumeric() && c != '_')).any(|word| word == part)
    };
    let named = |line: &str| edges::parts().find(|part| names_part(line, part, is_module(part)));
    code.filter_map(|(index, line)| {
        let part = named(line)?;
        let (file, number) = (file.display(), index + 1);
        Some(format!(
            "{file}:{number}: names the part `{part}`; what only that part needs belongs into {PARTS_DIR}/{part}.rs"
        ))
    })
    .collect()
}

/// True if a line names the part: as a crate (`mail::` at the start of a path), or at the start of a string (`"mail"`,
/// `"repl_eval"`, `"cure.roots"`).
fn names_part(line: &str, part: &str, is_module: bool) -> bool {
    let is_crate = |at: usize| {
        let before = &line[..at];
        let before = before.strip_suffix("::").unwrap_or(before);
        !before.ends_with(|c: char| c.is_alphanumeric() || c == '_')
    };
    let crate_named = !is_module && line.match_indices(&format!("{part}::")).any(|(at, _)| is_crate(at));
    let is_text = |end| line.contains(&format!("\"{part}{end}"));
    crate_named || ['"', '_', '.', '/', '-'].into_iter().any(is_text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_their_own_folder_names_parts() {
        let say = |file: &str, text: &str| check(Path::new(file), text).join("\n");
        let text =
            "//! A.\n\nuse ::mail::Mail;\nuse mcp::wire::code::INTERNAL;\nlet a = repl::new();\nlet b = \"cure\";\n";
        let said = say("crates/daemon/src/status.rs", text);
        assert_eq!(
            said,
            "crates/daemon/src/status.rs:3: names the part `mail`; what only that part needs belongs into crates/daemon/src/parts/mail.rs\n\
             crates/daemon/src/status.rs:5: names the part `repl`; what only that part needs belongs into crates/daemon/src/parts/repl.rs\n\
             crates/daemon/src/status.rs:6: names the part `cure`; what only that part needs belongs into crates/daemon/src/parts/cure.rs"
        );
        assert_eq!(say("crates/daemon/src/parts/mail.rs", text), "");
        assert_eq!(say("crates/hob/src/main.rs", text), "");
        assert!(
            say("crates/client/src/stdio/ledger.rs", "if tool.starts_with(\"repl_\") {")
                .contains("names the part `repl`")
        );
        assert!(say("crates/project/src/config/mod.rs", "let c = \"cure.roots\";").contains("names the part `cure`"));
        let tested = "//! A.\n\n#[cfg(test)]\nmod tests {\n    use repl::Repl;\n}\n";
        assert_eq!(say("crates/daemon/src/offer.rs", tested), "");
    }
}
