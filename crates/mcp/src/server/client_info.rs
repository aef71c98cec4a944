//! Clients' descriptions of themselves (MCP `clientInfo`), in the handshake or with each request, and settings derived
//! from them.

use std::borrow::Cow;
use std::sync::Arc;
use std::time::Duration;

use crate::era::ResultForm;
use crate::tool::Client;
use crate::wire::Json;

/// The longest `clientInfo` that is remembered, in bytes.
const MAX_REMEMBERED: usize = 4 << 10;

/// The longest name or version that tools see, in characters.
const MAX_TEXT: usize = 256;

/// A client, by its own description.
pub(super) struct ClientInfo {
    /// As it was said, so that the next request, which says the same, need not be read again. Empty if it is too long.
    said: Box<str>,
    /// None if it did not say its name.
    pub client: Option<Arc<Client>>,
    pub form: ResultForm,
    /// The client's timeout for an answer, if its name implies one.
    pub budget: Option<Duration>,
}

impl ClientInfo {
    pub(super) fn read(said: Json<'_>, form_for: fn(&str) -> ResultForm) -> ClientInfo {
        let text = |name: &str| said.member(name).and_then(Json::text);
        let name = text("name");
        let form = form_for(name.as_deref().unwrap_or_default());
        let budget = name.as_deref().and_then(timeout);
        let short = |text: Cow<'_, str>| text.chars().take(MAX_TEXT).collect();
        let version = text("version").map(short).unwrap_or_default();
        let client = name.map(|name| Arc::new(Client { name: short(name), version }));
        let said = if said.get().len() <= MAX_REMEMBERED { said.get() } else { "" };
        ClientInfo { said: said.into(), client, form, budget }
    }

    /// Returns true if the description is unchanged.
    pub(super) fn is(&self, said: Json<'_>) -> bool {
        *self.said == *said.get()
    }
}

/// Returns the timeout of a client by its name: Codex and Gemini give up after a minute by default.
fn timeout(name: &str) -> Option<Duration> {
    let has = |part: &str| name.as_bytes().windows(part.len()).any(|found| found.eq_ignore_ascii_case(part.as_bytes()));
    (has("codex") || has("gemini")).then_some(Duration::from_secs(60))
}
