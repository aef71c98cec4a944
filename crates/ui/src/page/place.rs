//! Places of the page: each address that a link, a form or a picture may name. All are relative to the page's secret
//! folder.

use form_urlencoded::{byte_serialize, parse};
use project::rooms::Room;

/// A place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Place {
    Room(Room),
    Question(String),
    Session(String),
    Agent(String),
    Thread(String),
    /// A picture of a question, by its number.
    Picture(String, usize),
    /// The stream of changes of a place.
    Live(Box<Place>),
    /// The content of the present page, for the link that skips the navigation.
    Content,
    /// The receiver of forms.
    Act,
    Style,
    Script,
    Icon {
        has_questions: bool,
    },
}

impl Place {
    /// Returns the address relative to the folder.
    pub(super) fn address(&self) -> String {
        match self {
            Place::Room(room) => room.name().to_ascii_lowercase(),
            Place::Question(id) => format!("question?id={}", encoded(id)),
            Place::Session(id) => format!("session?id={}", encoded(id)),
            Place::Agent(id) => format!("agent?id={}", encoded(id)),
            Place::Thread(id) => format!("thread?id={}", encoded(id)),
            Place::Picture(id, number) => format!("picture?id={}&number={number}", encoded(id)),
            Place::Live(place) => format!("live?of={}", encoded(&place.address())),
            Place::Content => "#main".to_owned(),
            Place::Act => "act".to_owned(),
            Place::Style => "page.css".to_owned(),
            Place::Script => "page.js".to_owned(),
            Place::Icon { has_questions: false } => "icon.svg".to_owned(),
            Place::Icon { has_questions: true } => "icon-waits.svg".to_owned(),
        }
    }

    /// Parses an address relative to the folder; an empty one is the first room. `None` for an unknown one.
    pub(super) fn parse(address: &str) -> Option<Place> {
        let (name, query) = address.split_once('?').unwrap_or((address, ""));
        let value =
            |key: &str| parse(query.as_bytes()).find(|(name, _)| name == key).map(|(_, value)| value.into_owned());
        Some(match name {
            "" => Place::Room(Room::Now),
            "question" => Place::Question(value("id")?),
            "session" => Place::Session(value("id")?),
            "agent" => Place::Agent(value("id")?),
            "thread" => Place::Thread(value("id")?),
            "picture" => Place::Picture(value("id")?, value("number")?.parse().ok()?),
            "live" => match Place::parse(&value("of")?)? {
                place @ (Place::Room(_)
                | Place::Question(_)
                | Place::Session(_)
                | Place::Agent(_)
                | Place::Thread(_)) => Place::Live(Box::new(place)),
                _ => return None,
            },
            "act" => Place::Act,
            "page.css" => Place::Style,
            "page.js" => Place::Script,
            "icon.svg" => Place::Icon { has_questions: false },
            "icon-waits.svg" => Place::Icon { has_questions: true },
            name => Place::Room(Room::from_name(name)?),
        })
    }

    /// Returns the room to which the place belongs.
    pub(super) fn room(&self) -> Room {
        match self {
            Place::Room(room) => *room,
            Place::Question(_) | Place::Picture(..) => Room::Questions,
            Place::Session(_) => Room::Sessions,
            Place::Agent(_) => Room::Agents,
            Place::Thread(_) => Room::Mail,
            Place::Live(place) => place.room(),
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
    fn an_address_leads_back_to_its_place() {
        let hostile = "javascript:alert(1)//\" &of=../../etc?#\u{202e}\n%00";
        let question = Place::Question(hostile.to_owned());
        for place in [
            Place::Room(Room::Agents),
            question.clone(),
            Place::Session(hostile.to_owned()),
            Place::Thread("m 1".to_owned()),
            Place::Picture("q_1".to_owned(), 2),
            Place::Live(Box::new(question.clone())),
            Place::Icon { has_questions: true },
        ] {
            let address = place.address();
            assert_eq!(Place::parse(&address), Some(place));
            assert!(
                address.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"?=&%+-._*".contains(&byte)),
                "{address}"
            );
        }
        for unknown in
            ["nowhere", "question", "live?of=act", "live?of=live%3Fof%3Dnow", "../now", "picture?id=q&number=-1"]
        {
            assert_eq!(Place::parse(unknown), None, "{unknown}");
        }
    }
}
