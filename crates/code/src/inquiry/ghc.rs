//! Asks GHC about Haskell: the index of a worktree, and its state for an answer.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use mcp::tool::Context;
use project::Caller;
use syntax::{Language, family};

use super::Call;
use crate::haskell::{self, ChangeEffect, GHC, Index, Late, Order};
use crate::judgement::{Code, Judge, Judgement};
use crate::pool::Pool;

/// The state of GHC when it may not or cannot run, and why.
type Refusal = (&'static str, Code, String);

/// Returns what GHC needs to compile a worktree.
fn order(pool: &Pool, cx: &Context, root: &Path) -> Result<Order, Refusal> {
    let language = family(Language::Haskell);
    let (Some(options), Some(caller)) = (pool.options(), cx.caller::<Caller>()) else {
        return Err(("absent", Code::Absent, "no language server for Haskell".to_owned()));
    };
    let program = pool.program(options, &caller.env, root, root, language);
    let (_, command) = program.map_err(|none| (none.state.word(), none.code, none.text))?;
    (options.prepare)()
        .map_err(|error| ("absent", Code::Absent, format!("cannot create the output directory of GHC: {error}")))?;
    Ok(Order {
        root: root.to_owned(),
        ghc: PathBuf::from(command.into_iter().next().unwrap_or_default()),
        env: pool.environment(&caller.env, root),
        directory: options.state_dir.join(GHC),
        guard: options.guard.clone(),
        records: options.records_dir.clone(),
        memory: options.memory() >> 20,
    })
}

/// Compiles a worktree with and without another text of a file.
pub(crate) async fn prove(
    pool: &Pool,
    cx: &Context,
    root: &Path,
    file: &Path,
    text: &str,
) -> Result<ChangeEffect, String> {
    let order = order(pool, cx, root).map_err(|(_, _, text)| text)?;
    haskell::prove(&order, &root.join(file), text).await
}

/// Returns the current index of a worktree. An `Err` is also recorded as a reason of the judgement.
pub(crate) async fn index(call: &Call<'_>, judged: &mut Judgement) -> Result<Arc<Index>, Code> {
    let language = family(Language::Haskell);
    let order = match order(call.pool, call.cx, &call.scope.root) {
        Ok(order) => order,
        Err((state, code, text)) => {
            judged.judges.push(Judge::without(language, state));
            judged.doubt(code, text, 0);
            return Err(code);
        }
    };
    let (state, result) = match call.pool.haskell().index(order, call.until).await {
        Ok(index) => ("ready", Ok(index)),
        Err(Late::Compiling { began, progress }) => {
            let seconds = began.elapsed().as_secs();
            let text = format!("ghc has been compiling for {seconds} s{progress}");
            judged.may_pass = true;
            judged.doubt(Code::Loading, text, 0);
            ("loading", Err(Code::Loading))
        }
        Err(Late::Failed(text)) => {
            judged.doubt(Code::Absent, text, 0);
            ("cannot_start", Err(Code::Absent))
        }
    };
    judged.judges.push(Judge { language, name: Some(GHC.to_owned()), state, progress: None });
    result
}
