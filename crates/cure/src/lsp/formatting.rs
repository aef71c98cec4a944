//! `textDocument/formatting`: the style of `hob cure fmt`, as the smallest change of whole lines, so that the cursor stays
//! where it is.

use super::documents::Document;
use super::messages::TextEdit;
use super::positions::Encoding;
use crate::diagnostic::Span;
use crate::syntax::format;

/// The changes that format a document; none if it is formatted or has errors in its syntax.
pub(super) fn formatting(document: &Document, encoding: Encoding) -> Vec<TextEdit> {
    let old = &*document.text;
    let Ok(new) = format(old) else { return Vec::new() };
    if new == old {
        return Vec::new();
    }
    let lines = |text: &'_ str| text.split_inclusive('\n').map(str::len).collect::<Vec<_>>();
    let (old_lines, new_lines) = (lines(old), lines(&new));
    let mut start = 0;
    for (one, other) in old_lines.iter().zip(&new_lines) {
        if one != other || old[start..start + one] != new[start..start + one] {
            break;
        }
        start += one;
    }
    let (mut end, mut new_end) = (old.len(), new.len());
    for (one, other) in old_lines.iter().rev().zip(new_lines.iter().rev()) {
        let fits = one == other && end - one >= start && new_end - one >= start;
        if !fits || old[end - one..end] != new[new_end - one..new_end] {
            break;
        }
        (end, new_end) = (end - one, new_end - one);
    }
    let range = document.range(Span::new(start, end), encoding);
    vec![TextEdit { range, new_text: new[start..new_end].to_owned() }]
}
