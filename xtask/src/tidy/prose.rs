//! Lengths of sentences, paragraphs and pages in Markdown. Which pages are checked is decided in the sibling module
//! `language`.

const MAX_SENTENCE: usize = 30;
const MAX_PARAGRAPH: usize = 90;
const MAX_CHANGELOG: usize = 40;

/// Words that a page may have, by its path or its directory.
const MAX_PAGE: &[(&str, usize)] = &[
    ("README.md", 500),
    ("docs/start.md", 800),
    ("docs/concepts.md", 600),
    ("docs/guide/", 900),
    ("docs/agents/", 300),
    ("docs/troubleshooting.md", 1200),
    ("docs/security.md", 800),
];

/// Checks one page. Code blocks do not count. Tables and headings count for the page only.
pub(super) fn check(page: &str, text: &str) -> Vec<String> {
    let is_marker = |line: &str| ["<<<<<<< ", ">>>>>>> "].iter().any(|marker| line.starts_with(marker));
    let markers = text.lines().zip(1..).filter(|(line, _)| is_marker(line));
    let mut complaints: Vec<String> =
        markers.map(|(_, line)| format!("{page}:{line}: a marker of a merge conflict: finish the merge")).collect();
    let mut total = 0;
    for block in blocks(text) {
        let words = split_words(&block);
        total += words.len();
        if !block.is_paragraph {
            continue;
        }
        let line = block.lines[0].0;
        if words.len() > MAX_PARAGRAPH {
            complaints.push(format!(
                "{page}:{line}: a paragraph of {} words; the limit is {MAX_PARAGRAPH}: split it or make a list",
                words.len()
            ));
        }
        for sentence in words.split_inclusive(|(_, word)| ends_sentence(word)) {
            if sentence.len() > MAX_SENTENCE {
                complaints.push(format!(
                    "{page}:{}: a sentence of {} words; the limit is {MAX_SENTENCE}: split it, starting at `{}`",
                    sentence[0].0,
                    sentence.len(),
                    sentence.iter().take(4).map(|(_, word)| word.as_str()).collect::<Vec<_>>().join(" ")
                ));
            }
        }
    }
    let limit =
        MAX_PAGE.iter().find(|(path, _)| if path.ends_with('/') { page.starts_with(path) } else { page == *path });
    if let Some((_, limit)) = limit.filter(|(_, limit)| total > *limit) {
        complaints.push(format!(
            "{page}:1: {total} words; the limit is {limit}: move exact behaviour and limits to docs/reference"
        ));
    }
    complaints
}

/// Checks the length of each version in the changelog. Empty lines do not count.
pub(super) fn check_changelog(page: &str, text: &str) -> Vec<String> {
    let mut versions: Vec<(usize, usize)> = Vec::new();
    for (line, number) in text.lines().zip(1..) {
        if line.starts_with("## ") {
            versions.push((number, 0));
        } else if let Some((_, count)) = versions.last_mut().filter(|_| !line.trim().is_empty()) {
            *count += 1;
        }
    }
    let long = versions.into_iter().filter(|(_, count)| *count > MAX_CHANGELOG);
    long.map(|(line, count)| {
        format!("{page}:{line}: a version of {count} lines; the limit is {MAX_CHANGELOG}: keep what a user notices")
    })
    .collect()
}

/// A paragraph, a list item, a heading or a table row, with the numbers of its lines.
struct Block<'a> {
    is_paragraph: bool,
    lines: Vec<(usize, &'a str)>,
}

fn blocks(text: &str) -> Vec<Block<'_>> {
    let mut blocks: Vec<Block<'_>> = Vec::new();
    let mut fence: Option<&str> = None;
    let mut is_open = false;
    for (line, number) in text.lines().zip(1..) {
        let line = line.trim().trim_start_matches("> ");
        let mark = ["```", "~~~"].into_iter().find(|mark| line.starts_with(mark));
        match (fence, mark) {
            (Some(open), Some(mark)) if open == mark => fence = None,
            (None, Some(mark)) => (fence, is_open) = (Some(mark), false),
            _ => {}
        }
        let is_definition = line.starts_with('[') && line.contains("]: ");
        if fence.is_some() || mark.is_some() || line.is_empty() || line.starts_with('<') || is_definition {
            is_open = false;
            continue;
        }
        let is_paragraph = !line.starts_with(['#', '|']);
        let item = list_item(line);
        if is_open && is_paragraph && item.is_none() {
            blocks.last_mut().expect("a block is open").lines.push((number, line));
        } else {
            blocks.push(Block { is_paragraph, lines: vec![(number, item.unwrap_or(line))] });
            is_open = is_paragraph;
        }
    }
    blocks
}

/// Returns the text of a list item without its marker.
fn list_item(line: &str) -> Option<&str> {
    let bullet = ["- ", "* ", "+ "].iter().find_map(|mark| line.strip_prefix(mark));
    let after_digits = line.trim_start_matches(|c: char| c.is_ascii_digit());
    let is_numbered = (1..4).contains(&(line.len() - after_digits.len()));
    bullet.or_else(|| after_digits.strip_prefix(". ").filter(|_| is_numbered))
}

/// Returns the words of a block with their lines. An inline code span is one word, whatever it contains.
fn split_words(block: &Block<'_>) -> Vec<(usize, String)> {
    let mut words = Vec::new();
    let mut in_code = false;
    let mut word = String::new();
    for (number, line) in &block.lines {
        let mut chars = line.chars().peekable();
        while let Some(c) = chars.next() {
            if c == '`' {
                while chars.next_if_eq(&'`').is_some() {}
                in_code = !in_code;
                word.push(c);
            } else if in_code {
                word.push(if c.is_alphanumeric() { c } else { '_' });
            } else if c.is_whitespace() {
                end_word(&mut words, *number, &mut word);
            } else {
                word.push(c);
            }
        }
        if !in_code {
            end_word(&mut words, *number, &mut word);
        }
    }
    let last = block.lines.last().map_or(0, |(number, _)| *number);
    end_word(&mut words, last, &mut word);
    words
}

/// Adds the word unless it is punctuation only, such as a dash; that joins the word before it.
fn end_word(words: &mut Vec<(usize, String)>, line: usize, word: &mut String) {
    let word = std::mem::take(word);
    if word.contains(char::is_alphanumeric) || word.contains('`') {
        words.push((line, word));
    } else if let Some((_, before)) = words.last_mut() {
        before.push_str(&word);
    }
}

fn ends_sentence(word: &str) -> bool {
    let is_abbreviation = ["e.g.", "i.e.", "etc.", "vs."].iter().any(|short| word.trim_start_matches('(') == *short);
    !is_abbreviation && word.trim_end_matches([')', '"', '*', '_', '\'', '”']).ends_with(['.', '?', '!'])
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use super::*;

    #[test]
    fn sentences_and_paragraphs_are_limited_and_list_items_stand_alone() {
        let text = format!(
            "# Title\n\n{long}end.\n\n- {short}e.g. one.\n- {short}two\n1. {short}three\n\n```\n{long}{long}\n```\n\n\
             | {long} |\n\n{many}\n\n`{long}` is one word.\n",
            long = "word ".repeat(30),
            short = "word ".repeat(27),
            many = "Ten short words fill one line of this long paragraph.\n".repeat(10),
        );
        expect![[r#"
            docs/x.md:3: a sentence of 31 words; the limit is 30: split it, starting at `word word word word`
            docs/x.md:15: a paragraph of 100 words; the limit is 90: split it or make a list"#]]
        .assert_eq(&check("docs/x.md", &text).join("\n"));
    }

    #[test]
    fn a_merge_is_finished() {
        let found = check("docs/x.md", "A.\n<<<<<<< HEAD\nB.\n=======\nC.\n>>>>>>> other\n");
        expect![[r#"
            docs/x.md:2: a marker of a merge conflict: finish the merge
            docs/x.md:6: a marker of a merge conflict: finish the merge"#]]
        .assert_eq(&found.join("\n"));
    }

    #[test]
    fn pages_and_versions_have_a_length() {
        let page = "A word. ".repeat(151);
        expect![["
            docs/agents/x.md:1: a paragraph of 302 words; the limit is 90: split it or make a list
            docs/agents/x.md:1: 302 words; the limit is 300: move exact behaviour and limits to docs/reference"]]
        .assert_eq(&check("docs/agents/x.md", &page).join("\n"));
        let changes = format!("# Changelog\n\n## 2\n{}\n## 1\n{}", "- a\n\n".repeat(40), "- a\n".repeat(41));
        expect!["CHANGELOG.md:85: a version of 41 lines; the limit is 40: keep what a user notices"]
            .assert_eq(&check_changelog("CHANGELOG.md", &changes).join("\n"));
    }
}
