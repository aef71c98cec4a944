//! A name is taken over on another machine: its former holder learns of it even if it only reads.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use mail::callers::{Callers, CallersOptions, Registration};
use mail::store::Store;
use mail::{Mail, MailOptions};
use mcp::tool::{Context, LogLevel, NotifyError, Peer, Progress};
use project::Caller;
use serde_json::value::RawValue;
use tokio::sync::watch;

use crate::fixture::{LONG, limits};
use crate::postgres::Server;

/// A silent connection that stays open until its client hangs up, and that can cancel its call.
#[derive(Clone)]
pub(crate) struct Line {
    pub(crate) hang_up: watch::Sender<bool>,
    pub(crate) cancel: watch::Sender<bool>,
}

impl Peer for Line {
    fn notify(&self, _: &str, _: Box<RawValue>) -> Result<(), NotifyError> {
        Ok(())
    }
    fn progress(&self, _: Progress) {}
    fn log(&self, _: LogLevel, _: &str, _: Box<RawValue>) {}
    fn closed(&self) -> watch::Receiver<bool> {
        self.hang_up.subscribe()
    }
}

/// Returns the callers of a daemon on a machine with this name.
pub(crate) async fn callers(store: Arc<dyn Store>, host: &str, dir: PathBuf) -> Arc<Callers> {
    let mail = Mail::open(MailOptions { limits: limits(), ..MailOptions::new(store) }).await.unwrap();
    Callers::new(CallersOptions {
        open: Box::new(move || {
            let mail = mail.clone();
            Box::pin(async move { Ok(mail) })
        }),
        identities: dir.join("identities"),
        tokens: dir.join("tokens"),
        space: "taken".to_owned(),
        host: host.to_owned(),
    })
}

/// Returns a call on a new connection, and the client's end of that connection.
pub(crate) fn call_of(caller: Caller) -> (Context, Line) {
    let line = Line { hang_up: watch::channel(false).0, cancel: watch::channel(false).0 };
    let cancelled = line.cancel.subscribe();
    (Context::new(Arc::new(line.clone()), Arc::new(caller), cancelled, None), line)
}

fn connection(name: &str, takeover: bool) -> Context {
    call_of(Caller { takeover, ..testkit::caller(Path::new("/w/ann"), name) }).0
}

pub(crate) fn itself(name: &str) -> Registration {
    Registration { name: name.into(), role: Some("dev".into()), ..Registration::default() }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn whoever_only_looks_learns_of_a_takeover_on_another_machine() {
    let Some(server) = Server::start() else { return };
    let (one, two) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let store = async |host| Arc::new(server.store("taken", host, None, &limits()).await);
    let here = callers(store("here").await, "here", one.path().to_owned()).await;
    let there = callers(store("there").await, "there", two.path().to_owned()).await;
    let old = connection("ann", false);
    here.register(&old, itself("ann")).await.unwrap();
    here.enter(&old).await.unwrap();
    there.register(&connection("ann", true), itself("ann")).await.unwrap();
    let begin = tokio::time::Instant::now();
    let refused = loop {
        match here.enter(&old).await {
            Err(error) => break error.to_string(),
            Ok(_) => assert!(begin.elapsed() < LONG, "it looks on and on"),
        }
        tokio::task::yield_now().await;
    };
    assert!(refused.contains("The name ann was taken over by /w/ann on there"), "{refused}");
}
