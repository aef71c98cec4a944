//! Local variables that may shadow a name.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;

use super::Site;
use crate::syntax::Class;

/// Marks sites that may mean a local binding before them in the same declaration. The sites must be sorted by place. Scopes
/// are not resolved, so this is a guess.
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
