//! Locals that may be what a name means.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;

use super::Site;
use crate::syntax::Class;

/// Marks what a local binding before it in the same declaration may be meant by. The sites are sorted by place. Scopes are
/// not read, so it stays a guess.
pub(super) fn mark(sites: &mut [Site]) {
    let mut bound: BTreeSet<(Arc<Path>, String)> = BTreeSet::new();
    for site in sites {
        let place = (site.path.clone(), site.enclosing.clone());
        match site.class {
            Class::Binding if !site.enclosing.is_empty() => _ = bound.insert(place),
            Class::Call | Class::Value if !site.is_member && !site.is_qualified => {
                site.may_be_local = bound.contains(&place);
            }
            _ => {}
        }
    }
}
