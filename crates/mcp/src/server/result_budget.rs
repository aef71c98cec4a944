//! The budget of a result's text. A longer text keeps its head and its tail, and says how much is left out and where
//! the full text can be read by range.

use parking_lot::Mutex;
use std::collections::VecDeque;
use std::sync::Arc;

use super::suspended_calls::random_name;
use crate::resource::{AnyTemplate, Contents, ReadError, Template, template};
use crate::tool::{Content, Declaration, Outcome, ToolError};

/// Full texts that are kept, and their bytes in total.
const MAX_TEXTS: usize = 64;
const MAX_BYTES: usize = 16 << 20;

/// The default number of characters that are read at once.
const DEFAULT_RANGE: usize = 20_000;

/// The hint in a tool's `_meta` on how long its results may be. One client defined it; here it holds for all.
const HINT: &str = "anthropic/maxResultSizeChars";

/// The full texts of long results, the newest last.
#[derive(Default)]
pub(super) struct FullTexts(Mutex<VecDeque<FullText>>);

struct FullText {
    id: String,
    principal: Arc<str>,
    text: Arc<str>,
}

impl FullTexts {
    fn keep(&self, principal: &Arc<str>, text: String) -> String {
        let id = random_name();
        let mut kept = self.0.lock();
        kept.push_back(FullText { id: id.clone(), principal: principal.clone(), text: text.into() });
        let mut bytes: usize = kept.iter().map(|whole| whole.text.len()).sum();
        while kept.len() > MAX_TEXTS || bytes > MAX_BYTES {
            let Some(oldest) = kept.pop_front() else { break };
            bytes -= oldest.text.len();
        }
        id
    }

    fn get(&self, id: &str, principal: &str) -> Option<Arc<str>> {
        let kept = self.0.lock();
        kept.iter().find(|whole| whole.id == id && &*whole.principal == principal).map(|whole| whole.text.clone())
    }
}

/// Truncates the texts of a result to the server's budget, or the tool's own. Short texts stay whole; the others share
/// the rest equally.
pub(super) fn truncate(
    outcome: &mut Outcome,
    budget: usize,
    tool: &Declaration,
    kept: &FullTexts,
    principal: &Arc<str>,
) {
    let hint = tool.meta.as_ref().and_then(|meta| meta.get(HINT)).and_then(serde_json::Value::as_u64);
    let budget = hint.and_then(|hint| usize::try_from(hint).ok()).unwrap_or(budget);
    let mut texts: Vec<&mut String> = outcome.content.iter_mut().filter_map(text).collect();
    // A text has at least as many bytes as characters.
    if texts.iter().map(|text| text.len()).sum::<usize>() <= budget {
        return;
    }
    let share = share(texts.iter().map(|text| text.chars().count()).collect(), budget);
    for text in texts.iter_mut().filter(|text| text.chars().count() > share) {
        let whole = std::mem::take(*text);
        let id = kept.keep(principal, whole.clone());
        **text = cut(&whole, share, &format!("result://{id}"));
    }
}

/// Returns the text of a block, if it is a text.
fn text(content: &mut Content) -> Option<&mut String> {
    match content {
        Content::Text(text) => Some(text),
        Content::Annotated(content, _) => text(content),
        _ => None,
    }
}

/// Returns the most characters that each text may have so that all texts together fit the budget.
fn share(mut lengths: Vec<usize>, budget: usize) -> usize {
    lengths.sort_unstable();
    let (mut left, mut count) = (budget, lengths.len());
    for length in lengths {
        // Texts that need less than their share leave more for the others.
        if length > left / count {
            return left / count;
        }
        left -= length;
        count -= 1;
    }
    usize::MAX
}

/// Two thirds of the budget from the beginning and one third from the end, in whole lines if there are any.
fn cut(text: &str, budget: usize, uri: &str) -> String {
    let total = text.chars().count();
    let at = |count: usize| text.char_indices().nth(count).map_or(text.len(), |(at, _)| at);
    let (mut head, mut tail) = (&text[..at(budget * 2 / 3)], &text[at(total - budget / 3)..]);
    if let Some(end) = head.rfind('\n').filter(|end| *end > head.len() / 2) {
        head = &head[..=end];
    }
    if let Some(start) = tail.find('\n').filter(|start| *start < tail.len() / 2) {
        tail = &tail[start + 1..];
    }
    let (from, end) = (head.chars().count(), total - tail.chars().count());
    let gap = if head.ends_with('\n') { "" } else { "\n" };
    format!(
        "{head}{gap}[… characters {from} to {end} of {total} are left out; read {uri}?from={from}&length={} …]\n{tail}",
        (end - from).min(DEFAULT_RANGE)
    )
}

/// Returns the resource template by which the full texts are read.
pub(super) fn full_text_template(kept: Arc<FullTexts>) -> Result<Arc<dyn AnyTemplate>, crate::resource::TemplateError> {
    let mut declaration = Template::new("result://{id}{?from,length}", "result")?;
    declaration.about.description = Some("A long result, by a range of its characters.".to_owned());
    declaration.about.mime_type = Some("text/plain".to_owned());
    Ok(template(declaration, move |cx, matched| {
        let kept = kept.clone();
        async move {
            let text = kept.get(matched.get("id"), &cx.principal()).ok_or(ReadError::NotFound)?;
            let number = |name: &str, otherwise: usize| match matched.get(name) {
                "" => Ok(otherwise),
                text => text.parse().map_err(|_| ToolError::user(format!("`{name}` must be a number of characters"))),
            };
            let (from, length) = (number("from", 0)?, number("length", DEFAULT_RANGE)?);
            let range: String = text.chars().skip(from).take(length).collect();
            Ok(vec![Contents::text(&matched.uri, "text/plain", range)])
        }
    }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use expect_test::expect;

    #[test]
    fn head_and_tail_stay_in_whole_lines() {
        let lines: String = (1..=20).map(|line| format!("line {line:02}\n")).collect();
        expect![[r#"
            line 01
            line 02
            line 03
            line 04
            line 05
            [… characters 40 to 144 of 160 are left out; read result://x?from=40&length=104 …]
            line 19
            line 20
        "#]]
        .assert_eq(&cut(&lines, 60, "result://x"));
        expect![[r#"
            ääää
            [… characters 4 to 18 of 20 are left out; read result://x?from=4&length=14 …]
            ää"#]]
        .assert_eq(&cut(&"ä".repeat(20), 6, "result://x"));
    }

    #[test]
    fn the_texts_of_a_result_share_its_budget() {
        for (lengths, budget, expected) in [
            (vec![10], 10, usize::MAX),
            (vec![11], 10, 10),
            (vec![5, 5], 10, usize::MAX),
            (vec![100, 2], 10, 8),
            (vec![100, 2, 100], 10, 4),
            (vec![100; 100], 10, 0),
            (vec![], 10, usize::MAX),
        ] {
            assert_eq!(share(lengths.clone(), budget), expected, "{lengths:?}");
        }
        let tool = Declaration::new("t", "", serde_json::json!({"type": "object"}), crate::tool::Effect::READ);
        let long = "x".repeat(1_000);
        let hints = crate::tool::Annotations::default();
        let content = vec![Content::text("short"), Content::text(&long), Content::text(&long).annotated(hints)];
        let mut outcome = Outcome { content, ..Outcome::text("") };
        truncate(&mut outcome, 205, &tool, &FullTexts::default(), &"me".into());
        let texts: Vec<&str> = outcome.content.iter().filter_map(Content::as_text).collect();
        assert_eq!(texts[0], "short");
        for cut in &texts[1..] {
            assert!(cut.contains("characters 66 to 967 of 1000 are left out"), "{cut}");
        }
    }

    #[test]
    fn the_oldest_texts_go_first() {
        let kept = FullTexts::default();
        let me: Arc<str> = "me".into();
        let first = kept.keep(&me, "first".to_owned());
        assert!(kept.get(&first, "me").is_some() && kept.get(&first, "you").is_none());
        let ids: Vec<String> = (0..MAX_TEXTS).map(|_| kept.keep(&me, "more".to_owned())).collect();
        assert!(kept.get(&first, "me").is_none() && kept.get(&ids[0], "me").is_some());
        kept.keep(&me, "x".repeat(MAX_BYTES));
        assert!(kept.get(&ids[MAX_TEXTS - 1], "me").is_none());
    }
}
