//! Evaluates state machines by the dialect document: the first transition whose guard holds fires, actions change data
//! one after the other, and timeouts count from the entry of a state, on a clock that only sleeping advances.

use std::collections::BTreeMap;

use super::evaluate::{Env, Evaluator, Outcome, Unusable};
use super::tree::{Edge, Fsm, On, Shape};
use super::value::Value;

/// All machines of a run.
#[derive(Debug, Default)]
pub(super) struct Machines {
    running: BTreeMap<usize, Running>,
    names: BTreeMap<String, usize>,
    started: usize,
    clock: u64,
}

#[derive(Debug)]
struct Running {
    machine: usize,
    state: usize,
    data: Value,
    entered: u64,
    /// The timeouts of this state that have fired.
    passed: Vec<u64>,
    history: Vec<Value>,
}

fn ok() -> Value {
    Value::atom("ok")
}

fn error(reason: &str) -> Value {
    Value::tuple(vec![Value::atom("error"), Value::atom(reason)])
}

impl Evaluator<'_> {
    /// A function that a machine adds to its module.
    pub(super) fn machine(&mut self, at: usize, name: &str, mut args: Vec<Value>) -> Outcome {
        let machine = &self.program.machines[at];
        match name {
            "spawn" => self.spawn(at, args.pop()),
            "definition" => Ok(definition(machine)),
            "send" => self.fsm("Std.Fsm.fsm_send", &args),
            "state" => self.fsm("Std.Fsm.fsm_state", &args),
            "stop" => self.fsm("Std.Fsm.fsm_stop", &args),
            _ => panic!("machines have no {name}"),
        }
    }

    /// A function of Std.Fsm, or `sleep`.
    pub(super) fn fsm(&mut self, name: &str, args: &[Value]) -> Outcome {
        let known = |this: &Self, of: &Value| match of {
            Value::Machine(id) => Some(*id).filter(|id| this.machines.running.contains_key(id)),
            Value::Atom(name) => {
                this.machines.names.get(&**name).copied().filter(|id| this.machines.running.contains_key(id))
            }
            other => panic!("{other:?} is no machine"),
        };
        let by_name = |this: &Self, name: &Value| this.program.machines.iter().position(|one| name.is(&one.name));
        Ok(match (name, args) {
            ("Std.System.sleep", [Value::Int(ms)]) => {
                self.pass(u64::try_from(ms).expect("sleeps are short"))?;
                Value::atom("unit")
            }
            ("Std.Fsm.start_fsm", [name]) => {
                let at = by_name(self, name).expect("only machines of the program are started");
                self.spawn(at, None)?
            }
            ("Std.Fsm.fsm_spawn", [name, data]) => {
                let at = by_name(self, name).expect("only machines of the program are started");
                self.spawn(at, Some(data.clone()))?
            }
            ("Std.Fsm.fsm_send" | "Std.Fsm.fsm_cast", [of, event]) => match known(self, of) {
                Some(id) => {
                    let none = Value::list(Vec::new());
                    let (name, data) = match event {
                        Value::Tuple(parts) if parts.len() == 2 => (parts[0].clone(), parts[1].clone()),
                        name => (name.clone(), none),
                    };
                    self.fire(id, &name, &data, |on| matches!(on, On::Event(event) if name.is(event)))?;
                    self.at_once(id)?;
                    ok()
                }
                None => error("noproc"),
            },
            ("Std.Fsm.fsm_send_batch", [of, Value::List(events)]) => {
                for event in events.iter() {
                    self.fsm("Std.Fsm.fsm_send", &[of.clone(), event.clone()])?;
                }
                ok()
            }
            ("Std.Fsm.fsm_call", [of, event]) => {
                self.fsm("Std.Fsm.fsm_send", &[of.clone(), event.clone()])?;
                self.fsm("Std.Fsm.fsm_state", std::slice::from_ref(of))?
            }
            ("Std.Fsm.fsm_advertise", [of, Value::Atom(name)]) => match known(self, of) {
                Some(id) => {
                    self.machines.names.insert(name.to_string(), id);
                    ok()
                }
                None => error("noproc"),
            },
            ("Std.Fsm.fsm_is_alive", [of]) => Value::bool(known(self, of).is_some()),
            ("Std.Fsm.fsm_stop", [of]) => match known(self, of) {
                Some(id) => {
                    self.machines.running.remove(&id);
                    ok()
                }
                None => error("noproc"),
            },
            (name, [of]) => match known(self, of).map(|id| &self.machines.running[&id]) {
                Some(running) => {
                    let machine = &self.program.machines[running.machine];
                    let state = Value::atom(&machine.states[running.state]);
                    let data = running.data.clone();
                    match name {
                        "Std.Fsm.fsm_state" => Value::tuple(vec![ok(), Value::tuple(vec![state, data])]),
                        "Std.Fsm.fsm_info" => Value::tuple(vec![Value::atom(&machine.name), state, data]),
                        "Std.Fsm.fsm_history" => Value::list(running.history.clone()),
                        _ => panic!("{name} of {args:?}"),
                    }
                }
                None => error("noproc"),
            },
            _ => panic!("{name} of {args:?}"),
        })
    }

    fn spawn(&mut self, at: usize, data: Option<Value>) -> Outcome {
        let program = self.program;
        let machine = &program.machines[at];
        let data = match (data, &machine.data) {
            (Some(data), _) => data,
            (None, Some((_, values))) => {
                let values: Vec<Value> =
                    values.iter().map(|value| self.eval(value, &Env::default())).collect::<Result<_, _>>()?;
                Value::tuple(std::iter::once(Value::atom(&machine.name)).chain(values).collect())
            }
            (None, None) => Value::atom("unit"),
        };
        let id = self.machines.started;
        self.machines.started += 1;
        let entered = self.machines.clock;
        let running =
            Running { machine: at, state: machine.initial, data, entered, passed: Vec::new(), history: Vec::new() };
        self.machines.running.insert(id, running);
        self.at_once(id)?;
        Ok(Value::Machine(id))
    }

    /// Takes the first matching transition whose guard holds; returns whether there was one.
    fn fire(&mut self, id: usize, event: &Value, data: &Value, fits: impl Fn(&On) -> bool) -> Result<bool, Unusable> {
        let program = self.program;
        let running = &self.machines.running[&id];
        let (state, machine) = (running.state, &program.machines[running.machine]);
        let mut env = Env::default().with("event_data", data.clone());
        if let (Some((of, _)), Value::Tuple(parts)) = (&machine.data, &running.data) {
            let Shape::Record(fields) = &program.data[*of].shape else { panic!("the data is a record") };
            for ((name, _), value) in fields.iter().zip(&parts[1..]) {
                env = env.with(name, value.clone());
            }
        }
        for transition in machine.transitions.iter().filter(|one| one.from == state && fits(&one.on)) {
            if transition.counts && matches!(data, Value::Float(_)) {
                // Erlang compares it with whole numbers by value, this evaluator does not.
                return Err(Unusable);
            }
            let holds = match &transition.guard {
                None => true,
                Some(guard) => self.eval(guard, &env)?.is("true"),
            };
            if holds && transition.counts && !matches!(data, Value::Int(_)) {
                self.machines.running.remove(&id);
                return Ok(false);
            }
            if holds {
                return self.moved(id, event, transition, env).map(|()| true);
            }
        }
        Ok(false)
    }

    fn moved(&mut self, id: usize, event: &Value, transition: &Edge, mut env: Env) -> Result<(), Unusable> {
        let program = self.program;
        let machine = &program.machines[self.machines.running[&id].machine];
        let mut data = self.machines.running[&id].data.clone();
        for (field, value) in &transition.actions {
            let value = self.eval(value, &env)?;
            let Some((of, _)) = &machine.data else { panic!("only data is changed") };
            let Shape::Record(fields) = &program.data[*of].shape else { panic!("the data is a record") };
            env = env.with(&fields[*field].0, value.clone());
            let Value::Tuple(parts) = &data else { panic!("the data is a record") };
            let mut parts = (**parts).clone();
            parts[field + 1] = value;
            data = Value::tuple(parts);
        }
        let name = |state: usize| Value::atom(&machine.states[state]);
        let line = Value::tuple(vec![name(transition.from), event.clone(), name(transition.to)]);
        let entered = self.machines.clock;
        let running = self.machines.running.get_mut(&id).expect("it runs");
        running.history.push(line);
        (running.state, running.data, running.entered) = (transition.to, data, entered);
        running.passed.clear();
        Ok(())
    }

    /// Timeouts of zero fire before the next event.
    fn at_once(&mut self, id: usize) -> Result<(), Unusable> {
        while self.due(id, self.machines.clock).is_some_and(|(at, after)| after == 0 && at <= self.machines.clock) {
            self.time_out(id, 0)?;
        }
        Ok(())
    }

    /// The next timeout of a machine, as its time and duration; `None` if it is after the end of a sleep.
    fn due(&self, id: usize, until: u64) -> Option<(u64, u64)> {
        let running = self.machines.running.get(&id)?;
        let machine = &self.program.machines[running.machine];
        let all = machine.transitions.iter().filter(|one| one.from == running.state);
        let times = all.filter_map(|one| if let On::Timeout(after) = one.on { Some(after) } else { None });
        let left = times.filter(|after| !running.passed.contains(after));
        left.map(|after| (running.entered + after, after)).filter(|(at, _)| *at <= until).min()
    }

    fn time_out(&mut self, id: usize, after: u64) -> Result<(), Unusable> {
        self.machines.running.get_mut(&id).expect("it runs").passed.push(after);
        let (event, nothing) = (Value::atom("timeout"), Value::list(Vec::new()));
        self.fire(id, &event, &nothing, |on| matches!(on, On::Timeout(ms) if *ms == after)).map(drop)
    }

    /// Advances the clock; timeouts on the way fire in order.
    fn pass(&mut self, ms: u64) -> Result<(), Unusable> {
        let until = self.machines.clock + ms;
        loop {
            let all = self.machines.running.keys();
            let next = all.filter_map(|id| self.due(*id, until).map(|(at, after)| (at, *id, after))).min();
            let Some((at, id, after)) = next else { break };
            self.machines.clock = at;
            self.time_out(id, after)?;
        }
        self.machines.clock = until;
        Ok(())
    }
}

fn definition(machine: &Fsm) -> Value {
    let state = |at: usize| Value::atom(&machine.states[at]);
    let edges = machine.transitions.iter().map(|one| {
        let label = match &one.on {
            On::Event(name) => name.clone(),
            On::Timeout(ms) => format!("after {ms} ms"),
        };
        Value::tuple(vec![state(one.from), Value::atom(&label), state(one.to)])
    });
    let states = (0..machine.states.len()).map(state).collect();
    let parts =
        vec![Value::atom(&machine.name), state(machine.initial), Value::list(states), Value::list(edges.collect())];
    Value::tuple(parts)
}
