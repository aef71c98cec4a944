//! Patterns in which `*` stands for any text.

/// Returns true if a text matches a pattern in which `*` stands for any text.
pub(crate) fn glob(pattern: &str, text: &str) -> bool {
    let Some((first, rest)) = pattern.split_once('*') else { return pattern == text };
    let Some(mut left) = text.strip_prefix(first) else { return false };
    let mut pieces: Vec<&str> = rest.split('*').collect();
    let last = pieces.pop().unwrap_or_default();
    for piece in pieces {
        match left.find(piece) {
            Some(at) => left = &left[at + piece.len()..],
            None => return false,
        }
    }
    left.len() >= last.len() && left.ends_with(last)
}

/// Returns true if any text matches both patterns.
pub(super) fn intersects(one: &str, other: &str) -> bool {
    let (one, other): (Vec<char>, Vec<char>) = (one.chars().take(200).collect(), other.chars().take(200).collect());
    // meets[b]: true if the rest of `one` from `a` on and the rest of `other` from `b` on can match the same text.
    let ends = |rest: &[char]| rest.iter().all(|c| *c == '*');
    let mut meets: Vec<bool> = (0..=other.len()).map(|b| ends(&other[b..])).collect();
    for a in (0..one.len()).rev() {
        let mut row = vec![false; other.len() + 1];
        row[other.len()] = ends(&one[a..]);
        for b in (0..other.len()).rev() {
            row[b] = match (one[a], other[b]) {
                // A star matches nothing, or the other pattern's next character.
                ('*', _) | (_, '*') => meets[b] || row[b + 1],
                (x, y) => x == y && meets[b + 1],
            };
        }
        meets = row;
    }
    meets[0]
}
