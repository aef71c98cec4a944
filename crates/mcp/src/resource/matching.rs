//! URI templates (RFC 6570) in reverse: a URI → the variables that it was expanded from.
//!
//! All operators are supported, with several variables each, but not the modifiers `:3` and `*`, whose expansions are
//! ambiguous.

use std::collections::{BTreeMap, HashSet};
use std::fmt;

/// Longer URIs match no template.
pub(crate) const MAX_URI: usize = 2048;

/// A URI template.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UriTemplate {
    text: String,
    parts: Vec<Part>,
    /// The variables of a trailing query, in any order and each optional.
    query: Vec<String>,
}

/// A URI and the decoded variables of the template that it matched.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Matched {
    /// The URI as the client wrote it.
    pub uri: String,
    /// The variables by name; those of a query only if present.
    pub variables: BTreeMap<String, String>,
}

impl Matched {
    /// Returns the value of a variable; empty if absent.
    pub fn get(&self, name: &str) -> &str {
        self.variables.get(name).map_or("", String::as_str)
    }
}

/// Why a text is not a URI template, or not one that can be matched.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("URI template {template:?}: {reason}")]
pub struct TemplateError {
    template: String,
    reason: &'static str,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Part {
    Literal(String),
    /// A variable; `reserved` says whether it may contain reserved characters such as `/`.
    Variable {
        name: String,
        reserved: bool,
    },
}

impl UriTemplate {
    /// Parses a template.
    pub fn parse(text: &str) -> Result<UriTemplate, TemplateError> {
        let fail = |reason| TemplateError { template: text.to_owned(), reason };
        let mut template = UriTemplate { text: text.to_owned(), parts: Vec::new(), query: Vec::new() };
        let mut rest = text;
        while !rest.is_empty() {
            let (literal, tail) = rest.split_at(rest.find('{').unwrap_or(rest.len()));
            if literal.contains('}') {
                return Err(fail("a `}` without its `{`"));
            }
            if !template.query.is_empty() && !literal.is_empty() {
                return Err(fail("nothing may follow `{?…}`"));
            }
            template.literal(literal);
            let Some(tail) = tail.strip_prefix('{') else { break };
            let (expression, tail) = tail.split_once('}').ok_or_else(|| fail("a `{` without its `}`"))?;
            template.expression(expression).map_err(fail)?;
            rest = tail;
        }
        let names = template.variables();
        if names.iter().collect::<HashSet<_>>().len() < names.len() {
            return Err(fail("a variable occurs twice"));
        }
        let is_variable = |part: &Part| matches!(part, Part::Variable { .. });
        if template.parts.windows(2).any(|pair| pair.iter().all(is_variable)) {
            return Err(fail("two variables need text between them"));
        }
        Ok(template)
    }

    /// Returns the template as it was written.
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// Returns the names of the variables.
    pub fn variables(&self) -> Vec<&str> {
        let path = self.parts.iter().filter_map(|part| match part {
            Part::Variable { name, .. } => Some(name.as_str()),
            Part::Literal(_) => None,
        });
        path.chain(self.query.iter().map(String::as_str)).collect()
    }

    /// Matches a URI; `None` if it was not expanded from this template.
    pub fn matches(&self, uri: &str) -> Option<Matched> {
        if uri.len() > MAX_URI {
            return None;
        }
        let mut variables = BTreeMap::new();
        let path = match uri.split_once('?') {
            Some((path, query)) if !self.query.is_empty() => {
                for pair in query.split('&').filter(|pair| !pair.is_empty()) {
                    let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
                    let name = self.query.iter().find(|known| *known == name)?;
                    variables.insert(name.clone(), decoded(value)?);
                }
                path
            }
            _ => uri,
        };
        let mut ends = Vec::new();
        if !self.fit(path, 0, 0, &mut ends, &mut HashSet::new()) {
            return None;
        }
        // The ends were found from the last variable to the first.
        let mut found = ends.into_iter().rev();
        for part in &self.parts {
            if let Part::Variable { name, .. } = part {
                let (from, to) = found.next()?;
                variables.insert(name.clone(), decoded(&path[from..to])?);
            }
        }
        Some(Matched { uri: uri.to_owned(), variables })
    }

    /// Returns true if the parts from this one on match the rest of the URI. Failed places are remembered, so that
    /// matching takes at most parts × length² steps.
    fn fit(
        &self,
        path: &str,
        part: usize,
        at: usize,
        ends: &mut Vec<(usize, usize)>,
        vain: &mut HashSet<(usize, usize)>,
    ) -> bool {
        let rest = &path[at..];
        match self.parts.get(part) {
            None => rest.is_empty(),
            Some(Part::Literal(text)) => {
                rest.starts_with(text.as_str()) && self.fit(path, part + 1, at + text.len(), ends, vain)
            }
            Some(Part::Variable { reserved, .. }) => {
                if vain.contains(&(part, at)) {
                    return false;
                }
                let longest = if *reserved { rest.len() } else { rest.find(['/', '?', '#']).unwrap_or(rest.len()) };
                let lengths = rest[..longest].char_indices().map(|(at, c)| at + c.len_utf8());
                for length in lengths {
                    if self.fit(path, part + 1, at + length, ends, vain) {
                        ends.push((at, at + length));
                        return true;
                    }
                }
                vain.insert((part, at));
                false
            }
        }
    }

    fn literal(&mut self, text: &str) {
        match self.parts.last_mut() {
            _ if text.is_empty() => {}
            Some(Part::Literal(before)) => before.push_str(text),
            _ => self.parts.push(Part::Literal(text.to_owned())),
        }
    }

    fn expression(&mut self, expression: &str) -> Result<(), &'static str> {
        let (operator, names) = match expression.chars().next() {
            Some(operator @ ('+' | '#' | '.' | '/' | ';' | '?' | '&')) => (Some(operator), &expression[1..]),
            _ => (None, expression),
        };
        let names: Vec<&str> = names.split(',').collect();
        let legal = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '.' | '%');
        if names.iter().any(|name| name.ends_with('*') || name.contains(':')) {
            return Err("prefix lengths and lists cannot be read back");
        }
        if names.iter().any(|name| name.is_empty() || !name.chars().all(legal)) {
            return Err("a variable's name has letters, digits, `_` and `.`");
        }
        if matches!(operator, Some('?' | '&')) {
            self.query.extend(names.into_iter().map(str::to_owned));
            return Ok(());
        }
        if !self.query.is_empty() {
            return Err("nothing may follow `{?…}`");
        }
        for (index, name) in names.into_iter().enumerate() {
            match operator {
                Some('#') if index == 0 => self.literal("#"),
                Some('.') => self.literal("."),
                Some('/') => self.literal("/"),
                Some(';') => self.literal(&format!(";{name}=")),
                _ if index > 0 => self.literal(","),
                _ => {}
            }
            self.parts.push(Part::Variable { name: name.to_owned(), reserved: matches!(operator, Some('+' | '#')) });
        }
        Ok(())
    }
}

impl fmt::Display for UriTemplate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

/// Percent-decodes a text; `None` if the result is not UTF-8.
fn decoded(text: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let [byte, tail @ ..] = rest {
        rest = tail;
        bytes.push(match (byte, tail) {
            (b'%', [high, low, tail @ ..]) => {
                rest = tail;
                let digit = |byte: u8| char::from(byte).to_digit(16);
                u8::try_from(digit(*high)? << 4 | digit(*low)?).ok()?
            }
            (b'%', _) => return None,
            _ => *byte,
        });
    }
    String::from_utf8(bytes).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use expect_test::{Expect, expect};

    fn check(template: &str, uris: &[&str], expected: Expect) {
        let template = UriTemplate::parse(template).expect("a template");
        let mut said = String::new();
        for uri in uris {
            let matched = template.matches(uri).map(|matched| matched.variables);
            said += &format!("{uri} {}\n", matched.map_or("-".to_owned(), |variables| format!("{variables:?}")));
        }
        expected.assert_eq(&said);
    }

    #[test]
    fn addresses_are_read_back() {
        check(
            "test://template/{id}/data",
            &[
                "test://template/7/data",
                "test://template/a%20b%2Fc/data",
                "test://template/a/b/data",
                "test://template//data",
                "test://template/%f/data",
                "test://template/%ff/data",
            ],
            expect![[r#"
                test://template/7/data {"id": "7"}
                test://template/a%20b%2Fc/data {"id": "a b/c"}
                test://template/a/b/data -
                test://template//data -
                test://template/%f/data -
                test://template/%ff/data -
            "#]],
        );
        check(
            "file:///{+path}",
            &["file:///a/b.txt", "file:///"],
            expect![[r#"
                file:///a/b.txt {"path": "a/b.txt"}
                file:/// -
            "#]],
        );
        check(
            "repl://{name}/output{?cursor,tail}",
            &[
                "repl://main/output",
                "repl://main/output?tail=5&cursor=ä",
                "repl://main/output?other=1",
                "repl:///output",
            ],
            expect![[r#"
                repl://main/output {"name": "main"}
                repl://main/output?tail=5&cursor=ä {"cursor": "ä", "name": "main", "tail": "5"}
                repl://main/output?other=1 -
                repl:///output -
            "#]],
        );
        check(
            "x:{a,b}{/c}{.d}{;e}{#f}",
            &["x:1,2/3.tar.gz;e=5#6/7"],
            expect![[r#"
                x:1,2/3.tar.gz;e=5#6/7 {"a": "1", "b": "2", "c": "3", "d": "tar.gz", "e": "5", "f": "6/7"}
            "#]],
        );
    }

    #[test]
    fn what_cannot_be_read_back_is_refused() {
        let reasons: Vec<String> =
            ["a{b", "a}b", "{}", "{a*}", "{a:3}", "{a}{b}", "{a}/{a}", "{?a}b", "{?a}{b}", "{a b}"]
                .into_iter()
                .map(|template| UriTemplate::parse(template).expect_err(template).to_string())
                .collect();
        expect![[r#"
            URI template "a{b": a `{` without its `}`
            URI template "a}b": a `}` without its `{`
            URI template "{}": a variable's name has letters, digits, `_` and `.`
            URI template "{a*}": prefix lengths and lists cannot be read back
            URI template "{a:3}": prefix lengths and lists cannot be read back
            URI template "{a}{b}": two variables need text between them
            URI template "{a}/{a}": a variable occurs twice
            URI template "{?a}b": nothing may follow `{?…}`
            URI template "{?a}{b}": nothing may follow `{?…}`
            URI template "{a b}": a variable's name has letters, digits, `_` and `.`
        "#]]
        .assert_eq(&(reasons.join("\n") + "\n"));
    }

    #[test]
    fn an_address_made_to_be_slow_is_not() {
        let template = UriTemplate::parse("x:{+a}-{+b}-{+c}-{+d}-{+e}!").expect("a template");
        let begun = std::time::Instant::now();
        assert_eq!(template.matches(&format!("x:{}", "-".repeat(MAX_URI - 2))), None);
        assert!(begun.elapsed() < std::time::Duration::from_secs(20));
    }
}
