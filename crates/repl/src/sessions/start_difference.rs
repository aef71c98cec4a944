//! The note for a caller that is given a running session in another directory or environment than its own start would
//! have used: the same relative path and the same project file have another meaning there.

use std::path::Path;

use project::Caller;

use super::{Repl, SessionKey, StartPlan, StartRequest};

impl Repl {
    /// Returns the note for a caller of the running session of that name; `None` if the caller would have started the same one.
    pub(super) fn start_difference_note(
        &self,
        caller: &Caller,
        key: &SessionKey,
        asked: &StartRequest,
    ) -> Option<String> {
        let plan = {
            let sessions = self.lock();
            let plan = &sessions.slots.get(key)?.entry.as_ref()?.plan;
            // The common case, checked first because every evaluation comes here.
            if asked.cwd.is_none() && asked.env.is_empty() && plan.from.cwd == caller.cwd {
                return None;
            }
            plan.clone()
        };
        let runs_in = &plan.spec.launch.cwd;
        let session = &key.name;
        if asked.env.iter().any(|(name, value)| !has(&plan, name, value)) {
            return Some(format!(
                "{session} is already running in another environment: `env` applies only to a new session. Stop it \
                 first (repl_stop), or name another session."
            ));
        }
        let own = self.spec(caller, key, asked.clone()).ok()?.launch.cwd;
        let own = own.canonicalize().unwrap_or(own);
        (own != *runs_in && runs_in.canonicalize().ok().as_ref() != Some(&own)).then(|| {
            format!(
                "{session} was started elsewhere and runs in {}, not in {}; repl_start with another `session` and `cwd` \
                 starts one there.",
                visible_path(runs_in),
                visible_path(&own)
            )
        })
    }
}

fn has(plan: &StartPlan, name: &str, value: &str) -> bool {
    plan.spec.launch.env.iter().any(|(known, its)| known == name && its == value)
}

fn visible_path(path: &Path) -> String {
    project::visible(&path.to_string_lossy())
}
