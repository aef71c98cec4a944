//! The GraphQL query for pull requests, and the parser of its answer.

use serde_json::Value;

use super::{Checks, Mergeable, Other, Pull, PullState, Review};
use crate::tracker::github;

/// The number of pull requests per page.
pub(super) const PAGE: usize = 20;
/// The limit of the list of failing checks.
const FAILING: usize = 20;

/// Builds the query: pull requests of a head branch, or one by number, in a repository and its parent.
pub(super) fn text() -> String {
    let repository = "
    nameWithOwner
    pullRequests(headRefName: $head, first: PAGE, after: $AFTER, orderBy: {field: CREATED_AT, direction: DESC}) @skip(if: $byNumber) {
      totalCount pageInfo { hasNextPage endCursor } nodes { ...pull }
    }
    pullRequest(number: $number) @include(if: $byNumber) { ...pull }";
    let repository = repository.replace("PAGE", &PAGE.to_string());
    let (own, parent) = (repository.replace("AFTER", "after"), repository.replace("AFTER", "afterInParent"));
    format!(
        "query($owner: String!, $name: String!, $head: String!, $after: String, $afterInParent: String, $number: Int!, $byNumber: Boolean!) {{
  repository(owner: $owner, name: $name) {{{own}
    parent {{{parent}
    }}
  }}
}}
fragment pull on PullRequest {{
  number title url state isDraft baseRefName headRefName headRepository {{ nameWithOwner }}
  reviewDecision mergeable updatedAt
  latestOpinionatedReviews(first: 50) {{ nodes {{ state }} }}
  comments {{ totalCount }} reviews {{ totalCount }}
  reviewThreads(first: 100) {{ totalCount nodes {{ isResolved }} }}
  commits(last: 1) {{ nodes {{ commit {{ statusCheckRollup {{ state contexts(first: 100) {{
    totalCount nodes {{ __typename ... on CheckRun {{ name status conclusion }} ... on StatusContext {{ context state }} }}
  }} }} }} }} }}
  closingIssuesReferences(first: 5) {{ nodes {{ ...issue }} }}
}}
{}",
        github::FRAGMENT
    )
}

/// One page of an answer.
#[derive(Debug, Default)]
pub(super) struct Page {
    /// The repository's current name on the server.
    pub repository: Option<String>,
    /// Pull requests whose head is in that repository, or that was requested by number.
    pub pulls: Vec<Pull>,
    /// The number of pull requests with that head branch, including other forks.
    pub of_that_name: u64,
    /// The cursors of the next page, in this repository and in its parent.
    pub after: Option<String>,
    pub after_in_parent: Option<String>,
}

/// Parses an answer.
pub(super) fn read(data: &Value, by_number: bool) -> Page {
    let repository = &data["repository"];
    let name = repository["nameWithOwner"].as_str();
    let mut page = Page { repository: name.map(str::to_owned), ..Page::default() };
    for (place, is_parent) in [(repository, false), (&repository["parent"], true)] {
        if by_number {
            page.pulls.extend(pull(&place["pullRequest"]));
            continue;
        }
        let found = &place["pullRequests"];
        let nodes = found["nodes"].as_array().into_iter().flatten();
        let own = nodes.filter(|node| {
            let head = node["headRepository"]["nameWithOwner"].as_str();
            head.zip(name).is_some_and(|(head, name)| head.eq_ignore_ascii_case(name))
        });
        page.pulls.extend(own.filter_map(pull));
        page.of_that_name += found["totalCount"].as_u64().unwrap_or_default();
        let next = found["pageInfo"]["endCursor"].as_str().filter(|_| found["pageInfo"]["hasNextPage"] == true);
        *(if is_parent { &mut page.after_in_parent } else { &mut page.after }) = next.map(str::to_owned);
    }
    page
}

/// Chooses the pull request of a branch: the latest open one, else the latest. The rest become its `others`.
pub(super) fn chosen(mut pulls: Vec<Pull>) -> Option<Pull> {
    pulls.sort_by_key(|pull| (pull.state != PullState::Open, std::cmp::Reverse(pull.number)));
    let mut pulls = pulls.into_iter();
    let mut first = pulls.next()?;
    first.others =
        pulls.map(|Pull { number, title, url, state, base, .. }| Other { number, title, url, state, base }).collect();
    Some(first)
}

fn pull(node: &Value) -> Option<Pull> {
    let text = |name: &str| node[name].as_str().map(str::to_owned);
    let count = |name: &str| node[name]["totalCount"].as_u64().unwrap_or_default();
    let threads = node["reviewThreads"]["nodes"].as_array().map(Vec::as_slice).unwrap_or_default();
    let closing = node["closingIssuesReferences"]["nodes"].as_array().into_iter().flatten();
    Some(Pull {
        number: node["number"].as_u64()?,
        title: text("title")?,
        url: text("url")?,
        state: match node["state"].as_str()? {
            "OPEN" => PullState::Open,
            "MERGED" => PullState::Merged,
            _ => PullState::Closed,
        },
        draft: node["isDraft"] == true,
        base: text("baseRefName")?,
        head: text("headRefName")?,
        review: review(node),
        checks: checks(&node["commits"]["nodes"][0]["commit"]["statusCheckRollup"]),
        unresolved: threads.iter().filter(|thread| thread["isResolved"] == false).count() as u64,
        threads_unseen: count("reviewThreads").saturating_sub(threads.len() as u64),
        comments: count("comments"),
        reviews: count("reviews"),
        mergeable: match node["mergeable"].as_str() {
            Some("MERGEABLE") => Mergeable::Yes,
            Some("CONFLICTING") => Mergeable::Conflicts,
            _ => Mergeable::Unknown,
        },
        others: Vec::new(),
        closes: closing.filter_map(github::issue).collect(),
    })
}

/// Returns the review decision if the repository requires reviews, else the reviewers' latest verdicts.
fn review(node: &Value) -> Review {
    let reviews = || node["latestOpinionatedReviews"]["nodes"].as_array().into_iter().flatten();
    let any = |state: &str| reviews().any(|review| review["state"] == state);
    match node["reviewDecision"].as_str() {
        Some("APPROVED") => Review::Approved,
        Some("CHANGES_REQUESTED") => Review::ChangesRequested,
        Some("REVIEW_REQUIRED") => Review::Required,
        _ if any("CHANGES_REQUESTED") => Review::ChangesRequested,
        _ if any("APPROVED") => Review::Approved,
        _ => Review::None,
    }
}

fn checks(rollup: &Value) -> Option<Checks> {
    let contexts = rollup["contexts"]["nodes"].as_array()?;
    let mut checks = Checks::default();
    for context in contexts {
        let (name, state) = match context["__typename"].as_str() {
            Some("CheckRun") => {
                let is_over = context["status"] == "COMPLETED";
                (context["name"].as_str(), if is_over { context["conclusion"].as_str() } else { Some("PENDING") })
            }
            _ => (context["context"].as_str(), context["state"].as_str()),
        };
        match state {
            Some("SUCCESS" | "NEUTRAL" | "SKIPPED") => checks.passed += 1,
            Some("PENDING" | "EXPECTED") | None => checks.pending += 1,
            _ => {
                checks.failed += 1;
                checks.failing.push(name.unwrap_or_default().to_owned());
            }
        }
    }
    checks.failing.truncate(FAILING);
    checks.unseen = rollup["contexts"]["totalCount"].as_u64().unwrap_or_default().saturating_sub(contexts.len() as u64);
    // The rollup state includes the checks beyond the first page.
    checks.some_unseen_failed =
        checks.unseen > 0 && checks.failed == 0 && matches!(rollup["state"].as_str(), Some("FAILURE" | "ERROR"));
    Some(checks)
}
