//! Names: one holder each, several sessions of that holder, and a fence after a takeover.

use mail::store::change::{Forget, Rename};
use mail::{
    AgentName, EnterRequest, Floor, Holder, Liveness, Priority, Profile, Refusal, SendRequest, Session, SessionId,
    member,
};

use super::scenarios;
use crate::fixture::{StoreFixture, limits as LIMITS, next_session, reached, refusal};

scenarios! {
    entering_again_is_idempotent_and_keeps_what_is_not_said
    a_second_holder_is_refused_with_both_named
    a_takeover_fences_the_old_holder_in_every_call
    two_agents_never_speak_as_each_other
    who_is_connected_is_active
    an_agent_goes_along_with_its_worktree
    a_renamed_agent_keeps_all_that_it_has
    a_forgotten_agent_leaves_reports_and_a_free_name
    only_the_holder_changes_a_name
}

async fn entering_again_is_idempotent_and_keeps_what_is_not_said(fixture: StoreFixture) {
    let bob = fixture.agent("bob", "dev").await;
    let profile = Profile { intent: Some("fixing".into()), module: Some("auth".into()), ..Profile::default() };
    assert!(!fixture.mail.register(&bob.agent, profile).await.unwrap());
    let same = fixture.agent("bob", "dev").await;
    assert_eq!(same.fence, bob.fence);
    let agents = fixture.mail.agents().await.unwrap();
    assert_eq!(agents.len(), 1);
    assert_eq!(
        (agents[0].intent.as_str(), agents[0].module.as_str(), agents[0].role.as_str()),
        ("fixing", "auth", "dev")
    );
    assert_eq!(agents[0].holder.as_ref().unwrap().worktree, "/w/bob");
}

async fn a_second_holder_is_refused_with_both_named(fixture: StoreFixture) {
    fixture.agent("bob", "dev").await;
    let refused = refusal(fixture.enter("bob", "dev", "/other", false).await);
    assert_eq!(refused.to_string(), "the name bob belongs to /w/bob on here; the caller is /other on here");
}

async fn a_takeover_fences_the_old_holder_in_every_call(fixture: StoreFixture) {
    let (ann, old) = (fixture.agent("ann", "dev").await, fixture.agent("bob", "dev").await);
    fixture.send(&ann, "bob", "x").await.unwrap();
    assert_eq!(fixture.check(&old).await, ["x"]);
    let new = fixture.enter("bob", "dev", "/other", true).await.unwrap();
    assert!(new.fence > old.fence);
    let mail = &fixture.mail;
    let ids = ["msg_x".to_owned()];
    for refused in [
        refusal(fixture.send(&old, "ann", "x").await),
        refusal(mail.check(&old, Default::default()).await),
        refusal(mail.ack(&old, &ids, Default::default(), None).await),
        refusal(mail.confirm(&old).await),
        refusal(mail.create_group(&old, "g", "").await),
    ] {
        assert_eq!(refused.to_string(), "the name bob was taken over by /other on here");
    }
    assert_eq!(fixture.check(&new).await, ["x (again)"]);
    refusal(fixture.enter("bob", "dev", "/w/bob", false).await);
}

async fn two_agents_never_speak_as_each_other(fixture: StoreFixture) {
    let (ann, bob) = (fixture.agent("ann", "dev").await, fixture.agent("bob", "dev").await);
    fixture.send(&ann, "bob", "from ann").await.unwrap();
    fixture.send(&bob, "ann", "from bob").await.unwrap();
    let got = fixture.mail.check(&bob, Default::default()).await.unwrap().messages;
    assert_eq!((got.len(), got[0].message.from.as_str()), (1, "ann"));
    let got = fixture.mail.check(&ann, Default::default()).await.unwrap().messages;
    assert_eq!((got.len(), got[0].message.from.as_str()), (1, "bob"));
}

async fn who_is_connected_is_active(fixture: StoreFixture) {
    let bob = fixture.agent("bob", "dev").await;
    fixture.mail.register(&AgentName::new("old").unwrap(), Profile::default()).await.unwrap();
    fixture.pass(std::time::Duration::from_secs(3600));
    let standing = async || {
        let agents = fixture.mail.agents().await.unwrap();
        agents.iter().map(|agent| (agent.name.to_string(), agent.standing)).collect::<Vec<_>>()
    };
    let here = fixture.mail.attach(&bob);
    assert_eq!(standing().await, [("bob".to_owned(), Liveness::Active), ("old".to_owned(), Liveness::Offline)]);
    fixture.send(&bob, "old", "x").await.unwrap();
    drop(here);
    assert_eq!(standing().await[0].1, Liveness::Offline, "it ended just now");
}

async fn an_agent_goes_along_with_its_worktree(fixture: StoreFixture) {
    let bob = fixture.agent("bob", "dev").await;
    fixture.send(&bob, "bob", "before").await.unwrap();
    let enter = async |from: &str| {
        let request = EnterRequest {
            agent: bob.agent.clone(),
            session: SessionId::mint(),
            holder: holder("moved"),
            takeover: false,
            moved_from: Some(holder(from)),
            create: false,
            profile: Profile::default(),
        };
        fixture.mail.enter(request).await.map(|entered| entered.session)
    };
    assert!(matches!(refusal(enter("cat").await), Refusal::Held { .. }));
    let moved = enter("bob").await.unwrap();
    fixture.send(&moved, "bob", "after").await.unwrap();
    assert_eq!(fixture.check(&moved).await, ["before", "after"]);
}

async fn a_renamed_agent_keeps_all_that_it_has(fixture: StoreFixture) {
    let (ann, bob) = (fixture.agent("ann", "dev").await, fixture.agent("bob", "dev").await);
    let mail = &fixture.mail;
    mail.create_group(&bob, "crew", "").await.unwrap();
    mail.add_member(&bob, "crew", member("agent", "bob").unwrap()).await.unwrap();
    let key = || SendRequest {
        to: vec!["ann".into()],
        content: "written by it".into(),
        idempotency_key: Some("k".into()),
        ..SendRequest::default()
    };
    let wrote = mail.send(&bob, key()).await.unwrap();
    fixture.send(&ann, "bob", "in hand").await.unwrap();
    assert_eq!(fixture.check(&bob).await, ["in hand"]);
    fixture.send(&ann, "bob", "waiting").await.unwrap();
    let waiter = fixture.block(&next_session(&bob), Floor::Critical).await;
    let rename = Rename { from: bob.agent.clone(), to: name("eve"), holder: holder("bob"), takeover: false };
    assert_eq!(mail.rename(rename.clone()).await.unwrap(), 2);
    assert!(waiter.await.unwrap_err().is_panic(), "who waits under the old name is told");
    assert!(matches!(refusal(fixture.send(&ann, "bob", "x").await), Refusal::UnknownRecipient { .. }));
    assert!(matches!(refusal(fixture.send(&bob, "ann", "x").await), Refusal::UnknownAgent { .. }));
    let eve = Session { agent: name("eve"), ..bob.clone() };
    assert_eq!(fixture.check(&eve).await, ["waiting"], "what was in hand is read");
    let again = mail.send(&eve, key()).await.unwrap();
    assert_eq!((again.id, again.is_replay), (wrote.id.clone(), true));
    assert_eq!(mail.message(&ann, wrote.id.as_str()).await.unwrap().from, eve.agent);
    assert_eq!(reached(&fixture.send(&ann, "crew", "x").await.unwrap()), ["eve"]);
    assert_eq!(mail.group("crew").await.unwrap().group.created_by, eve.agent);
    // The old name is free for another agent, which sees none of the old mail.
    let other = fixture.agent("bob", "dev").await;
    assert!(matches!(refusal(mail.message(&other, wrote.id.as_str()).await), Refusal::UnknownMessage { .. }));
    assert!(matches!(refusal(mail.rename(rename).await), Refusal::AgentExists { .. }));
}

async fn a_forgotten_agent_leaves_reports_and_a_free_name(fixture: StoreFixture) {
    let (ann, bob) = (fixture.agent("ann", "dev").await, fixture.agent("bob", "dev").await);
    let mail = &fixture.mail;
    mail.create_group(&ann, "crew", "").await.unwrap();
    mail.add_member(&ann, "crew", member("agent", "bob").unwrap()).await.unwrap();
    let wrote = fixture.send(&bob, "ann", "written by it").await.unwrap();
    let read = fixture.send(&ann, "bob", "read").await.unwrap();
    fixture.check(&bob).await;
    fixture.check(&bob).await;
    let urgent = fixture.send_with(&ann, "bob", "in hand", Priority::Critical).await.unwrap();
    fixture.check(&bob).await;
    mail.begin_hint(&bob.agent, &read.id, "wait").await.unwrap();
    fixture.send(&ann, "bob", "waiting").await.unwrap();
    fixture.send(&bob, "bob", "to itself").await.unwrap();
    let forget = Forget { agent: bob.agent.clone(), holder: holder("bob"), takeover: false };
    assert_eq!(mail.forget(forget).await.unwrap(), 3);
    let got = mail.check(&ann, Default::default()).await.unwrap().messages;
    let reports: Vec<_> = got.iter().filter(|one| one.message.from.is_system()).collect();
    assert_eq!((got.len(), reports.len()), (3, 2), "and what it wrote stays");
    assert!(reports.iter().any(|one| one.message.reply_to.as_ref() == Some(&urgent.id)));
    assert_eq!(mail.message(&ann, wrote.id.as_str()).await.unwrap().content, "written by it");
    assert_eq!(mail.delivery_status(&ann, read.id.as_str()).await.unwrap().len(), 0);
    assert!(mail.group("crew").await.unwrap().group.members.is_empty());
    assert!(matches!(refusal(mail.check(&bob, Default::default()).await), Refusal::UnknownAgent { .. }));
    // Its received messages are not deleted early.
    let purged = fixture.store.change(mail::store::change::Purge { max: 100 }).await.unwrap();
    assert_eq!(purged.messages, 0);
    let next = fixture.agent("bob", "dev").await;
    assert_eq!(fixture.check(&next).await, Vec::<String>::new());
}

async fn only_the_holder_changes_a_name(fixture: StoreFixture) {
    fixture.agent("bob", "dev").await;
    let mail = &fixture.mail;
    let rename = |takeover| Rename { from: name("bob"), to: name("eve"), holder: holder("other"), takeover };
    let forget = |takeover| Forget { agent: name("eve"), holder: holder("other"), takeover };
    assert!(matches!(refusal(mail.rename(rename(false)).await), Refusal::Held { .. }));
    mail.rename(rename(true)).await.unwrap();
    assert!(matches!(refusal(mail.forget(forget(false)).await), Refusal::Held { .. }));
    mail.forget(forget(true)).await.unwrap();
    assert!(mail.agents().await.unwrap().is_empty());
    // Any caller on this machine may remove a name without a holder.
    mail.register(&name("eve"), Profile::default()).await.unwrap();
    mail.forget(forget(false)).await.unwrap();
}

fn name(name: &str) -> AgentName {
    AgentName::new(name).unwrap()
}

/// Returns the holder of the name that the fixture gave to this agent.
fn holder(agent: &str) -> Holder {
    Holder { host: "here".into(), worktree: format!("/w/{agent}") }
}
