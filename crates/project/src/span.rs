//! Spans of time in words for people.

/// Formats a span in its largest unit, rounded.
pub fn span(seconds: u64) -> String {
    let nearest = |unit: u64| (seconds + unit / 2) / unit;
    match seconds {
        0..120 => format!("{seconds} s"),
        _ if nearest(60) < 120 => format!("{} min", nearest(60)),
        _ if nearest(3600) < 48 => format!("{} h", nearest(3600)),
        _ => format!("{} days", nearest(86_400)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_just_begun_is_whole() {
        let said = [0, 119, 120, 3599, 7199, 86_399, 86_400, 172_799, 30 * 86_400 - 1].map(span).join(", ");
        assert_eq!(said, "0 s, 119 s, 2 min, 60 min, 2 h, 24 h, 24 h, 2 days, 30 days");
    }
}
