//! What a run with clients on another machine tells of the network between, for other experiments.

use crate::{
    analyse::repeat,
    inventory::{Carried, NetworkPort},
    plan::{Errand, Via},
    record::{Run, ShareLoad, Shared},
};

/// The network port of the machine that shared, as it was then, with what the network behind it carried; of several runs of iperf3 in a direction
/// the fastest.
pub fn network_port(run: &Run<()>) -> Option<NetworkPort> {
    let (start, plan) = (run.start.as_ref()?, run.plan.as_ref()?);
    plan.shares().find_map(|(step, act)| {
        let client = act.client.as_ref()?;
        let shared = run.acts.get(&(step.id, step.targets().next()?))?.shared.as_deref()?;
        let port =
            start.inventory.ports.iter().find(|port| Some(&port.name) == shared.network_port.as_ref())?;
        let fastest = |puts: bool| {
            let errands = act.errands().filter(|errand| errand.puts() == puts);
            errands.filter_map(|errand| speed(shared, errand)).reduce(f64::max)
        };
        let carried = Carried {
            run: start.run.clone(),
            at: start.at.clone(),
            host: client.host().to_owned(),
            received: fastest(true)?,
            sent: fastest(false)?,
        };
        Some(NetworkPort { carried: Some(carried), ..port.clone() })
    })
}

fn speed(shared: &Shared, errand: Errand) -> Option<f64> {
    let own = |load: &&ShareLoad| (load.errand, load.via) == (errand, Via::Network);
    let speeds = shared.loads.iter().filter(own).map(|load| load.bytes as f64 / load.seconds);
    repeat::typical(&speeds.collect::<Vec<_>>()).map(|speed| speed.value)
}
