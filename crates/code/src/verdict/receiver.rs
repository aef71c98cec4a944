//! The receiver of a site: a call that may run several methods runs the one of the receiver's class.

use syntax::{Class, Kind, Language, SCRIPTS, family, is_word, last_word, unclosed};

use super::classes::{any_at, declared_at, spot as place};
use super::heads::Heads;
use super::overriders::class_around;
use super::resolve::Evidence;
use crate::answer::{Candidates, Site};
use crate::inquiry::{Inquiry, Sheets, Spot};

/// The maximum length of a chain of patterns and exports.
const MOST_EXPORTS: usize = 3;

impl Inquiry<'_> {
    /// Refines the evidence about a site that may run one of the definitions, by the class of its receiver.
    pub(super) async fn by_receiver(&mut self, site: &Site, evidence: Evidence, heads: &Heads) -> Evidence {
        // An instance field does not use a class attribute.
        let are_fields = self.found.definitions.iter().all(|one| one.kind == Kind::Field);
        let is_held = family(site.language) == SCRIPTS || are_fields;
        if is_held && site.class == Class::Binding && matches!(evidence, Evidence::Override(_)) {
            return Evidence::Other;
        }
        let may_dispatch = match site.language {
            Language::Cpp => matches!(evidence, Evidence::Override(_)),
            Language::Rust | Language::Go => false,
            _ => matches!(evidence, Evidence::Override(_) | Evidence::Base),
        };
        if may_dispatch && self.is_exact(site).await {
            return Evidence::Other;
        }
        match evidence {
            Evidence::Override(number) if self.is_of_another(site, number, heads).await => Evidence::Other,
            evidence => evidence,
        }
    }

    /// True if a call runs exactly the method that it names, by its receiver: a C++ value (`Base b; b.go()`), a class
    /// (`Base.go(self)`, `Base.prototype.go`), or a new object (`new Base().go()`).
    async fn is_exact(&mut self, site: &Site) -> bool {
        let receiver = self.found.receiver(site);
        let (is_python, is_script) = (site.language == Language::Python, family(site.language) == SCRIPTS);
        let made = made_by(receiver, is_script).filter(|_| is_python || is_script);
        let prototype = receiver.strip_suffix(b".prototype").filter(|_| is_script);
        let class = prototype.or(made).unwrap_or(receiver);
        let name = last_word(class);
        // It may be an object of any subclass, or a subclass.
        if name.is_empty() || matches!(name, b"this" | b"self" | b"cls") {
            return false;
        }
        let spot = Spot::at(self.sheets.path(&site.path), class.len() - name.len());
        if site.language == Language::Cpp {
            // A value is neither a reference nor a pointer; its type may be an alias: `Type: Ref (aka Base &)`.
            let shown = self.hovered(&spot).await;
            let of = shown.lines().find_map(|line| line.strip_prefix("Type: "));
            return of.is_some_and(|of| !of.contains(['&', '*']));
        }
        let mut is_made = made.is_some();
        let mut spots = self.defined(&spot).await.unwrap_or_default();
        // A variable may hold an object of a subclass.
        if let [variable] = &spots[..]
            && let Some(class) = class_made(variable, self.sheets, is_script)
        {
            let text = self.sheets.text_from(&class.path, 0).as_bytes();
            if is_script && is_assigned_again(text, self.sheets.word(&class).as_bytes()) {
                return false;
            }
            is_made = true;
            spots = self.defined(&class).await.unwrap_or_default();
        }
        if is_script {
            let text = self.found.texts.get(&site.path).map(|text| &text[..]).unwrap_or_default();
            if is_assigned_again(text, name) {
                return false;
            }
            spots = self.exported_classes(spots).await;
        }
        // A Python class may override the construction of its objects.
        let is_it =
            |one: &Spot| is_class(one, self.sheets) && !(is_python && is_made && makes_others(one, self.sheets));
        !spots.is_empty() && spots.iter().all(is_it)
    }

    /// Follows TypeScript constructors and CommonJS exports to their classes.
    async fn exported_classes(&mut self, mut spots: Vec<Spot>) -> Vec<Spot> {
        for spot in &mut spots {
            for _ in 0..MOST_EXPORTS {
                if is_class(spot, self.sheets) {
                    break;
                }
                let made = any_at(self.sheets, spot).filter(|_| self.sheets.word(spot) == "constructor");
                if let Some(class) = made.and_then(|declares| declares.marks.class) {
                    *spot = place(&spot.path, &class);
                    break;
                }
                let Some(value) = leads_on(spot, self.sheets) else { break };
                match <[Spot; 1]>::try_from(self.defined(&value).await.unwrap_or_default()) {
                    Ok([next]) if !next.begins_at(spot) => *spot = next,
                    _ => break,
                }
            }
        }
        spots
    }

    /// True if the receiver's class is unrelated to that of the definition: a sibling that inherits the method from a common
    /// base.
    async fn is_of_another(&mut self, site: &Site, number: usize, heads: &Heads) -> bool {
        let is_cpp = site.language == Language::Cpp;
        if site.language != Language::Python && !is_cpp && family(site.language) != SCRIPTS {
            return false;
        }
        let receiver = if is_cpp { receiver_in_cpp(self.found, site) } else { self.found.receiver(site) };
        let name = last_word(receiver);
        if name.is_empty() {
            return false;
        }
        let spot = Spot::at(self.sheets.path(&site.path), receiver.len() - name.len());
        let places = self.ask("textDocument/typeDefinition", &spot).await.unwrap_or_default();
        let mut of: Vec<Spot> = self.sheets.spots(&places);
        if of.len() < places.len() {
            return false;
        }
        if is_cpp {
            // clangd may also return the smart pointer class.
            of.retain(|class| self.sheets.relative_path(&class.path).is_some());
            let before = self.found.text_before(&site.path, site.at);
            let is_arrow = before.trim_ascii_end().ends_with(b"->");
            if !is_an_object(&self.hovered(&spot).await, is_arrow) {
                return false;
            }
        }
        if matches!(name, b"self" | b"this") {
            of = class_around(&Spot::at(spot.path, site.at), self.sheets).into_iter().collect();
        }
        let Some(own) = self.spot_of(&self.found.definitions[number]) else { return false };
        let Some(own) = self.class_of(&own).await.filter(|_| !of.is_empty()) else { return false };
        // An object of a common subclass may share a virtual base.
        let may_share = |class: &Spot, sheets: &Sheets| is_cpp && has_virtual_bases(class, sheets);
        if may_share(&own, self.sheets) || is_cpp && has_template_base(&own, self.sheets) {
            return false;
        }
        for class in of {
            let is_class = declared_at(self.sheets, &class)
                .is_some_and(|declares| declares.kind == Kind::Class || is_cpp && declares.kind == Kind::Struct);
            let have_heir = !is_cpp && heads.share_subclass(self.sheets.word(&class), self.sheets.word(&own));
            if !is_class
                || class.begins_at(&own)
                || have_heir
                || may_share(&class, self.sheets)
                || self.has_base(own.clone(), &class).await != Ok(false)
            {
                return false;
            }
        }
        true
    }
}

/// Returns the class constructed at the end of a text: `geo.Circle` in `geo.Circle(1)`, in a script in `new geo.Circle<T>(1)`.
fn made_by(text: &[u8], is_script: bool) -> Option<&[u8]> {
    let class = text[..text.strip_suffix(b")").and_then(|text| unclosed(text, b'('))?].trim_ascii_end();
    if !is_script {
        return Some(class);
    }
    let start = class.iter().rposition(|byte| !is_word(*byte) && !b".$".contains(byte)).map_or(0, |at| at + 1);
    (start < class.len() && class[..start].trim_ascii_end().ends_with(b"new")).then_some(class)
}

/// Returns the spot of the class that initializes a variable: `const shape = new geo.Circle(1)`; in Python a local variable
/// with a single binding in its function, `shape = geo.Circle(1)`.
fn class_made(variable: &Spot, sheets: &Sheets, is_script: bool) -> Option<Spot> {
    let one = sheets.occurrence(variable)?;
    let (text, start) = (sheets.get(&variable.path)?, variable.start);
    let name = sheets.word(variable);
    let statement = text.get(start + name.len()..)?.split(if is_script { &[';', '\n'][..] } else { &['\n'] }).next()?;
    let value = statement.trim().strip_prefix('=')?.trim();
    let class = made_by(value.as_bytes(), false)?;
    let class = if is_script { class.strip_prefix(b"new ")?.trim_ascii_start() } else { class };
    let length = class.iter().take_while(|byte| is_word(**byte) || b".$".contains(byte)).count();
    let (path, rest) = class.split_at(length);
    // `new Builder().build()` is the result of the builder.
    let is_path = rest.is_empty() || is_script && rest.starts_with(b"<") && rest.ends_with(b">");
    let is_bound_once = if is_script {
        last_word(text.get(..start)?.trim_end().as_bytes()) == b"const"
    } else {
        let is_function = |kind| matches!(kind, Kind::Function | Kind::Method);
        let function = one.enclosing.iter().rev().find(|around| is_function(around.kind))?.at;
        let declares = any_at(sheets, &Spot::at(variable.path.clone(), function))?;
        times_bound(text.get(declares.bytes)?, name) == 1
    };
    let word = last_word(path).len();
    let end = path.as_ptr().addr() - text.as_ptr().addr() + path.len();
    (is_path && is_bound_once && word > 0).then(|| Spot { path: variable.path.clone(), start: end - word, end })
}

/// Counts the bindings of a name in a Python text.
fn times_bound(text: &str, name: &str) -> usize {
    let binds = |at: usize| {
        let (before, after) = (&text[..at], &text[at + name.len()..]);
        let is_part = |c: char| c.is_alphanumeric() || c == '_';
        let is_whole = !before.ends_with(|c| is_part(c) || c == '.') && !after.starts_with(is_part);
        let after = after.trim_start();
        let is_assigned = after.starts_with('=') && !after.starts_with("==") || after.starts_with([':', ',']);
        let last = last_word(before.trim_end().as_bytes());
        is_whole && (is_assigned || [&b"for"[..], b"as", b"global", b"nonlocal"].contains(&last))
    };
    text.match_indices(name).filter(|(at, _)| binds(*at)).count()
}

/// Returns the value that a pattern, a variable or an export passes on unchanged: `{ Shape }`, `exports.Shape = Shape`,
/// `module.exports = Shape`. Conditional or reassigned values may be another class.
fn leads_on(spot: &Spot, sheets: &Sheets) -> Option<Spot> {
    let whole = sheets.get(&spot.path)?;
    let word = sheets.word(spot);
    let module = whole.get(spot.start..)?.strip_prefix("module.exports");
    if module.is_none() && is_assigned_again(whole.as_bytes(), word.as_bytes()) {
        return None;
    }
    let rest = module.or(whole.get(spot.start + word.len()..))?.trim_start();
    let Some(value) = rest.strip_prefix(['=', ':']).map(str::trim_start) else { return Some(spot.clone()) };
    let value = value.split([';', ',', '\n', '}']).next().unwrap_or_default().trim_end();
    let is_name = !value.is_empty() && value.chars().all(|c| c.is_alphanumeric() || "_$.".contains(c));
    if module.is_none() {
        return (is_name || value.starts_with("require(")).then(|| spot.clone());
    }
    let at = value.as_ptr().addr() - whole.as_ptr().addr() + value.len() - last_word(value.as_bytes()).len();
    is_name.then(|| Spot::at(spot.path.clone(), at))
}

/// True if a file assigns a name more than once.
fn is_assigned_again(text: &[u8], name: &[u8]) -> bool {
    let is_assigned = |at: &usize| {
        let is_whole = !text[..*at].last().is_some_and(|byte| is_word(*byte) || b".$".contains(byte));
        let after = text[at + name.len()..].trim_ascii_start();
        is_whole && after.starts_with(b"=") && !after.starts_with(b"==") && !after.starts_with(b"=>")
    };
    memchr::memmem::find_iter(text, name).filter(is_assigned).nth(1).is_some()
}

/// True if a Python class overrides the construction of its objects.
fn makes_others(class: &Spot, sheets: &Sheets) -> bool {
    let text = declared_at(sheets, class).and_then(|declares| sheets.get(&class.path)?.get(declares.bytes));
    text.is_none_or(|text| text.contains("__new__") || text.contains("metaclass"))
}

fn is_class(spot: &Spot, sheets: &Sheets) -> bool {
    declared_at(sheets, spot).is_some_and(|declares| matches!(declares.kind, Kind::Class | Kind::Struct))
}

/// Returns the receiver of a C++ site before a dot or an arrow.
fn receiver_in_cpp<'a>(found: &'a Candidates, site: &Site) -> &'a [u8] {
    let before = found.text_before(&site.path, site.at).trim_ascii_end();
    before.strip_suffix(b"->").or(before.strip_suffix(b".")).map(<[u8]>::trim_ascii_end).unwrap_or_default()
}

/// True if clangd's hover text of a variable shows an object, or for an arrow a pointer: `Type: const Shape &`, `Type:
/// std::unique_ptr<Shape>`. Templates and overloaded arrows may have any type.
fn is_an_object(shown: &str, is_arrow: bool) -> bool {
    let of = shown.lines().find_map(|line| line.strip_prefix("Type: ")).unwrap_or_default();
    let of = of.split(" (aka ").next().unwrap_or_default().trim_matches('`').trim_start_matches("const ");
    let inner = ["std::unique_ptr<", "std::shared_ptr<"].iter().find_map(|pointer| of.strip_prefix(pointer));
    let points = inner.is_some() || of.trim_end_matches(['&', ' ']).trim_end_matches("const").trim_end().ends_with('*');
    let name = inner.unwrap_or(of).trim_end_matches(|c: char| " &*>".contains(c));
    points == is_arrow && !name.is_empty() && name.chars().all(|c| c.is_alphanumeric() || " _:".contains(c))
}

/// True if a C++ class has a template among its bases, which may have any bases.
fn has_template_base(class: &Spot, sheets: &Sheets) -> bool {
    let head = sheets.text_from(&class.path, class.start).split(['{', ';']).next();
    head.is_some_and(|head| head.contains('<'))
}

/// True if a class in the same file has a virtual base: `struct Reader : virtual Stream {`.
fn has_virtual_bases(class: &Spot, sheets: &Sheets) -> bool {
    let is_base = |rest: &str| rest.find(['{', '(', ';']).is_some_and(|at| rest[at..].starts_with('{'));
    sheets.text_from(&class.path, 0).split("virtual ").skip(1).any(is_base)
}
