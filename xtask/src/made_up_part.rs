//! `cargo xtask part`: adds an example part (`xtask/made_up_part`) to a copy of this checkout with one crate, one file,
//! one line next to its `mod`, and the rows of the dependency tables. Proves that the part is then listed, configured,
//! shown by `hob status`, recorded in the journal, read as a resource and documented.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::SystemTime;

use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};
use taskkit::cache;
use taskkit::workspace::{self, cargo, read, root, target_dir};

/// The edits of existing files: the file, the text to find, and its replacement.
const EDITS: [(&str, &str, &str); 6] = [
    // The list of parts.
    ("crates/daemon/src/parts/mod.rs", "mod cure;\n", "mod cure;\nmod garden;\n"),
    (
        "crates/daemon/src/parts/mod.rs",
        "Entry::for_part::<cure::CurePart>()",
        "Entry::for_part::<cure::CurePart>(), Entry::for_part::<garden::GardenPart>()",
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

pub(crate) fn run() -> Result<()> {
    // The same directory in each run, so that only changes are built.
    let (target, copy) = (target_dir()?, target_dir()?.join("made-up-part"));
    let of_copy = copy.join("target");
    let is_new = !of_copy.exists();
    let files = files_with_part()?;
    remove_stale(&copy, &|path: &Path| files.iter().any(|file| path == copy.join(&file.name)) || path == of_copy)?;
    for File { name, bytes, modified } in &files {
        let path = copy.join(name);
        if fs::read(&path).is_ok_and(|before| before == *bytes) {
            continue;
        }
        let folder = path.parent().unwrap_or(&copy);
        fs::create_dir_all(folder).with_context(|| format!("could not make {}", folder.display()))?;
        fs::write(&path, bytes).with_context(|| format!("could not write {}", path.display()))?;
        // Only together with the builds of the same state: builds of an earlier run would make changes appear old.
        if let Some(modified) = modified.filter(|_| is_new) {
            let file = fs::File::options().append(true).open(&path);
            let dated = file.and_then(|file| file.set_modified(modified));
            dated.with_context(|| format!("could not date {}", path.display()))?;
        }
    }
    if is_new {
        // An interrupted copy would be incomplete.
        let lent = copy.join("lent");
        cache::lend_to_copy(&target, &lent)?;
        fs::rename(&lent, &of_copy).context("could not move the builds")?;
    }
    let cargo_there = |words: &[&str]| -> Result<Command> {
        let mut command = cargo();
        // Not the checkout's build directory: cargo distinguishes crates of the same name only by their path within the
        // workspace, and would confuse those of the copy with those of the checkout.
        command.args(words).current_dir(&copy).env("CARGO_TARGET_DIR", &of_copy);
        command.env("CARGO_NET_OFFLINE", "true");
        Ok(command)
    };
    workspace::run(&mut cargo_there(&["xtask", "tidy"])?)?;
    // The test that checks the page writes it. With the features of the whole workspace, the checkout's test builds are
    // reused.
    workspace::run(
        cargo_there(&["test", "--quiet", "--workspace", "--test", "it", "whole_set::pages::the_list_of_tools"])?
            .env("UPDATE_EXPECT", "1"),
    )?;
    let page = fs::read_to_string(copy.join("docs/generated/tools.md")).context("could not read the page")?;
    ensure!(page.contains("## `hob mcp garden`") && page.contains("### `water_bed`"), "the page does not tell of it");
    let dir = tempfile::tempdir().context("could not make a home")?;
    check_served(&of_copy.join("debug/hob"), dir.path())
}

/// Checks that the program serves the part in every way.
fn check_served(hob: &Path, dir: &Path) -> Result<()> {
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
    let contains = |what: &str, text: &str, wanted: &str| -> Result<()> {
        ensure!(text.contains(wanted), "{what} does not hold {wanted:?}:\n{text}");
        Ok(())
    };
    // Configured: the file that `hob init` writes has the settings, and they take effect.
    workspace::run(&mut hob(&["init"]))?;
    let config = project.join("hob.toml");
    let written = fs::read_to_string(&config).context("`hob init` wrote no hob.toml")?;
    contains("hob.toml", &written, "[garden]\n# How many beds the garden has.\n#beds = 2\n")?;
    fs::write(&config, "[garden]\nbeds = 12\n").context("could not write hob.toml")?;
    contains("`hob doctor`", &stdout_of(&mut hob(&["doctor"]))?, "garden.beds = 12 is outside 1 to 9")?;
    fs::write(&config, "toolsets = [\"garden\"]\n[garden]\nbeds = 3\n").context("could not write hob.toml")?;
    // Listed, called and read.
    contains("`hob tools`", &read(&mut hob(&["tools"]))?, "water_bed")?;
    let hello = json!({
        "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": { "name": "xtask", "version": "1" },
    });
    // The answers to the handshake and to one request.
    let answers = |method: &str, params: Value| -> Result<String> {
        let file = dir.join("requests");
        let lines = [(1, "initialize", &hello), (2, method, &params)].map(|(id, method, params)| {
            format!("{}\n", json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }))
        });
        fs::write(&file, lines.concat()).context("could not write the requests")?;
        stdout_of(hob(&["mcp"]).stdin(fs::File::open(&file).context("could not open the requests")?))
    };
    contains("what a model is told", &answers("ping", json!({}))?, "water_bed waters one")?;
    let water = |bed: usize| answers("tools/call", json!({ "name": "water_bed", "arguments": { "bed": bed } }));
    contains("the answer to a call", &water(3)?, r#""watered":1"#)?;
    contains("the answer to a wrong call", &water(4)?, "there is no bed 4")?;
    let beds = answers("resources/read", json!({ "uri": "garden://beds" }))?;
    contains("the resource", &beds, "[0, 0, 1]")?;
    // Shown, and recorded.
    contains("`hob status`", &read(&mut hob(&["status"]))?, "watered [0, 0, 1]")?;
    let status: Value = serde_json::from_str(&read(&mut hob(&["status", "--json"]))?).context("no JSON")?;
    ensure!(status["garden"]["watered"] == json!([0, 0, 1]), "`hob status --json` does not tell of it: {status}");
    workspace::run(&mut hob(&["stop"]))?;
    let log = status["daemon"]["log"].as_str().map(PathBuf::from).context("the status names no log")?;
    let journal = fs::read_to_string(log.join("journal.jsonl")).context("could not read the journal")?;
    contains("the journal", &journal, r#""record":"bed_watered","bed":3}"#)?;
    println!(
        "part: one crate, one file and one line; it is listed, configured, called, read, shown, written down and documented"
    );
    Ok(())
}

/// Returns a program's stdout, whatever its exit status.
fn stdout_of(command: &mut Command) -> Result<String> {
    let output = command.output().context("could not start it")?;
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

/// A file of the copy.
struct File {
    /// Relative to the root.
    name: PathBuf,
    bytes: Vec<u8>,
    /// Modification time in the checkout, if the file is the same there.
    modified: Option<SystemTime>,
}

/// Returns the files of this checkout and those of the part.
fn files_with_part() -> Result<Vec<File>> {
    let root = root();
    let mut list = Command::new("git");
    list.args(["ls-files", "-z", "--cached", "--others", "--exclude-standard"]).current_dir(&root);
    let mut files = Vec::new();
    for name in read(&mut list)?.split('\0').filter(|name| root.join(name).is_file()) {
        let mut bytes = fs::read(root.join(name)).with_context(|| format!("could not read {name}"))?;
        let mut modified = fs::metadata(root.join(name)).and_then(|meta| meta.modified()).ok();
        for (_, before, after) in EDITS.iter().filter(|(file, ..)| *file == name) {
            let text = String::from_utf8(bytes).with_context(|| format!("{name} is no text"))?;
            ensure!(text.contains(before), "{name} does not hold {before:?} any more: say in {} what does", file!());
            bytes = text.replacen(before, after, 1).into_bytes();
            modified = None;
        }
        let added = name.strip_prefix("xtask/made_up_part/").map(|name| match name {
            "garden.rs.in" => PathBuf::from("crates/daemon/src/parts/garden.rs"),
            of_crate => Path::new("crates").join(of_crate),
        });
        files.extend(added.map(|name| File { name, bytes: bytes.clone(), modified: None }));
        files.push(File { name: name.into(), bytes, modified });
    }
    ensure!(!files.is_empty(), "git lists nothing of this checkout, so there is nothing to copy");
    Ok(files)
}

/// Removes files of the last run that are no longer wanted.
fn remove_stale(folder: &Path, stays: &dyn Fn(&Path) -> bool) -> Result<()> {
    for entry in fs::read_dir(folder).into_iter().flatten() {
        let path = entry?.path();
        if stays(&path) {
            continue;
        }
        if path.is_dir() {
            remove_stale(&path, stays)?;
        } else if path.file_name().is_none_or(|name| name != "Cargo.lock") {
            fs::remove_file(&path).with_context(|| format!("could not remove {}", path.display()))?;
        }
    }
    Ok(())
}
