//! Pause: no load on a drive for some time.

use serde::{Deserialize, Serialize};

use super::{Changes, Cost, Kind};
use crate::units::duration;

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Pause {
    pub seconds: f64,
}

impl Kind for Pause {
    fn label(&self) -> String {
        "pause".to_owned()
    }

    fn cost(&self) -> Cost {
        Cost::of_seconds(self.seconds)
    }

    fn changes(&self) -> Changes {
        Changes::Nothing
    }

    fn describe(&self) -> Option<String> {
        Some(format!("idle for {}", duration(self.seconds)))
    }

    fn continues(&self) -> bool {
        true
    }

    fn prepares(&self) -> bool {
        true
    }
}
