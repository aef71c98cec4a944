//! Haskell, which GHC judges: what it compiled of a worktree, and how it stands, for an answer.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use project::Caller;

use super::{Asked, Call};
use crate::answer::Found;
use crate::blocking::blocking;
use crate::haskell::{self, GHC, Index, Late, Order};
use crate::judgement::{Code, Judge, Judged, Reason};
use crate::pool::Program;
use crate::syntax::{Language, family};

/// Gives the sites of Haskell their verdicts, and adds uses that only GHC knows. `Err` says why it cannot.
pub(super) async fn judge(asked: &Asked<'_>, found: &mut Found, judged: &mut Judged) -> Result<(), Code> {
    let index = index(&asked.call, judged).await?;
    blocking(|| haskell::judge(&index, asked.call.scope, asked.wanted, asked.shown, found, judged));
    Ok(())
}

/// The index of a worktree as it is now; `Err` with why there is none, which is added to what is said of the answer.
pub(super) async fn index(call: &Call<'_>, judged: &mut Judged) -> Result<Arc<Index>, Code> {
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
