//! Checks whether rustup's chosen toolchain contains a program. rustup's proxy of that name exists even without it.

use std::collections::BTreeMap;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use lsp::server::profile::Profile;

/// Reports that the toolchain chosen by rustup lacks a server, and how to install it.
pub(super) fn report_missing_server(
    profile: &Profile,
    program: &Path,
    folder: &Path,
    env: &BTreeMap<String, String>,
) -> Option<String> {
    let (toolchain, is_installed) = without(program, folder, env)?;
    let (name, toolchain) = (&profile.name, project::visible(&toolchain));
    let install = if is_installed {
        format!("{} --toolchain {toolchain}", profile.install)
    } else {
        format!("rustup toolchain install {toolchain} --component {name}")
    };
    Some(format!("{name} is not installed for the toolchain {toolchain} ({install})"))
}

/// Returns the toolchain chosen in a folder if it lacks the program, and whether the rest of it is installed. `None` if it
/// has it, or if that is unknown.
fn without(program: &Path, folder: &Path, env: &BTreeMap<String, String>) -> Option<(String, bool)> {
    if !is_stand_in(program) {
        return None;
    }
    let home = env.get("RUSTUP_HOME").map(PathBuf::from);
    let home = home.or_else(|| Some(Path::new(env.get("HOME")?).join(".rustup")))?;
    let chosen = env.get("RUSTUP_TOOLCHAIN").cloned().or_else(|| chosen(&home, folder))?;
    let name = program.file_name()?;
    let is_it = |path: &PathBuf| {
        path.file_name().and_then(|known| known.to_str()).is_some_and(|known| is_named(known, &chosen))
    };
    let toolchains = home.join("toolchains").read_dir().ok()?.flatten().map(|entry| entry.path());
    let installed: Vec<PathBuf> = toolchains.filter(is_it).collect();
    let has_it = installed.iter().any(|toolchain| toolchain.join("bin").join(name).exists());
    (!has_it).then_some((chosen, !installed.is_empty()))
}

/// Chooses as rustup does: by a folder override, a toolchain file, or the default.
fn chosen(home: &Path, folder: &Path) -> Option<String> {
    let settings: toml::Table = std::fs::read_to_string(home.join("settings.toml")).ok()?.parse().ok()?;
    let overrides = settings.get("overrides").and_then(toml::Value::as_table);
    for folder in folder.ancestors() {
        let known = overrides.and_then(|all| all.get(folder.to_str()?)).and_then(toml::Value::as_str);
        if let Some(name) = known {
            return Some(name.to_owned());
        }
        let files = ["rust-toolchain", "rust-toolchain.toml"].map(|name| folder.join(name));
        if let Some(text) = files.iter().find_map(|file| std::fs::read_to_string(file).ok()) {
            return named(&text, settings.get("default_toolchain"));
        }
    }
    settings.get("default_toolchain")?.as_str().map(str::to_owned)
}

/// Parses the toolchain named in a file. `None` for a path, or if the file is not a toolchain file.
fn named(text: &str, default: Option<&toml::Value>) -> Option<String> {
    let Ok(table) = text.parse::<toml::Table>() else {
        let name = text.trim();
        return (!name.is_empty() && !name.contains(char::is_whitespace)).then(|| name.to_owned());
    };
    let toolchain = table.get("toolchain")?.as_table()?;
    match (toolchain.get("channel"), toolchain.get("path")) {
        (Some(channel), None) => channel.as_str().map(str::to_owned),
        (None, None) => default?.as_str().map(str::to_owned),
        (_, Some(_)) => None,
    }
}

/// True if a toolchain directory matches a name, which may omit the host: `1.96.0` matches
/// `1.96.0-x86_64-unknown-linux-gnu`, but `nightly` does not match `nightly-2026-01-01-x86_64-unknown-linux-gnu`.
fn is_named(known: &str, name: &str) -> bool {
    let machine = known.strip_prefix(name).map(|rest| rest.strip_prefix('-').unwrap_or(rest));
    machine.is_some_and(|machine| {
        known == name || known.as_bytes()[name.len()] == b'-' && !machine.starts_with(|c: char| c.is_ascii_digit())
    })
}

/// True if the program is a proxy of rustup: a link to it, or the same file.
fn is_stand_in(program: &Path) -> bool {
    let is_link = program.canonicalize().is_ok_and(|real| real.file_name().is_some_and(|name| name == "rustup"));
    let file = |path: &Path| path.metadata().ok().map(|metadata| (metadata.dev(), metadata.ino()));
    let own = file(&program.with_file_name("rustup"));
    is_link || own.is_some() && own == file(program)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_toolchain_without_the_program_is_named() {
        let place = tempfile::tempdir().unwrap();
        let write = |path: &str, text: &str| {
            let path = place.path().join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        };
        write("cargo/bin/rustup", "");
        write("rustup/settings.toml", "default_toolchain = \"stable-x86_64-unknown-linux-gnu\"\n");
        write("rustup/toolchains/stable-x86_64-unknown-linux-gnu/bin/rust-analyzer", "");
        write("rustup/toolchains/1.95.0-x86_64-unknown-linux-gnu/bin/cargo", "");
        let program = place.path().join("cargo/bin/rust-analyzer");
        std::os::unix::fs::symlink("rustup", &program).unwrap();
        let project = place.path().join("project");
        let env = BTreeMap::from([("RUSTUP_HOME".to_owned(), place.path().join("rustup").display().to_string())]);
        let said = || without(&program, &project.join("crate"), &env);
        assert_eq!(said(), None, "the default has it");
        write("project/rust-toolchain", "1.95.0\n");
        assert_eq!(said(), Some(("1.95.0".to_owned(), true)), "installed without the component");
        write("project/rust-toolchain", "[toolchain]\nchannel = \"1.70\"\n");
        assert_eq!(said(), Some(("1.70".to_owned(), false)));
        write("project/rust-toolchain", "[toolchain]\npath = \"own\"\n");
        assert_eq!(said(), None, "a toolchain of the project");
        assert_eq!(without(&place.path().join("cargo/bin/rustup-not"), &project, &env), None, "no stand-in");
    }

    #[test]
    fn a_name_without_a_machine_is_the_same() {
        for (known, name, is) in [
            ("1.96.0-x86_64-unknown-linux-gnu", "1.96.0", true),
            ("1.96.0", "1.96.0", true),
            ("1.96.01", "1.96.0", false),
            ("nightly-2026-01-01-x86_64-unknown-linux-gnu", "nightly", false),
            ("nightly-x86_64-unknown-linux-gnu", "nightly", true),
        ] {
            assert_eq!(is_named(known, name), is, "{known} {name}");
        }
    }
}
