//! Issues in the repository: the fields of the trackers' file, and the branch's issue.

use expect_test::expect;
use testkit::has_program;
use work::tracker::beads::{Beads, Cache};
use work::{Source, State};

use crate::repository::Repository;

/// Lines in the format of bd 0.30 and br 0.1.
const FILE: &str = r#"{"id":"web-a1","title":"Parse lists","description":"Nested ones, too.","status":"in_progress","priority":1,"issue_type":"feature","assignee":"ann","created_at":"2025-12-13T08:41:34.956552+11:00","created_by":"carl","updated_at":"2025-12-13T08:43:49.970591+11:00","dependencies":[{"issue_id":"web-a1","depends_on_id":"web-e1","type":"parent-child","created_at":"2025-12-13T08:44:50.145775+11:00","created_by":"daemon"},{"issue_id":"web-a1","depends_on_id":"web-b2","type":"blocks","created_at":"2025-12-13T08:44:50.145775+11:00","created_by":"daemon"},{"issue_id":"web-a1","depends_on_id":"web-c3","type":"blocks","created_at":"2025-12-13T08:44:50.145775+11:00","created_by":"daemon"},{"issue_id":"web-a1","depends_on_id":"web-gone","type":"related","created_at":"2025-12-13T08:44:50.145775+11:00","created_by":"daemon"}]}
{"id":"web-b2","title":"Lex brackets","status":"open","priority":0,"issue_type":"task","created_at":"2025-12-12T08:41:34.956552+11:00","updated_at":"2025-12-13T08:43:49.970591+11:00"}
{"id":"web-c3","title":"Choose a lexer","status":"closed","priority":2,"issue_type":"task","created_at":"2025-12-11T08:41:34.956552+11:00","updated_at":"2025-12-13T08:43:49.970591+11:00","closed_at":"2025-12-13T08:43:49.970591+11:00"}
{"id":"web-d4","title":"Old","status":"tombstone","priority":2,"issue_type":"bug","created_at":"2025-12-16T13:26:47.117226-08:00","updated_at":"2025-12-17T16:11:17.070763-08:00","deleted_at":"2025-12-17T16:11:17.070763-08:00","deleted_by":"batch delete","delete_reason":"batch delete","original_type":"bug"}
{"id":"web-e1","title":"The parser","status":"open","issue_type":"epic","created_at":"2025-12-10T08:41:34.956552+11:00","updated_at":"2025-12-13T08:43:49.970591+11:00"}
{"id":"web-f5","title":"Print lists","status":"open","priority":3,"issue_type":"task","created_at":"2025-12-14T08:41:34.956552+11:00","updated_at":"2025-12-13T08:43:49.970591+11:00"}
"#;

#[test]
fn an_issue_has_all_that_the_file_says_and_what_others_say_of_it() {
    let beads = Beads::parse(FILE.as_bytes());
    let shown = |id: &str| serde_json::to_string_pretty(&beads.issue(id)).unwrap();
    expect![[r#"
        {
          "tracker": "beads",
          "id": "web-a1",
          "title": "Parse lists",
          "description": "Nested ones, too.",
          "status": "in_progress",
          "priority": 1,
          "issue_type": "feature",
          "assignee": "ann",
          "created_at": "2025-12-13T08:41:34.956552+11:00",
          "created_by": "carl",
          "updated_at": "2025-12-13T08:43:49.970591+11:00",
          "parent": "web-e1",
          "dependencies": [
            {
              "id": "web-e1",
              "title": "The parser",
              "status": "open",
              "priority": null,
              "issue_type": "epic",
              "dependency_type": "parent-child"
            },
            {
              "id": "web-b2",
              "title": "Lex brackets",
              "status": "open",
              "priority": 0,
              "issue_type": "task",
              "dependency_type": "blocks"
            },
            {
              "id": "web-c3",
              "title": "Choose a lexer",
              "status": "closed",
              "priority": 2,
              "issue_type": "task",
              "dependency_type": "blocks"
            },
            {
              "id": "web-gone",
              "title": null,
              "status": null,
              "priority": null,
              "issue_type": null,
              "dependency_type": "related"
            }
          ],
          "dependents": []
        }"#]]
    .assert_eq(&shown("web-a1"));
    let of_parent = beads.issue("web-e1").unwrap();
    assert_eq!(
        (of_parent.priority, of_parent.dependents.len(), of_parent.dependents[0].id.as_str()),
        (None, 1, "web-a1")
    );
    assert_eq!(beads.issue("web-d4"), None, "it was deleted");
    let ready: Vec<String> = beads.ready(9).into_iter().map(|issue| issue.id).collect();
    assert_eq!(ready, ["web-b2", "web-f5"], "neither an epic, nor blocked, nor begun");
}

#[test]
fn lines_that_are_no_issues_are_counted_and_passed_over() {
    let half = FILE.len() - 100;
    let text = format!(
        "<<<<<<< HEAD\n{}\n=======\n[]\n{{\"id\":7}}\n{{\"id\":\"web-b2\",\"title\":\"Lex\",\"priority\":1}}\n\n",
        &FILE[..half]
    );
    let beads = Beads::parse(text.as_bytes());
    assert_eq!(beads.bad_lines, 5, "the marks of a merge, a line that is half written, and what has no title");
    // The later line is the newer state; missing fields have their defaults.
    let merged = beads.issue("web-b2").unwrap();
    assert_eq!((merged.title.as_str(), merged.status.as_str(), merged.priority), ("Lex", "open", Some(1)));
    // A cycle of dependencies, and an issue that depends on itself.
    let circle = r#"{"id":"a-1","title":"A","dependencies":[{"depends_on_id":"a-2","type":"blocks"},{"depends_on_id":"a-1","type":"blocks"}]}
{"id":"a-2","title":"B","dependencies":[{"depends_on_id":"a-1","dep_type":"blocks"}]}"#;
    let beads = Beads::parse(circle.as_bytes());
    assert_eq!((beads.ready(9).len(), beads.issue("a-1").unwrap().dependents.len()), (0, 2));
}

#[test]
fn where_the_file_is_and_why_it_is_not() {
    if !has_program("git") {
        return;
    }
    let (repository, cache) = (Repository::new(), Cache::default());
    let said = |read: &work::tracker::beads::BeadsLookup| {
        let Source { state, detail, .. } = &read.source;
        (*state, detail.clone().unwrap_or_default(), read.beads.as_ref().map(|beads| beads.ids().count()))
    };
    let look = || said(&cache.read(&repository.root()));
    assert_eq!(look(), (State::Absent, "the repository has no issue tracker (.beads)".to_owned(), None));
    std::fs::create_dir(repository.root().join(".beads")).unwrap();
    assert_eq!(look(), (State::Absent, ".beads has no issues.jsonl".to_owned(), None));
    repository.write(".beads/issues.jsonl", FILE);
    assert_eq!(look(), (State::Ok, String::new(), Some(5)));
    repository.write(".beads/issues.jsonl", &format!("{FILE}{{\"id\":"));
    assert_eq!(look(), (State::Ok, "invalid lines skipped: 1".to_owned(), Some(5)));
    // A linked worktree uses the main one's issues unless it has its own.
    repository.git(&["commit", "-q", "--allow-empty", "-m", "First"]);
    repository.git(&["worktree", "add", "-q", "--detach", "../other"]);
    let other = repository.root().parent().unwrap().join("other");
    assert_eq!(said(&cache.read(&other)).2, Some(5));
    std::fs::create_dir(other.join(".beads")).unwrap();
    std::fs::write(other.join(".beads/beads.jsonl"), "{\"id\":\"x-1\",\"title\":\"X\"}").unwrap();
    assert_eq!(said(&cache.read(&other)).2, Some(1));
    // The tracker's database was written later.
    repository.write(".beads/beads.db", "");
    let database = std::fs::File::options().write(true).open(repository.root().join(".beads/beads.db")).unwrap();
    database.set_modified(std::time::SystemTime::now() + std::time::Duration::from_secs(60)).unwrap();
    let (state, detail, count) = look();
    assert_eq!((state, count), (State::Stale, Some(5)), "{detail}");
    // A link out of the repository, and a directory instead of a file.
    let file = repository.root().join(".beads/issues.jsonl");
    std::fs::write(repository.temp.path().join("secret"), FILE).unwrap();
    std::fs::remove_file(&file).unwrap();
    std::os::unix::fs::symlink(repository.temp.path().join("secret"), &file).unwrap();
    let (state, detail, count) = look();
    assert_eq!((state, count, detail.contains("links to a file outside")), (State::Failed, None, true), "{detail}");
    std::fs::remove_file(&file).unwrap();
    std::fs::create_dir(&file).unwrap();
    assert_eq!(look().0, State::Failed);
}
