//! Places of the page: each address that a link, a form or a picture may name. All are relative to the page's secret
//! folder.

use form_urlencoded::{byte_serialize, parse};
use project::dashboard::Room;

/// A route of the page.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Route {
    Room(Room),
    /// A room with the rows that hold a text.
    Filtered(Room, String),
    /// The page of a question, a session, an agent or a conversation.
    Row(Room, String),
    /// A picture of a question, by its number.
    Picture(String, usize),
    /// The stream of changes of a route.
    Live(Box<Route>),
    /// The content of a page, or of the present one.
    Content(Option<Box<Route>>),
    /// The form on the present page in which the person writes a message.
    Writing,
    /// The receiver of forms.
    Act,
    Style,
    Script,
    Icon {
        has_questions: bool,
    },
}

/// The rooms whose rows have a page, with the name of that page.
const PAGES: [(&str, Room); 4] =
    [("question", Room::Questions), ("session", Room::Sessions), ("agent", Room::Agents), ("thread", Room::Mail)];

impl Route {
    /// Returns the address relative to the folder.
    pub(super) fn url(&self) -> String {
        match self {
            Route::Room(room) => room.name().to_ascii_lowercase(),
            Route::Filtered(room, text) => format!("{}?find={}", room.name().to_ascii_lowercase(), encoded(text)),
            Route::Row(room, id) => {
                let page = PAGES.iter().find(|(_, of)| of == room).map_or("", |(page, _)| page);
                format!("{page}?id={}", encoded(id))
            }
            Route::Picture(id, number) => format!("picture?id={}&number={number}", encoded(id)),
            Route::Live(route) => format!("live?of={}", encoded(&route.url())),
            Route::Content(page) => format!("{}#main", page.as_ref().map(|page| page.url()).unwrap_or_default()),
            Route::Writing => "#write-text".to_owned(),
            Route::Act => "act".to_owned(),
            Route::Style => "page.css".to_owned(),
            Route::Script => "page.js".to_owned(),
            Route::Icon { has_questions: false } => "icon.svg".to_owned(),
            Route::Icon { has_questions: true } => "icon-waits.svg".to_owned(),
        }
    }

    /// Parses an address relative to the folder; an empty one is the first room. `None` for an unknown one.
    pub(super) fn parse(address: &str) -> Option<Route> {
        let (name, query) = address.split_once('?').unwrap_or((address, ""));
        let value =
            |key: &str| parse(query.as_bytes()).find(|(name, _)| name == key).map(|(_, value)| value.into_owned());
        Some(match name {
            "" => Route::Room(Room::Now),
            "picture" => Route::Picture(value("id")?, value("number")?.parse().ok()?),
            "live" => match Route::parse(&value("of")?)? {
                route @ (Route::Room(_) | Route::Filtered(..) | Route::Row(..)) => Route::Live(Box::new(route)),
                _ => return None,
            },
            "act" => Route::Act,
            "page.css" => Route::Style,
            "page.js" => Route::Script,
            "icon.svg" => Route::Icon { has_questions: false },
            "icon-waits.svg" => Route::Icon { has_questions: true },
            name => match PAGES.iter().find(|(page, _)| *page == name) {
                Some((_, room)) => Route::Row(*room, value("id")?),
                None => match (Room::from_name(name)?, value("find").filter(|text| !text.is_empty())) {
                    (room, Some(text)) => Route::Filtered(room, text),
                    (room, None) => Route::Room(room),
                },
            },
        })
    }

    /// Returns the room to which the route belongs.
    pub(super) fn room(&self) -> Room {
        match self {
            Route::Room(room) | Route::Filtered(room, _) | Route::Row(room, _) => *room,
            Route::Picture(..) => Room::Questions,
            Route::Live(route) => route.room(),
            _ => Room::Now,
        }
    }
}

fn encoded(value: &str) -> String {
    byte_serialize(value.as_bytes()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_url_leads_back_to_its_route() {
        let hostile = "javascript:alert(1)//\" &of=../../etc?#\u{202e}\n%00";
        let question = Route::Row(Room::Questions, hostile.to_owned());
        for route in [
            Route::Room(Room::Agents),
            question.clone(),
            Route::Filtered(Room::Activity, hostile.to_owned()),
            Route::Row(Room::Sessions, hostile.to_owned()),
            Route::Row(Room::Mail, "m 1".to_owned()),
            Route::Picture("q_1".to_owned(), 2),
            Route::Live(Box::new(question.clone())),
            Route::Icon { has_questions: true },
        ] {
            let address = route.url();
            assert_eq!(Route::parse(&address), Some(route));
            assert!(
                address.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"?=&%+-._*".contains(&byte)),
                "{address}"
            );
        }
        for unknown in
            ["nowhere", "question", "live?of=act", "live?of=live%3Fof%3Dnow", "../now", "picture?id=q&number=-1"]
        {
            assert_eq!(Route::parse(unknown), None, "{unknown}");
        }
    }
}
