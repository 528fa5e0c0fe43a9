//! An nbdkit plugin that serves modelled drives in real time and keeps a ledger.
//!
//! `nbdkit libdrivebench_lab_plugin.so scenario=FILE directory=DIR` serves each drive as the export that its bay is
//! called. Everything but the callbacks is in [`drivebench_lab::serve`].

use std::{
    path::{Path, PathBuf},
    sync::{Mutex, OnceLock, PoisonError},
};

use drivebench_lab::{Scenario, card, serve::Served};
use nbdkit::{Error, Flags, Result, Server};

// nbdkit calls functions without a context, so shared state must be static.
static PARAMETERS: Mutex<Parameters> =
    Mutex::new(Parameters { scenario: None, directory: None, card: None, network: None });
static SERVED: OnceLock<Served> = OnceLock::new();

struct Parameters {
    scenario: Option<PathBuf>,
    directory: Option<PathBuf>,
    card: Option<PathBuf>,
    network: Option<PathBuf>,
}

/// A client's connection to a drive.
struct Connection {
    served: &'static Served,
    drive: usize,
}

impl Server for Connection {
    fn name() -> &'static str {
        "drivebench-lab"
    }

    fn longname() -> Option<&'static str> {
        Some("drivebench lab")
    }

    fn description() -> Option<&'static str> {
        Some("Modelled drives in real time; each export is the drive in the bay of that name.")
    }

    fn config_help() -> Option<&'static str> {
        Some(
            "scenario=FILE   (required) The machine and its drives.\n\
             directory=DIR   (required) What the drives hold (BAY.img) and what they did (BAY.ledger.csv).\n\
             card=SOCKET     Where the machine's network card connects, and\n\
             network=SOCKET  what it is joined with over its bus.",
        )
    }

    fn config(key: &str, value: &str) -> Result<()> {
        let mut parameters = PARAMETERS.lock().unwrap_or_else(PoisonError::into_inner);
        let parameter = match key {
            "scenario" => &mut parameters.scenario,
            "directory" => &mut parameters.directory,
            "card" => &mut parameters.card,
            "network" => &mut parameters.network,
            _ => {
                return Err(refused(format!(
                    "unknown parameter {key}; the parameters are scenario, directory, card and network"
                )));
            }
        };
        *parameter = Some(PathBuf::from(value));
        Ok(())
    }

    fn get_ready() -> Result<()> {
        let parameters = PARAMETERS.lock().unwrap_or_else(PoisonError::into_inner);
        let (Some(scenario), Some(directory)) = (&parameters.scenario, &parameters.directory) else {
            return Err(refused("scenario=FILE and directory=DIR must be given".to_owned()));
        };
        let served = serve(scenario, directory).map_err(refused)?;
        SERVED.set(served).map_err(|_| refused("the drives are already served".to_owned()))?;
        match (&parameters.card, &parameters.network) {
            (None, None) => Ok(()),
            (Some(card), Some(network)) if SERVED.get().is_some_and(Served::has_card) => {
                card::join(card, network, carry).map_err(|e| refused(format!("the network card: {e}")))
            }
            _ => Err(refused("card and network go together, and with a network in the scenario".to_owned())),
        }
    }

    fn open(_readonly: bool) -> Result<Box<dyn Server>> {
        let bay = nbdkit::export_name().map_err(|e| refused(e.to_string()))?;
        let served = SERVED.get().ok_or_else(|| refused("the drives are not served yet".to_owned()))?;
        match served.find(&bay) {
            Some(drive) => Ok(Box::new(Self { served, drive })),
            None => Err(Error::new(libc::ENOENT, format!("there is no drive in bay {bay:?}"))),
        }
    }

    fn get_size(&self) -> Result<i64> {
        i64::try_from(self.served.size(self.drive)).map_err(|e| refused(e.to_string()))
    }

    fn read_at(&self, buffer: &mut [u8], offset: u64) -> Result<()> {
        Ok(self.served.read(self.drive, buffer, offset)?)
    }

    fn write_at(&self, bytes: &[u8], offset: u64, _flags: Flags) -> Result<()> {
        Ok(self.served.write(self.drive, bytes, offset)?)
    }

    fn flush(&self) -> Result<()> {
        Ok(self.served.flush(self.drive)?)
    }
}

fn carry(bytes: u64) {
    if let Some(served) = SERVED.get() {
        served.carry(bytes);
    }
}

fn serve(scenario: &Path, directory: &Path) -> std::result::Result<Served, String> {
    let scenario = Scenario::read(scenario).map_err(|e| e.to_string())?;
    Served::new(&scenario, directory).map_err(|e| e.to_string())
}

fn refused(why: String) -> Error {
    Error::new(libc::EINVAL, why)
}

mod entry {
    nbdkit::plugin!(super::Connection { config, get_ready, write_at, flush });
}
