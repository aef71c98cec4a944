//! Registering, renaming and removing names. A name belongs to its worktree. The results report the effect on its mail.

use std::path::Path;
use std::sync::Arc;

use mcp::tool::{Context, ToolError};
use project::{Caller, Identification, Role as CallerRole};
use serde::Serialize;

use super::{Callers, caller, worktree};
use crate::error::{MailError, Refusal, failed, refused};
use crate::framing::counted;
use crate::identity::Identity;
use crate::model::{AgentName, Clock, Holder, Liveness, Millis, Profile, Role};
use crate::service::Mail;
use crate::service::agents::check_profile;
use crate::store::change::{Forget, Rename};
use crate::store::rules::agents::NO_ROLE;

/// The profile that an agent states when it registers. Omitted fields keep their value.
#[derive(Debug, Clone, Default)]
pub struct Registration {
    pub name: String,
    pub role: Option<String>,
    pub module: Option<String>,
    pub intent: Option<String>,
}

#[derive(Debug, Clone)]
pub struct Registered {
    pub identity: Identity,
    pub is_new: bool,
    /// The former holder, after a takeover.
    pub taken_from: Option<String>,
    /// The caller's former name, which is now free.
    pub renamed_from: Option<AgentName>,
    /// The caller's name before, which it had by mistake: it was of no use to anybody, and is removed.
    pub forgotten: Option<AgentName>,
    /// Another name of this worktree.
    pub beside: Option<OtherName>,
    /// Other processes that go by this name.
    pub others: Vec<u32>,
    /// The number of messages that wait.
    pub waiting: u64,
}

/// Another name of the worktree.
#[derive(Debug, Clone)]
pub struct OtherName {
    pub name: AgentName,
    /// The number of messages that wait for it.
    pub waiting: u64,
    /// A process that goes by it.
    pub pid: Option<u32>,
}

/// The result of changing or removing a name.
#[derive(Debug, Serialize)]
pub struct Changed {
    /// The number of messages that wait, or waited.
    pub waiting: u64,
    /// The same for people.
    pub text: String,
}

/// The treatment of a caller's former name.
enum Replace {
    Rename(AgentName),
    Forget(AgentName),
}

impl Callers {
    /// Registers the caller under a name and binds the name to its worktree. If the same process went by another name
    /// alone, that is taken back: its mail goes along.
    ///
    /// # Errors
    /// When the name is invalid or held elsewhere, or the store is unavailable.
    pub async fn register(self: &Arc<Self>, cx: &Context, said: Registration) -> Result<Registered, ToolError> {
        let caller = caller(cx)?;
        let holder = self.holder(caller)?;
        let agent = AgentName::new(said.name.trim_start_matches('@')).map_err(failed)?;
        if caller.known == Identification::ByAgentToken && caller.name.as_deref() != Some(agent.as_str()) {
            let own = caller.name.as_deref().unwrap_or_default();
            return Err(ToolError::user(format!("This connection uses the token of the agent {own}."))
                .hint("For another agent's token, run `hob agents token NAME` in its worktree."));
        }
        let mail = self.mail().await?;
        let before = self.name_of(None, caller, &holder).ok();
        let (renamed_from, mistaken) = match self.name_to_replace(caller, &mail, &agent).await {
            Some(Replace::Rename(from)) => (Some(from), None),
            Some(Replace::Forget(name)) => (None, Some(name)),
            None => (None, None),
        };
        let known = self.identities.get(renamed_from.as_ref().unwrap_or(&agent));
        let (identity, profile) = self.described(&mail, &agent, said, known).await?;
        if let Some(from) = &renamed_from {
            let rename = Rename { from: from.clone(), to: agent.clone(), holder: holder.clone(), takeover: false };
            mail.rename(rename).await.map_err(failed)?;
            self.was_renamed(from, &agent)?;
        }
        let known = self.identities.get(&agent).unwrap_or_default();
        let since = self.since(caller, &agent, &known, Path::new(&holder.worktree));
        // A command is not the agent's run.
        let run = if caller.role == CallerRole::Mcp { caller.run.clone() } else { known.run };
        let identity = Identity { since, run, former: known.former, ..identity };
        let mut bound = identity.clone();
        bound.bind(Path::new(&holder.worktree));
        let branch = worktree::branch(&holder.worktree);
        let taken = self.take(cx, caller, agent.clone(), holder.clone(), true, Profile { branch, ..profile }).await;
        let (_, session, created, taken_from) = taken.map_err(failed)?;
        self.follow(&session.agent, Path::new(&holder.worktree));
        self.identities.save(&bound).map_err(|error| {
            ToolError::user(format!("The agent is registered, but its identity could not be written: {error}."))
                .hint("Make `identities` in the project's state directory writable for this user (`hob doctor` names it) and call register_agent again.")
        })?;
        let forgotten = match mistaken {
            Some(name) if self.remove(&mail, name.clone(), holder, false).await.is_ok() => Some(name),
            _ => None,
        };
        let gone = [&renamed_from, &forgotten];
        let beside = match before.filter(|before| *before != agent && !gone.contains(&&Some(before.clone()))) {
            Some(name) => Some(self.describe_other_name(&mail, name).await),
            None => None,
        };
        Ok(Registered {
            identity: bound,
            is_new: created,
            taken_from: taken_from.map(|holder| holder.to_string()),
            renamed_from,
            forgotten,
            beside,
            others: self.other_processes(caller, &agent),
            waiting: waiting(&mail, &agent).await,
        })
    }

    /// Returns the treatment of the caller's present name. If no other process has it, the caller takes it back. If the
    /// new name already exists, the old one is removed only if no message was ever sent to it or from it.
    async fn name_to_replace(&self, caller: &Caller, mail: &Mail, new: &AgentName) -> Option<Replace> {
        let own = match self.present(caller.connection) {
            Some(present) => present.session.agent,
            // Its run registered under an earlier daemon.
            None => {
                let is_own = |identity: &Identity| identity.run.is_some() && identity.run == caller.run;
                AgentName::new(&self.identities.all().into_iter().find(is_own)?.name).ok()?
            }
        };
        if own == *new || !self.other_processes(caller, &own).is_empty() {
            return None;
        }
        match mail.agent(new.as_str()).await {
            Err(MailError::Refused(Refusal::UnknownAgent { .. })) => Some(Replace::Rename(own)),
            Ok(_) if mail.ids(&own, "", 1).await.is_ok_and(|ids| ids.is_empty()) => Some(Replace::Forget(own)),
            _ => None,
        }
    }

    /// Returns the time at which a name was bound to the worktree, according to its identity. The newest name is the
    /// worktree's. A name bound next to those of living processes gets an older time, so that theirs stay the
    /// worktree's after all have exited.
    fn since(&self, caller: &Caller, agent: &AgentName, known: &Identity, worktree: &Path) -> Millis {
        if known.since > 0 && known.run.is_some() && known.run == caller.run {
            return known.since;
        }
        let beside = self.identities.bound_to(worktree).into_iter().filter(|other| other.name != agent.as_str());
        let living = beside.filter(|other| {
            AgentName::new(&other.name).is_ok_and(|other| !self.other_processes(caller, &other).is_empty())
        });
        living.map(|other| other.since.saturating_sub(1)).min().unwrap_or_else(|| Clock::system().now())
    }

    /// Returns an agent's profile: the registration, completed by the stored values.
    async fn described(
        &self,
        mail: &Mail,
        agent: &AgentName,
        said: Registration,
        known: Option<Identity>,
    ) -> Result<(Identity, Profile), ToolError> {
        let Registration { role, module, intent, .. } = said;
        let known_role = known.as_ref().map(|known| known.role.clone());
        let role = match role.or(known_role) {
            Some(role) => Role::new(&role).map_err(failed)?,
            None => match mail.agent(agent.as_str()).await {
                Ok(stored) => stored.role,
                Err(_) => Role::stored(NO_ROLE),
            },
        };
        let module = module.or(known.map(|known| known.module));
        let profile = Profile { role: Some(role.clone()), module: module.clone(), intent, ..Profile::default() };
        check_profile(&profile).map_err(failed)?;
        let identity = Identity {
            name: agent.to_string(),
            role: role.to_string(),
            module: module.unwrap_or_default(),
            repo_id: self.space.clone(),
            ..Identity::default()
        };
        Ok((identity, profile))
    }

    /// Returns the other processes that go by the caller's name, so that messages reach one of them.
    pub fn sharing(&self, cx: &Context, agent: &AgentName) -> Vec<u32> {
        caller(cx).map(|caller| self.other_processes(caller, agent)).unwrap_or_default()
    }

    /// Returns the other processes that go by this name.
    fn other_processes(&self, caller: &Caller, agent: &AgentName) -> Vec<u32> {
        self.processes(|present| present.session.agent == *agent && present.pid != caller.pid).collect()
    }

    async fn describe_other_name(&self, mail: &Mail, name: AgentName) -> OtherName {
        let pid = self.processes(|present| present.session.agent == name).next();
        OtherName { waiting: waiting(mail, &name).await, pid, name }
    }

    /// Gives an agent another name.
    ///
    /// # Errors
    /// When the agent does not exist, another holder has it, or the new name is taken.
    pub async fn rename(&self, cx: &Context, from: &str, to: &str) -> Result<Changed, ToolError> {
        let (from, to, rename) = (bare(from)?, bare(to)?, self.holder(caller(cx)?)?);
        let mail = self.mail().await?;
        let takeover = caller(cx)?.takeover;
        let rename = Rename { from: from.clone(), to: to.clone(), holder: rename, takeover };
        let waiting = mail.rename(rename).await.map_err(rename_refusal)?;
        let had_token = self.was_renamed(&from, &to)?;
        let mut text = format!(
            "{from} is now called {to}. {} for it; {to} keeps its messages and groups. The name {from} is free.",
            waits(waiting)
        );
        if had_token {
            text.push_str(" Its token for HTTP is no longer valid: `hob agents token` prints a new one.");
        }
        Ok(Changed { waiting, text })
    }

    /// Removes an agent that no process goes by.
    ///
    /// # Errors
    /// When the agent does not exist, it is active, or another holder has it.
    pub async fn forget(&self, cx: &Context, name: &str) -> Result<Changed, ToolError> {
        let (agent, holder, takeover) = (bare(name)?, self.holder(caller(cx)?)?, caller(cx)?.takeover);
        let mail = self.mail().await?;
        if mail.agent(agent.as_str()).await.map_err(failed)?.standing == Liveness::Active && !takeover {
            return Err(ToolError::user(format!("{agent} is active: a process uses this name.")).hint(format!(
                "`hob status` shows it. End it first, or give it another name: `hob agents rename {agent} NEW`."
            )));
        }
        let waiting = self.remove(&mail, agent.clone(), holder, takeover).await?;
        let text = match waiting {
            0 => format!("The name {agent} is free now; it had no unread messages."),
            _ => format!(
                "The name {agent} is free now. Unread: {}; each sender gets a report.",
                counted(waiting, "message")
            ),
        };
        Ok(Changed { waiting, text })
    }

    /// Removes an agent with all its data.
    async fn remove(&self, mail: &Mail, agent: AgentName, holder: Holder, takeover: bool) -> Result<u64, ToolError> {
        let waiting = mail.forget(Forget { agent: agent.clone(), holder, takeover }).await.map_err(rename_refusal)?;
        self.leave(&agent);
        self.identities.remove(&agent).map_err(unwritten)?;
        self.tokens.revoke(&agent).map_err(unwritten)?;
        Ok(waiting)
    }

    /// Returns a failure, with the new name of a recipient that was renamed.
    pub(crate) fn failed(&self, error: MailError) -> ToolError {
        let MailError::Refused(Refusal::UnknownRecipient { address, .. }) = &error else { return failed(error) };
        let former = address.trim_start_matches('@').trim_start_matches("agent:");
        let now = AgentName::new(former).ok().and_then(|former| self.identities.renamed(&former));
        match now {
            Some(now) => refused(&error, vec![format!("It was renamed: write to {now}.")]),
            None => failed(error),
        }
    }

    /// Notes that an agent was renamed. Its connections enter again with their next calls. Returns true if it had a
    /// token, which is invalid now.
    fn was_renamed(&self, from: &AgentName, to: &AgentName) -> Result<bool, ToolError> {
        self.leave(from);
        self.identities.rename(from, to).map_err(unwritten)?;
        self.tokens.revoke(from).map_err(unwritten)
    }

    /// Forgets the processes of a name that was removed.
    fn leave(&self, agent: &AgentName) {
        self.holders.forget(agent);
        self.lock().retain(|_, present| present.session.agent != *agent);
    }
}

fn bare(name: &str) -> Result<AgentName, ToolError> {
    AgentName::new(name.trim_start_matches('@')).map_err(failed)
}

/// Why a name cannot be changed from here.
fn rename_refusal(error: MailError) -> ToolError {
    match &error {
        MailError::Refused(Refusal::Held { .. }) => {
            refused(&error, vec!["Run the command in that worktree, or add --takeover.".to_owned()])
        }
        _ => failed(error),
    }
}

fn unwritten(error: std::io::Error) -> ToolError {
    ToolError::user(format!("The name is changed, but not in the project's state directory: {error}."))
        .hint("Make `identities` and `agent-tokens` there writable for this user (`hob doctor` names it).")
}

/// Returns the number of messages that wait, those in hand among them.
async fn waiting(mail: &Mail, agent: &AgentName) -> u64 {
    mail.inbox(agent).await.map(|counts| counts.total() + counts.leased).unwrap_or_default()
}

/// `1 message waits`, `2 messages wait`.
pub(crate) fn waits(count: u64) -> String {
    format!("{} wait{}", counted(count, "message"), if count == 1 { "s" } else { "" })
}
