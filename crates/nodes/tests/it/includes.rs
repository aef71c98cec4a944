//! Includes of a node's body: only files in the folder of node files. They are part of the node's version.

use std::os::unix::fs::symlink;
use std::path::Path;

use nodes::delegate::{Delegation, Submitted};
use nodes::folder::Folder;
use nodes::{ModelSettings, Models, NodesSettings};
use serde_json::{Map, Value, json};

use crate::endpoint::{Endpoint, text_reply};
use crate::reloads::{follow, until};

const NODE: &str = "---\ndescription: Rates.\ninput: { schema: { text: string } }\noutput: { schema: { score: integer 1..5 } }\n---\n\
    {% block system %}{% include \"tone.md\" %}{% endblock %}\n{% block user %}{{ text }}{% endblock %}\n";

fn write(root: &Path, name: &str, text: &str) {
    std::fs::create_dir_all(root.join("nodes")).unwrap();
    std::fs::write(root.join("nodes").join(name), text).unwrap();
}

fn input() -> Map<String, Value> {
    Map::from_iter([("text".to_owned(), "fine".into())])
}

#[tokio::test]
async fn a_text_that_several_nodes_share_is_written_once() {
    let place = tempfile::tempdir().unwrap();
    write(place.path(), "rate.node.md", NODE);
    write(place.path(), "tone.md", "Be kind to {{ text }}. {% include 'end.md' %}");
    write(place.path(), "end.md", "Be short.");
    let node = Folder::new(place.path(), "nodes").node("rate").unwrap();
    assert!(node.lints.is_empty(), "{:?}", node.lints);
    let endpoint = Endpoint::start(vec![text_reply(r#"{"score":3}"#, "stop")]);
    let models = [("m".to_owned(), ModelSettings::at(&endpoint.url, "m"))].into();
    let models = Models::new(&NodesSettings { models, ..NodesSettings::default() });
    nodes::run(&node, input(), &models).await.unwrap();
    let asked = endpoint.requests();
    let said = asked[0]["messages"][0]["content"].as_str().unwrap();
    assert!(said.starts_with("Be kind to fine. Be short.\n\n"), "{said}");
}

#[tokio::test]
async fn an_edit_of_what_is_included_is_a_new_version() {
    let place = tempfile::tempdir().unwrap();
    write(place.path(), "rate.node.md", NODE);
    write(place.path(), "tone.md", "Be kind.");
    let worktree = follow(place.path()).await;
    let hash = |served: &nodes::registry::Served| served.entries["rate"].node.as_ref().unwrap().hash.clone();
    let (first, began) = (hash(&worktree.served()), worktree.served().entries["rate"].node.clone().unwrap());
    // A delegated call ends with the version that it began with.
    let calls = Delegation::new(Some([7; 32]), place.path().join("state"));
    let asked = calls.begin(&began, input(), "me").unwrap();
    assert_eq!(asked.messages[0].text, "Be kind.");
    write(place.path(), "tone.md", "Be strict.");
    until(&worktree, "edited", |served| hash(served) != first).await;
    let second = hash(&worktree.served());
    // A missing file leaves the last good version in place, with the reason.
    std::fs::remove_file(place.path().join("nodes/tone.md")).unwrap();
    until(&worktree, "gone", |served| served.entries["rate"].error.is_some()).await;
    assert_eq!(hash(&worktree.served()), second);
    let error = worktree.served().entries["rate"].error.clone().unwrap();
    assert!(error.contains("nodes/rate.node.md:6: it includes tone.md: nodes/tone.md does not exist"), "{error}");
    write(place.path(), "tone.md", "Be kind.");
    until(&worktree, "back", |served| served.entries["rate"].error.is_none()).await;
    assert_eq!(hash(&worktree.served()), first);
    let submitted = calls.submit(&asked.ticket, json!({"score": 3}), "me").unwrap();
    assert!(matches!(submitted, Submitted::Accepted { node_hash, .. } if node_hash == first));
}

#[test]
fn nothing_else_is_included() {
    let place = tempfile::tempdir().unwrap();
    std::fs::write(place.path().join("secret.md"), "secret").unwrap();
    write(place.path(), "rate.node.md", NODE);
    let said = || Folder::new(place.path(), "nodes").node("rate").unwrap_err().to_string();
    symlink(place.path().join("secret.md"), place.path().join("nodes/tone.md")).unwrap();
    assert!(
        said().contains("rate.node.md:6: it includes tone.md: it is a link, and links are not followed"),
        "{}",
        said()
    );
    std::fs::remove_file(place.path().join("nodes/tone.md")).unwrap();
    for (text, wanted) in [
        ("{% include 'tone.md' %}", "tone.md includes itself"),
        ("{% include '../secret.md' %}", "tone.md:1: `include '../secret.md'`: a body includes files NAME.md"),
        ("one\n{% block user %}x{% endblock %}", "tone.md:1: an included text cannot have blocks"),
        ("one\n{{ txt }}", "the template reads `txt`, which is not an input; did you mean `text`?"),
        ("one\n{{ text | nothing }}", "rate.node.md:6: tone.md:2: the template: unknown filter `nothing`"),
        ("one\n{{ text", "tone.md:2: the template: syntax error"),
    ] {
        write(place.path(), "tone.md", text);
        assert!(said().contains(wanted), "{text}: {}", said());
    }
    for name in ["../secret.md", "/etc/passwd", "sub/tone.md", ".hidden.md", "rate.node.md"] {
        write(place.path(), "rate.node.md", &NODE.replace("tone.md", name));
        let said = said();
        assert!(said.contains("a body includes files NAME.md from the folder of the node files"), "{said}");
        assert!(!said.contains("secret\n"), "{said}");
    }
    // Too many files.
    let many: String = (0..30).map(|number| format!("{{% include 'p{number}.md' %}}")).collect();
    (0..30).for_each(|number| write(place.path(), &format!("p{number}.md"), "x"));
    write(place.path(), "tone.md", &many);
    write(place.path(), "rate.node.md", NODE);
    assert!(said().contains("a node includes at most 20 files"), "{}", said());
}
