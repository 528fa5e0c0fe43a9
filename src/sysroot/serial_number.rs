//! Recognises serial numbers that identify one drive.

/// Whether a text can be a serial. Some sticks report one character throughout, as `000000000000`.
pub(crate) fn is_serial(text: &str) -> bool {
    let mut chars = text.chars();
    chars.next().is_some_and(|first| chars.any(|c| c != first))
}

/// Whether a serial is a placeholder: consecutive characters, or a small number after zeros.
pub(crate) fn is_placeholder(serial: &str) -> bool {
    let follows = |a: char, b: char| {
        let (a, b) = (a.to_ascii_uppercase(), b.to_ascii_uppercase());
        matches!((a, b), ('9', '0' | 'A') | ('F', '0')) || u32::from(b) == u32::from(a) + 1
    };
    let in_order = serial.chars().zip(serial.chars().skip(1)).all(|(a, b)| follows(a, b));
    let zeros = serial.chars().take_while(|c| *c == '0').count();
    serial.len() >= 6 && (in_order || zeros >= 8 && serial.len() - zeros <= 2)
}
