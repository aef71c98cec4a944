//! A hanging start, visible only by a held start lock. The other tests of sessions are in `tests/it/contention.rs`.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

use process::Guard;

use super::*;
use crate::session::EvalRequest;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_start_that_hangs_holds_up_no_other_name() {
    let repl = Repl::new(ReplOptions { guard: Guard::Without, ..ReplOptions::default() });
    let env = BTreeMap::from(["PATH", "HOME"].map(|name| (name.to_owned(), std::env::var(name).unwrap_or_default())));
    let caller = Caller { env, ..testkit::caller(Path::new("/tmp"), "tester") };
    let bash = |name: &str| StartRequest {
        session: Some(name.to_owned()),
        profile: Some("bash".to_owned()),
        ..StartRequest::default()
    };
    let key = repl.key(&caller, Some("hangs")).expect("a name");
    let hangs = repl.lock_start(&key).await;
    repl.start(&caller, bash("sh")).await.expect("started");
    let request = EvalRequest { wait: Duration::from_secs(60), ..EvalRequest::new("echo fine") };
    assert_eq!(repl.eval(&caller, Some("sh"), request).await.expect("an answer").0.stdout, "fine\n");
    assert_eq!(repl.status().len(), 1);
    let soon = EvalRequest { wait: Duration::from_millis(20), ..EvalRequest::new("1") };
    let busy = repl.eval(&caller, Some("hangs"), soon).await.expect_err("it has to wait");
    assert!(matches!(busy, ReplError::Busy { .. }), "{busy}");
    drop(hangs);
    repl.shutdown().await;
    let late = repl.start(&caller, bash("hangs")).await.expect_err("nothing starts any more");
    assert!(matches!(late, ReplError::Session(SessionError::Ended { .. })), "{late}");
}
