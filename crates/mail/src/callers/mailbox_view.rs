//! Looks into a mailbox without taking the name. Nothing changes, and no agent becomes active.

use std::path::Path;
use std::sync::Arc;

use mcp::tool::{Context, ToolError};
use project::Role;

use super::{Callers, caller};
use crate::error::{MailError, Refusal, failed};
use crate::model::{Agent, AgentName, Holder};
use crate::service::Mail;

impl Callers {
    /// Returns the mail, and the name that the caller would have.
    ///
    /// # Errors
    /// When the caller has no name, another holder has it, or the store is unavailable.
    pub async fn mail_and_name(&self, cx: &Context) -> Result<(Arc<Mail>, AgentName), ToolError> {
        // Without a name there is nothing to look at, whatever state the mail is in.
        let holder = self.holder(caller(cx)?)?;
        let name = self.resolve_name(cx, &holder)?;
        let mail = self.mail().await?;
        let agent = match mail.agent(name.as_str()).await {
            Ok(agent) => agent,
            // An agent with an identity has registered before; nothing waits for it in a new database.
            Err(MailError::Refused(Refusal::UnknownAgent { .. })) if self.identities.get(&name).is_some() => {
                return Ok((mail, name));
            }
            Err(MailError::Refused(unknown @ Refusal::UnknownAgent { .. })) => {
                return Err(self.unregistered(unknown).await);
            }
            Err(error) => return Err(failed(error)),
        };
        match self.other_holder(&agent, &holder) {
            None => Ok((mail, name)),
            Some(other) => Err(failed(Refusal::Held { agent: name, holder: other, asked: holder })),
        }
    }

    /// Returns true if an earlier call on this connection made its caller an agent.
    pub(crate) fn has_entered(&self, cx: &Context) -> Result<bool, ToolError> {
        Ok(self.present(caller(cx)?.connection).is_some())
    }

    /// Returns the caller's own name among these agents, if it is one of them.
    pub(crate) fn own_name(&self, cx: &Context, agents: &[Agent]) -> Option<AgentName> {
        let holder = self.holder(caller(cx).ok()?).ok()?;
        let name = self.resolve_name(cx, &holder).ok()?;
        let agent = agents.iter().find(|agent| agent.name == name)?;
        self.other_holder(agent, &holder).is_none().then_some(name)
    }

    /// Returns the name that an agent's connection entered or registered with, also if that was before a restart of the
    /// daemon; nothing is asked of the store.
    pub fn registered_name(&self, cx: &Context) -> Option<AgentName> {
        let caller = caller(cx).ok().filter(|caller| caller.role == Role::Mcp)?;
        if let Some(present) = self.present(caller.connection) {
            return Some(present.session.agent);
        }
        let run = caller.run.as_deref()?;
        let identity = self.identities.all().into_iter().find(|identity| identity.run.as_deref() == Some(run))?;
        AgentName::new(&identity.name).ok()
    }

    /// Returns the name that the caller goes by, if it has one; nothing is asked of the store.
    pub(super) fn current_name(&self, cx: &Context) -> Option<AgentName> {
        let holder = self.holder(caller(cx).ok()?).ok()?;
        self.resolve_name(cx, &holder).ok()
    }

    fn resolve_name(&self, cx: &Context, holder: &Holder) -> Result<AgentName, ToolError> {
        let caller = caller(cx)?;
        match self.present(caller.connection) {
            Some(present) => Ok(present.session.agent),
            None => self.resolve(caller, holder),
        }
    }

    /// Returns the holder of the name if it is another one. A directory that was moved is the same holder.
    fn other_holder(&self, agent: &Agent, asked: &Holder) -> Option<Holder> {
        let holder = agent.holder.as_ref().filter(|holder| *holder != asked)?;
        let identity = self.identities.get(&agent.name);
        let moved_from = identity.as_ref().and_then(|identity| identity.moved_from(Path::new(&asked.worktree)));
        let is_moved = moved_from == Some(Path::new(&holder.worktree)) && holder.host == asked.host;
        (!is_moved).then(|| holder.clone())
    }
}
