//! What is asked of rust-analyzer in a project of one crate: it takes so long to start that one server learns of all the texts.

use crate::{configurations, dispatch, implicit_callers, objects, outside, projects, quoted};

#[test]
fn one_server_for_all() {
    let Some(judged) = projects::rust() else { return };
    // First what the project does not define: the others leave files.
    outside::rust(&judged);
    dispatch::traits(&judged);
    implicit_callers::attributes_of_rust(&judged);
    configurations::rust(&judged);
    objects::names_of_rust_that_modules_and_traits_share(&judged);
    quoted::rust(&judged);
}
