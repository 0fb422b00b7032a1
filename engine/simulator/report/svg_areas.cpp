#include <algorithm>

#include <fmt/core.h>

#include "engine/simulator/report/svg.hpp"
#include "engine/simulator/report/svg_plot.hpp"

namespace weft::simulator::report {

namespace {

constexpr double kLegendRow = 18;

/// In rows of names, below the plot.
std::string names_of(const std::vector<Layer>& layers, double& bottom) {
  std::string svg;
  double x = kPlotLeft, y = kPlotHeight + 4;
  for (std::size_t i = 0; i < layers.size(); ++i) {
    const double width = 26 + 6.2 * static_cast<double>(layers[i].name.size());
    if (x > kPlotLeft && x + width > kPlotWidth) x = kPlotLeft, y += kLegendRow;
    svg += fmt::format("<rect class='area a{}' x='{:.1f}' y='{:.1f}' width='10' height='10'/>", i, x, y);
    svg += fmt::format("<text x='{:.1f}' y='{:.1f}'>{}</text>", x + 15, y + 9, html_escaped(layers[i].name));
    x += width;
  }
  bottom = y + kLegendRow;
  return svg;
}

}  // namespace

std::string area_chart(std::string_view title, std::string_view y_label, const std::vector<Layer>& layers, double high) {
  const Points& places = layers.front().points;
  const double end = places.empty() ? 0 : places.back().x;
  const Axis x = x_axis(0, end > 0 ? end : 1, false), y = y_axis(0, high > 0 ? high : 1, false);
  std::string areas;
  std::vector<double> below(places.size());
  for (std::size_t i = 0; i < layers.size(); ++i) {
    std::string there, back;
    for (std::size_t k = 0; k < places.size(); ++k) {
      const double px = x.place(places[k].x), top = below[k] + layers[i].points[k].y;
      there += fmt::format("{}{:.1f} {:.1f}", k == 0 ? 'M' : 'L', px, y.place(std::min(top, y.high)));
      back = fmt::format("L{:.1f} {:.1f}", px, y.place(std::min(below[k], y.high))) + back;
      below[k] = top;
    }
    areas += fmt::format("<path class='area a{}' d='{}{}Z'><title>{}</title></path>", i, there, back, html_escaped(layers[i].name));
  }
  double bottom = 0;
  const std::string names = names_of(layers, bottom);
  return fmt::format("<figure><svg viewBox='0 0 {} {}' role='img'><title>{}</title>", kPlotWidth, bottom, html_escaped(title)) +
         plot_frame(title, "time [s]", y_label, x, y) + areas + names + "</svg></figure>\n";
}

std::string scatter_chart(std::string_view title, std::string_view x_label, std::string_view y_label, std::size_t series,
                          const std::vector<Dot>& dots) {
  double low = 0, high = 0;
  for (const Dot& dot : dots) {
    for (const double value : {dot.x, dot.y}) {
      if (value > 0) low = low > 0 ? std::min(low, value) : value;
      high = std::max(high, value);
    }
  }
  if (!(low > 0)) low = high = 1;
  const Axis x = x_axis(low / 1.2, high * 1.2, true), y = y_axis(low / 1.2, high * 1.2, true);
  std::string svg =
      fmt::format("<figure><svg viewBox='0 0 {} {}' role='img'><title>{}</title>", kPlotWidth, kPlotHeight, html_escaped(title));
  svg += plot_frame(title, x_label, y_label, x, y);
  svg +=
      fmt::format("<line class='even' x1='{}' y1='{}' x2='{}' y2='{}'/><g class='dots s{}'>", x.from, y.from, x.to, y.to, series);
  for (const Dot& dot : dots) {
    svg += fmt::format("<circle cx='{:.1f}' cy='{:.1f}' r='3'><title>{}: {:.4g} s, then {:.4g} s</title></circle>", x.place(dot.x),
                       y.place(dot.y), html_escaped(dot.name), dot.x, dot.y);
  }
  return svg + "</g></svg></figure>\n";
}

}  // namespace weft::simulator::report
