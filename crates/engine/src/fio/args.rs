//! Builds fio's arguments for a load.

use std::path::Path;

use crate::units::{Caching, Content, Direction, Extent, Load, Pattern};

/// The page cache is left as it is.
const KEEP: &str = "--invalidate=0";
/// How often fio prints its status, ms.
const STATUS_MS: u32 = 250;
pub(super) const STATUS_NS: u64 = STATUS_MS as u64 * 1_000_000;

pub(super) fn global(read_only: bool) -> Vec<String> {
    let always = ["--eta=never", "--thread", "--lat_percentiles=1", "--clat_percentiles=0"];
    let mut args = vec!["--output-format=json+".to_owned(), format!("--status-interval={STATUS_MS}ms")];
    args.extend(always.into_iter().chain(read_only.then_some("--readonly")).map(str::to_owned));
    args
}

/// One job's section.
pub(super) fn section(name: &str, load: &Load, path: &Path, extent: Extent, bytes: u64) -> Vec<String> {
    let order = if load.pattern == Pattern::Random { "rand" } else { "" };
    let direction = match load.direction {
        Direction::Read => "read",
        Direction::Write => "write",
        Direction::Mixed { .. } => "rw",
    };
    let parallel = || if crate::uring_available().is_ok() { "io_uring" } else { "libaio" };
    // fio takes `:` as the end of a file name.
    let file = path.to_string_lossy().replace('\\', "\\\\").replace(':', "\\:");
    let streams = u64::from(load.streams);
    let whole = extent.length / load.block / streams * load.block;
    let mut args = vec![
        format!("--name={name}"),
        format!("--filename={file}"),
        format!("--rw={order}{direction}"),
        format!("--bs={}", load.block),
        format!("--size={}", whole),
        format!("--io_size={}", (bytes / streams).next_multiple_of(load.block)),
        format!("--ioengine={}", if load.depth == 1 { "psync" } else { parallel() }),
        format!("--iodepth={}", u64::from(load.depth).div_ceil(streams)),
        format!("--direct={}", u8::from(load.caching == Caching::Direct)),
        format!("--randseed={}", load.seed),
        "--fallocate=none".to_owned(),
        KEEP.to_owned(),
    ];
    if streams > 1 {
        // Jobs of fio share nothing, so each has its part of the file and of the depth.
        args.extend([
            format!("--numjobs={streams}"),
            format!("--offset_increment={whole}"),
            "--group_reporting".to_owned(),
        ]);
    }
    if extent.offset > 0 {
        args.push(format!("--offset={}", extent.offset));
    }
    if let Direction::Mixed { read_percent } = load.direction {
        args.push(format!("--rwmixread={read_percent}"));
    }
    let writes = load.writes();
    let switches = [
        (load.pattern == Pattern::Random, "--norandommap=1"),
        (load.caching == Caching::BufferedFsync && writes, "--end_fsync=1"),
        (load.sync && writes, "--sync=dsync"),
        (load.content == Content::Zeros && writes, "--zero_buffers=1"),
        (load.verify, "--verify=crc32c"),
        (load.verify, "--verify_fatal=1"),
        (load.verify, "--verify_state_save=0"),
        (load.verify && writes, "--do_verify=0"),
    ];
    args.extend(switches.iter().filter(|(on, _)| *on).map(|(_, switch)| (*switch).to_owned()));
    args
}

/// The fio command that repeats a load of `bytes` within the first `reach` bytes of the file at `path`. One that only
/// reads must not make fio create the file again.
pub fn command_line(load: &Load, path: &Path, reach: u64, bytes: u64, cold: bool) -> String {
    let mut args = section("drivebench", load, path, Extent { offset: 0, length: reach }, bytes);
    // Before a cold load, fio drops the file from the page cache; drivebench does that itself.
    args.iter_mut().filter(|arg| cold && *arg == KEEP).for_each(|arg| *arg = "--invalidate=1".to_owned());
    if !load.writes() {
        args.push("--readonly".to_owned());
    }
    crate::tools::fio::FioRun::new(args).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::job;

    #[test]
    fn the_command_of_the_blog_post() {
        let load = Load { caching: Caching::Direct, ..job(4096, 0).load };
        assert_eq!(
            command_line(&load, Path::new("/mnt/a b/x:y"), 1 << 30, 1 << 30, false),
            "fio --name=drivebench '--filename=/mnt/a b/x\\:y' --rw=write --bs=4096 --size=1073741824 \
             --io_size=1073741824 --ioengine=psync --iodepth=1 --direct=1 --randseed=1 --fallocate=none --invalidate=0"
        );
    }

    #[test]
    fn a_cold_read_drops_the_file_from_the_page_cache_first() {
        let line = |cold| command_line(&job(4096, 0).load, Path::new("/x"), 1 << 20, 1 << 20, cold);
        assert_eq!(line(true), line(false).replace("--invalidate=0", "--invalidate=1"));
        assert!(line(false).contains("--invalidate=0"));
    }

    #[test]
    fn every_property_of_a_load_is_an_argument() {
        let load = Load {
            direction: Direction::Mixed { read_percent: 70 },
            pattern: Pattern::Random,
            caching: Caching::BufferedFsync,
            content: Content::Zeros,
            depth: 32,
            sync: true,
            verify: true,
            ..job(1000, 0).load
        };
        let args = section("j", &load, Path::new("/x"), Extent { offset: 4096, length: 9_999 }, 12_345);
        for arg in [
            "--rw=randrw",
            "--rwmixread=70",
            "--bs=1000",
            "--size=9000",
            "--io_size=13000",
            "--offset=4096",
            "--iodepth=32",
            "--direct=0",
            "--norandommap=1",
            "--end_fsync=1",
            "--sync=dsync",
            "--zero_buffers=1",
            "--verify=crc32c",
        ] {
            assert!(args.iter().any(|a| a == arg), "{arg} is missing from {args:?}");
        }
        let streams = Load { depth: 4, streams: 4, ..job(1000, 0).load };
        let line = command_line(&streams, Path::new("/x"), 9_999, 20_000, false);
        let own = "--size=2000 --io_size=5000 --ioengine=io_uring --iodepth=1 --direct=0 --randseed=1 --fallocate=none \
                   --invalidate=0 --numjobs=4 --offset_increment=2000 --group_reporting";
        assert!(line.replace("libaio", "io_uring").ends_with(own), "{line}");
    }
}
