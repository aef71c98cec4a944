//! A word of a command: text with holes for parts that are known only at run time.

/// A word.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Word {
    pub(crate) parts: Vec<Part>,
    /// True if any of its characters is quoted. A quoted word is not a reserved word.
    pub(crate) is_quoted: bool,
}

/// A piece of a word.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Part {
    Text(String),
    /// An unquoted `*`, `?` or `[`: part of a file name pattern.
    Glob(char),
    /// Any text. With `several`, any number of words: an unquoted expansion.
    Hole {
        several: bool,
    },
    /// The name of a pipe: a process substitution.
    Pipe,
}

impl Word {
    /// Creates a word without holes.
    pub(crate) fn literal(text: &str) -> Word {
        Word { parts: vec![Part::Text(text.to_owned())], ..Word::default() }
    }

    /// Creates a word that stands for any number of words.
    pub(crate) fn hole() -> Word {
        Word { parts: vec![Part::Hole { several: true }], ..Word::default() }
    }

    /// Returns a path below this one.
    pub(crate) fn path_below(&self) -> Word {
        let mut word = self.clone();
        word.parts.push(Part::Hole { several: false });
        word
    }

    pub(crate) fn push(&mut self, c: char) {
        match self.parts.last_mut() {
            Some(Part::Text(text)) => text.push(c),
            _ => self.parts.push(Part::Text(c.to_string())),
        }
    }

    pub(crate) fn push_part(&mut self, part: Part) {
        match (self.parts.last_mut(), part) {
            (Some(Part::Text(before)), Part::Text(text)) => before.push_str(&text),
            (_, part) => self.parts.push(part),
        }
    }

    /// Returns the text, if the word has neither holes nor globs.
    pub(crate) fn text(&self) -> Option<&str> {
        match self.parts.as_slice() {
            [] => Some(""),
            [Part::Text(text)] => Some(text),
            _ => None,
        }
    }

    /// Returns the known text at the start.
    pub(crate) fn start(&self) -> &str {
        match self.parts.first() {
            Some(Part::Text(text)) => text,
            _ => "",
        }
    }

    /// Returns true if it may become several words, or none.
    pub(crate) fn is_several(&self) -> bool {
        self.parts.contains(&Part::Hole { several: true })
    }

    pub(crate) fn has_hole(&self) -> bool {
        self.parts.iter().any(|part| matches!(part, Part::Hole { .. } | Part::Pipe))
    }

    /// Returns true if a shell could expand it to an option.
    pub(crate) fn may_be_option(&self) -> bool {
        let start = self.start();
        start.starts_with('-') && start.len() > 1 || matches!(start, "" | "-") && self.text().is_none()
    }

    /// Removes the first bytes of the text.
    pub(crate) fn without_start(&self, bytes: usize) -> Word {
        let mut word = self.clone();
        if let Some(Part::Text(text)) = word.parts.first_mut() {
            *text = text.get(bytes..).unwrap_or_default().to_owned();
            if text.is_empty() && word.parts.len() > 1 {
                word.parts.remove(0);
            }
        }
        word
    }

    /// Returns a pattern for its possible texts, in which `*` stands for any text.
    pub(crate) fn as_pattern(&self) -> String {
        let parts = self.parts.iter().map(|part| match part {
            Part::Text(text) => text.as_str(),
            Part::Glob(_) | Part::Hole { .. } | Part::Pipe => "*",
        });
        parts.collect()
    }

    /// Joins words with blanks, as `eval` does.
    pub(crate) fn joined(words: &[Word]) -> Word {
        let mut all = Word::default();
        for (index, word) in words.iter().enumerate() {
            if index > 0 {
                all.push(' ');
            }
            word.parts.iter().for_each(|part| all.push_part(part.clone()));
        }
        all
    }

    pub(crate) fn render(&self) -> String {
        let mut shown = String::new();
        for part in &self.parts {
            match part {
                Part::Text(text) => shown.push_str(text),
                Part::Glob(c) => shown.push(*c),
                Part::Hole { .. } | Part::Pipe => shown.push('…'),
            }
        }
        shown
    }
}
