//! The form in which the person writes a message to agents.

use project::dashboard::{AgentState, Room};

use super::dashboard::View;
use super::html::{Html, button, disabled_button, el, hidden, labelled, post_form, typed};
use super::route::Route;
use crate::letter::{EVERYONE, Letter, PRIORITIES};
use crate::rows;

/// Draws the form that belongs to a page, if one does: an answer in a conversation, a message to an agent, or one to
/// anybody. `unsent` is a message that was not sent, with the reason.
pub(super) fn form(view: &View<'_>, unsent: Option<(&Letter, &str)>) -> Html {
    let letter = match view.here {
        Route::Room(Room::Mail) => Some(Letter::new(EVERYONE)),
        Route::Row(Room::Agents, id) => {
            let agent = rows::agent(view.rooms(), id).filter(|agent| agent.has_mailbox);
            agent.map(|agent| Letter::new(&agent.name))
        }
        Route::Row(Room::Mail, id) => rows::conversation(view.rooms(), id).last().copied().map(Letter::answer),
        _ => None,
    };
    let (Some(token), Some(letter)) = (view.form_token, letter) else { return Html::default() };
    let why = unsent.map(|(_, why)| el("p").class("problem").attr("role", "alert").line(&format!("Not sent: {why}")));
    let letter = unsent.map_or(&letter, |(letter, _)| letter);
    let agents = view.rooms().agents.iter().filter(|agent| agent.has_mailbox && agent.state != AgentState::Gone);
    let names = agents.map(|agent| agent.name.as_str()).chain([EVERYONE]);
    let priority =
        |name: &'static str| el("option").attr("value", name).flag("selected", name == letter.priority).line(name);
    let to = el("input").kind("text").id("write-to").attr("name", "to").attr("list", "write-names").typed(&letter.to);
    let priorities = el("select").id("write-priority").attr("name", "priority").with(PRIORITIES.map(priority));
    let text = el("textarea").id("write-text").attr("name", "text").attr("rows", "4").with([typed(&letter.text)]);
    let send = button("write").id("write-send").class("main").line("Send the message");
    let form = post_form().attr("autocomplete", "off").with([
        disabled_button(),
        hidden("token", token),
        hidden("back", &view.here.url()),
        hidden("reply_to", letter.reply_to.as_deref().unwrap_or_default()),
        labelled("write-to", "To: agents, role:X, group:X or everyone", to.alone()),
        el("datalist").id("write-names").with(names.map(|name| el("option").attr("value", name).line(name))),
        labelled("write-priority", "Priority", priorities),
        labelled("write-text", "Text", text),
        el("p").class("buttons").with([send]),
    ]);
    let title = if letter.reply_to.is_some() { "Answer" } else { "Write a message" };
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
