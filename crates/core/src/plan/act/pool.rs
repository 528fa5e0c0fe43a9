//! Build pools on drives that are erased, remove them, and predict what they will do.

use serde::{Deserialize, Serialize};

use crate::units::{Layout, PredictedLoad};

/// Erases drives and builds a pool of them, mounted at the path of the step's target.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct BuildPool {
    pub name: String,
    pub layout: Layout,
    /// Bytes.
    pub chunk: u64,
    /// Uses at most so many bytes of each drive.
    pub most: u64,
    /// The drives, by their identity.
    pub drives: Vec<String>,
}

/// Takes a member out of the pool of the step's target, and has the kernel fill it as if it were a new drive.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RebuildPool {
    /// Its number.
    pub member: u32,
    /// Writes at most so many bytes to it.
    pub most: u64,
}

/// Unmounts, stops and removes the pool of the step's target.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RemovePool {
    pub name: String,
}

/// Predicts what the loads of this plan will do on pools, from what they did on each of the step's targets alone and on
/// all of them at once. It comes before any of the pools is built, and is saved before the next step begins.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Predict {
    /// Positions of the pools in the plan's targets.
    pub pools: Vec<u32>,
    /// What a recommendation is to be for: `capacity`, `speed` or `safety`; none for each of them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub want: Option<String>,
    /// How many drives may fail.
    #[serde(default)]
    pub survive: u32,
}

/// What is predicted of one pool.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Prediction {
    /// Its position in the plan's targets.
    pub pool: u32,
    /// Seconds until its members agree; none where nothing is copied.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fill_seconds: Option<f64>,
    /// Seconds until a member that is replaced has its data; none where that is not measured either.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rebuild_seconds: Option<f64>,
    pub loads: Vec<PredictedLoad>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub not: Vec<NotPredicted>,
}

/// A load that is not predicted of a pool.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct NotPredicted {
    pub label: String,
    /// The position in the plan's targets of the drive that it does not follow from.
    pub drive: u32,
    /// It was measured, but its speeds with small and large blocks contradict each other.
    pub is_measured: bool,
    /// It moves a head, and the pool makes it go to and fro.
    #[serde(default)]
    pub seeks: bool,
}
