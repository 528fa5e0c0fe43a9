//! An nbdkit plugin that serves modelled drives in real time and keeps a ledger.
