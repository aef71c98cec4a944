//! Module specifiers in JavaScript and TypeScript.

use std::path::{Path, PathBuf};

/// Name of a module's default export. Each importing file chooses its own name for it.
pub const DEFAULT: &str = "default";

/// True if an import specifier refers to a module: `./geo`, `../geo/index.js` and `..` by path, `@/lib/geo` by its last name.
pub fn names_module(path: &Path, source: &str, module: &Path) -> bool {
    let stem = module.file_stem().and_then(|stem| stem.to_str()).unwrap_or_default();
    let folder = module.parent().unwrap_or(Path::new(""));
    if source.starts_with('.') {
        let file = resolve_relative(path, source);
        let is_file = |file: &Path| file == module || file == module.with_extension("");
        // `geo.js` may refer to `geo.ts`.
        return is_file(&file)
            || file.extension().is_some() && is_file(&file.with_extension(""))
            || file == folder && matches!(stem, "index" | "lib" | "main");
    }
    let bare = |part: &str| part.split_once('.').map_or(part.to_owned(), |(stem, _)| stem.to_owned());
    let folder = folder.file_name().and_then(|name| name.to_str());
    let mut parts = source.trim_end_matches('/').rsplit('/');
    match parts.next().map(bare).as_deref() {
        Some("index") => stem == "index" && parts.next() == folder,
        Some(last) => last == stem || stem == "index" && Some(last) == folder,
        None => false,
    }
}

/// Resolves a relative specifier to a path.
fn resolve_relative(module: &Path, source: &str) -> PathBuf {
    let mut path = module.parent().map(PathBuf::from).unwrap_or_default();
    for part in source.split('/') {
        match part {
            "" | "." => {}
            ".." => _ = path.pop(),
            part => path.push(part),
        }
    }
    path
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn modules_by_what_files_write() {
        let check = |path: &str, source: &str, module: &str, wanted: bool| {
            assert_eq!(names_module(Path::new(path), source, Path::new(module)), wanted, "{path} {source} {module}");
        };
        check("app.js", "./lib/log", "lib/log.js", true);
        check("lib/a.js", "./log.js", "lib/log.ts", true);
        check("lib/a.js", "../log", "lib/log.js", false);
        check("routes/users.js", "../controllers/users", "routes/users.js", false);
        check("lib/deep/a.js", "..", "lib/index.js", true);
        check("a.js", "./lib", "lib/index.js", true);
        check("a.js", "./lib/", "other/index.js", false);
        check("a.ts", "@/lib/log", "src/lib/log.ts", true);
        check("a.ts", "log", "packages/log/index.js", true);
        check("a.ts", "events", "lib/log.js", false);
    }
}
