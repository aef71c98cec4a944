//! Makes state machines, in both forms, and conversations with them. Timeouts fire immediately, within a sleep that
//! follows every event, or never, so that a result does not depend on the speed of the computer.

use super::make::{Maker, Scope, binary};
use super::tree::*;

/// Timeouts that are shorter than a sleep.
const SHORT: [u64; 3] = [1, 2, 3];

/// A sleep longer than a short timeout. One clock counts both, so the timeout comes first.
const SLEEP: u64 = 8;

/// A timeout longer than any program runs.
const LONG: u64 = 600_000;

const STATES: &[&str] = &["Idle", "Busy", "Open", "Shut", "Hot", "Cold"];
const EVENTS: &[&str] = &["go", "stop", "tick", "set_up"];

impl Maker {
    /// A machine, with a record as its data or without data.
    pub(super) fn machine(&mut self) {
        self.note("state machines");
        let in_blocks = self.random.chance(50);
        self.note(if in_blocks { "machines of blocks" } else { "machines of arrows" });
        let name = self.name("Mach");
        let mut scope = Scope { functions: self.program.functions.len(), class: true, ..Scope::default() };
        let data = self.random.chance(80).then(|| {
            let fields: Vec<(String, Type)> = (0..1 + self.random.below(3))
                .map(|at| {
                    let ty = if at == 0 {
                        [Type::Int, Type::Refined(NAT), Type::Refined(SMALL)][self.random.below(3)].clone()
                    } else {
                        self.ty(1)
                    };
                    (self.name("f"), ty)
                })
                .collect();
            self.budget = 15;
            let values = fields.iter().map(|(_, ty)| self.expr(ty, 2, &scope)).collect();
            scope.vars.extend(fields.iter().cloned());
            let shape = Shape::Record(fields);
            self.program.data.push(Data { name: name.clone(), params: Vec::new(), shape, derives: false });
            (self.program.data.len() - 1, values)
        });
        let mut states: Vec<String> = STATES.iter().map(|state| (*state).to_owned()).collect();
        self.random.shuffle(&mut states);
        states.truncate(2 + self.random.below(3));
        let ends = states.len() > 2 && self.random.chance(40);
        let terminal: Vec<usize> = if ends { vec![states.len() - 1] } else { Vec::new() };
        let listed = in_blocks && self.random.chance(70);
        let (initial, transitions) = (0, Vec::new());
        let mut machine = Fsm { name, data, states, initial, terminal, transitions, in_blocks, listed };
        for from in 0..machine.states.len() {
            // Occasionally a state has no way out.
            if !machine.terminal.contains(&from) && (from == 0 || self.random.chance(92)) {
                self.transitions(from, &mut machine, &scope);
            }
        }
        one_at_a_time(&mut machine);
        if in_blocks && self.random.chance(30) {
            machine.initial = self.random.below(machine.states.len());
        }
        if !listed {
            settle(&mut machine);
        }
        self.note_findings(&machine);
        self.program.machines.push(machine);
    }

    /// Faults that deserve a warning.
    fn note_findings(&mut self, machine: &Fsm) {
        let all = &machine.transitions;
        let event = |one: &Edge| if let On::Event(name) = &one.on { Some((one.from, name.clone())) } else { None };
        let events: Vec<_> = all.iter().filter_map(event).collect();
        if (1..events.len()).any(|at| events[..at].contains(&events[at])) {
            self.note("two transitions for one event");
        }
        if (0..machine.states.len()).any(|at| !machine.terminal.contains(&at) && all.iter().all(|one| one.from != at)) {
            self.note("dead ends");
        }
        let entered = |at: usize| at == machine.initial || all.iter().any(|one| one.to == at && one.from != at);
        if !(0..machine.states.len()).all(entered) {
            self.note("states that nothing reaches");
        }
    }

    /// The transitions out of a state.
    fn transitions(&mut self, from: usize, machine: &mut Fsm, scope: &Scope) {
        let count = machine.states.len();
        for _ in 0..1 + self.random.below(3) {
            let later = from + 1 < count;
            let on = match self.random.below(10) {
                0 if machine.in_blocks && later => {
                    self.note("timeouts of no time");
                    On::Timeout(0)
                }
                1 | 2 if machine.in_blocks && later => {
                    self.note("timeouts");
                    On::Timeout(*self.random.pick(&SHORT))
                }
                3 if machine.in_blocks => On::Timeout(LONG),
                _ => On::Event((*self.random.pick(EVENTS)).to_owned()),
            };
            // Timeouts lead forward only, so no machine cycles without events.
            let onward = matches!(on, On::Timeout(_)) && later;
            let to = if onward { from + 1 + self.random.below(count - from - 1) } else { self.random.below(count) };
            let guard = self.random.chance(40).then(|| {
                self.note("guards of machines");
                self.machine_guard(scope)
            });
            let mut actions = Vec::new();
            if let Some((data, _)) = &machine.data
                && self.random.chance(60)
            {
                self.note("actions of machines");
                let Shape::Record(fields) = self.program.data[*data].shape.clone() else { return };
                let inner = scope.with("event_data", &Type::Any);
                for _ in 0..1 + self.random.below(2) {
                    self.budget = 12;
                    let at = self.random.below(fields.len());
                    actions.push((at, self.expr(&fields[at].1, 3, &inner)));
                }
            }
            let mut edge = Edge { from, on, guard, to, actions, counts: false };
            if machine.data.is_some() && matches!(edge.on, On::Event(_)) && self.random.chance(25) {
                self.count_with_the_event(&mut edge, &scope.vars[0]);
            }
            machine.transitions.push(edge);
        }
    }

    /// Makes the actions of a transition compute the first field, a number, with the data of the event.
    fn count_with_the_event(&mut self, edge: &mut Edge, (field, ty): &(String, Type)) {
        self.note("machines that compute with the data of events");
        let data = || Expr::Var("event_data".to_owned());
        let test = |operator: &'static str, limit: i64| binary(operator, data(), Expr::Int(limit.into()));
        let field = || Expr::Var(field.clone());
        let (guard, value) = match (ty, self.random.below(4)) {
            (Type::Refined(SMALL), _) => (Some(binary("and", test(">=", 0), test("<", 10))), data()),
            (Type::Refined(_), 0) => (Some(test(">", -1)), data()),
            (Type::Refined(_), _) => (Some(test(">=", 0)), binary("+", field(), data())),
            (_, 0) => (None, data()),
            (_, 1) => (Some(test("!=", 2)), binary("-", data(), field())),
            (_, 2) => (Some(test(">", 1)), binary("/", field(), data())),
            _ => (None, binary("+", binary("*", data(), Expr::Int(3.into())), field())),
        };
        edge.counts = true;
        edge.guard = guard;
        edge.actions.retain(|(at, _)| *at != 0);
        edge.actions.insert(0, (0, value));
    }

    /// A guard over the data, and occasionally over the event's data.
    fn machine_guard(&mut self, scope: &Scope) -> Expr {
        if self.random.chance(20) {
            self.note("guards over the data of an event");
            let value = Expr::Int(self.random.below(4).into());
            let data = Expr::Var("event_data".to_owned());
            return super::make::binary(["==", "!="][self.random.below(2)], data, value);
        }
        self.guard(scope)
    }

    /// Sends an event to a machine and returns the answer.
    pub(super) fn conversation(&mut self, at: usize, scope: &Scope) -> Expr {
        self.note("conversations with machines");
        let sleeps = self.program.machines[at].transitions.iter().any(|one| matches!(one.on, On::Timeout(1..LONG)));
        let mut talk = Talk { machine: at, sleeps, bindings: Vec::new(), given: Vec::new() };
        let first = self.spawn(&mut talk, scope);
        let second = self.random.chance(25).then(|| self.spawn(&mut talk, scope));
        let all: Vec<String> = std::iter::once(first).chain(second).collect();
        let mut names: Vec<Expr> = all.iter().map(|name| Expr::Var(name.clone())).collect();
        for _ in 0..2 + self.random.below(6) {
            self.turn(&mut talk, &mut names, scope);
        }
        for name in all {
            let asked = self.question(at, Expr::Var(name));
            talk.given.push(asked);
        }
        Expr::Let(talk.bindings, Box::new(Expr::Tuple(talk.given)))
    }

    fn spawn(&mut self, talk: &mut Talk, scope: &Scope) -> String {
        let machine = self.program.machines[talk.machine].clone();
        let name = Expr::Atom(machine.name.clone());
        let data = machine.data.as_ref().filter(|_| self.random.chance(40)).map(|(data, _)| {
            self.note("machines started with data");
            self.construct(*data, &[], 2, scope)
        });
        let started = match (self.random.chance(50), data) {
            (true, None) => Expr::Machine(talk.machine, "spawn", Vec::new()),
            (true, Some(data)) => Expr::Machine(talk.machine, "spawn", vec![data]),
            (false, None) => Expr::Native("Std.Fsm.start_fsm", vec![name]),
            (false, Some(data)) => Expr::Native("Std.Fsm.fsm_spawn", vec![name, data]),
        };
        let name = self.name("m");
        talk.bindings.push((Pattern::Var(name.clone()), None, started));
        talk.sleep();
        name
    }

    /// An event or a question.
    fn turn(&mut self, talk: &mut Talk, names: &mut Vec<Expr>, scope: &Scope) {
        let machine = self.random.pick(names).clone();
        let turn = self.random.below(12);
        let sends = turn < 5;
        let said = match turn {
            0..=4 => {
                let event = self.event(scope);
                match self.random.below(3) {
                    0 => Expr::Machine(talk.machine, "send", vec![machine, event]),
                    1 => Expr::Native("Std.Fsm.fsm_send", vec![machine, event]),
                    _ => Expr::Native("Std.Fsm.fsm_cast", vec![machine, event]),
                }
            }
            // Nothing sleeps inside these.
            5 if !talk.sleeps => {
                let events = (0..1 + self.random.below(4)).map(|_| self.event(scope)).collect();
                Expr::Native("Std.Fsm.fsm_send_batch", vec![machine, Expr::List(events, None)])
            }
            6 if !talk.sleeps => {
                let event = self.event(scope);
                Expr::Native("Std.Fsm.fsm_call", vec![machine, event])
            }
            7 => {
                self.note("names of machines");
                let name = Expr::Atom(format!("{}_{}", self.name("at"), self.program.name));
                names.push(name.clone());
                Expr::Native("Std.Fsm.fsm_advertise", vec![machine, name])
            }
            8 if self.random.chance(30) => {
                self.note("machines that are stopped");
                if self.random.chance(50) {
                    Expr::Machine(talk.machine, "stop", vec![machine])
                } else {
                    Expr::Native("Std.Fsm.fsm_stop", vec![machine])
                }
            }
            _ => self.question(talk.machine, machine),
        };
        let name = self.name("v");
        talk.bindings.push((Pattern::Var(name.clone()), None, said));
        talk.given.push(Expr::Var(name));
        if sends {
            talk.sleep();
        }
        // An event may have ended it. A query waits for that.
        if self.program.machines[talk.machine].transitions.iter().any(|one| one.counts) {
            let asked = names.iter().map(|name| Expr::Native("Std.Fsm.fsm_state", vec![name.clone()]));
            talk.bindings.extend(asked.map(|asked| (Pattern::Any, None, asked)));
        }
    }

    fn question(&mut self, at: usize, machine: Expr) -> Expr {
        match self.random.below(8) {
            0 => Expr::Native("Std.Fsm.fsm_info", vec![machine]),
            1 | 2 => Expr::Native("Std.Fsm.fsm_history", vec![machine]),
            3 => Expr::Native("Std.Fsm.fsm_is_alive", vec![machine]),
            4 => Expr::Native("Std.Fsm.fsm_state", vec![machine]),
            5 => Expr::Machine(at, "definition", Vec::new()),
            _ => Expr::Machine(at, "state", vec![machine]),
        }
    }

    /// An event of the machines or an unknown one, with or without data.
    fn event(&mut self, scope: &Scope) -> Expr {
        let name = if self.random.chance(8) { "nothing" } else { *self.random.pick(EVENTS) };
        let name = Expr::Atom(name.to_owned());
        if self.random.chance(70) {
            return name;
        }
        self.note("events with data");
        let data = if self.random.chance(50) {
            Expr::Int(self.random.below(4).into())
        } else {
            self.budget = 8;
            self.expr(&Type::Any, 2, scope)
        };
        Expr::Tuple(vec![name, data])
    }
}

struct Talk {
    machine: usize,
    /// True if the conversation must wait for short timeouts.
    sleeps: bool,
    bindings: Vec<(Pattern, Option<Type>, Expr)>,
    given: Vec<Expr>,
}

impl Talk {
    fn sleep(&mut self) {
        if self.sleeps {
            let sleep = Expr::Native("Std.System.sleep", vec![Expr::Int(SLEEP.into())]);
            self.bindings.push((Pattern::Any, None, sleep));
        }
    }
}

/// No other short timeout runs in the target state of one: a sleep must outlast only one, however late clocks are.
fn one_at_a_time(machine: &mut Fsm) {
    let mut entered = vec![false; machine.states.len()];
    // They lead forward only.
    for from in 0..entered.len() {
        for one in machine.transitions.iter_mut().filter(|one| one.from == from) {
            match &mut one.on {
                On::Timeout(0) => entered[one.to] |= entered[from],
                On::Timeout(ms) if *ms < LONG && entered[from] => *ms = LONG,
                On::Timeout(ms) if *ms < LONG => entered[one.to] = true,
                _ => {}
            }
        }
    }
}

/// Brings the states of a machine that does not list them into written order. In the arrow form, states are named only
/// by the ends of arrows; in the block form, blocks name every state, in written order.
fn settle(machine: &mut Fsm) {
    let mut order: Vec<usize> = Vec::new();
    let mut see = |state: usize| {
        let new = !order.contains(&state);
        if new {
            order.push(state);
        }
        new
    };
    if machine.in_blocks {
        let all = &machine.transitions;
        let has_any = |state: usize| all.iter().any(|one| one.from == state);
        let mut open: std::collections::VecDeque<usize> = std::collections::VecDeque::new();
        let mut rest: Vec<usize> = (0..machine.states.len()).collect();
        // States without a way out are named last, if no transition leads to them.
        rest.sort_by_key(|state| !has_any(*state));
        for state in rest {
            open.extend(see(state).then_some(state));
            while let Some(next) = open.pop_front() {
                let targets = all.iter().filter(|one| one.from == next).map(|one| one.to);
                open.extend(targets.filter(|target| see(*target)));
            }
        }
    } else {
        for state in machine.transitions.iter().flat_map(|one| [one.from, one.to]) {
            see(state);
        }
    }
    let place = |state: usize| order.iter().position(|known| *known == state);
    for one in &mut machine.transitions {
        one.from = place(one.from).expect("it is written");
        one.to = place(one.to).expect("it is written");
    }
    if machine.in_blocks {
        machine.transitions.sort_by_key(|one| one.from);
    }
    machine.terminal = machine.terminal.iter().filter_map(|state| place(*state)).collect();
    // Without a declaration, a machine starts in the first state; the block form declares it.
    machine.initial = if machine.in_blocks { place(machine.initial).expect("it is written") } else { 0 };
    machine.states = order.iter().map(|state| machine.states[*state].clone()).collect();
}
