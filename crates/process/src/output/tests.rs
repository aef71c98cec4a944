//! The log compared with a plain vector, at every limit: in memory, on disk and read back.

use std::time::Duration;

use proptest::prelude::*;

use super::*;

/// The appended bytes, one by one.
#[derive(Default)]
struct Model(Vec<(u8, Stream, Option<u64>)>);

impl Model {
    fn append(&mut self, log: &OutputLog, stream: Stream, eval: Option<u64>, bytes: &[u8]) {
        assert_eq!(log.append(stream, eval, bytes), self.0.len() as u64);
        self.0.extend(bytes.iter().map(|&byte| (byte, stream, eval)));
    }

    /// Checks one answer against the model; returns the number of bytes in it.
    fn check(&self, query: &Query, slice: &Slice) -> u64 {
        let mut at = query.range.start;
        let mut seen = 0;
        for piece in &slice.pieces {
            assert!(piece.record.offset >= at, "in order");
            at = piece.record.end();
            assert_eq!(piece.record.len, piece.bytes.len() as u64);
            seen += piece.record.len;
            let from = usize::try_from(piece.record.offset).unwrap();
            for (index, &byte) in piece.bytes.iter().enumerate() {
                assert_eq!((byte, piece.record.stream, piece.record.eval), self.0[from + index]);
            }
            assert!(query.streams.contains(&piece.record.stream));
            assert!(query.eval.is_none_or(|eval| eval == piece.record.eval));
        }
        assert!(seen <= query.max_bytes as u64);
        assert!(slice.next >= at.min(self.0.len() as u64));
        seen
    }

    fn matching(&self, query: &Query) -> u64 {
        let range = query.range.start.min(self.0.len() as u64)..query.range.end.min(self.0.len() as u64);
        let part = &self.0[usize::try_from(range.start).unwrap()..usize::try_from(range.end).unwrap()];
        let wanted = |(_, stream, eval): &&(u8, Stream, Option<u64>)| {
            query.streams.contains(stream) && query.eval.is_none_or(|wanted| wanted == *eval)
        };
        part.iter().filter(wanted).count() as u64
    }
}

fn everything() -> Query {
    Query { streams: Stream::ALL.to_vec(), max_bytes: usize::MAX, ..Query::default() }
}

fn small(memory: usize, disk: u64) -> Limits {
    Limits { memory, records: 16, disk, evals: 8 }
}

fn appends() -> impl Strategy<Value = Vec<(Stream, Option<u64>, Vec<u8>)>> {
    let stream = prop_oneof![Just(Stream::Note), Just(Stream::Stdout), Just(Stream::Stderr)];
    let eval = prop_oneof![Just(None), (0u64..4).prop_map(Some)];
    let bytes = proptest::collection::vec(prop_oneof![Just(b'\n'), any::<u8>()], 0..80);
    proptest::collection::vec((stream, eval, bytes), 1..40)
}

fn query() -> impl Strategy<Value = Query> {
    let streams = proptest::sample::subsequence(Stream::ALL.to_vec(), 1..=3);
    let eval = prop_oneof![Just(None), Just(Some(None)), (0u64..4).prop_map(|eval| Some(Some(eval)))];
    let take = prop_oneof![Just(Take::First), Just(Take::Last)];
    (0u64..1500, 0u64..1500, streams, eval, 1usize..300, take).prop_map(
        |(from, len, streams, eval, max_bytes, take)| Query { range: from..from + len, streams, eval, max_bytes, take },
    )
}

/// Checks all properties that every answer must have, however little is kept.
fn verify(model: &Model, log: &OutputLog, queries: &[Query]) {
    let status = log.status();
    let all = everything();
    let kept = log.read_blocking(&all);
    let seen = model.check(&all, &kept);
    assert_eq!(seen + kept.missing, status.end, "each byte is there or counted as missing");
    assert_eq!(status.dropped.sum(), kept.missing);
    for stream in Stream::ALL {
        let held = kept.bytes_of(stream).len() as u64;
        assert_eq!(held + status.dropped.get(stream), status.total.get(stream), "{stream:?}");
    }
    for query in queries {
        let slice = log.read_blocking(query);
        let seen = model.check(query, &slice);
        if !slice.cut {
            assert!(
                seen <= model.matching(query) && seen + slice.missing >= model.matching(query),
                "{query:?} {slice:?}"
            );
        }
        if query.take == Take::First {
            // Continuing by cursor gives the same as one large answer.
            let large = log.read_blocking(&Query { max_bytes: usize::MAX, ..query.clone() });
            let (mut bytes, mut next, mut missing) = (slice.bytes(), slice, 0);
            while next.cut {
                missing += next.missing;
                next = log.read_blocking(&Query { range: next.next..query.range.end, ..query.clone() });
                bytes.extend(next.bytes());
            }
            assert_eq!((bytes, next.next, missing + next.missing), (large.bytes(), large.next, large.missing));
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 128, ..ProptestConfig::default() })]

    #[test]
    fn in_memory_alone(appends in appends(), queries in proptest::collection::vec(query(), 4), memory in 1usize..2000) {
        let log = OutputLog::create(None, small(memory, 0)).unwrap();
        let mut model = Model::default();
        for (stream, eval, bytes) in &appends {
            model.append(&log, *stream, *eval, bytes);
        }
        verify(&model, &log, &queries);
    }

    #[test]
    fn with_files_and_read_back(
        appends in appends(),
        queries in proptest::collection::vec(query(), 4),
        memory in 40usize..600,
        disk in 100u64..20_000,
        flush_each in 1usize..20,
    ) {
        let place = tempfile::tempdir().unwrap();
        let log = OutputLog::create(Some(place.path()), small(memory, disk)).unwrap();
        let mut model = Model::default();
        for (index, (stream, eval, bytes)) in appends.iter().enumerate() {
            model.append(&log, *stream, *eval, bytes);
            if index % flush_each == 0 {
                prop_assert!(log.flush(Duration::from_secs(20)));
            }
        }
        prop_assert!(log.flush(Duration::from_secs(20)));
        verify(&model, &log, &queries);
        let on_disk: u64 = std::fs::read_dir(place.path()).unwrap().map(|file| file.unwrap().metadata().unwrap().len()).sum();
        prop_assert!(on_disk <= disk + 200, "{on_disk} of {disk}");

        let last = log.status();
        drop(log);
        let again = OutputLog::open(place.path()).unwrap();
        prop_assert_eq!((again.status().end, again.status().total, again.status().damaged), (last.end, last.total, 0));
        verify(&model, &again, &queries);
        prop_assert_eq!(again.append(Stream::Stdout, None, b"no"), last.end);
        prop_assert_eq!(again.status().end, last.end);

        while OutputLog::is_in_use(place.path()) {
            std::thread::yield_now(); // The writing thread finishes.
        }
        let again = OutputLog::reopen(place.path(), small(memory, disk)).unwrap();
        verify(&model, &again, &queries);
        for (stream, eval, bytes) in &appends {
            model.append(&again, *stream, *eval, bytes);
        }
        prop_assert!(again.flush(Duration::from_secs(20)));
        verify(&model, &again, &queries);
        drop(again);
        verify(&model, &OutputLog::open(place.path()).unwrap(), &queries);
    }
}

#[test]
fn evaluations_are_accounted_even_for_what_is_dropped() {
    let log = OutputLog::create(None, small(10, 0)).unwrap();
    log.append(Stream::Stdout, Some(7), &[b'a'; 100]);
    log.append(Stream::Stderr, None, b"late");
    log.append(Stream::Stderr, Some(8), b"bcd");
    let seven = log.printed(7).unwrap();
    assert_eq!((seven.from, seven.to, seven.counts), (0, 100, Counts { stdout: 100, ..Counts::default() }));
    assert_eq!(log.printed(8).unwrap().counts.stderr, 3);
    assert_eq!(log.printed(9), None);
    // Missing bytes are counted within the evaluation only.
    let of = |eval| log.read_blocking(&Query { eval: Some(Some(eval)), ..Query::default() });
    assert_eq!((of(7).bytes(), of(7).missing, of(7).next), (b"aaa".to_vec(), 97, 100));
    assert_eq!((of(8).bytes(), of(8).missing, of(8).next), (b"bcd".to_vec(), 0, 107));
    assert_eq!((of(9).bytes(), of(9).missing, of(9).next), (Vec::new(), 0, 107));
    let between = log.read_blocking(&Query { eval: Some(None), ..Query::default() });
    assert_eq!((between.bytes(), between.missing), (b"late".to_vec(), 97));
}

#[test]
fn lines_are_found_whole_across_pieces() {
    let log = OutputLog::create(None, Limits::default()).unwrap();
    log.append(Stream::Stdout, Some(1), b"first err");
    log.append(Stream::Stderr, Some(1), b"warning: odd\n");
    log.append(Stream::Stdout, Some(1), b"or here\nnothing\nlast error");
    let error = memchr::memmem::Finder::new("error");
    let search = |limit| log.search_blocking(&Query::default(), limit, &|line| error.find(line).is_some());
    let (found, cut) = search(10);
    let lines: Vec<_> = found.iter().map(|found| (found.offset, String::from_utf8_lossy(&found.line))).collect();
    assert_eq!(lines, [(0, "first error here".into()), (38, "last error".into())]);
    assert_eq!(cut, Cut { next: 48, missing: 0, more: false });
    assert_eq!(search(1).1, Cut { next: 30, missing: 0, more: true });
}

#[test]
fn characters_are_not_cut_by_cursors() {
    let log = OutputLog::create(None, Limits::default()).unwrap();
    log.append(Stream::Stdout, None, "aé€𝄞".as_bytes());
    let mut cursor = 0;
    let mut texts = Vec::new();
    loop {
        let slice = log.read_blocking(&Query::since(cursor).at_most(4));
        texts.push(String::from_utf8(slice.bytes()).unwrap());
        cursor = slice.next;
        if !slice.cut {
            break;
        }
    }
    assert_eq!(texts, ["aé", "€", "𝄞"]);
    let end = log.read_blocking(&Query::default().at_most(6).from_the_end());
    assert_eq!((end.bytes(), end.cut), ("𝄞".as_bytes().to_vec(), true));
}

#[test]
fn a_torn_write_is_not_believed() {
    let place = tempfile::tempdir().unwrap();
    let log = OutputLog::create(Some(place.path()), Limits::default()).unwrap();
    log.append(Stream::Stdout, Some(1), b"whole");
    assert!(log.flush(Duration::from_secs(20)));
    assert!(OutputLog::is_in_use(place.path()));
    drop(log);
    while OutputLog::is_in_use(place.path()) {
        std::thread::yield_now(); // The writing thread finishes.
    }
    let file = |extension| place.path().join(format!("{:020}.{extension}", 0));
    let mut bytes = std::fs::read(file("out")).unwrap();
    bytes.extend_from_slice(b"torn");
    std::fs::write(file("out"), bytes).unwrap();
    let mut rows = std::fs::read(file("idx")).unwrap();
    rows.extend_from_slice(&[1, 2, 3]);
    std::fs::write(file("idx"), rows).unwrap();
    std::fs::write(place.path().join(format!("{:020}.idx", 900)), "nonsense").unwrap();

    let log = OutputLog::open(place.path()).unwrap();
    assert_eq!((log.status().end, log.status().damaged), (5, 1));
    assert_eq!(log.read_blocking(&Query::default()).bytes(), b"whole");
    let again = OutputLog::reopen(place.path(), Limits::default()).unwrap();
    assert_eq!(again.append(Stream::Stdout, Some(2), b" again"), 5);
    assert!(again.flush(Duration::from_secs(20)));
    assert_eq!(again.read_blocking(&Query::default()).bytes(), b"whole again");
    assert_eq!(OutputLog::open(place.path()).unwrap().last_eval(), Some(2));
    let used = OutputLog::reopen(place.path(), Limits::default()).unwrap_err();
    assert_eq!(used.kind(), io::ErrorKind::WouldBlock);
    let refused = OutputLog::create(Some(place.path()), Limits::default()).unwrap_err();
    assert_eq!(refused.to_string(), "the directory contains the output of another session");
}

#[test]
fn news_of_the_end_reach_those_who_wait() {
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    runtime.block_on(async {
        let log = OutputLog::create(None, Limits::default()).unwrap();
        let mut end = log.end();
        log.append(Stream::Stdout, None, b"abc");
        end.changed().await.unwrap();
        assert_eq!(*end.borrow_and_update(), 3);
        assert_eq!(log.read(Query::since(1)).await.bytes(), b"bc");
    });
}
