//! Several ways to a person at once.

use super::*;

#[test]
fn of_many_ways_one_wins() {
    let house = Fixture::new();
    for round in 0..50 {
        let asker = crate::question::Asker {
            agent: None,
            client: None,
            run: "a".to_owned(),
            pid: 0,
            is_hook: false,
            worktree: PathBuf::new(),
            calls_back: false,
            shares_token: false,
        };
        let draft = crate::board::Draft {
            kind: crate::question::Kind::Confirm,
            title: round.to_string(),
            message: String::new(),
            form: crate::form::Form::confirm(),
            attachments: Vec::new(),
            danger: Default::default(),
            urgent: false,
            digest: round.to_string(),
            lives: Duration::from_secs(60),
        };
        let id = house.board.ask(draft, asker).unwrap().id;
        let won = std::thread::scope(|scope| {
            let ways: Vec<_> = (0..4u64)
                .map(|way| {
                    let (board, id) = (&house.board, &id);
                    scope.spawn(move || {
                        let said = Response { by: way.to_string(), via: Via::Command, at_ms: way, note: None };
                        board.change(id, Event::Answer { values: Default::default(), said }).is_ok().then_some(way)
                    })
                })
                .collect();
            ways.into_iter().filter_map(|way| way.join().unwrap()).collect::<Vec<_>>()
        });
        let winner = house.board.find(&id).unwrap().unwrap().response().unwrap().at_ms;
        assert_eq!(won, [winner]);
    }
}
