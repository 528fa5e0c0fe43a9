//! Recognises serial numbers that identify one drive.

/// Whether a text can be a serial. Some sticks report one character throughout, as `000000000000`.
pub(crate) fn is_serial(text: &str) -> bool {
    let mut chars = text.chars();
    chars.next().is_some_and(|first| chars.any(|c| c != first))
}

/// Whether a serial is a placeholder, which many devices may have: consecutive characters, groups of equal ones, a small number after
/// zeros, or one that is filled up with zeros.
pub(crate) fn is_placeholder(serial: &str) -> bool {
    let follows = |a: char, b: char| {
        let (a, b) = (a.to_ascii_uppercase(), b.to_ascii_uppercase());
        matches!((a, b), ('9', '0' | 'A') | ('F', '0')) || u32::from(b) == u32::from(a) + 1
    };
    let in_order = serial.chars().zip(serial.chars().skip(1)).all(|(a, b)| follows(a, b));
    let zeros = serial.chars().take_while(|c| *c == '0').count();
    let filled = serial.chars().rev().take_while(|c| *c == '0').count();
    let groups = 1 + serial.chars().zip(serial.chars().skip(1)).filter(|(a, b)| a != b).count();
    let is_small = zeros >= 8 && serial.len() - zeros <= 3;
    serial.len() >= 6 && (in_order || is_small || filled >= 6 || serial.len() >= 3 * groups)
}
