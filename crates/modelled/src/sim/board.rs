//! A board: modelled drives and their shared links.

use serde::{Deserialize, Serialize};

use super::{
    drive::{Link, SimDrive},
    model::Model,
};
use crate::engine::EngineError;

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Board {
    /// The engine's targets.
    pub drives: Vec<Model>,
    pub buses: Vec<SharedBus>,
    pub seed: u64,
}

/// A link that several drives share.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SharedBus {
    /// Bytes per second.
    pub rate: f64,
    /// The drives on it, as positions in [`Board::drives`]; a drive is on one bus at most.
    pub drives: Vec<usize>,
}

#[derive(Debug, Clone)]
pub struct Drives {
    drives: Vec<SimDrive>,
    links: Vec<Link>,
    link_of: Vec<Option<usize>>,
}

impl Drives {
    /// The drives of `board` in their initial state; refuses an invalid board.
    pub fn new(board: &Board) -> Result<Self, EngineError> {
        let refuse = |why: String| Err(EngineError::Job(why));
        let mut link_of = vec![None; board.drives.len()];
        for (i, bus) in board.buses.iter().enumerate() {
            if !(bus.rate.is_finite() && bus.rate > 0.0) {
                return refuse(format!("the rate of bus {i} must be above 0, not {}", bus.rate));
            }
            for &drive in &bus.drives {
                match link_of.get_mut(drive) {
                    Some(link @ None) => *link = Some(i),
                    Some(_) => return refuse(format!("drive {drive} is on two buses")),
                    None => return refuse(format!("bus {i} has a drive {drive} that isn't there")),
                }
            }
        }
        board.drives.iter().try_for_each(Model::check).map_err(EngineError::Job)?;
        let drives = board.drives.iter().zip(0u64..).map(|(model, i)| {
            SimDrive::new(model, board.seed.wrapping_add(i.wrapping_mul(0xd134_2543_de82_ef95)))
        });
        Ok(Self {
            drives: drives.collect(),
            links: board.buses.iter().map(|b| Link::new(b.rate)).collect(),
            link_of,
        })
    }

    pub fn count(&self) -> usize {
        self.drives.len()
    }

    pub fn at(&mut self, drive: usize) -> (&mut SimDrive, Option<&mut Link>) {
        (&mut self.drives[drive], self.link_of[drive].map(|link| &mut self.links[link]))
    }
}
