//! The messages of GHC that a change of one file causes. GHC reads the changed text from hob's state directory.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use super::compile::{Message, Workspace};
use super::sources::Sources;
use super::toolchain::Order;

/// The warnings that mean an error at run time, as options.
const FATAL: &[&str] = &["-Wincomplete-patterns", "-Wincomplete-uni-patterns"];
/// Type errors become warnings, so that modules which import the file are compiled too.
const DEFERRED: &[&str] = &["-Wdeferred-type-errors", "-Wdeferred-out-of-scope-variables"];

/// The effect of a change, according to GHC.
#[derive(Debug, Default)]
pub struct ChangeEffect {
    /// The messages that GHC reports only with the change, with paths relative to the root.
    pub messages: BTreeSet<Message>,
    /// Files that were not compiled without the change, with the reason.
    pub open: BTreeMap<PathBuf, String>,
    /// True if an error ended the compilation of a module, so that later errors and its importers are unknown.
    pub is_partial: bool,
}

/// Compiles a worktree with and without another text for a file.
pub(crate) async fn prove(order: &Order, file: &Path, text: &str) -> Result<ChangeEffect, String> {
    let root = &order.root;
    let workspace = Workspace::new(order, &Sources::scan(root).await?, "proofs").await?;
    let units = &workspace.units;
    let folder = workspace.own.join("changed");
    let changed = folder.join(file.file_name().ok_or("the changed file has no name")?);
    let written = std::fs::create_dir_all(folder).and_then(|()| std::fs::write(&changed, text));
    written.map_err(|error| format!("cannot write {}: {error}", changed.display()))?;

    // Includes are relative to the folder of the file. A run with another `-I` compiles all modules again.
    let includes = format!("-I{}", file.parent().unwrap_or(root).display());
    let mut quiet = vec!["-w"];
    quiet.extend(text.contains("#include").then_some(includes.as_str()));
    let mut failed: Vec<BTreeMap<PathBuf, String>> = Vec::new();
    for unit in &units.all {
        failed.push(workspace.compile(unit, &quiet).await);
    }
    let compiled = |file: &Path| {
        let mut units = units.all.iter().zip(&failed);
        units.any(|(unit, failed)| unit.files.contains_key(file) && !failed.contains_key(file))
    };
    let all = failed.iter().flatten().chain(&units.open).filter(|(file, _)| !compiled(file));
    let open: BTreeMap<PathBuf, String> = all.map(|(file, why)| (file.clone(), why.clone())).collect();
    let module = units.all.iter().find_map(|unit| unit.files.get(file));
    // A program outside of packages finds the file by its folder.
    let may_import =
        |option: &String| option.strip_prefix("-i").is_some_and(|dir| !dir.is_empty() && file.starts_with(dir));
    if !compiled(file) {
        let why = open.get(file).map_or("no package of the project has it", String::as_str);
        return Err(format!("GHC does not compile the file without the change: {why}"));
    }
    let options: Vec<&str> =
        quiet.iter().chain(&["-fdefer-type-errors"]).chain(FATAL).chain(DEFERRED).copied().collect();
    let mut runs: [BTreeSet<Message>; 2] = Default::default();
    // The second run restores the interfaces, so both compile the same modules.
    for (messages, text) in runs.iter_mut().zip([&changed, &file.to_owned()]) {
        for (unit, failed) in units.all.iter().zip(&failed) {
            let mut files: Vec<&Path> =
                unit.files_without(failed).map(|one| if one == file { text } else { one }).collect();
            if files.is_empty() {
                continue;
            }
            let has_file = unit.files.contains_key(file);
            if has_file || unit.options.iter().any(may_import) {
                module.into_iter().for_each(|module| workspace.remove_interface(unit, module));
                files.extend((!has_file).then_some(text.as_path()));
            }
            let compiled = workspace.run(unit, &files, &options).await?;
            if let Some(problem) = compiled.problems.into_iter().next() {
                return Err(problem);
            }
            messages.extend(compiled.messages.into_iter().filter_map(|message| {
                let file = if message.file == changed { file } else { &message.file };
                let file = file.strip_prefix(root).ok()?.to_owned();
                let is_fatal = message.is_error || FATAL.iter().chain(DEFERRED).any(|one| *one == message.option);
                is_fatal.then_some(Message { file, ..message })
            }));
        }
    }
    let [with, without] = runs;
    let messages: BTreeSet<Message> = with.difference(&without).cloned().collect();
    let is_partial = messages.iter().any(|message| message.is_error);
    Ok(ChangeEffect { messages, open, is_partial })
}
