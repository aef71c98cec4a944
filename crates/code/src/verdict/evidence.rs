//! Interprets a server's answer to `textDocument/definition` for a candidate.

use std::path::Path;

use lsp::Location;
use syntax::{
    C_AND_CPP, Class, Kind, Language, SCRIPTS, family, is_pure_virtual, is_word, last_word, names_module, unclosed,
};

use super::classes::{any_at, is_ambient};
use super::overriders::{Dispatch, Dispatches};
use super::prototypes::{Prototypes, is_linked_alternative};
use super::resolve::Evidence;
use crate::answer::{Candidates, Site};
use crate::definition::Definition;
use crate::inquiry::{Inquiry, Sheets, Spot};
use crate::judgement::Code;

impl Inquiry<'_> {
    /// Interprets an answer about a site. `silent` is the evidence if the server returned nothing.
    pub(super) async fn read(
        &mut self,
        asked_at: usize,
        places: &[Location],
        prototypes: &Prototypes,
        dispatches: &mut Dispatches,
        silent: Evidence,
    ) -> Evidence {
        let found = self.found;
        let site = &found.sites[asked_at];
        let (mut all, mut is_itself) = (Vec::with_capacity(places.len()), false);
        for place in places {
            let Some(spot) = self.sheets.spot(place) else {
                all.push(Evidence::Unknown(Code::Stale));
                continue;
            };
            is_itself |= is_assigned_by(found, site, &spot, self.sheets);
            let spot = named(found, asked_at, &spot, self.sheets);
            let mut one = read_one(found, asked_at, &spot, self.sheets, prototypes, silent);
            if is_another(one) && (site.language == Language::Rust || !is_direct(found, site)) {
                match self.dispatch(site, &spot, dispatches).await {
                    // An object of this class cannot be of another class that only has the same members.
                    Some(Dispatch::Structural) if is_on_itself(found, site) => {}
                    Some(Dispatch::To(number)) => one = Evidence::Override(number),
                    Some(_) => one = Evidence::Base,
                    None => {}
                }
            }
            all.push(one);
        }
        best(found, site, &all, is_itself, silent)
    }
}

fn is_another(evidence: Evidence) -> bool {
    matches!(evidence, Evidence::Other | Evidence::Interface)
}

/// Combines the evidence of all places in an answer.
fn best(found: &Candidates, site: &Site, all: &[Evidence], is_itself: bool, silent: Evidence) -> Evidence {
    let is_c = family(site.language) == C_AND_CPP;
    // clangd also returns the `using` declaration, which leads to all overloads.
    let rank = |evidence: &&Evidence| match evidence {
        Evidence::Definition(_) => 6,
        Evidence::Import(_) if !is_c => 5,
        Evidence::Override(_) => 4,
        Evidence::Other | Evidence::Interface => 3,
        Evidence::Import(_) => 2,
        Evidence::Base | Evidence::Unknown(_) | Evidence::Excluded => 1,
    };
    let best = all.iter().rev().max_by_key(rank).copied().unwrap_or(silent);
    let is_ours = matches!(best, Evidence::Definition(_));
    // In a template clangd returns every function of the name.
    let is_guess = is_c && is_ours && all.iter().any(|one| is_another(*one) || *one == Evidence::Base)
        || is_another(best) && (is_keyword_of_pattern(found, site) || is_assigned_from_object(found, site))
        || is_itself && (is_ours || is_another(best));
    if is_guess { Evidence::Unknown(Code::Dynamic) } else { best }
}

/// True if a class pattern in Python names a field, which ty mistakes for the bound variable: `case Point(x=x)`.
fn is_keyword_of_pattern(found: &Candidates, site: &Site) -> bool {
    let text = found.texts.get(&site.path).and_then(|text| text.get(site.at..)).unwrap_or_default();
    let after = text.iter().position(|byte| !is_word(*byte)).map(|end| text[end..].trim_ascii_start());
    let is_key = after.is_some_and(|after| after.starts_with(b"=") && !after.starts_with(b"=="));
    site.language == Language::Python && site.class == Class::Pattern && is_key
}

/// True if a destructuring assignment reads a member, where tsc leads to the assigned variable: `({ size } = shape)`.
fn is_assigned_from_object(found: &Candidates, site: &Site) -> bool {
    if family(site.language) != SCRIPTS || site.class != Class::FieldRead {
        return false;
    }
    let text = found.texts.get(&site.path).map(|text| text.split_at(site.at));
    let Some((before, after)) = text else { return false };
    let mut depth = 0usize;
    let end = after.iter().position(|byte| {
        match byte {
            b'{' => depth += 1,
            b'}' if depth == 0 => return true,
            b'}' => depth -= 1,
            _ => {}
        }
        false
    });
    let follows = end.map_or(&after[..0], |end| after[end + 1..].trim_ascii_start());
    let is_assigned = follows.starts_with(b"=") && !follows.starts_with(b"==") && !follows.starts_with(b"=>");
    let opened = unclosed(before, b'{').filter(|_| is_assigned);
    opened.is_some_and(|at| before[..at].trim_ascii_end().ends_with(b"("))
}

/// True if the receiver of a site is the object of its own method.
fn is_on_itself(found: &Candidates, site: &Site) -> bool {
    matches!(last_word(found.receiver(site)), b"this" | b"self")
}

/// True if a Python name is on the right side of its own assignment, where ty leads to the left side. In a class, `parse =
/// staticmethod(parse)` reads the outer name.
fn is_assigned_by(found: &Candidates, site: &Site, left: &Spot, sheets: &Sheets) -> bool {
    let text = found.texts.get(&site.path).filter(|_| site.language == Language::Python);
    let between = text.and_then(|text| text.get(left.end..site.at)).unwrap_or_default();
    let is_left = sheets.relative_path(&left.path) == Some(&*site.path) && left.start < site.at;
    let is_in_class = || any_at(sheets, left).is_some_and(|declares| declares.kind == Kind::Field);
    is_left && between.contains(&b'=') && !between.contains(&b'\n') && is_in_class()
}

/// True if a call names its exact target, so that no override runs: `super.go()`, `Base::go()`.
fn is_direct(found: &Candidates, site: &Site) -> bool {
    let receiver = found.receiver(site);
    match site.language {
        // `&Base::go` is virtual: it runs the override of the object.
        Language::Cpp => site.is_qualified && site.class == Class::Call,
        // `super()`, `super(Base, self)`.
        Language::Python => receiver
            .strip_suffix(b")")
            .and_then(|text| unclosed(text, b'('))
            .is_some_and(|opened| last_word(receiver[..opened].trim_ascii_end()) == b"super"),
        _ => receiver.ends_with(b"super"),
    }
}

/// Returns what a CommonJS module exports under the name of a site: `exports.area = area`, `{ area: toArea }`, `exports.area
/// = function area() {}`, `{ area: require("./area") }`.
fn exported(found: &Candidates, site: &Site) -> Option<Evidence> {
    let text = found.texts.get(&site.path).filter(|_| family(site.language) == SCRIPTS)?;
    let name = text[site.at..].iter().take_while(|byte| is_word(**byte) || **byte == b'$').count();
    let value = text[site.at + name..].trim_ascii_start();
    let mut value = value.strip_prefix(b"=").or(value.strip_prefix(b":"))?.trim_ascii_start();
    // `{ area: require("./geo").area }`, `exports.area = geo.area`.
    let end = value.iter().position(|byte| b",;}\n".contains(byte)).unwrap_or(value.len());
    let last = last_word(value[..end].trim_ascii_end());
    let last_at = text.len() - value.len() + value[..end].trim_ascii_end().len() - last.len();
    // A copied field is the value of another field: `{ name: user.name }`.
    let is_data = found.definitions.iter().any(|one| matches!(one.kind, Kind::Field | Kind::Variable | Kind::Constant));
    let is_member = text[..last_at].ends_with(b".") && !is_data;
    if let Some(next) = found.sites.iter().position(|one| one.path == site.path && one.at == last_at && is_member) {
        return Some(Evidence::Import(next));
    }
    if let Some(source) = value.strip_prefix(b"require(") {
        // The name comes from a required module; no server resolves it.
        let source = source.split(|byte| b"'\"`".contains(byte)).nth(1).unwrap_or_default();
        let source = String::from_utf8_lossy(source).into_owned();
        let is_it = |one: &Definition| names_module(&site.path, &source, &one.path);
        let ours = found.definitions.iter().position(is_it).map(Evidence::Definition);
        return ours.or_else(|| site.alias.as_ref().map(|_| Evidence::Unknown(Code::Dynamic)));
    }
    for word in [&b"async "[..], b"function* ", b"function ", b"class "] {
        value = value.strip_prefix(word).map_or(value, <[u8]>::trim_ascii_start);
    }
    let at = text.len() - value.len();
    let is_field = found.definitions.iter().any(|one| one.kind == Kind::Field);
    let is_value = |one: &Site| one.path == site.path && one.at == at && !is_field;
    let is_it = |one: &Definition| one.path == site.path && one.at == at;
    let ours = found.definitions.iter().position(is_it).map(Evidence::Definition);
    ours.or_else(|| found.sites.iter().position(is_value).map(Evidence::Import))
}

/// Narrows the range of an answer to the name.
fn named(found: &Candidates, asked_at: usize, spot: &Spot, sheets: &Sheets) -> Spot {
    let name = &found.question.name;
    let mut spot = sheets.embedded(spot, name).unwrap_or_else(|| spot.clone());
    // ty includes the receiver of a field: `self.total`.
    if sheets.text(&spot).strip_suffix(name.as_str()).is_some_and(|before| before.ends_with('.')) {
        spot.start = spot.end - name.len();
    }
    // TypeScript returns the arrow function of a property: `load = (id) => …`.
    if let Some(at) = holder(name, &spot, sheets).filter(|_| family(found.sites[asked_at].language) == SCRIPTS) {
        (spot.start, spot.end) = (at, at + name.len());
    }
    spot
}

fn read_one(
    found: &Candidates,
    asked_at: usize,
    spot: &Spot,
    sheets: &Sheets,
    prototypes: &Prototypes,
    silent: Evidence,
) -> Evidence {
    let name = &found.question.name;
    let below = sheets.relative_path(&spot.path);
    let word = sheets.word(spot);
    if let Some(number) = prototypes.announced(spot) {
        return Evidence::Definition(number);
    }
    if let Some(number) = below.and_then(|below| stub_of(found, spot, below, sheets)) {
        return Evidence::Definition(number);
    }
    if let Some(below) = below {
        // Some servers return the whole declaration.
        let is_ours = |one: &Definition| {
            // rust-analyzer returns the whole file for a module.
            let is_whole = one.language != Language::Rust && spot.start < one.at && one.at < spot.end && word != name;
            *one.path == *below && (one.at == spot.start || is_whole)
        };
        if let Some(number) = found.definitions.iter().position(is_ours) {
            return Evidence::Definition(number);
        }
        let is_declared = |one: &Definition| one.kind == Kind::Module && one.language == Language::Rust;
        let mut modules = (0..found.definitions.len()).filter(|at| is_declared(&found.definitions[*at]));
        if let (Some(number), None) = (modules.next().filter(|_| is_module(name, spot)), modules.next()) {
            return Evidence::Definition(number);
        }
        // clangd leads from `Point(3)` to the class. The references of its constructors decide.
        let constructs = matches!(found.sites[asked_at].class, Class::Construct | Class::Call);
        let is_alone = !found.definitions.iter().any(|one| one.kind.is_type());
        if constructs && is_alone && word == name && found.definitions.iter().any(|one| one.is_constructor(name)) {
            return silent;
        }
        let here = found.sites.iter().position(|site| *site.path == *below && site.at == spot.start);
        let is_pure = |site: &Site| {
            let text = found.texts.get(&site.path).filter(|_| site.language == Language::Cpp);
            text.is_some_and(|text| is_pure_virtual(text, site.at))
        };
        if let Some(at) = here {
            let site = &found.sites[at];
            if found.sites[asked_at].path != site.path && is_linked_alternative(found, site) {
                return Evidence::Unknown(Code::Inactive);
            }
            // An embedded field in Go leads to the type whose name it has.
            let is_given = matches!(site.class, Class::Export | Class::FieldWrite);
            if let Some(ours @ Evidence::Definition(_)) = is_given.then(|| exported(found, site)).flatten() {
                return ours;
            }
            let leads_on = site.embeds || matches!(site.class, Class::Import | Class::Export);
            return match site.class {
                // A type in a comment (JSDoc) may be the type of any object.
                Class::Mention => Evidence::Unknown(Code::Dynamic),
                // The server returned the site itself because it found nothing.
                _ if leads_on && at == asked_at => silent,
                // The same for a destructured member of an object of unknown type.
                Class::Value | Class::FieldRead if at == asked_at && family(site.language) == SCRIPTS => silent,
                _ if leads_on => Evidence::Import(at),
                Class::Signature if !site.in_interface && !is_pure(site) && at != asked_at => Evidence::Import(at),
                // Without an index clangd cannot resolve a prototype.
                Class::Signature
                    if family(site.language) == C_AND_CPP && !is_pure(site) && prototypes.may_announce(found, site) =>
                {
                    silent
                }
                // `module.exports = { area }` declares a property with the meaning of the variable.
                Class::Value if family(site.language) == SCRIPTS && at != asked_at => Evidence::Import(at),
                Class::FieldWrite if let Some(value) = exported(found, site) => value,
                _ if site.in_interface => Evidence::Interface,
                _ => Evidence::Other,
            };
        }
    }
    // `({ login: go }) => go()` leads to the local name in the pattern.
    if family(found.sites[asked_at].language) == SCRIPTS
        && let Some(key) = key_before(found, spot, sheets)
    {
        return Evidence::Import(key);
    }
    // Keys in JSON are quoted.
    let text = sheets.text(spot).trim_matches('"');
    let is_named = word == name || text == name || found.names.contains(word);
    // The target of an import of `export default memo(Button)`.
    if word == "export" && sheets.text(spot).starts_with("export default ") {
        let is_in_there =
            |site: &Site| sheets.path(&site.path) == spot.path && (spot.start..spot.end).contains(&site.at);
        return found.sites.iter().position(is_in_there).map_or(silent, Evidence::Import);
    }
    // A module exported by `module.exports` has no name there.
    if word == "module" && sheets.text(spot).starts_with("module.exports") {
        return silent;
    }
    // gopls leads from a package name to its import.
    if found.sites[asked_at].language == Language::Go && sheets.text(spot).starts_with('"') {
        return Evidence::Other;
    }
    let is_implied = || found.sites[asked_at].language == Language::Rust && is_implied_in_rust(name, spot, sheets);
    if is_named || is_module(name, spot) || is_implied() { Evidence::Other } else { Evidence::Unknown(Code::Stale) }
}

/// Returns which definition the same name means in the corresponding stub or implementation: `geo.pyi` for `geo.py`,
/// `geo.d.ts` for `geo.js`.
fn stub_of(found: &Candidates, spot: &Spot, below: &Path, sheets: &Sheets) -> Option<usize> {
    let is_beside = |one: &Definition| is_ambient(&one.path) != is_ambient(below) && module(&one.path) == module(below);
    let number = found.definitions.iter().position(is_beside).filter(|_| sheets.word(spot) == found.question.name)?;
    let class = any_at(sheets, spot)?.marks.class.and_then(|class| sheets.get(&spot.path)?.get(class));
    let is_it = |one: &Definition| match (one.inside.last(), class) {
        (Some(names), Some(class)) => names.iter().any(|name| name == class),
        (names, class) => names.is_none() && class.is_none(),
    };
    is_it(&found.definitions[number]).then_some(number)
}

/// Returns the path of a module without the extension of its language.
fn module(path: &Path) -> Option<(&Path, &str)> {
    let name = path.file_name()?.to_str()?;
    let ends = [".d.ts", ".d.mts", ".d.cts", ".pyi", ".py", ".js", ".mjs", ".cjs", ".jsx"];
    Some((path.parent()?, ends.iter().find_map(|end| name.strip_suffix(end))?))
}

/// Returns the site of the key that a pattern renames: `login` in `{ login: go }`.
fn key_before(found: &Candidates, spot: &Spot, sheets: &Sheets) -> Option<usize> {
    let before = sheets.text_before(&spot.path, spot.start).trim_end().strip_suffix(':')?.trim_end();
    let key = before.strip_suffix(found.question.name.as_str())?.len();
    let is_key = |site: &Site| {
        sheets.path(&site.path) == spot.path && site.at == key && matches!(site.class, Class::Value | Class::FieldRead)
    };
    found.sites.iter().position(is_key)
}

/// Returns the offset of a property's name, given the spot of its value.
fn holder(name: &str, spot: &Spot, sheets: &Sheets) -> Option<usize> {
    let value = sheets.text_from(&spot.path, spot.start);
    let is_function = value.starts_with('(') || value.starts_with("async") || value.starts_with("function");
    let before = sheets.text_before(&spot.path, spot.start).trim_end();
    if !(is_function || value.split_whitespace().nth(1) == Some("=>")) || !before.ends_with(['=', ':']) {
        return None;
    }
    let line = before.rfind(['\n', ';', '{', ',']).map_or(0, |at| at + 1);
    let is_whole = |at: &usize| {
        let (head, rest) = (&before[..*at], &before[at + name.len()..]);
        last_word(head.as_bytes()).is_empty() && !rest.as_bytes().first().is_some_and(|byte| is_word(*byte))
    };
    before[line..].match_indices(name).map(|(at, _)| line + at).find(is_whole)
}

/// True if the spot reaches a Rust method through another trait (`x.into()` leads to `From::from`), or is the trait in
/// `#[derive(…)]` that makes the method.
fn is_implied_in_rust(name: &str, spot: &Spot, sheets: &Sheets) -> bool {
    let pairs = [("into", "from"), ("try_into", "try_from"), ("parse", "from_str"), ("to_string", "fmt")];
    let before = sheets.text_before(&spot.path, spot.start).as_bytes();
    let is_derived = || unclosed(before, b'(').is_some_and(|opened| last_word(&before[..opened]) == b"derive");
    pairs.contains(&(name, sheets.word(spot))) || is_derived()
}

/// True if a spot is a whole module, which is defined by its file.
fn is_module(name: &str, spot: &Spot) -> bool {
    let stem = spot.path.file_stem().and_then(|stem| stem.to_str());
    let folder = spot.path.parent().and_then(|folder| folder.file_name()).and_then(|folder| folder.to_str());
    let is_index = matches!(stem, Some("mod" | "index" | "__init__" | "lib"));
    spot.start <= 3 && (stem == Some(name) || is_index && folder == Some(name))
}
