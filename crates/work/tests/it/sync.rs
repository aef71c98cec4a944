//! Syncing fetches and changes nothing else; failures are reported together with the known state.

use serde_json::{Value, json};

use crate::fixture::{Here, program};

/// Creates a `Here` whose origin is a bare repository with a commit pushed by another user.
fn fixture() -> Option<Here> {
    let here = Here::new()?;
    let git = |args: &[&str]| here.repository.git(args);
    git(&["clone", "-q", "--bare", ".", "../up.git"]);
    git(&["remote", "set-url", "origin", "../up.git"]);
    git(&["clone", "-q", "../up.git", "../other"]);
    git(&["-C", "../other", "config", "user.name", "Other"]);
    git(&["-C", "../other", "config", "user.email", "other@example.org"]);
    git(&["-C", "../other", "switch", "-q", "main"]);
    git(&["-C", "../other", "commit", "-q", "--allow-empty", "-m", "New on main"]);
    git(&["-C", "../other", "tag", "v1"]);
    git(&["-C", "../other", "push", "-q", "--tags", "origin", "main"]);
    Some(here)
}

#[test]
fn a_sync_fetches_and_no_more() {
    let Some(here) = fixture() else { return };
    here.repository.write("a", "1\n");
    assert_eq!(here.status().value["git"]["behind_base"], 0);
    let before = |what: &[&str]| here.repository.git(what);
    let kept = [&["for-each-ref", "refs/heads", "refs/tags"][..], &["ls-files", "--stage"], &["reflog"]];
    let then = kept.map(before);
    let said = here.call("work_sync", json!({}));
    assert_eq!(said.value["sources"]["fetch"]["state"], "ok", "{}", said.text);
    assert_eq!(said.value["git"]["behind_base"], 1);
    assert_eq!(said.value["changed"][0]["text"], "new on origin/main: \"New on main\"");
    assert_eq!(kept.map(before), then, "branches, tags, the index and HEAD are as they were");
    assert!(!here.repository.root().join(".git/FETCH_HEAD").exists());
}

#[test]
fn the_predecessors_fault_a_sync_that_fails_stops_everything() {
    let Some(here) = fixture() else { return };
    here.repository.git(&["remote", "set-url", "origin", "../gone.git"]);
    let said = here.call("work_sync", json!({}));
    let source = said.source("fetch");
    assert!(
        source.starts_with("failed: origin: fatal: '../gone.git' does not appear to be a git repository"),
        "{source}"
    );
    assert!(source.ends_with("`git fetch origin` in your shell shows the whole error."), "{source}");
    assert_eq!(said.value["git"]["branch"], "topic");
    assert!(said.text.contains("\nfetch: origin: fatal:"), "{}", said.text);
    here.repository.git(&["remote", "set-url", "origin", "https://127.0.0.1:1/up/web"]);
    assert!(here.call("work_sync", json!({})).source("fetch").starts_with("offline: "));
    here.repository.git(&["remote", "remove", "origin"]);
    let source = here.call("work_sync", json!({})).source("fetch");
    assert_eq!(source, "absent: no remote is configured. `git remote add origin ADDRESS` adds one.");
}

#[test]
fn what_a_repository_configures_for_fetches_does_not_run() {
    let Some(here) = fixture() else { return };
    let ran = here.repository.temp.path().join("ran");
    let bin = here.repository.temp.path().join("evil");
    program(&bin, "evil", &format!("echo \"$0 $*\" >> {}", ran.display()));
    let evil = bin.join("evil").display().to_string();
    here.repository.git(&["config", "core.hooksPath", &bin.display().to_string()]);
    program(&bin, "reference-transaction", &format!("echo hook >> {}", ran.display()));
    assert_eq!(here.call("work_sync", json!({})).value["sources"]["fetch"]["state"], "ok");
    for name in ["core.sshCommand", "core.gitProxy", "credential.helper", "remote.origin.uploadpack"] {
        here.repository.git(&["config", name, &evil]);
        let source = here.call("work_sync", json!({})).source("fetch");
        let lower = name.to_lowercase();
        let expected = format!(
            "failed: the repository's own configuration controls how to fetch ({lower}), so hob refuses. Run `git fetch` in your shell."
        );
        assert_eq!(source, expected);
        here.repository.git(&["config", "--unset", name]);
    }
    here.repository.git(&["config", "protocol.ext.allow", "always"]);
    here.repository.git(&["remote", "set-url", "origin", &format!("ext::{evil} %S")]);
    let source = here.call("work_sync", json!({})).source("fetch");
    assert!(source.contains("transport 'ext' not allowed"), "{source}");
    assert!(!ran.exists(), "{}", std::fs::read_to_string(&ran).unwrap());
}

#[test]
fn a_fetch_writes_below_refs_remotes_only() {
    let Some(here) = fixture() else { return };
    here.repository.git(&["config", "--add", "remote.origin.fetch", "+refs/heads/*:refs/heads/*"]);
    let heads = || here.repository.git(&["for-each-ref", "refs/heads"]);
    let before = heads();
    assert_eq!(here.call("work_sync", json!({})).value["sources"]["fetch"]["state"], "ok");
    assert_eq!(heads(), before);
    here.repository.git(&["config", "--unset-all", "remote.origin.fetch"]);
    here.repository.git(&["config", "remote.origin.fetch", "+refs/*:refs/*"]);
    let source = here.call("work_sync", json!({})).source("fetch");
    assert!(source.starts_with("failed: the remote origin has nothing to fetch below refs/remotes. "), "{source}");
    assert_eq!(heads(), before);
}

#[test]
fn a_fetch_over_ssh_has_the_callers_command_and_agent() {
    let Some(mut here) = fixture() else { return };
    let said = here.repository.temp.path().join("said");
    let bin = here.repository.temp.path().join("ssh");
    program(
        &bin,
        "ssh",
        &format!(
            "echo \"$SSH_AUTH_SOCK $*\" >> {}; echo 'git@example.org: Permission denied (publickey).' >&2; exit 255",
            said.display()
        ),
    );
    here.repository.git(&["remote", "set-url", "origin", "git@example.org:up/web.git"]);
    here.asked_env.insert("SSH_AUTH_SOCK".to_owned(), "/run/agent".to_owned());
    here.asked_env.insert("GIT_SSH_COMMAND".to_owned(), bin.join("ssh").display().to_string());
    let source = here.call("work_sync", json!({})).source("fetch");
    assert!(source.starts_with("not_logged_in: origin: "), "{source}");
    let said = std::fs::read_to_string(said).unwrap();
    assert!(said.starts_with("/run/agent ") && said.contains("git-upload-pack 'up/web.git'"), "{said}");
}

#[test]
fn the_tracker_pulls_by_the_command_that_it_has() {
    let Some(mut here) = fixture() else { return };
    let bin = here.repository.temp.path().join("bin");
    let ran = here.repository.temp.path().join("ran");
    here.env.insert("PATH".to_owned(), format!("{}:{}", bin.display(), here.env["PATH"]));
    assert_eq!(here.call("work_sync", json!({})).value["sources"]["tracker"], Value::Null);
    here.repository.write(".beads/issues.jsonl", "");
    let check = |script: &str, expected: &str, command: &str| {
        let _ = std::fs::remove_file(&ran);
        program(&bin, "bd", &script.replace("RAN", &ran.display().to_string()));
        assert_eq!(here.call("work_sync", json!({})).source("tracker"), expected);
        assert_eq!(std::fs::read_to_string(&ran).unwrap_or_default().trim(), command);
    };
    let first =
        "case \"$*\" in 'sync --help') echo '  --from-main  pull';; 'dolt --help') ;; *) echo \"$*\" >> RAN;; esac";
    check(first, "ok: bd sync --from-main. ", "sync --from-main");
    let later = "case \"$*\" in 'sync --help') ;; 'dolt --help') echo '  pull   Pull';; *) echo \"$*\" >> RAN; echo 'no remote' >&2; exit 1;; esac";
    check(later, "failed: bd dolt pull: no remote. `bd dolt pull` in your shell shows the whole error.", "dolt pull");
    check("true", "absent: bd has no command that only pulls. ", "");
}

#[test]
fn a_fetch_writes_through_no_link() {
    let places: &[(&str, &str)] = &[
        (
            "a log",
            "rm -rf .git/logs/refs/remotes/origin; mkdir -p .git/logs/refs/remotes/origin; ln -s OUT/rc .git/logs/refs/remotes/origin/main",
        ),
        (
            "a log with two names",
            "mkdir -p .git/logs/refs/remotes/origin; ln -f OUT/rc .git/logs/refs/remotes/origin/main",
        ),
        ("a directory of logs", "rm -rf .git/logs/refs/remotes; ln -s OUT .git/logs/refs/remotes"),
        ("all logs", "mv .git/logs OUT/logs; ln -s OUT/logs .git/logs"),
        ("a ref", "rm -f .git/refs/remotes/origin/main; ln -s OUT/rc .git/refs/remotes/origin/main"),
        ("a directory of refs", "rm -rf .git/refs/remotes/origin; ln -s OUT .git/refs/remotes/origin"),
        ("all refs", "mv .git/refs OUT/refs; ln -s OUT/refs .git/refs"),
        ("packed refs", "git pack-refs --all; mv .git/packed-refs OUT/; ln -s OUT/packed-refs .git/packed-refs"),
        ("all objects", "mv .git/objects OUT/objects; ln -s OUT/objects .git/objects"),
        ("packs", "rm -rf .git/objects/pack; ln -s OUT .git/objects/pack"),
        (
            "a directory of objects",
            "ln -s OUT .git/objects/fa 2>/dev/null || { mv .git/objects/fa OUT/; ln -s OUT/fa .git/objects/fa; }",
        ),
        ("the list of shallow commits", "ln -s OUT/rc .git/shallow"),
        ("a ref that stands for a branch", "echo 'ref: refs/heads/new' > .git/refs/remotes/origin/main"),
        ("a ref that stands for HEAD", "echo 'ref: HEAD' > .git/refs/remotes/origin/main"),
    ];
    for (name, script) in places {
        let Some(here) = fixture() else { return };
        let out = here.repository.temp.path().join("out");
        std::fs::create_dir(&out).unwrap();
        std::fs::write(out.join("rc"), "# mine\n").unwrap();
        let script = script.replace("OUT", &out.display().to_string());
        let mut sh = std::process::Command::new("sh");
        sh.args(["-ec", &script]).current_dir(here.repository.root()).status().unwrap();
        let listed = || {
            let listed = std::process::Command::new("sh")
                .args(["-c", "find . -type f | sort | xargs cksum"])
                .current_dir(&out)
                .output();
            listed.unwrap().stdout
        };
        let before = listed();
        let source = here.call("work_sync", json!({})).source("fetch");
        assert!(source.starts_with("failed: "), "{name}: {source}");
        assert!(
            source.contains(" is a link, so a fetch could write elsewhere") || *name == "the list of shallow commits",
            "{name}: {source}"
        );
        assert_eq!(String::from_utf8_lossy(&listed()), String::from_utf8_lossy(&before), "{name}");
        let branches = here.repository.try_git(&["rev-parse", "--verify", "refs/heads/new"]).0;
        assert!(!branches, "{name}");
    }
}

#[test]
fn a_linked_worktree_and_a_submodule_fetch_as_ever() {
    let Some(here) = fixture() else { return };
    let git = |args: &[&str]| here.repository.git(args);
    git(&["worktree", "add", "-q", "../linked", "-b", "more"]);
    git(&["-c", "protocol.file.allow=always", "submodule", "--quiet", "add", "../up.git", "sub"]);
    git(&["-C", "../other", "commit", "-q", "--allow-empty", "-m", "Newer"]);
    git(&["-C", "../other", "push", "-q", "origin", "main"]);
    let newest = here.repository.git_text(&["-C", "../other", "rev-parse", "HEAD"]);
    for place in ["../linked", "sub"] {
        let mut caller = here.caller("run");
        caller.worktree = here.repository.root().join(place).canonicalize().unwrap();
        let said = here.call_as(caller, "work_sync", json!({}));
        assert_eq!(said.value["sources"]["fetch"]["state"], "ok", "{place}: {}", said.text);
        let fetched = here.repository.git_text(&["-C", place, "rev-parse", "origin/main"]);
        assert_eq!(fetched, newest, "{place}");
        let log = here.repository.git_text(&["-C", place, "reflog", "-1", "--format=%H", "origin/main"]);
        assert_eq!(log, newest, "{place}: the log of the ref has it");
    }
}

#[test]
fn no_setting_of_a_repository_leads_a_fetch_elsewhere() {
    let Some(here) = fixture() else { return };
    let (ran, bin) = (here.repository.temp.path().join("ran"), here.repository.temp.path().join("evil"));
    program(&bin, "evil", &format!("echo \"$0 $*\" >> {}", ran.display()));
    program(
        &here.repository.root().join(".git/hooks"),
        "reference-transaction",
        &format!("echo hook >> {}", ran.display()),
    );
    let evil = bin.join("evil").display().to_string();
    let git = |args: &[&str]| here.repository.git(args);
    git(&["bundle", "create", "-q", "../x.bundle", "HEAD"]);
    let bundle = here.repository.temp.path().join("x.bundle").display().to_string();
    for (name, value) in [
        ("fetch.bundleURI", &*bundle),
        ("transfer.bundleURI", "true"),
        ("fetch.output", "compact"),
        ("fetch.prune", "true"),
        ("remote.origin.prune", "true"),
        ("remote.origin.tagOpt", "--tags"),
        ("core.logAllRefUpdates", "always"),
        ("core.fsmonitor", &evil),
        ("gc.auto", "1"),
        ("maintenance.auto", "true"),
        ("filter.a=b.clean", &evil),
        ("pack.packSizeLimit", "1"),
        ("alias.upload-pack", &format!("!{evil}")),
    ] {
        git(&["config", name, value]);
    }
    let refs = || here.repository.git(&["for-each-ref", "refs/heads", "refs/tags", "refs/bundles"]);
    let before = refs();
    assert_eq!(here.call("work_sync", json!({})).value["sources"]["fetch"]["state"], "ok");
    assert_eq!(here.repository.git_text(&["log", "-1", "--format=%s", "origin/main"]).as_deref(), Some("New on main"));
    assert_eq!(refs(), before);
    assert!(!ran.exists(), "{}", std::fs::read_to_string(&ran).unwrap());
}

#[test]
fn a_refused_fetch_asks_no_tracker() {
    let Some(mut here) = fixture() else { return };
    let (bin, ran) = (here.repository.temp.path().join("bin"), here.repository.temp.path().join("ran"));
    here.env.insert("PATH".to_owned(), format!("{}:{}", bin.display(), here.env["PATH"]));
    here.repository.write(".beads/issues.jsonl", "");
    program(&bin, "bd", &format!("echo \"$*\" >> {}; echo --from-main", ran.display()));
    let git = |args: &[&str]| here.repository.git(args);
    let why = "failed: the tracker was not run, because the fetch failed. ";
    git(&["config", "core.sshCommand", "/bin/evil"]);
    assert_eq!(here.call("work_sync", json!({})).source("tracker"), why);
    git(&["config", "--unset", "core.sshCommand"]);
    git(&["remote", "set-url", "origin", "../gone.git"]);
    assert_eq!(here.call("work_sync", json!({})).source("tracker"), why);
    git(&["remote", "set-url", "origin", "../up.git"]);
    // The tracker's git would check files out.
    git(&["config", "filter.a=b.smudge", "/bin/evil"]);
    let source = here.call("work_sync", json!({})).source("tracker");
    assert!(
        source.starts_with("failed: the repository's own configuration names programs for git (filter.a=b.smudge)."),
        "{source}"
    );
    let asked = std::fs::read_to_string(&ran).unwrap_or_default();
    assert!(!asked.contains("sync --from-main"), "{asked}");
    git(&["config", "--unset", "filter.a=b.smudge"]);
    assert!(here.call("work_sync", json!({})).source("tracker").starts_with("ok: "));
}
