//! A project's mail stays where it is, whatever its origin and its daemon's environment: it can be read, or every call says
//! where it is. The tests of `crates/mail/tests/it/home.rs` cover each case without a daemon.

use serde_json::Value;
use testkit::{Postgres, Ran};

use super::git;
use crate::fresh;

fn says(said: &str, parts: &[&str]) {
    for part in parts {
        assert!(said.contains(part), "{part}: {said}");
    }
}

#[test]
fn a_daemon_without_the_address_says_where_the_mail_is() {
    let Some(database) = Postgres::start() else { return };
    let (url, project) = (database.url(), fresh());
    let with = Some(url.as_str());
    git(&project, &["init", "-q", "."]);
    git(&project, &["remote", "add", "origin", "git@example.org:team/tool.git"]);
    // The daemon gets the address from the environment of the command that starts it.
    let hob = |address: Option<&str>, args: &[&str]| {
        Ran::run(project.hob(args).envs(address.map(|address| ("HOB_MAIL_DATABASE", address))))
    };
    let stop = || drop(project.run(["stop"]).ok());
    let send = |address: Option<&str>, text: &str| {
        for name in ["ann", "bob"] {
            hob(address, &["quickstart", "--name", name, "--role", "dev"]).ok();
        }
        hob(address, &["send", text, "--to", "bob", "--as", "ann"]).ok();
    };
    // Checks bob's messages, read or not, with the next daemon.
    let has = |address: Option<&str>, text: &str| {
        stop();
        let shown = hob(address, &["inbox", "--all", "--json", "--as", "bob"]).ok();
        let shown: Value = serde_json::from_str(&shown).unwrap();
        let messages = shown["messages"].as_array().unwrap();
        assert!(messages.len() == 1 && messages[0]["content"] == text, "{text}: {shown}");
    };
    send(with, "in the database");
    let status = hob(with, &["status"]).ok();
    says(&status, &["mail: in postgres://hob@", "the clones of https://example.org/team/tool"]);
    git(&project, &["remote", "set-url", "origin", "git@example.org:team/renamed.git"]);
    has(with, "in the database");
    stop();
    // Without the address: every call reports where the mail is and what to do, including read-only calls.
    let place = "his project's mail is in postgres://hob@";
    for args in [&["inbox", "--as", "bob"][..], &["send", "x", "--to", "bob", "--as", "ann"]] {
        let said = hob(None, args);
        assert!(said.code == Some(4) && !said.stderr.contains("password="), "{said:?}");
        says(&said.stderr, &[place, "but its own file", "HOB_MAIL_DATABASE", "`hob mail switch`"]);
    }
    for args in [&["status"][..], &["doctor"], &["mail"]] {
        says(&hob(None, args).stdout, &[place]);
    }
    says(&hob(None, &["mail", "keep"]).stderr, &["HOB_MAIL_DATABASE"]);
    has(with, "in the database");

    // After a decision, under other names, and back again.
    stop();
    says(&hob(None, &["mail", "switch"]).ok(), &["From now on the mail is in its own file"]);
    send(None, "in the file");
    git(&project, &["remote", "set-url", "origin", "https://example.org/other/place"]);
    has(None, "in the file");
    says(&hob(None, &["status"]).ok(), &["in its own file"]);
    stop();
    says(&hob(with, &["inbox", "--as", "bob"]).stderr, &["mail.db (1 message, of which 1 is to be read)"]);
    says(&hob(with, &["mail", "keep"]).ok(), &["stays in its own file"]);
    has(with, "in the file");
    says(&hob(with, &["mail", "switch"]).ok(), &["From now on the mail is in postgres://", "`hob stop`"]);
}
