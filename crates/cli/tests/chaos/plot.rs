//! Plots lines over the hours of a day as an SVG, without a library.

use std::fmt::Write as _;

/// One line, in its own panel.
pub(crate) struct PlotSeries {
    pub(crate) name: &'static str,
    pub(crate) values: Vec<f64>,
}

const PLOT_WIDTH: f64 = 640.0;
const PLOT_HEIGHT: f64 = 120.0;
const LEFT_MARGIN: f64 = 56.0;
const PLOT_GAP: f64 = 44.0;

/// Plots the panels below one another, with so many values for an hour.
pub(crate) fn plot(panels: &[PlotSeries], hour: usize) -> String {
    let height = panels.len() as f64 * (PLOT_HEIGHT + PLOT_GAP) + 12.0;
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{w:.0}\" height=\"{height:.0}\" font-family=\"sans-serif\" \
         font-size=\"12\">\n<rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n",
        w = PLOT_WIDTH + LEFT_MARGIN + 20.0
    );
    for (at, panel) in panels.iter().enumerate() {
        draw(&mut svg, panel, hour, 28.0 + at as f64 * (PLOT_HEIGHT + PLOT_GAP));
    }
    svg.push_str("</svg>\n");
    svg
}

/// Draws from zero, so that small changes do not look large.
fn draw(svg: &mut String, panel: &PlotSeries, hour: usize, top: f64) {
    let most = panel.values.iter().copied().fold(1.0, f64::max) * 1.1;
    let last = panel.values.len().max(2) - 1;
    let x = |at: usize| LEFT_MARGIN + PLOT_WIDTH * at as f64 / last as f64;
    let y = |value: f64| top + PLOT_HEIGHT * (1.0 - value / most);
    let text = |svg: &mut String, x: f64, y: f64, anchor: &str, words: &str| {
        let _ = writeln!(svg, "<text x=\"{x:.1}\" y=\"{y:.1}\" text-anchor=\"{anchor}\" fill=\"#333\">{words}</text>");
    };
    text(svg, LEFT_MARGIN, top - 8.0, "start", panel.name);
    for share in [0.0, 0.5, 1.0] {
        let value = most / 1.1 * share;
        text(svg, LEFT_MARGIN - 6.0, y(value) + 4.0, "end", &format!("{value:.0}"));
        let _ = writeln!(svg, "<path d=\"M{LEFT_MARGIN} {0:.1}h{PLOT_WIDTH}\" stroke=\"#ddd\"/>", y(value));
    }
    for at in (0..=panel.values.len()).step_by(hour.max(1)) {
        text(svg, x(at.min(last)), top + PLOT_HEIGHT + 16.0, "middle", &format!("{} h", at / hour.max(1)));
    }
    let points: Vec<String> =
        panel.values.iter().enumerate().map(|(at, value)| format!("{:.1},{:.1}", x(at), y(*value))).collect();
    let _ = writeln!(svg, "<polyline points=\"{}\" fill=\"none\" stroke=\"#2563eb\"/>", points.join(" "));
}
