//! Adoption: descendants that lost their parents become children of this process, which reaps them.
//!
//! Never waits on "any child": that would steal statuses from their owners. A process is reaped only if it has ended,
//! is our child, was not started through this crate, and is in a session other than ours, as is everything that escaped
//! from one of our sessions. Children that other code starts without their own session are left to that code.

use parking_lot::{Mutex, MutexGuard};
use std::collections::HashSet;
use std::io;
use std::time::Duration;

use rustix::process::{Pid, WaitId, WaitIdOptions};
use tokio::signal::unix::{SignalKind, signal};

use crate::nonce::{self, Nonce};
use crate::platform;
use crate::procfs::{self, Member};

/// Children that their starters await. Locked while forking, so that no child is seen before it is registered.
static OWNED: Mutex<Option<HashSet<i32>>> = Mutex::new(None);

/// Makes this process the parent of orphaned descendants. Call once, early.
///
/// # Errors
/// Only on a Linux kernel older than 3.4.
pub fn become_subreaper() -> io::Result<()> {
    platform::become_subreaper()
}

/// Reaps adopted children for as long as it is polled. Spawn it once on the runtime.
pub async fn task() {
    /// Deaths come in bursts, and the runtime reaps its own children meanwhile.
    const SETTLE: Duration = Duration::from_millis(50);
    /// The interval of checks in case a signal was missed.
    const AT_LEAST: Duration = Duration::from_secs(30);
    let mut deaths = match signal(SignalKind::child()) {
        Ok(deaths) => Some(deaths),
        Err(error) => {
            tracing::warn!(%error, "no notice of ended children; adopted ones are reaped every 30 s");
            None
        }
    };
    loop {
        let notice = async {
            match &mut deaths {
                Some(deaths) => deaths.recv().await,
                None => std::future::pending().await,
            }
        };
        // A timeout is a reason to look too.
        let _ = tokio::time::timeout(AT_LEAST, notice).await;
        tokio::time::sleep(SETTLE).await;
        if any_ended_child() {
            let _ = tokio::task::spawn_blocking(reap_adopted).await;
        }
    }
}

/// A live process that was adopted, and the session whose nonce it carries, if any.
#[derive(Debug, Clone)]
pub struct Adopted {
    pub process: Member,
    /// The session, according to the environment.
    pub nonce: Option<Nonce>,
}

/// Returns the adopted processes that are still alive, for status displays. [`crate::Group::end`] ends those of its session.
pub fn adopted() -> Vec<Adopted> {
    let owned = owned_children();
    let nonce = |pid| procfs::variable(pid, nonce::SESSION_VARIABLE)?.parse().ok();
    adopted_children(&owned)
        .filter(|found| !found.is_zombie())
        .map(|process| Adopted { nonce: nonce(process.pid), process })
        .collect()
}

/// Reaps every adopted child that has ended; returns how many.
pub fn reap_adopted() -> usize {
    // Held to the end, so that no child starts unnoticed meanwhile.
    let owned = owned_children();
    let reap = |found: &Member| {
        let Some(pid) = Pid::from_raw(found.pid) else { return false };
        let options = WaitIdOptions::EXITED | WaitIdOptions::NOHANG;
        matches!(rustix::process::waitid(WaitId::Pid(pid), options), Ok(Some(_)))
    };
    adopted_children(&owned).filter(Member::is_zombie).filter(reap).count()
}

/// Starts a child that its owner will await; the owner then calls [`unregister`].
pub(crate) fn spawn_owned<T>(start: impl FnOnce() -> io::Result<(T, i32)>) -> io::Result<(T, i32)> {
    let mut owned = owned_children();
    let (child, pid) = start()?;
    owned.get_or_insert_default().insert(pid);
    Ok((child, pid))
}

/// Forgets a child that was awaited: its number may be reused.
pub(crate) fn unregister(pid: i32) {
    if let Some(owned) = owned_children().as_mut() {
        owned.remove(&pid);
    }
}

fn owned_children() -> MutexGuard<'static, Option<HashSet<i32>>> {
    OWNED.lock()
}

/// Our children that were not started by this crate.
fn adopted_children(owned: &Option<HashSet<i32>>) -> impl Iterator<Item = Member> {
    let me = std::process::id().cast_signed();
    // Not by `getsid`, whose wrapper cannot represent 0: the answer in a container whose session leader is outside.
    let session = Member::read(me).map_or(0, |own| own.session);
    system::processes().filter_map(Member::read).filter(move |found| {
        found.parent == me
            && found.session != session
            && !owned.as_ref().is_some_and(|owned| owned.contains(&found.pid))
    })
}

/// Returns true if a child has ended. Cheap; reaps nothing.
fn any_ended_child() -> bool {
    let options = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
    matches!(rustix::process::waitid(WaitId::All, options), Ok(Some(_)))
}
