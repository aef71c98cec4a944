//! `ghc -fno-code` of the packages of a worktree, with its type errors and incomplete patterns.

use std::path::Path;

use tokio::time::{Instant, timeout_at};

use super::{CompilerError, Order, Proof};

/// Returns the errors that another text of a file causes.
pub(super) async fn prove(order: &Order<'_>, file: &str, text: &str) -> Result<Proof, String> {
    let effect = order.questions.ghc_effect(order.cx, order.root, Path::new(file), text);
    let effect = timeout_at(Instant::from_std(order.until), effect).await;
    let effect =
        effect.map_err(|_| "ghc needs more time; ask again, it goes on where it stopped, or raise `wait_ms`")??;
    let stopped = || effect.is_partial.then(|| "ghc stopped at an error, so later ones may be missing".to_owned());
    let limits = effect.open.first_key_value().map(|(file, why)| {
        let count = effect.open.len();
        let file = file.strip_prefix(order.root).unwrap_or(file).display();
        format!("{count} file(s) do not compile without the change, the first {file}: {why}")
    });
    let limits = limits.or_else(stopped);
    let errors = effect.messages.into_iter().map(|message| CompilerError {
        file: message.file,
        line: message.line,
        column: message.column,
        message: message.text,
    });
    Ok(Proof { compiler: "ghc", errors: errors.collect(), limits })
}
