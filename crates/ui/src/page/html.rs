//! HTML built from elements. All text is escaped here and nowhere else: for HTML, and for characters that turn or hide
//! other text. Names of elements and attributes are part of the program, and links lead only to routes of the page.

use std::hash::{DefaultHasher, Hash, Hasher};

use project::visible;

use super::route::Route;

/// The number of characters of a text that a page shows in a row.
pub(super) const ROW_MAX: usize = 400;
/// The number of characters of a text that a page shows in full.
pub(super) const TEXT_MAX: usize = 200_000;

/// Finished HTML.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Html(String);

/// An element that is being built.
#[derive(Debug)]
pub(super) struct Element {
    name: &'static str,
    html: String,
}

/// Begins an element.
pub(super) fn el(name: &'static str) -> Element {
    Element { name, html: format!("<{name}") }
}

/// Creates a hidden field of a form.
pub(super) fn hidden(name: &'static str, value: &str) -> Html {
    el("input").kind("hidden").attr("name", name).typed(value).alone()
}

/// Returns an id for an element of a row, which stays the same as long as the row has its id.
pub(super) fn key(prefix: &str, id: &str) -> String {
    let mut hasher = DefaultHasher::new();
    id.hash(&mut hasher);
    format!("{prefix}-{:x}", hasher.finish())
}

/// Begins a form that the page receives.
pub(super) fn post_form() -> Element {
    el("form").attr("method", "post").route("action", &Route::Act)
}

/// Creates the first button of a form, which Enter in a text presses. It sends nothing.
pub(super) fn disabled_button() -> Html {
    el("button").kind("submit").flag("disabled", true).flag("hidden", true).line("Enter sends nothing")
}

/// Creates an input with its label.
pub(super) fn labelled(id: &str, label: &str, input: Html) -> Html {
    el("div").class("field").with([el("label").attr("for", id).line(label), input])
}

/// Begins a button that sends its form with this action.
pub(super) fn button(action: &'static str) -> Element {
    el("button").kind("submit").attr("name", "action").attr("value", action)
}

/// Begins a region that scrolls. The keyboard must reach it.
pub(super) fn scrolling(label: &str) -> Element {
    el("pre").attr("tabindex", "0").attr("role", "region").attr("aria-label", label)
}

/// Draws a remark behind something, such as its age.
pub(super) fn remark(text: &str) -> Html {
    el("span").class("when").with([line(" "), line(text)])
}

/// Draws a notice.
pub(super) fn notice(content: &str) -> Html {
    el("p").class("notice").text(content)
}

/// Draws a link. Its id stays the same as long as its row does.
pub(super) fn link(route: &Route, id: &str, text: &str) -> Html {
    el("a").page(route).id(id).line(text)
}

/// Escapes a text; line feeds and tabs stay. A long text is cut, with a note of its length.
pub(super) fn text(text: &str) -> Html {
    typed(&visible::escaped(&cut(text, TEXT_MAX)))
}

/// Escapes a text on one line, cut to the length of a row.
pub(super) fn line(text: &str) -> Html {
    typed(&visible(&cut(text, ROW_MAX)))
}

/// Escapes the input of a person, for a form that shows it again: nothing is cut or written out.
pub(super) fn typed(text: &str) -> Html {
    let mut html = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => html.push_str("&amp;"),
            '<' => html.push_str("&lt;"),
            '>' => html.push_str("&gt;"),
            '"' => html.push_str("&quot;"),
            '\'' => html.push_str("&#39;"),
            c => html.push(c),
        }
    }
    Html(html)
}

/// Returns the beginning of a long text with a note of its length.
fn cut(text: &str, most: usize) -> std::borrow::Cow<'_, str> {
    match text.char_indices().nth(most) {
        None => text.into(),
        Some((end, _)) => format!("{}… (cut: {} characters in all)", &text[..end], text.chars().count()).into(),
    }
}

impl Html {
    /// Returns a whole document.
    pub(super) fn into_document(self) -> String {
        format!("<!DOCTYPE html>\n{}", self.0)
    }

    pub(super) fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromIterator<Html> for Html {
    fn from_iter<T: IntoIterator<Item = Html>>(parts: T) -> Html {
        Html(parts.into_iter().map(|part| part.0).collect())
    }
}

impl Element {
    /// Adds an attribute. Its value cannot leave its quotes.
    pub(super) fn attr(mut self, name: &'static str, value: &str) -> Element {
        debug_assert!(!["href", "src", "action"].contains(&name), "{name} takes a route");
        self.html.push_str(&format!(" {name}=\"{}\"", typed(&visible(value)).0));
        self
    }

    /// Adds the value of an input that a person typed.
    pub(super) fn typed(mut self, value: &str) -> Element {
        self.html.push_str(&format!(" value=\"{}\"", typed(value).0));
        self
    }

    pub(super) fn id(self, value: &str) -> Element {
        self.attr("id", value)
    }

    /// Adds the type of an input or button.
    pub(super) fn kind(self, value: &str) -> Element {
        self.attr("type", value)
    }

    pub(super) fn class(self, value: &'static str) -> Element {
        self.attr("class", value)
    }

    /// Adds an attribute without a value, if the condition holds.
    pub(super) fn flag(mut self, name: &'static str, is_set: bool) -> Element {
        if is_set {
            self.html.push_str(&format!(" {name}"));
        }
        self
    }

    /// Adds an attribute that names a route of the page: `href`, `src` or `action`.
    pub(super) fn route(mut self, name: &'static str, route: &Route) -> Element {
        self.html.push_str(&format!(" {name}=\"{}\"", typed(&route.url()).0));
        self
    }

    /// Adds the address of a page. Its content gets the focus there, so that the next Tab skips the navigation.
    pub(super) fn page(self, route: &Route) -> Element {
        self.route("href", &Route::Content(Some(Box::new(route.clone()))))
    }

    /// Ends the element with these children.
    pub(super) fn with(mut self, children: impl IntoIterator<Item = Html>) -> Html {
        self.html.push('>');
        self.html.extend(children.into_iter().map(|child| child.0));
        Html(format!("{}</{}>", self.html, self.name))
    }

    /// Ends the element with a text on one line.
    pub(super) fn line(self, text: &str) -> Html {
        self.with([line(text)])
    }

    /// Ends the element with a text.
    pub(super) fn text(self, content: &str) -> Html {
        self.with([text(content)])
    }

    /// Ends an element that has no content, such as `input`.
    pub(super) fn alone(mut self) -> Html {
        self.html.push('>');
        Html(self.html)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_cannot_become_an_element_or_leave_its_attribute() {
        let hostile = "<script>alert(1)</script>\" onload='x' & \u{202e}\u{1b}[2J";
        let html = el("p").attr("title", hostile).line(hostile);
        assert_eq!(html.as_str().matches('<').count(), 2, "{html:?}");
        assert_eq!(html.as_str().matches('"').count(), 2, "{html:?}");
        assert!(!html.as_str().contains(['\u{202e}', '\u{1b}', '\'']), "{html:?}");
        assert!(
            html.as_str()
                .contains("&lt;script&gt;alert(1)&lt;/script&gt;&quot; onload=&#39;x&#39; &amp; \\u{202e}\\x1b[2J")
        );
    }

    #[test]
    fn a_long_text_is_cut_with_a_note() {
        let long = "ä".repeat(1 << 20);
        let row = line(&long);
        assert!(row.as_str().ends_with("… (cut: 1048576 characters in all)"), "{}", row.as_str().len());
        assert!(row.as_str().chars().count() < ROW_MAX + 50);
        assert!(text(&long).as_str().len() < 2 * TEXT_MAX + 50);
        assert_eq!(text("a\n\tb").as_str(), "a\n\tb");
        assert_eq!(line("a\n\tb").as_str(), "a\\n\\tb");
    }
}
