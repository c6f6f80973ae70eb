//! One world: a run that pauses after each monitor interval of its agents.

use crate::GymError;
use crate::agent::Agent;
use crate::draw::Draws;
use crate::monitor::Interval;
use crate::spec::Spec;
use dumbbell_cc::catalog::{About, BuildError, Builder, Catalog, Code};
use dumbbell_cc::{Control, Controller, Recipe, View};
use dumbbell_scenario::Scenario;
use dumbbell_sim::{Bounds, Stepper};
use dumbbell_units::{Duration, Rng, Time};
use serde_json::{Map, Value, json};
use std::any::Any;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// Name of the algorithm that an agent's flow has.
const NAME: &str = "agent";
/// Nobody stops a step: it is short.
static NEVER: AtomicBool = AtomicBool::new(false);
/// The memory that a world may take.
const MAX_MEMORY: u64 = 1 << 30;

/// Makes the controllers of agents.
struct AgentCode(Spec);

impl Code for AgentCode {
    fn schema(&self) -> Value {
        json!({ "type": "object", "properties": {} })
    }

    fn read(&self, _: &Map<String, Value>, _: &Map<String, Value>) -> Result<Map<String, Value>, BuildError> {
        Ok(Map::new())
    }

    fn prepare(
        &self,
        _: &Map<String, Value>,
        _: &Map<String, Value>,
        exact_name: Arc<str>,
    ) -> Result<Builder, BuildError> {
        let spec = self.0.clone();
        Ok(Box::new(move |_: Rng| Box::new(Agent::new(&spec, Arc::clone(&exact_name)))))
    }
}

/// What worlds of one kind have in common.
pub struct Kind {
    pub spec: Spec,
    pub draws: Draws,
    /// Flows that agents govern.
    pub flows: Vec<usize>,
    recipe: Arc<Recipe>,
}

impl Kind {
    /// Worlds of these draws in which agents govern `flows`.
    ///
    /// # Errors
    /// A flow is not there, is named twice, or has no controller.
    pub fn new(spec: Spec, draws: Draws, flows: Vec<usize>) -> Result<Kind, GymError> {
        let known = &draws.template().flows;
        for (place, &flow) in flows.iter().enumerate() {
            let why = match known.get(flow) {
                None => format!("there is no flow {flow}; the experiment has {}", known.len()),
                Some(_) if flows[..place].contains(&flow) => format!("flow {flow} has two agents"),
                Some(spec) if !spec.transport.protocol.is_controlled() => {
                    format!("flow {flow} (`{}`) has no congestion control that an agent could be", spec.label)
                }
                Some(_) => continue,
            };
            return Err(GymError::Refused(why));
        }
        if flows.is_empty() {
            return Err(GymError::Refused("no flow has an agent".to_owned()));
        }
        let about = About { name: NAME.to_owned(), exact_name: NAME.to_owned(), ..About::default() };
        let mut catalog = Catalog::default();
        let refused = |error: String| GymError::Refused(error);
        catalog.register_code(about, Arc::new(AgentCode(spec.clone()))).map_err(|error| refused(error.to_string()))?;
        let recipe = catalog.recipe(NAME, &Map::new()).map_err(|error| refused(error.to_string()))?;
        Ok(Kind { spec, draws, flows, recipe: Arc::new(recipe) })
    }

    /// Numbers of all observations of a world.
    pub fn width(&self) -> usize {
        self.spec.width() * self.flows.len()
    }
}

/// A world.
pub struct World {
    kind: Arc<Kind>,
    rng: Rng,
    run: Option<Stepper<'static>>,
    is_over: bool,
    /// What each agent sees, the oldest interval first.
    seen: Vec<f32>,
    /// What each agent earned in the last step.
    rewards: Vec<f64>,
    /// The last interval of each agent.
    intervals: Vec<Interval>,
}

/// The agent behind a controller.
fn agent(controller: &mut dyn Controller) -> Option<&mut Agent> {
    (controller as &mut dyn Any).downcast_mut()
}

impl World {
    /// One that has to be [reset](World::reset) first.
    pub fn new(kind: Arc<Kind>, seed: u64) -> World {
        let agents = kind.flows.len();
        World {
            rng: Rng::new(seed),
            run: None,
            is_over: true,
            seen: vec![0.0; kind.width()],
            rewards: vec![0.0; agents],
            intervals: vec![Interval::default(); agents],
            kind,
        }
    }

    /// What its agents see.
    pub fn seen(&self) -> &[f32] {
        &self.seen
    }

    /// What each of them earned in the last step.
    pub fn rewards(&self) -> &[f64] {
        &self.rewards
    }

    /// The last interval of each of them.
    pub fn intervals(&self) -> &[Interval] {
        &self.intervals
    }

    /// Whether the episode is over, and the world has to be reset.
    pub fn is_over(&self) -> bool {
        self.is_over
    }

    /// The instant at which it pauses.
    pub fn now(&self) -> Time {
        self.run.as_ref().map_or(Time::ZERO, Stepper::now)
    }

    /// Begins another episode: with draws and random events of `seed`, or of the next one of this world. The
    /// connections of all agents are there then, and one interval has passed.
    ///
    /// # Errors
    /// The experiment refuses what is drawn, or a connection does not come about.
    pub fn reset(&mut self, seed: Option<u64>) -> Result<(), GymError> {
        if let Some(seed) = seed {
            self.rng = Rng::new(seed);
        }
        (self.run, self.is_over) = (None, true);
        let kind = Arc::clone(&self.kind);
        let mut scenario: Scenario = kind.draws.draw(&mut self.rng)?;
        // Seeds fit into a float, as those of repetitions do.
        scenario.seed = self.rng.next_u64() >> 11;
        scenario.record.series = false;
        for &flow in &kind.flows {
            scenario.flows[flow].cc = Arc::clone(&kind.recipe);
        }
        let way = kind.flows.iter().map(|&flow| scenario.flows[flow].base_rtt).max().unwrap_or_default();
        let look = way.max(Duration::from_millis(1));
        let bounds = Bounds { cancel: &NEVER, max_memory: MAX_MEMORY, series: None, plain: false };
        let mut run = Stepper::new(Arc::new(scenario), bounds)?;
        while kind.flows.iter().any(|&flow| run.sending(flow).is_none()) {
            run.run_until(run.now() + look)?;
            if run.is_over() {
                let why = "the run ends before the connections of all agents are there; let it last longer, or let flows begin earlier";
                return Err(GymError::Refused(why.to_owned()));
            }
        }
        self.run = Some(run);
        self.is_over = false;
        self.seen.fill(0.0);
        // What happened before all connections were there belongs to nobody's action.
        self.end_interval();
        self.seen.fill(0.0);
        self.go_on()?;
        self.rewards.fill(0.0);
        Ok(())
    }

    /// Each agent acts, and one interval passes.
    ///
    /// # Errors
    /// An action is no number, the episode is over, or the run cannot go on.
    pub fn step(&mut self, actions: &[f32]) -> Result<(), GymError> {
        let Some(run) = self.run.as_mut().filter(|_| !self.is_over) else {
            return Err(GymError::Refused("the episode is over; reset the environment".to_owned()));
        };
        for (&flow, &action) in self.kind.flows.iter().zip(actions) {
            if !action.is_finite() {
                return Err(GymError::Refused(format!("the action {action} of flow {flow} is no number")));
            }
            run.steer(flow, &mut |controller: &mut dyn Controller, view: &View, control: &mut Control| {
                if let Some(agent) = agent(controller) {
                    agent.act(view, control, f64::from(action));
                }
            });
        }
        self.go_on()
    }

    /// Lets one interval pass, as long as that of the agent with the longest round trip.
    fn go_on(&mut self) -> Result<(), GymError> {
        let Some(run) = &mut self.run else { return Ok(()) };
        let spans = self
            .kind
            .flows
            .iter()
            .filter_map(|&flow| run.sending(flow).map(|sending| self.kind.spec.interval.length(sending.view)));
        let span = spans.max().unwrap_or(Duration::from_millis(1));
        run.run_until(run.now() + span)?;
        self.end_interval();
        Ok(())
    }

    fn end_interval(&mut self) {
        let World { kind, run, seen, rewards, intervals, is_over, .. } = self;
        let Some(run) = run else { return };
        let (now, width) = (run.now(), kind.spec.width());
        *is_over = run.is_over();
        for (place, &flow) in kind.flows.iter().enumerate() {
            let mut interval = None;
            run.steer(flow, &mut |controller: &mut dyn Controller, view: &View, control: &mut Control| {
                interval = agent(controller).map(|agent| agent.end_interval(now, view, control));
            });
            let Some(interval) = interval else { continue };
            kind.spec.remember(&mut seen[place * width..(place + 1) * width], &interval);
            rewards[place] = kind.spec.reward.of(&interval);
            intervals[place] = interval;
        }
    }
}
