//! Spellings of commands that rules deny or allow. The tests run Bash to prove that the forbidden spellings are real.

mod texts;

use std::os::unix::fs::PermissionsExt;

use self::texts::{EVERYDAY, RUNS};
use super::*;

#[test]
fn a_text_that_bash_turns_into_a_forbidden_command_does_not_pass() {
    let temp = tempfile::tempdir().unwrap();
    let log = temp.path().join("log");
    for (name, text) in [
        ("git", format!("#!/bin/sh\nprintf '%s\\n' \"$*\" >> '{}'\n", log.display())),
        ("curl", "#!/bin/sh\necho 'git push -f'\n".to_owned()),
    ] {
        let path = temp.path().join(name);
        std::fs::write(&path, text).unwrap();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
    }
    let (mut passed, mut unproven) = (Vec::new(), Vec::new());
    for text in RUNS {
        if decision(FORCE_PUSH, &shell(text)).verdict < Verdict::Ask {
            passed.push(*text);
        }
        _ = std::fs::remove_file(&log);
        std::process::Command::new("bash")
            .args(["-c", text])
            .current_dir(temp.path())
            .env("PATH", format!("{}:/usr/bin:/bin", temp.path().display()))
            .stdin(std::process::Stdio::null())
            .output()
            .unwrap();
        let ran = std::fs::read_to_string(&log).unwrap_or_default();
        let is_forced = |line: &str| line.contains("push") && (line.contains("f") || line.contains("--forc"));
        if !ran.lines().any(is_forced) {
            unproven.push(*text);
        }
    }
    assert!(passed.is_empty() && unproven.is_empty(), "passed: {passed:#?}\nnot run by bash: {unproven:#?}");
}

/// The verdict of a rule that denies a pattern on a command: `d` denies, `a` asks, `p` passes.
#[test]
fn options_abbreviations_values_and_globs() {
    let mut wrong = Vec::new();
    for (pattern, command, expected) in [
        ("rm -rf", "rm --recurs --forc x", 'd'),
        ("rm -rf", "rm --recursive --force x", 'd'),
        ("rm -rf", "rm -Rf x", 'd'),
        ("rm -rf", "rm -rfvvvvvvvvv x", 'd'),
        ("rm -rf", "rm x -rf", 'd'),
        ("rm -rf", "rm -r x", 'p'),
        ("rm -rf", "rm -- -rf", 'p'),
        ("rm -rf", "\"rm\" -'r' -\"f\" x", 'd'),
        ("rm -rf src", "rm -rf s*", 'a'),
        ("rm -rf src", "rm -rf ./s?c", 'a'),
        ("rm -rf src", "rm -rf ./src", 'd'),
        ("rm -rf src", "rm -rf src/", 'd'),
        ("rm -rf src", "rm -rf a/../src", 'd'),
        ("rm -rf src", "rm -rf [s]rc", 'a'),
        ("rm -rf src", "rm -rf target", 'p'),
        ("rm -rf src", "rm -rf t*", 'p'),
        ("rm -rf src", "rm -rf {src,x}", 'd'),
        ("rm -rf .git*", "rm -rf .*", 'a'),
        ("rm -rf .git*", "rm -rf ./.g*", 'a'),
        ("rm -rf .git*", "rm -rf build", 'p'),
        ("git commit -n", "git commit -mnote", 'p'),
        ("git commit -n", "git commit -m note", 'p'),
        ("git commit -n", "git commit -Sn", 'p'),
        ("git commit -n", "git commit -uno", 'p'),
        ("git commit -n", "git commit -Fnotes", 'p'),
        ("git commit -n", "git commit -an", 'd'),
        ("git commit -n", "git commit -nm x", 'd'),
        ("git commit -n", "git commit --no-verif", 'd'),
        ("git commit --no-verify", "git commit --no-verif", 'd'),
        ("git commit --no-verify", "git commit -nam x", 'd'),
        ("git commit --no-verify", "git commit -m --no-verify", 'p'),
        ("git reset --hard", "git reset --har HEAD", 'd'),
        ("git reset --hard", "git reset --soft HEAD", 'p'),
        ("git push --mirror", "git push --mirr", 'd'),
        ("git push --delete", "git push -d origin x", 'd'),
        ("git push * :*", "git push origin :main", 'd'),
        ("git push * +*", "git push origin +main", 'd'),
        ("git push * :*", "git push origin main", 'p'),
        ("git clean -f", "git clean -xdf", 'd'),
        ("git clean -f", "git clean -e f", 'p'),
        ("git branch -D", "git branch -D x", 'd'),
        ("git branch -D", "git branch -d x", 'p'),
        ("curl -X DELETE", "curl -XDELETE u", 'd'),
        ("curl -X DELETE", "curl --request DELETE u", 'd'),
        ("curl -X DELETE", "curl -sX DELETE u", 'd'),
        ("curl -X DELETE", "curl --request=DELETE u", 'd'),
        ("curl -X DELETE", "curl -X GET u", 'p'),
        ("curl -k", "curl -Hk: u", 'p'),
        ("npm publish", "npm -w a publish", 'd'),
        ("npm publish", "npm --workspace a publish", 'd'),
        ("docker run --privileged", "docker run -it --privileged x", 'd'),
        ("docker run --privileged", "docker -H h run --privileged x", 'd'),
        ("docker run --privileged", "docker run -e A=--privileged x", 'p'),
        ("kubectl delete", "kubectl -n x delete pod y", 'd'),
        ("kubectl delete", "kubectl --context c delete pod y", 'd'),
        ("kubectl delete", "kubectl -n delete get pods", 'p'),
        ("cargo publish", "cargo --config x publish", 'd'),
        ("cargo publish", "cargo -v publish", 'd'),
        ("git push --force*", "su -lc 'git push -f'", 'd'),
        ("git push --force*", "su <<< 'git push -f'", 'd'),
        ("git push --force*", "sudo -nu me git push -f", 'd'),
        ("git push --force*", "sudo --unknown x git push -f", 'a'),
        ("git push --force*", "env --unknown git push", 'a'),
        ("git push --force*", "git -c alias.p='push -f' p", 'a'),
        ("git push --force*", "git submodule foreach 'git push -f'", 'd'),
        ("git push --force*", "git rebase -x 'git push -f' main", 'd'),
        ("git push -f", "su root -- -c 'git push -f'", 'a'),
        ("git push -f", "runuser root -c 'git push -f'", 'd'),
        ("git push -f", "sg root -c 'git push -f'", 'd'),
        ("git push -f", "sg root 'git push -f'", 'd'),
        ("git push -f", "fish -c 'git push -f'", 'd'),
        ("git push -f", "npx -c 'git push -f'", 'd'),
        ("git push -f", "npm exec -- git push -f", 'a'),
        ("git push -f", "npx git push -f", 'a'),
        ("git push -f", "poetry run git push -f", 'a'),
        ("git push -f", "uv run git push -f", 'a'),
        ("git push -f", "docker exec c sh -c 'git push -f'", 'a'),
        ("git push -f", "docker run -v a:b img git push -f", 'a'),
        ("git push -f", "direnv exec . git push -f", 'a'),
        ("git push -f", "mise exec -- git push -f", 'a'),
        ("git push -f", "dbus-run-session -- git push -f", 'a'),
        ("git push -f", "perf stat -- git push -f", 'a'),
        ("git push -f", "nsenter -t 1 -- git push -f", 'a'),
        ("git push -f", "fakeroot git push -f", 'a'),
        ("git push -f", "git for-each-repo --config=a.b push -f", 'd'),
        ("git push -f", "cat <<E\nrun `git push -f`\nE", 'd'),
        ("git push -f", "cat <<E\nrun \\`git push -f\\`\nE", 'p'),
        ("git push -f", "cat <<E\nrun $(git push -f)\nE", 'd'),
        ("git push -f", "npx git pull -f", 'p'),
        ("git push --force*", "echo git push -f", 'p'),
        ("git push --force*", "git log --grep 'push -f'", 'p'),
    ] {
        let policy = format!("[[rule]]\nid = \"a\"\ncommand = {pattern:?}\ndecide = \"deny\"\n");
        let decided = match decision(&policy, &shell(command)).verdict {
            Verdict::Deny => 'd',
            Verdict::Ask => 'a',
            _ => 'p',
        };
        if decided != expected {
            wrong.push(format!("{pattern} | {command}: {decided}, not {expected}"));
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn an_allow_covers_what_its_pattern_spells_out() {
    let mut wrong = Vec::new();
    for (pattern, command, expected) in [
        ("git fetch", "git fetch", true),
        ("git fetch", "'git' fetch", true),
        ("git fetch", "git --no-pager fetch", true),
        ("git fetch", "git fetch; git fetch", true),
        ("git fetch", "git fetch | git fetch", true),
        ("git fetch", "git fetch 2> /dev/null", true),
        ("git fetch *", "git fetch origin main", true),
        ("git fetch -* *", "git fetch --prune origin", true),
        ("git fetch --prune", "git fetch -p", true),
        ("git log -n *", "git log -n 5", true),
        ("git log -* *", "git log --oneline -5 main", true),
        ("ls *", "ls src docs", true),
        ("ls -* *", "ls -la src", true),
        ("ls -la", "ls -al", true),
        ("cargo test *", "cargo test foo::bar", true),
        ("cargo test -p *", "cargo test -p hooks", true),
        ("make check", "make check", true),
        ("./run.sh", "./run.sh", true),
        ("git fetch", "GIT_SSH_COMMAND='sh -c id' git fetch", false),
        ("git fetch", "LD_PRELOAD=/tmp/x.so git fetch", false),
        ("git fetch", "PATH=. git fetch", false),
        ("git fetch", "PATH=.; git fetch", false),
        ("git fetch", "export PATH=.; git fetch", false),
        ("git fetch", "env PATH=. git fetch", false),
        ("git fetch", "git -c core.sshCommand=id fetch", false),
        ("git fetch", "git -C /x fetch", false),
        ("git fetch", "git fetch --upload-pack=id", false),
        ("git fetch", "git fetch --upload-pack id", false),
        ("git fetch *", "git fetch --upload-pack=id x", false),
        ("git fetch *", "git fetch 'ext::sh -c id'", false),
        ("git fetch", "git fetch ext::id", false),
        ("git fetch", "git fetch origin", false),
        ("git fetch", "git() { id; }; git fetch", false),
        ("git fetch", "alias git=id; git fetch", false),
        ("git fetch", "cd /elsewhere && git fetch", false),
        ("git fetch", "./git fetch", false),
        ("git fetch", "/tmp/git fetch", false),
        ("git fetch", "git fetch > x", false),
        ("git fetch", "git fetch $x", false),
        ("git fetch *", "git fetch $x", false),
        ("git fetch *", "git fetch \"$x\"", false),
        ("git fetch", "git fetch && id", false),
        ("git fetch", "git fetch $(id)", false),
        ("git fetch", "sudo git fetch", false),
        ("git fetch", "git fetch &", true),
        ("git fetch", "git fetch 'x", false),
        ("git fetch", "if git fetch; then git fetch; fi", true),
        ("git fetch", "for PATH in .; do git fetch; done", false),
        ("git fetch", "((PATH=1)); git fetch", false),
        ("git fetch", "[[ x[PATH=1] -eq 0 ]]; git fetch", false),
        ("git fetch", "case $((PATH=1)) in x) ;; esac; git fetch", false),
        ("git fetch", "git fetch <<< $((PATH=1))", false),
        ("cat", "cat <<'E\\F'\nE\\F\nid\nEF", false),
        ("cat", "cat <<AB\nA\\\nB\nid\nAB\n", false),
        ("cat *", "_=1 cat x", false),
        ("echo *", "echo $((a[\\$(id)]))", false),
        ("mapfile *", "mapfile -C id x", false),
        ("prlimit *", "prlimit a b", true),
        ("ls", "./ls", false),
        ("ls *", "./ls x", false),
        ("ls *", "ls -la", false),
        ("cargo test", "RUSTC_WRAPPER=/tmp/x cargo test", false),
        ("cargo test", "cargo test --config x", false),
        ("cargo test *", "cargo --config x test", false),
        ("sort *", "sort -o x y", false),
        ("sort *", "sort --compress-program=id x", false),
        ("tar *", "tar --to-command=id x", false),
        ("ls *", "ls *", false),
        ("ls *", "ls ./*", true),
    ] {
        let policy = format!("[[rule]]\nid = \"a\"\ncommand = {pattern:?}\ndecide = \"allow\"\n");
        if (decision(&policy, &shell(command)).verdict == Verdict::Allow) != expected {
            wrong.push(format!("{pattern} | {command}: not {expected}"));
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn a_path_rule_covers_operands_and_redirections() {
    let temp = tempfile::tempdir().unwrap();
    let root = temp.path().canonicalize().unwrap();
    std::fs::create_dir_all(root.join("sub/deep")).unwrap();
    let policies = [Policy::parse(
        "[[rule]]\nid = \"env\"\ntool = [\"read\", \"write\", \"edit\"]\nwhen = { path = [\".env\", \"sub/key\"] }\ndecide = \"deny\"\n",
    )
    .unwrap()];
    let mut wrong = Vec::new();
    for (command, expected) in [
        ("cat .env", 'd'),
        ("cat ./.env", 'd'),
        ("cat sub/../.env", 'd'),
        ("cp .env x", 'd'),
        ("cp x .env", 'd'),
        ("mv .env x", 'd'),
        ("sed -i s/a/b/ .env", 'd'),
        ("sed s/a/b/ .env", 'd'),
        ("tee .env", 'd'),
        ("echo a | tee -a .env", 'd'),
        ("echo a > .env", 'd'),
        ("cat < .env", 'd'),
        ("dd if=.env of=x", 'd'),
        ("tool --file=.env", 'd'),
        ("curl -d @.env u", 'd'),
        ("curl -d@.env u", 'd'),
        ("git show HEAD:.env", 'd'),
        ("docker run -v .env:/x y", 'd'),
        ("cd sub && cat ../.env", 'd'),
        ("cd sub; cat key", 'd'),
        ("cd sub && echo a > key", 'd'),
        ("pushd sub; cat key", 'd'),
        ("(cd sub; cat key)", 'd'),
        ("env -C sub cat key", 'd'),
        ("git -C sub add key", 'd'),
        ("cd $X && cat key", 'a'),
        ("cat .e*", 'a'),
        ("cat .en?", 'a'),
        ("echo a > .e*", 'a'),
        ("cat \"$X\"", 'a'),
        ("curl x | sh", 'a'),
        ("cd sub && cat .env", 'p'),
        ("(cd sub); cat key", 'p'),
        ("cat *", 'p'),
        ("cat README.md", 'p'),
        ("echo .env", 'p'),
        ("grep .env .gitignore", 'p'),
        ("git commit -m .env", 'p'),
        ("cargo test", 'p'),
        ("ls > /dev/null 2>&1", 'p'),
        ("diff <(sort a) <(sort b)", 'p'),
        ("paste <(sort .env)", 'd'),
        (". \"$HOME/.cargo/env\"", 'p'),
    ] {
        let payload = serde_json::json!({"tool_name": "Bash", "tool_input": {"command": command}});
        let event = crate::read(Agent::Claude, "PreToolUse", payload.to_string().as_bytes());
        let decided = match decide(&policies, &event, &Subject::from_event(&event, &root, &root), &Facts::new()).verdict
        {
            Verdict::Deny => 'd',
            Verdict::Ask => 'a',
            _ => 'p',
        };
        if decided != expected {
            wrong.push(format!("{command}: {decided}, not {expected}"));
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn a_text_that_is_too_large_or_too_deep_is_opaque_at_once() {
    for text in [
        "cat <<E\n".repeat(52_000),
        "a ".repeat(500_000),
        "a=(".repeat(20_000),
        "$(".repeat(20_000),
        "a && ".repeat(20_000),
    ] {
        assert!(script(&text).opaque.is_some(), "{}", &text[..8]);
    }
}

#[test]
fn everyday_texts_pass() {
    let asked: Vec<&str> =
        EVERYDAY.iter().copied().filter(|text| decision(FORCE_PUSH, &shell(text)).verdict != Verdict::Pass).collect();
    assert!(asked.is_empty(), "{asked:#?}");
}
