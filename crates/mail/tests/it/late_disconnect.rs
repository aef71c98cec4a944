//! A run across several connections; a daemon may notice late or never that one has ended.

use project::Caller;

use crate::fixture::limits;
use crate::name_takeover::call_of;
use crate::unwritable::{Fixture, caller};

#[tokio::test(start_paused = true)]
async fn a_connection_whose_end_is_noticed_late_ends_nothing_of_the_next() {
    let fixture = Fixture::new().await;
    let (first, line) = call_of(caller("bob", 2));
    assert_eq!(fixture.check(&first).await, ["one"]);
    let (next, _) = call_of(Caller { answers_lost: true, ..caller("bob", 3) });
    assert_eq!(fixture.check(&next).await, ["one"], "its answer was lost");
    line.hang_up.send_replace(true);
    tokio::time::sleep(limits().grace * 10).await;
    // The run keeps its messages in hand.
    let (other, _) = call_of(Caller { run: Some("another".to_owned()), ..caller("bob", 4) });
    assert!(fixture.check(&other).await.is_empty());
    assert!(fixture.check(&next).await.is_empty());
}
