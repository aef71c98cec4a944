//! A repository whose configuration names programs: none of them runs, and nothing is written.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use mcp::tool::Context;
use serde_json::json;
use testkit::has_program;
use work::{Moment, WorkSettings};

use crate::fixture::{call, program, work_of};
use crate::repository::{Repository, runtime};

/// A setting that would run EVIL, a script in the worktree.
struct Trap {
    name: &'static str,
    script: &'static str,
    /// A git command that runs the script, which proves that the trap works.
    springs: Option<&'static str>,
}

const fn trap(name: &'static str, script: &'static str, springs: Option<&'static str>) -> Trap {
    Trap { name, script, springs }
}

const STATUS: Option<&str> = Some("touch a.txt; git status");

const TRAPS: &[Trap] = &[
    trap("a filter", "git config filter.evil.clean EVIL; echo '* filter=evil' > .gitattributes", STATUS),
    trap("a filter process", "git config filter.evil.process EVIL; echo '* filter=evil' > .gitattributes", STATUS),
    trap("a filter named a=b", "git config filter.a=b.clean EVIL; echo '* filter=a=b' > .gitattributes", STATUS),
    trap(
        "a filter whose name is not UTF-8",
        r#"printf '[filter "\377"]\nclean = EVIL\n' >> .git/config; printf '* filter=\377\n' > .gitattributes"#,
        STATUS,
    ),
    trap(
        "a filter named a.b.=.c",
        "git config filter.a.b.=.c.clean EVIL; echo '* filter=a.b.=.c' > .gitattributes",
        STATUS,
    ),
    trap(
        "a filter with quotes in its name",
        r#"printf '[filter "a\\"=\\\\b"]\nclean = EVIL\n' >> .git/config; printf '%s\n' '* filter=a"=\b' > .gitattributes"#,
        STATUS,
    ),
    trap(
        "a filter without a name",
        r#"printf '[filter ""]\nclean = EVIL\n' >> .git/config; echo '* filter=' > .gitattributes"#,
        STATUS,
    ),
    trap(
        "sections and keys in other case",
        r#"printf '[FilteR "E=vil"]\nCLEAN = EVIL\nReQuired\n' >> .git/config; echo '* filter=E=vil' > .gitattributes"#,
        STATUS,
    ),
    trap(
        "info/attributes",
        "git config filter.a=b.clean EVIL; mkdir -p .git/info; echo '* filter=a=b' > .git/info/attributes",
        STATUS,
    ),
    trap(
        "core.attributesFile",
        "git config filter.a=b.clean EVIL; echo '* filter=a=b' > ../attributes; git config core.attributesFile $PWD/../attributes",
        STATUS,
    ),
    trap(
        "a file that is included",
        r#"printf '[filter "a=b"]\nclean = EVIL\n' > more; git config include.path ../more; echo '* filter=a=b' > .gitattributes"#,
        STATUS,
    ),
    trap(
        "a file that is included on a branch",
        r#"printf '[filter "a=b"]\nclean = EVIL\n' > more; git config includeIf.onbranch:main.path ../more; echo '* filter=a=b' > .gitattributes"#,
        STATUS,
    ),
    trap(
        "a file that is included for a remote",
        r#"printf '[filter "a=b"]\nclean = EVIL\n' > more; git remote add origin /x; git config 'includeIf.hasconfig:remote.*.url:**.path' ../more; echo '* filter=a=b' > .gitattributes"#,
        STATUS,
    ),
    trap(
        "the worktree's own configuration",
        "git config extensions.worktreeConfig true; git config --worktree filter.a=b.clean EVIL; echo '* filter=a=b' > .gitattributes",
        STATUS,
    ),
    trap(
        "a git directory elsewhere",
        "git config filter.a=b.clean EVIL; mv .git ../elsewhere; echo 'gitdir: ../elsewhere' > .git; echo '* filter=a=b' > .gitattributes",
        STATUS,
    ),
    trap(
        "the user's own filter",
        "git config --global filter.a=b.clean EVIL; echo '* filter=a=b' > .gitattributes",
        STATUS,
    ),
    trap("a monitor", "git config core.fsmonitor EVIL", STATUS),
    trap("a monitor in other case", r"printf '[CORE]\nFSmonitor = EVIL\n' >> .git/config", STATUS),
    trap("a hook", "cp EVIL .git/hooks/post-index-change", STATUS),
    trap("a directory of hooks", "mkdir h; cp EVIL h/post-index-change; git config core.hooksPath h", STATUS),
    trap(
        "a submodule",
        "git init -q sub; git -C sub -c user.name=x -c user.email=x@x commit -q --allow-empty -m s; git add sub; \
         git -C sub config core.fsmonitor EVIL; git -C sub config filter.a=b.clean EVIL; touch sub/x",
        STATUS,
    ),
    trap(
        "signatures",
        "git config log.showSignature true; git config gpg.program EVIL; git config gpg.ssh.program EVIL; git config gpg.format ssh",
        None,
    ),
    trap(
        "pagers and differs",
        "git config core.pager EVIL; git config pager.status EVIL; git config pager.log EVIL; git config diff.external EVIL; \
         git config diff.a=b.textconv EVIL; git config diff.a=b.command EVIL; echo '* diff=a=b' > .gitattributes",
        Some("echo 2 > a.txt; git diff"),
    ),
    trap(
        "aliases",
        "git config alias.status '!EVIL'; git config alias.log '!EVIL'; git config alias.rev-list '!EVIL'",
        None,
    ),
    trap(
        "a promisor",
        "git config remote.x.promisor true; git config remote.x.url .; git config remote.x.uploadpack EVIL; \
         git config extensions.partialClone x; rm -f .git/objects/$(git rev-parse HEAD^{tree} | sed 's|^..|&/|')",
        Some("git ls-tree HEAD"),
    ),
    trap(
        "a promisor's address",
        "git config remote.x.promisor true; git config remote.x.url 'ext::EVIL'; git config protocol.ext.allow always; \
         git config core.sshCommand EVIL; rm -f .git/objects/$(git rev-parse HEAD^{tree} | sed 's|^..|&/|')",
        Some("git ls-tree HEAD"),
    ),
    trap(
        "programs for remotes",
        "git config remote.origin.url ssh://x/y; git config core.sshCommand EVIL; git config core.gitProxy EVIL; \
         git config credential.helper EVIL; git config remote.origin.vcs EVIL; git config remote.origin.receivepack EVIL; \
         git config core.alternateRefsCommand EVIL; git config core.askPass EVIL; git config fetch.bundleURI ext::EVIL",
        None,
    ),
    trap(
        "programs for merges and editors",
        "git config merge.a=b.driver EVIL; git config core.editor EVIL; git config sequence.editor EVIL; \
         git config trailer.x.command EVIL; git config status.submoduleSummary true; echo '* merge=a=b' > .gitattributes",
        None,
    ),
];

#[test]
fn nothing_that_a_repository_names_runs_for_a_question() {
    if !has_program("git") {
        return;
    }
    for trap in TRAPS {
        let repository = Repository::new();
        repository.write("a.txt", "1\n");
        repository.git(&["add", "--all"]);
        repository.git(&["commit", "-qm", "First"]);
        let (bin, ran) = (repository.temp.path().join("bin"), repository.temp.path().join("ran"));
        program(&bin, "evil", &format!("echo \"$0 $*\" >> {}\nexit 1", ran.display()));
        let script = trap.script.replace("EVIL", &bin.join("evil").display().to_string());
        sh(&repository, &script);
        let _ = std::fs::remove_file(&ran);
        // The file's time is new, so git has to read it.
        sh(&repository, "touch -d @1 a.txt");
        let before = snapshot(&repository);
        let git = repository.query();
        let work = work_of(&repository, WorkSettings::default());
        let mut caller = testkit::caller(&repository.root(), "ann");
        (caller.env, caller.run) = (repository.env(), Some("run".to_owned()));
        let said = runtime().block_on(async {
            let cx = Context::detached(Arc::new(caller.clone()));
            work.brief(&cx, &caller, Moment::Begin).await;
            call(&work, caller.clone(), "work_status", json!({"sections": ["git", "worktrees", "notes"]})).await
        });
        let marker = std::fs::read_to_string(&ran).unwrap_or_default();
        assert!(marker.is_empty(), "{}: {marker}", trap.name);
        assert_eq!(snapshot(&repository), before, "{}: nothing is written", trap.name);
        if !trap.name.contains("promisor") {
            let git = git.unwrap_or_else(|source| panic!("{}: {source:?}", trap.name));
            assert_eq!((git.branch.as_deref(), git.subject.as_deref()), (Some("main"), Some("First")), "{}", trap.name);
            assert_eq!(said.value["git"]["branch"], "main", "{}: {}", trap.name, said.text);
        }
        if let Some(springs) = trap.springs {
            sh(&repository, springs);
            assert!(ran.exists(), "{} is not a trap", trap.name);
        }
    }
}

fn sh(repository: &Repository, script: &str) {
    let mut command = std::process::Command::new("sh");
    command.args(["-c", script]).current_dir(repository.root()).env_clear().envs(repository.env());
    command.env("GIT_CONFIG_NOSYSTEM", "1").output().expect("a shell");
}

/// Returns the files of the git directories, with their contents.
fn snapshot(repository: &Repository) -> BTreeMap<String, Vec<u8>> {
    let mut all = BTreeMap::new();
    let mut waiting = vec![repository.root(), repository.temp.path().join("elsewhere")];
    while let Some(next) = waiting.pop() {
        for entry in std::fs::read_dir(&next).into_iter().flatten().flatten() {
            let path = entry.path();
            if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                waiting.push(path);
            } else {
                let bytes = std::fs::read(&path).unwrap_or_default();
                all.insert(show(&path), bytes);
            }
        }
    }
    all
}

fn show(path: &Path) -> String {
    path.display().to_string()
}
