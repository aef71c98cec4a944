//! Measures a batch and a sync on an idle tree of 10,000 files. The times are printed, not asserted.

use std::time::{Duration, Instant};

use crate::fixture::{Watched, options};

const FILES: usize = 10_000;

fn median(mut times: Vec<Duration>) -> (Duration, Duration) {
    times.sort();
    (times[times.len() / 2], times[times.len() * 9 / 10])
}

#[tokio::test]
async fn batches_and_syncs_of_ten_thousand_files_long_run() {
    let place = tempfile::tempdir().unwrap();
    for number in 0..FILES {
        let dir = place.path().join(format!("{}/{}", number % 10, number % 100));
        std::fs::create_dir_all(&dir).unwrap();
        std::fs::write(dir.join(number.to_string()), "x").unwrap();
    }
    for polling in [false, true] {
        let begun = Instant::now();
        let mut watched = Watched::start(place.path(), watch::Options { polling, ..options() }).await;
        let started = begun.elapsed();
        let (mut batches, mut idle, mut written) = (Vec::new(), Vec::new(), Vec::new());
        let file = place.path().join("7/77/77");
        for round in 0..if polling { 5 } else { 50 } {
            let begun = Instant::now();
            watched.watcher.sync().await.unwrap();
            idle.push(begun.elapsed());
            std::fs::write(&file, format!("{round}")).unwrap();
            let begun = Instant::now();
            watched.watcher.sync().await.unwrap();
            written.push(begun.elapsed());
            assert!(watched.subscription.try_next().is_some());
            if !polling {
                let begun = Instant::now();
                std::fs::write(&file, format!("again {round}")).unwrap();
                watched.next().await;
                batches.push(begun.elapsed());
            }
        }
        let mode = watched.watcher.mode();
        println!(
            "{mode}: start {started:?}; median and 9th decile of sync {:?}, after a write {:?}",
            median(idle),
            median(written)
        );
        if !polling {
            println!(
                "{mode}: from a write to its batch {:?}, of which {:?} is the quiet time",
                median(batches),
                options().quiet
            );
        }
    }
}
