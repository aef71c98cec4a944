//! Groups: changes do not affect messages that were sent before.

use mail::{Refusal, member};

use super::scenarios;
use crate::fixture::{StoreFixture, limits as LIMITS, reached, refusal};

scenarios! {
    a_group_is_made_filled_shown_and_deleted
    a_change_of_a_group_leaves_sent_messages_alone
    everyone_is_there_and_protected
}

async fn a_group_is_made_filled_shown_and_deleted(fixture: StoreFixture) {
    let ann = fixture.agent("ann", "lead").await;
    fixture.agent("bob", "dev").await;
    fixture.agent("cat", "qa").await;
    fixture.mail.create_group(&ann, "crew", "those who do it").await.unwrap();
    assert!(matches!(refusal(fixture.mail.create_group(&ann, "crew", "").await), Refusal::GroupExists { .. }));
    assert!(fixture.mail.add_member(&ann, "crew", member("role", "dev").unwrap()).await.unwrap());
    assert!(fixture.mail.add_member(&ann, "crew", member("agent", "@cat").unwrap()).await.unwrap());
    assert!(!fixture.mail.add_member(&ann, "crew", member("agent", "cat").unwrap()).await.unwrap());
    let unknown = refusal(fixture.mail.add_member(&ann, "crew", member("agent", "catt").unwrap()).await);
    assert_eq!(unknown, Refusal::UnknownAgent { name: "catt".into(), nearest: vec!["cat".into()] });
    let shown = fixture.mail.group("crew").await.unwrap();
    let members: Vec<_> = shown.group.members.iter().map(|one| (one.kind.as_str(), one.id.as_str())).collect();
    assert_eq!(members, [("agent", "cat"), ("role", "dev")]);
    let agents: Vec<_> = shown.agents.iter().map(|agent| agent.as_str()).collect();
    assert_eq!(agents, ["bob", "cat"]);
    assert_eq!((shown.group.description.as_str(), shown.group.created_by.as_str()), ("those who do it", "ann"));
    let all: Vec<_> =
        fixture.mail.groups().await.unwrap().iter().map(|group| (group.name.to_string(), group.member_count)).collect();
    assert_eq!(all, [("everyone".to_owned(), 3), ("crew".to_owned(), 2)]);
    assert!(fixture.mail.remove_member(&ann, "crew", member("agent", "cat").unwrap()).await.unwrap());
    assert!(!fixture.mail.remove_member(&ann, "crew", member("agent", "cat").unwrap()).await.unwrap());
    fixture.mail.delete_group(&ann, "crew").await.unwrap();
    let unknown = refusal(fixture.mail.delete_group(&ann, "crew").await);
    assert!(matches!(unknown, Refusal::UnknownGroup { .. }));
    assert!(matches!(refusal(fixture.mail.group("crew").await), Refusal::UnknownGroup { .. }));
}

async fn a_change_of_a_group_leaves_sent_messages_alone(fixture: StoreFixture) {
    let (ann, bob) = (fixture.agent("ann", "lead").await, fixture.agent("bob", "dev").await);
    let cat = fixture.agent("cat", "dev").await;
    fixture.mail.create_group(&ann, "crew", "").await.unwrap();
    fixture.mail.add_member(&ann, "crew", member("agent", "bob").unwrap()).await.unwrap();
    let sent = fixture.send(&ann, "crew", "before").await.unwrap();
    fixture.mail.remove_member(&ann, "crew", member("agent", "bob").unwrap()).await.unwrap();
    fixture.mail.add_member(&ann, "crew", member("agent", "cat").unwrap()).await.unwrap();
    assert_eq!(reached(&fixture.send(&ann, "crew", "after").await.unwrap()), ["cat"]);
    fixture.mail.delete_group(&ann, "crew").await.unwrap();
    assert_eq!(fixture.check(&bob).await, ["before"]);
    assert_eq!(fixture.check(&cat).await, ["after"]);
    assert_eq!(fixture.mail.delivery_status(&ann, sent.id.as_str()).await.unwrap().len(), 1);
}

async fn everyone_is_there_and_protected(fixture: StoreFixture) {
    let ann = fixture.agent("ann", "lead").await;
    fixture.agent("bob", "dev").await;
    let who = || member("agent", "bob").unwrap();
    for refused in [
        refusal(fixture.mail.delete_group(&ann, "everyone").await),
        refusal(fixture.mail.add_member(&ann, "everyone", who()).await),
        refusal(fixture.mail.remove_member(&ann, "everyone", who()).await),
    ] {
        assert!(matches!(refused, Refusal::GroupProtected { .. }), "{refused}");
    }
    assert!(matches!(refusal(fixture.mail.create_group(&ann, "everyone", "").await), Refusal::GroupExists { .. }));
    assert_eq!(fixture.mail.group("@everyone").await.unwrap().agents.len(), 2);
}
