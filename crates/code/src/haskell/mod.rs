//! What names mean in Haskell, by GHC's own word: the `.hie` files that it writes beside its interfaces. hob has GHC compile a
//! project without making code, into its state directory, reads those files, and looks candidates up in them. This runs code of
//! the project (Template Haskell, preprocessors, plugins), so it waits for trust like every server that does.
//!
//! - `sources`: the files that GHC may read, as they are now.
//! - `toolchain`: the GHC of a project, and its packages.
//! - `reader`: the program in Haskell that reads `.hie` files and `.cabal` files.
//! - `units`: what is compiled together.
//! - `compile`: runs GHC, and tells which files do not compile.
//! - `index`: what stands at each place.
//! - `build`: all of that, in the background, once for each state of the files.
//! - `uses`, `meanings`: answers from an index.

mod build;
mod compile;
mod index;
mod meanings;
mod reader;
mod sources;
mod toolchain;
mod units;
mod uses;

pub(crate) use build::Projects;
pub(crate) use meanings::meanings;
pub(crate) use uses::judge;

use crate::judgement::{Code, Judge, Judged, Reason};
use crate::pool::Program;
use crate::syntax::{Language, family};
use crate::verdict::Call;

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use build::{Late, Order};
use index::Index;
use project::Caller;

/// The name of the profile.
pub(crate) const GHC: &str = "ghc";

/// Whether GHC judges the languages of a family.
pub(crate) fn is_judged_by_ghc(of: &str) -> bool {
    of == family(Language::Haskell)
}

/// The index of a worktree as it is now; `Err` with why there is none, which is added to what is said of the answer.
async fn index(call: &Call<'_>, judged: &mut Judged) -> Result<Arc<Index>, Code> {
    let language = family(Language::Haskell);
    let mut without = |state, code, text| {
        judged.is_certain = false;
        judged.judges.push(Judge::without(language, state));
        judged.reasons.push(Reason { code, text, sites: 0 });
        Err(code)
    };
    let (Some(options), Some(caller)) = (call.pool.options(), call.cx.caller::<Caller>()) else {
        return without("absent", Code::Absent, "no judge for Haskell".to_owned());
    };
    let root = &call.scope.root;
    let command = match call.pool.program(options, &caller.env, root, root, language) {
        Program::Runs { command, .. } => command,
        Program::None { state, code, text, .. } => return without(state.word(), code, text),
    };
    if let Err(error) = (options.prepare)() {
        return without("absent", Code::Absent, format!("GHC has no place for what it writes: {error}"));
    }
    let order = Order {
        root: root.clone(),
        ghc: PathBuf::from(command.into_iter().next().unwrap_or_default()),
        env: call.pool.environment(&caller.env, root),
        directory: options.state_dir.join(GHC),
        guard: options.guard.clone(),
        records: options.records_dir.clone(),
        memory: options.memory() >> 20,
    };
    let (state, version, result) = match call.pool.haskell().index(order, call.until).await {
        Ok((version, index)) => ("ready", Some(version), Ok(index)),
        Err(Late::Compiling { began, progress }) => {
            let seconds = began.elapsed().as_secs();
            let text = format!("GHC has been compiling for {seconds} s{progress}: ask again");
            judged.retry_after = Some(Duration::from_secs((seconds / 2).clamp(2, 60)));
            judged.reasons.push(Reason { code: Code::Loading, text, sites: 0 });
            ("loading", None, Err(Code::Loading))
        }
        Err(Late::Failed(text)) => {
            judged.reasons.push(Reason { code: Code::Absent, text, sites: 0 });
            ("cannot_start", None, Err(Code::Absent))
        }
    };
    judged.is_certain &= result.is_ok();
    judged.judges.push(Judge {
        language,
        name: Some(GHC.to_owned()),
        version,
        state,
        progress: None,
        canary: None,
        since_ms: None,
    });
    result
}
