//! Finds prompts in the standard output of a program that prints no markers, and numbers them. A prompt ends the output
//! of the code before it on both streams: what the program had written to standard error is in its pipe by then.

use std::collections::VecDeque;

use super::scan::Segment;
use crate::adapter::Nonce;
use crate::adapter::prompt::{PromptTable, STATES, secret};

/// Splits standard output at the prompts.
#[derive(Debug)]
pub(super) struct PromptScanner {
    /// The prompt, or the secret part of it.
    text: Vec<u8>,
    /// True if the text is secret: then it is a prompt wherever it stands. A fixed prompt counts only at the end of the
    /// output, while the program waits.
    secret: bool,
    echoes: bool,
    /// Lines that the program will print as it reads them, each after a prompt.
    expected: VecDeque<Vec<u8>>,
    /// The number of bytes of the first expected line that have come; `None` if it cannot come now.
    matched: Option<usize>,
    held: Vec<u8>,
    number: u64,
}

impl PromptScanner {
    pub(super) fn new(table: &PromptTable, nonce: &Nonce) -> PromptScanner {
        let text = table.text.as_deref().unwrap_or(secret(nonce));
        PromptScanner {
            text: text.as_bytes().to_vec(),
            secret: table.text.is_none(),
            echoes: table.echoes,
            expected: VecDeque::new(),
            matched: None,
            held: Vec::new(),
            number: 0,
        }
    }

    /// Returns the number of prompts so far.
    pub(super) fn number(&self) -> u64 {
        self.number
    }

    /// Returns true if the output ends with a text that is a prompt if the program waits.
    pub(super) fn holds_prompt(&self) -> bool {
        !self.secret && !self.held.is_empty()
    }

    /// Notes lines that were written to the program.
    pub(super) fn wrote(&mut self, bytes: &[u8]) {
        // Those from before the first prompt are part of the banner.
        if self.echoes && self.number > 0 {
            self.expected.extend(bytes.split_inclusive(|&byte| byte == b'\n').map(<[u8]>::to_vec));
        }
    }

    /// Adds the next bytes and passes on the completed segments.
    pub(super) fn push(&mut self, chunk: &[u8], mut sink: impl FnMut(Segment<'_>)) {
        let mut bytes = std::mem::take(&mut self.held);
        bytes.extend_from_slice(chunk);
        let mut rest = bytes.as_slice();
        loop {
            rest = self.without_echo(rest, &mut sink);
            let Some((data, state, after)) = self.next_prompt(rest) else { break };
            if !data.is_empty() {
                sink(Segment::Data(data));
            }
            self.prompted(state, &mut sink);
            rest = after;
        }
        let held = self.possible_start(rest);
        let (data, held) = rest.split_at(rest.len() - held);
        if !data.is_empty() {
            sink(Segment::Data(data));
        }
        self.held = held.to_vec();
    }

    /// Handles a program that waits for input: what it printed last is its prompt, or not the beginning of one.
    pub(super) fn waits(&mut self, mut sink: impl FnMut(Segment<'_>)) {
        let held = std::mem::take(&mut self.held);
        if !self.secret && held == self.text {
            self.prompted(b'>', &mut sink);
        } else if !held.is_empty() {
            sink(Segment::Data(&held));
        }
    }

    /// Passes on the held bytes at the end of the stream.
    pub(super) fn finish(&mut self, mut sink: impl FnMut(Segment<'_>)) {
        let held = std::mem::take(&mut self.held);
        if !held.is_empty() {
            sink(Segment::Data(&held));
        }
    }

    fn prompted(&mut self, state: u8, sink: &mut impl FnMut(Segment<'_>)) {
        self.number += 1;
        self.matched = Some(0);
        sink(Segment::Marker { number: Some(self.number), payload: char::from(state).to_string() });
    }

    /// Removes the line that the program prints because it read it.
    fn without_echo<'a>(&mut self, bytes: &'a [u8], sink: &mut impl FnMut(Segment<'_>)) -> &'a [u8] {
        let (Some(matched), Some(line)) = (self.matched, self.expected.front()) else { return bytes };
        let left = &line[matched..];
        let same = bytes.iter().zip(left).take_while(|(a, b)| a == b).count();
        if same == left.len() {
            self.matched = None;
            self.expected.pop_front();
        } else if same == bytes.len() {
            self.matched = Some(matched + same);
        } else {
            // It is output, such as an interrupted line.
            if matched > 0 {
                sink(Segment::Data(&line[..matched]));
            }
            self.matched = None;
            self.expected.pop_front();
            return bytes;
        }
        &bytes[same..]
    }

    /// Returns the data before the next secret prompt, its state and the bytes after it.
    fn next_prompt<'a>(&self, bytes: &'a [u8]) -> Option<(&'a [u8], u8, &'a [u8])> {
        if !self.secret {
            return None;
        }
        memchr::memmem::find_iter(bytes, &self.text).find_map(|at| {
            let (state, after) = bytes[at + self.text.len()..].split_first_chunk::<2>()?;
            let is_prompt = STATES.contains(&state[0]) && state[1] == b' ';
            is_prompt.then_some((&bytes[..at], state[0], after))
        })
    }

    /// Returns the number of bytes at the end that may be a prompt, or begin one.
    fn possible_start(&self, bytes: &[u8]) -> usize {
        let longest = self.text.len() + if self.secret { 1 } else { 0 };
        let tail = &bytes[bytes.len().saturating_sub(longest)..];
        let may_begin = |part: &[u8]| match part.strip_prefix(self.text.as_slice()) {
            Some(state) => state.iter().all(|state| STATES.contains(state)),
            None => self.text.starts_with(part),
        };
        (0..tail.len()).find(|&at| may_begin(&tail[at..])).map_or(0, |at| tail.len() - at)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECRET: &str = "0123456789abcdef";

    fn scanner(table: &str) -> PromptScanner {
        let table: PromptTable = toml::from_str(&format!("show = '{{text}}'\n{table}")).expect("a table");
        PromptScanner::new(&table, &Nonce::fixed("0123456789abcdef0123456789abcdee"))
    }

    /// Adds segments to a text in which a prompt is `<number state>`.
    fn show(out: &mut String) -> impl FnMut(Segment<'_>) {
        |segment| match segment {
            Segment::Data(bytes) => out.push_str(&String::from_utf8_lossy(bytes)),
            Segment::Marker { number, payload } => out.push_str(&format!("<{} {payload}>", number.expect("a number"))),
        }
    }

    #[test]
    fn a_secret_prompt_is_found_wherever_the_stream_is_cut() {
        let text = format!("a\n{SECRET}> b{SECRET}! {SECRET}? 0123{SECRET}^ ");
        for size in 1..text.len() {
            let (mut scanner, mut out) = (scanner(""), String::new());
            text.as_bytes().chunks(size).for_each(|chunk| scanner.push(chunk, show(&mut out)));
            assert_eq!(out, format!("a\n<1 >>b<2 !>{SECRET}? 0123<3 ^>"), "by {size}");
        }
    }

    #[test]
    fn lines_that_the_program_prints_as_it_reads_them_are_left_out() {
        let text = format!("{SECRET}> .read x\n1\n{SECRET}> .re{SECRET}> .print y\ny\n{SECRET}> ");
        for size in 1..text.len() {
            let (mut scanner, mut out) = (scanner("echoes = true"), String::new());
            scanner.wrote(b"a line of the start\n");
            let (first, rest) = text.as_bytes().split_at(text.find(".read").expect("there"));
            first.chunks(size).for_each(|chunk| scanner.push(chunk, show(&mut out)));
            [&b".read x\n"[..], b".read z\n", b".print y\n"].iter().for_each(|line| scanner.wrote(line));
            rest.chunks(size).for_each(|chunk| scanner.push(chunk, show(&mut out)));
            assert_eq!(out, "<1 >>1\n<2 >>.re<3 >>y\n<4 >>", "by {size}");
        }
    }

    #[test]
    fn a_fixed_prompt_counts_only_while_the_program_waits() {
        let (mut scanner, mut out) = (scanner("text = 'odd> '"), String::new());
        scanner.push(b"hello odd> ", show(&mut out));
        assert!(scanner.holds_prompt());
        scanner.push(b"is printed\nodd", show(&mut out));
        scanner.push(b"> ", show(&mut out));
        scanner.waits(show(&mut out));
        scanner.push(b"od", show(&mut out));
        scanner.waits(show(&mut out));
        assert_eq!(out, "hello odd> is printed\n<1 >>od");
    }
}
