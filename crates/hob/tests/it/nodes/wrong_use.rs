//! What is written wrongly: each is a sentence with the next step.

use serde_json::json;
use testkit::{McpPeer, Ran, TestProject, until};

use super::RATE;
use crate::fresh;

fn says(ran: &Ran, words: &[&str]) {
    let said = format!("{}{}", ran.stdout, ran.stderr);
    assert!(ran.code != Some(0), "{said}");
    for word in words {
        assert!(said.contains(word), "`{word}` is not in: {said}");
    }
}

fn run(project: &TestProject, name: &str) -> Ran {
    project.run(["node", "run", name, r#"{"text": "It rained."}"#])
}

#[test]
fn no_such_node_or_input() {
    let project = fresh();
    says(&run(&project, "rate"), &["there is no node \"rate\" in nodes/", "`hob node new NAME` writes one"]);
    project.write("nodes/rate.node.md", RATE);
    says(&run(&project, "rat"), &["there is no node \"rat\" in nodes/", "did you mean \"rate\"?"]);
    let misspelt = project.run(["node", "run", "rate", r#"{"txt": "It rained."}"#]);
    says(&misspelt, &["\"text\" is a required property (keys there: txt)", "The node's input: {\"type\":\"object\""]);
}

#[test]
fn no_such_model() {
    let project = fresh();
    project.write("nodes/rate.node.md", &RATE.replace("input:", "model: large\ninput:"));
    let models = "[nodes]\nmodels.small = { url = \"http://127.0.0.1:9/v1\", model = \"m\" }\n";
    project.write("hob.toml", models);
    let way = "add [nodes.models.\"large\"] with url and model, and restart the daemon (`hob stop`)";
    says(&run(&project, "rate"), &["no model large is configured (there are: small)", way]);
    // It is told before anybody calls.
    let listed = project.run(["node", "list"]).ok();
    assert!(listed.contains("no model large is configured"), "{listed}");
    project.run(["stop"]).ok();
    project
        .write("hob.toml", &format!("{models}models.other = {{ url = \"http://127.0.0.1:9/v1\", model = \"m\" }}\n"));
    project.write("nodes/rate.node.md", RATE);
    says(&run(&project, "rate"), &["there are several (other, small): set nodes.model, or `model` in the node's file"]);
}

#[test]
fn two_files_of_one_name_and_an_illegal_one() {
    let project = fresh();
    project.write("nodes/rate.node.md", RATE);
    project.write("nodes/other.node.md", &RATE.replace("description", "name: rate\ndescription"));
    project.write("nodes/no name.node.md", RATE);
    let checked = project.run(["node", "check"]);
    says(&checked, &["nodes/other.node.md:2: `name` is \"rate\", and the file other.node.md: name both alike"]);
    says(&checked, &["nodes/no name.node.md: the name of a node has 1 to 64 letters, digits, `_` and `-`"]);
    let mut peer = project.mcp(&[]);
    peer.initialize();
    assert_eq!(peer.call("rate", json!({"text": "a"})).structured["state"], "delegate");
    let status = peer.call("nodes_status", json!({"node": "other"}));
    assert!(status.text.contains("name both alike"), "{}", status.text);
}

#[test]
fn what_looks_like_a_node_file_and_is_none() {
    let project = fresh();
    project.write("elsewhere.md", RATE);
    project.write("nodes/rate.nodes.md", RATE);
    project.write("nodes/tone.md", "Be kind.");
    std::fs::create_dir(project.root().join("nodes/box.node.md")).unwrap();
    std::os::unix::fs::symlink("../elsewhere.md", project.root().join("nodes/far.node.md")).unwrap();
    let link = "nodes/far.node.md is a link, and links are not followed; put the file itself there";
    let directory = "nodes/box.node.md is a directory, and a node is a file; rename the directory";
    let misnamed = "nodes/rate.nodes.md is no node file, because its name does not end with .node.md; if it is meant as one, \
                    rename it to rate.node.md";
    let checked = project.run(["node", "check"]);
    says(&checked, &[link, directory, misnamed, "2 of 2 node files cannot be used"]);
    let listed = project.run(["node", "list"]).ok();
    for words in [link, directory, misnamed] {
        assert!(listed.contains(words), "{words}: {listed}");
    }
    assert!(!listed.contains("tone.md"), "what nodes include is not meant as one: {listed}");
    says(&run(&project, "far"), &["there is no node \"far\": ", link]);
    says(&run(&project, "rate"), &["there is no node \"rate\": ", misnamed]);
    // Who follows the files is told as they change.
    project.write("nodes/real.node.md", RATE);
    let mut peer = project.mcp(&["nodes"]);
    peer.initialize();
    assert!(peer.call("nodes_status", json!({})).text.contains(misnamed));
    assert_eq!(peer.call("nodes_status", json!({"node": "real"})).structured.get("passed_over"), None);
    std::fs::rename(project.root().join("nodes/rate.nodes.md"), project.root().join("nodes/rate.node.md")).unwrap();
    until("it is a node", || {
        let status = peer.call("nodes_status", json!({})).text;
        (status.contains("rate: Rates a text.") && !status.contains(misnamed)).then_some(())
    });
    // A name that is only nearly one may be meant for something else, and fails nothing.
    std::fs::remove_dir(project.root().join("nodes/box.node.md")).unwrap();
    std::fs::remove_file(project.root().join("nodes/far.node.md")).unwrap();
    project.write("nodes/notes.node.txt", "not a prompt");
    let checked = project.run(["node", "check"]).ok();
    assert!(checked.contains("rename it to notes.node.md (a note)"), "{checked}");
}

#[test]
fn a_folder_that_is_none() {
    let project = fresh();
    project.write("nodes", "a file");
    let words = ["nodes/ is no directory", "make it one, or name another in nodes.path"];
    says(&project.run(["node", "check"]), &words);
    says(&project.run(["node", "new", "rate"]), &words);
    says(&run(&project, "rate"), &words);
    let mut peer = project.mcp(&["nodes"]);
    peer.initialize();
    let status = peer.call("nodes_status", json!({})).text;
    assert!(words.iter().all(|word| status.contains(word)), "{status}");
    for (path, why) in
        [("../out", "is no directory inside of the project"), ("/etc", "is no directory inside of the project")]
    {
        project.write("hob.toml", &format!("[nodes]\npath = \"{path}\"\n"));
        says(&project.run(["node", "check"]), &["nodes.path", why, "name one relative to its root"]);
    }
}

#[test]
fn a_key_that_does_not_work() {
    let project = fresh();
    project.write("nodes/rate.node.md", RATE);
    let config = project.home().join(".config/hob");
    std::fs::create_dir_all(&config).unwrap();
    let names = |more: &str| {
        let model = format!("[nodes]\nmodels.paid = {{ url = \"http://127.0.0.1:9/v1\", model = \"m\", {more} }}\n");
        std::fs::write(config.join("config.toml"), model).unwrap();
        project.run(["stop"]);
        run(&project, "rate")
    };
    let file = project.home().join("key");
    let of_file = format!("key_file = \"{}\"", file.display());
    says(
        &names(&of_file),
        &["the model \"paid\" cannot be used: its key_file ", "a file that only you can read (chmod 600)"],
    );
    std::fs::write(&file, "sk-1\n").unwrap();
    says(&names(&of_file), &["a file that only you can read (chmod 600)"]);
    says(&names("key_env = \"SOME_API_KEY\""), &["its key_env SOME_API_KEY is not set where the daemon was started"]);
    says(&names("key_env = \"TOKEN\""), &["key_env \"TOKEN\" does not reach the daemon", "end with _API_KEY"]);
    says(&names("key = \"sk-1\""), &["unknown field `key`"]);
}

#[test]
fn a_shell_hears_of_a_value_that_is_not_taken() {
    let project = fresh();
    project.write("nodes/rate.node.md", RATE);
    assert_eq!(project.run(["node", "check", "rate"]).code, Some(0), "by its name, as `run` and `test` take it");
    let ran = project.run(["node", "run", "rate", r#"{"text": "a"}"#, "--json"]).ok();
    let ran: serde_json::Value = serde_json::from_str(&ran).unwrap();
    let ticket = format!("--ticket={}", ran["delegate"]["ticket"].as_str().unwrap());
    let submit = |value: &str| project.run(["call", "node_submit", &ticket, "--value", value]);
    says(&submit(r#"{"reason": "r", "score": 9}"#), &["Rejected", "got 9", "one attempt is left"]);
    says(
        &submit(r#"{"reason": "r", "score": 9}"#),
        &["It is the same value as before, and counts once", "one attempt"],
    );
    says(&submit(r#"{"reason": "r", "score": 8}"#), &["got 8", "That was the last attempt"]);
    let late = submit(r#"{"reason": "r", "score": 4}"#);
    says(&late, &["No attempts are left, so this value was not looked at; call rate again for a new ticket."]);
    assert!(!late.stdout.contains("got 8"), "{}", late.stdout);
    says(&project.run(["call", "node_submit", "--ticket=a", "--value", "1"]), &["This is no ticket"]);
}

#[test]
fn the_last_good_version_answers_a_shell_too() {
    let project = fresh();
    project.write("nodes/rate.node.md", RATE);
    run(&project, "rate").ok();
    project.write("nodes/rate.node.md", "---\ndescription: [\n---\nbroken\n");
    assert!(run(&project, "rate").ok().contains("You rate texts."), "the version before");
    assert!(project.run(["node", "list"]).ok().contains("nodes/rate.node.md"), "what is wrong is said there");
    std::fs::remove_file(project.root().join("nodes/rate.node.md")).unwrap();
    says(&run(&project, "rate"), &["there is no node \"rate\""]);
    // A daemon that never had a good one has none.
    project.run(["stop"]).ok();
    project.write("nodes/rate.node.md", "---\ndescription: [\n---\nbroken\n");
    says(&run(&project, "rate"), &["nodes/rate.node.md is invalid"]);
}

#[test]
fn doctor_says_what_the_daemon_has_of_keys() {
    let project = fresh();
    let config = project.home().join(".config/hob");
    std::fs::create_dir_all(&config).unwrap();
    let model = "models.paid = { url = \"http://127.0.0.1:9/v1\", model = \"m\", key_env = \"PLANTED_API_KEY\" }";
    std::fs::write(config.join("config.toml"), format!("[nodes]\n{model}\n")).unwrap();
    let doctor = |key: Option<&str>| {
        let mut command = project.hob(["doctor", "--quick"]);
        if let Some(key) = key {
            command.env("PLANTED_API_KEY", key);
        }
        Ran::of(&mut command).stdout
    };
    // Without a daemon, this shell counts.
    let said = doctor(None);
    let lacks = "-- environment: the model \"paid\" of nodes: its key_env PLANTED_API_KEY is not set here, or holds no key; set it \
                 before a daemon is started from here";
    assert!(said.contains(lacks), "{said}");
    let said = doctor(Some("sk-1"));
    assert!(!said.contains("PLANTED_API_KEY"), "{said}");
    // A daemon has its own.
    let mut command = project.hob(["mcp"]);
    command.env("PLANTED_API_KEY", "sk-1");
    let mut peer = McpPeer::spawn(command);
    peer.initialize();
    let said = doctor(None);
    assert!(!said.contains("PLANTED_API_KEY"), "{said}");
    drop(peer);
    project.run(["stop"]).ok();
    project.run(["node", "list"]).ok();
    let said = doctor(Some("sk-1"));
    let lacks = "!! environment: the model \"paid\" of nodes: its key_env PLANTED_API_KEY is not set where the daemon was started";
    assert!(said.contains(lacks) && said.contains("`hob stop`"), "{said}");
}
