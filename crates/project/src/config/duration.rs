//! Times in configuration files: `"45s"`, `"30m"`, `"2h"`, `"never"`.

use std::time::Duration;

use serde::de::Error as _;
use serde::{Deserialize, Deserializer};

/// A time limit that may be unbounded, parsed from text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Limit {
    After(Duration),
    Never,
}

impl Limit {
    /// Returns the time, unless it is unbounded.
    pub fn duration(self) -> Option<Duration> {
        match self {
            Limit::After(duration) => Some(duration),
            Limit::Never => None,
        }
    }

    fn parse(text: &str) -> Option<Limit> {
        if text == "never" {
            return Some(Limit::Never);
        }
        let unit = text.chars().last()?;
        let seconds = match unit {
            's' => 1,
            'm' => 60,
            'h' => 3600,
            'd' => 86_400,
            _ => return None,
        };
        let count: u32 = text[..text.len() - 1].parse().ok().filter(|count| (1..=100_000).contains(count))?;
        Some(Limit::After(Duration::from_secs(u64::from(count) * seconds)))
    }
}

impl<'de> Deserialize<'de> for Limit {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Limit, D::Error> {
        let text = String::deserialize(deserializer)
            .map_err(|_| D::Error::custom("a duration must be a string: \"45s\", \"30m\", \"2h\" or \"never\""))?;
        Limit::parse(&text).ok_or_else(|| {
            D::Error::custom(format!("\"{text}\" is not a valid duration; write \"45s\", \"30m\", \"2h\" or \"never\""))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn forms() {
        let seconds = |text| Limit::parse(text).map(|limit| limit.duration().map(|duration| duration.as_secs()));
        assert_eq!(seconds("45s"), Some(Some(45)));
        assert_eq!(seconds("30m"), Some(Some(1800)));
        assert_eq!(seconds("2h"), Some(Some(7200)));
        assert_eq!(seconds("never"), Some(None));
        for wrong in ["", "m", "0s", "-1s", "1.5h", "30", "30 m", "9999999999d", "ü"] {
            assert_eq!(seconds(wrong), None, "{wrong}");
        }
    }
}
