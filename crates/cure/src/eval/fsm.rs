//! State machines in the interpreter. Events are handled when they are sent; timeouts fire when the virtual clock
//! passes them, and only sleeping moves that clock.

use std::collections::BTreeMap;

use super::interpreter::Interpreter;
use super::limits::Failure;
use super::value::Value;
use crate::ir::form::{self, MachineTrigger};
use crate::syntax::ast::Name;

/// The maximal number of machines in a run.
const MOST_MACHINES: usize = 10_000;

/// The maximal number of remembered transitions of a machine.
const REMEMBERED: usize = 1000;

/// The running machines.
#[derive(Debug, Default)]
pub(super) struct Machines {
    running: BTreeMap<u64, Running>,
    names: BTreeMap<Name, u64>,
    next: u64,
}

#[derive(Debug)]
struct Running {
    name: Name,
    module: Name,
    state: Name,
    data: Value,
    /// The time at which the state was entered.
    entered: u64,
    /// The states left and entered, and the event of each transition.
    history: Vec<Value>,
}

impl<'p> Interpreter<'p> {
    fn definition(&self, name: &str, module: Option<&str>) -> Option<(&'p Name, &'p form::Machine)> {
        let all = self.machines.get(name)?;
        all.iter().find(|(of, _)| module.is_none_or(|module| &***of == module)).copied()
    }

    /// The functions that implement Std.Fsm.
    pub(super) fn fsm_call(&mut self, function: &str, args: &[Value]) -> Result<Value, Failure> {
        let ok = || Value::atom("ok");
        let error = |reason: &str| Value::tuple(vec![Value::atom("error"), Value::atom(reason)]);
        Ok(match (function, args) {
            ("start", [Value::Atom(name), data]) => return self.fsm_spawn(name, None, Some(data.clone())),
            ("start", [Value::Atom(name)]) => return self.fsm_spawn(name, None, None),
            ("spawn_in", [Value::Atom(module), Value::Atom(name), rest @ ..]) => {
                return self.fsm_spawn(name, Some(module), rest.first().cloned());
            }
            ("cast", [of, event]) => {
                let Some(id) = self.machine_id(of) else { return Ok(error("noproc")) };
                let (event, data) = match event {
                    Value::Tuple(parts) if parts.len() == 2 => (parts[0].clone(), parts[1].clone()),
                    other => (other.clone(), Value::Nil),
                };
                if let Value::Atom(event) = event {
                    self.fire(id, &event, &data)?;
                }
                ok()
            }
            ("state", [of]) => match self.machine_id(of).and_then(|id| self.fsm.running.get(&id)) {
                Some(running) => {
                    let state = Value::tuple(vec![Value::Atom(running.state.clone()), running.data.clone()]);
                    Value::tuple(vec![ok(), state])
                }
                None => error("noproc"),
            },
            ("stop", [of]) => match self.machine_id(of) {
                Some(id) => {
                    self.end(id);
                    ok()
                }
                None => error("noproc"),
            },
            ("is_alive", [of]) => Value::bool(self.machine_id(of).is_some()),
            ("advertise", [of, Value::Atom(name)]) => match self.machine_id(of) {
                Some(id) => {
                    self.fsm.names.insert(name.clone(), id);
                    ok()
                }
                None => error("noproc"),
            },
            ("whereis", [Value::Atom(name)]) => match self.fsm.names.get(name) {
                Some(id) => Value::Machine(*id),
                None => Value::atom("undefined"),
            },
            ("history", [of]) => match self.machine_id(of).and_then(|id| self.fsm.running.get(&id)) {
                Some(running) => {
                    let last = running.history.len().saturating_sub(REMEMBERED);
                    Value::list(running.history[last..].to_vec(), Value::Nil)
                }
                None => error("noproc"),
            },
            ("info", [of]) => match self.machine_id(of).and_then(|id| self.fsm.running.get(&id)) {
                Some(running) => Value::tuple(vec![
                    Value::Atom(running.name.clone()),
                    Value::Atom(running.state.clone()),
                    running.data.clone(),
                ]),
                None => error("noproc"),
            },
            _ => return Err(self.undefined("cure_fsm", function, args.len())),
        })
    }

    fn machine_id(&self, of: &Value) -> Option<u64> {
        let id = match of {
            Value::Machine(id) => *id,
            Value::Atom(name) => *self.fsm.names.get(name)?,
            _ => return None,
        };
        self.fsm.running.contains_key(&id).then_some(id)
    }

    fn fsm_spawn(&mut self, name: &Name, module: Option<&str>, data: Option<Value>) -> Result<Value, Failure> {
        let Some((module, machine)) = self.definition(name, module) else {
            return Ok(Value::tuple(vec![Value::atom("error"), Value::atom("no_such_fsm")]));
        };
        let data = match data {
            Some(data) => data,
            None => self.call(module, &machine.initial_data, Vec::new())?,
        };
        if self.fsm.running.len() >= MOST_MACHINES {
            return Err(Failure::Limit { what: "state machines", limit: MOST_MACHINES as u64 });
        }
        let id = self.fsm.next;
        self.fsm.next += 1;
        let running = Running {
            name: name.clone(),
            module: module.clone(),
            state: machine.initial.clone(),
            data,
            entered: self.clock,
            history: Vec::new(),
        };
        self.fsm.running.insert(id, running);
        self.at_once(id)?;
        Ok(Value::Machine(id))
    }

    fn fire(&mut self, id: u64, event: &Name, data: &Value) -> Result<(), Failure> {
        let fits = |on: &MachineTrigger| matches!(on, MachineTrigger::Event(name) if name == event);
        let taken = self.transition(id, data, Value::Atom(event.clone()), fits);
        self.contained(id, taken)?;
        self.at_once(id)
    }

    /// Timeouts of zero fire before anything else.
    fn at_once(&mut self, id: u64) -> Result<(), Failure> {
        let Some(running) = self.fsm.running.get(&id) else { return Ok(()) };
        let definition = self.definition(&running.name, Some(&running.module));
        let now = |on: &MachineTrigger| matches!(on, MachineTrigger::Timeout(0));
        let due = definition.is_some_and(|(_, machine)| machine.transitions.iter().any(|one| now(&one.on)));
        if due { self.sleep(0) } else { Ok(()) }
    }

    /// The result of a transition, whose error ends only the machine, as an error in any process would.
    fn contained(&mut self, id: u64, taken: Result<bool, Failure>) -> Result<bool, Failure> {
        if let Err(Failure::Raised { .. }) = taken {
            self.end(id);
            return Ok(true);
        }
        taken
    }

    /// Ends a machine.
    fn end(&mut self, id: u64) {
        self.fsm.running.remove(&id);
        self.fsm.names.retain(|_, known| *known != id);
    }

    /// Takes the first matching transition. Returns whether there was one.
    fn transition(
        &mut self,
        id: u64,
        event_data: &Value,
        event: Value,
        fits: impl Fn(&MachineTrigger) -> bool,
    ) -> Result<bool, Failure> {
        let Some(running) = self.fsm.running.get(&id) else { return Ok(false) };
        let (state, data) = (running.state.clone(), running.data.clone());
        let (name, module) = (running.name.clone(), running.module.clone());
        let Some((_, machine)) = self.definition(&name, Some(&module)) else { return Ok(false) };
        for transition in machine.transitions.iter().filter(|one| one.from == state && fits(&one.on)) {
            let args = || vec![data.clone(), event_data.clone()];
            if let Some(guard) = &transition.guard
                && !self.call(&module, guard, args())?.is_atom("true")
            {
                continue;
            }
            let changed = match &transition.action {
                Some(action) => self.call(&module, action, args())?,
                None => data.clone(),
            };
            let clock = self.clock;
            if let Some(running) = self.fsm.running.get_mut(&id) {
                let line = vec![Value::Atom(state.clone()), event, Value::Atom(transition.to.clone())];
                running.history.push(Value::tuple(line));
                if running.history.len() >= 2 * REMEMBERED {
                    running.history.drain(..REMEMBERED);
                }
                running.state = transition.to.clone();
                running.data = changed;
                running.entered = clock;
            }
            return Ok(true);
        }
        Ok(false)
    }

    /// Advances the clock and fires the timeouts that fall due, in order of time.
    pub(super) fn sleep(&mut self, ms: u64) -> Result<(), Failure> {
        let until = self.clock.saturating_add(ms);
        let mut spent: Vec<(u64, u64, u64)> = Vec::new();
        loop {
            let mut due: Option<(u64, u64, u64)> = None;
            self.meter.work(u32::try_from(self.fsm.running.len() + spent.len()).unwrap_or(u32::MAX))?;
            for (id, running) in &self.fsm.running {
                let Some((_, machine)) = self.definition(&running.name, Some(&running.module)) else { continue };
                for transition in machine.transitions.iter().filter(|one| one.from == running.state) {
                    let MachineTrigger::Timeout(after) = transition.on else { continue };
                    let at = running.entered.saturating_add(after);
                    let entry = (at, *id, after);
                    // A timeout whose guards were false does not fire again until the state is entered again.
                    let over = spent.contains(&entry) || at < self.clock;
                    if at <= until && !over && due.is_none_or(|known| entry < known) {
                        due = Some(entry);
                    }
                }
            }
            let Some((at, id, after)) = due else { break };
            self.meter.step()?;
            self.meter.work(64)?;
            self.clock = at;
            let fits = |on: &MachineTrigger| matches!(on, MachineTrigger::Timeout(ms) if *ms == after);
            let taken = self.transition(id, &Value::Nil, Value::atom("timeout"), fits);
            if !self.contained(id, taken)? {
                spent.push((at, id, after));
            } else if after == 0 && spent.len() > 10_000 {
                break;
            } else if after == 0 {
                spent.push((at, id, u64::MAX));
            }
        }
        self.clock = until;
        Ok(())
    }
}
