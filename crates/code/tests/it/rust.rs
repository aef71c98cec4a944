//! All questions to rust-analyzer in one crate: because it starts slowly, one server reads all the texts.

use crate::{
    answers, back_dated, callees, configurations, external_names, implicit_callers, matches_judged, overridden,
    projects, receivers, servers,
};

#[test]
fn one_server_for_all() {
    let Some(judged) = projects::rust() else { return };
    // External names come first, because the others leave files.
    external_names::rust(&judged);
    overridden::traits(&judged);
    implicit_callers::attributes_of_rust(&judged);
    configurations::rust(&judged);
    receivers::names_of_rust_that_modules_and_traits_share(&judged);
    // These use a separate project.
    let parts = [
        configurations::what_is_silent_is_judged_by_its_words,
        servers::rust_analyzer_confirms_and_refutes,
        matches_judged::rust,
        callees::what_a_macro_makes_has_a_kind,
        back_dated::rust_analyzer_knows_it_too,
        answers::a_declaration_that_does_not_parse_is_no_use_of_itself,
    ];
    for part in parts {
        std::fs::remove_dir_all(judged.path().join("src")).unwrap();
        part(&judged);
    }
}
