//! Module circles: modules of one folder that use each other, directly or through others, are one module, or hide another
//! below them all.
//!
//! An arrow goes from a module to a sibling when it, or a module within it, names something of that sibling. Re-exports are
//! followed. The rule for names:
//!
//! - Between the top modules of a crate, every name counts.
//! - In deeper folders, types and their methods do not count: the files of a folder may share types as one file does.
//!   Functions, constants and modules count.
//! - Names from a parent do not count: it declares what all of its children need. Neither do tests.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use super::sources::tests_start;

/// The circles that stay, with the reason. The table may only shrink: an entry whose circle is gone or smaller fails.
const KNOWN: &[(&str, &[&str])] = &[
    // The grammar itself is recursive: a block is an expression that holds items, and an item holds expressions.
    ("crates/cure/src/syntax/build", &["exprs", "items"]),
    // So is a command: a shell command can hold code, and code can be a shell's.
    ("crates/hooks/src/policy", &["code", "shell"]),
    // `Repl` owns the published state, and publishing is its method.
    ("crates/repl/src", &["resources", "sessions", "tools"]),
];

type Module = Vec<String>;
type Folders = BTreeMap<Module, BTreeMap<String, BTreeSet<String>>>;

/// The code of each module, by crate and path.
#[derive(Default)]
pub(super) struct Uses(BTreeMap<String, BTreeMap<Module, String>>);

impl Uses {
    /// Adds the uses in one file; `file` is relative to the root.
    pub(super) fn add(&mut self, file: &Path, text: &str) {
        let parts: Vec<_> = file.iter().map(|part| part.to_string_lossy().into_owned()).collect();
        let [folder, krate, src, path @ ..] = &parts[..] else { return };
        if folder != "crates" || src != "src" {
            return;
        }
        let mut module: Module = path.iter().map(|part| part.trim_end_matches(".rs").to_owned()).collect();
        if module.last().is_some_and(|last| matches!(&**last, "mod" | "lib" | "main")) {
            module.pop();
        }
        let before_tests = text.lines().take(tests_start(file, text));
        let code: Vec<&str> = before_tests
            .filter(|line| !line.trim_start().starts_with("//"))
            .map(|line| line.split_once(" // ").map_or(line, |(code, _)| code))
            .collect();
        // A crate may have both lib.rs and main.rs.
        *self.0.entry(krate.clone()).or_default().entry(module).or_default() += &code.join("\n");
    }

    /// Reports each unknown circle, and each known one that no longer exists in this form.
    pub(super) fn check(&self) -> Vec<String> {
        let mut known: Vec<(&str, &[&str])> =
            KNOWN.iter().filter(|(folder, members)| self.has_all(folder, members)).copied().collect();
        let mut complaints = Vec::new();
        for (krate, modules) in &self.0 {
            for (folder, siblings) in arrows(modules) {
                let folder = format!("crates/{krate}/src/{}", folder.join("/"));
                let folder = folder.trim_end_matches('/');
                for circle in circles(&siblings) {
                    let is_it = |(place, members): &(&str, &[&str])| *place == folder && **members == circle[..];
                    match known.iter().position(is_it) {
                        Some(at) => {
                            known.swap_remove(at);
                        }
                        None => complaints.push(format!(
                            "{folder}: {} use each other; move what both need below them, or into one of them",
                            circle.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(" and ")
                        )),
                    }
                }
            }
        }
        complaints.extend(known.into_iter().map(|(folder, members)| {
            format!(
                "xtask/src/tidy/circles.rs: {} of {folder} are a circle no longer: take them from KNOWN",
                members.join(", ")
            )
        }));
        complaints
    }

    /// Returns true if a folder has all of these modules.
    fn has_all(&self, folder: &str, members: &[&str]) -> bool {
        let mut parts = folder.split('/').skip(1);
        let Some(modules) = parts.next().and_then(|krate| self.0.get(krate)) else { return false };
        let folder: Module = parts.skip(1).map(str::to_owned).collect();
        members.iter().all(|member| modules.contains_key(&[&folder[..], &[(*member).to_owned()]].concat()))
    }
}

/// Returns the arrows between siblings, by folder.
fn arrows(modules: &BTreeMap<Module, String>) -> Folders {
    let imports: BTreeMap<&Module, BTreeMap<&str, Vec<&str>>> =
        modules.iter().map(|(module, code)| (module, imported(code))).collect();
    let mut folders = Folders::new();
    for (module, code) in modules {
        for path in named_paths(code) {
            let Some(target) = resolve(modules, &imports, module, &path, 0) else { continue };
            let depth = module.iter().zip(&target).take_while(|(one, other)| one == other).count();
            // A parent and its child.
            if depth == module.len() || depth == target.len() || depth > 0 && path.iter().any(|name| is_type(name)) {
                continue;
            }
            let siblings = folders.entry(module[..depth].to_vec()).or_default();
            siblings.entry(module[depth].clone()).or_default().insert(target[depth].clone());
        }
    }
    folders
}

fn is_type(name: &str) -> bool {
    name.starts_with(|c: char| c.is_ascii_uppercase()) && name.contains(|c: char| c.is_ascii_lowercase())
}

/// Returns the module that a path leads to, through re-exports.
fn resolve(
    modules: &BTreeMap<Module, String>,
    imports: &BTreeMap<&Module, BTreeMap<&str, Vec<&str>>>,
    from: &Module,
    path: &[&str],
    depth: usize,
) -> Option<Module> {
    const DEPTH_MAX: usize = 6;
    let mut rest = path.iter().copied().peekable();
    let mut module = from.clone();
    let first = *rest.peek()?;
    match first {
        "crate" => {
            rest.next();
            module.clear();
        }
        "self" => {
            rest.next();
        }
        "super" => {
            while rest.next_if_eq(&"super").is_some() {
                module.pop()?;
            }
        }
        child => {
            let is_child = modules.contains_key(&[&from[..], &[child.to_owned()]].concat());
            is_child.then_some(())?;
        }
    }
    while let Some(name) = rest.peek() {
        let child = [&module[..], &[(*name).to_owned()]].concat();
        if !modules.contains_key(&child) {
            break;
        }
        module = child;
        rest.next();
    }
    let import = rest.next().and_then(|name| imports.get(&module)?.get(name));
    match import {
        Some(path) if module != *from && depth < DEPTH_MAX => resolve(modules, imports, &module, path, depth + 1),
        _ => Some(module),
    }
}

/// Returns the names that a module imports or re-exports, with their paths.
fn imported(code: &str) -> BTreeMap<&str, Vec<&str>> {
    let mut paths = Vec::new();
    let starts = code.match_indices("use ").filter(|(at, _)| {
        let before = code[..*at].rsplit('\n').next().unwrap_or_default().trim();
        before.is_empty() || before.starts_with("pub") && !before.contains(' ')
    });
    starts.for_each(|(at, token)| expand(&code[at + token.len()..], &[], &mut paths));
    paths.into_iter().filter_map(|path| Some((*path.last()?, path))).collect()
}

/// Returns the paths that begin with `crate`, `super` or `self`.
fn named_paths(code: &str) -> Vec<Vec<&str>> {
    let mut paths = Vec::new();
    for start in ["crate::", "super::", "self::"] {
        for (at, _) in code.match_indices(start) {
            let is_within = code[..at].ends_with(|c: char| c.is_alphanumeric() || matches!(c, '_' | ':' | '$'));
            if !is_within {
                expand(&code[at..], &[], &mut paths);
            }
        }
    }
    paths
}

/// Expands a path with braces to all of its paths.
fn expand<'a>(text: &'a str, prefix: &[&'a str], paths: &mut Vec<Vec<&'a str>>) {
    let mut path = prefix.to_vec();
    let mut rest = text.trim_start();
    loop {
        if let Some(list) = rest.strip_prefix('{') {
            let members = top_level(list).into_iter().filter(|member| !member.trim().is_empty());
            return members.for_each(|member| expand(member, &path, paths));
        }
        let end = rest.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(rest.len());
        let (name, after) = rest.split_at(end);
        // `self` in a list is the module itself.
        if !name.is_empty() && (name != "self" || path.is_empty()) {
            path.push(name);
        }
        match after.strip_prefix("::") {
            Some(next) if !name.is_empty() => rest = next.trim_start(),
            _ => break,
        }
    }
    paths.push(path);
}

/// Returns the members of a list in braces.
fn top_level(list: &str) -> Vec<&str> {
    let (mut members, mut from, mut depth) = (Vec::new(), 0, 0_u32);
    for (at, c) in list.char_indices() {
        match c {
            '{' => depth += 1,
            '}' if depth > 0 => depth -= 1,
            ',' | '}' if depth == 0 => {
                members.push(&list[from..at]);
                from = at + 1;
                if c == '}' {
                    break;
                }
            }
            _ => {}
        }
    }
    members
}

/// Returns the groups of siblings that reach each other.
fn circles(siblings: &BTreeMap<String, BTreeSet<String>>) -> Vec<Vec<String>> {
    let reached = |from: &String| {
        let (mut reached, mut open) = (BTreeSet::new(), vec![from]);
        while let Some(next) = open.pop() {
            open.extend(siblings.get(next).into_iter().flatten().filter(|name| reached.insert((*name).clone())));
        }
        reached
    };
    let reach: BTreeMap<&String, BTreeSet<String>> = siblings.keys().map(|name| (name, reached(name))).collect();
    let circle = |(name, others): (&&String, &BTreeSet<String>)| {
        let back = |other: &&String| reach.get(other).is_some_and(|reached| reached.contains(*name));
        let circle: Vec<String> = others.iter().filter(back).cloned().collect();
        (circle.len() > 1).then_some(circle)
    };
    reach.iter().filter_map(circle).collect::<BTreeSet<_>>().into_iter().collect()
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use super::*;

    fn complaints(files: &[(&str, &str)]) -> String {
        let mut uses = Uses::default();
        files.iter().for_each(|(file, text)| uses.add(Path::new(file), text));
        uses.check().join("\n")
    }

    #[test]
    fn two_modules_that_use_each_other_are_named() {
        let said = complaints(&[
            ("crates/made/src/a/mod.rs", "//! A.\nuse crate::{b::{One, Two}, c};\n"),
            ("crates/made/src/b.rs", "//! B.\nfn f() -> crate::a::Thing {}\n"),
            (
                "crates/made/src/c.rs",
                "//! C, which is not `crate::a`.\n// crate::a\n\n#[cfg(test)]\nmod tests {\n    use crate::a;\n}\n",
            ),
            ("crates/made/src/lib.rs", "//! All.\nmod a;\nuse crate::a;\n"),
        ]);
        expect![["crates/made/src: `a` and `b` use each other; move what both need below them, or into one of them"]]
            .assert_eq(&said);
    }

    #[test]
    fn circles_within_a_folder_go_through_several_files_and_reexports() {
        let files = |third: &'static str| {
            [
                ("crates/made/src/lib.rs", "//! All.\nmod a;\n"),
                ("crates/made/src/a/mod.rs", "//! A.\nmod one;\nmod two;\nmod three;\npub use self::two::second;\n"),
                ("crates/made/src/a/one.rs", "//! One.\nuse super::second;\n"),
                ("crates/made/src/a/two.rs", "//! Two.\nuse super::three::{\n    LIMIT,\n    Third,\n};\n"),
                ("crates/made/src/a/three.rs", third),
            ]
        };
        expect!["crates/made/src/a: `one` and `three` and `two` use each other; move what both need below them, or into one of them"]
            .assert_eq(&complaints(&files("//! Three.\nfn f() { super::one::first() }\n")));
        assert_eq!(complaints(&files("//! Three.\nuse super::one::First;\n")), "", "a type");
        assert_eq!(complaints(&files("//! Three.\nuse super::helper;\n")), "", "a function of the parent");
    }
}
