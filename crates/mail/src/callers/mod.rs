//! The callers between connections and the mail: who calls, under which name, in which of their lives; and the mail itself,
//! opened when it is first needed.
//!
//! A caller's name comes from what it asked for or from its worktree ([`crate::identity`]); the right to it goes by
//! where the kernel says that the caller's process stands, never by what it says itself. Over HTTP, where there is no such
//! process, an agent's token says who calls and where it stands ([`crate::tokens`]). Start with [`Callers::enter`].

mod hand_outs;
mod holders;
mod in_flight;
mod lazy_mail;
mod process_end;
mod subscriptions;
mod worktree;

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use mcp::tool::{Context, ToolError};
use project::{Caller, Known};
use tokio::sync::{Mutex as AsyncMutex, watch};

use self::hand_outs::HandOuts;
use self::holders::Holders;
pub use self::in_flight::InFlight;
use self::lazy_mail::LazyMail;
pub use self::lazy_mail::{Opener, away};
use self::subscriptions::Subscriptions;
use crate::error::{MailError, Refusal, failed, refused};
use crate::identity::{Identities, Identity, NoIdentity};
use crate::model::{AgentName, DeliveryState, Holder, Profile, Role, Session, SessionId};
use crate::service::people::EnterRequest;
use crate::service::{Attachment, Mail};
use crate::tokens::{Token, Tokens};

/// How long an agent that comes by requests, without a connection between them, may think before its next one.
const BETWEEN_REQUESTS: Duration = Duration::from_secs(600);

/// What [`Callers`] are made from.
pub struct CallersOptions {
    /// Opens the mail.
    pub open: Opener,
    /// Where the identities are.
    pub identities: PathBuf,
    /// Where the agents' tokens are: outside of any checkout.
    pub tokens: PathBuf,
    /// The name of the space, which identities note.
    pub space: String,
    /// The name of this machine: part of who holds a name.
    pub host: String,
}

/// Between connections and the mail.
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
    in_flight: Arc<Mutex<HashMap<String, Vec<u64>>>>,
}

/// A caller that has its name. Dropped with its connection.
#[derive(Clone)]
struct Present {
    mail: Arc<Mail>,
    session: Session,
    /// What the session has in hand went to it in answers that were lost, and could not be taken back yet.
    unheard: Arc<AsyncMutex<bool>>,
    _attached: Arc<Attachment>,
}

/// What an agent says of itself when it registers.
#[derive(Debug, Clone)]
pub struct Registration {
    pub name: String,
    /// What it is for.
    pub role: String,
    /// What it works on.
    pub module: String,
    /// What it is doing.
    pub intent: Option<String>,
}

/// What came of it.
#[derive(Debug, Clone)]
pub struct Registered {
    /// As its file has it.
    pub identity: Identity,
    /// Whether the agent is new.
    pub is_new: bool,
    /// From whom the name was taken, if it was.
    pub taken_from: Option<String>,
}

impl Callers {
    /// Nothing is opened yet.
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
            in_flight: Arc::default(),
        })
    }

    /// The mail, opened if need be. What fails is tried again by the next call.
    ///
    /// # Errors
    /// When it cannot be opened now.
    pub async fn mail(&self) -> Result<Arc<Mail>, ToolError> {
        self.mail.get().await.map_err(failed)
    }

    /// The mail, if it was opened.
    pub async fn opened(&self) -> Option<Arc<Mail>> {
        self.mail.opened().await
    }

    /// Whether it was opened, as far as can be told without waiting.
    pub fn is_open(&self) -> bool {
        self.mail.is_open()
    }

    /// Who calls, with the right to its name.
    pub async fn enter(self: &Arc<Self>, cx: &Context) -> Result<(Arc<Mail>, Session), ToolError> {
        let caller = caller(cx)?;
        let returned = match self.present(caller.connection) {
            // Those that only look ask nothing of the store that would tell.
            Some(present) => match self.holders.lost(&present.mail, &present.session).await {
                None => return Ok((present.mail, present.session)),
                // It was taken, and taken back from where the caller stands: its own again.
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
            None => {
                let worktree = PathBuf::from(&holder.worktree);
                self.identities.resolve(caller.name.as_deref(), &worktree).map_err(nameless)?
            }
        };
        let identity = self.identities.get(&agent);
        // Whoever has a file was registered here once; a new database only does not know it yet.
        let create = identity.is_some();
        let profile = identity.map(|identity| profile(&identity, None)).transpose()?.unwrap_or_default();
        let taken = self.take(cx, caller, agent, holder.clone(), create, profile).await;
        let (mail, session, ..) = taken.map_err(|error| match &error {
            MailError::Refused(Refusal::UnknownAgent { .. }) if !create => failed(error).hint(
                "If the name is right and new, `hob quickstart --name NAME --role ROLE --module MODULE` registers it.",
            ),
            _ => failed(error),
        })?;
        self.follow(&session.agent, Path::new(&holder.worktree));
        Ok((mail, session))
    }

    /// Whoever has a name stands there: should its directory have been moved, the name and its token went along.
    fn follow(&self, agent: &AgentName, worktree: &Path) {
        let Some(identity) = self.identities.get(agent) else { return };
        let followed = self.identities.follow(&identity, worktree).and_then(|former| match former {
            Some(former) => self.tokens.follow(agent, &former, worktree),
            None => Ok(()),
        });
        if let Err(error) = followed {
            // The next call tries again; until then the former file still tells that it is the same directory.
            tracing::warn!(%error, %agent, "note where an agent stands now");
        }
    }

    /// The same for a call that confirms what its session has in hand. What the client gave up unseen goes back before.
    /// What others of the same run are handed that are still under way is not confirmed: nobody can have seen it.
    pub async fn enter_to_confirm(self: &Arc<Self>, cx: &Context) -> Result<(Arc<Mail>, Session, InFlight), ToolError> {
        // First of all: calls that were read together begin in their order, before any of them waits.
        let in_flight = InFlight::begin(&self.in_flight, caller(cx)?);
        let (mail, session) = self.enter(cx).await?;
        if let Some(present) = self.present(caller(cx)?.connection) {
            let mut unheard = present.unheard.lock().await;
            if *unheard {
                mail.take_back(&session.id, None).await.map_err(failed)?;
                *unheard = false;
            }
        }
        self.handed.before_confirming(&mail, &session.id).await.map_err(failed)?;
        Ok((mail, session, in_flight))
    }

    /// Messages go out in the answer to this call. Should its client give the call up meanwhile, they are handed out again.
    pub(crate) fn hands_out(&self, cx: &Context, mail: &Arc<Mail>, session: &Session, handed: u64) {
        self.handed.out(mail, session, cx, handed);
    }

    /// Registers the caller under a name and binds that to its worktree.
    pub async fn register(self: &Arc<Self>, cx: &Context, said: Registration) -> Result<Registered, ToolError> {
        let caller = caller(cx)?;
        let holder = self.holder(caller)?;
        let agent = AgentName::new(said.name.trim_start_matches('@')).map_err(failed)?;
        if caller.known == Known::ByAgentToken && caller.name.as_deref() != Some(agent.as_str()) {
            let own = caller.name.as_deref().unwrap_or_default();
            return Err(ToolError::user(format!("This connection's token is that of the agent {own}."))
                .hint("Another agent has another token: `hob agents token NAME`, in its worktree, prints it."));
        }
        let mut identity = Identity {
            name: agent.to_string(),
            role: said.role,
            module: said.module,
            repo_id: self.space.clone(),
            ..Identity::default()
        };
        identity.bind(Path::new(&holder.worktree));
        let profile = Profile { branch: worktree::branch(&holder.worktree), ..profile(&identity, said.intent)? };
        let (_, session, created, taken_from) =
            self.take(cx, caller, agent, holder.clone(), true, profile).await.map_err(failed)?;
        self.follow(&session.agent, Path::new(&holder.worktree));
        self.identities.save(&identity).map_err(|error| {
            ToolError::user(format!("The agent is registered, but its identity could not be written: {error}."))
                .hint("Make `identities` in the project's state directory writable for this user (`hob doctor` names it) and call register_agent again.")
        })?;
        Ok(Registered { identity, is_new: created, taken_from: taken_from.map(|holder| holder.to_string()) })
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
        let unheard = match self.present(caller.connection) {
            Some(present) => present.unheard,
            // If the calls had run, what their answers held was never seen. While that cannot be taken back, the session
            // can read, but must not confirm.
            None if caller.answers_lost => {
                let is_unheard = !self.is_in_hand(&mail, &entry.session, caller.last_receipt.as_deref()).await
                    && mail.take_back(&life, None).await.is_err();
                Arc::new(AsyncMutex::new(is_unheard))
            }
            None => Arc::default(),
        };
        self.holders.has(&entry.session.agent, entry.session.fence, &holder_of);
        let attached = Arc::new(match caller.by_requests {
            true => mail.attach_with(&entry.session, BETWEEN_REQUESTS),
            false => mail.attach(&entry.session),
        });
        let present = Present { mail: mail.clone(), session: entry.session.clone(), unheard, _attached: attached };
        let before = self.lock().insert(caller.connection, present);
        if before.is_none() {
            self.watch(cx, caller);
        }
        Ok((mail, entry.session, entry.created, entry.taken_from))
    }

    /// Whether the session has the message in hand. A call that hands out begins by confirming what was handed out
    /// before: as long as that is unconfirmed, no later call has run.
    async fn is_in_hand(&self, mail: &Mail, session: &Session, message: Option<&str>) -> bool {
        let Some(message) = message else { return false };
        let Ok(deliveries) = mail.delivery_status(session, message).await else { return false };
        deliveries.iter().any(|delivery| {
            delivery.recipient == session.agent
                && delivery.state == DeliveryState::Fetched
                && delivery.fetched_by.as_ref() == Some(&session.id)
        })
    }

    /// Notices the caller's end: of its connection, which may come back, and of its process, which does not.
    fn watch(self: &Arc<Self>, cx: &Context, caller: &Caller) {
        let (callers, cx, connection) = (self.clone(), cx.clone(), caller.connection);
        // Opened now, while the number is surely that process's.
        let process = process_end::descriptor(caller.pid);
        tokio::spawn(async move {
            cx.disconnected().await;
            let Some(present) = callers.lock().remove(&connection) else { return };
            let Present { mail, session, _attached, .. } = present;
            callers.handed.forget(&session.id);
            // From here on the session has its grace.
            drop(_attached);
            let Some(process) = process else { return };
            let ended = tokio::time::timeout(mail.limits().grace, process.readable()).await;
            if matches!(ended, Ok(Ok(_))) {
                mail.end_session(&session.id).await;
            }
        });
    }

    /// The caller's token, made if it has none: whoever brings it over HTTP is the caller.
    pub async fn token(self: &Arc<Self>, cx: &Context, renew: bool) -> Result<Token, ToolError> {
        let holder = self.holder(caller(cx)?)?;
        // Whoever does not hold the name does not come beyond this.
        let (_, session) = self.enter(cx).await?;
        self.tokens.make(&session.agent, holder.worktree.as_ref(), renew).map_err(unkept)
    }

    /// Makes the caller's token worth nothing; says whether it had one.
    pub async fn revoke_token(self: &Arc<Self>, cx: &Context) -> Result<(AgentName, bool), ToolError> {
        let (_, session) = self.enter(cx).await?;
        let revoked = self.tokens.revoke(&session.agent).map_err(unkept)?;
        Ok((session.agent, revoked))
    }

    /// The tokens of the agents.
    pub fn tokens(&self) -> &Tokens {
        &self.tokens
    }

    /// Why a session has not the right to its name any more, as far as it is known here.
    pub(crate) async fn lost(&self, mail: &Mail, session: &Session) -> Option<Refusal> {
        self.holders.lost(mail, session).await
    }

    /// Changes whenever a name is taken over.
    pub(crate) fn takeovers(&self) -> watch::Receiver<u64> {
        self.holders.takeovers()
    }

    /// Gives a connection its subscription, in place of the one it had.
    pub(crate) async fn set_subscription(&self, connection: u64, telling: impl Future<Output = ()> + Send + 'static) {
        self.subscriptions.set(connection, telling).await;
    }

    fn holder(&self, caller: &Caller) -> Result<Holder, ToolError> {
        if caller.known == Known::BySharedToken {
            return Err(self.nobody());
        }
        let worktree = match &caller.stands_in {
            Some(worktree) => worktree,
            // This very process, without a daemon between.
            None if caller.pid == 0 => &caller.worktree,
            None => {
                let error = ToolError::user("The kernel does not tell in which directory the calling process stands.");
                return Err(error.hint("A name belongs to a worktree: start the agent, or `hob`, inside one."));
            }
        };
        Ok(Holder { host: self.host.clone(), worktree: worktree.display().to_string() })
    }

    /// What somebody is told who came with the token of all.
    fn nobody(&self) -> ToolError {
        let error =
            ToolError::user("The token of this connection is the project's, which says of nobody that it is an agent.");
        let error = error.hint(
            "In the agent's worktree, `hob agents token NAME` prints the agent's own; connect with it instead, as \
             `Authorization: Bearer TOKEN`.",
        );
        NoIdentity::Unknown { candidates: self.identities.candidates(None) }
            .hints()
            .into_iter()
            .fold(error, ToolError::hint)
    }

    fn present(&self, connection: u64) -> Option<Present> {
        self.lock().get(&connection).cloned()
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, HashMap<u64, Present>> {
        self.present.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn caller(cx: &Context) -> Result<&Caller, ToolError> {
    cx.caller::<Caller>().ok_or_else(|| ToolError::internal("the connection has no caller"))
}

fn profile(identity: &Identity, intent: Option<String>) -> Result<Profile, ToolError> {
    Ok(Profile {
        role: Some(Role::new(&identity.role).map_err(failed)?),
        module: Some(identity.module.clone()),
        intent,
        ..Profile::default()
    })
}

fn unkept(error: std::io::Error) -> ToolError {
    ToolError::user(format!("The agent's token could not be kept: {error}."))
        .hint("It is kept in the user's state directory (XDG_STATE_HOME or ~/.local/state): make that writable for this user.")
}

/// Says why a caller has no name, and how it gets one.
fn nameless(error: NoIdentity) -> ToolError {
    refused(&error, error.hints())
}
