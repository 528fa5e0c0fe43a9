use proptest::prelude::*;

use super::*;
use crate::units::{KIB, MIB};

fn stick(fixed: f64, read: f64, write: f64) -> Speeds {
    let (read, write) = (Cost { fixed, rate: read }, Cost { fixed, rate: write });
    Speeds {
        read,
        write,
        queue: Queue::ENDLESS,
        rotates: false,
        processor: [Cost::NOTHING; 2],
        stalls: [Stalls::NONE; 2],
    }
}

fn planned(layout: Layout, members: &[Speeds]) -> Planned<'_> {
    Planned { layout, chunk: 512 * KIB, members, shared: &[], cores: 1, parity: Parity::default() }
}

fn shared(members: &[usize], transfer: Transfer, rate: f64) -> Shared {
    Shared { members: members.to_vec(), transfer, rate }
}

/// In a file that begins with a chunk.
fn sequential(pool: Planned<'_>, transfer: Transfer, block: u64) -> f64 {
    1.0 / pool.per_byte(transfer, Pattern::Sequential, block, 0)
}

fn close(a: f64, b: f64) {
    assert!((a / b - 1.0).abs() < 1e-9, "{a} is not {b}");
}

#[test]
fn what_is_spread_adds_up_and_what_is_copied_does_not() {
    let four = [stick(0.0, 20e6, 5e6); 4];
    let speed = |layout, transfer, block| sequential(planned(layout, &four), transfer, block);
    close(speed(Layout::Raid0, Transfer::Read, 2 * MIB), 80e6);
    close(speed(Layout::Raid0, Transfer::Write, MIB), 10e6);
    close(speed(Layout::Raid0, Transfer::Write, 4 * KIB), 5e6);
    close(speed(Layout::Raid1, Transfer::Write, MIB), 5e6);
    close(speed(Layout::Raid1, Transfer::Read, MIB), 20e6);
    close(speed(Layout::Raid10, Transfer::Write, MIB), 10e6);
    // One at a time, the first copy is always free.
    let unlike = [stick(1e-3, 20e6, 5e6), stick(0.1e-3, 40e6, 5e6)];
    let first = 4.0 * KIB as f64 / (1e-3 + 4.0 * KIB as f64 / 20e6);
    close(planned(Layout::Raid1, &unlike).speed(Transfer::Read, Pattern::Random, 4 * KIB), first);
    close(planned(Layout::Linear, &four).speed(Transfer::Write, Pattern::Sequential, MIB), 5e6);
    // A whole stripe needs no reads.
    let three = 3 * 512 * KIB;
    close(speed(Layout::Raid5, Transfer::Write, three), 15e6);
    close(speed(Layout::Raid6, Transfer::Write, MIB), 10e6);
}

#[test]
fn a_small_write_to_parity_reads_first_unless_md_has_the_rest_of_the_stripe() {
    let (fixed, read, write) = (1e-3, 20e6, 5e6);
    let small = 4.0 * KIB as f64;
    let once = |rate: f64| fixed + small / rate;
    for (layout, members) in [(Layout::Raid5, 3), (Layout::Raid5, 5), (Layout::Raid6, 4), (Layout::Raid6, 8)]
    {
        let all = vec![stick(fixed, read, write); members];
        let speed = planned(layout, &all).speed(Transfer::Write, Pattern::Random, 4 * KIB);
        close(speed, small / (once(read) + once(write)));
    }
    // Of three members: the other chunk is read for the first, and known for the second.
    let three = [stick(fixed, read, write); 3];
    let speed = sequential(planned(Layout::Raid5, &three), Transfer::Write, 4 * KIB);
    close(speed, small / (once(read) / 2.0 + once(write)));
    // Two of three chunks of a stripe: the third is read, as that is less than both and the parity.
    let four = vec![stick(0.0, read, write); 4];
    let phases = planned(Layout::Raid5, &four).phases(Transfer::Write, 0, MIB, &mut RowCache::default());
    let moved: Vec<u64> =
        phases.iter().map(|phase| phase.parts.iter().map(|part| part.bytes).sum()).collect();
    assert_eq!(moved, [512 * KIB, 3 * 512 * KIB]);
}

#[test]
fn a_shared_bus_is_paid_by_every_copy() {
    let four = [stick(0.0, 20e6, 20e6); 4];
    let bus = [shared(&[0, 1, 2, 3], Transfer::Write, 30e6)];
    let over =
        |layout| sequential(Planned { shared: &bus, ..planned(layout, &four) }, Transfer::Write, 3 * MIB);
    close(over(Layout::Raid0), 30e6);
    close(over(Layout::Raid1), 7.5e6);
    close(over(Layout::Raid10), 15e6);
    close(over(Layout::Raid5), 22.5e6);
}

#[test]
fn a_hub_limits_its_own_drives_only() {
    let four = [stick(0.0, 20e6, 20e6); 4];
    let hub = [shared(&[0, 1], Transfer::Read, 20e6)];
    let pool = |layout| Planned { shared: &hub, ..planned(layout, &four) };
    let read = |layout, block| sequential(pool(layout), Transfer::Read, block);
    // The first two chunks at half the speed, the next two at the full one.
    close(read(Layout::Raid0, MIB), 2.0 * MIB as f64 / (MIB as f64 * (1.0 / 20e6 + 1.0 / 40e6)));
    // One chunk from each drive: the other hub's are done first.
    close(read(Layout::Raid0, 2 * MIB), 40e6);
    close(pool(Layout::Raid0).speed(Transfer::Read, Pattern::Random, 4 * KIB), 20e6);
}

#[test]
fn a_file_may_begin_anywhere_in_a_chunk() {
    let four = [stick(0.0, 20e6, 5e6); 4];
    let pool = planned(Layout::Raid0, &four);
    // The larger part counts: all of it, 7, 6, 5, 4, 5, 6 and 7 of 8 parts.
    close(pool.speed(Transfer::Read, Pattern::Sequential, 512 * KIB), 20e6 / (48.0 / 64.0));
    close(pool.speed(Transfer::Read, Pattern::Sequential, 4 * KIB), 20e6);
}

/// As usb-storage does it: a 1 MiB operation becomes nine requests of 120 KiB, and the drive has two of them.
#[test]
fn a_full_queue_keeps_the_next_drive_waiting() {
    let queue = Queue { request: 120 * KIB, depth: [2; 2], drains: false };
    let two = [Speeds { queue, ..stick(0.0, 20e6, 20e6) }; 2];
    let speed = |chunk, members: &[Speeds]| {
        sequential(Planned { chunk, ..planned(Layout::Raid0, members) }, Transfer::Read, MIB)
    };
    // The second drive gets 88 KiB when two requests of the first are done, and the rest, 424 KiB, when three are.
    close(speed(512 * KIB, &two), MIB as f64 / ((360.0 + 424.0) * 1024.0 / 20e6));
    close(speed(64 * KIB, &two), 40e6);
    let deep = [Speeds { queue: Queue { depth: [5; 2], ..queue }, ..two[0] }; 2];
    close(speed(512 * KIB, &deep), 40e6);
}

/// With one write at a time, the second pair begins with the last request of the first, and what a request of 120 KiB has beyond
/// its chunk comes last. The lab's ledger shows this order for raid10 of four sticks, though their mq-deadline allows two writes.
#[test]
fn writes_to_pairs_begin_one_after_the_other() {
    let queue = Queue::of(Some(120 * KIB), Some(2), Some(1), false);
    assert_eq!(queue.depth, [2, 1]);
    let four = [Speeds { queue, ..stick(0.0, 20e6, 20e6) }; 4];
    let pool = planned(Layout::Raid10, &four);
    let phases = pool.phases(Transfer::Write, 0, MIB, &mut RowCache::default());
    let first = phases[0].parts.iter().step_by(2).map(|part| (part.at, part.bytes / KIB));
    let expected =
        [(0, 120), (0, 120), (0, 120), (0, 120), (0, 32), (2, 120), (2, 120), (2, 120), (2, 64), (2, 88)];
    assert_eq!(first.collect::<Vec<_>>(), expected);
    // The last 32 KiB of the first pair overlap with the second pair.
    let seconds = (480.0 + 512.0) * 1024.0 / 20e6;
    close(sequential(pool, Transfer::Write, MIB), MIB as f64 / seconds);
}

/// As raid10's `read_balance` of Linux 6.1 has it: pieces of 120 KiB, of which the first finds one copy without work, the second
/// the other, and the rest either the shorter queue, or the drive that read nearest.
#[test]
fn which_copy_is_read_depends_on_whether_drives_rotate() {
    let queue = Queue { request: 120 * KIB, depth: [usize::MAX; 2], drains: false };
    let read = |rotates: [bool; 2]| {
        let [a, b] = rotates.map(|rotates| Speeds { queue, rotates, ..stick(0.0, 20e6, 20e6) });
        let seconds = MIB as f64 / sequential(planned(Layout::Raid10, &[a, b, a, b]), Transfer::Read, MIB);
        (seconds * 20e6 / 1024.0).round()
    };
    // The first chunk as 120, 120, 120, 120 and 32, the second as 120, 120, 120, 64 and 88.
    assert_eq!(read([false, false]), 328.0, "120, 120 and 88 of the second, the other 184");
    assert_eq!(read([true, true]), 392.0, "all but the second piece");
    assert_eq!(read([true, false]), 512.0, "never the one that rotates");
}

/// The lab's ledger shows it for raid6 of four: 512 KiB to the last drive, and once four of its five requests are done the next one
/// begins, since the kernel throttles what md's thread writes.
#[test]
fn a_stripe_that_is_written_whole_goes_to_one_drive_after_the_other() {
    let queue = Queue { request: 120 * KIB, depth: [2; 2], drains: true };
    let four = [Speeds { queue, ..stick(0.0, 20e6, 20e6) }; 4];
    let phases = planned(Layout::Raid6, &four).phases(Transfer::Write, 0, MIB, &mut RowCache::default());
    let order = |phase: &phases::Phase| {
        phase.parts.iter().map(|part| (part.at, part.bytes / KIB)).collect::<Vec<_>>()
    };
    let orders: Vec<_> = phases.iter().map(order).collect();
    assert_eq!(orders, [[(3, 512), (2, 512), (1, 512), (0, 512)]]);
    let speed = |members: &[Speeds]| sequential(planned(Layout::Raid6, members), Transfer::Write, MIB);
    let after = |kib: f64| MIB as f64 / ((3.0 * kib + 512.0) * 1024.0 / 20e6);
    close(speed(&four), after(480.0));
    // Where it does not, the fifth and last request of a drive is taken when three are done.
    let free = [Speeds { queue: Queue { drains: false, ..queue }, ..four[0] }; 4];
    close(speed(&free), after(360.0));
}

#[test]
fn drives_without_an_upper_end_give_none() {
    let endless = [stick(0.0, f64::INFINITY, f64::INFINITY); 3];
    for layout in [Layout::Raid0, Layout::Raid1, Layout::Raid5] {
        let bus = [shared(&[0, 1, 2], Transfer::Read, 20e6)];
        let pool = Planned { shared: &bus, ..planned(layout, &endless) };
        assert_eq!(sequential(pool, Transfer::Write, MIB), f64::INFINITY, "{layout}");
    }
}

#[test]
fn copies_wait_for_each_other_where_processors_are_few() {
    let processor = [Cost { fixed: 0.1e-3, rate: f64::INFINITY }; 2];
    let four = [Speeds { processor, ..stick(1e-3, f64::INFINITY, f64::INFINITY) }; 4];
    let speed =
        |cores| sequential(Planned { cores, ..planned(Layout::Raid1, &four) }, Transfer::Write, 4 * KIB);
    close(speed(1), 4.0 * KIB as f64 / 1.15e-3);
    close(speed(3), 4.0 * KIB as f64 / 1.05e-3);
}

#[test]
fn parity_is_computed_before_it_is_written() {
    let four = [stick(1e-3, 20e6, 10e6); 4];
    let parity = Parity { xor: Some(1e9), raid6: Some(0.5e9) };
    let more = |layout, block: u64| {
        let without = planned(layout, &four);
        let seconds = |pool: Planned<'_>| block as f64 / sequential(pool, Transfer::Write, block);
        seconds(Planned { parity, ..without }) - seconds(without)
    };
    // Whole stripes: all data once.
    close(more(Layout::Raid5, 3 * MIB / 2), 1.5 * MIB as f64 / 1e9);
    close(more(Layout::Raid6, MIB), MIB as f64 / 0.5e9);
    assert_eq!(more(Layout::Raid10, MIB), 0.0);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]
    #[test]
    fn no_pool_is_faster_than_its_members_together_or_what_they_share(
        rates in prop::collection::vec((1e6..1e8f64, 1e6..1e8f64, 0.0..1e-2f64), 4..7),
        (chunk, block) in (2u32..9, 2u32..10),
        rate in 1e6..1e9f64,
        layout in prop::sample::select(&Layout::ALL[..]),
        transfer in prop::sample::select(&[Transfer::Read, Transfer::Write][..]),
        pattern in prop::sample::select(&[Pattern::Sequential, Pattern::Random][..]),
    ) {
        let members: Vec<Speeds> = rates.iter().map(|(read, write, fixed)| stick(*fixed, *read, *write)).collect();
        let all: Vec<usize> = (0..members.len()).collect();
        let bus = [Transfer::Read, Transfer::Write].map(|transfer| shared(&all, transfer, rate));
        let pool = Planned { chunk: KIB << chunk, ..planned(layout, &members) };
        let free = pool.speed(transfer, pattern, KIB << block);
        let sum: f64 = (0..members.len()).map(|at| pool.cost(transfer, at).rate).sum();
        prop_assert!(free.is_finite() && free > 0.0 && free <= sum * 1.000001, "{layout} {transfer:?}: {free}");
        // Nor than they do alone with such operations.
        let alone: f64 = pool.singles().map(|one| one.speed(transfer, pattern, KIB << block)).sum();
        prop_assert!(free <= alone * 1.000001, "{layout} {transfer:?}: {free} of {alone}");
        let limited = Planned { shared: &bus, ..pool }.speed(transfer, pattern, KIB << block);
        prop_assert!(limited <= free * 1.000001, "{layout}: {limited}");
        // Parity may read what it has; a drive alone shares nothing.
        if !matches!(layout, Layout::Raid5 | Layout::Raid6 | Layout::Linear) {
            prop_assert!(limited <= rate * 1.000001, "{layout}: {limited}");
        }
    }
}

/// Four equal sticks, 1 ms and 2 MB/s, two writes of 120 KiB in the queue. Where writes are throttled and the second copy is the
/// first to be done, the next pair begins when four of five requests are done, not three: 517 ms for a MiB, not 454 ms. In the
/// lab a third of the writes takes 454 ms and the others 517 ms.
#[test]
fn where_writes_are_throttled_the_next_pair_may_begin_later() {
    let queue = |drains| Queue { request: 120 * KIB, depth: [2; 2], drains };
    let took = |layout, drains| {
        let four = [Speeds { queue: queue(drains), ..stick(1e-3, 6e6, 2e6) }; 4];
        MIB as f64 / sequential(planned(layout, &four), Transfer::Write, MIB)
    };
    let request = |bytes: u64| 1e-3 + bytes as f64 / 2e6;
    // The other pair has 120, 120, 120, 64 and 88 KiB.
    let other = 3.0 * request(120 * KIB) + request(64 * KIB) + request(88 * KIB);
    let early = 3.0 * request(120 * KIB) + other;
    close(took(Layout::Raid10, false), early);
    let throttled = took(Layout::Raid10, true) / early;
    let half = 1.0 + request(120 * KIB) / early / 2.0;
    assert!((throttled / half - 1.0).abs() < 0.02, "{throttled} is not {half}");
    close(took(Layout::Raid0, true), took(Layout::Raid0, false));
}

/// Each of four sticks writes 4 KiB in 2 ms, and stops for 0.4 s after each 40 MB.
#[test]
fn writes_of_copies_and_parity_wait_for_the_stalls_of_each_member() {
    let stalls = [Stalls::NONE, Stalls { per_byte: 0.4 / 40e6, seconds: 0.4 }];
    let four = [Speeds { stalls, ..stick(2e-3, f64::INFINITY, f64::INFINITY) }; 4];
    let small = 4.0 * KIB as f64;
    let took = |layout, pattern| {
        let pool = planned(layout, &four);
        small / pool.speed(Transfer::Write, pattern, 4 * KIB)
    };
    let one = small * 0.4 / 40e6;
    // Two at once, which are waited for only once, are rare: 1 in 10,000 writes stalls.
    let close = |a: f64, b: f64| assert!((a / b - 1.0).abs() < 1e-4, "{a} is not {b}");
    close(took(Layout::Raid0, Pattern::Random), 2e-3 + one);
    close(took(Layout::Raid1, Pattern::Random), 2e-3 + 4.0 * one);
    close(took(Layout::Raid10, Pattern::Random), 2e-3 + 2.0 * one);
    // A read of data and parity before.
    close(took(Layout::Raid5, Pattern::Random), 4e-3 + 2.0 * one);
    close(took(Layout::Raid6, Pattern::Random), 4e-3 + 3.0 * one);
    // A stall of one member is hidden while another needs longer.
    let slow = Speeds { stalls: [Stalls::NONE; 2], ..stick(0.3, f64::INFINITY, f64::INFINITY) };
    let unlike = [slow, four[0]];
    let took = small / planned(Layout::Raid1, &unlike).speed(Transfer::Write, Pattern::Random, 4 * KIB);
    close(took, 0.3 + one * (0.4 + 2e-3 - 0.3) / 0.4);
}

/// Half of the operations of each stall for 1 s: a write of two copies waits 1 s in 3 of 4 cases.
#[test]
fn stalls_at_once_are_waited_for_once() {
    let stalls = [Stalls::NONE, Stalls { per_byte: 0.5 / (4.0 * KIB as f64), seconds: 1.0 }];
    let two = [Speeds { stalls, ..stick(2e-3, f64::INFINITY, f64::INFINITY) }; 2];
    let speed = planned(Layout::Raid1, &two).speed(Transfer::Write, Pattern::Random, 4 * KIB);
    close(4.0 * KIB as f64 / speed, 2e-3 + 0.75);
}
