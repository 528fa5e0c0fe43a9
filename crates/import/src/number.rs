//! Parses numbers as programs print them in any locale.

/// The longest number, characters.
const LONGEST: usize = 32;

/// Whether a character may be part of a number.
fn part(c: char) -> bool {
    c.is_ascii_digit() || matches!(c, '.' | ',' | 'e' | 'E' | '+' | '-')
}

/// A non-negative number with a decimal point or comma, and an optional exponent. A comma is never a thousands
/// separator: none of these tools groups digits. `None` for anything else.
pub(super) fn decimal(text: &str) -> Option<f64> {
    let separators = text.matches(['.', ',']).count();
    let starts = text.starts_with(|c: char| c.is_ascii_digit());
    if text.len() > LONGEST || !starts || separators > 1 || !text.chars().all(part) {
        return None;
    }
    text.replace(',', ".").parse().ok().filter(|x| super::sane(*x))
}

/// A whole number; `None` on overflow of 64 bits.
pub(super) fn whole(text: &str) -> Option<u64> {
    (!text.is_empty() && text.bytes().all(|b| b.is_ascii_digit())).then(|| text.parse().ok()).flatten()
}

/// The number at the start of a text, and the rest.
pub(super) fn leading(text: &str) -> Option<(f64, &str)> {
    let end = text.find(|c: char| !part(c)).unwrap_or(text.len()).min(LONGEST);
    let number =
        |end: usize| decimal(&text[..end]).filter(|_| text[..end].ends_with(|c: char| c.is_ascii_digit()));
    (1..=end).rev().find_map(|end| Some((number(end)?, &text[end..])))
}

/// Bytes of a unit of speed, without its `/s`. `kilo` is 1000, or 1024 for tools that print MB for MiB; units with an
/// `i` are always powers of 1024.
pub(super) fn unit(name: &str, kilo: f64) -> Option<f64> {
    let short = name.strip_suffix('B').unwrap_or(name);
    let (prefix, kilo) = match short.strip_suffix('i') {
        Some(prefix) => (prefix, 1024.0),
        None => (short, kilo),
    };
    let power = match prefix {
        "" if name == "B" => 0,
        "k" | "K" => 1,
        "M" => 2,
        "G" => 3,
        "T" => 4,
        _ => return None,
    };
    Some(kilo.powi(power))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_comma_is_a_decimal_separator() {
        for (text, value) in [
            ("1,931", 1.931),
            ("16,4534", 16.4534),
            ("0.0334089", 0.0334089),
            ("6.1361e-05", 6.1361e-5),
            ("6,1361e-05", 6.1361e-5),
            ("1e+03", 1000.0),
            ("3", 3.0),
        ] {
            assert_eq!(decimal(text), Some(value), "{text}");
        }
        for text in
            ["", "1,234.5", "1.234,5", "1,234,567", "-1", "NaN", "inf", "1e999", "x", ".5", "+1", "0x10"]
        {
            assert_eq!(decimal(text), None, "{text}");
        }
        assert_eq!(leading("531.2MB/s"), Some((531.2, "MB/s")));
        assert_eq!(leading("7 s, 1"), Some((7.0, " s, 1")));
        assert_eq!(leading("16, 2"), Some((16.0, ", 2")));
        assert_eq!(leading("x"), None);
    }

    #[test]
    fn decimal_and_binary_units() {
        assert_eq!(
            [unit("MB", 1000.0), unit("MB", 1024.0), unit("MiB", 1000.0)],
            [Some(1e6), Some(1048576.0), Some(1048576.0)]
        );
        assert_eq!(
            [unit("B", 1000.0), unit("M", 1024.0), unit("kB", 1000.0)],
            [Some(1.0), Some(1048576.0), Some(1000.0)]
        );
        assert_eq!([unit("", 1000.0), unit("bit", 1000.0), unit("octets", 1000.0)], [None; 3]);
    }

    #[test]
    fn whole_numbers_do_not_overflow() {
        assert_eq!(whole("18446744073709551615"), Some(u64::MAX));
        for text in ["18446744073709551616", "", "-1", "1 000", "1.0", "+1"] {
            assert_eq!(whole(text), None, "{text}");
        }
    }
}
