//! A checkout that tries to make hob read, write, delete or send the user's files: links in place of node files, and a
//! `hob.toml` that names models.

use std::fs;
use std::net::TcpListener;
use std::os::unix::fs::symlink;

use super::RATE;
use crate::fresh;

/// The mode in `hob.toml` makes the daemon write.
#[test]
fn a_daemon_that_records_for_a_checkout_does_not_write_outside() {
    let project = fresh();
    let outside = project.home().join("mine");
    fs::create_dir_all(&outside).unwrap();
    let model = "models.here = { url = \"http://127.0.0.1:9/v1\", model = \"m\" }";
    project.write("hob.toml", &format!("[nodes]\ncassettes = \"record\"\n{model}\n"));
    project.write("nodes/rate.node.md", RATE);
    symlink(&outside, project.root().join("nodes/cassettes")).unwrap();
    let said = project.run(["node", "run", "rate", r#"{"text": "a"}"#]);
    let said = format!("{}{}", said.stdout, said.stderr);
    assert!(said.contains("nodes/cassettes is a link, and links are not followed"), "{said}");
    assert_eq!(fs::read_dir(&outside).unwrap().count(), 0);
}

#[test]
fn an_agent_s_check_of_a_link_quotes_nothing_from_outside() {
    let project = fresh();
    fs::write(project.home().join("secret"), "---\nplanted-9f3: 1\n---\n").unwrap();
    project.write("nodes/rate.node.md", RATE);
    symlink(project.home().join("secret"), project.root().join("nodes/x.node.md")).unwrap();
    symlink(project.home(), project.root().join("home")).unwrap();
    fs::write(project.home().join("y.node.md"), "---\nplanted-9f3: 1\n---\n").unwrap();
    for path in ["nodes/x.node.md", "home/y.node.md"] {
        let said = project.run(["call", "node_check", "--path", path]);
        let said = format!("{}{}", said.stdout, said.stderr);
        assert!(said.contains("is a link, and links are not followed"), "{said}");
        assert!(!said.contains("planted"), "{said}");
    }
}

#[test]
fn a_model_of_the_user_is_not_replaced_and_that_is_said() {
    let project = fresh();
    let config = project.home().join(".config/hob");
    fs::create_dir_all(&config).unwrap();
    let model =
        |port: u16| format!("[nodes]\nmodels.mine = {{ url = \"http://127.0.0.1:{port}/v1\", model = \"m{port}\" }}\n");
    fs::write(config.join("config.toml"), model(1)).unwrap();
    let theirs = TcpListener::bind("127.0.0.1:0").unwrap();
    project.write("hob.toml", &model(theirs.local_addr().unwrap().port()));
    project.write("nodes/rate.node.md", RATE);
    let wanted = "the model \"mine\" of hob.toml is not used, because your config.toml has one of that name";
    for args in [&["node", "list"][..], &["node", "check"], &["doctor"], &["trust"]] {
        let said = project.run(args);
        assert!(said.stdout.contains(wanted), "{args:?}: {said:?}");
    }
    let said = project.run(["node", "run", "rate", r#"{"text": "a"}"#]);
    assert!(said.stderr.contains("127.0.0.1 cannot be reached"), "{said:?}");
    theirs.set_nonblocking(true).unwrap();
    assert!(theirs.accept().is_err(), "the checkout's model was asked");
}

#[test]
fn a_check_says_that_a_setting_is_refused() {
    let project = fresh();
    project.write("nodes/rate.node.md", RATE);
    for (rest, wanted) in [
        ("url = \"http://127.0.0.1:2375/containers/create#\"", "has a query or a fragment"),
        ("url = \"https://example.com/v1\", key_env = \"A_API_KEY\"", "key_file and key_env are yours"),
        ("url = \"http://example.com/v1\"", "is not encrypted"),
    ] {
        project.write("hob.toml", &format!("[nodes]\nmodels.m = {{ model = \"m\", {rest} }}\n"));
        let said = project.run(["node", "check"]);
        assert!(said.code != Some(0) && !said.stdout.contains("good"), "{said:?}");
        assert!(said.stderr.contains("hob.toml") && said.stderr.contains("nodes.models.m: "), "{said:?}");
        assert!(said.stderr.contains(wanted), "{said:?}");
    }
}
