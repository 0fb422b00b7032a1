#include <algorithm>
#include <cmath>

#include <fmt/core.h>

#include "engine/simulator/report/svg.hpp"

namespace weft::simulator::report {

namespace {

constexpr double kWidth = 560, kHeight = 300, kLeft = 58, kRight = 14, kTop = 30, kBottom = 42;

struct Axis {
  double low = 0, high = 1;  // of the values
  double from = 0, to = 1;   // of the picture
  bool logarithmic = false;

  double place(double value) const {
    if (!logarithmic) return from + (value - low) / (high - low) * (to - from);
    value = std::max(value, low);
    return from + std::log(value / low) / std::log(high / low) * (to - from);
  }
};

Axis x_axis(const LinePlot& plot) {
  Axis axis{0, 0, kLeft, kWidth - kRight, plot.log_x};
  bool first = true;
  for (const Line& line : plot.lines) {
    for (const Point& point : line.points) {
      if (plot.log_x && point.x <= 0) continue;
      axis.low = first ? point.x : std::min(axis.low, point.x);
      axis.high = first ? point.x : std::max(axis.high, point.x);
      first = false;
    }
  }
  if (plot.log_x) {
    if (first) axis.low = axis.high = 1;
    axis.low /= 1.15, axis.high *= 1.15;
  } else if (!(axis.high > axis.low)) {
    axis.high = axis.low + 1;
  }
  return axis;
}

Axis y_axis(const LinePlot& plot) {
  Axis axis{0, 0, kHeight - kBottom, kTop, false};
  for (const Line& line : plot.lines) {
    for (const Point& point : line.points) {
      axis.high = std::max(axis.high, point.y);
      axis.low = std::min(axis.low, point.y);
    }
  }
  axis.high *= 1.05;
  axis.low *= 1.05;
  if (plot.y_max) axis.high = *plot.y_max;
  if (!(axis.high > 0)) axis.high = 1;
  return axis;
}

std::string grid(const LinePlot& plot, const Axis& x, const Axis& y) {
  std::string svg;
  double last = -100;
  for (const double tick : ticks(x.low, x.high, 6, x.logarithmic)) {
    const double at = x.place(tick);
    svg += fmt::format("<line class='grid' x1='{0:.1f}' x2='{0:.1f}' y1='{1}' y2='{2}'/>", at, kTop, kHeight - kBottom);
    if (at - last < 34) continue;  // no room for the text
    svg += fmt::format("<text x='{:.1f}' y='{}' text-anchor='middle'>{}</text>", at, kHeight - kBottom + 15, tick_text(tick));
    last = at;
  }
  for (const double tick : ticks(y.low, y.high, 5, false)) {
    const double at = y.place(tick);
    svg += fmt::format("<line class='grid' x1='{1}' x2='{2}' y1='{0:.1f}' y2='{0:.1f}'/>", at, kLeft, kWidth - kRight);
    svg += fmt::format("<text x='{}' y='{:.1f}' text-anchor='end'>{}</text>", kLeft - 6, at + 4, tick_text(tick));
  }
  svg += fmt::format("<text class='label' x='{}' y='{}' text-anchor='middle'>{}</text>", (kLeft + kWidth - kRight) / 2, kHeight - 8,
                     html_escaped(plot.x_label));
  svg += fmt::format("<text class='label' x='{}' y='{}'>{}</text>", kLeft - 46, kTop - 8, html_escaped(plot.y_label));
  return svg;
}

std::string path(const LinePlot& plot, const Line& line, const Axis& x, const Axis& y) {
  std::string d;
  double before = 0;
  for (std::size_t i = 0; i < line.points.size(); ++i) {
    const double px = x.place(line.points[i].x), py = y.place(std::min(line.points[i].y, y.high));
    if (i > 0 && plot.steps) d += fmt::format("L{:.1f} {:.1f}", px, before);
    d += fmt::format("{}{:.1f} {:.1f}", i == 0 ? 'M' : 'L', px, py);
    before = py;
  }
  return fmt::format("<path class='line s{}' d='{}'><title>{}</title></path>", line.series, d, html_escaped(line.name));
}

}  // namespace

std::string LinePlot::svg() const {
  const Axis x = x_axis(*this), y = y_axis(*this);
  std::string out = fmt::format(
      "<figure><svg class='plot' viewBox='0 0 {} {}' data-x='{} {} {} {} {}' data-y='{} {} {} {}' role='img'><title>{}</title>",
      kWidth, kHeight, x.low, x.high, x.from, x.to, x.logarithmic ? 1 : 0, y.low, y.high, y.from, y.to, html_escaped(title));
  out += fmt::format("<text class='title' x='{}' y='14' text-anchor='middle'>{}</text>", kWidth / 2, html_escaped(title));
  out += grid(*this, x, y);
  for (const Line& line : lines) {
    if (!line.points.empty()) out += path(*this, line, x, y);
  }
  out += fmt::format("<line class='cursor' y1='{}' y2='{}'/>", kTop, kHeight - kBottom);
  return out + "</svg></figure>\n";
}

}  // namespace weft::simulator::report
