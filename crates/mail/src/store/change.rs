//! Everything that changes a store, with what it answers.

use std::collections::BTreeSet;
use std::sync::Arc;

use crate::model::{
    Address, AgentName, Floor, GroupName, HandedOut, Holder, Member, MessageId, Millis, Outcome, Priority, Profile,
    Resolution, Session, SessionId, Settled,
};

/// A change with its own type of answer.
pub trait Operation: Send + 'static {
    /// What it answers.
    type Out;
    /// As one of all changes.
    fn into_change(self) -> Change;
    /// Its answer, if it is one.
    fn out(changed: Changed) -> Option<Self::Out>;
}

macro_rules! changes {
    ($($(#[$doc:meta])* $name:ident => $out:ty),* $(,)?) => {
        /// Everything that changes a store.
        #[derive(Debug, Clone)]
        pub enum Change { $($(#[$doc])* $name($name)),* }

        /// What changes answer.
        #[derive(Debug, Clone)]
        pub enum Changed { $($(#[$doc])* $name($out)),* }

        $(impl Operation for $name {
            type Out = $out;
            fn into_change(self) -> Change { Change::$name(self) }
            fn out(changed: Changed) -> Option<$out> {
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
    /// See [`Append`].
    Append => Appended,
    /// See [`Claim`].
    Claim => Claimed,
    /// See [`Confirm`].
    Confirm => u64,
    /// See [`Settle`].
    Settle => Vec<Settled>,
    /// See [`Release`].
    Release => Released,
    /// See [`HandBack`].
    HandBack => (),
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
    /// Whether its answer may go out before the disk has it. True of what a crash of the machine makes moot anyway:
    /// the sessions that leases belong to die with it.
    pub fn is_lazy(&self) -> bool {
        matches!(
            self,
            Change::Touch(_)
                | Change::Claim(_)
                | Change::Confirm(_)
                | Change::Release(_)
                | Change::HandBack(_)
                | Change::BeginHint(_)
                | Change::EndHint(_)
        )
    }
}

/// Takes a name, or shows that one has it already. Registers the agent when `create` is given.
#[derive(Debug, Clone)]
pub struct Enter {
    pub agent: AgentName,
    /// Who wants it. Without, the name is only registered and nobody comes to hold it.
    pub holder: Option<Holder>,
    /// Whether to take it from another holder; that one is then told at its next call.
    pub takeover: bool,
    /// Where that one was before its directory was moved: it is no other holder.
    pub moved_from: Option<Holder>,
    /// Whether to register the agent if there is none of that name.
    pub create: bool,
    /// What to write down about it; what is absent stays.
    pub profile: Profile,
}

/// The name is the caller's.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entered {
    /// For [`Session::fence`].
    pub fence: u64,
    /// Whether the agent is new.
    pub created: bool,
    /// From whom it was taken.
    pub taken_from: Option<Holder>,
}

/// These agents are there.
#[derive(Debug, Clone)]
pub struct Touch {
    pub agents: Vec<AgentName>,
}

/// Appends a message to the mailboxes of all it is for.
#[derive(Debug, Clone)]
pub struct Append {
    /// Its id. Appending it again answers as the first time.
    pub id: MessageId,
    /// Who sends it.
    pub sender: Session,
    /// To whom.
    pub to: Vec<Address>,
    /// Of those, only these.
    pub among: Option<BTreeSet<AgentName>>,
    /// And not these.
    pub exclude: BTreeSet<AgentName>,
    pub content: Arc<str>,
    /// How urgent it is.
    pub priority: Priority,
    /// What it answers. It must be one that the sender can see.
    pub reply_to: Option<MessageId>,
    /// A JSON object as text.
    pub metadata: String,
    /// Makes sending again harmless: same sender, key and content is the same message.
    pub key: Option<String>,
    /// Of all that makes up the content, to tell a repetition from a conflict.
    pub hash: [u8; 32],
}

/// The message is on disk.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Appended {
    /// Its id; with a key seen before, the first one's.
    pub id: MessageId,
    pub thread: MessageId,
    pub at: Millis,
    /// How the addresses were understood; empty of a replay.
    pub resolved: Vec<Resolution>,
    /// Who has it, by name.
    pub sent: Vec<Recipient>,
    /// Whose mailbox would not take it. Everybody else has it.
    pub full: Vec<AgentName>,
    /// Whether this had been sent before.
    pub is_replay: bool,
}

/// A mailbox that has the message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Recipient {
    pub agent: AgentName,
    /// Its place there.
    pub seq: u64,
    /// When the agent was last seen.
    pub seen_at: Millis,
}

/// Hands waiting messages out to a session.
#[derive(Debug, Clone)]
pub struct Claim {
    /// To whom.
    pub session: Session,
    /// Names the call. Claiming again with it, after an uncertain answer, gives the same messages again.
    pub token: u64,
    /// Only these.
    pub floor: Floor,
    /// At most so many.
    pub max: usize,
    /// At most so many bytes of text and metadata, but one message at least.
    pub max_bytes: u64,
    /// Whether what the session has in hand is thereby read: it is at the start of a call, not within one.
    pub confirm: bool,
    /// But for what these tokens name, and what this very call is handed.
    pub unseen: Vec<u64>,
}

/// What was handed out.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Claimed {
    /// The messages, most urgent first.
    pub messages: Vec<HandedOut>,
    /// How many more could be handed out, whatever their priority.
    pub remaining: u64,
    /// How many of those are below the floor.
    pub below_floor: u64,
    /// How many were confirmed.
    pub confirmed: u64,
}

/// What the session has in hand is read.
#[derive(Debug, Clone)]
pub struct Confirm {
    pub session: Session,
}

/// A recipient is done with messages. Also confirms what its session has in hand.
#[derive(Debug, Clone)]
pub struct Settle {
    pub session: Session,
    /// But for what these tokens name.
    pub unseen: Vec<u64>,
    pub ids: Vec<MessageId>,
    /// Done or declined.
    pub outcome: Outcome,
    /// A remark for the sender.
    pub note: Option<String>,
}

/// Sessions have ended, or gave up a call when its answer was on the way: what they had in hand is free again, or dead
/// after too many attempts.
#[derive(Debug, Clone)]
pub struct Release {
    pub sessions: Vec<SessionId>,
    /// Only what this call was handed.
    pub token: Option<u64>,
}

/// What came of ended sessions.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Released {
    /// How many messages wait again.
    pub freed: u64,
    /// What is dead, with whose it was. Its senders have reports.
    pub dead: Vec<(MessageId, AgentName)>,
}

/// Messages were claimed for a call whose caller went away before it had an answer: as if never handed out.
#[derive(Debug, Clone)]
pub struct HandBack {
    /// For whom they were claimed.
    pub session: SessionId,
    /// By which call.
    pub token: u64,
}

/// Makes a group.
#[derive(Debug, Clone)]
pub struct CreateGroup {
    /// Who makes it.
    pub session: Session,
    pub name: GroupName,
    /// What it is for.
    pub description: String,
}

/// Deletes a group. Messages sent to it stay.
#[derive(Debug, Clone)]
pub struct DeleteGroup {
    /// Who deletes it.
    pub session: Session,
    pub name: GroupName,
}

/// Adds a member; answers whether that changed anything.
#[derive(Debug, Clone)]
pub struct AddMember {
    /// Who adds it.
    pub session: Session,
    /// To which group.
    pub group: GroupName,
    pub member: Member,
}

/// Removes a member; answers whether that changed anything.
#[derive(Debug, Clone)]
pub struct RemoveMember {
    /// Who removes it.
    pub session: Session,
    /// From which group.
    pub group: GroupName,
    pub member: Member,
}

/// Somebody is about to make an agent look at a message: asks whether to, and writes the attempt down if so.
#[derive(Debug, Clone)]
pub struct BeginHint {
    pub agent: AgentName,
    /// At what.
    pub message: MessageId,
    /// Which way.
    pub rung: String,
}

/// Whether to make an agent look.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HintVerdict {
    /// Do; the attempt is on record.
    Go,
    /// This way was tried for this message.
    Tried,
    /// The message does not wait any more, or never did.
    Moot,
}

/// What came of an attempt.
#[derive(Debug, Clone)]
pub struct EndHint {
    pub agent: AgentName,
    /// At what.
    pub message: MessageId,
    /// Which way.
    pub rung: String,
    /// What came of it.
    pub outcome: String,
}

/// Deletes mail that was handled longer ago than the limit says, a bounded part of it. Mail that waits is never touched.
#[derive(Debug, Clone)]
pub struct Purge {
    /// At most so many messages.
    pub max: usize,
}

/// What was deleted. It is on record, and cannot come back: its ids and keys stay known.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Purged {
    /// How many messages.
    pub messages: u64,
    /// All of them were handled before this.
    pub before: Millis,
    /// Whether there is more.
    pub more: bool,
}

/// Takes over a message from another system, with its id and time.
#[derive(Debug, Clone)]
pub struct Import {
    /// Its id there. One that is or was here already changes nothing.
    pub id: MessageId,
    /// Who wrote it; need not be registered.
    pub sender: AgentName,
    /// Whom it reached, and whether it was read. All must be registered.
    pub recipients: Vec<(AgentName, bool)>,
    /// The addresses as written.
    pub to: Vec<String>,
    pub content: Arc<str>,
    /// How urgent it was.
    pub priority: Priority,
    /// What it answers.
    pub reply_to: Option<MessageId>,
    /// A JSON object as text.
    pub metadata: String,
    /// When it was sent.
    pub at: Millis,
}

/// What came of an import.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Imported {
    /// Whether it is new here.
    pub is_new: bool,
    /// Who has it now.
    pub stored: Vec<AgentName>,
    /// Whose mailbox would not take it.
    pub full: Vec<AgentName>,
}
