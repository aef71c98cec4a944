//! `work_status`: the state of the work in the caller's worktree.

use std::collections::BTreeMap;
use std::sync::Arc;

use mcp::tool::{Context, Effect, Example, Tool, ToolError};
use project::Caller;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::work_brief::NoteView;
use crate::brief::{barred, quoted};
use crate::changes::Changed;
use crate::git::{Git, Worktree};
use crate::network_cache::Wish;
use crate::notes::NOTE_MAX;
use crate::pull::{self, Pull};
use crate::rendering;
use crate::sources::{Source, State};
use crate::state::Work;
use crate::status::{Sections, Status, StatusQuery};
use crate::tracker::Issue;

/// Shows branch, base, unfinished operations, changed files, pull request and issue of your worktree in one call, and the
/// changes since your last call. Gives the reason why a part is missing.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub(super) struct Args {
    /// The sections to show (default `git`, `pull` and `issue`).
    pub sections: Vec<Section>,
    /// The id of an issue (default: the issue that the branch names).
    pub issue: Option<String>,
    /// If true, query GitHub again instead of using answers from the last minute.
    pub refresh: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(inline)]
pub(super) enum Section {
    Git,
    Pull,
    Issue,
    /// All worktrees of the repository.
    Worktrees,
    /// Hand-over notes on this branch, in full.
    Notes,
}

/// The limit of an issue's description, in characters.
const DESCRIPTION: usize = 2000;

/// The requested sections. `sources` gives the reason for a missing one.
#[derive(Debug, Default, Serialize, JsonSchema)]
pub(super) struct Output {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub git: Option<Git>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pull: Option<Pull>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub worktrees: Option<Vec<Worktree>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub issue: Option<Issue>,
    /// The notes, latest first.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub notes: Option<Vec<NoteView>>,
    /// Changes since your last call.
    pub changed: Vec<Changed>,
    /// The source of each section.
    pub sources: BTreeMap<&'static str, Source>,
    /// Sections that were not requested by name, so their absence is not printed.
    #[serde(skip)]
    pub quiet: Vec<&'static str>,
}

pub(super) struct WorkStatus(pub Arc<Work>);

impl Tool for WorkStatus {
    const NAME: &'static str = "work_status";
    const TITLE: &'static str = "State of the work";
    const EFFECT: Effect = Effect::READ.open_world();
    type Args = Args;
    type Output = Output;

    async fn call(&self, cx: Context, args: Args) -> Result<Output, ToolError> {
        let caller = cx.caller::<Caller>().ok_or_else(|| ToolError::internal("a call without a caller"))?;
        answer(&self.0, caller, &args).await
    }

    fn text(output: &Output) -> String {
        render(output)
    }

    fn examples() -> Vec<Example> {
        vec![
            Example { title: "All worktrees", arguments: json!({"sections": ["worktrees"]}), text: None },
            Example { title: "An issue", arguments: json!({"sections": ["issue"], "issue": "bd-a3f8"}), text: None },
        ]
    }
}

/// Collects the requested sections.
pub(super) async fn answer(work: &Work, caller: &Caller, args: &Args) -> Result<Output, ToolError> {
    work.confirm_delivery(caller, true);
    let named = |section| args.sections.contains(&section);
    let wants = |section| named(section) || (args.sections.is_empty() && usual(section));
    let sections = Sections {
        pull: wants(Section::Pull),
        issue: wants(Section::Issue) || args.issue.is_some(),
        worktrees: wants(Section::Worktrees),
    };
    let wish = Wish { fresh: args.refresh, wait: pull::WAIT };
    let wanted = StatusQuery { sections, issue: args.issue.as_deref(), wish, is_a_call: true };
    let Status { git, pull, issue, worktrees, mut sources, changed, .. } = work.collect_status(caller, wanted).await;
    let mut output = Output { pull, issue, worktrees, changed, ..Output::default() };
    if wants(Section::Git) {
        output.git = git.ok()
    } else {
        // Without a git repository, the other sections report it.
        drop(sources.remove("git"))
    }
    if wants(Section::Notes) {
        let notes = work.notes_of(caller).await;
        let source = notes.as_ref().map_or_else(
            |error| Source::missing(State::Failed, error.to_string(), None),
            |(_, notes)| {
                if notes.is_empty() {
                    Source::missing(
                        State::Absent,
                        "this branch has no notes",
                        Some("work_brief at `end` with a `note` leaves one."),
                    )
                } else {
                    Source::ok()
                }
            },
        );
        sources.insert("notes", source);
        let now_ms = project::journal::now();
        output.notes =
            notes.ok().map(|(_, notes)| notes.iter().rev().map(|note| NoteView::from_note(note, now_ms)).collect());
    }
    let asked_by_name = [("pull", named(Section::Pull)), ("issue", named(Section::Issue) || args.issue.is_some())];
    output.quiet = asked_by_name.into_iter().filter(|(_, asked)| !asked).map(|(part, _)| part).collect();
    output.sources = sources;
    Ok(output)
}

fn usual(section: Section) -> bool {
    matches!(section, Section::Git | Section::Pull | Section::Issue)
}

pub(super) fn render(output: &Output) -> String {
    let mut text: Vec<String> =
        output.changed.iter().map(|changed| format!("changed, {}: {}", changed.part, changed.text)).collect();
    text.extend(output.git.as_ref().map(rendering::lines).unwrap_or_default());
    let now_s = project::journal::now() / 1000;
    text.extend(output.worktrees.iter().flatten().map(|worktree| rendering::worktree(worktree, now_s)));
    text.extend(output.pull.iter().flat_map(rendering::pull));
    if let Some(issue) = &output.issue {
        text.extend(rendering::issue(issue));
        text.extend(barred(&issue.description, DESCRIPTION));
    }
    for note in output.notes.iter().flatten() {
        text.extend(quoted(&note.author, note.age_ms, &note.text, 2 * NOTE_MAX));
    }
    for (part, source) in &output.sources {
        let is_quiet = source.state == State::Absent && output.quiet.contains(part);
        if !is_quiet && (source.state != State::Ok || source.detail.is_some()) {
            let detail = source.detail.as_deref().unwrap_or_default();
            let next = source.next.as_deref().map(|next| format!(" {next}")).unwrap_or_default();
            text.push(format!("{part}: {detail}.{next}"));
        }
    }
    text.join("\n")
}
