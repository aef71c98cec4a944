//! A word of a command: text, with holes where only running could tell what stands there.

/// A word.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Word {
    pub(crate) parts: Vec<Part>,
    /// Whether it has characters of a pattern for file names that are not quoted.
    pub(crate) is_glob: bool,
    /// Whether anything in it is quoted: then it is no reserved word.
    pub(crate) is_quoted: bool,
}

/// A piece of a word.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Part {
    Text(String),
    /// Anything; `several` words of it, or none, if it is not quoted.
    Hole {
        several: bool,
    },
}

impl Word {
    /// A word without holes.
    pub(crate) fn known(text: &str) -> Word {
        Word { parts: vec![Part::Text(text.to_owned())], ..Word::default() }
    }

    /// Any words, or none.
    pub(crate) fn hole() -> Word {
        Word { parts: vec![Part::Hole { several: true }], ..Word::default() }
    }

    /// A path that begins with this word.
    pub(crate) fn below(place: &Word) -> Word {
        let mut word = place.clone();
        word.push_hole(false);
        word
    }

    pub(crate) fn push(&mut self, c: char) {
        match self.parts.last_mut() {
            Some(Part::Text(text)) => text.push(c),
            _ => self.parts.push(Part::Text(c.to_string())),
        }
    }

    pub(crate) fn push_hole(&mut self, several: bool) {
        self.parts.push(Part::Hole { several });
    }

    /// Its text, if it has no holes.
    pub(crate) fn text(&self) -> Option<&str> {
        match self.parts.as_slice() {
            [] => Some(""),
            [Part::Text(text)] => Some(text),
            _ => None,
        }
    }

    /// The text that it begins with.
    pub(crate) fn start(&self) -> &str {
        match self.parts.first() {
            Some(Part::Text(text)) => text,
            _ => "",
        }
    }

    /// Whether it may be several words, or none.
    pub(crate) fn is_several(&self) -> bool {
        self.parts.contains(&Part::Hole { several: true })
    }

    pub(crate) fn has_hole(&self) -> bool {
        self.parts.iter().any(|part| matches!(part, Part::Hole { .. }))
    }

    /// The word without its first bytes, which are text.
    pub(crate) fn without_start(&self, bytes: usize) -> Word {
        let mut word = self.clone();
        if let Some(Part::Text(text)) = word.parts.first_mut() {
            *text = text.get(bytes..).unwrap_or_default().to_owned();
        }
        word
    }

    pub(crate) fn shown(&self) -> String {
        self.parts
            .iter()
            .map(|part| match part {
                Part::Text(text) => text.as_str(),
                Part::Hole { .. } => "…",
            })
            .collect()
    }
}
