//! The bytes between the nodes of a tree, and comments: places where the grammar and a shell may disagree.

use std::ops::Range;

use tree_sitter::Node;

use super::tree::{Reader, UNREADABLE};

impl Reader<'_> {
    /// Returns the children of a node. The bytes between them must be blanks.
    pub(super) fn children<'t>(&mut self, node: Node<'t>) -> Vec<Node<'t>> {
        let children: Vec<Node<'t>> = node.children(&mut node.walk()).collect();
        let mut end = node.start_byte();
        for child in &children {
            self.gap(end..child.start_byte());
            end = child.end_byte();
            if child.kind() == "comment" && !self.is_comment(*child) {
                self.script.set_opaque(UNREADABLE);
            }
        }
        self.gap(end..node.end_byte());
        children.into_iter().filter(|child| child.kind() != "comment").collect()
    }

    fn gap(&mut self, range: Range<usize>) {
        let Some(gap) = self.text.get(range.clone()).filter(|gap| !gap.is_empty()) else { return };
        let is_blank = |c: char| matches!(c, ' ' | '\t' | '\r' | '\n');
        // The grammar has no node for the operand `-` before a here-document.
        if gap.trim_matches(' ') == "-" && gap.starts_with(' ') && self.text[range.end..].starts_with("<<") {
            return;
        }
        let without_continuations = gap.replace("\\\n", "");
        // A line continuation inside a word joins it.
        let before = self.text[..range.start].chars().next_back();
        let after = self.text[range.end..].chars().next();
        let parts = |c: Option<char>| c.is_none_or(|c| is_blank(c) || ";&|<>()".contains(c));
        let is_part_of_word = without_continuations.is_empty() && !parts(before) && !parts(after);
        if is_part_of_word || !without_continuations.chars().all(is_blank) {
            self.script.set_opaque(UNREADABLE);
        }
    }

    /// Returns true if a shell also reads a comment here.
    fn is_comment(&self, node: Node<'_>) -> bool {
        let before = self.text[..node.start_byte()].chars().next_back();
        !self.source(node).contains('\n') && before.is_none_or(|c| " \t\n;&|()".contains(c))
    }
}
