//! `cargo xtask part`: adds a part that is made up (`xtask/made_up_part`) to a copy of this checkout, by one crate, one file, one
//! line beside its `mod`, and the rows of the dependency tables; and proves that nothing else was needed: it is listed,
//! configured, shown by `hob status`, written down in the journal, read as a resource and documented.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};

use crate::agent::{Agent, text};
use crate::cache::Builds;
use crate::workspace::{cargo, read, root, run, target_dir};

/// What is added to a line: the file, what stands there, and what stands there then.
const LINES: [(&str, &str, &str); 6] = [
    // The part's place in the list.
    ("crates/daemon/src/parts/mod.rs", "mod cure;\n", "mod cure;\nmod garden;\n"),
    (
        "crates/daemon/src/parts/mod.rs",
        "Entry::of::<cure::CurePart>()",
        "Entry::of::<cure::CurePart>(), Entry::of::<garden::GardenPart>()",
    ),
    // The rows of the dependency tables.
    ("Cargo.toml", "\ncure = { path", "\ngarden = { path = \"crates/garden\" }\ncure = { path"),
    ("crates/daemon/Cargo.toml", "\ncure.workspace = true\n", "\ncure.workspace = true\ngarden.workspace = true\n"),
    (
        "xtask/src/tidy/edges.rs",
        "    (\"cure\", &[\"mcp\", \"project\"]),\n",
        "    (\"cure\", &[\"mcp\", \"project\"]),\n    (\"garden\", &[\"mcp\", \"project\"]),\n",
    ),
    ("xtask/src/tidy/edges.rs", "\"repl\", \"mail\", \"code\"", "\"repl\", \"garden\", \"mail\", \"code\""),
];

/// The task.
pub(crate) fn run_task() -> Result<()> {
    // Always the same place, so that what did not change since the last time is not built again.
    let place = target_dir()?.join("made-up-part");
    let files = with_the_part()?;
    forget(&place, &|path: &Path| {
        files.iter().any(|(name, _)| path == place.join(name)) || path == place.join("target")
    })?;
    for (name, bytes) in &files {
        let path = place.join(name);
        if fs::read(&path).is_ok_and(|before| before == *bytes) {
            continue;
        }
        let folder = path.parent().unwrap_or(&place);
        fs::create_dir_all(folder).with_context(|| format!("could not make {}", folder.display()))?;
        fs::write(&path, bytes).with_context(|| format!("could not write {}", path.display()))?;
    }
    let there = |words: &[&str]| -> Result<Command> {
        let mut command = cargo();
        // Nothing is shared with the checkout's own build directory: cargo tells the two workspaces' crates of one name apart by
        // their place in the workspace alone, and would take the one's for the other's.
        command.args(words).current_dir(&place).env("CARGO_TARGET_DIR", place.join("target"));
        command.env("CARGO_NET_OFFLINE", "true");
        Ok(command)
    };
    Builds::lent("workspace", &root().join("Cargo.lock"), &place.join("target"), &["debug"])?;
    run(&mut there(&["xtask", "tidy"])?)?;
    // The page is written anew by the test that proves it fresh.
    run(there(&["test", "--quiet", "-p", "hob", "--test", "it", "whole_set::the_list_of_tools"])?
        .env("UPDATE_EXPECT", "1"))?;
    let page = fs::read_to_string(place.join("docs/generated/tools.md")).context("could not read the page")?;
    ensure!(page.contains("## `hob mcp garden`") && page.contains("### `water_bed`"), "the page does not tell of it");
    let dir = tempfile::tempdir().context("could not make a home")?;
    is_served(&place.join("target/debug/hob"), dir.path())
}

/// That the program serves the part whole.
fn is_served(hob: &Path, dir: &Path) -> Result<()> {
    let project = dir.join("project");
    fs::create_dir(&project).context("could not make a project")?;
    let hob = |words: &[&str]| {
        let mut command = Command::new(hob);
        command.args(words).current_dir(&project).env("HOME", dir).stderr(Stdio::inherit());
        for name in
            ["HOB_PROJECT", "HOB_AGENT", "HOB_MAIL_DATABASE", "XDG_CONFIG_HOME", "XDG_STATE_HOME", "XDG_RUNTIME_DIR"]
        {
            command.env_remove(name);
        }
        command
    };
    let holds = |what: &str, text: &str, wanted: &str| -> Result<()> {
        ensure!(text.contains(wanted), "{what} does not hold {wanted:?}:\n{text}");
        Ok(())
    };
    // Configured: in the file that `hob init` writes, and by what is written there.
    run(&mut hob(&["init"]))?;
    let config = project.join("hob.toml");
    let written = fs::read_to_string(&config).context("`hob init` wrote no hob.toml")?;
    holds("hob.toml", &written, "[garden]\n# How many beds the garden has.\n#beds = 2\n")?;
    fs::write(&config, "[garden]\nbeds = 12\n").context("could not write hob.toml")?;
    holds("`hob doctor`", &read_whatever(&mut hob(&["doctor"]))?, "garden.beds = 12 is outside 1 to 9")?;
    fs::write(&config, "toolsets = [\"garden\"]\n[garden]\nbeds = 3\n").context("could not write hob.toml")?;
    // Listed, called and read.
    holds("`hob tools`", &read(&mut hob(&["tools"]))?, "water_bed")?;
    let mut agent = Agent::start(&mut hob(&["mcp"]))?;
    let hello = agent.initialize()?;
    holds("what a model is told", &hello["instructions"].to_string(), "water_bed waters one")?;
    let watered = agent.call("water_bed", json!({ "bed": 3 }))?;
    ensure!(watered["structuredContent"]["watered"] == 1, "the third bed was not watered: {}", text(&watered));
    holds("a wrong call", &text(&agent.call("water_bed", json!({ "bed": 4 }))?), "there is no bed 4")?;
    let beds = agent.request("resources/read", json!({ "uri": "garden://beds" }), Duration::from_secs(10))?;
    holds("the resource", &beds.to_string(), "[0, 0, 1]")?;
    // Shown, and written down.
    holds("`hob status`", &read(&mut hob(&["status"]))?, "watered [0, 0, 1]")?;
    let status: Value = serde_json::from_str(&read(&mut hob(&["status", "--json"]))?).context("no JSON")?;
    ensure!(status["garden"]["watered"] == json!([0, 0, 1]), "`hob status --json` does not tell of it: {status}");
    agent.finish()?;
    run(&mut hob(&["stop"]))?;
    let log = status["daemon"]["log"].as_str().map(PathBuf::from).context("the status names no log")?;
    let journal = fs::read_to_string(log.join("journal.jsonl")).context("could not read the journal")?;
    holds("the journal", &journal, r#""record":"bed_watered","bed":3}"#)?;
    println!(
        "part: one crate, one file and one line; it is listed, configured, called, read, shown, written down and documented"
    );
    Ok(())
}

/// What a program prints, however it ends.
fn read_whatever(command: &mut Command) -> Result<String> {
    let output = command.output().context("could not start it")?;
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

/// The files of this checkout with those of the part, by their names below the root.
fn with_the_part() -> Result<Vec<(PathBuf, Vec<u8>)>> {
    let root = root();
    let mut list = Command::new("git");
    list.args(["ls-files", "-z", "--cached", "--others", "--exclude-standard"]).current_dir(&root);
    let mut files = Vec::new();
    for name in read(&mut list)?.split('\0').filter(|name| root.join(name).is_file()) {
        let mut bytes = fs::read(root.join(name)).with_context(|| format!("could not read {name}"))?;
        for (_, before, after) in LINES.iter().filter(|(file, ..)| *file == name) {
            let text = String::from_utf8(bytes).with_context(|| format!("{name} is no text"))?;
            ensure!(text.contains(before), "{name} does not hold {before:?} any more: say in {} what does", file!());
            bytes = text.replacen(before, after, 1).into_bytes();
        }
        let added = name.strip_prefix("xtask/made_up_part/").map(|name| match name {
            "garden.rs.in" => PathBuf::from("crates/daemon/src/parts/garden.rs"),
            of_crate => Path::new("crates").join(of_crate),
        });
        files.extend(added.map(|path| (path, bytes.clone())));
        files.push((PathBuf::from(name), bytes));
    }
    ensure!(!files.is_empty(), "git lists nothing of this checkout, so there is nothing to copy");
    Ok(files)
}

/// Removes the files of the last time that do not stay.
fn forget(folder: &Path, stays: &dyn Fn(&Path) -> bool) -> Result<()> {
    for entry in fs::read_dir(folder).into_iter().flatten() {
        let path = entry?.path();
        if stays(&path) {
            continue;
        }
        if path.is_dir() {
            forget(&path, stays)?;
        } else if path.file_name().is_none_or(|name| name != "Cargo.lock") {
            fs::remove_file(&path).with_context(|| format!("could not remove {}", path.display()))?;
        }
    }
    Ok(())
}
