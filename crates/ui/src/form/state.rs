//! State of a form: it takes keys and returns steps. It does not access the terminal.

use std::cell::Cell;

use serde_json::{Map, Value};

use super::Answer;
use super::draft::{Draft, FieldDraft, Problem, typed, values, yes_or_no};
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
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) enum Focus {
    Field(usize),
    Note,
    #[default]
    Send,
}

/// Contents of a field.
#[derive(Debug, Clone)]
pub(super) struct Entry {
    /// A text, a number, a date, or the word yes or no. Of options: the free text, which the last row takes.
    pub(super) text: Editor,
    /// The ids of the chosen options.
    pub(super) chosen: Vec<String>,
    /// The row of the options under the cursor.
    pub(super) row: usize,
}

/// A form being filled in.
#[derive(Debug, Default)]
pub(super) struct State {
    pub(super) question: Question,
    pub(super) entries: Vec<Entry>,
    pub(super) note: Editor,
    pub(super) focus: Focus,
    /// Reason why the last answer was rejected.
    pub(super) problem: Option<Problem>,
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
            let left = draft.fields.get(&field.id).filter(|_| question.is_kept(field)).cloned();
            Entry::new(field, left.unwrap_or_else(|| FieldDraft::from_default(&question, field)))
        });
        let note = if note.is_empty() { draft.note.as_deref().unwrap_or_default() } else { note };
        let (entries, note) = (entries.collect(), Editor::new(note, false));
        let mut state = State { entries, note, question, scroll: Some(0), takes_keys: true, ..State::default() };
        state.focus = state.stops()[0];
        state
    }

    /// Shows why the answer was rejected, at the field if one is named.
    pub(super) fn refuse(&mut self, problem: Problem) {
        if let Some(at) = self.question.fields.iter().position(|known| Some(&known.id) == problem.field.as_ref())
            && self.is_asked(at)
        {
            self.focus = Focus::Field(at);
        }
        self.scroll = None;
        self.problem = Some(problem);
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
            Focus::Field(at) => self.entries[at].press(&self.question.fields[at], key),
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
        let (is_dangerous, field) = (self.question.is_dangerous(), &self.question.fields[at]);
        let editor = &mut self.entries[at].text;
        let is_whole = yes_or_no(editor.text()).is_some();
        match key {
            Key::Left if !is_dangerous => *editor = Editor::new("yes", false),
            Key::Right if !is_dangerous => *editor = Editor::new("no", false),
            // The first letter of the other word replaces a complete word.
            Key::Char(c) if !is_dangerous && is_whole && c.is_alphabetic() => {
                *editor = Editor::new(c.encode_utf8(&mut [0; 4]), false);
            }
            Key::Enter if is_whole || (editor.text().is_empty() && !field.required) => return Movement::Done,
            Key::Enter => {
                let why = "type yes or no in full".to_owned();
                self.problem = Some(Problem { field: Some(field.id.clone()), why });
            }
            key => return edit(editor, key),
        }
        Movement::Stay
    }

    /// Returns the focusable elements from top to bottom.
    fn stops(&self) -> Vec<Focus> {
        let is_stop = |at: &usize| self.is_asked(*at) && self.question.fields[*at].kind != Kind::Note;
        (0..self.entries.len()).filter(is_stop).map(Focus::Field).chain([Focus::Note, Focus::Send]).collect()
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
        let fields = fields.map(|(field, entry)| (field.id.clone(), entry.draft(field)));
        Draft { fields: fields.collect(), note: self.noted() }
    }

    /// Returns the texts that the person typed, by field name, and the note.
    pub(super) fn typed(&self) -> Vec<(String, String)> {
        typed(&self.question, &self.contents())
    }

    /// Returns the changed contents, to restore when the form is opened again; `None` if nothing changed.
    pub(super) fn draft(&self) -> Option<Draft> {
        let untouched = State::new(self.question.clone(), "", &Draft::default()).contents();
        let fields = &self.question.fields;
        let is_kept = |id: &String| fields.iter().any(|field| field.id == *id && self.question.is_kept(field));
        let mut draft = self.contents();
        draft.fields.retain(|id, now| is_kept(id) && untouched.fields.get(id) != Some(now));
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
    fn new(field: &Field, left: FieldDraft) -> Entry {
        let chosen = field.options.iter().position(|option| left.chosen.contains(&option.id)).unwrap_or_default();
        let takes_text = field.options.is_empty() || field.other;
        let text = if takes_text { left.text.as_str() } else { "" };
        let row = if text.is_empty() { chosen } else { field.options.len() };
        Entry { text: Editor::new(text, field.kind == Kind::Multiline), chosen: left.chosen, row }
    }

    /// Returns the contents for a draft.
    fn draft(&self, field: &Field) -> FieldDraft {
        let ids = field.options.iter().map(|option| option.id.clone());
        FieldDraft { text: self.text.text().to_owned(), chosen: ids.filter(|id| self.chosen.contains(id)).collect() }
    }

    fn press(&mut self, field: &Field, key: Key) -> Movement {
        match field.kind {
            Kind::Choice | Kind::Multichoice => self.press_options(field, key),
            Kind::Multiline => edit(&mut self.text, key),
            _ if key == Key::Enter => Movement::Done,
            _ => edit(&mut self.text, key),
        }
    }

    fn press_options(&mut self, field: &Field, key: Key) -> Movement {
        let are_many = field.kind == Kind::Multichoice;
        match (key, field.options.get(self.row)) {
            (Key::Up, _) if self.row == 0 => return Movement::Back,
            (Key::Down, _) if self.row + 1 >= field.options.len() + usize::from(field.other) => return Movement::On,
            (Key::Up, _) => self.row -= 1,
            (Key::Down, _) => self.row += 1,
            (Key::Char(' '), Some(option)) if are_many => match self.chosen.iter().position(|id| *id == option.id) {
                Some(at) => drop(self.chosen.remove(at)),
                None => self.chosen.push(option.id.clone()),
            },
            (Key::Char(' '), Some(_)) => {}
            (Key::Enter, option) => {
                if let Some(option) = option.filter(|_| !are_many) {
                    (self.chosen, self.text) = (vec![option.id.clone()], Editor::default());
                }
                return Movement::Done;
            }
            // Characters typed on the options go into the free text.
            (key, option) if field.other && (option.is_none() || matches!(key, Key::Char(_) | Key::Paste(_))) => {
                self.row = field.options.len();
                let moved = edit(&mut self.text, key);
                if !are_many && !self.text.text().trim().is_empty() {
                    self.chosen.clear();
                }
                return moved;
            }
            _ => {}
        }
        Movement::Stay
    }
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
