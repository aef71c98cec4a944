//! The form in which the person writes a message to agents.

use project::dashboard::{AgentState, Room};

use super::dashboard::View;
use super::html::{Html, button, el, hidden, typed};
use super::route::Route;
use crate::letter::{EVERYONE, Letter, PRIORITIES};
use crate::rows;

/// Draws the form that belongs to a route, if one does: an answer in a conversation, a message to an agent, or one to
/// anybody. `unsent` is a message that was not sent, with the reason.
pub(super) fn form(view: &View<'_>, route: &Route, unsent: Option<(&Letter, &str)>) -> Html {
    let letter = match route {
        Route::Room(Room::Mail) => Letter::new(EVERYONE),
        Route::Agent(id) => match rows::agent(view.rooms(), id).filter(|agent| agent.has_mailbox) {
            Some(agent) => Letter::new(&agent.name),
            None => return Html::default(),
        },
        Route::Thread(id) => match rows::conversation(view.rooms(), id).last() {
            Some(message) => Letter::answer(message),
            None => return Html::default(),
        },
        _ => return Html::default(),
    };
    let Some(token) = view.form_token else { return Html::default() };
    let why = unsent.map(|(_, why)| el("p").class("problem").attr("role", "alert").line(&format!("Not sent: {why}")));
    let letter = unsent.map_or(&letter, |(letter, _)| letter);
    let agents = view.rooms().agents.iter().filter(|agent| agent.has_mailbox && agent.state != AgentState::Gone);
    let names = agents.map(|agent| agent.name.as_str()).chain([EVERYONE]);
    let priority =
        |name: &'static str| el("option").attr("value", name).flag("selected", name == letter.priority).line(name);
    let field = |id: &'static str, label: &str, input: Html| {
        el("div").class("field").with([el("label").attr("for", id).line(label), input])
    };
    let title = if letter.reply_to.is_some() { "Answer" } else { "Write a message" };
    let send = el("p").class("buttons").with([button("write").id("write-send").class("main").line("Send the message")]);
    let fields = [
        // Enter in a field presses the first button.
        el("button").kind("submit").flag("disabled", true).flag("hidden", true).line("Enter sends nothing"),
        hidden("token", token),
        hidden("back", &route.url()),
        hidden("reply_to", letter.reply_to.as_deref().unwrap_or_default()),
        field(
            "write-to",
            "To: agents, role:X, group:X or everyone",
            el("input")
                .kind("text")
                .id("write-to")
                .attr("name", "to")
                .attr("list", "write-names")
                .typed(&letter.to)
                .alone(),
        ),
        el("datalist").id("write-names").all(names.map(|name| el("option").attr("value", name).line(name))),
        field(
            "write-priority",
            "Priority",
            el("select").id("write-priority").attr("name", "priority").all(PRIORITIES.map(priority)),
        ),
        field(
            "write-text",
            "Text",
            el("textarea").id("write-text").attr("name", "text").attr("rows", "4").with([typed(&letter.text)]),
        ),
        send,
    ];
    let form = el("form").attr("method", "post").route("action", &Route::Act).attr("autocomplete", "off").with(fields);
    el("section").class("write").attr("aria-labelledby", "write-title").with([
        el("h2").id("write-title").line(title),
        why.unwrap_or_default(),
        el("p").class("help").line("The agents read it as their user's own word."),
        form,
    ])
}

/// Reads a posted message.
pub(super) fn posted(pairs: &[(String, String)]) -> Letter {
    // Browsers send line ends of two characters.
    let value = |name: &str| {
        pairs.iter().find(|(key, _)| key == name).map(|(_, value)| value.replace("\r\n", "\n")).unwrap_or_default()
    };
    Letter {
        to: value("to"),
        text: value("text"),
        priority: value("priority"),
        reply_to: Some(value("reply_to")).filter(|id| !id.is_empty()),
    }
}
