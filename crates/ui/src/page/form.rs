//! The form of a question: drawn from its fields, read from posted data. Names of inputs are numbers, so that no
//! id of an agent can collide.

use serde_json::Value;

use super::html::{
    Element, Html, button, disabled_button, el, hidden, labelled, line, post_form, scrolling, text, typed,
};
use super::route::Route;
use crate::form::{Attachment, Draft, Field, FieldDraft, Kind, Problem, Question, label};

/// The value of the choice that stands for another text.
const OTHER: &str = "other";

/// Reads the draft from a posted form.
pub(super) fn posted(question: &Question, pairs: &[(String, String)]) -> Draft {
    // Browsers send line ends of two characters.
    let all =
        |name: String| pairs.iter().filter(move |(key, _)| *key == name).map(|(_, value)| value.replace("\r\n", "\n"));
    let read = |(at, field): (usize, &Field)| {
        let mut given = all(format!("f{at}"));
        if !matches!(field.kind, Kind::Choice | Kind::Multichoice) {
            let text = given.next().unwrap_or_default();
            return (field.id.clone(), FieldDraft { text, chosen: Vec::new() });
        }
        // Another option was chosen since the text was typed; both stay in the draft, and `values` names the conflict.
        let mut text = all(format!("o{at}")).next().unwrap_or_default();
        let (other, known): (Vec<String>, Vec<String>) = given.partition(|value| value == OTHER);
        if !other.is_empty() && text.is_empty() {
            text.push(' ');
        }
        let options = known.iter().filter_map(|value| field.options.get(value.parse::<usize>().ok()?));
        (field.id.clone(), FieldDraft { text, chosen: options.map(|option| option.id.clone()).collect() })
    };
    let note = all("note".to_owned()).next().filter(|note| !note.trim().is_empty());
    Draft { fields: question.fields.iter().enumerate().map(read).collect(), note }
}

/// Returns a text behind the name of its field.
pub(super) fn entry(field: &Field, text: &str) -> String {
    let colon = if field.name().ends_with('?') { "" } else { ":" };
    format!("{}{colon} {text}", field.name())
}

/// Draws the form. Its first button is disabled, so that Enter in a text sends nothing.
pub(super) fn draw(question: &Question, draft: &Draft, problem: Option<&Problem>, form_token: &str) -> Html {
    let fields = question.fields.iter().enumerate().map(|(at, field)| {
        let draft = draft.fields.get(&field.id).cloned().unwrap_or_default();
        let why =
            problem.filter(|problem| problem.field.as_ref() == Some(&field.id)).map(|problem| problem.why.as_str());
        Drawn { question, at, field, draft, why }.html()
    });
    let note = el("textarea").id("note").attr("name", "note").attr("rows", "2");
    let note = note.with([typed(draft.note.as_deref().unwrap_or_default())]);
    let send = button("send").id("send").class(if question.is_dangerous() { "danger" } else { "main" });
    let decline = el("details").id("decline").with([
        el("summary").line("Decline to answer…"),
        el("p").line("The agent learns that you declined. It gets no answer."),
        button("decline").line("Decline"),
    ]);
    let begin = [disabled_button(), hidden("token", form_token), hidden("question", &question.question)];
    let end = [
        labelled("note", "Comment (optional)", note),
        el("p").class("buttons").with([send.line("Send the answer")]),
        decline,
    ];
    let form = post_form().id("form").attr("autocomplete", "off").flag("novalidate", true);
    form.with(begin.into_iter().chain(fields).chain(end))
}

/// Draws why an answer was not taken.
pub(super) fn summary(question: &Question, problem: &Problem) -> Html {
    let field = question.fields.iter().find(|field| Some(&field.id) == problem.field.as_ref());
    let why = field.map_or_else(|| problem.why.clone(), |field| entry(field, &problem.why));
    let summary = el("p").class("problem").attr("role", "alert").id("problem").attr("tabindex", "-1");
    summary.line(&format!("Not sent: {why}"))
}

/// A field with its contents.
struct Drawn<'a> {
    question: &'a Question,
    at: usize,
    field: &'a Field,
    draft: FieldDraft,
    /// The reason why the contents were rejected.
    why: Option<&'a str>,
}

impl Drawn<'_> {
    fn html(&self) -> Html {
        let field = self.field;
        let drawn = match field.kind {
            Kind::Note => return self.frame(el("div").class("field")).with([el("p").text(field.name()), self.help()]),
            Kind::Boolean if !self.question.is_dangerous() => {
                let row = |(word, name)| self.option("radio", word, name, "", self.draft.text == word);
                return self.group([("yes", "Yes"), ("no", "No")].map(row));
            }
            Kind::Choice | Kind::Multichoice => return self.options(),
            Kind::Multiline => self.describe(el("textarea")).attr("rows", "6").with([typed(&self.draft.text)]),
            Kind::Boolean => self.input("text").attr("placeholder", "yes or no").alone(),
            Kind::Integer => self.input("text").attr("inputmode", "numeric").alone(),
            Kind::Number => self.input("text").attr("inputmode", "decimal").alone(),
            Kind::Date => self.input("date").alone(),
            Kind::Text => self.input("text").alone(),
        };
        let label = el("label").attr("for", &format!("f{}", self.at)).with([line(&self.label())]);
        self.frame(el("div").class("field")).with([label, self.help(), drawn])
    }

    fn label(&self) -> String {
        let mut label = self.field.name().to_owned();
        if self.field.kind == Kind::Boolean && self.question.is_dangerous() {
            label.push_str(" Type yes or no in full.");
        }
        if self.field.required {
            label.push_str(" (required)");
        }
        label
    }

    /// Returns the field on which this one depends, by its number, and the value that it must have.
    fn condition(&self) -> Option<(usize, &Field, &Value)> {
        let on = self.field.show_if.as_ref()?;
        let at = self.question.fields.iter().position(|field| field.id == on.field)?;
        Some((at, &self.question.fields[at], &on.equals))
    }

    /// Adds the condition of the field, by which the script hides it.
    fn frame(&self, element: Element) -> Element {
        let Some((at, on, wanted)) = self.condition() else { return element };
        let option = on.options.iter().position(|option| *wanted == option.id.as_str());
        let value = option.map_or_else(|| label(on, wanted), |option| option.to_string());
        element.attr("data-if", &format!("f{at}")).attr("data-is", &value)
    }

    fn help(&self) -> Html {
        let paragraph = |id: &str, class: &'static str| el("p").class(class).id(&format!("{id}{}", self.at));
        let condition = self.condition().map(|(_, on, wanted)| {
            paragraph("c", "help condition").line(&format!("Only if “{}” is {}.", on.name(), label(on, wanted)))
        });
        let help = (!self.field.help.is_empty()).then(|| paragraph("h", "help").text(&self.field.help));
        let why = self.why.map(|why| paragraph("p", "problem").line(why));
        [help, condition, why].into_iter().flatten().collect()
    }

    /// Adds name, id and descriptions to an input.
    fn describe(&self, element: Element) -> Element {
        let name = format!("f{}", self.at);
        let parts =
            [("h", !self.field.help.is_empty()), ("c", self.field.show_if.is_some()), ("p", self.why.is_some())];
        let ids = parts.iter().filter(|(_, is_there)| *is_there).map(|(id, _)| format!("{id}{}", self.at));
        let ids = ids.collect::<Vec<_>>().join(" ");
        let element = element.id(&name).attr("name", &name);
        let element = if ids.is_empty() { element } else { element.attr("aria-describedby", &ids) };
        match self.why {
            Some(_) => element.attr("aria-invalid", "true").flag("autofocus", true),
            None => element,
        }
    }

    fn input(&self, kind: &str) -> Element {
        self.describe(el("input")).kind(kind).typed(&self.draft.text)
    }

    fn group(&self, rows: impl IntoIterator<Item = Html>) -> Html {
        // An invalid group is described by its text; `aria-invalid` is not for groups.
        let frame = self.frame(el("fieldset").class("field"));
        let legend = el("legend").line(&self.label());
        frame.with([legend, self.help()].into_iter().chain(rows))
    }

    fn option(&self, kind: &str, value: &str, name: &str, help: &str, is_chosen: bool) -> Html {
        let id = format!("f{}-{value}", self.at);
        let input = el("input").kind(kind).id(&id).attr("name", &format!("f{}", self.at)).attr("value", value);
        let help = if help.is_empty() { Html::default() } else { el("span").class("help").line(help) };
        let label = el("label").attr("for", &id).with([line(name), help]);
        el("p").class("option").with([input.flag("checked", is_chosen).alone(), label])
    }

    fn options(&self) -> Html {
        let kind = if self.field.kind == Kind::Choice { "radio" } else { "checkbox" };
        let rows = self.field.options.iter().enumerate().map(|(number, option)| {
            let is_chosen = self.draft.chosen.contains(&option.id);
            self.option(kind, &number.to_string(), option.name(), &option.help, is_chosen)
        });
        let other = self.field.other.then(|| {
            let id = format!("o{}", self.at);
            let has_text = !self.draft.text.is_empty() && (kind == "checkbox" || self.draft.chosen.is_empty());
            let row = self.option(kind, OTHER, "Another answer:", "", has_text);
            let label = format!("{}: another answer", self.field.name());
            let input = el("input").kind("text").id(&id).attr("name", &id).attr("aria-label", &label);
            [row, input.typed(self.draft.text.trim_start()).alone()].into_iter().collect()
        });
        self.group(rows.chain(other))
    }
}

/// Draws the attachments of a question.
pub(super) fn attachments(question: &Question) -> Html {
    let draw = |(number, attached): (usize, &Attachment)| {
        let label = match attached.label.as_str() {
            "" => format!("Attachment {}", number + 1),
            label => label.to_owned(),
        };
        let content = match attached.kind.as_str() {
            "picture" => {
                let route = Route::Picture(question.question.clone(), number);
                el("img").route("src", &route).attr("alt", &label).alone()
            }
            "diff" => scrolling(&label).with(attached.text.split_inclusive('\n').map(diff_line)),
            _ => scrolling(&label).text(&attached.text),
        };
        el("figure").with([el("figcaption").line(&label), content])
    };
    question.attachments.iter().enumerate().map(draw).collect()
}

fn diff_line(row: &str) -> Html {
    let class = match row.as_bytes().first() {
        Some(b'+') => "added",
        Some(b'-') => "removed",
        Some(b'@') => "hunk",
        _ => return text(row),
    };
    el("span").class(class).text(row)
}
