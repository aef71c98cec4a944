//! State of a form: it takes keys and returns steps. It does not access the terminal.

use std::cell::Cell;

use serde_json::{Map, Value};

use super::Answer;
use super::draft::{Draft, FieldDraft, typed, values, yes_or_no};
use super::question::{Field, Kind, Question};
use crate::editor::Editor;
use crate::terminal::Key;

/// Effect of a key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Step {
    Stay,
    Give(Answer),
    Leave,
}

/// Element that receives keys.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Focus {
    Field(usize),
    Note,
    Send,
}

/// Contents of a field.
#[derive(Debug, Clone)]
pub(super) enum Entry {
    /// A read-only field.
    Nothing,
    /// A text, a number, a date, or the word yes or no.
    Text(Editor),
    Options(Options),
}

/// Options chosen by rows. The last row takes free text if the field allows it.
#[derive(Debug, Clone, Default)]
pub(super) struct Options {
    pub(super) row: usize,
    pub(super) chosen: Vec<bool>,
    pub(super) other: Option<Editor>,
    pub(super) are_many: bool,
}

/// A form being filled in.
#[derive(Debug)]
pub(super) struct State {
    pub(super) question: Question,
    pub(super) entries: Vec<Entry>,
    pub(super) note: Editor,
    pub(super) focus: Focus,
    /// Reason why the last answer was rejected, with the field if one is at fault.
    pub(super) problem: Option<(Option<String>, String)>,
    /// True if the next Ctrl-D declines the question.
    pub(super) warns_of_refusal: bool,
    /// First visible line, if the person scrolled. Otherwise the focused element is kept visible.
    pub(super) scroll: Option<usize>,
    /// Last drawn range: first line, number of visible lines, total number of lines.
    pub(super) shown: Cell<(usize, usize, usize)>,
    /// True once keys count. Keys pressed before the form was drawn are ignored.
    pub(super) takes_keys: bool,
    /// True if the keyboard has been quiet since the last key.
    pub(super) is_settled: bool,
    /// True if the screen has shown everything that the next key sends. Set by drawing.
    pub(super) is_ready: Cell<bool>,
    /// Seconds since the form was opened.
    pub(super) open_s: u64,
}

impl State {
    /// Creates a form at its top, with the person's earlier draft and a note.
    pub(super) fn new(question: Question, note: &str, draft: &Draft) -> State {
        let entries = question.fields.iter().map(|field| {
            let mut entry = entry(&question, field);
            if let Some(left) = draft.fields.get(&field.id).filter(|_| question.is_kept(field)) {
                entry.restore(field, left);
            }
            entry
        });
        let entries: Vec<Entry> = entries.collect();
        let note = if note.is_empty() { draft.note.as_deref().unwrap_or_default() } else { note };
        let (note, focus) = (Editor::new(note, false), Focus::Send);
        let (scroll, shown) = (Some(0), Cell::default());
        let mut state = State {
            question,
            entries,
            note,
            focus,
            problem: None,
            warns_of_refusal: false,
            scroll,
            shown,
            takes_keys: true,
            is_settled: false,
            is_ready: Cell::new(false),
            open_s: 0,
        };
        state.focus = state.stops()[0];
        state
    }

    /// Shows why the answer was rejected, at the field if one is named.
    pub(super) fn refuse(&mut self, field: Option<String>, why: String) {
        if let Some(at) = self.question.fields.iter().position(|known| Some(&known.id) == field.as_ref())
            && self.is_asked(at)
        {
            self.focus = Focus::Field(at);
        }
        self.scroll = None;
        self.problem = Some((field, why));
    }

    pub(super) fn press(&mut self, key: Key) -> Step {
        let is_ready = self.is_ready.replace(false);
        self.is_settled = false;
        let warned = std::mem::take(&mut self.warns_of_refusal);
        let (first, height, lines) = self.shown.get();
        let page = height.saturating_sub(1).max(1);
        self.scroll = match key {
            Key::PageUp => Some(first.saturating_sub(page)),
            Key::PageDown => Some((first + page).min(lines.saturating_sub(height))),
            _ => None,
        };
        if self.scroll.is_some() {
            return Step::Stay;
        }
        match key {
            Key::Escape | Key::Ctrl('c') => return Step::Leave,
            Key::Enter if self.focus == Focus::Send && is_ready && !warned => {
                return Step::Give(Answer::Values { values: self.values(), note: self.noted() });
            }
            Key::Ctrl('s') => self.focus = Focus::Send,
            Key::Ctrl('d') if warned && is_ready => return Step::Give(Answer::Decline { note: self.noted() }),
            Key::Ctrl('d') => self.warns_of_refusal = true,
            Key::Tab => self.step(1),
            Key::BackTab => self.step(-1),
            key => self.press_here(key),
        }
        Step::Stay
    }

    fn press_here(&mut self, key: Key) {
        let before = self.values();
        let mut is_corrected = is_edit(&key);
        let moved = match self.focus {
            Focus::Send => match key {
                Key::Up | Key::Left => Movement::Back,
                // Enter in a line meant for a shell returns to the field, so that it sends nothing.
                key if is_edit(&key) => {
                    self.focus = Focus::Note;
                    edit(&mut self.note, key)
                }
                _ => Movement::Stay,
            },
            Focus::Note => match key {
                Key::Enter => Movement::On,
                key => edit(&mut self.note, key),
            },
            Focus::Field(at) if self.question.fields[at].kind == Kind::Boolean => self.press_boolean(at, key),
            Focus::Field(at) => self.entries[at].press(key),
        };
        is_corrected |= self.values() != before;
        // The error stays visible until the contents change.
        if is_corrected {
            self.problem = None;
        }
        match moved {
            Movement::Stay => {}
            Movement::Back => self.step(-1),
            Movement::On => self.step(1),
            Movement::Done => self.go_on(),
        }
    }

    /// Handles a key in a yes-or-no field. The word must be complete. Arrow keys write it, unless the question is dangerous.
    fn press_boolean(&mut self, at: usize, key: Key) -> Movement {
        let (is_dangerous, is_required) = (self.question.is_dangerous(), self.question.fields[at].required);
        let Entry::Text(editor) = &mut self.entries[at] else { return Movement::Stay };
        let is_whole = yes_or_no(editor.text()).is_some();
        match key {
            Key::Left if !is_dangerous => *editor = Editor::new("yes", false),
            Key::Right if !is_dangerous => *editor = Editor::new("no", false),
            // The first letter of the other word replaces a complete word.
            Key::Char(c) if !is_dangerous && is_whole && c.is_alphabetic() => {
                *editor = Editor::new(c.encode_utf8(&mut [0; 4]), false);
            }
            Key::Enter if is_whole || (editor.text().is_empty() && !is_required) => return Movement::Done,
            Key::Enter => {
                self.problem = Some((Some(self.question.fields[at].id.clone()), "type yes or no in full".to_owned()));
            }
            key => return edit(editor, key),
        }
        Movement::Stay
    }

    /// Returns the focusable elements from top to bottom.
    fn stops(&self) -> Vec<Focus> {
        let fields =
            (0..self.entries.len()).filter(|&at| self.is_asked(at) && !matches!(self.entries[at], Entry::Nothing));
        fields.map(Focus::Field).chain([Focus::Note, Focus::Send]).collect()
    }

    fn step(&mut self, by: isize) {
        let stops = self.stops();
        let at = stops.iter().position(|stop| *stop == self.focus).unwrap_or_default();
        self.focus = stops[at.saturating_add_signed(by).min(stops.len() - 1)];
    }

    /// Moves to the next field, and after the last one to the button. The note, which few people need, is skipped.
    fn go_on(&mut self) {
        self.step(1);
        if self.focus == Focus::Note {
            self.focus = Focus::Send;
        }
    }

    /// True if the condition of a field holds.
    pub(super) fn is_asked(&self, at: usize) -> bool {
        self.question.is_asked(at, &self.values())
    }

    /// Returns the values of the visible fields. An invalid number is sent as typed: the receiver reports the error.
    pub(super) fn values(&self) -> Map<String, Value> {
        // An option and another text are never chosen together here.
        values(&self.question, &self.contents()).unwrap_or_default()
    }

    fn contents(&self) -> Draft {
        let fields = self.question.fields.iter().zip(&self.entries);
        let fields = fields.filter_map(|(field, entry)| Some((field.id.clone(), entry.draft(field)?)));
        Draft { fields: fields.collect(), note: self.noted() }
    }

    /// Returns the texts that the person typed, by field name, and the note.
    pub(super) fn typed(&self) -> Vec<(String, String)> {
        typed(&self.question, &self.contents())
    }

    /// Returns the changed contents, to restore when the form is opened again; `None` if nothing changed.
    pub(super) fn draft(&self) -> Option<Draft> {
        let fields = self.question.fields.iter().zip(&self.entries).filter(|(field, _)| self.question.is_kept(field));
        let changed = fields.filter_map(|(field, now)| {
            let left = now.draft(field);
            (left != entry(&self.question, field).draft(field)).then(|| Some((field.id.clone(), left?))).flatten()
        });
        let draft = Draft { fields: changed.collect(), note: self.noted() };
        (draft != Draft::default()).then_some(draft)
    }

    fn noted(&self) -> Option<String> {
        Some(self.note.text().trim()).filter(|note| !note.is_empty()).map(str::to_owned)
    }
}

/// Direction in which a key moves from a field.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Movement {
    Stay,
    Back,
    On,
    /// The field is complete.
    Done,
}

impl Entry {
    fn press(&mut self, key: Key) -> Movement {
        match self {
            Entry::Nothing => Movement::On,
            Entry::Text(editor) if key == Key::Enter && !editor.is_multiline => Movement::Done,
            Entry::Text(editor) => edit(editor, key),
            Entry::Options(options) => options.press(key),
        }
    }

    /// Returns the contents for a draft.
    fn draft(&self, field: &Field) -> Option<FieldDraft> {
        match self {
            Entry::Nothing => None,
            Entry::Text(editor) => Some(FieldDraft { text: editor.text().to_owned(), ..FieldDraft::default() }),
            Entry::Options(options) => {
                let chosen = options.chosen.iter().zip(&field.options).filter(|(chosen, _)| **chosen);
                let text = options.other.as_ref().map(|other| other.text().to_owned()).unwrap_or_default();
                Some(FieldDraft { text, chosen: chosen.map(|(_, option)| option.id.clone()).collect() })
            }
        }
    }

    fn restore(&mut self, field: &Field, left: &FieldDraft) {
        match self {
            Entry::Nothing => {}
            Entry::Text(editor) => *editor = Editor::new(&left.text, editor.is_multiline),
            Entry::Options(options) => {
                options.chosen = field.options.iter().map(|option| left.chosen.contains(&option.id)).collect();
                options.row = options.chosen.iter().position(|chosen| *chosen).unwrap_or_default();
                if let Some(other) = &mut options.other {
                    *other = Editor::new(&left.text, false);
                    if !left.text.is_empty() {
                        options.row = options.chosen.len();
                    }
                }
            }
        }
    }
}

impl Options {
    fn rows(&self) -> usize {
        self.chosen.len() + usize::from(self.other.is_some())
    }

    fn press(&mut self, key: Key) -> Movement {
        match key {
            Key::Up if self.row == 0 => return Movement::Back,
            Key::Down if self.row + 1 == self.rows() => return Movement::On,
            Key::Up => self.row -= 1,
            Key::Down => self.row += 1,
            key if self.row == self.chosen.len() => return self.press_other(key),
            Key::Char(' ') if self.are_many => self.choose(false),
            Key::Char(' ') => {}
            Key::Enter if self.are_many => return Movement::Done,
            Key::Enter => {
                self.choose(true);
                return Movement::Done;
            }
            // Characters typed on the list go into the free text.
            Key::Char(_) | Key::Paste(_) if self.other.is_some() => {
                self.row = self.chosen.len();
                return self.press_other(key);
            }
            _ => {}
        }
        Movement::Stay
    }

    fn press_other(&mut self, key: Key) -> Movement {
        let Some(editor) = &mut self.other else { return Movement::Stay };
        if key == Key::Enter {
            return Movement::Done;
        }
        let moved = edit(editor, key);
        if !self.are_many && !editor.text().trim().is_empty() {
            self.chosen.fill(false);
        }
        moved
    }

    /// Chooses the row under the cursor. If several may be chosen, toggles it unless `on`.
    fn choose(&mut self, on: bool) {
        let row = self.row;
        if !self.are_many {
            self.chosen.fill(false);
            if let (true, Some(editor)) = (row < self.chosen.len(), &mut self.other) {
                *editor = Editor::default();
            }
        }
        if let Some(chosen) = self.chosen.get_mut(row) {
            *chosen = on || !*chosen || !self.are_many;
        }
    }
}

/// Creates the entry of a field with its default.
fn entry(question: &Question, field: &Field) -> Entry {
    let mut entry = match field.kind {
        Kind::Note => Entry::Nothing,
        Kind::Choice | Kind::Multichoice => Entry::Options(Options {
            row: 0,
            chosen: vec![false; field.options.len()],
            other: field.other.then(Editor::default),
            are_many: field.kind == Kind::Multichoice,
        }),
        kind => Entry::Text(Editor::new("", kind == Kind::Multiline)),
    };
    entry.restore(field, &FieldDraft::from_default(question, field));
    entry
}

/// True if a key may change the contents.
fn is_edit(key: &Key) -> bool {
    matches!(key, Key::Char(_) | Key::Paste(_) | Key::Backspace | Key::Delete | Key::Ctrl('u' | 'w'))
}

/// Handles a key in a text.
fn edit(editor: &mut Editor, key: Key) -> Movement {
    match key {
        Key::Up if !editor.up() => return Movement::Back,
        Key::Down if !editor.down() => return Movement::On,
        Key::Up | Key::Down => {}
        key => editor.press(key),
    }
    Movement::Stay
}
