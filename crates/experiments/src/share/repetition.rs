//! One repetition of a share test.

use serde::{Deserialize, Serialize};

use super::{Part, ShareLoad, ShareTest, TransferKind, run::Session};
use crate::{
    plan::{Act, Changes, Cost, Needs, Step},
    record::ActResult,
    run::{Execution, RunError, Troubles},
};

/// One repetition of all transfers over all routes, with the server and the clients that the step before it started.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ShareRepetition {
    /// Number of the repetition, from 1.
    pub run: u32,
    /// The test that is repeated.
    pub test: ShareTest,
}

crate::kind!("share.repetition", ShareRepetition as Act);

impl Act for ShareRepetition {
    fn label(&self) -> String {
        "share repetition".to_owned()
    }

    fn cost(&self) -> Cost {
        self.test.repetition_cost()
    }

    fn changes(&self) -> Changes {
        Changes::OwnFiles
    }

    /// The step that starts the server describes it.
    fn describe(&self) -> Option<String> {
        None
    }

    fn is_work(&self) -> bool {
        true
    }

    fn needs(&self) -> Needs {
        self.test.needs()
    }

    fn perform(&self, run: &mut Execution<'_, '_>, step: &Step) -> Result<Troubles, RunError> {
        run.ctx.watcher.begins(step);
        for target in step.targets() {
            let since = run.ctx.world.seconds();
            let (session, watcher) = (run.held.get::<Session>(target), &mut *run.ctx.watcher);
            let given = &run.plan.targets[target].given;
            let mut says = |text: &str| watcher.waits(&format!("{given}: {text}"));
            let (shared, done) = match session {
                Some(session) => session.repetition(self.run, &run.cancel, &mut says),
                None => return Err(RunError::Act("there is no server".to_owned())),
            };
            let seconds = run.ctx.world.seconds() - since;
            let is_written = |load: &&ShareLoad| load.kind.puts() && load.route.has(Part::Drive);
            let written = shared.loads.iter().filter(is_written).map(|load| load.bytes).sum::<u64>();
            // Once more after the start of the server.
            let bytes = written.saturating_add(self.test.moved(TransferKind::Put));
            run.account(target, bytes, bytes);
            // What was measured until it ended is kept.
            let (cut_short, observed) = (done.is_err(), Some(shared.into()));
            let result = ActResult { seconds, bytes, cut_short, observed, ..ActResult::default() };
            run.emit_act(step.id, Some(target), result)?;
            done?;
        }
        Ok(Troubles::new())
    }
}
