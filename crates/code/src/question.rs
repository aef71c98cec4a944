//! A name as a person writes it: `area`, `Shape.area`, `geometry::Shape::area`, `src/geo.rs:Shape::area`, `src/geo.rs:41`,
//! an operator.

use std::path::{Path, PathBuf};

use syntax::is_word;

#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Question {
    /// The original text.
    pub whole: String,
    /// The named file, or the end of its path.
    pub file: Option<String>,
    /// The named file relative to the root, if it exists at that path.
    pub place: Option<PathBuf>,
    /// The line, counted from 1.
    pub line: Option<usize>,
    /// The column in characters, counted from 1.
    pub column: Option<usize>,
    /// The file and the start of the name at the column, which prefers the definition that is there.
    pub at: Option<(PathBuf, usize)>,
    /// The qualifiers, outermost first.
    pub qualifiers: Vec<String>,
    /// The name; empty if the question gives a line instead.
    pub name: String,
}

const MAX_NAME: usize = 500;

impl Question {
    /// True if the question is only a name and means all definitions of it.
    pub(crate) fn is_plain(&self) -> bool {
        self.file.is_none() && self.place.is_none() && self.line.is_none() && self.qualifiers.is_empty()
    }

    /// Parses a name; `Err` explains why it is invalid.
    pub(crate) fn read(whole: &str) -> Result<Question, String> {
        let whole = whole.trim();
        if whole.is_empty() {
            return Err("the name is empty; write a name, such as `total`".to_owned());
        }
        if whole.len() > MAX_NAME {
            return Err(format!("a name has at most {MAX_NAME} bytes; this one has {}", whole.len()));
        }
        if whole.contains(".lhs:") {
            return Err(format!(
                "`{whole}` is in literate Haskell, which hob does not read; name a definition of another file"
            ));
        }
        let (file, rest) = file_and_rest(whole);
        let mut question = Question { whole: whole.to_owned(), file: file.map(str::to_owned), ..Question::default() };
        let is_number = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
        let (line, column) = rest.trim_end_matches(':').split_once(':').map_or((rest, None), |(a, b)| (a, Some(b)));
        if file.is_some() && is_number(line) && column.is_none_or(is_number) {
            let number = |text: &str| text.parse().map_err(|_| format!("invalid line {rest}"));
            question.line = Some(number(line)?);
            question.column = column.map(number).transpose()?;
            return Ok(question);
        }
        let called = rest.strip_suffix("operator()()").or(rest.strip_suffix("operator()"));
        let rest = match called {
            // The call operator of C++.
            Some(of) => &rest[..of.len() + "operator()".len()],
            None => rest.trim_end_matches("()").trim_end_matches('!'),
        };
        let rest = if rest.is_empty() { whole } else { rest };
        let bare = rest.trim_start_matches('(').trim_end_matches(')');
        let is_operator = |text: &str| !text.is_empty() && text.chars().all(is_symbol);
        if is_operator(bare) {
            question.name = bare.to_owned();
            return Ok(question);
        }
        let rest = &rest.replace("::r#", "::").replace(".r#", ".");
        let rest = rest.strip_prefix("r#").unwrap_or(rest);
        // `Shape#area` is a method of it; `Shape.#area` is a private member in JavaScript.
        let of_one = |part| -> Vec<&str> {
            let part: &str = part;
            match part.strip_prefix('#') {
                Some(_) => vec![part],
                None => part.split('#').collect(),
            }
        };
        let mut parts: Vec<&str> = rest.split("::").flat_map(|part| part.split(['.', '/'])).flat_map(of_one).collect();
        parts.retain(|part| !part.is_empty());
        // `Data.Map.<+>`: an operator after its qualifiers.
        let Some(name) = parts.pop() else { return Err(format!("`{whole}` has no name in it")) };
        if name.contains(char::is_whitespace) {
            return Err(format!("`{whole}` is not a name: write one name, such as `area` or `Shape::area`"));
        }
        let is_operator = name.starts_with("operator<");
        let bare = name.split('<').next().filter(|bare| !bare.is_empty() && !is_operator);
        question.name = bare.unwrap_or(name).to_owned();
        parts.retain(|part| !matches!(*part, "crate" | "self" | "super"));
        question.qualifiers = parts.into_iter().filter_map(|part| part.split('<').next()).map(str::to_owned).collect();
        Ok(question)
    }

    /// Returns how many of its qualifiers precede the name in the text: two for `os.path.join` in `os.path.join(a)`, one in
    /// `path.join(a)`, none in `self.path.join(a)`, which has another receiver.
    pub(crate) fn count_qualifiers(&self, before: &[u8]) -> usize {
        let mut rest = before.trim_ascii_end();
        let mut count = 0;
        for qualifier in self.qualifiers.iter().rev().filter(|_| self.file.is_none()) {
            let Some(path) = rest.strip_suffix(b"::").or_else(|| rest.strip_suffix(b".")) else { return count };
            match path.strip_suffix(qualifier.as_bytes()) {
                Some(path) if path.last().is_none_or(|last| !is_word(*last)) => rest = path,
                _ => return 0,
            }
            count += 1;
        }
        count
    }

    /// True if the question allows this file.
    pub(crate) fn fits_file(&self, file: &Path) -> bool {
        match (&self.place, &self.file) {
            (Some(place), _) => file == place,
            (None, Some(named)) => file.ends_with(named.trim_start_matches("./")),
            (None, None) => true,
        }
    }
}

fn is_symbol(c: char) -> bool {
    !c.is_alphanumeric()
        && !c.is_whitespace()
        && !matches!(c, '_' | '(' | ')' | '"' | '`' | ',' | ';' | '[' | ']' | '{' | '}')
}

/// Splits `src/geo.rs:area` into a file and a name; `a::b` has no file.
fn file_and_rest(whole: &str) -> (Option<&str>, &str) {
    let mut from = 0;
    while let Some(colon) = whole[from..].find(':').map(|at| from + at) {
        let (before, after) = (&whole[..colon], &whole[colon + 1..]);
        let is_file = before.contains('.') && syntax::Language::by_name(Path::new(before)).is_some();
        if is_file && !after.starts_with(':') {
            return (Some(before), after);
        }
        from = colon + 1;
    }
    (None, whole)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_stands_behind_its_qualifiers() {
        let check = |name: &str, before: &str, wanted: usize| {
            assert_eq!(Question::read(name).unwrap().count_qualifiers(before.as_bytes()), wanted, "{name} {before}");
        };
        check("os.path.join", "x = os.path.", 2);
        check("os.path.join", "x = path.", 1);
        check("os.path.join", "self.path.", 0);
        check("os.path.join", "join = ", 0);
        check("console.log", "window.console.", 1);
        check("console.log", "my_console.", 0);
        check("Vec::new", "std::vec::Vec::", 1);
        check("new", "Vec::", 0);
        check("a.py:Shape.area", "Shape.", 0);
    }

    #[test]
    fn names_as_people_write_them() {
        let read = |whole: &str| match Question::read(whole) {
            Ok(Question { file, line, column, qualifiers, name, .. }) => {
                let column = column.map(|column| format!(":{column}")).unwrap_or_default();
                format!("{} {line:?}{column} {qualifiers:?} {name}", file.unwrap_or_default())
            }
            Err(problem) => problem,
        };
        let table = r#"
            area =>  None [] area
            area() =>  None [] area
            Shape.area =>  None ["Shape"] area
            geometry::Shape::area =>  None ["geometry", "Shape"] area
            crate::geo::Shape<T>::area =>  None ["geo", "Shape"] area
            src/geo.rs:Shape::area => src/geo.rs None ["Shape"] area
            src/geo.rs:41 => src/geo.rs Some(41) []
            src/geo.rs:41:8 => src/geo.rs Some(41):8 []
            src/geo.rs:41:8: => src/geo.rs Some(41):8 []
            Shape#area =>  None ["Shape"] area
            Shape.#area =>  None ["Shape"] #area
            #area =>  None [] #area
            <+> =>  None [] <+>
            (<+>) =>  None [] <+>
            println! =>  None [] println
            r#match =>  None [] match
            T::r#match =>  None ["T"] match
            src/geo.rs:r#match => src/geo.rs None [] match
             => the name is empty; write a name, such as `total`
            two words => `two words` is not a name: write one name, such as `area` or `Shape::area`
            src/Geo.lhs:area => `src/Geo.lhs:area` is in literate Haskell, which hob does not read; name a definition of another file"#;
        for row in table.lines().skip(1) {
            let (whole, wanted) = row.split_once("=>").unwrap();
            assert_eq!(read(whole.trim()).trim(), wanted.trim(), "{whole}");
        }
    }
}
