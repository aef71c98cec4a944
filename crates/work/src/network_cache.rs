//! A cache for answers from the network. An entry is fresh for a minute; then it is returned as stale while it is refreshed.
//! Concurrent callers share one query.

use std::collections::HashMap;
use std::hash::Hash;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use tokio::sync::watch;
use tokio::time::{Instant, timeout};

use crate::sources::{Source, State};

/// The time for which an answer is fresh.
pub(crate) const FRESH: Duration = Duration::from_secs(60);
/// The delay before a failed query may be repeated.
const AFTER_FAILURE: Duration = Duration::from_secs(10);
/// The delay after the host reported a rate limit.
const AFTER_LIMIT: Duration = Duration::from_secs(60);
/// The capacity of the cache.
const KEPT: usize = 256;

pub(crate) struct Cache<K, V>(Mutex<HashMap<K, Entry<V>>>);

struct Entry<V> {
    value: Option<Value<V>>,
    failure: Option<(Source, Instant)>,
    /// The query in progress.
    running: Option<watch::Receiver<bool>>,
    used: Instant,
}

#[derive(Clone)]
struct Value<V> {
    value: V,
    since: Instant,
    at_ms: u64,
}

/// A caller's demands on an answer.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Wish {
    /// If true, ignores the cache.
    pub fresh: bool,
    /// The timeout of this caller. The query continues in the background.
    pub wait: Duration,
}

impl<K, V> Default for Cache<K, V> {
    fn default() -> Cache<K, V> {
        Cache(Mutex::default())
    }
}

impl<K, V> Cache<K, V>
where
    K: Clone + Eq + Hash + Send + 'static,
    V: Clone + Send + Sync + 'static,
{
    /// Returns the cached value, whatever its age, without a query.
    pub(crate) fn peek(&self, key: &K) -> Option<V> {
        self.0.lock().get(key).and_then(|entry| entry.value.as_ref()).map(|kept| kept.value.clone())
    }

    /// Returns the value and its source. Concurrent callers share one run of `ask`.
    pub(crate) async fn get<F>(self: &Arc<Self>, key: K, wish: Wish, ask: impl FnOnce() -> F) -> (Option<V>, Source)
    where
        F: Future<Output = Result<V, Source>> + Send + 'static,
    {
        let mut running = {
            let mut entries = self.0.lock();
            make_room(&mut entries, &key);
            let entry = entries.entry(key.clone()).or_insert_with(|| Entry {
                value: None,
                failure: None,
                running: None,
                used: Instant::now(),
            });
            entry.used = Instant::now();
            if !wish.fresh && entry.value.as_ref().is_some_and(|kept| kept.since.elapsed() < FRESH) {
                return entry.answer();
            }
            let is_too_soon = entry.failure.as_ref().is_some_and(|(source, at)| at.elapsed() < pause(source));
            if is_too_soon && !wish.fresh {
                return entry.answer();
            }
            // A query that panicked counts as not running.
            let running = match entry.running.as_ref().filter(|running| running.has_changed().is_ok()) {
                Some(running) => running.clone(),
                None => {
                    let (done, running) = watch::channel(false);
                    entry.running = Some(running.clone());
                    tokio::spawn(self.clone().run(key.clone(), ask(), done));
                    running
                }
            };
            if entry.value.is_some() && !wish.fresh {
                return entry.answer();
            }
            running
        };
        let _ = timeout(wish.wait, running.wait_for(|done| *done)).await;
        let entries = self.0.lock();
        match entries.get(&key) {
            Some(Entry { value: None, failure: None, .. }) => (None, timed_out(wish.wait)),
            Some(entry) => entry.answer(),
            None => (None, timed_out(wish.wait)),
        }
    }

    async fn run<F>(self: Arc<Self>, key: K, ask: F, done: watch::Sender<bool>)
    where
        F: Future<Output = Result<V, Source>>,
    {
        let asked = ask.await;
        let mut entries = self.0.lock();
        if let Some(entry) = entries.get_mut(&key) {
            entry.running = None;
            match asked {
                Ok(value) => {
                    entry.value = Some(Value { value, since: Instant::now(), at_ms: project::journal::now() });
                    entry.failure = None;
                }
                Err(source) => entry.failure = Some((source, Instant::now())),
            }
        }
        drop(entries);
        let _ = done.send(true);
    }
}

impl<V: Clone> Entry<V> {
    fn answer(&self) -> (Option<V>, Source) {
        let failure = self.failure.as_ref().map(|(source, _)| source.clone());
        match (&self.value, failure) {
            (Some(kept), None) if kept.since.elapsed() < FRESH => {
                (Some(kept.value.clone()), Source::ok().at(kept.at_ms))
            }
            (Some(kept), failure) => {
                let (why, next) = match failure {
                    Some(source) => (source.detail.unwrap_or_default(), source.next),
                    None => ("it is being refreshed".to_owned(), None),
                };
                let source = Source::missing(State::Stale, format!("cached answer: {why}"), next.as_deref());
                (Some(kept.value.clone()), source.at(kept.at_ms))
            }
            (None, Some(failure)) => (None, failure),
            (None, None) => (None, timed_out(Duration::ZERO)),
        }
    }
}

/// The caller's wait timed out. The query continues; its program has its own deadline.
fn timed_out(after: Duration) -> Source {
    let detail = format!("gh timed out after {} s", after.as_secs_f32());
    Source::missing(State::Timeout, detail, Some("Call again; `gh api user` shows whether gh works at all."))
}

fn pause(source: &Source) -> Duration {
    match source.state {
        // Looking for the program again is cheap.
        State::NotInstalled => Duration::ZERO,
        State::RateLimited => AFTER_LIMIT,
        _ => AFTER_FAILURE,
    }
}

/// Evicts the least recently used entry if the cache is full.
fn make_room<K: Clone + Eq + Hash, V>(entries: &mut HashMap<K, Entry<V>>, key: &K) {
    if entries.len() < KEPT || entries.contains_key(key) {
        return;
    }
    let idle = entries.iter().filter(|(_, entry)| entry.running.is_none());
    if let Some(oldest) = idle.min_by_key(|(_, entry)| entry.used).map(|(key, _)| key.clone()) {
        entries.remove(&oldest);
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;

    const NOW: Wish = Wish { fresh: false, wait: Duration::from_secs(5) };

    fn failed() -> Source {
        Source::missing(State::Offline, "no network", Some("Call again."))
    }

    #[tokio::test]
    async fn who_asks_at_once_shares_one_question() {
        let (kept, asked) = (Arc::new(Cache::<&str, usize>::default()), Arc::new(AtomicUsize::new(0)));
        let calls = (0..50).map(|_| {
            let (kept, asked) = (kept.clone(), asked.clone());
            tokio::spawn(async move {
                let ask = || async move {
                    tokio::task::yield_now().await;
                    Ok(asked.fetch_add(1, Ordering::Relaxed))
                };
                kept.get("topic", NOW, ask).await
            })
        });
        for call in calls.collect::<Vec<_>>() {
            let (value, source) = call.await.unwrap();
            assert_eq!((value, source.state, source.as_of.is_some()), (Some(0), State::Ok, true));
        }
        assert_eq!(asked.load(Ordering::Relaxed), 1);
        // A failed refresh keeps the old value, and the source gives the reason.
        let again = Wish { fresh: true, ..NOW };
        let (value, source) = kept.get("topic", again, || async { Err(failed()) }).await;
        let detail = source.detail.unwrap_or_default();
        assert_eq!((value, source.state, detail.as_str()), (Some(0), State::Stale, "cached answer: no network"));
    }

    #[tokio::test(start_paused = true)]
    async fn nobody_waits_longer_than_it_wishes_and_the_question_goes_on() {
        let kept = Arc::new(Cache::<&str, usize>::default());
        let slow = || async {
            tokio::time::sleep(Duration::from_secs(3)).await;
            Ok(7)
        };
        let short = Wish { fresh: false, wait: Duration::from_secs(1) };
        let (value, source) = kept.get("topic", short, slow).await;
        assert_eq!((value, source.state), (None, State::Timeout));
        // The next caller joins the same query.
        let (value, source) = kept.get("topic", NOW, || async { Ok(8) }).await;
        assert_eq!((value, source.state), (Some(7), State::Ok));
    }

    #[tokio::test(start_paused = true)]
    async fn what_is_old_is_shown_as_such_while_it_is_asked_for() {
        let kept = Arc::new(Cache::<&str, usize>::default());
        assert_eq!(kept.get("topic", NOW, || async { Ok(1) }).await.0, Some(1));
        tokio::time::advance(FRESH - Duration::from_secs(1)).await;
        let (value, source) = kept.get("topic", NOW, || async { Ok(2) }).await;
        assert_eq!((value, source.state), (Some(1), State::Ok));
        tokio::time::advance(Duration::from_secs(2)).await;
        let (value, source) = kept.get("topic", NOW, || async { Ok(3) }).await;
        assert_eq!((value, source.state), (Some(1), State::Stale));
        tokio::task::yield_now().await;
        let (value, source) = kept.get("topic", NOW, || async { Ok(4) }).await;
        assert_eq!((value, source.state), (Some(3), State::Ok));
    }

    #[tokio::test]
    async fn after_a_failure_nobody_asks_for_a_while() {
        let kept = Arc::new(Cache::<&str, usize>::default());
        assert_eq!(kept.get("topic", NOW, || async { Err(failed()) }).await, (None, failed()));
        assert_eq!(kept.get("topic", NOW, || async { Ok(1) }).await, (None, failed()));
        let again = Wish { fresh: true, ..NOW };
        assert_eq!(kept.get("topic", again, || async { Ok(1) }).await.0, Some(1));
    }

    #[tokio::test]
    async fn the_oldest_are_forgotten() {
        let kept = Arc::new(Cache::<usize, usize>::default());
        for key in 0..KEPT + 40 {
            kept.get(key, NOW, || async move { Ok(key) }).await;
        }
        assert_eq!((kept.peek(&0), kept.peek(&(KEPT + 39))), (None, Some(KEPT + 39)));
        assert_eq!(kept.0.lock().len(), KEPT);
    }
}
