//! The pages of a single question, session, agent and conversation.

use project::dashboard::{MailRow, Room, Snapshot};
use project::{span, visible};
use serde::Deserialize;
use serde_json::Value;

use super::dashboard::View;
use super::form;
use super::html::{Html, el, line, link, notice, scrolling, text};
use super::route::Route;
use crate::feed::Output;
use crate::form::{Draft, Field, Problem, Question, label};
use crate::rows;

/// Draws whether a question still waits, and how it ended.
pub(super) fn standing(view: &View<'_>, question: &Value) -> Html {
    let number = |key: &str| question[key].as_u64().unwrap_or_default();
    let words = |value: &Value| visible(value.as_str().unwrap_or_default());
    if question["open"] == true {
        let urgent = if question["urgent"] == true { "Urgent. " } else { "" };
        let by = question["agent"].as_str().map(|agent| format!(" by {agent}")).unwrap_or_default();
        let (worktree, age, left) = (words(&question["worktree"]), span(number("age_s")), span(number("left_s")));
        return el("p").class("when").line(&format!("{urgent}Asked{by} in {worktree}, {age} ago. {left} left."));
    }
    let (answered, status) = (&question["answered"], words(&question["status"]));
    let by = answered.is_object().then(|| format!(" by {} ({})", words(&answered["by"]), words(&answered["via"])));
    let head = format!("This question is {status}{}.", by.unwrap_or_default());
    let head = el("p").class("headline").attr("role", "status").line(&head);
    let fields = question["fields"].as_array().into_iter().flatten();
    let values = fields.filter_map(|field| {
        let field = Field::deserialize(field).ok()?;
        let value = question["values"].get(&field.id)?;
        Some(form::entry(&field, &label(&field, value)))
    });
    let note = question["note"].as_str().map(|note| format!("Comment: {note}"));
    let lines: Vec<Html> = values.chain(note).map(|row| el("li").text(&row)).collect();
    let lines = if lines.is_empty() { Html::default() } else { el("ul").class("lines message").with(lines) };
    let next = match view.rooms().questions.iter().find(|row| question["question"] != row.id.as_str()) {
        Some(row) => {
            link(&Route::Row(Room::Questions, row.id.clone()), "next", &format!("Next question: {}", row.title))
        }
        None => line("No other question waits for you."),
    };
    [head, lines, el("p").with([next])].into_iter().collect()
}

/// Draws a question with its form.
pub(super) fn question(view: &View<'_>, question: &Question, draft: &Draft, problem: Option<&Problem>) -> Html {
    let warning = "This action is dangerous. Read it in full before you answer.";
    let danger = question.is_dangerous().then(|| el("p").class("notice danger").line(warning));
    let message = (!question.message.is_empty()).then(|| el("div").class("message").text(&question.message));
    let form = match view.form_token {
        Some(token) => form::draw(question, draft, problem, token),
        None => notice("This page is read-only. Answer the question with `hob answer` in your own terminal."),
    };
    let summary = problem.map(|problem| form::summary(question, problem));
    let parts = [summary, danger, message, Some(form::attachments(question)), Some(form)];
    parts.into_iter().flatten().collect()
}

/// Draws a session with its output.
pub(super) fn session(view: &View<'_>, id: &str, output: &Result<Output, String>) -> Html {
    let (Some(row), Some(facts)) = (rows::session(view.rooms(), id), view.facts(Room::Sessions, id)) else {
        return el("p").class("empty").line("This session no longer exists. `hob call repl_read` shows its output.");
    };
    let block = |id: &'static str, label: &str, content: &str| scrolling(label).id(id).text(content);
    let shown = match output {
        Err(problem) => notice(problem),
        Ok(Output { text, end: None, .. }) if text.is_empty() => el("p").class("empty").line("It printed nothing."),
        Ok(Output { text, end: None, .. }) => block("output", "Output", text),
        Ok(Output { text, end: Some(end), .. }) => el("div").with([
            block("beginning", "Beginning of the output", text),
            el("p").class("help").line("The middle is left out; `hob call repl_read` reads any part."),
            block("output", "End of the output", end),
        ]),
    };
    [facts, view.session_actions("page", row), el("h2").line("Output"), shown].into_iter().collect()
}

/// Draws an agent with its questions, sessions, calls and messages.
pub(super) fn agent(view: &View<'_>, id: &str) -> Html {
    let Some(facts) = view.facts(Room::Agents, id) else {
        return el("p").class("empty").line("This agent is no longer connected.");
    };
    let of_agent = Snapshot { rooms: rows::of_agent(view.rooms(), id), ..Snapshot::default() };
    let of_agent = View { snapshot: &of_agent, ..*view };
    let tables = [Room::Questions, Room::Sessions, Room::Activity, Room::Mail].into_iter().filter_map(|room| {
        let has_rows = !rows::rows(of_agent.rooms(), room, view.now).is_empty();
        has_rows.then(|| [el("h2").line(room.name()), of_agent.room(room, "")].into_iter().collect())
    });
    [facts].into_iter().chain(tables).collect()
}

/// Draws a conversation, oldest message first.
pub(super) fn thread(view: &View<'_>, id: &str) -> Html {
    let messages = rows::conversation(view.rooms(), id);
    if messages.is_empty() {
        return el("p").class("empty").line("This conversation is no longer among the latest. `hob thread` shows it.");
    }
    let draw = |mail: &&MailRow| {
        let head = format!("{} to {}, {} ago", mail.from, rows::recipients(mail), view.age(mail.sent));
        el("article").with([el("h2").line(&head), el("div").class("message").with([text(&mail.text)])])
    };
    messages.iter().map(draw).collect()
}
