//! Final answers beside rustc: every use that it reports must be confirmed, and everything confirmed must be reported. Where
//! rustc is silent it is asked again with that definition alone marked; what it does not compile is counted apart.

use std::path::Path;

use anyhow::{Result, bail};
use serde_json::{Value, json};

use super::super::marks::{Item, Use, uses};
use crate::agent::{Agent, text};

/// How the final answers of a crate are.
#[derive(Debug, Default)]
pub(super) struct Judged {
    pub(super) items: usize,
    pub(super) finals: usize,
    /// Of final answers: the uses that rustc reports, and how many of them are confirmed.
    pub(super) truth: usize,
    pub(super) found: usize,
    /// What they confirm outside of tests, and how much of it rustc reports.
    pub(super) confirmed: usize,
    pub(super) right: usize,
    /// What they confirm in tests, which the library's compilation does not have.
    pub(super) in_tests: usize,
    pub(super) differences: Vec<String>,
}

/// A site of an answer.
pub(super) struct Site {
    pub(super) file: String,
    pub(super) place: (usize, usize),
    pub(super) is_confirmed: bool,
    pub(super) in_test: bool,
    pub(super) class: String,
}

/// The places of a list that has them by file. What a result leaves out is a verified call.
pub(super) fn sites(content: &Value, field: &str) -> Vec<Site> {
    let files = content[field].as_array().into_iter().flatten();
    let of_file = |file: &Value| {
        let is_confirmed = file["verdict"].is_null();
        let name = file["file"].as_str().unwrap_or_default().to_owned();
        let places = file["places"].as_array().cloned().unwrap_or_default();
        places.into_iter().map(move |one| {
            let number = |field: &str| one[field].as_u64().unwrap_or_default() as usize;
            Site {
                file: name.clone(),
                place: (number("line"), number("column")),
                is_confirmed,
                in_test: one["in_test"] == true,
                class: one["class"].as_str().unwrap_or("call").to_owned(),
            }
        })
    };
    files.flat_map(of_file).collect()
}

/// Why an answer is not complete.
pub(super) fn why(content: &Value) -> String {
    let reasons = content["head"]["reasons"].as_array().into_iter().flatten();
    reasons.filter_map(|reason| reason["text"].as_str()).collect::<Vec<_>>().join("; ")
}

/// How long one call waits for the judge, and how often it is asked again.
const WAIT_MS: u64 = 45_000;
const TRIES: usize = 8;

/// An answer, asked for until it is final or the judge is ready and it is not.
pub(super) fn answer(agent: &mut Agent, tool: &str, name: &str) -> Result<Value> {
    let arguments = json!({ "name": name, "max_results": 5000, "context_lines": 0, "wait_ms": WAIT_MS });
    let mut result = Value::Null;
    for _ in 0..TRIES {
        result = agent.call(tool, arguments.clone())?;
        if result["isError"] == true {
            bail!("{tool} {name} was refused: {}", text(&result));
        }
        let head = &result["structuredContent"]["head"];
        let is_ready = head["servers"][0]["state"] == "ready";
        if head["complete"] == true || is_ready && !result.to_string().contains("out of time") {
            break;
        }
    }
    Ok(result["structuredContent"].take())
}

/// Asks for one definition, and compares.
pub(super) fn ask(
    agent: &mut Agent,
    marked: &Path,
    number: usize,
    item: &Item,
    truth: &[&Use],
    lines: usize,
    score: &mut Judged,
) -> Result<()> {
    let name = format!("{}:{}", item.file, item.line);
    let content = answer(agent, "find_uses", &name)?;
    score.items += 1;
    let what = format!("{} ({}, {name})", item.name, item.kind);
    if content["head"]["complete"] != true {
        score.differences.push(format!("{what}: not final: {}", why(&content)));
        return Ok(());
    }
    score.finals += 1;
    // What declares and what implements is no use to rustc; inside of the definition itself it is silent.
    let is_own = |site: &Site| site.file == item.file && (item.line..item.line + lines).contains(&site.place.0);
    let is_use = |site: &Site| site.is_confirmed && !matches!(site.class.as_str(), "binding" | "signature");
    let all: Vec<Site> = sites(&content, "uses").into_iter().filter(|site| is_use(site) && !is_own(site)).collect();
    let is_said = |said: &[Use], site: &Site| said.iter().any(|one| one.holds(&site.file, site.place));
    let mut said: Vec<Use> = truth.iter().map(|one| (*one).clone()).collect();
    if all.iter().any(|site| !site.in_test && !is_said(&said, site)) {
        said.extend(uses(marked, &[(number, item)])?.into_iter().map(|(_, one)| one));
        said.sort();
        said.dedup();
    }
    score.truth += said.len();
    for one in &said {
        match all.iter().any(|site| one.holds(&site.file, site.place)) {
            true => score.found += 1,
            false => {
                let place = format!("{}:{}:{}", one.file, one.first.0, one.first.1);
                score.differences.push(format!("{what}: {place} is a use, and is not confirmed"));
            }
        }
    }
    for site in &all {
        let is_right = is_said(&said, site);
        if site.in_test && !is_right {
            score.in_tests += 1;
            continue;
        }
        score.confirmed += 1;
        score.right += usize::from(is_right);
        if !is_right {
            let place = format!("{}:{}:{}", site.file, site.place.0, site.place.1);
            score.differences.push(format!("{what}: {place} ({}) is confirmed, and rustc reports nothing", site.class));
        }
    }
    Ok(())
}
