//! The lists that clients page through. A cursor names the last entry of the page before, so that added or removed
//! entries neither repeat nor hide others.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use super::Shared;
use super::connection_state::ListKind;
use super::side_channel::SideChannel;
use crate::catalog::{Catalog, Page};
use crate::era::params::{Params, invalid};
use crate::era::write::FRESH_FOR;
use crate::era::{Era, ResultForm, base64};
use crate::wire::build::RpcError;

/// The default number of entries of a page.
pub(super) const PAGE_SIZE: usize = 1000;

/// The limit of cached listings; each set of groups that clients were given has one.
const MAX_LISTINGS: usize = 64;

/// The number of changes of each list.
pub(super) struct Revisions {
    tools: u64,
    resources: u64,
    prompts: u64,
}

impl Revisions {
    fn get(&self, list: ListKind) -> u64 {
        match list {
            ListKind::Tools => self.tools,
            ListKind::Resources => self.resources,
            ListKind::Prompts => self.prompts,
        }
    }
}

impl Shared {
    /// Returns the result of a list method; `None` if this server has no such list.
    pub(super) fn list(
        &self,
        method: &str,
        (era, form): (Era, ResultForm),
        params: &Params<'_>,
        client: &SideChannel,
    ) -> Option<Result<Arc<[u8]>, RpcError>> {
        let mut out = Vec::new();
        let results = &self.results;
        let written = match method {
            "tools/list" if params.cursor.is_none() => return Some(Ok(self.tool_listing(era, form, client.listed()))),
            "tools/list" => {
                let given = client.listed();
                let is_listed = |tool: &str| self.registry.is_listed(tool, &given);
                self.page_of(&self.registry.tools, method, params, is_listed, |entries, next| {
                    results.tool_list(&mut out, era, form, self.fresh_for(ListKind::Tools), entries, next);
                })
            }
            "resources/list" => self.page(&self.resources.get()?.listed, method, params, |entries, next| {
                results.resource_list(&mut out, era, self.fresh_for(ListKind::Resources), entries, next);
            }),
            "resources/templates/list" => {
                self.page(&self.resources.get()?.templates, method, params, |entries, next| {
                    results.template_list(&mut out, era, self.fresh_for(ListKind::Resources), entries, next);
                })
            }
            "prompts/list" => self.page(&self.prompts.get()?.prompts, method, params, |entries, next| {
                results.prompt_list(&mut out, era, self.fresh_for(ListKind::Prompts), entries, next);
            }),
            _ => return None,
        };
        Some(written.map(|()| out.into()))
    }

    fn page<T: ?Sized>(
        &self,
        catalog: &Catalog<T>,
        method: &str,
        params: &Params<'_>,
        write: impl FnOnce(&[Arc<T>], Option<&str>),
    ) -> Result<(), RpcError> {
        self.page_of(catalog, method, params, |_| true, write)
    }

    fn page_of<T: ?Sized>(
        &self,
        catalog: &Catalog<T>,
        method: &str,
        params: &Params<'_>,
        is_wanted: impl Fn(&str) -> bool,
        write: impl FnOnce(&[Arc<T>], Option<&str>),
    ) -> Result<(), RpcError> {
        let after = match params.cursor {
            Some(cursor) => Some(decode_cursor(method, cursor.get())?),
            None => None,
        };
        let Page { entries, last } = catalog.page(after.as_deref(), self.page_size(), is_wanted);
        write(&entries, last.map(|last| encode_cursor(method, &last)).as_deref());
        Ok(())
    }

    /// Returns how long a client may cache a list, if the embedder does not set it. Zero if a call can change the list.
    /// Also zero if the list has changed since the server first served, since it may change again at any time.
    fn fresh_for(&self, list: ListKind) -> Duration {
        if let Some(chosen) = self.list_fresh_for.get() {
            return *chosen;
        }
        let has_changed = self.served.get().is_some_and(|served| served.get(list) != self.revisions().get(list));
        let can_change = matches!(list, ListKind::Tools) && self.registry.has_unlisted();
        if has_changed || can_change { Duration::ZERO } else { FRESH_FOR }
    }

    /// Records the lists when the server first serves.
    pub(super) fn begin_to_serve(&self) {
        self.served.get_or_init(|| self.revisions());
    }

    fn revisions(&self) -> Revisions {
        Revisions {
            tools: self.registry.revision(),
            resources: self.resources.get().map_or(0, |resources| resources.revision()),
            prompts: self.prompts.get().map_or(0, |prompts| prompts.revision()),
        }
    }

    /// Returns the first page of `tools/list` for a client that was given these groups, rendered once per such key and
    /// change of the registry.
    fn tool_listing(&self, era: Era, form: ResultForm, given: BTreeSet<String>) -> Arc<[u8]> {
        // Read before listing: a change in between makes the entry look outdated, and it is rendered again.
        let revision = self.registry.revision();
        let mut listings = self.listings.lock();
        let key = (era, form, given);
        match listings.get(&key) {
            Some((rendered_at, listing)) if *rendered_at == revision => listing.clone(),
            _ => {
                let Page { entries, last } =
                    self.registry.tools.page(None, self.page_size(), |tool| self.registry.is_listed(tool, &key.2));
                let mut out = Vec::new();
                let next = last.map(|last| encode_cursor("tools/list", &last));
                let fresh_for = self.fresh_for(ListKind::Tools);
                self.results.tool_list(&mut out, era, form, fresh_for, &entries, next.as_deref());
                let listing: Arc<[u8]> = out.into();
                if listings.len() >= MAX_LISTINGS {
                    listings.clear();
                }
                listings.insert(key, (revision, listing.clone()));
                listing
            }
        }
    }
}

fn encode_cursor(method: &str, key: &str) -> String {
    base64::encode(format!("{method} {key}").as_bytes())
}

/// Returns the key in a cursor of this list.
fn decode_cursor(method: &str, cursor: &str) -> Result<String, RpcError> {
    let text = serde_json::from_str::<String>(cursor).ok().and_then(|text| base64::decode(&text));
    text.and_then(|bytes| String::from_utf8(bytes).ok())
        .and_then(|text| Some(text.strip_prefix(method)?.strip_prefix(' ')?.to_owned()))
        .ok_or_else(|| invalid("unknown cursor: start again without one"))
}
