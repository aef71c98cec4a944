//! Callers: the caller's name, its right to that name, and its session.
//!
//! A caller's name comes from its request or from its worktree ([`crate::identity`]). The right to the name depends on
//! the directory in which the caller's process runs according to the kernel, never on the caller's claim. Over HTTP
//! that process is unknown, so an agent's token identifies the caller and its worktree ([`crate::tokens`]). Start with
//! [`Callers::enter`].

mod dashboard_rows;
mod hints;
mod hook_mail;
mod in_flight;
mod lazy_mail;
mod mailbox_view;
mod name_holders;
mod name_registration;
mod process_end;
mod subscriptions;
mod unconfirmed_deliveries;
mod worktree;

use parking_lot::Mutex;
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use mcp::tool::{Context, ToolError};
use project::{Caller, Identification, Role as CallerRole};
use tokio::sync::{Mutex as AsyncMutex, watch};

pub use self::dashboard_rows::DashboardRows;
use self::hints::Hints;
pub use self::hook_mail::InHand;
use self::hook_mail::Quiet;
pub use self::in_flight::InFlight;
use self::lazy_mail::LazyMail;
pub use self::lazy_mail::{Opener, unavailable_error};
use self::name_holders::Holders;
pub(crate) use self::name_registration::waits;
pub use self::name_registration::{Changed, OtherName, Registered, Registration};
use self::subscriptions::Subscriptions;
use self::unconfirmed_deliveries::HandOuts;
use crate::error::{MailError, Refusal, failed, refused};
use crate::identity::{Asking, Identities, Identity, NoIdentity, listed, register_first};
use crate::model::{AgentName, Holder, Profile, Role, Session, SessionId};
use crate::service::agents::EnterRequest;
use crate::service::{Attachment, Mail, Presence};
use crate::tokens::{Token, Tokens};

/// The grace between two requests of an agent that has no connection.
const BETWEEN_REQUESTS: Duration = Duration::from_secs(600);

/// The options of [`Callers`].
pub struct CallersOptions {
    pub open: Opener,
    pub identities: PathBuf,
    /// The directory of the agents' tokens, outside any checkout.
    pub tokens: PathBuf,
    /// The name of the space, which identity files record.
    pub space: String,
    /// This machine's name, a part of each [`Holder`].
    pub host: String,
}

pub struct Callers {
    mail: LazyMail,
    identities: Identities,
    space: String,
    host: String,
    tokens: Tokens,
    present: Mutex<HashMap<u64, Present>>,
    holders: Holders,
    subscriptions: Arc<Subscriptions>,
    handed: Arc<HandOuts>,
    hints: Hints,
    quiet: Quiet,
    in_flight: Arc<Mutex<HashMap<String, Vec<u64>>>>,
}

/// A caller that holds its name; dropped with its connection.
#[derive(Clone)]
struct Present {
    mail: Arc<Mail>,
    session: Session,
    /// The process at the other end, and whether it is an agent's.
    pid: u32,
    presence: Presence,
    /// True while the session holds leases from lost answers that could not be freed yet.
    lost_answers: Arc<AsyncMutex<bool>>,
    _attached: Arc<Attachment>,
}

impl Callers {
    pub fn new(options: CallersOptions) -> Arc<Callers> {
        Arc::new(Callers {
            mail: LazyMail::new(options.open),
            identities: Identities::new(options.identities),
            space: options.space,
            host: options.host,
            tokens: Tokens::new(options.tokens),
            present: Mutex::default(),
            holders: Holders::default(),
            subscriptions: Arc::default(),
            handed: Arc::default(),
            hints: Hints::default(),
            quiet: Quiet::default(),
            in_flight: Arc::default(),
        })
    }

    /// Returns the mail, opened if necessary. After a failure, the next call tries again.
    ///
    /// # Errors
    /// When the mail cannot be opened now.
    pub async fn mail(&self) -> Result<Arc<Mail>, ToolError> {
        self.mail.get().await.map_err(failed)
    }

    /// Returns the mail, if it is open.
    pub async fn opened(&self) -> Option<Arc<Mail>> {
        self.mail.opened().await
    }

    /// Returns the conversations that are slowed now, in sentences for a person.
    pub fn slowed(&self) -> Vec<String> {
        let slowed = self.mail.get_if_open().map(|mail| mail.slowed()).unwrap_or_default();
        let line = |one: &crate::Slowed| {
            format!("{}: delivery is slowed; `hob thread {}` shows it", one.sentence(), one.thread)
        };
        slowed.iter().map(line).collect()
    }

    /// Returns true if the mail is known to be open. Does not wait.
    pub fn is_open(&self) -> bool {
        self.mail.is_open()
    }

    /// Returns the caller's session, with the right to its name.
    pub async fn enter(self: &Arc<Self>, cx: &Context) -> Result<(Arc<Mail>, Session), ToolError> {
        let caller = caller(cx)?;
        let returned = match self.present(caller.connection) {
            // The store would not report a takeover to a call that only reads.
            Some(present) => match self.holders.lost_name(&present.mail, &present.session).await {
                None => return Ok((present.mail, present.session)),
                // The name was taken over, and taken back from the caller's own worktree.
                Some(Refusal::Fenced { holder: Some(by), .. }) if self.holder(caller).is_ok_and(|me| me == by) => {
                    Some(present.session.agent)
                }
                Some(refusal) => return Err(failed(refusal)),
            },
            None => None,
        };
        let holder = self.holder(caller)?;
        let agent = match returned {
            Some(agent) => agent,
            None => self.resolve(caller, &holder)?,
        };
        let identity = self.identities.get(&agent);
        // An agent with an identity has registered before; a new database does not know it yet.
        let create = identity.is_some();
        let profile = identity.map(|identity| profile(&identity)).transpose()?.unwrap_or_default();
        let (mail, session, ..) = match self.take(cx, caller, agent, holder.clone(), create, profile).await {
            Err(MailError::Refused(unknown @ Refusal::UnknownAgent { .. })) if !create => {
                return Err(self.unregistered(unknown).await);
            }
            taken => taken.map_err(failed)?,
        };
        self.follow(&session.agent, Path::new(&holder.worktree));
        Ok((mail, session))
    }

    /// Returns the error for a caller whose name is not registered, with similar names.
    pub(super) async fn unregistered(&self, unknown: Refusal) -> ToolError {
        let unknown = match self.mail().await {
            Ok(mail) => mail.with_neighbours(unknown).await,
            Err(_) => unknown,
        };
        let Refusal::UnknownAgent { name, nearest } = &unknown else { return failed(unknown) };
        let mut hints = if nearest.is_empty() { Vec::new() } else { unknown.hints() };
        hints.push(format!("{}, if this new name is right.", register_first(name)));
        refused(&unknown, hints)
    }

    /// Returns the name that the caller goes by.
    fn resolve(&self, caller: &Caller, holder: &Holder) -> Result<AgentName, ToolError> {
        self.name_of(caller.name.as_deref(), caller, holder)
    }

    /// Returns the name of a caller that was started with this name, or without one.
    fn name_of(&self, name: Option<&str>, caller: &Caller, holder: &Holder) -> Result<AgentName, ToolError> {
        let lives = |name: &str| self.processes(|present| present.session.agent.as_str() == name).next().is_some();
        let (worktree, run) = (Path::new(&holder.worktree), caller.run.as_deref());
        let asking = Asking { name, worktree, run, lives: &lives };
        self.identities.resolve(asking).map_err(no_name_error)
    }

    /// Returns the processes of agents among those present.
    fn processes(&self, wanted: impl Fn(&Present) -> bool) -> std::vec::IntoIter<u32> {
        let present = self.lock();
        let is_process = |one: &&Present| one.presence != Presence::Command && one.pid != 0;
        let agents = present.values().filter(is_process).filter(|one| wanted(one));
        let mut pids: Vec<u32> = agents.map(|one| one.pid).collect();
        pids.sort_unstable();
        pids.dedup();
        pids.into_iter()
    }

    /// Notes that a name's holder is in this worktree. If the directory was moved, the name and its token move along.
    fn follow(&self, agent: &AgentName, worktree: &Path) {
        let Some(identity) = self.identities.get(agent) else { return };
        let followed = self.identities.follow(&identity, worktree).and_then(|former| match former {
            Some(former) => self.tokens.follow(agent, &former, worktree),
            None => Ok(()),
        });
        if let Err(error) = followed {
            // The next call tries again; until then the file still identifies the directory.
            tracing::warn!(%error, %agent, "cannot record the worktree of an agent");
        }
    }

    /// Like [`Callers::enter`], for a call that hands out or confirms. Messages of cancelled answers are freed first.
    /// Messages of calls in flight of the same run stay as they are, since they cannot have been seen.
    pub async fn enter_to_receive(self: &Arc<Self>, cx: &Context) -> Result<(Arc<Mail>, Session, InFlight), ToolError> {
        // First, so that calls that were read together keep their order before any of them waits.
        let mut in_flight = InFlight::begin(&self.in_flight, caller(cx)?);
        let (mail, session) = self.enter(cx).await?;
        if let Some(present) = self.present(caller(cx)?.connection) {
            let mut lost_answers = present.lost_answers.lock().await;
            if *lost_answers {
                mail.take_back(&session.id, None).await.map_err(failed)?;
                *lost_answers = false;
            }
        }
        if cx.has_waited() {
            // The call was sent before its client could see the messages handed out since. The client may also have
            // disconnected.
            in_flight.has_not_seen(self.handed.unconfirmed(&session.id));
        } else {
            self.handed.before_confirming(&mail, &session.id).await.map_err(failed)?;
        }
        Ok((mail, session, in_flight))
    }

    /// Notes that the answer to this call holds messages. If the client cancels the call, they are handed out again.
    pub(crate) fn hands_out(&self, cx: &Context, mail: &Arc<Mail>, session: &Session, handed: u64) {
        self.handed.watch_answer(mail, session, cx, handed);
    }

    async fn take(
        self: &Arc<Self>,
        cx: &Context,
        caller: &Caller,
        agent: AgentName,
        holder: Holder,
        create: bool,
        profile: Profile,
    ) -> Result<(Arc<Mail>, Session, bool, Option<Holder>), MailError> {
        let mail = self.mail.get().await?;
        let life = match &caller.run {
            Some(run) => SessionId::new(run)?,
            None => SessionId::mint(),
        };
        let holder_of = holder.clone();
        let moved_from = self.identities.get(&agent).and_then(|identity| {
            let worktree = identity.moved_from(Path::new(&holder.worktree))?.display().to_string();
            Some(Holder { host: holder.host.clone(), worktree })
        });
        let takeover = caller.takeover;
        let request = EnterRequest { agent, session: life.clone(), holder, takeover, moved_from, create, profile };
        let entry = mail.enter(request).await?;
        let lost_answers = match self.present(caller.connection) {
            Some(present) => present.lost_answers,
            // Answers of the former connection were lost, so their messages were never seen. Until those are freed, the
            // session can read but must not confirm.
            None if caller.answers_lost => {
                let is_unheard = mail.take_back_after(&life, caller.last_receipt.as_deref()).await.is_err();
                Arc::new(AsyncMutex::new(is_unheard))
            }
            None => Arc::default(),
        };
        self.holders.has(&entry.session.agent, entry.session.fence, &holder_of);
        let (presence, grace) = match (caller.by_requests, caller.role) {
            (true, _) => (Presence::Requests, BETWEEN_REQUESTS),
            (false, CallerRole::Mcp) => (Presence::Process, mail.limits().grace),
            (false, CallerRole::Control) => (Presence::Command, mail.limits().grace),
        };
        let _attached = Arc::new(mail.attach_with(&entry.session, presence, grace));
        let (mail_of, session, pid) = (mail.clone(), entry.session.clone(), caller.pid);
        let present = Present { mail: mail_of, session, pid, presence, lost_answers, _attached };
        let before = self.lock().insert(caller.connection, present);
        if before.is_none() {
            self.watch(cx, caller);
        }
        Ok((mail, entry.session, entry.created, entry.taken_from))
    }

    /// Watches for the end of the caller's connection, which may come back, and of its process, which may not.
    fn watch(self: &Arc<Self>, cx: &Context, caller: &Caller) {
        let (callers, cx, connection) = (self.clone(), cx.clone(), caller.connection);
        // The pidfd is opened now, while the pid is certain to name that process.
        let process = process_end::descriptor(caller.pid);
        tokio::spawn(async move {
            cx.disconnected().await;
            let Some(present) = callers.lock().remove(&connection) else { return };
            let Present { mail, session, _attached, .. } = present;
            callers.handed.forget(&session.id);
            // The session's grace begins here.
            drop(_attached);
            let Some(process) = process else { return };
            let ended = tokio::time::timeout(mail.limits().grace, process.readable()).await;
            if matches!(ended, Ok(Ok(_))) {
                mail.end_session(&session.id).await;
            }
        });
    }

    /// Returns the caller's token, made if absent. Over HTTP, its bearer acts as the caller.
    pub async fn token(self: &Arc<Self>, cx: &Context, renew: bool) -> Result<Token, ToolError> {
        let holder = self.holder(caller(cx)?)?;
        // This fails for a caller that does not hold the name.
        let (_, session) = self.enter(cx).await?;
        self.tokens.make(&session.agent, holder.worktree.as_ref(), renew).map_err(token_not_saved)
    }

    /// Revokes the caller's token; returns whether there was one.
    pub async fn revoke_token(self: &Arc<Self>, cx: &Context) -> Result<(AgentName, bool), ToolError> {
        let (_, session) = self.enter(cx).await?;
        let revoked = self.tokens.revoke(&session.agent).map_err(token_not_saved)?;
        Ok((session.agent, revoked))
    }

    pub fn tokens(&self) -> &Tokens {
        &self.tokens
    }

    /// Returns the reason why a session has lost its name, if this daemon knows it.
    pub(crate) async fn lost_name(&self, mail: &Mail, session: &Session) -> Option<Refusal> {
        self.holders.lost_name(mail, session).await
    }

    /// Changes whenever a name is taken over.
    pub(crate) fn takeovers(&self) -> watch::Receiver<u64> {
        self.holders.takeovers()
    }

    /// Sets a connection's subscription, replacing the former one.
    pub(crate) async fn set_subscription(&self, connection: u64, telling: impl Future<Output = ()> + Send + 'static) {
        self.subscriptions.set(connection, telling).await;
    }

    fn holder(&self, caller: &Caller) -> Result<Holder, ToolError> {
        if caller.known == Identification::BySharedToken {
            return Err(self.nobody());
        }
        let worktree = match &caller.stands_in {
            Some(worktree) => worktree,
            // A call within this process, without a daemon.
            None if caller.pid == 0 => &caller.worktree,
            None => {
                let error = ToolError::user("The kernel does not report the directory of the calling process.");
                return Err(error.hint("A name belongs to a worktree: start the agent, or `hob`, inside one."));
            }
        };
        Ok(Holder { host: self.host.clone(), worktree: worktree.display().to_string() })
    }

    /// Returns the error for a caller that uses the token of the whole project.
    fn nobody(&self) -> ToolError {
        let error = ToolError::user("This connection uses the project's token, which does not identify an agent.");
        let error = error.hint(
            "Run `hob agents token NAME` in the agent's worktree, and connect with that token, as `Authorization: \
             Bearer TOKEN`.",
        );
        let error = error.hint("To register an agent, run `hob quickstart --name NAME --role ROLE` in its worktree.");
        match listed(&self.identities.candidates(None)) {
            names if names.is_empty() => error,
            names => error.hint(format!("Known agents: {names}.")),
        }
    }

    fn present(&self, connection: u64) -> Option<Present> {
        self.lock().get(&connection).cloned()
    }

    fn lock(&self) -> parking_lot::MutexGuard<'_, HashMap<u64, Present>> {
        self.present.lock()
    }
}

fn caller(cx: &Context) -> Result<&Caller, ToolError> {
    cx.caller::<Caller>().ok_or_else(|| ToolError::internal("the connection has no caller"))
}

/// Reads the profile from an agent's identity file.
fn profile(identity: &Identity) -> Result<Profile, ToolError> {
    let role = Role::new(&identity.role).map_err(failed)?;
    Ok(Profile { role: Some(role), module: Some(identity.module.clone()), ..Profile::default() })
}

fn token_not_saved(error: std::io::Error) -> ToolError {
    ToolError::user(format!("The agent's token could not be saved: {error}."))
        .hint("It is saved in the user's state directory (XDG_STATE_HOME or ~/.local/state): make that writable for this user.")
}

/// Returns the error for a caller without a name.
fn no_name_error(error: NoIdentity) -> ToolError {
    refused(&error, error.hints())
}
