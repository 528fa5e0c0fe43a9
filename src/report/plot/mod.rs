//! Figures as static SVG: one drawing for every format.

mod scale;

use plotters::{
    coord::Shift,
    prelude::{
        Cartesian2d, ChartBuilder, ChartContext, Circle, DrawingArea, IntoDrawingArea, PathElement, Polygon,
        RGBColor, Rectangle, SVGBackend, ShapeStyle, Text,
    },
    style::{
        Color, IntoFont, TextStyle,
        text_anchor::{HPos, Pos, VPos},
    },
};

use crate::findings::{At, Curve, Figure, Point, Style};
use scale::Scale;

/// Width and height; a page shows it smaller or larger.
const SIZE: (u32, u32) = (800, 480);
const FONT: i32 = 30;
/// How wide a letter is, as a share of its height: no font is at hand to ask.
const LETTER: f64 = 0.46;

type Area<'a> = DrawingArea<SVGBackend<'a>, Shift>;
type Chart<'a, 'b> = ChartContext<'a, SVGBackend<'b>, Cartesian2d<Scale, Scale>>;
type Drawn = Result<(), Box<dyn std::error::Error + Send + Sync>>;

/// What is drawn in which colour. While it is drawn a role has a colour that only it has; then its real ones replace that,
/// for light and dark pages.
#[derive(Debug, Clone, Copy)]
enum Role {
    Ink,
    Faint,
    Shade,
    /// The line of a curve, dashed so that it can be told from others in grey.
    Line(usize),
    /// Everything else of a curve.
    Curve(usize),
}

/// Okabe and Ito's colours, which all can tell apart, with brighter ones for dark pages, and how their lines are broken.
const COLOURS: [(&str, &str, &str); 6] = [
    ("#0072B2", "#56B4E9", "none"),
    ("#D55E00", "#FF9D57", "14 6"),
    ("#009E73", "#3CD6A8", "4 5"),
    ("#A8467F", "#E39AC2", "14 5 4 5"),
    ("#8A6A00", "#E6C84C", "20 8"),
    ("#555555", "#BBBBBB", "8 8"),
];

impl Role {
    fn all() -> impl Iterator<Item = Self> {
        let curves = (0..COLOURS.len()).flat_map(|i| [Self::Line(i), Self::Curve(i)]);
        [Self::Ink, Self::Faint, Self::Shade].into_iter().chain(curves)
    }

    fn number(self) -> usize {
        match self {
            Self::Ink => 0,
            Self::Faint => 1,
            Self::Shade => 2,
            Self::Line(i) => 3 + 2 * (i % COLOURS.len()),
            Self::Curve(i) => 4 + 2 * (i % COLOURS.len()),
        }
    }

    fn drawn(self) -> RGBColor {
        RGBColor(self.number() as u8, 0xfe, 0x01)
    }

    /// On light and dark pages.
    fn colours(self) -> (&'static str, &'static str) {
        match self {
            Self::Ink => ("#222222", "#E8E8E8"),
            Self::Faint => ("#D0D0D0", "#4A4A4A"),
            Self::Shade => ("#EEF2F6", "#2A3138"),
            Self::Line(i) | Self::Curve(i) => {
                let (light, dark, _) = COLOURS[i % COLOURS.len()];
                (light, dark)
            }
        }
    }
}

/// The colours on dark pages, for the page that a figure stands in and for a figure alone.
pub fn dark() -> String {
    let rules = Role::all().map(|role| {
        let (n, (_, dark)) = (role.number(), role.colours());
        format!(".f{n}{{fill:{dark}}}.s{n}{{stroke:{dark}}}")
    });
    format!("@media (prefers-color-scheme:dark){{text{{stroke:#17191c}}{}}}", rules.collect::<String>())
}

/// A figure as a file of its own.
pub fn file(figure: &Figure) -> String {
    let style = format!("<style>{}</style>", dark());
    svg(figure, "f").replacen("<title", &format!("{style}<title"), 1)
}

/// A figure as a part of a page, in which `id` is its own.
pub fn svg(figure: &Figure, id: &str) -> String {
    let mut out = String::new();
    if draw(figure, &mut out).is_err() {
        // Drawing into memory fails for figures that hold nonsense only; their text stands for them.
        out = format!("<svg width=\"{}\" height=\"{}\">\n</svg>", SIZE.0, SIZE.1);
    }
    dress(&out, figure, id)
}

/// Real colours, a name and a text for those who can't see it, and a size that follows the page's.
fn dress(drawn: &str, figure: &Figure, id: &str) -> String {
    let (width, height) = SIZE;
    let body = drawn.split_once('>').map_or("", |(_, body)| body);
    let mut body = body.to_owned();
    for role in Role::all() {
        let n = role.number();
        let (light, _) = role.colours();
        let dash = match role {
            Role::Line(i) if COLOURS[i % COLOURS.len()].2 != "none" => {
                format!(" stroke-dasharray=\"{}\"", COLOURS[i % COLOURS.len()].2)
            }
            _ => String::new(),
        };
        let colour = format!("#{n:02X}FE01");
        body = body.replace(&format!("fill=\"{colour}\""), &format!("class=\"f{n}\" fill=\"{light}\""));
        body = body
            .replace(&format!("stroke=\"{colour}\""), &format!("class=\"s{n}\" stroke=\"{light}\"{dash}"));
    }
    // Words stand out from what they stand on.
    let body = body.replace("<text ", "<text paint-order=\"stroke\" stroke=\"#FFFFFF\" stroke-width=\"4\" ");
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" role=\"img\" \
         aria-labelledby=\"{id}-t {id}-d\"><title id=\"{id}-t\">{}</title><desc id=\"{id}-d\">{}</desc>{body}",
        escape(&figure.title),
        escape(&format!("{} {}", figure.text, figure.n)),
    )
}

fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            c if c.is_control() => out.push(' '),
            c => out.push(c),
        }
    }
    out
}

fn words(size: i32, role: Role) -> TextStyle<'static> {
    ("sans-serif", size).into_font().color(&role.drawn())
}

fn stroke(role: Role, width: u32) -> ShapeStyle {
    ShapeStyle { color: role.drawn().to_rgba(), filled: false, stroke_width: width }
}

fn filled(role: Role) -> ShapeStyle {
    ShapeStyle { color: role.drawn().to_rgba(), filled: true, stroke_width: 0 }
}

fn width_of(text: &str, size: i32) -> i32 {
    (text.chars().count() as f64 * f64::from(size) * LETTER) as i32
}

fn draw(figure: &Figure, out: &mut String) -> Drawn {
    let area = SVGBackend::with_string(out, SIZE).into_drawing_area();
    let title = words(
        (SIZE.0 as f64 / (LETTER * figure.title.chars().count().max(1) as f64)).min(FONT as f64) as i32,
        Role::Ink,
    );
    area.draw(&Text::new(figure.title.clone(), (8, 4), title))?;
    area.draw(&Text::new(figure.n.clone(), (8, 8 + FONT), words(FONT * 3 / 4, Role::Ink)))?;
    let top = legend(figure, &area, 2 * FONT + 8)?;
    let (_, area) = area.split_vertically(top);

    let points = || figure.curves.iter().flat_map(|c| &c.points);
    let ends = |p: &Point| p.interval.map_or([p.y, p.y], |(low, high)| [low, high]);
    let marked = |upright: bool| {
        figure.marks.iter().filter_map(move |m| match m.at {
            At::X(x) if upright => Some(x),
            At::Y(y) if !upright => Some(y),
            _ => None,
        })
    };
    let shaded = figure.bands.iter().flat_map(|b| [b.from, b.to]);
    let x = Scale::new(&figure.x, points().map(|p| p.x).chain(marked(true)).chain(shaded), false);
    let ys = points().flat_map(|p| [ends(p)[0], p.y, ends(p)[1]]).chain(marked(false));
    let y = Scale::new(&figure.y, ys, true);
    let widest = y_width(&y);
    let mut chart = ChartBuilder::on(&area)
        .margin_left(4)
        .margin_right(24)
        .margin_top(12)
        .margin_bottom(4)
        .x_label_area_size(if x.label().is_empty() { FONT + 8 } else { 2 * FONT + 14 })
        .y_label_area_size(widest + FONT + 14)
        .build_cartesian_2d(x.clone(), y.clone())?;
    for band in &figure.bands {
        let corners = [(band.from, y.ends().start), (band.to, y.ends().end)];
        chart.draw_series([Rectangle::new(corners, filled(Role::Shade))])?;
    }
    chart
        .configure_mesh()
        .disable_x_mesh()
        .light_line_style(stroke(Role::Faint, 0))
        .bold_line_style(stroke(Role::Faint, 1))
        .axis_style(stroke(Role::Ink, 2))
        .x_labels(32)
        .y_labels(32)
        .x_label_style(words((f64::from(FONT * 7 / 8) * x.squeeze()) as i32, Role::Ink))
        .y_label_style(words(FONT * 7 / 8, Role::Ink))
        .axis_desc_style(words(FONT * 7 / 8, Role::Ink))
        .x_desc(x.label())
        .y_desc(y.label())
        .x_label_formatter(&|v| x.write(*v))
        .y_label_formatter(&|v| y.write(*v))
        .draw()?;
    // At places with names, dots and bars of several curves stand side by side.
    let stands = |c: &&Curve| c.style != Style::Line && !figure.x.names.is_empty();
    let all = figure.curves.iter().filter(stands).count();
    for (i, (curve, look)) in figure.curves.iter().zip(looks(&figure.curves)).enumerate() {
        let before = figure.curves[..i].iter().filter(stands).count();
        one(&mut chart, curve, look, Some((all, before)).filter(|_| stands(&curve)))?;
    }
    marks(&mut chart, figure, &x, &y)?;
    drop(chart);
    area.present()?;
    Ok(())
}

fn y_width(y: &Scale) -> i32 {
    use plotters::coord::ranged1d::{BoldPoints, Ranged};
    y.key_points(BoldPoints(32)).iter().map(|v| width_of(&y.write(*v), FONT)).max().unwrap_or(0)
}

/// Which colour, line and marker each curve has: curves of one name belong together and look alike.
fn looks(curves: &[Curve]) -> Vec<usize> {
    let mut names: Vec<&str> = Vec::new();
    let mut looks = Vec::new();
    for curve in curves {
        let known = names.iter().position(|name| !name.is_empty() && *name == curve.name);
        looks.push(known.unwrap_or(names.len()));
        if known.is_none() {
            names.push(&curve.name);
        }
    }
    looks
}

/// Samples and names of the curves, where there are several; where what follows begins.
fn legend(
    figure: &Figure,
    area: &Area<'_>,
    top: i32,
) -> Result<i32, Box<dyn std::error::Error + Send + Sync>> {
    let (mut x, mut y, mut any) = (8, top, false);
    let looks = looks(&figure.curves);
    for (n, (&i, curve)) in looks.iter().zip(&figure.curves).enumerate() {
        if curve.name.is_empty() || looks[..n].contains(&i) {
            continue;
        }
        let wide = 58 + width_of(&curve.name, FONT * 7 / 8);
        if any && x + wide > SIZE.0 as i32 {
            (x, y) = (8, y + FONT + 4);
        }
        any = true;
        let middle = y + FONT / 2;
        match curve.style {
            Style::Line => {
                area.draw(&PathElement::new(vec![(x, middle), (x + 40, middle)], stroke(Role::Line(i), 3)))?;
            }
            Style::Dots => marker(area, (x + 20, middle), i)?,
            Style::Bars => {
                let corners = [(x + 8, y + 2), (x + 32, y + FONT - 4)];
                area.draw(&Rectangle::new(corners, filled(Role::Curve(i))))?;
            }
        }
        area.draw(&Text::new(curve.name.clone(), (x + 46, y), words(FONT * 7 / 8, Role::Ink)))?;
        x += wide + 12;
    }
    Ok(if any { y + FONT + 4 } else { top })
}

/// A shape of its own for each curve, so that colour isn't needed.
fn marker(area: &Area<'_>, (x, y): (i32, i32), i: usize) -> Drawn {
    let style = filled(Role::Curve(i));
    match i % 4 {
        0 => area.draw(&Circle::new((x, y), 7, style))?,
        1 => area.draw(&Rectangle::new([(x - 6, y - 6), (x + 6, y + 6)], style))?,
        2 => area.draw(&Polygon::new(vec![(x, y - 8), (x + 8, y + 6), (x - 8, y + 6)], style))?,
        _ => area.draw(&Polygon::new(vec![(x, y - 8), (x + 8, y), (x, y + 8), (x - 8, y)], style))?,
    }
    Ok(())
}

/// Draws a curve; `beside` is how many share a place of the axis, and which of them it is.
fn one(chart: &mut Chart<'_, '_>, curve: &Curve, i: usize, beside: Option<(usize, usize)>) -> Drawn {
    let (n, nth) = beside.unwrap_or((1, 0));
    let wide = 0.8 / n as f64;
    let place = |x: f64| x + (nth as f64 - (n - 1) as f64 / 2.0) * wide;
    let zero = 0f64;
    match curve.style {
        Style::Bars => {
            let bar = |p: &Point| {
                let half = wide * 0.45;
                let corners = [(place(p.x) - half, zero), (place(p.x) + half, p.y)];
                Rectangle::new(corners, filled(Role::Curve(i)))
            };
            chart.draw_series(curve.points.iter().map(bar))?;
        }
        Style::Line => {
            let with: Vec<(f64, (f64, f64))> =
                curve.points.iter().filter_map(|p| Some((p.x, p.interval?))).collect();
            let upper = with.iter().map(|(x, (_, high))| (*x, *high));
            let lower = with.iter().rev().map(|(x, (low, _))| (*x, *low));
            let band: Vec<_> = upper.chain(lower).collect();
            if band.len() > 3 {
                let pale = Role::Curve(i).drawn().mix(0.25);
                chart.draw_series([Polygon::new(band, pale)])?;
            }
            let line = curve.points.iter().map(|p| (p.x, p.y)).collect::<Vec<_>>();
            chart.draw_series([PathElement::new(line, stroke(Role::Line(i), 3))])?;
        }
        Style::Dots => {
            let area = chart.plotting_area().strip_coord_spec();
            for p in &curve.points {
                marker(&area, relative(chart, &area, (place(p.x), p.y)), i)?;
            }
        }
    }
    if curve.style != Style::Line {
        let ink = if curve.style == Style::Bars { Role::Ink } else { Role::Curve(i) };
        let whisker = |p: &Point| {
            let (low, high) = p.interval?;
            Some(PathElement::new(vec![(place(p.x), low), (place(p.x), high)], stroke(ink, 3)))
        };
        chart.draw_series(curve.points.iter().filter_map(whisker))?;
    }
    Ok(())
}

/// A point of the chart in the pixels of its area.
fn relative(chart: &Chart<'_, '_>, area: &Area<'_>, at: (f64, f64)) -> (i32, i32) {
    let (x, y) = chart.backend_coord(&at);
    let (left, top) = area.get_base_pixel();
    (x - left, y - top)
}

fn marks(chart: &mut Chart<'_, '_>, figure: &Figure, x: &Scale, y: &Scale) -> Drawn {
    let (x, y) = (x.ends(), y.ends());
    for mark in &figure.marks {
        let ends = match mark.at {
            At::X(at) => vec![(at, y.start), (at, y.end)],
            At::Y(at) => vec![(x.start, at), (x.end, at)],
        };
        chart.draw_series([PathElement::new(ends.clone(), stroke(Role::Ink, 2))])?;
        let area = chart.plotting_area().strip_coord_spec();
        let (width, _) = area.dim_in_pixel();
        let (px, py) = relative(chart, &area, ends[1]);
        let text = width_of(&mark.label, FONT * 3 / 4);
        let (at, pos) = match mark.at {
            // Beside the line, on the side where there is room.
            At::X(_) if px + 8 + text > width as i32 => ((px - 8, 2), Pos::new(HPos::Right, VPos::Top)),
            At::X(_) => ((px + 8, 2), Pos::new(HPos::Left, VPos::Top)),
            // Above the line where another's words stand below.
            At::Y(y) if figure.marks.iter().any(|m| matches!(m.at, At::Y(other) if other < y)) => {
                ((px - 4, py - 4), Pos::new(HPos::Right, VPos::Bottom))
            }
            At::Y(_) => ((px - 4, py + 4), Pos::new(HPos::Right, VPos::Top)),
        };
        area.draw(&Text::new(mark.label.clone(), at, words(FONT * 3 / 4, Role::Ink).pos(pos)))?;
    }
    let area = chart.plotting_area().strip_coord_spec();
    let (tall, high) = (area.dim_in_pixel().1 as i32, FONT * 3 / 4 + 4);
    for band in &figure.bands {
        let left = relative(chart, &area, (band.from, y.start)).0 + 6;
        let right = left + width_of(&band.label, FONT * 3 / 4);
        let lines = figure.marks.iter().filter_map(|m| match m.at {
            At::Y(at) => Some(relative(chart, &area, (x.start, at)).1),
            At::X(_) => None,
        });
        let points = figure.curves.iter().flat_map(|c| &c.points);
        let points = points.map(|p| relative(chart, &area, (p.x, p.y)));
        let beside = points.filter(|(at, _)| (left..right).contains(at)).map(|(_, at)| at);
        let taken: Vec<i32> = beside.chain(lines).collect();
        // Where it covers least, from the bottom up; the top belongs to upright marks.
        let covers = |row: &i32| taken.iter().filter(|at| (row - high - 4..row + 4).contains(*at)).count();
        let rows = [tall - 6, tall * 3 / 4, tall / 2, tall / 4];
        let row = rows.into_iter().min_by_key(covers).unwrap_or(tall - 6);
        let style = words(FONT * 3 / 4, Role::Ink).pos(Pos::new(HPos::Left, VPos::Bottom));
        area.draw(&Text::new(band.label.clone(), (left, row), style))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::findings::{Axis, Band, Mark};

    fn figures() -> impl Strategy<Value = Figure> {
        let number = || prop_oneof![any::<f64>(), 0.0..1e9, Just(0.0)];
        let point = (number(), number(), proptest::option::of((number(), number())))
            .prop_map(|(x, y, interval)| Point { x, y, interval });
        let style = prop_oneof![Just(Style::Line), Just(Style::Dots), Just(Style::Bars)];
        let curve = (".*", style, proptest::collection::vec(point, 0..9))
            .prop_map(|(name, style, points)| Curve { name, style, points });
        let axis = (".*", "B|B/s|s||%", any::<bool>(), proptest::collection::vec(".*", 0..4))
            .prop_map(|(label, unit, log, names)| Axis { label, unit, log, names });
        let mark = (".*", any::<bool>(), number())
            .prop_map(|(label, x, at)| Mark { label, at: if x { At::X(at) } else { At::Y(at) } });
        let band = (".*", number(), number()).prop_map(|(label, from, to)| Band { label, from, to });
        let some = (proptest::collection::vec(mark, 0..3), proptest::collection::vec(band, 0..2));
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

    proptest! {
        #[test]
        fn whatever_it_holds_it_is_drawn(figure in figures()) {
            let drawn = file(&figure);
            prop_assert!(drawn.starts_with("<svg ") && drawn.ends_with("</svg>\n"), "{drawn}");
            prop_assert!(!drawn.contains("FE01") && !drawn.contains("NaN"), "{drawn}");
            prop_assert_eq!(drawn.matches('<').count(), drawn.matches('>').count());
        }
    }
}
