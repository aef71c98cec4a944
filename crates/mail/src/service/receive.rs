//! Receiving: taking waiting messages, waiting for more, and settling those received.
//!
//! Messages are handed out under a lease to the session that asked. They stay in its hand until it answers or settles them,
//! or its next check tells of them again in one line: its client may have dropped the call that they were handed to. A
//! waiter registers before it reads, so no wake is lost. Several may wait; each message goes to one of them.

use std::time::Duration;

use crate::journal::Record;
use tokio::time::Instant;

use super::Mail;
use super::claiming::{ClaimOnWake, accept, claim_for_caller, token};
use super::waiters::Ticket;
use crate::error::{MailError, Refusal};
use crate::model::{AgentName, Floor, HandedOut, MessageId, Outcome, Reminder, Session, SessionId, Settlement};
use crate::store::change::{Claim, ClaimResult, Confirm, Earlier, HandBack, Retell, Settle};

/// The maximum amount of text of one call, in bytes; a single message may be longer.
const HAND_OUT_BYTES: u64 = 1 << 20;
/// The maximum number of messages of one call.
const MOST: usize = 500;
/// The longest wait.
pub const LONGEST_WAIT: Duration = Duration::from_secs(600);
/// The maximum number of ids of one acknowledgement.
const MOST_IDS: usize = 1_000;

/// Takes the waiting messages.
#[derive(Debug, Clone)]
pub struct CheckRequest {
    /// 1 to 500.
    pub limit: usize,
    /// The maximum number of bytes of text; at least one message is handed out.
    pub max_bytes: u64,
    /// True to hand out the messages in hand once more, instead of new ones.
    pub again: bool,
    /// The token of this call's hand-out; generated if absent.
    pub token: Option<u64>,
    /// Tokens of the session's calls that are still in flight: their messages stay as they are.
    pub unseen: Vec<u64>,
}

impl Default for CheckRequest {
    fn default() -> CheckRequest {
        CheckRequest { limit: 50, max_bytes: HAND_OUT_BYTES, again: false, token: None, unseen: Vec::new() }
    }
}

/// The answer to [`CheckRequest`].
#[derive(Debug, Clone, Default)]
pub struct Checked {
    /// Most urgent first.
    pub messages: Vec<HandedOut>,
    /// Messages of earlier calls that were not answered or settled; each is listed once.
    pub reminders: Vec<Reminder>,
    /// The number of further such messages, which the next check lists.
    pub in_hand: u64,
    /// The number of messages that still wait.
    pub remaining: u64,
    /// The token of this call's hand-out, for [`Mail::give_up`].
    pub handed: u64,
}

/// Waits for messages.
#[derive(Debug, Clone)]
pub struct WaitRequest {
    /// The longest time to wait, at most [`LONGEST_WAIT`].
    pub timeout: Duration,
    /// The lowest priority that ends the wait.
    pub floor: Floor,
    /// 1 to 500.
    pub max: usize,
    /// The maximum number of bytes of text; at least one message is handed out.
    pub max_bytes: u64,
    /// The token of this call's hand-out; generated if absent.
    pub token: Option<u64>,
    /// Tokens of the session's calls that are still in flight: their messages stay as they are.
    pub unseen: Vec<u64>,
}

impl Default for WaitRequest {
    fn default() -> WaitRequest {
        WaitRequest {
            timeout: Duration::from_secs(300),
            floor: Floor::All,
            max: 1,
            max_bytes: HAND_OUT_BYTES,
            token: None,
            unseen: Vec::new(),
        }
    }
}

/// The result of a wait; without messages, the time was up.
#[derive(Debug, Clone, Default)]
pub struct Waited {
    /// Most urgent first.
    pub messages: Vec<HandedOut>,
    pub waited: Duration,
    /// The number of messages that still wait, of any priority.
    pub remaining: u64,
    /// The number of these that are below the floor.
    pub below_floor: u64,
    /// The number of messages of earlier calls that the next check lists.
    pub in_hand: u64,
    /// The last of them, if the wait hands out nothing.
    pub last_in_hand: Option<MessageId>,
    /// True if a newer wait of the session ended this one, because its client seems to have dropped it.
    pub is_superseded: bool,
    /// The token of this call's hand-out, for [`Mail::give_up`].
    pub handed: u64,
}

impl Mail {
    /// Hands out the waiting messages, and lists those of earlier calls that may not have been seen.
    ///
    /// # Errors
    /// When the name was taken over, or the store is unavailable.
    pub async fn check(&self, session: &Session, request: CheckRequest) -> Result<Checked, MailError> {
        self.seen.mark(&session.agent);
        let claim = Claim {
            session: session.clone(),
            token: request.token.unwrap_or_else(token),
            floor: Floor::All,
            // None are wanted where the caller only counts.
            max: if request.limit == 0 { 0 } else { bounded("limit", request.limit)? },
            max_bytes: request.max_bytes,
            earlier: if request.again { Earlier::Again } else { Earlier::Remind },
            unseen: request.unseen,
        };
        let handed = claim.token;
        let claimed = self.claim(claim, Instant::now()).await?;
        let ClaimResult { messages, reminders, in_hand, remaining, .. } = claimed;
        Ok(Checked { messages, reminders, in_hand, remaining, handed })
    }

    /// Waits until a message is urgent enough, and hands it out. Ends older waits of the session, which its client has
    /// dropped. Cancel safe: messages that no caller accepted wait again.
    ///
    /// # Errors
    /// When the name was taken over before or during the wait, there are too many waiters, or the store is unavailable.
    pub async fn wait(&self, session: &Session, request: WaitRequest) -> Result<Waited, MailError> {
        self.seen.mark(&session.agent);
        let begin = Instant::now();
        let deadline = begin + request.timeout.min(LONGEST_WAIT);
        let mut claim = Claim {
            session: session.clone(),
            token: request.token.unwrap_or_else(token),
            floor: request.floor,
            max: bounded("max", request.max)?,
            max_bytes: request.max_bytes,
            earlier: Earlier::Settle,
            unseen: request.unseen,
        };
        // Registered before the first claim, so that a later arrival wakes this waiter.
        let ticket = self.waits.register_session(session, request.floor)?;
        let mut is_over = false;
        let mut claimed = self.claim(claim.clone(), deadline).await?;
        // Only the first claim starts the call. Later claims of this wait must not settle messages that another call of
        // the session received meanwhile.
        claim.earlier = Earlier::Leave;
        loop {
            if ticket.is_superseded() {
                if !claimed.messages.is_empty() {
                    let back = HandBack { session: session.id.clone(), token: claim.token };
                    self.retry_uncertain(back).await?;
                }
                return Ok(Waited { waited: begin.elapsed(), is_superseded: true, ..Waited::default() });
            }
            if !claimed.messages.is_empty() || is_over {
                self.seen.mark(&session.agent);
                return Ok(Waited {
                    messages: claimed.messages,
                    waited: begin.elapsed(),
                    remaining: claimed.remaining,
                    below_floor: claimed.below_floor,
                    in_hand: claimed.in_hand,
                    last_in_hand: claimed.last_in_hand,
                    is_superseded: false,
                    handed: claim.token,
                });
            }
            (claimed, is_over) = self.claim_when_woken(&ticket, &claim, deadline).await?;
        }
    }

    /// Claims after a wake, or when the time is up (true). That last claim gives the counts, and takes messages that
    /// arrived at that moment.
    async fn claim_when_woken(
        &self,
        ticket: &Ticket,
        claim: &Claim,
        deadline: Instant,
    ) -> Result<(ClaimResult, bool), MailError> {
        let (on_wake, mut coming) = ClaimOnWake::new(&self.store, &self.runtime, claim.clone(), deadline);
        ticket.set_on_wake(on_wake);
        // A wake may still come for news from before `set_on_wake`.
        let is_over = tokio::select! {
            biased;
            claimed = accept(&mut coming) => {
                // The first step of a superseded waiter never begins.
                let claimed = if ticket.is_superseded() { claimed.unwrap_or_default() } else { claimed? };
                return Ok((self.noted(&claim.session, claimed), false));
            }
            woken = tokio::time::timeout_at(deadline, ticket.woken()) => woken.is_err(),
        };
        if ticket.is_superseded() {
            return Ok((ClaimResult::default(), false));
        }
        if !ticket.take_on_wake() {
            let claimed = self.noted(&claim.session, accept(&mut coming).await?);
            if !claimed.messages.is_empty() {
                return Ok((claimed, is_over));
            }
            // This wake may be for news from after that claim had looked.
        }
        Ok((self.claim(claim.clone(), deadline).await?, is_over))
    }

    /// Settles messages as done or declined.
    ///
    /// # Errors
    /// When the name was taken over, or the store is unavailable. An unknown id is no error; it has no state.
    pub async fn ack(
        &self,
        session: &Session,
        ids: &[String],
        outcome: Outcome,
        note: Option<String>,
    ) -> Result<Vec<Settlement>, MailError> {
        self.seen.mark(&session.agent);
        if ids.is_empty() || ids.len() > MOST_IDS {
            return Err(Refusal::Argument { argument: "ids", why: format!("must have 1 to {MOST_IDS} ids") }.into());
        }
        if note.as_ref().is_some_and(|note| note.len() > self.limits.metadata_bytes) {
            let why = format!("must have at most {} bytes", self.limits.metadata_bytes);
            return Err(Refusal::Argument { argument: "note", why }.into());
        }
        let ids = ids.iter().map(|id| MessageId::new(id)).collect::<Result<Vec<_>, _>>()?;
        let settled = self.retry_uncertain(Settle { session: session.clone(), ids, outcome, note }).await?;
        for one in settled.iter().filter(|one| one.state.is_some()) {
            self.record(|| Record::MailSettled {
                message: one.id.to_string(),
                agent: session.agent.to_string(),
                state: one.state.map(|state| state.as_str().to_owned()).unwrap_or_default(),
            });
        }
        Ok(settled)
    }

    /// Confirms the messages in hand of the session. For front-ends that make no further call, such as a command that
    /// prints and exits.
    ///
    /// # Errors
    /// When the name was taken over, or the store is unavailable.
    pub async fn confirm(&self, session: &Session) -> Result<u64, MailError> {
        self.retry_uncertain(Confirm { session: session.clone() }).await
    }

    /// Lists the messages in hand of a session, for an agent that lost its memory. Lists each message once.
    ///
    /// # Errors
    /// When the store is unavailable.
    pub async fn list_in_hand(&self, agent: &AgentName, session: &SessionId) -> Result<Vec<Reminder>, MailError> {
        let retell = Retell { agent: agent.clone(), session: session.clone(), lost: Vec::new() };
        Ok(self.store.change(retell).await?)
    }

    /// Notes that the agent did not see the list of these messages, so that [`Mail::list_in_hand`] lists them again.
    ///
    /// # Errors
    /// When the store is unavailable.
    pub async fn list_in_hand_again(
        &self,
        agent: &AgentName,
        session: &SessionId,
        lost: Vec<MessageId>,
    ) -> Result<(), MailError> {
        let retell = Retell { agent: agent.clone(), session: session.clone(), lost };
        self.store.change(retell).await?;
        Ok(())
    }

    /// Claims, and retries an unavailable store until the deadline.
    async fn claim(&self, claim: Claim, deadline: Instant) -> Result<ClaimResult, MailError> {
        let session = claim.session.clone();
        let claimed = claim_for_caller(&self.store, &self.runtime, claim, deadline).await?;
        Ok(self.noted(&session, claimed))
    }

    /// Records hand-outs in the journal.
    fn noted(&self, session: &Session, claimed: ClaimResult) -> ClaimResult {
        for one in &claimed.messages {
            self.record(|| Record::MailHandedOut {
                message: one.message.id.to_string(),
                agent: session.agent.to_string(),
                attempt: one.attempt,
            });
        }
        claimed
    }
}

fn bounded(argument: &'static str, asked: usize) -> Result<usize, Refusal> {
    if (1..=MOST).contains(&asked) {
        return Ok(asked);
    }
    Err(Refusal::Argument { argument, why: format!("must be 1 to {MOST}") })
}
