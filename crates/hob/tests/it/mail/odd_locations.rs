//! A project may have any name and location, and its daemon any environment: delivered mail is readable, or every call says
//! where it is.

use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::{Value, json};
use testkit::{Postgres, Ran, TestProject};

use super::Team;
use crate::fresh;

/// Returns the output of `hob inbox`, including read messages.
fn all(ran: &Ran) -> Vec<String> {
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let shown: Value = serde_json::from_str(&ran.stdout).unwrap();
    let messages = shown["messages"].as_array().unwrap();
    messages.iter().map(|message| message["content"].as_str().unwrap().to_owned()).collect()
}

fn inbox(team: &Team, name: &str) -> Vec<String> {
    all(&Ran::run(&mut team.command(name, &["inbox", "--all", "--json"])))
}

#[test]
fn a_project_that_is_called_something_else_has_its_mail() {
    let team = Team::new();
    team.hob("planner", &["send", "0", "--to", "reviewer"]);
    let mut sent = vec!["0".to_owned()];
    let user = team.project.home().join(".config/hob/config.toml");
    let names: [(&str, &dyn Fn()); 5] = [
        ("a first origin", &|| team.git(&["remote", "add", "origin", "git@example.org:team/tool.git"])),
        ("another origin", &|| team.git(&["remote", "set-url", "origin", "https://example.org/other/place"])),
        ("a name", &|| {
            std::fs::create_dir_all(user.parent().unwrap()).unwrap();
            std::fs::write(&user, "[mail]\nspace = \"team\"\n").unwrap();
        }),
        ("another name", &|| std::fs::write(&user, "[mail]\nspace = \"others\"\n").unwrap()),
        ("no name and no origin", &|| {
            std::fs::remove_file(&user).unwrap();
            team.git(&["remote", "remove", "origin"]);
        }),
    ];
    for (what, change) in names {
        team.hob("planner", &["stop"]);
        change();
        assert_eq!(inbox(&team, "reviewer"), sent, "{what}");
        let text = sent.len().to_string();
        team.hob("planner", &["send", &text, "--to", "reviewer"]);
        sent.push(text);
        assert!(team.hob("planner", &["status"]).contains("in its own file"), "{what}");
    }
    let shown = team.hob("reviewer", &["inbox"]);
    assert!(sent.iter().all(|text| shown.contains(&format!("| {text}"))), "{shown}");
}

/// A directory that is renamed temporarily.
struct Moved<'a> {
    project: &'a TestProject,
    to: PathBuf,
}

impl Moved<'_> {
    fn hob(&self, args: &[&str]) -> Command {
        let mut command = self.project.hob(args);
        command.current_dir(&self.to);
        command
    }
}

impl Drop for Moved<'_> {
    fn drop(&mut self) {
        let _ = self.hob(&["stop"]).output();
        std::fs::rename(&self.to, self.project.root()).unwrap();
    }
}

#[test]
fn a_directory_that_was_renamed_has_its_names_and_its_mail() {
    let database = Postgres::start();
    for address in [None, database.as_ref().map(Postgres::url)] {
        let project = fresh();
        if let Some(address) = &address {
            project.write(".hob/mail-database", address);
            assert!(project.command("chmod").args(["600", ".hob/mail-database"]).status().unwrap().success());
        }
        assert!(project.command("git").args(["init", "-q", "."]).status().unwrap().success());
        project.run(["quickstart", "--name", "solo", "--role", "dev"]).ok();
        project.run(["quickstart", "--name", "other", "--role", "dev"]).ok();
        project.run(["send", "before", "--to", "other", "--as", "solo"]).ok();
        project.run(["stop"]).ok();
        let moved = Moved { project: &project, to: project.top().join("moved") };
        std::fs::rename(project.root(), &moved.to).unwrap();
        let said = Ran::run(&mut moved.hob(&["inbox", "--all", "--json", "--as", "other"]));
        assert_eq!(all(&said), ["before"], "{address:?}");
        Ran::run(&mut moved.hob(&["send", "after", "--to", "other", "--as", "solo"])).ok();
        let shown = Ran::run(&mut moved.hob(&["inbox", "--as", "other"])).ok();
        assert!(shown.contains("| before") && shown.contains("| after"), "{shown}");
        let agents = Ran::run(&mut moved.hob(&["agents", "--as", "other"])).ok();
        assert!(agents.contains("solo") && agents.contains("other"), "{agents}");
    }
}

/// A clone whose daemon gets a database address from its environment.
struct Clone_(TestProject);

impl Clone_ {
    fn new(origin: &str) -> Clone_ {
        let project = fresh();
        for args in [&["init", "-q", "."][..], &["remote", "add", "origin", origin]] {
            assert!(project.command("git").args(args).status().unwrap().success());
        }
        Clone_(project)
    }

    fn hob(&self, address: Option<&str>, args: &[&str]) -> Ran {
        let mut command = self.0.hob(args);
        command.envs(address.map(|address| ("HOB_MAIL_DATABASE", address)));
        Ran::run(&mut command)
    }

    fn set_origin(&self, origin: &str) {
        self.0.run(["stop"]).ok();
        assert!(self.0.command("git").args(["remote", "set-url", "origin", origin]).status().unwrap().success());
    }
}

#[test]
fn a_daemon_without_the_address_says_where_the_mail_is() {
    let Some(database) = Postgres::start() else { return };
    let (url, here) = (database.url(), Clone_::new("git@example.org:team/tool.git"));
    let with = Some(url.as_str());
    for name in ["ann", "bob"] {
        here.hob(with, &["quickstart", "--name", name, "--role", "dev"]).ok();
    }
    here.hob(with, &["send", "in the database", "--to", "bob", "--as", "ann"]).ok();
    let status = here.hob(with, &["status"]).ok();
    assert!(
        status.contains("mail: in postgres://hob@") && status.contains("the clones of https://example.org/team/tool"),
        "{status}"
    );
    here.0.run(["stop"]).ok();
    // Without the address: every call reports where the mail is and what to do, including read-only calls.
    for args in
        [&["inbox", "--as", "bob"][..], &["send", "x", "--to", "bob", "--as", "ann"], &["agents", "--as", "ann"]]
    {
        let said = here.hob(None, args);
        assert_eq!(said.code, Some(4), "{said:?}");
        for part in
            ["his project's mail is in postgres://hob@", "but its own file", "HOB_MAIL_DATABASE", "`hob mail switch`"]
        {
            assert!(said.stderr.contains(part), "{part}: {}", said.stderr);
        }
        assert!(!said.stderr.contains("password="), "{}", said.stderr);
    }
    for args in [&["status"][..], &["doctor"], &["mail"]] {
        let said = here.hob(None, args);
        assert!(said.stdout.contains("his project's mail is in postgres://hob@"), "{args:?}: {said:?}");
    }
    assert!(here.hob(None, &["mail", "keep"]).stderr.contains("HOB_MAIL_DATABASE"));
    here.0.run(["stop"]).ok();
    assert_eq!(all(&here.hob(with, &["inbox", "--all", "--json", "--as", "bob"])), ["in the database"]);
    // After a decision, and back again.
    here.0.run(["stop"]).ok();
    let said = here.hob(None, &["mail", "switch"]).ok();
    assert!(said.contains("From now on the mail is in its own file"), "{said}");
    here.hob(None, &["send", "in the file", "--to", "bob", "--as", "ann"]);
    here.hob(None, &["quickstart", "--name", "bob", "--role", "dev"]).ok();
    here.hob(None, &["send", "in the file", "--to", "bob", "--as", "ann"]).ok();
    here.0.run(["stop"]).ok();
    let said = here.hob(with, &["inbox", "--as", "bob"]);
    assert!(said.stderr.contains("mail.db (1 message, of which 1 is to be read)"), "{said:?}");
    assert!(here.hob(with, &["mail", "keep"]).ok().contains("stays in its own file"));
    assert_eq!(all(&here.hob(with, &["inbox", "--all", "--json", "--as", "bob"])), ["in the file"]);
    let said = here.hob(with, &["mail", "switch"]).ok();
    assert!(said.contains("From now on the mail is in postgres://") && said.contains("`hob stop`"), "{said}");
    here.0.run(["stop"]).ok();
    assert_eq!(all(&here.hob(with, &["inbox", "--all", "--json", "--as", "bob"])), ["in the database"]);
}

#[test]
fn another_origin_takes_the_mail_along_unless_others_are_there() {
    let Some(database) = Postgres::start() else { return };
    let url = database.url();
    let with = Some(url.as_str());
    let (here, there) = (Clone_::new("git@example.org:team/tool.git"), Clone_::new("git@example.org:team/tool.git"));
    for name in ["ann", "bob"] {
        here.hob(with, &["quickstart", "--name", name, "--role", "dev"]).ok();
    }
    here.hob(with, &["send", "first", "--to", "bob", "--as", "ann"]).ok();
    here.set_origin("git@example.org:team/renamed.git");
    let read = || here.hob(with, &["inbox", "--all", "--json", "--as", "bob"]);
    assert_eq!(all(&read()), ["first"]);
    // Another clone was switched too; the next name would leave it behind.
    there.set_origin("https://example.org/team/renamed");
    there.hob(with, &["quickstart", "--name", "cat", "--role", "dev"]).ok();
    there.hob(with, &["send", "second", "--to", "bob", "--as", "cat"]).ok();
    assert_eq!(all(&read()), ["first", "second"]);
    here.set_origin("git@example.org:team/third.git");
    let said = here.hob(with, &["inbox", "--as", "bob"]);
    assert_eq!(said.code, Some(4), "{said:?}");
    for part in [
        "the clones of https://example.org/team/renamed",
        "the clones of https://example.org/team/third",
        "(cat)",
        "2 messages wait there",
        "`hob mail keep`",
    ] {
        assert!(said.stderr.contains(part), "{part}: {}", said.stderr);
    }
    assert!(here.hob(with, &["status"]).ok().contains("It cannot be moved"));
    here.hob(with, &["mail", "keep"]).ok();
    assert_eq!(all(&read()), ["first", "second"]);
    there.hob(with, &["send", "third", "--to", "bob", "--as", "cat"]).ok();
    assert_eq!(all(&read()), ["first", "second", "third"]);
    let shown: Value = serde_json::from_str(&here.hob(with, &["mail", "--json"]).ok()).unwrap();
    assert_eq!((&shown["open"], shown["problem"].is_null()), (&json!(true), true), "{shown}");
    assert!(shown["remark"].as_str().unwrap().contains("kept there"), "{shown}");
}

#[test]
fn a_name_that_means_another_repository_is_no_way_into_its_mail() {
    let Some(database) = Postgres::start() else { return };
    let url = database.url();
    let with = Some(url.as_str());
    let (here, thief) = (Clone_::new("git@example.org:team/tool.git"), Clone_::new("git@example.org:some/body.git"));
    here.hob(with, &["quickstart", "--name", "ann", "--role", "dev"]).ok();
    let place: Value = serde_json::from_str(&here.hob(with, &["mail", "--json"]).ok()).unwrap();
    let space = place["place"].as_str().unwrap().rsplit_once('(').unwrap().1.trim_end_matches(')').to_owned();
    assert!(space.starts_with("r_"), "{place}");
    // An agent that may choose a name, and knows the other project's internal name.
    let user = thief.0.home().join(".config/hob/config.toml");
    std::fs::create_dir_all(Path::new(&user).parent().unwrap()).unwrap();
    std::fs::write(&user, format!("[mail]\nspace = {space:?}\n")).unwrap();
    thief.hob(with, &["quickstart", "--name", "eve", "--role", "dev"]).ok();
    let agents = thief.hob(with, &["agents"]).ok();
    assert!(agents.contains("eve") && !agents.contains("ann"), "{agents}");
}
