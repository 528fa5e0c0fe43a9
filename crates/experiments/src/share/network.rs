//! What a run with clients on another machine measured of the network between, for other experiments.

use crate::{
    analyse::{Estimate, repeat},
    inventory::{Carried, NetworkPort, Speed},
    record::Run,
    share::{Route, ShareLoad, ShareResult, ShareTest, TransferKind},
};

/// The network port that the run used, with what the network behind it carried: in each direction the fastest transfer by its lower end.
pub fn network_port(run: &Run<()>) -> Option<NetworkPort> {
    let (start, plan) = (run.start.as_ref()?, run.plan.as_ref()?);
    plan.acts::<ShareTest>().find_map(|(step, act)| {
        let client = act.client.as_ref()?;
        let shared = run.acts.get(&(step.id, step.targets().next()?))?.get::<ShareResult>()?;
        let port =
            start.inventory.ports.iter().find(|port| Some(&port.name) == shared.network_port.as_ref())?;
        let fastest = |puts: bool| {
            // If clients got more, the programs of iperf3 are slower than the network.
            let of = |route: Route| {
                let kinds = act.kinds().filter(move |kind| kind.puts() == puts);
                kinds.filter_map(move |kind| speed(shared, kind, route))
            };
            // An interval does not reach further than the link does.
            let most = port.mbps.map_or(f64::INFINITY, |mbps| mbps / 8.0 * 1e6);
            let within = |speed: Speed| Speed { high: speed.high.min(most.max(speed.value)), ..speed };
            let carried = of(Route::Network).map(within).max_by(|a, b| a.low.total_cmp(&b.low))?;
            (!of(Route::Whole).any(|got| got.low > carried.high)).then_some(carried)
        };
        let carried = Carried {
            run: start.run.clone(),
            at: start.at.clone(),
            host: client.host().to_owned(),
            incoming: fastest(true)?,
            outgoing: fastest(false)?,
        };
        Some(NetworkPort { carried: Some(carried), ..port.clone() })
    })
}

/// One repetition has no interval, and is not used.
fn speed(shared: &ShareResult, kind: TransferKind, route: Route) -> Option<Speed> {
    let speeds: Vec<f64> = shared.undisturbed(kind, route).map(ShareLoad::speed).collect();
    let Estimate { value, low, high, .. } = repeat::typical(&speeds).filter(Estimate::is_bounded)?;
    Some(Speed { value, low, high })
}
