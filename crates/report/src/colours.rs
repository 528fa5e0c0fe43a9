//! The colours of pages and figures, on light and on dark paper. No other file has colours.

/// A name, and its colour on light and on dark paper.
type Colour = (&'static str, &'static str, &'static str);

const PAGE: [Colour; 10] = [
    ("ink", "#222222", "#E8E8E8"),
    ("soft", "#5A5A5A", "#A8A8A8"),
    ("paper", "#FFFFFF", "#17191C"),
    ("line", "#D0D0D0", "#4A4A4A"),
    ("shade", "#E9EEF4", "#2A3138"),
    ("warn", "#D55E00", "#FF9D57"),
    ("note", "#FFF6E0", "#3A3118"),
    ("code", "#F4F6F8", "#22262B"),
    ("edge", "#A8A8A8", "#3A3E44"),
    ("bar", "#0072B2", "#56B4E9"),
];

/// Okabe and Ito's colours, which people with any colour vision can tell apart, and brighter ones for dark paper.
pub const CURVES: [Colour; 6] = [
    ("c0", "#0072B2", "#56B4E9"),
    ("c1", "#D55E00", "#FF9D57"),
    ("c2", "#009E73", "#3CD6A8"),
    ("c3", "#A8467F", "#E39AC2"),
    ("c4", "#8A6A00", "#E6C84C"),
    ("c5", "#555555", "#BBBBBB"),
];

/// Custom properties for a page, such as `--ink`.
pub fn page() -> String {
    sheet(|of| {
        let all = PAGE.map(|colour| format!("--{}:{};", colour.0, of(&colour)));
        format!(":root{{{}}}", all.concat())
    })
}

/// Classes for figures, such as `ink`, that set `color`. Programs that convert SVG don't know custom properties.
pub fn figure() -> String {
    sheet(|of| {
        let classes = PAGE[..5].iter().chain(&CURVES).map(|c| format!(".figure .{}{{color:{}}}", c.0, of(c)));
        // A halo of paper keeps text legible on whatever it covers.
        format!("{}.figure text{{stroke:{}}}", classes.collect::<String>(), of(&PAGE[2]))
    })
}

fn sheet(rules: impl Fn(fn(&Colour) -> &'static str) -> String) -> String {
    format!("{}@media (prefers-color-scheme:dark){{{}}}", rules(|c| c.1), rules(|c| c.2))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The contrast of two colours as WCAG 2 defines it.
    fn contrast(a: &str, b: &str) -> f64 {
        let luminance = |colour: &str| {
            let part = |at: usize| {
                let c = f64::from(u8::from_str_radix(&colour[at..at + 2], 16).expect("hex")) / 255.0;
                if c <= 0.04045 { c / 12.92 } else { ((c + 0.055) / 1.055).powf(2.4) }
            };
            0.2126 * part(1) + 0.7152 * part(3) + 0.0722 * part(5) + 0.05
        };
        let (a, b) = (luminance(a), luminance(b));
        a.max(b) / a.min(b)
    }

    #[test]
    fn text_and_curves_stand_out_from_the_paper() {
        let paper = PAGE[2];
        for (colour, least) in PAGE[..2].iter().map(|c| (c, 4.5)).chain(CURVES.iter().map(|c| (c, 3.0))) {
            let (light, dark) = (contrast(colour.1, paper.1), contrast(colour.2, paper.2));
            assert!(light >= least && dark >= least, "{colour:?}: {light:.1}, {dark:.1}");
        }
    }
}
