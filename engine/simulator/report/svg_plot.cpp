#include "engine/simulator/report/svg_plot.hpp"

#include <algorithm>
#include <cmath>

#include <fmt/core.h>

#include "engine/simulator/report/svg.hpp"

namespace weft::simulator::report {

double Axis::place(double value) const {
  if (!logarithmic) return from + (value - low) / (high - low) * (to - from);
  value = std::max(value, low);
  return from + std::log(value / low) / std::log(high / low) * (to - from);
}

Axis x_axis(double low, double high, bool logarithmic) { return {low, high, kPlotLeft, kPlotWidth - kPlotRight, logarithmic}; }
Axis y_axis(double low, double high, bool logarithmic) { return {low, high, kPlotHeight - kPlotBottom, kPlotTop, logarithmic}; }

std::string plot_frame(std::string_view title, std::string_view x_label, std::string_view y_label, const Axis& x, const Axis& y) {
  std::string svg =
      fmt::format("<text class='title' x='{}' y='14' text-anchor='middle'>{}</text>", kPlotWidth / 2, html_escaped(title));
  double last = -100;
  for (const double tick : ticks(x.low, x.high, 6, x.logarithmic)) {
    const double at = x.place(tick);
    svg += fmt::format("<line class='grid' x1='{0:.1f}' x2='{0:.1f}' y1='{1}' y2='{2}'/>", at, kPlotTop, kPlotHeight - kPlotBottom);
    if (at - last < 34) continue;  // no room for the text
    svg +=
        fmt::format("<text x='{:.1f}' y='{}' text-anchor='middle'>{}</text>", at, kPlotHeight - kPlotBottom + 15, tick_text(tick));
    last = at;
  }
  for (const double tick : ticks(y.low, y.high, 5, y.logarithmic)) {
    const double at = y.place(tick);
    svg += fmt::format("<line class='grid' x1='{1}' x2='{2}' y1='{0:.1f}' y2='{0:.1f}'/>", at, kPlotLeft, kPlotWidth - kPlotRight);
    svg += fmt::format("<text x='{}' y='{:.1f}' text-anchor='end'>{}</text>", kPlotLeft - 6, at + 4, tick_text(tick));
  }
  svg += fmt::format("<text class='label' x='{}' y='{}' text-anchor='middle'>{}</text>", (kPlotLeft + kPlotWidth - kPlotRight) / 2,
                     kPlotHeight - 8, html_escaped(x_label));
  svg += fmt::format("<text class='label' x='{}' y='{}'>{}</text>", kPlotLeft - 46, kPlotTop - 8, html_escaped(y_label));
  return svg;
}

}  // namespace weft::simulator::report
