//! Names: one holder each, several sessions of that holder, and a fence after a takeover.

use mail::{AgentName, Profile, Standing};

use super::scenarios;
use crate::fixture::{StoreFixture, limits as LIMITS, refusal};

scenarios! {
    entering_again_is_idempotent_and_keeps_what_is_not_said
    a_second_holder_is_refused_with_both_named
    a_takeover_fences_the_old_holder_in_every_call
    two_agents_never_speak_as_each_other
    who_is_connected_is_active
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
    assert_eq!(refused.to_string(), "the name bob is held by /w/bob on here; this is /other on here");
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
    let _here = fixture.mail.attach(&bob);
    let standing: Vec<_> =
        fixture.mail.agents().await.unwrap().iter().map(|agent| (agent.name.to_string(), agent.standing)).collect();
    assert_eq!(standing, [("bob".to_owned(), Standing::Active), ("old".to_owned(), Standing::Offline)]);
}
