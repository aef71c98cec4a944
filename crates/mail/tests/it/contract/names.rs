//! Names: one holder each, many sessions of it, and a fence after a takeover.

use mail::{AgentName, Profile, Standing};

use super::scenarios;
use crate::place::{Place, limits as LIMITS, refusal};

scenarios! {
    entering_again_is_idempotent_and_keeps_what_is_not_said
    a_second_holder_is_refused_with_both_named
    a_takeover_fences_the_old_holder_in_every_call
    two_agents_never_speak_as_each_other
    who_is_connected_is_active
}

async fn entering_again_is_idempotent_and_keeps_what_is_not_said(place: Place) {
    let bob = place.agent("bob", "dev").await;
    let profile = Profile { intent: Some("fixing".into()), module: Some("auth".into()), ..Profile::default() };
    assert!(!place.mail.register(&bob.agent, profile).await.unwrap());
    let same = place.agent("bob", "dev").await;
    assert_eq!(same.fence, bob.fence);
    let agents = place.mail.agents().await.unwrap();
    assert_eq!(agents.len(), 1);
    assert_eq!(
        (agents[0].intent.as_str(), agents[0].module.as_str(), agents[0].role.as_str()),
        ("fixing", "auth", "dev")
    );
    assert_eq!(agents[0].holder.as_ref().unwrap().worktree, "/w/bob");
}

async fn a_second_holder_is_refused_with_both_named(place: Place) {
    place.agent("bob", "dev").await;
    let refused = refusal(place.enter("bob", "dev", "/other", false).await);
    assert_eq!(refused.to_string(), "the name bob is held by /w/bob on here; this is /other on here");
}

async fn a_takeover_fences_the_old_holder_in_every_call(place: Place) {
    let (ann, old) = (place.agent("ann", "dev").await, place.agent("bob", "dev").await);
    place.send(&ann, "bob", "x").await.unwrap();
    assert_eq!(place.check(&old).await, ["x"]);
    let new = place.enter("bob", "dev", "/other", true).await.unwrap();
    assert!(new.fence > old.fence);
    let mail = &place.mail;
    let ids = ["msg_x".to_owned()];
    for refused in [
        refusal(place.send(&old, "ann", "x").await),
        refusal(mail.check(&old, Default::default()).await),
        refusal(mail.ack(&old, &ids, Default::default(), None).await),
        refusal(mail.confirm(&old).await),
        refusal(mail.create_group(&old, "g", "").await),
    ] {
        assert_eq!(refused.to_string(), "the name bob was taken over by /other on here");
    }
    assert_eq!(place.check(&new).await, ["x (again)"]);
    refusal(place.enter("bob", "dev", "/w/bob", false).await);
}

async fn two_agents_never_speak_as_each_other(place: Place) {
    let (ann, bob) = (place.agent("ann", "dev").await, place.agent("bob", "dev").await);
    place.send(&ann, "bob", "from ann").await.unwrap();
    place.send(&bob, "ann", "from bob").await.unwrap();
    let got = place.mail.check(&bob, Default::default()).await.unwrap().messages;
    assert_eq!((got.len(), got[0].message.from.as_str()), (1, "ann"));
    let got = place.mail.check(&ann, Default::default()).await.unwrap().messages;
    assert_eq!((got.len(), got[0].message.from.as_str()), (1, "bob"));
}

async fn who_is_connected_is_active(place: Place) {
    let bob = place.agent("bob", "dev").await;
    place.mail.register(&AgentName::new("old").unwrap(), Profile::default()).await.unwrap();
    place.pass(std::time::Duration::from_secs(3600));
    let _here = place.mail.attach(&bob);
    let standing: Vec<_> =
        place.mail.agents().await.unwrap().iter().map(|agent| (agent.name.to_string(), agent.standing)).collect();
    assert_eq!(standing, [("bob".to_owned(), Standing::Active), ("old".to_owned(), Standing::Offline)]);
}
