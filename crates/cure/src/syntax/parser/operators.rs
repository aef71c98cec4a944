//! Operators between values. Each function returns the height of its tree, so that chains of operators, which nest to the
//! left without recursion, are bounded like everything else.

use rowan::Checkpoint;

use super::{MAX_HEIGHT, Parser};
use crate::syntax::IN_PART;
use crate::syntax::kind::SyntaxKind as K;

/// A chain of operators that is as high as this goes on in one node, whose parts of [`IN_PART`] operands are computed one
/// after the other.
const CHAINED: u32 = 48;
/// The most operands of that node.
const MOST_CHAINED: u32 = 1_000;

impl Parser<'_> {
    /// Operators by precedence.
    pub(super) fn operators(&mut self) -> u32 {
        self.climb(0)
    }

    fn climb(&mut self, least: u8) -> u32 {
        let start = self.checkpoint();
        let mut height = self.unary();
        while let Some((power, to_the_right)) = self.peek().binding() {
            if power < least || self.next_clause() {
                break;
            }
            if self.is(K::AsKw) && height < MAX_HEIGHT {
                self.node_at(start, K::AsExpr, |p| {
                    p.bump();
                    p.type_expr();
                });
                height += 1;
                continue;
            }
            if height >= MAX_HEIGHT {
                self.too_deep();
                self.bump();
                self.deeper(|p| p.climb(power + 1));
                continue;
            }
            height = if to_the_right {
                self.right_chain(start, power, height)
            } else if height >= CHAINED {
                self.chain(start, height, |p| {
                    p.peek().binding().filter(|(power, right)| *power >= least && !right && !p.is(K::AsKw))
                })
            } else {
                self.node_at(start, K::BinaryExpr, |p| {
                    p.bump();
                    let right = p.deeper(|p| p.climb(power + 1));
                    right.max(height + 1)
                })
            };
        }
        if least == 0 && self.foreign_or() {
            return height + 1;
        }
        height
    }

    /// Parses a chain of right-associative operators of one precedence. Its tree is as deep as the chain is long, but
    /// the parser does not recurse.
    fn right_chain(&mut self, start: Checkpoint, power: u8, first: u32) -> u32 {
        let mut heights = vec![first];
        let mut start = start;
        let again = |p: &Self| p.peek().binding() == Some((power, true)) && !p.next_clause();
        while again(self) {
            if heights.len() as u32 > CHAINED {
                // In whichever order equal ones of these are computed, they give the same.
                let kind = if self.is(K::MinusMinus) { K::Eof } else { self.peek() };
                let last = heights.pop().unwrap_or(first);
                let mut height = self.chain(start, last, |p| p.peek().binding().filter(|_| p.is(kind)));
                while again(self) {
                    self.too_deep();
                    height = self.chain(start, height, |p| p.peek().binding().filter(|_| again(p)));
                }
                heights.push(height);
                break;
            }
            self.builder.start_node_at(start, rowan::SyntaxKind(K::BinaryExpr as u16));
            self.bump();
            start = self.checkpoint();
            let right = self.deeper(|p| p.climb(power + 1));
            heights.push(right);
        }
        let mut height = heights.pop().unwrap_or(first);
        for left in heights.into_iter().rev() {
            self.builder.finish_node();
            height = height.max(left) + 1;
        }
        height
    }

    /// The rest of a long chain, side by side in one node: `next` says whether its next operator follows.
    fn chain(&mut self, start: Checkpoint, height: u32, next: impl Fn(&Self) -> Option<(u8, bool)>) -> u32 {
        self.node_at(start, K::BinaryExpr, |p| {
            let (mut highest, mut count) = (height, 0);
            while count < MOST_CHAINED {
                let Some((power, _)) = next(p).filter(|_| !p.next_clause()) else { break };
                p.bump();
                highest = highest.max(p.deeper(|p| p.climb(power + 1)));
                count += 1;
            }
            highest + count.min(IN_PART)
        })
    }

    fn unary(&mut self) -> u32 {
        match self.peek() {
            K::Minus | K::Plus | K::NotKw => self.node(K::UnaryExpr, |p| {
                p.bump();
                p.deeper(|p| p.unary())
            }),
            _ => self.postfix(),
        }
    }
}
