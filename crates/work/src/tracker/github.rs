//! Issues of GitHub, through `gh`.

use std::sync::Arc;

use parking_lot::Mutex;
use serde_json::Value;

use super::{Issue, Related};
use crate::gh::{Gh, Variable};
use crate::git::remote::Address;
use crate::network_cache::{Cache, Wish};
use crate::sources::{Source, State};

/// The fields of an issue that are requested.
pub(crate) const FRAGMENT: &str = "fragment issue on Issue {
  number title body state url createdAt updatedAt repository { nameWithOwner }
  author { login } assignees(first: 5) { nodes { login } } labels(first: 30) { nodes { name } }
}";

/// The parent and sub-issues, which older servers do not support.
const RELATIONS: &str = "
    parent { ...related } subIssues(first: 50) { nodes { ...related } }";
const RELATED: &str = "fragment related on Issue { number title state repository { nameWithOwner } labels(first: 30) { nodes { name } } }";

/// The cache of issues.
#[derive(Default)]
pub(crate) struct Issues {
    kept: Arc<Cache<Key, Option<Issue>>>,
    /// Servers that do not support parents and sub-issues.
    plain: Arc<Mutex<Vec<String>>>,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct Key {
    address: Address,
    number: u64,
    login: Vec<(String, String)>,
}

impl Issues {
    /// Returns an issue by number.
    pub(crate) async fn get(&self, address: &Address, number: u64, gh: &Gh, wish: Wish) -> (Option<Issue>, Source) {
        if let Some(source) = gh.refuses(&address.host) {
            return (None, source);
        }
        let key = Key { address: address.clone(), number, login: gh.login() };
        let plain = self.plain.clone();
        let ask = || ask(gh.clone(), address.clone(), number, plain);
        match self.kept.get(key, wish, ask).await {
            (Some(None), source) if source.state == State::Ok => {
                let detail = format!("{}/{} has no issue #{number}", address.owner, address.name);
                (None, Source { state: State::Absent, detail: Some(detail), ..source })
            }
            (found, source) => (found.flatten(), source),
        }
    }
}

async fn ask(gh: Gh, address: Address, number: u64, plain: Arc<Mutex<Vec<String>>>) -> Result<Option<Issue>, Source> {
    let variables = [
        ("owner", Variable::Text(&address.owner)),
        ("name", Variable::Text(&address.name)),
        ("number", Variable::Number(number)),
    ];
    let query = |relations: &str, related: &str| {
        format!(
            "query($owner: String!, $name: String!, $number: Int!) {{
  repository(owner: $owner, name: $name) {{
    issue(number: $number) {{ ...issue {relations} }}
    parent {{ issue(number: $number) {{ ...issue {relations} }} }}
  }}
}}
{FRAGMENT}
{related}"
        )
    };
    // A fork usually has no issues, so those of its parent are used.
    let read =
        |data: &Value| issue(&data["repository"]["issue"]).or_else(|| issue(&data["repository"]["parent"]["issue"]));
    if !plain.lock().contains(&address.host) {
        match gh.graphql(&address.host, &query(RELATIONS, RELATED), &variables).await {
            Ok(data) => return Ok(read(&data)),
            Err(source) if source.detail.as_deref().is_some_and(|detail| detail.contains("doesn't exist on type")) => {
                plain.lock().push(address.host.clone());
            }
            Err(source) => return Err(source),
        }
    }
    let data = gh.graphql(&address.host, &query("", ""), &variables).await?;
    Ok(read(&data))
}

/// Parses an issue; its id is `#12`.
pub(crate) fn issue(node: &Value) -> Option<Issue> {
    let text = |name: &str| node[name].as_str().map(str::to_owned);
    let assignees = names(node, "assignees", "login");
    let (labels, parent) = (names(node, "labels", "name"), &node["parent"]);
    let home = node["repository"]["nameWithOwner"].as_str();
    let parts = node["subIssues"]["nodes"].as_array().into_iter().flatten();
    Some(Issue {
        tracker: "github",
        id: format!("#{}", node["number"].as_u64()?),
        title: text("title")?,
        description: text("body").unwrap_or_default(),
        status: status(node),
        priority: labels.iter().find_map(|label| priority(label)),
        issue_type: kind(&labels),
        assignee: (!assignees.is_empty()).then(|| assignees.join(", ")),
        created_at: text("createdAt"),
        created_by: node["author"]["login"].as_str().map(str::to_owned),
        updated_at: text("updatedAt"),
        parent: related(parent, home).map(|parent| parent.id),
        dependencies: related(parent, home).into_iter().collect(),
        dependents: parts.filter_map(|part| related(part, home)).collect(),
        url: text("url"),
    })
}

fn related(node: &Value, home: Option<&str>) -> Option<Related> {
    let (number, labels) = (node["number"].as_u64()?, names(node, "labels", "name"));
    let elsewhere = node["repository"]["nameWithOwner"].as_str().filter(|name| Some(*name) != home).unwrap_or_default();
    Some(Related {
        id: format!("{elsewhere}#{number}"),
        title: node["title"].as_str().map(str::to_owned),
        status: Some(status(node)),
        priority: labels.iter().find_map(|label| priority(label)),
        issue_type: Some(kind(&labels)),
        dependency_type: "parent-child".to_owned(),
    })
}

fn names(node: &Value, list: &str, name: &str) -> Vec<String> {
    let nodes = node[list]["nodes"].as_array().into_iter().flatten();
    nodes.filter_map(|node| node[name].as_str().map(str::to_owned)).collect()
}

fn status(node: &Value) -> String {
    node["state"].as_str().unwrap_or("open").to_lowercase()
}

/// Parses the priority in a label: `P1`, `priority: 1`, `priority/p1`.
fn priority(label: &str) -> Option<u8> {
    let label = label.to_ascii_lowercase();
    let rest = label.strip_prefix("priority").map(|rest| rest.trim_start_matches([':', '/', '-', ' ']));
    let digit = match rest {
        Some(rest) => rest.strip_prefix('p').unwrap_or(rest),
        None => label.strip_prefix('p')?,
    };
    digit.parse().ok().filter(|priority| *priority <= 4)
}

/// Derives the issue type from the labels, in the terms of the other trackers.
fn kind(labels: &[String]) -> String {
    let known =
        [("bug", "bug"), ("epic", "epic"), ("enhancement", "feature"), ("feature", "feature"), ("chore", "chore")];
    let is =
        |name: &str| labels.iter().any(|label| label.to_ascii_lowercase().trim_start_matches("type:").trim() == name);
    known.iter().find(|(name, _)| is(name)).map_or("task", |(_, kind)| kind).to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels() {
        let table = ["P0", "priority: 1", "priority/p2", "Priority-3", "p", "p5", "parser", "priority"].map(priority);
        assert_eq!(table, [Some(0), Some(1), Some(2), Some(3), None, None, None, None]);
        let kinds = [&["ci", "Bug"][..], &["type: epic"], &["enhancement"], &[]];
        let kinds = kinds.map(|labels| kind(&labels.iter().map(|label| (*label).to_owned()).collect::<Vec<_>>()));
        assert_eq!(kinds, ["bug", "epic", "feature", "task"]);
    }
}
