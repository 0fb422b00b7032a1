#include <algorithm>

#include <fmt/core.h>

#include "engine/simulator/report/svg.hpp"
#include "engine/simulator/report/svg_plot.hpp"

namespace weft::simulator::report {

namespace {

Axis x_axis_of(const LinePlot& plot) {
  Axis axis = x_axis(0, 0, plot.log_x);
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

Axis y_axis_of(const LinePlot& plot) {
  Axis axis = y_axis(0, 0, false);
  for (const Line& line : plot.lines) {
    for (const Point& point : line.points) {
      axis.high = std::max(axis.high, point.y);
      axis.low = std::min(axis.low, point.y);
    }
  }
  axis.high = 1.05 * std::max(axis.high, plot.limit);
  axis.low *= 1.05;
  if (plot.y_max) axis.high = *plot.y_max;
  if (!(axis.high > 0)) axis.high = 1;
  return axis;
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
  const Axis x = x_axis_of(*this), y = y_axis_of(*this);
  std::string out = fmt::format(
      "<figure><svg class='plot' viewBox='0 0 {} {}' data-x='{} {} {} {} {}' data-y='{} {} {} {}' role='img'><title>{}</title>",
      kPlotWidth, kPlotHeight, x.low, x.high, x.from, x.to, x.logarithmic ? 1 : 0, y.low, y.high, y.from, y.to,
      html_escaped(title));
  out += plot_frame(title, x_label, y_label, x, y);
  for (const Line& line : lines) {
    if (!line.points.empty()) out += path(*this, line, x, y);
  }
  if (limit > 0) {
    out += fmt::format("<line class='limit' x1='{1}' x2='{2}' y1='{0:.1f}' y2='{0:.1f}'><title>limit</title></line>",
                       y.place(limit), x.from, x.to);
  }
  out += fmt::format("<line class='cursor' y1='{}' y2='{}'/>", kPlotTop, kPlotHeight - kPlotBottom);
  return out + "</svg></figure>\n";
}

}  // namespace weft::simulator::report
