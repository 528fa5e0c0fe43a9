//! Properties of every figure: it is complete, nothing is outside it, and no text covers another.

use proptest::prelude::*;

use super::{text::Area, *};
use crate::findings::{Axis, Band, Curve, Mark, Style, Unit};

/// A tag of the drawing: its name, its attributes, and the text behind it.
struct Tag<'a> {
    name: &'a str,
    attributes: Vec<(&'a str, &'a str)>,
    text: &'a str,
}

impl Tag<'_> {
    fn get(&self, name: &str) -> Option<&str> {
        self.attributes.iter().find(|(n, _)| *n == name).map(|(_, value)| *value)
    }

    fn number(&self, name: &str) -> f64 {
        self.get(name).and_then(|v| v.parse().ok()).unwrap_or_else(|| panic!("{name} of {}", self.name))
    }
}

/// Every tag that opens an element. Values have no `<`, `>` and `"`: those are escaped.
fn tags(svg: &str) -> Vec<Tag<'_>> {
    let tag = |part| {
        let (inside, text): (&str, &str) = str::split_once(part, '>').expect("a tag ends");
        let (name, mut rest) = inside.split_once(' ').unwrap_or((inside, ""));
        let mut attributes = Vec::new();
        while let Some((name, (value, behind))) =
            rest.split_once("=\"").and_then(|(n, r)| Some((n, r.split_once('"')?)))
        {
            attributes.push((name.trim(), value));
            rest = behind;
        }
        assert!(rest.is_empty(), "{part}");
        Tag { name, attributes, text }
    };
    svg.split('<').skip(1).filter(|part| !part.starts_with('/')).map(tag).collect()
}

/// What a tag covers, strokes and all.
fn area(tag: &Tag<'_>) -> Option<Area> {
    let grown = |points: Vec<(f64, f64)>, by: f64| {
        points.iter().fold(None, |area: Option<Area>, (x, y)| {
            let (left, top, right, bottom) = (x - by, y - by, x + by, y + by);
            let area = area.unwrap_or(Area { left, top, right, bottom });
            Some(Area {
                left: area.left.min(left),
                top: area.top.min(top),
                right: area.right.max(right),
                bottom: area.bottom.max(bottom),
            })
        })
    };
    let parse = |text: &str| text.parse::<f64>().expect("a number");
    match tag.name {
        "text" => {
            let anchor = match tag.get("text-anchor") {
                Some("start") => Anchor::Start,
                Some("middle") => Anchor::Middle,
                _ => Anchor::End,
            };
            let size = tag.number("font-size");
            let text = tag
                .text
                .replace("&lt;", "<")
                .replace("&gt;", ">")
                .replace("&quot;", "\"")
                .replace("&amp;", "&");
            let label = Label { text, size, x: tag.number("x"), top: tag.number("y") - size * 0.8, anchor };
            Some(label.area())
        }
        "rect" if tag.get("x").is_some() => {
            let (x, y) = (tag.number("x"), tag.number("y"));
            grown(vec![(x, y), (x + tag.number("width"), y + tag.number("height"))], 0.0)
        }
        "circle" => grown(vec![(tag.number("cx"), tag.number("cy"))], tag.number("r")),
        "polygon" | "polyline" => {
            let points = tag.get("points")?.split(' ').filter_map(|p| p.split_once(','));
            grown(points.map(|(x, y)| (parse(x), parse(y))).collect(), 1.5)
        }
        "path" => {
            let (mut at, mut points) = ((0.0, 0.0), Vec::new());
            let steps = tag.get("d")?.replace('L', "M");
            let steps =
                ["M", "H", "V", "v"].iter().fold(steps, |all, kind| all.replace(kind, &format!("\n{kind}")));
            for step in steps.lines().skip(1) {
                let (kind, rest) = step.split_at(1);
                at = match kind {
                    "H" => (parse(rest), at.1),
                    "V" => (at.0, parse(rest)),
                    "v" => (at.0, at.1 + parse(rest)),
                    _ => rest.split_once(' ').map(|(x, y)| (parse(x), parse(y))).expect("a point"),
                };
                points.push(at);
            }
            grown(points, 1.5)
        }
        _ => None,
    }
}

/// Whatever is wrong with a drawing.
fn complaints(svg: &str) -> Vec<String> {
    let tags = tags(svg);
    let whole =
        Area { left: 0.0, top: 0.0, right: tags[0].number("width"), bottom: tags[0].number("height") };
    let said = |tag: &Tag<'_>| format!("{} {:?} '{}' {:?}", tag.name, tag.attributes, tag.text, area(tag));
    let outside = |tag: &&Tag<'_>| {
        area(tag).is_some_and(|a| {
            let numbers = [a.left, a.top, whole.right - a.right, whole.bottom - a.bottom];
            !numbers.iter().all(|n| *n >= -0.11)
        })
    };
    let mut complaints: Vec<String> =
        tags.iter().filter(outside).map(|t| format!("outside: {}", said(t))).collect();
    let texts: Vec<&Tag<'_>> = tags.iter().filter(|t| t.name == "text").collect();
    for (i, text) in texts.iter().enumerate() {
        for other in &texts[..i] {
            if let (Some(a), Some(b)) = (area(text), area(other)) {
                // Places are rounded to tenths.
                if a.overlap(&b) > 0.2 * (a.right - a.left) {
                    complaints.push(format!("one on the other: {}, {}", said(text), said(other)));
                }
            }
        }
    }
    complaints
}

fn figures() -> impl Strategy<Value = Figure> {
    let number = || prop_oneof![any::<f64>(), 0.0..1e9, Just(0.0)];
    let point = (number(), number(), proptest::option::of((number(), number())))
        .prop_map(|(x, y, interval)| Point { x, y, interval });
    let style = prop_oneof![Just(Style::Line), Just(Style::Dots), Just(Style::Pieces)];
    let curve = (".*", style, proptest::collection::vec(point, 0..9))
        .prop_map(|(name, style, points)| Curve { name, style, points });
    let units = [Unit::Bytes, Unit::BytesPerSecond, Unit::Seconds, Unit::None].map(Just).to_vec();
    let axis =
        (".*", proptest::strategy::Union::new(units), any::<bool>(), proptest::collection::vec(".*", 0..9))
            .prop_map(|(label, unit, log, names)| Axis { label, unit, log, names });
    let mark = (".*", any::<bool>(), number())
        .prop_map(|(label, x, at)| Mark { label, at: if x { At::X(at) } else { At::Y(at) } });
    let band = (".*", number(), number()).prop_map(|(label, from, to)| Band { label, from, to });
    let some = (proptest::collection::vec(mark, 0..6), proptest::collection::vec(band, 0..3));
    (".*", axis.clone(), axis, proptest::collection::vec(curve, 0..8), some).prop_map(
        |(title, x, y, curves, (marks, bands))| Figure {
            title,
            x,
            y,
            curves,
            marks,
            bands,
            ..Figure::default()
        },
    )
}

/// For a wide and for a narrow page.
fn drawings(figure: &Figure) -> [String; 2] {
    [WIDE, NARROW].map(|width| document(figure, width, "", "f", Markup::default()).into_string())
}

proptest! {
    #[test]
    fn any_figure_is_drawn_inside_without_overlapping_text(figure in figures()) {
        for drawn in drawings(&figure) {
            prop_assert!(drawn.starts_with("<svg ") && drawn.ends_with("</svg>"), "{drawn}");
            prop_assert!(!drawn.contains("NaN") && !drawn.contains("inf\""), "{drawn}");
            prop_assert_eq!(drawn.matches('<').count(), drawn.matches('>').count());
            prop_assert_eq!(complaints(&drawn), Vec::<String>::new());
        }
    }
}

/// The widths of a page's text on a phone, and where the drawing for narrow pages is no longer shown.
const PHONE: f64 = 400.0 - 2.0 * 16.0;
const BREAK: f64 = 32.0 * 16.0 - 2.0 * 16.0;
/// Pixels of a text that can still be read.
const LEGIBLE: f64 = 11.0;

#[test]
fn text_is_legible_on_narrow_and_wide_pages() {
    for figure in crowded() {
        let page = svg(&figure, "f").into_string();
        let drawn = page.split("<svg ").skip(1).map(|part| format!("<svg {part}")).collect::<Vec<_>>();
        for (class, room) in [("figure broad", BREAK), ("figure narrow", PHONE)] {
            let of = drawn.iter().map(|one| tags(one)).find(|tags| tags[0].get("class") == Some(class));
            let of = of.unwrap_or_else(|| panic!("no {class}"));
            let sizes = of.iter().filter(|tag| tag.name == "text").map(|tag| tag.number("font-size"));
            let smallest = sizes.fold(f64::INFINITY, f64::min) * room / of[0].number("width");
            assert!((LEGIBLE..100.0).contains(&smallest), "{class}: {smallest} px");
        }
    }
}

#[test]
fn ticks_that_have_a_value_are_at_equal_distances() {
    let axis = Axis::of("transfer size", Unit::Bytes).log();
    let points = (6..21).map(|e| Point::new(2f64.powi(e), 1e6));
    let curves = vec![Curve::new("", Style::Line, points)];
    for drawn in drawings(&Figure { x: axis, y: Axis::speed(), curves, ..Figure::default() }) {
        let values = tags(&drawn).into_iter().filter(|tag| tag.name == "text" && tag.text.ends_with('B'));
        let at: Vec<f64> = values.map(|tag| tag.number("x")).collect();
        let steps: Vec<f64> = at.windows(2).map(|pair| pair[1] - pair[0]).collect();
        assert!(steps.len() > 1 && steps.iter().all(|step| (step - steps[0]).abs() < 1.0), "{drawn}");
    }
}

/// Figures like those of experiments, with long names and much in one place.
fn crowded() -> Vec<Figure> {
    let name = |i: usize| format!("/srv/dev-disk-by-uuid-4b1c/drive-{i}");
    let points = |f: fn(f64) -> f64| {
        (0..8).map(move |i| Point {
            interval: Some((f(f64::from(i)) * 0.8, f(f64::from(i)) * 1.1)),
            ..Point::new(f64::from(i), f(f64::from(i)))
        })
    };
    let level = |label: &str, at: f64| Mark { label: label.to_owned(), at: At::Y(at) };
    let rising = |i: usize| {
        let points = (6..20).map(|e| Point::new(2f64.powi(e), 1e5 * (f64::from(e) + i as f64)));
        Curve::new(name(i), Style::Line, points)
    };
    let knee = |i: usize| Mark {
        label: format!("knee, {}: 4.{i} KiB", name(i)),
        at: At::X(4096.0 + 300.0 * i as f64),
    };
    let dots = Figure {
        title: "read speed alone and at once".to_owned(),
        n: "3 runs at once, of 95 % intervals".to_owned(),
        x: Axis::named("target", (0..8).map(name)),
        y: Axis::speed(),
        curves: vec![
            Curve::new("alone", Style::Dots, points(|x| 20e6 + x * 1e6)),
            Curve::new("at once", Style::Dots, points(|x| 9e6 + x * 1e5)),
        ],
        marks: vec![
            level("USB 2 bus 1, 35.2 MB/s", 35.2e6),
            level("hub 1.3, 34.9 MB/s", 34.9e6),
            level("network port eth0, about 11.7 MB/s", 11.7e6),
            level("the processor, 11.1 MB/s", 11.1e6),
        ],
        ..Figure::default()
    };
    let lines = Figure {
        title: "speed over transfer size, of a drive with a name that is too long for one line".to_owned(),
        n: "n = 6 repetitions a point".to_owned(),
        x: Axis::of("transfer size", Unit::Bytes).log(),
        y: Axis::speed().log(),
        curves: (0..7).map(rising).collect(),
        marks: (0..4).map(knee).collect(),
        bands: vec![Band { label: "what the estimate uses".to_owned(), from: 65536.0, to: 524288.0 }],
        ..Figure::default()
    };
    vec![dots, lines]
}

#[test]
fn crowded_figures_stay_legible() {
    for figure in crowded() {
        let [drawn, narrow] = drawings(&figure);
        assert_eq!(complaints(&drawn), Vec::<String>::new());
        assert_eq!(complaints(&narrow), Vec::<String>::new());
        let texts: Vec<&str> = tags(&drawn).iter().filter(|t| t.name == "text").map(|t| t.text).collect();
        for mark in &figure.marks {
            assert!(texts.contains(&mark.label.as_str()), "'{}' is left out of {texts:?}", mark.label);
        }
    }
}

#[test]
fn speeds_far_apart_are_shown_as_ratios_and_open_intervals_as_arrows() {
    let figure = |speeds: [f64; 2]| Figure {
        x: Axis::named("", ["a", "b"].map(str::to_owned)),
        y: Axis::speed(),
        curves: vec![Curve::new(
            "",
            Style::Dots,
            (0..).zip(speeds).map(|(x, y)| Point {
                interval: Some((0.9 * y, f64::INFINITY)),
                ..Point::new(f64::from(x), y)
            }),
        )],
        ..Figure::default()
    };
    let ratios = |speeds| {
        let drawn = file(&figure(speeds));
        assert_eq!(complaints(&drawn), Vec::<String>::new());
        let arrows = tags(&drawn).iter().filter(|tag| tag.get("class") == Some("stroke curve c0")).count();
        assert_eq!(arrows, 2, "{drawn}");
        let ticks = tags(&drawn).iter().filter_map(|tag| tag.text.parse::<f64>().ok()).collect::<Vec<_>>();
        !ticks.contains(&0.0)
    };
    assert!(ratios([30e6, 3000e6]) && !ratios([30e6, 100e6]));
}

#[test]
fn names_are_escaped() {
    let hostile = "</text><script>alert(1)</script><!-- & \" ' ]]> \u{1b}[31m\u{0}\u{ffff}";
    let [mut bars, _] = <[Figure; 2]>::try_from(crowded()).expect("two");
    let texts = [&mut bars.title, &mut bars.text, &mut bars.n, &mut bars.x.label, &mut bars.y.label];
    texts.into_iter().chain(&mut bars.x.names).for_each(|text| *text = hostile.to_owned());
    bars.curves.iter_mut().for_each(|c| c.name = hostile.to_owned());
    bars.marks.iter_mut().for_each(|m| m.label = hostile.to_owned());
    bars.bands = vec![Band { label: hostile.to_owned(), from: 1.0, to: 2.0 }];
    let drawn = file(&bars);
    let known = ["svg", "title", "desc", "style", "rect", "text", "path", "polyline", "polygon", "circle"];
    for tag in tags(&drawn) {
        assert!(known.contains(&tag.name), "{} in {drawn}", tag.name);
    }
    assert!(drawn.contains("&lt;script&gt;"));
    assert!(!drawn.contains(|c: char| (c.is_control() && c != '\n') || c == '\u{ffff}'));
    assert_eq!(complaints(&drawn), Vec::<String>::new());
}

#[test]
fn the_same_figure_is_the_same_file() {
    for figure in crowded() {
        assert_eq!(file(&figure), file(&figure.clone()));
    }
}

fn text(drawn: &str, wanted: &str) -> Area {
    let tags = tags(drawn);
    tags.iter()
        .filter(|tag| tag.text == wanted)
        .find_map(area)
        .unwrap_or_else(|| panic!("no {wanted}: {drawn}"))
}

#[test]
fn a_figure_names_its_load_below_its_title() {
    let load = "sequential write, 1 MiB, direct, depth 1";
    let [bars, _] = <[Figure; 2]>::try_from(crowded()).expect("two");
    let drawn = file(&Figure { load: load.to_owned(), title: "a title".to_owned(), ..bars });
    assert!(text(&drawn, "a title").bottom <= text(&drawn, load).top, "{drawn}");
    assert_eq!(complaints(&drawn), Vec::<String>::new());
}

#[test]
fn dots_that_are_near_each_other_are_shown_without_zero_and_others_with() {
    let first = |low: f64| {
        let points = [(0.0, low), (1.0, 2.44e6)].map(|(x, y)| Point::new(x, y));
        let figure = Figure {
            x: Axis::named("", ["a", "b"].map(str::to_owned)),
            y: Axis::speed(),
            curves: vec![Curve::new("", Style::Dots, points)],
            ..Figure::default()
        };
        let drawn = file(&figure);
        assert_eq!(complaints(&drawn), Vec::<String>::new());
        let ticks = tags(&drawn).iter().filter_map(|tag| tag.text.parse::<f64>().ok()).collect::<Vec<_>>();
        ticks.into_iter().fold(f64::INFINITY, f64::min)
    };
    assert!(first(2.42e6) > 0.0);
    assert!(first(2.42e6) <= NEAR_ENOUGH, "a difference of 1 % must not fill the figure");
    assert_eq!(first(0.4e6), 0.0);
}

/// Of 2.44 MB/s, in MB/s.
const NEAR_ENOUGH: f64 = 2.44 * 0.8;

#[test]
fn names_near_the_edge_are_moved_before_they_are_cut() {
    let names =
        ["write, as dd", "write + fsync", "write, direct", "read, cold", "read, again", "read, direct"];
    let points = (0..names.len()).map(|i| Point::new(i as f64, 1e6));
    let figure = Figure {
        x: Axis::named("", names.map(str::to_owned)),
        y: Axis::speed(),
        curves: vec![Curve::new("", Style::Dots, points)],
        ..Figure::default()
    };
    for drawn in drawings(&figure) {
        names.iter().for_each(|name| _ = text(&drawn, name));
        assert_eq!(complaints(&drawn), Vec::<String>::new());
    }
}
