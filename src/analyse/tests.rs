//! The whole method against known truth.
