//! Hand-over notes: kept by branch, shown once to each run, and again if the answer was lost.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use mcp::tool::Context;
use project::{Caller, Role};
use testkit::has_program;
use work::notes::{NoteTarget, Notes};
use work::{Moment, Work, WorkOptions};

use crate::repository::{Repository, runtime};

fn caller(repository: &Repository, run: &str) -> Caller {
    let mut caller = testkit::caller(&repository.root(), "ann");
    caller.role = Role::Mcp;
    caller.run = Some(run.to_owned());
    caller.env = repository.env();
    caller
}

struct Here {
    repository: Repository,
    work: Arc<Work>,
    notes: Notes,
}

fn fixture() -> Here {
    let repository = Repository::new();
    let directory = repository.temp.path().join("notes");
    let prepare = || -> Box<dyn Fn() -> std::io::Result<()> + Send + Sync> { Box::new(|| Ok(())) };
    let options = WorkOptions {
        notes: directory.clone(),
        prepare: prepare(),
        around: Default::default(),
        settings: Default::default(),
    };
    Here { repository, work: Work::new(options), notes: Notes::new(directory, prepare()) }
}

impl Here {
    /// Returns the note in the brief of a run.
    fn brief_note(&self, caller: &Caller, moment: Moment) -> Option<String> {
        let cx = Context::detached(Arc::new(caller.clone()));
        let brief = runtime().block_on(self.work.brief(&cx, caller, moment));
        assert_eq!(brief.note.is_some(), brief.text.contains("hand-over note"), "{}", brief.text);
        brief.note.map(|note| note.text)
    }
}

#[test]
fn a_run_is_shown_a_note_once() {
    if !has_program("git") {
        return;
    }
    let here = fixture();
    let main = NoteTarget::Branch("main".to_owned());
    let [first, second] = ["first", "second"].map(|run| caller(&here.repository, run));
    here.notes.keep(&main, &first, "the parser is next", None).unwrap();
    assert_eq!(here.brief_note(&first, Moment::Begin), None, "who wrote it");
    assert_eq!(here.brief_note(&second, Moment::Begin).as_deref(), Some("the parser is next"));
    // Until delivery is confirmed, the answer may be lost.
    assert_eq!(here.notes.read(&main).unwrap()[0].read_by, Vec::<String>::new());
    assert!(here.brief_note(&second, Moment::Begin).is_some());
    here.work.confirm_delivery(&second, true);
    assert_eq!(here.notes.read(&main).unwrap()[0].read_by, ["second"]);
    assert_eq!(here.brief_note(&second, Moment::Begin), None);
    // A run that lost its context or asks again gets the note; other runs and branches are independent.
    assert!(here.brief_note(&second, Moment::Again).is_some());
    assert!(here.brief_note(&caller(&here.repository, "third"), Moment::Begin).is_some());
    here.repository.git(&["switch", "-qc", "topic"]);
    assert_eq!(here.brief_note(&caller(&here.repository, "third"), Moment::Begin), None);
}

#[test]
fn a_note_whose_answer_was_lost_is_shown_again() {
    if !has_program("git") {
        return;
    }
    let here = fixture();
    let main = NoteTarget::Branch("main".to_owned());
    let mut second = caller(&here.repository, "second");
    here.notes.keep(&main, &caller(&here.repository, "first"), "text", None).unwrap();
    assert!(here.brief_note(&second, Moment::Begin).is_some());
    // Its front-end reconnects and reports that answers were lost.
    second.connection += 1;
    second.answers_lost = true;
    here.work.confirm_delivery(&second, true);
    assert!(here.brief_note(&second, Moment::Begin).is_some());
    assert_eq!(here.notes.read(&main).unwrap()[0].read_by, Vec::<String>::new());
}

#[test]
fn the_last_twenty_are_kept_and_a_broken_file_is_named() {
    let temp = tempfile::tempdir().unwrap();
    let notes = Notes::new(temp.path().join("notes"), Box::new(|| Ok(())));
    let caller = Caller { env: BTreeMap::new(), ..testkit::caller(temp.path(), "ann") };
    // Names that would escape the directory, or are too long for a file name.
    for place in [NoteTarget::Branch("../../x".repeat(60)), NoteTarget::Directory(PathBuf::from("/a/b"))] {
        for number in 1..=22 {
            let kept = notes.keep(&place, &caller, &format!("note {number}"), None).unwrap();
            assert_eq!(kept, number.min(20));
        }
        let texts: Vec<String> = notes.read(&place).unwrap().into_iter().map(|note| note.text).collect();
        assert_eq!((texts.len(), &*texts[0], &*texts[19]), (20, "note 3", "note 22"));
    }
    let files: Vec<PathBuf> =
        std::fs::read_dir(temp.path().join("notes")).unwrap().map(|entry| entry.unwrap().path()).collect();
    assert_eq!(files.len(), 2);
    for file in &files {
        std::fs::write(file, "{\"place\":").unwrap();
    }
    let place = NoteTarget::Directory(PathBuf::from("/a/b"));
    let error = notes.read(&place).unwrap_err().to_string();
    assert!(error.contains("is corrupt") && error.contains("move it away"), "{error}");
    notes.keep(&place, &caller, "text", None).unwrap_err();
}

#[test]
fn a_note_left_in_a_rebase_or_bisect_belongs_to_the_branch() {
    if !has_program("git") {
        return;
    }
    let begins: &[(&str, &[&str])] = &[
        ("a rebase", &["rebase", "-q", "main"]),
        ("a rebase by patches", &["rebase", "-q", "--apply", "main"]),
        ("a bisect", &["bisect", "start", "HEAD", "HEAD~3"]),
    ];
    for (name, begin) in begins {
        let here = fixture();
        let git = |args: &[&str]| here.repository.git(args);
        let commit = |text: &str| {
            here.repository.write("a", text);
            git(&["add", "a"]);
            git(&["commit", "-qm", text]);
        };
        commit("1");
        git(&["switch", "-qc", "topic/a"]);
        for text in ["2", "3", "4"] {
            commit(text);
        }
        git(&["switch", "-q", "main"]);
        commit("5");
        let linked = here.repository.temp.path().join("linked").display().to_string();
        git(&["worktree", "add", "-q", &linked, "topic/a"]);
        let _ = here.repository.try_git(&[&["-C", &linked][..], begin].concat());
        let mut caller = caller(&here.repository, "first");
        caller.worktree = PathBuf::from(&linked).canonicalize().unwrap();
        let found = crate::repository::query_directory(&caller.worktree, &here.repository.env()).unwrap();
        assert_eq!((found.branch.as_deref(), found.work_branch()), (None, Some("topic/a")), "{name}");
        assert_eq!(found.base.as_deref(), Some("main"), "{name}");
        let cx = Context::detached(Arc::new(caller.clone()));
        runtime().block_on(async {
            let call = crate::fixture::call(
                &here.work,
                caller.clone(),
                "work_brief",
                serde_json::json!({"at": "end", "note": "x is next"}),
            );
            call.await;
            let facts = work::rule_facts::query_facts(&caller.worktree, &here.repository.env()).await;
            assert_eq!(facts.get("work.branch").map(String::as_str), Some("topic/a"), "{name}");
        });
        drop(cx);
        let notes = here.notes.read(&NoteTarget::Branch("topic/a".to_owned())).unwrap();
        assert_eq!(notes.len(), 1, "{name}");
    }
}

#[test]
fn a_rebase_of_a_detached_head_belongs_to_no_branch() {
    if !has_program("git") {
        return;
    }
    let here = fixture();
    here.repository.git(&["commit", "-q", "--allow-empty", "-m", "First"]);
    here.repository.git(&["checkout", "-q", "--detach"]);
    std::fs::create_dir(here.repository.root().join(".git/rebase-merge")).unwrap();
    here.repository.write(".git/rebase-merge/head-name", "detached HEAD\n");
    assert_eq!(here.repository.query().unwrap().work_branch(), None);
}
