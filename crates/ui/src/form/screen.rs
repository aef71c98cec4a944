//! A form on the terminal: it shows the state, reads keys, and submits the answer.

use std::io;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use super::draft::{Draft, Problem};
use super::draw::draw;
use super::question::Question;
use super::state::{State, Step};
use super::{Outcome, Questioner, Refusal};
use crate::terminal::{ENDING, Readiness, Screen, discard_keys, flag_of, read_key, wait_for_keys};

/// Interval at which the form checks whether the question was closed elsewhere. Keys closer together than this count as
/// pasted, and send nothing.
const LOOK: Duration = Duration::from_millis(50);

/// Shows a question on the terminal, starting from an earlier draft, until the answer is accepted or the person leaves.
///
/// # Errors
/// Fails if the terminal cannot be used.
pub fn fill(question: Question, note: &str, draft: &Draft, questioner: &mut dyn Questioner) -> io::Result<Outcome> {
    let mut state = State::new(question, note, draft);
    let begun = Instant::now();
    let ends = flag_of(&ENDING)?;
    let mut screen = Screen::take()?;
    state.takes_keys = false;
    screen.terminal.draw(|frame| draw(frame, &state))?;
    // Keys typed before the question was visible are discarded. Hints for keys appear only once those keys work.
    discard_keys();
    state.takes_keys = true;
    screen.terminal.draw(|frame| draw(frame, &state))?;
    loop {
        if ends.load(Ordering::Relaxed) {
            return Ok(Outcome::Left { draft: state.draft() });
        }
        if let Some(why) = questioner.closed() {
            return Ok(Outcome::Closed { why, typed: state.typed() });
        }
        // The age of the question is shown.
        let open_s = begun.elapsed().as_secs();
        if state.open_s != open_s {
            state.open_s = open_s;
            screen.terminal.draw(|frame| draw(frame, &state))?;
        }
        match wait_for_keys(LOOK)? {
            Readiness::Gone => return Ok(Outcome::Left { draft: state.draft() }),
            Readiness::Part => continue,
            Readiness::Nothing => {
                if !state.is_settled {
                    state.is_settled = true;
                    screen.terminal.draw(|frame| draw(frame, &state))?;
                }
                continue;
            }
            Readiness::Event => {}
        }
        questioner.typed();
        // All pending keys are handled before the form is drawn again, so that fast typing does not lag.
        loop {
            match read_key()?.map_or(Step::Stay, |key| state.press(key)) {
                Step::Stay => {}
                // Keys typed later belong to the shell.
                Step::Leave => return Ok(Outcome::Left { draft: state.draft() }),
                Step::Give(answer) => match questioner.give(&answer) {
                    Ok(()) => return Ok(Outcome::Given),
                    Err(Refusal::Closed { why }) => return Ok(Outcome::Closed { why, typed: state.typed() }),
                    Err(Refusal::Again { field, why }) => state.refuse(Problem { field, why }),
                },
            }
            if !matches!(wait_for_keys(Duration::ZERO)?, Readiness::Event) {
                break;
            }
        }
        screen.terminal.draw(|frame| draw(frame, &state))?;
    }
}
