//! Line starts and indentation of a text, computed once, so that a lookup is cheap even in a line of megabytes.

/// The lines of a text.
#[derive(Debug, Default)]
pub(super) struct Layout {
    /// The start of each line.
    starts: Vec<u32>,
    /// The indentation of each line.
    indents: Vec<u32>,
}

impl Layout {
    pub(super) fn new(text: &str) -> Layout {
        let mut layout = Layout::default();
        let mut start = 0;
        for line in text.split_inclusive('\n') {
            layout.starts.push(start);
            layout.indents.push(line.bytes().take_while(|byte| matches!(byte, b' ' | b'\t')).count() as u32);
            start += line.len() as u32;
        }
        layout
    }

    /// The indentation of the line that contains this byte.
    pub(super) fn indent(&self, at: u32) -> u32 {
        let line = self.starts.partition_point(|start| *start <= at);
        line.checked_sub(1).map_or(0, |line| self.indents[line])
    }
}
