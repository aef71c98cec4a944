//! Detects test code by the names of its file and of the declarations around it.

use std::path::Path;

use syntax::{Container, Kind};

/// True if the name of a file marks it as a test.
pub(crate) fn is_test_file(path: &Path) -> bool {
    let stem = path.file_stem().map(|stem| stem.to_string_lossy().to_lowercase()).unwrap_or_default();
    let folder =
        |name: &std::ffi::OsStr| matches!(name.to_str(), Some("tests" | "test" | "__tests__" | "spec" | "testdata"));
    path.parent().is_some_and(|parent| parent.iter().any(folder))
        || ["test_", "conftest"].iter().any(|begin| stem.starts_with(begin))
        || ["_test", ".test", ".spec", "_tests", "spec"].iter().any(|end| stem.ends_with(end))
        || matches!(&*stem, "tests" | "test")
}

/// True if a declaration around a place is a test.
pub(crate) fn is_test(places: &[Container]) -> bool {
    places.iter().any(|place| match place.kind {
        Kind::Module => matches!(&*place.label, "tests" | "test") || place.label.starts_with("tests_"),
        _ => place.label.starts_with("test_"),
    })
}
