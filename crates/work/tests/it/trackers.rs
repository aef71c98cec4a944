//! Issues by a tracker's program: the recorded output and JSONL of the real `br` (`cargo xtask trackers`) agree, and `bd` is
//! tested with a script that prints its documented output.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use testkit::has_program;
use work::WorkSettings;
use work::tracker::beads::Beads;

use crate::fixture::{Answer, call, program, work_of};
use crate::repository::{Repository, runtime};

fn fixtures(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/fixtures/br").join(name)
}

/// Creates a repository whose `.beads` has no file, with this program on the `PATH`.
fn with(name: &str, script: &str) -> Repository {
    let repository = Repository::new();
    std::fs::create_dir(repository.root().join(".beads")).expect("a directory");
    program(&repository.temp.path().join("bin"), name, script);
    repository
}

fn ask(repository: &Repository, arguments: Value) -> Answer {
    let mut caller = testkit::caller(&repository.root(), "ann");
    caller.env = repository.env();
    let bin = repository.temp.path().join("bin");
    caller.env.insert("PATH".to_owned(), format!("{}:{}", bin.display(), caller.env["PATH"]));
    let work = work_of(repository, WorkSettings::default());
    runtime().block_on(call(&work, caller, "work_status", arguments))
}

/// Writes a script that replays the recorded output for the recorded arguments.
fn replay(recorded: &Path) -> String {
    let recorded = recorded.display();
    format!(
        r#"case "$*" in
--help) cat {recorded}/help.txt ;;
"list --json --all --limit 0 --no-auto-import --no-auto-flush --no-daemon --allow-stale") cat {recorded}/list.json ;;
"ready --json --limit 3 --no-auto-import --no-auto-flush --no-daemon --allow-stale") cat {recorded}/ready.json ;;
"show --json --no-auto-import --no-auto-flush --no-daemon --allow-stale -- "*) shift 7; cat {recorded}/show-$1.json ;;
*) echo "not recorded: $*" >&2; exit 9 ;;
esac"#
    )
}

#[test]
fn the_real_br_by_its_json_and_by_its_file_the_same() {
    if !has_program("git") {
        return;
    }
    for state in ["first", "pulled"] {
        let recorded = fixtures(state);
        let text = std::fs::read(recorded.join("issues.jsonl")).unwrap();
        let by_file = Beads::parse(&text);
        assert_eq!(by_file.bad_lines, 0);
        let repository = with("br", &replay(&recorded));
        let ids: Vec<&str> = by_file.ids().collect();
        assert!(ids.len() >= 4, "{ids:?}");
        for id in &ids {
            let said = ask(&repository, json!({"issue": id, "sections": ["issue"]}));
            assert_eq!(said.source("issue"), "ok: . ", "{}", said.text);
            let mut by_program = said.value["issue"].clone();
            let mut by_file = serde_json::to_value(by_file.issue(id)).unwrap();
            // The two list issues in different orders.
            for issue in [&mut by_program, &mut by_file] {
                for list in ["dependencies", "dependents"] {
                    issue[list].as_array_mut().unwrap().sort_by_key(|related| related["id"].to_string());
                }
            }
            assert_eq!(by_program, by_file, "{state}, {id}");
        }
        // A deleted issue is in neither.
        assert!(!ids.iter().any(|id| by_file.issue(id).is_some_and(|issue| issue.status == "tombstone")));
        // Ready issues, and the issue of the branch.
        let ready: Vec<String> = by_file.ready(3).into_iter().map(|issue| issue.id).collect();
        let mut caller = testkit::caller(&repository.root(), "ann");
        caller.env = repository.env();
        let bin = repository.temp.path().join("bin");
        caller.env.insert("PATH".to_owned(), format!("{}:{}", bin.display(), caller.env["PATH"]));
        let work = work_of(&repository, WorkSettings::default());
        let brief = runtime().block_on(call(&work, caller, "work_brief", json!({})));
        for id in &ready {
            assert!(brief.text.contains(&format!("ready: {id} ")), "{id}: {}", brief.text);
        }
        assert_eq!(brief.text.matches("ready: ").count(), ready.len(), "{}", brief.text);
        repository.git(&["switch", "-q", "--orphan", &format!("{}-work", ids[0])]);
        assert_eq!(ask(&repository, json!({})).value["issue"]["id"], ids[0]);
    }
}

/// The documented output of `bd list --json` and `bd show --json`; the real program was not run.
#[test]
fn bd_by_its_documented_outputs() {
    if !has_program("git") {
        return;
    }
    let issue = json!({
        "id": "bd-a1b2", "title": "Parse lists", "description": "Nested.", "status": "hooked", "priority": 1,
        "issue_type": "feature", "assignee": "ann", "created_at": "2026-01-01T00:00:00Z", "created_by": "carl",
        "updated_at": "2026-01-02T00:00:00Z",
    });
    let mut whole = issue.clone();
    whole["dependencies"] = json!([{
        "id": "bd-e5", "title": "The parser", "status": "open", "priority": 2, "issue_type": "epic",
        "created_at": "2026-01-01T00:00:00Z", "updated_at": "2026-01-02T00:00:00Z", "dependency_type": "parent-child",
    }]);
    let list =
        json!([issue, {"id": "bd-e5", "title": "The parser", "status": "open", "priority": 2, "issue_type": "epic"}]);
    let temp = tempfile::tempdir().unwrap();
    let (listed, shown) = (temp.path().join("list"), temp.path().join("show"));
    std::fs::write(&listed, list.to_string()).unwrap();
    std::fs::write(&shown, json!([whole]).to_string()).unwrap();
    // A version without `--all` that supports different options to prevent writing.
    let script = format!(
        "case \"$*\" in --help) echo '  --readonly  --sandbox';; 'list --json --readonly') cat {};; \
         'show --json --readonly -- bd-a1b2') cat {};; *) echo \"unknown flag: $*\" >&2; exit 1;; esac",
        listed.display(),
        shown.display()
    );
    let repository = with("bd", &script);
    repository.git(&["commit", "-q", "--allow-empty", "-m", "First"]);
    repository.git(&["switch", "-qc", "bd-a1b2/lists"]);
    let said = ask(&repository, json!({}));
    let mut expected = whole.clone();
    expected["tracker"] = json!("beads");
    expected["parent"] = json!("bd-e5");
    expected["dependents"] = json!([]);
    expected["dependencies"] = json!([{
        "id": "bd-e5", "title": "The parser", "status": "open", "priority": 2, "issue_type": "epic",
        "dependency_type": "parent-child",
    }]);
    assert_eq!(said.value["issue"], expected, "{}", said.text);
    let said = ask(&repository, json!({"issue": "bd-a1b3"}));
    assert_eq!(said.source("issue"), "absent: unknown issue bd-a1b3. Did you mean bd-a1b2?");
    // hob runs the program only if the database is newer than the file.
    repository.write(".beads/issues.jsonl", "{\"id\":\"bd-a1b2\",\"title\":\"By the file\"}\n");
    assert_eq!(ask(&repository, json!({})).value["issue"]["title"], "By the file");
    repository.write(".beads/beads.db", "");
    let database = std::fs::File::options().write(true).open(repository.root().join(".beads/beads.db")).unwrap();
    database.set_modified(std::time::SystemTime::now() + std::time::Duration::from_secs(60)).unwrap();
    assert_eq!(ask(&repository, json!({})).value["issue"]["title"], "Parse lists");
    // Invalid output is reported, and the file is still used.
    program(&repository.temp.path().join("bin"), "bd", "echo '<<<'");
    let said = ask(&repository, json!({}));
    assert_eq!(
        (&said.value["issue"]["title"], &said.value["sources"]["issue"]["state"]),
        (&json!("By the file"), &json!("stale"))
    );
}
