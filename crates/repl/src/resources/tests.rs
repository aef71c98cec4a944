//! Unit tests of addresses and transcripts; tests of reading and watching use the real server.

use mcp::resource::UriTemplate;

use super::*;
use crate::result::Status;

#[test]
fn an_address_names_its_session_and_leads_back() {
    let worktree = Path::new("/a b/ü?&");
    for part in PARTS {
        let template = UriTemplate::parse(part.template()).expect("a template");
        let uri = address("main", part, Some(worktree));
        let matched = template.matches(&uri).expect("it fits");
        assert_eq!((matched.get("session"), matched.get("worktree")), ("main", "/a b/ü?&"), "{uri}");
        let matched = template.matches(&address("x.y-z_1", part, None)).expect("it fits");
        assert_eq!((matched.get("session"), matched.get("worktree")), ("x.y-z_1", ""));
    }
    assert_eq!(address("main", Part::Output, Some(worktree)), "repl://main/output?worktree=/a%20b/%C3%BC%3F%26");
}

#[test]
fn a_transcript_is_bounded() {
    let mut transcript = Transcript::default();
    for eval in 1..=250 {
        transcript.record(&SessionEvent::EvalStarted { eval, code: "ü".repeat(5000) });
        let (status, duration) = (Status::Done, Duration::from_millis(1));
        transcript.record(&SessionEvent::EvalFinished { eval, status, duration, prompt: String::new() });
    }
    assert_eq!((transcript.evals.len(), transcript.forgotten), (100, 150));
    assert!(transcript.evals.iter().all(|eval| eval.code.len() < 4010 && eval.ended.is_some()));
}
