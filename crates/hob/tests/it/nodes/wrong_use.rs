//! Invalid node files: each error is one sentence with the fix.

use serde_json::json;
use testkit::{McpPeer, Ran, TestProject, until};

use super::RATE;
use crate::fresh;

fn check_says(ran: &Ran, words: &[&str]) {
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
    check_says(&run(&project, "rate"), &["unknown node \"rate\" in nodes/", "`hob node new NAME` writes one"]);
    project.write("nodes/rate.node.md", RATE);
    check_says(&run(&project, "rat"), &["unknown node \"rat\" in nodes/", "did you mean \"rate\"?"]);
    let misspelt = project.run(["node", "run", "rate", r#"{"txt": "It rained."}"#]);
    check_says(&misspelt, &["\"text\" is missing (keys there: txt)", "The node's input: {\"type\":\"object\""]);
}

#[test]
fn no_such_model() {
    let project = fresh();
    project.write("nodes/rate.node.md", &RATE.replace("input:", "model: large\ninput:"));
    let models = "[nodes]\nmodels.small = { url = \"http://127.0.0.1:9/v1\", model = \"m\" }\n";
    project.write("hob.toml", models);
    let way = "add [nodes.models.\"large\"] with url and model, and restart the daemon (`hob stop`)";
    check_says(&run(&project, "rate"), &["model large is not configured (configured: small)", way]);
    // It is told before anybody calls.
    let listed = project.run(["node", "list"]).ok();
    assert!(listed.contains("cannot run: model large is not configured (configured: small)"), "{listed}");
    project.run(["stop"]).ok();
    project
        .write("hob.toml", &format!("{models}models.other = {{ url = \"http://127.0.0.1:9/v1\", model = \"m\" }}\n"));
    project.write("nodes/rate.node.md", RATE);
    check_says(
        &run(&project, "rate"),
        &["there are several (other, small): set nodes.model, or `model` in the node's file"],
    );
}

#[test]
fn a_model_that_the_daemon_has_not_read_yet() {
    let project = fresh();
    project.write("nodes/rate.node.md", RATE);
    let notice =
        "hob.toml has changed since the daemon started: run `hob stop`; the next call starts one that reads it";
    let first = run(&project, "rate");
    assert!(!first.stderr.contains(notice), "{first:?}");
    project.write("hob.toml", "[nodes]\nmodels.small = { url = \"http://127.0.0.1:9/v1\", model = \"m\" }\n");
    // The start time is only known approximately, so the change is dated well after it, and then well before.
    let dated = |at| std::fs::File::open(project.root().join("hob.toml")).unwrap().set_modified(at).unwrap();
    let (now, minute) = (std::time::SystemTime::now(), std::time::Duration::from_secs(60));
    dated(now + minute);
    for ran in [run(&project, "rate"), project.run(["node", "list"])] {
        assert!(ran.code == Some(0) && ran.stderr.contains(notice), "{ran:?}");
    }
    let doctor = project.run(["doctor", "--quick"]);
    assert!(doctor.stdout.contains(notice), "{doctor:?}");
    project.run(["stop"]).ok();
    dated(now - minute);
    let listed = project.run(["node", "list"]);
    assert!(listed.stdout.contains("model small, on this machine") && !listed.stderr.contains(notice), "{listed:?}");
}

#[test]
fn two_files_of_one_name_and_an_illegal_one() {
    let project = fresh();
    project.write("nodes/rate.node.md", RATE);
    project.write("nodes/other.node.md", &RATE.replace("description", "name: rate\ndescription"));
    project.write("nodes/no name.node.md", RATE);
    let checked = project.run(["node", "check"]);
    check_says(
        &checked,
        &["nodes/other.node.md:2: `name` is \"rate\", but the file is named other.node.md; use the same name for both"],
    );
    check_says(&checked, &["nodes/no name.node.md: invalid node name; use 1 to 64 letters, digits, `_` and `-`"]);
    let mut peer = project.mcp(&[]);
    peer.initialize();
    assert_eq!(peer.call("rate", json!({"text": "a"})).structured["state"], "delegate");
    let status = peer.call("nodes_status", json!({"node": "other"}));
    assert!(status.text.contains("use the same name for both"), "{}", status.text);
}

#[test]
fn what_looks_like_a_node_file_and_is_none() {
    let project = fresh();
    project.write("elsewhere.md", RATE);
    project.write("nodes/rate.nodes.md", RATE);
    project.write("nodes/tone.md", "Be kind.");
    std::fs::create_dir(project.root().join("nodes/box.node.md")).unwrap();
    std::os::unix::fs::symlink("../elsewhere.md", project.root().join("nodes/far.node.md")).unwrap();
    let link = "nodes/far.node.md is a link, and links are not followed; replace it with the file";
    let directory = "nodes/box.node.md is a directory instead of a file; rename it";
    let misnamed = "nodes/rate.nodes.md is not a node file, because its name does not end with .node.md; if it should \
                    be one, rename it to rate.node.md";
    let checked = project.run(["node", "check"]);
    check_says(&checked, &[link, directory, misnamed, "2 of 2 node files are invalid"]);
    let listed = project.run(["node", "list"]).ok();
    for words in [link, directory, misnamed] {
        assert!(listed.contains(words), "{words}: {listed}");
    }
    assert!(!listed.contains("tone.md"), "what nodes include is not meant as one: {listed}");
    check_says(&project.run(["node", "check", "far", "rate"]), &[link, misnamed, "2 of 2 node files"]);
    check_says(&run(&project, "far"), &["unknown node \"far\": ", link]);
    check_says(&run(&project, "rate"), &["unknown node \"rate\": ", misnamed]);
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
    // A file whose name is only similar may serve another purpose, and does not count as a failure.
    std::fs::remove_dir(project.root().join("nodes/box.node.md")).unwrap();
    std::fs::remove_file(project.root().join("nodes/far.node.md")).unwrap();
    project.write("nodes/notes.node.txt", "not a prompt");
    let checked = project.run(["node", "check"]).ok();
    assert!(checked.contains("rename it to notes.node.md (a note)"), "{checked}");
}

#[test]
fn a_file_is_looked_for_where_the_shell_stands_and_named_once() {
    let project = fresh();
    project.write("hob.toml", "");
    project.write("nodes/rate.node.md", RATE);
    std::os::unix::fs::symlink("rate.node.md", project.root().join("nodes/far.node.md")).unwrap();
    let check = |directory: &str, file: &str| {
        let mut command = project.hob(["node", "check", file]);
        command.current_dir(project.root().join(directory));
        Ran::run(&mut command)
    };
    assert!(check("nodes", "rate.node.md").ok().contains("nodes/rate.node.md: good"));
    assert!(check("", "nodes/rate.node.md").ok().contains("nodes/rate.node.md: good"));
    check("nodes", "rate").ok();
    let link = check("nodes", "far.node.md");
    check_says(&link, &["nodes/far.node.md is a link"]);
    assert_eq!(link.stdout.matches("far.node.md").count(), 1, "{}", link.stdout);
    check_says(&check("", "rat"), &["unknown node \"rat\" in nodes/: did you mean \"rate\"?"]);
}

#[test]
fn a_name_that_is_none_is_no_advice() {
    let project = fresh();
    project.write("nodes/a\u{1b}[31m.node.md", RATE);
    project.write("nodes/.node.md", RATE);
    project.write("nodes/bad.node.md", "---\n\"k\\e[32m\": 1\ndescription: \"d\\e[33m\\u202e\"\n---\nx\n");
    let said = run(&project, "nosuch");
    assert!(said.stderr.contains("available: bad") && !said.stderr.contains('\u{1b}'), "{said:?}");
    let listed = project.run(["node", "list"]).ok();
    let shown = listed.contains("nodes/.node.md is a suffix without a name") && listed.contains(r"`k\x1b[32m`");
    assert!(shown && !listed.contains('\u{1b}'), "{listed}");
    // An invalid file does not prevent testing the others.
    project.write("nodes/rate.node.md", &RATE.replace("policy:", "tests: [ { input: { text: a } } ]\npolicy:"));
    let tested = project.run(["node", "test"]);
    check_says(&tested, &["rate:5: failed", "nodes/bad.node.md is invalid"]);
}

#[test]
fn a_model_that_is_named_and_not_there_is_no_other() {
    let project = fresh();
    project.write("nodes/rate.node.md", RATE);
    let on = |model: &str| {
        project.run(["call", "node_run", "--node", "rate", "--input", r#"{"text": "a"}"#, "--model", model])
    };
    check_says(
        &on("large"),
        &["model large is not configured (no models are configured): add [nodes.models.\"large\"]"],
    );
    assert!(on("delegate").ok().contains("node_submit"));
}

#[test]
fn what_would_fill_a_listing_is_called_through_node_run() {
    let project = fresh();
    let wide: String = (0..200).map(|field| format!(", f{field}?: string")).collect();
    for name in ["a", "b", "c", "d", "e", "f", "g", "h", "i"] {
        let node = RATE
            .replace("text: string }", &format!("text: string{wide} }}"))
            .replace("Rates a text.", &"d".repeat(2_500));
        project.write(&format!("nodes/{name}.node.md"), &node);
    }
    project.write("nodes/huge.node.md", &RATE.replace("Rates a text.", &"d".repeat(20_000)));
    project.write("nodes/rate.node.md", RATE);
    let mut peer = project.mcp(&["nodes"]);
    peer.initialize();
    // This call waits until every file is checked; a listing may not, on a busy machine.
    let status = peer.call("nodes_status", json!({})).text;
    let listed = peer.result("tools/list", json!({}));
    let names: Vec<&str> =
        listed["tools"].as_array().unwrap().iter().filter_map(|tool| tool["name"].as_str()).collect();
    assert!(listed.to_string().len() < 120_000, "{}", listed.to_string().len());
    assert!(names.contains(&"a") && names.contains(&"rate"), "{names:?}");
    assert!(!names.contains(&"i") && !names.contains(&"huge"), "{names:?}");
    assert!(status.len() < 20_000, "{}", status.len());
    assert!(status.contains("of 20000 bytes; nodes_status with `node` shows it"), "{status}");
    assert_eq!(status.matches("note: call it with node_run").count(), 2, "{status}");
    assert!(peer.call("nodes_status", json!({"node": "huge"})).text.len() > 20_000);
    let called = peer.call("node_run", json!({"node": "huge", "input": {"text": "a"}}));
    assert_eq!(called.structured["state"], "delegate");
}

#[test]
fn a_folder_that_is_none() {
    let project = fresh();
    project.write("nodes", "a file");
    let words = ["nodes/ is not a directory", "make it one, or set another in nodes.path"];
    check_says(&project.run(["node", "check"]), &words);
    check_says(&project.run(["node", "new", "rate"]), &words);
    check_says(&run(&project, "rate"), &words);
    let mut peer = project.mcp(&["nodes"]);
    peer.initialize();
    let status = peer.call("nodes_status", json!({})).text;
    assert!(words.iter().all(|word| status.contains(word)), "{status}");
    for path in ["../out", "/etc"] {
        project.write("hob.toml", &format!("[nodes]\npath = \"{path}\"\n"));
        check_says(
            &project.run(["node", "check"]),
            &["nodes.path", "is not a directory inside the project", "set a path relative to its root"],
        );
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
    check_says(
        &names(&of_file),
        &["the model \"paid\" cannot be used: its key_file ", "a file that only you can read (chmod 600)"],
    );
    std::fs::write(&file, "sk-1\n").unwrap();
    check_says(&names(&of_file), &["a file that only you can read (chmod 600)"]);
    check_says(
        &names("key_env = \"SOME_API_KEY\""),
        &["its key_env SOME_API_KEY is not set where the daemon was started"],
    );
    check_says(&names("key_env = \"TOKEN\""), &["key_env \"TOKEN\" does not reach the daemon", "end with _API_KEY"]);
    check_says(&names("key = \"sk-1\""), &["unknown field `key`"]);
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
    check_says(&submit(r#"{"reason": "r", "score": 9}"#), &["Rejected", "got 9", "one attempt is left"]);
    check_says(
        &submit(r#"{"reason": "r", "score": 9}"#),
        &["The value is the same as before and counts once", "one attempt"],
    );
    check_says(&submit(r#"{"reason": "r", "score": 8}"#), &["got 8", "That was the last attempt"]);
    let late = submit(r#"{"reason": "r", "score": 4}"#);
    check_says(&late, &["No attempts are left, so this value was not validated; call rate again for a new ticket."]);
    assert!(!late.stdout.contains("got 8"), "{}", late.stdout);
    check_says(&project.run(["call", "node_submit", "--ticket=a", "--value", "1"]), &["No node gave you this ticket"]);
}

#[test]
fn the_last_good_version_answers_a_shell_too() {
    let project = fresh();
    project.write("nodes/rate.node.md", RATE);
    run(&project, "rate").ok();
    project.write("nodes/rate.node.md", "---\ndescription: [\n---\nbroken\n");
    let before = run(&project, "rate");
    assert!(before.stderr.contains("nodes/rate.node.md is invalid:\n"), "{before:?}");
    assert!(before.stderr.contains("\nThis ran its last valid version."), "{before:?}");
    assert!(before.ok().contains("You rate texts."), "the version before");
    let list = project.run(["node", "list"]).ok();
    assert!(list.contains("the version before the last change is served, because nodes/rate.node.md"), "{list}");
    std::fs::remove_file(project.root().join("nodes/rate.node.md")).unwrap();
    check_says(&run(&project, "rate"), &["unknown node \"rate\""]);
    // A daemon that never read a valid version has no node to serve.
    project.run(["stop"]).ok();
    project.write("nodes/rate.node.md", "---\ndescription: [\n---\nbroken\n");
    check_says(&run(&project, "rate"), &["nodes/rate.node.md is invalid"]);
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
        Ran::run(&mut command).stdout
    };
    // Without a daemon, this shell's environment counts.
    let said = doctor(None);
    let lacks = "-- environment: the model \"paid\" of nodes: its key_env PLANTED_API_KEY is not set here, or contains no key; set it \
                 before you start a daemon from here";
    assert!(said.contains(lacks), "{said}");
    let said = doctor(Some("sk-1"));
    assert!(!said.contains("PLANTED_API_KEY"), "{said}");
    // A daemon has its own environment.
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
