//! Asks GHC about Haskell: the index of a worktree, and its state for an answer.

use std::path::PathBuf;
use std::sync::Arc;

use project::Caller;

use super::Call;
use crate::haskell::{GHC, Index, Late, Order};
use crate::judgement::{Code, Judge, Judgement, Reason};
use crate::syntax::{Language, family};

/// Returns the current index of a worktree. An `Err` is also recorded as a reason of the judgement.
pub(crate) async fn index(call: &Call<'_>, judged: &mut Judgement) -> Result<Arc<Index>, Code> {
    let language = family(Language::Haskell);
    let mut without = |state, code, text| {
        judged.is_certain = false;
        judged.judges.push(Judge::without(language, state));
        judged.reasons.push(Reason { code, text, sites: 0 });
        Err(code)
    };
    let (Some(options), Some(caller)) = (call.pool.options(), call.cx.caller::<Caller>()) else {
        return without("absent", Code::Absent, "no language server for Haskell".to_owned());
    };
    let root = &call.scope.root;
    let command = match call.pool.program(options, &caller.env, root, root, language) {
        Ok((_, command)) => command,
        Err(none) => return without(none.state.word(), none.code, none.text),
    };
    if let Err(error) = (options.prepare)() {
        return without("absent", Code::Absent, format!("cannot create the output directory of GHC: {error}"));
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
    let (state, result) = match call.pool.haskell().index(order, call.until).await {
        Ok(index) => ("ready", Ok(index)),
        Err(Late::Compiling { began, progress }) => {
            let seconds = began.elapsed().as_secs();
            let text = format!("ghc has been compiling for {seconds} s{progress}");
            judged.may_pass = true;
            judged.reasons.push(Reason { code: Code::Loading, text, sites: 0 });
            ("loading", Err(Code::Loading))
        }
        Err(Late::Failed(text)) => {
            judged.reasons.push(Reason { code: Code::Absent, text, sites: 0 });
            ("cannot_start", Err(Code::Absent))
        }
    };
    judged.is_certain &= result.is_ok();
    judged.judges.push(Judge { language, name: Some(GHC.to_owned()), state, progress: None });
    result
}
