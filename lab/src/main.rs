//! `lab`: virtual machines with modelled drives.

fn main() {}
