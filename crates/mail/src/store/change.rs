//! Every change of a store, and its answer.

use std::collections::BTreeSet;
use std::sync::Arc;

use crate::model::{
    Address, AgentName, Floor, GroupName, HandedOut, Holder, Member, MessageId, Millis, Outcome, Priority, Profile,
    Reminder, Resolution, Session, SessionId, Settlement,
};

pub trait Operation: Send + 'static {
    /// The message that this one answers.
    type Out;
    fn into_change(self) -> Change;
    /// Unwraps the answer; `None` if it belongs to another operation.
    fn unwrap_answer(changed: Changed) -> Option<Self::Out>;
}

macro_rules! changes {
    ($($(#[$doc:meta])* $name:ident => $out:ty),* $(,)?) => {
        #[derive(Debug, Clone)]
        pub enum Change { $($(#[$doc])* $name($name)),* }

        #[derive(Debug, Clone)]
        pub enum Changed { $($(#[$doc])* $name($out)),* }

        $(impl Operation for $name {
            type Out = $out;
            fn into_change(self) -> Change { Change::$name(self) }
            fn unwrap_answer(changed: Changed) -> Option<$out> {
                match changed { Changed::$name(out) => Some(out), _ => None }
            }
        })*
    };
}

changes! {
    /// See [`Enter`].
    Enter => Entered,
    /// See [`Touch`].
    Touch => (),
    /// See [`Rename`].
    Rename => Renamed,
    /// See [`Forget`].
    Forget => Forgotten,
    /// See [`Append`].
    Append => Appended,
    /// See [`Claim`].
    Claim => ClaimResult,
    /// See [`Confirm`].
    Confirm => u64,
    /// See [`Settle`].
    Settle => Vec<Settlement>,
    /// See [`Release`].
    Release => Released,
    /// See [`HandBack`].
    HandBack => (),
    /// See [`Retell`].
    Retell => Vec<Reminder>,
    /// See [`CreateGroup`].
    CreateGroup => (),
    /// See [`DeleteGroup`].
    DeleteGroup => (),
    /// See [`AddMember`].
    AddMember => bool,
    /// See [`RemoveMember`].
    RemoveMember => bool,
    /// See [`BeginHint`].
    BeginHint => HintVerdict,
    /// See [`EndHint`].
    EndHint => (),
    /// See [`Purge`].
    Purge => Purged,
    /// See [`Import`].
    Import => Imported,
}

impl Change {
    /// Returns true if the answer may go out before the change is on disk. True of leases and the like: their sessions
    /// do not survive a crash of the machine either.
    pub fn is_lazy(&self) -> bool {
        matches!(
            self,
            Change::Touch(_)
                | Change::Claim(_)
                | Change::Confirm(_)
                | Change::Release(_)
                | Change::HandBack(_)
                | Change::Retell(_)
                | Change::BeginHint(_)
                | Change::EndHint(_)
        )
    }
}

/// Takes a name, or confirms that the caller has it. Registers the agent when `create` is given.
#[derive(Debug, Clone)]
pub struct Enter {
    pub agent: AgentName,
    /// The new holder. `None`: the name is only registered.
    pub holder: Option<Holder>,
    /// True to take the name from another holder, who learns of it at its next call.
    pub takeover: bool,
    /// The holder before its directory was moved; not another holder.
    pub moved_from: Option<Holder>,
    /// True to register an agent that does not exist.
    pub create: bool,
    /// Absent fields stay as they are.
    pub profile: Profile,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entered {
    pub fence: u64,
    pub created: bool,
    /// The former holder, after a takeover.
    pub taken_from: Option<Holder>,
}

/// Notes that agents are active.
#[derive(Debug, Clone)]
pub struct Touch {
    pub agents: Vec<AgentName>,
}

/// Gives an agent another name. Its mail, its groups and its messages move along; the old name is free afterwards.
#[derive(Debug, Clone)]
pub struct Rename {
    pub from: AgentName,
    /// A name that no agent has.
    pub to: AgentName,
    /// The caller: the holder of the name, unless the name has no holder or `takeover` is given.
    pub holder: Holder,
    pub takeover: bool,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Renamed {
    /// The number of messages that wait for the agent.
    pub waiting: u64,
}

/// Removes an agent with its mailbox. The senders of waiting messages get reports; its own messages stay with their
/// recipients.
#[derive(Debug, Clone)]
pub struct Forget {
    pub agent: AgentName,
    /// The caller, as for [`Rename`].
    pub holder: Holder,
    pub takeover: bool,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Forgotten {
    /// The number of messages that waited for the agent. Their senders got reports.
    pub waiting: u64,
}

/// Appends a message to the mailboxes of its recipients.
#[derive(Debug, Clone)]
pub struct Append {
    /// Appending the same id again answers as the first time.
    pub id: MessageId,
    pub sender: Session,
    pub to: Vec<Address>,
    /// If given, only these agents are recipients.
    pub among: Option<BTreeSet<AgentName>>,
    /// Agents that are not recipients.
    pub exclude: BTreeSet<AgentName>,
    pub content: Arc<str>,
    pub priority: Priority,
    /// The message that this one answers; the sender must be able to see it.
    pub reply_to: Option<MessageId>,
    /// A JSON object.
    pub metadata: String,
    /// The idempotency key: the same sender, key and content mean the same message.
    pub key: Option<String>,
    /// The hash of all content, to tell a repetition from a conflict.
    pub hash: [u8; 32],
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Appended {
    /// The message's id; in a replay, the id of the first message.
    pub id: MessageId,
    pub thread: MessageId,
    pub at: Millis,
    /// How each address was resolved; empty in a replay.
    pub resolved: Vec<Resolution>,
    /// By name.
    pub sent: Vec<Recipient>,
    /// Agents whose mailbox was full. All other recipients have the message.
    pub full: Vec<AgentName>,
    /// True if the message was sent before.
    pub is_replay: bool,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Recipient {
    pub agent: AgentName,
    /// Its sequence number there.
    pub seq: u64,
    pub seen_at: Millis,
}

/// Hands waiting messages out to a session.
#[derive(Debug, Clone)]
pub struct Claim {
    pub session: Session,
    /// The call's token. Claiming again with the same token, after an uncertain answer, gives the same messages.
    pub token: u64,
    pub floor: Floor,
    pub max: usize,
    /// The maximum number of bytes of text and metadata; at least one message is handed out.
    pub max_bytes: u64,
    pub earlier: Earlier,
    /// Tokens of other calls that are still in flight. Their messages stay as they are.
    pub unseen: Vec<u64>,
}

/// The treatment of messages that earlier calls of the session handed out. The session may never have seen the answers
/// to those calls, because clients drop calls without notice.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Earlier {
    /// Changes nothing: a later claim of the same call.
    Leave,
    /// Marks those as read of which the agent was reminded, and the oldest of very many. Keeps the others in hand.
    Settle,
    /// Marks those as read of which the agent was reminded, and reminds it of the others.
    Remind,
    /// Hands the messages out once more, instead of new ones.
    Again,
}

#[derive(Debug, Clone, Default, PartialEq)]
pub struct ClaimResult {
    /// Most urgent first.
    pub messages: Vec<HandedOut>,
    /// The number of messages that could still be handed out, of every priority.
    pub remaining: u64,
    /// The number of these that are below the floor.
    pub below_floor: u64,
    /// Messages of earlier calls that the session is reminded of, oldest first.
    pub reminders: Vec<Reminder>,
    /// The number of messages of earlier calls that stay in hand without a reminder.
    pub in_hand: u64,
    /// The last of them, if nothing else was handed out.
    pub last_in_hand: Option<MessageId>,
}

/// Confirms that the session's messages in hand were read.
#[derive(Debug, Clone)]
pub struct Confirm {
    pub session: Session,
}

/// Settles messages for a recipient. The other messages that its session has in hand stay there.
#[derive(Debug, Clone)]
pub struct Settle {
    pub session: Session,
    pub ids: Vec<MessageId>,
    pub outcome: Outcome,
    pub note: Option<String>,
}

/// Frees the messages in hand of ended sessions, or those of one cancelled call. After too many attempts a message
/// becomes dead instead.
#[derive(Debug, Clone)]
pub struct Release {
    pub sessions: Vec<SessionId>,
    pub which: LeaseSelection,
}

/// Which of the messages that a session has in hand.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LeaseSelection {
    All,
    /// All messages of an ended session; those that it was reminded of count as read.
    Ended,
    /// Those of the call with this token.
    Call(u64),
    /// Those that were handed out after the call that handed out this message.
    After(MessageId),
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Released {
    pub freed: u64,
    /// Dead messages and their recipients. Their senders got reports.
    pub dead: Vec<(MessageId, AgentName)>,
}

/// Undoes a claim whose caller disappeared before the answer: the messages wait as if never handed out, and the agent was
/// reminded of nothing.
#[derive(Debug, Clone)]
pub struct HandBack {
    pub session: SessionId,
    pub token: u64,
}

/// Lists a session's messages in hand, for an agent that lost its memory. Lists each message once.
#[derive(Debug, Clone)]
pub struct Retell {
    pub agent: AgentName,
    pub session: SessionId,
    /// Instead of listing, notes that the agent did not see the list of these messages.
    pub lost: Vec<MessageId>,
}

#[derive(Debug, Clone)]
pub struct CreateGroup {
    pub session: Session,
    pub name: GroupName,
    pub description: String,
}

/// Messages sent to the group stay.
#[derive(Debug, Clone)]
pub struct DeleteGroup {
    pub session: Session,
    pub name: GroupName,
}

/// Returns whether the member is new.
#[derive(Debug, Clone)]
pub struct AddMember {
    pub session: Session,
    pub group: GroupName,
    pub member: Member,
}

/// Returns whether there was such a member.
#[derive(Debug, Clone)]
pub struct RemoveMember {
    pub session: Session,
    pub group: GroupName,
    pub member: Member,
}

/// Asks whether to give an agent a hint of a message, and records the attempt if the answer is yes.
#[derive(Debug, Clone)]
pub struct BeginHint {
    pub agent: AgentName,
    pub message: MessageId,
    pub rung: String,
}

/// The answer to [`BeginHint`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HintVerdict {
    /// Yes; the attempt is on record.
    Go,
    /// No: this rung was tried for this message before.
    Tried,
    /// No: the message is not waiting.
    Moot,
}

/// Records the outcome of a hint.
#[derive(Debug, Clone)]
pub struct EndHint {
    pub agent: AgentName,
    pub message: MessageId,
    pub rung: String,
    pub outcome: String,
}

/// Deletes some of the mail that was handled longer than [`Limits::keep`](crate::model::Limits) ago. Waiting mail is
/// never deleted.
#[derive(Debug, Clone)]
pub struct Purge {
    pub max: usize,
}

/// Purged ids and keys stay known, so a purged message cannot be stored again.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Purged {
    pub messages: u64,
    /// The messages were handled before this time.
    pub before: Millis,
    /// True if there may be more to purge.
    pub more: bool,
}

/// Stores a message of another system, with its id and time.
#[derive(Debug, Clone)]
pub struct Import {
    /// The message's id. If it is or was in this store, nothing changes.
    pub id: MessageId,
    /// The author, which need not be registered.
    pub sender: AgentName,
    /// The recipients, and whether each has read the message. All must be registered.
    pub recipients: Vec<(AgentName, bool)>,
    pub to: Vec<String>,
    pub content: Arc<str>,
    pub priority: Priority,
    /// The message that this one answers.
    pub reply_to: Option<MessageId>,
    /// A JSON object.
    pub metadata: String,
    pub at: Millis,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Imported {
    pub is_new: bool,
    pub stored: Vec<AgentName>,
    /// Agents whose mailbox was full.
    pub full: Vec<AgentName>,
}
