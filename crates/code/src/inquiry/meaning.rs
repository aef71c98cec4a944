//! Resolves individual names to their declarations by language server. For questions that start from places rather than from
//! a definition.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use lsp::server::Server;
use lsp::{Encoding, Location};
use syntax::{Class, Kind, Language, bare_name, is_pure_virtual, is_word, occurrences_at, word_ranges};

use super::blocking;
use super::reliability::{Asking, Round, RoundStatus, rounds};
use super::requests::definitions;
use super::texts::{Sheets, Spot, document};
use super::{Call, ghc};
use crate::answer::Texts;
use crate::definition::definition;
use crate::haskell::{Index, declarations, is_judged_by_ghc};
use crate::judgement::{Code, Judgement};
use crate::line_column::Lines;
use crate::search::Hit;
use crate::target::Target;

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Name {
    /// Relative to the root; the question's texts include this file.
    pub path: Arc<Path>,
    pub at: usize,
    pub word: String,
}

#[derive(Debug, Clone)]
pub(crate) enum Meaning {
    /// The declarations at these places; most names have one.
    Is(Vec<Target>),
    /// Declared in another package, whose source is not at hand.
    External,
    Undecided(Code),
}

impl Meaning {
    /// Returns the known declarations.
    pub(crate) fn targets(&self) -> &[Target] {
        match self {
            Meaning::Is(targets) => targets,
            Meaning::External | Meaning::Undecided(_) => &[],
        }
    }
}

/// The meanings of names, and the project files that they depend on.
#[derive(Default)]
pub(crate) struct Meanings {
    /// One for each name, in order.
    pub of: Vec<Meaning>,
    pub texts: Texts,
}

/// Asks the language server of a family for the meaning of each name. A server that is unreliable leaves all undecided, for a reason.
pub(crate) async fn meanings(
    call: &Call<'_>,
    family: &'static str,
    file: &Path,
    names: &[Name],
    texts: &Texts,
    judged: &mut Judgement,
) -> Meanings {
    let answer = if is_judged_by_ghc(family) {
        let index = ghc::index(call, judged).await;
        index.map(|index| blocking(|| by_index(&index, call, names, texts)))
    } else {
        let round = rounds(call, family, file, names.len(), &Names { call, names, texts }, judged).await;
        round.map(|round| round.meanings)
    };
    answer.unwrap_or_else(|code| {
        if let Some(reason) = judged.reasons.last_mut() {
            reason.sites = names.len();
        }
        Meanings { of: vec![Meaning::Undecided(code); names.len()], texts: Texts::new() }
    })
}

struct Names<'a> {
    call: &'a Call<'a>,
    names: &'a [Name],
    texts: &'a Texts,
}

/// One round of definition requests for names.
#[derive(Default)]
struct DefinitionRound {
    meanings: Meanings,
    status: RoundStatus,
}

impl Round for DefinitionRound {
    fn status(&self) -> &RoundStatus {
        &self.status
    }

    fn says_the_same(&self, other: &DefinitionRound) -> bool {
        let places = |one: &Meaning| match one {
            Meaning::Undecided(code) => Err(*code),
            one => Ok(one.targets().iter().map(|one| (one.path.clone(), one.at)).collect::<Vec<_>>()),
        };
        self.meanings.of.iter().map(places).eq(other.meanings.of.iter().map(places))
    }
}

/// How many files may be open at once, besides those of the definitions.
pub(crate) const FILES: usize = 180;
/// The maximum number of names; the remaining ones are undecided.
const MOST_NAMES: usize = 2000;
/// The maximum length of a chain of imports and prototypes.
const DEEP: usize = 3;

impl Asking for Names<'_> {
    type Round = DefinitionRound;

    async fn ask(&self, server: &Server) -> DefinitionRound {
        let mut round = DefinitionRound::default();
        round.meanings.of = vec![Meaning::Undecided(Code::OverALimit); self.names.len()];
        let root = &self.call.scope.root;
        let mut by_file: BTreeMap<&Arc<Path>, Vec<usize>> = BTreeMap::new();
        for (number, name) in self.names.iter().enumerate().take(MOST_NAMES) {
            by_file.entry(&name.path).or_default().push(number);
        }
        let files: Vec<(&Arc<Path>, Vec<usize>)> = by_file.into_iter().collect();
        for chunk in files.chunks(FILES) {
            let document = |path: &Arc<Path>| document(root.join(path), self.texts.get(path)?);
            let documents = chunk.iter().filter_map(|(path, _)| document(path)).collect();
            let Some(session) = round.status.open(self.call.until, server, documents).await else { return round };
            let mut sheets = Sheets::new(root, self.texts, session.encoding, self.call.until);
            // Each requested place, with the index of the name that led to it.
            let mut open: Vec<Open> = chunk
                .iter()
                .flat_map(|(path, numbers)| numbers.iter().map(move |at| (*at, root.join(path), self.names[*at].at)))
                .collect();
            for step in 0..=DEEP {
                let Some(answers) = definitions(&session, &sheets, open.iter().cloned()).await else {
                    round.status.is_lost = true;
                    return round;
                };
                let (read, mut next) = blocking(|| self.read(answers, &mut sheets));
                for (number, meaning) in read {
                    // The target of an import replaces it, unless it is unknown.
                    let is_better = step == 0 || matches!(meaning, Meaning::Is(_));
                    if is_better {
                        round.meanings.of[number] = meaning;
                    }
                }
                let asked: BTreeSet<Open> = open.into_iter().collect();
                next.retain(|one| !asked.contains(one));
                if next.is_empty() || step == DEEP {
                    break;
                }
                let paths: BTreeSet<&PathBuf> = next.iter().map(|(_, path, _)| path).collect();
                let documents = paths.into_iter().filter_map(|path| sheets.document(path)).take(FILES).collect();
                if round.status.open(self.call.until, server, documents).await.is_none() {
                    return round;
                }
                open = next;
            }
            round.meanings.texts.extend(sheets.of_the_project());
        }
        // An import that only leads to itself has no target.
        for meaning in &mut round.meanings.of {
            if let Meaning::Is(targets) = meaning {
                targets.retain(|target| !target.leads_on || target.declares.is_some());
                if targets.is_empty() {
                    *meaning = Meaning::Undecided(Code::Inactive);
                }
            }
        }
        let is_elsewhere = |name: &Name, target: &Target| !target.is_outside() && target.path != name.path;
        let mut all = self.names.iter().zip(&round.meanings.of);
        round.status.proves = all.any(|(name, of)| of.targets().iter().any(|target| is_elsewhere(name, target)));
        round.status.is_sure = !round.meanings.of.iter().any(|one| matches!(one, Meaning::Undecided(_)));
        round
    }
}

/// The index of a name, and a place to request.
type Open = (usize, PathBuf, usize);

impl Names<'_> {
    /// Reads the targets in the answers. Returns the meanings by the index of the name, and the places to request next.
    fn read(
        &self,
        answers: Vec<(usize, Result<Vec<Location>, Code>)>,
        sheets: &mut Sheets,
    ) -> (Vec<(usize, Meaning)>, Vec<Open>) {
        let until = self.call.until.max(Instant::now() + Duration::from_secs(1));
        let mut files: HashMap<PathBuf, u64> = HashMap::new();
        let (mut of, mut next) = (Vec::with_capacity(answers.len()), Vec::new());
        for (number, answer) in answers {
            let mut meaning = |places: Vec<Location>| {
                let targets = places.iter().filter_map(|place| {
                    let spot = sheets.spot(place)?;
                    let file = *files.entry(spot.path.clone()).or_insert_with(|| {
                        let mut hasher = DefaultHasher::new();
                        (sheets.root(), &spot.path, sheets.get(&spot.path)).hash(&mut hasher);
                        hasher.finish()
                    });
                    let known = &self.call.pool.known_targets;
                    let word = &self.names[number].word;
                    known.get_or_read((file, spot.start, word.clone()), || target_at(sheets, &spot, word, until))
                });
                let mut targets: Vec<Target> = targets.collect();
                // clangd also returns the `using` declaration, which leads to all overloads.
                if targets.iter().any(|target| !target.leads_on) {
                    targets.retain(|target| !target.leads_on);
                }
                let is_inside = places.iter().any(|place| sheets.relative_path(&place.path).is_some());
                match () {
                    () if places.is_empty() => Meaning::Undecided(Code::Inactive),
                    () if !targets.is_empty() => Meaning::Is(targets),
                    // The file has no such place: the server has an old version of it.
                    () if is_inside => Meaning::Undecided(Code::Stale),
                    () => Meaning::Undecided(Code::OutsideTheRoot),
                }
            };
            let meaning = answer.map_or_else(Meaning::Undecided, &mut meaning);
            if let Meaning::Is(targets) = &meaning {
                let leading = targets.iter().filter(|target| target.leads_on && !target.is_outside());
                next.extend(leading.map(|target| (number, sheets.path(&target.path), target.at)));
            }
            of.push((number, meaning));
        }
        next.sort();
        next.dedup();
        (of, next)
    }
}

/// Resolves names by the index of GHC.
fn by_index(index: &Index, call: &Call<'_>, names: &[Name], texts: &Texts) -> Meanings {
    let places = declarations(index, texts, names.iter().map(|name| (name.path.clone(), name.at)));
    let until = call.until.max(Instant::now() + Duration::from_secs(1));
    let mut sheets = Sheets::new(&call.scope.root, texts, Encoding::Utf8, until);
    let of = names.iter().zip(places).map(|(name, place)| {
        let (path, at) = match place {
            Ok((path, at)) => (sheets.path(&path), at),
            Err(Code::OutsideTheRoot) => return Meaning::External,
            Err(code) => return Meaning::Undecided(code),
        };
        sheets.read(&path);
        let spot = Spot { path, start: at, end: at + name.word.len() };
        let target = target_at(&sheets, &spot, &name.word, until);
        target.map_or(Meaning::Undecided(Code::Stale), |target| Meaning::Is(vec![target]))
    });
    Meanings { of: of.collect(), texts: sheets.of_the_project() }
}

/// Returns the target at a spot. Some servers return the whole declaration.
pub(crate) fn target_at(sheets: &Sheets, spot: &Spot, word: &str, until: Instant) -> Option<Target> {
    let embedded = sheets.embedded(spot, word);
    let spot = embedded.as_ref().unwrap_or(spot);
    let whole = sheets.get(&spot.path)?;
    let text = whole.as_bytes();
    let path: Arc<Path> = sheets.relative_path(&spot.path).unwrap_or(&spot.path).into();
    let language = Language::detect(&spot.path, text);
    let (start, end) = (spot.start, spot.end);
    let place = language.and_then(|language| {
        // No word spans lines.
        let to = text[end..].iter().position(|byte| *byte == b'\n').map_or(text.len(), |at| end + at);
        let words = word_ranges(language, &text[start..to]).into_iter();
        let words = words.map(|place| start + place.start..start + place.end);
        let here: Vec<Range<usize>> = words.filter(|place| place.start <= end).collect();
        let is_named = |place: &&Range<usize>| &text[(*place).clone()] == word.as_bytes();
        let first = here.first().filter(|place| place.start == start && !is_named(place) && place.end >= end);
        first.or_else(|| here.iter().find(is_named)).or(here.first()).cloned()
    });
    let lines = Lines::new(text);
    let stands = |at: usize| match text.get(at..).map(bare_name).unwrap_or_default() {
        _ if matches!(&text[..at], b"" | b"\xef\xbb\xbf") => Kind::Module,
        rest if rest.starts_with(word.as_bytes()) && !rest.get(word.len()).is_some_and(|byte| is_word(*byte)) => {
            Kind::Unknown
        }
        _ => Kind::Macro,
    };
    let plain = |at: usize| Target {
        stands: stands(at),
        path: path.clone(),
        line: lines.line(at),
        at,
        declares: None,
        is_bound: false,
        leads_on: false,
    };
    let (Some(language), Some(place)) = (language, place) else { return Some(plain(start)) };
    let name = whole.get(place.clone()).unwrap_or_default();
    let all = occurrences_at(language, text, std::slice::from_ref(&place), until)?;
    let Some(one) = all.into_iter().next() else { return Some(plain(place.start)) };
    let in_interface = one.enclosing.last().is_some_and(|around| around.kind == Kind::Interface);
    let hit = Hit { path: path.to_path_buf(), language, text: text.to_vec(), starts: vec![place.start] };
    let declares = one.declares.as_ref().map(|declares| definition(&hit, &path, &lines, &one, declares, name));
    let is_import = declares.is_none() && matches!(one.class, Class::Import | Class::Export);
    let is_prototype = one.class == Class::Signature && !in_interface && !is_pure_virtual(text, place.start);
    Some(Target {
        is_bound: one.class == Class::Binding && declares.is_none(),
        leads_on: is_import || is_prototype || one.embeds(),
        declares,
        stands: if one.tokens.is_some() { Kind::Macro } else { stands(place.start) },
        ..plain(place.start)
    })
}
