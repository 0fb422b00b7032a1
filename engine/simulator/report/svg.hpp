// Charts as inline SVG. A series has a number N: it is drawn in the N-th colour of the page, and its elements have the class sN, so
// that the page's script can hide and show them.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/simulator/report/statistics.hpp"

namespace weft::simulator::report {

std::string html_escaped(std::string_view text);

/// Round numbers from `low` to `high`, about `wanted` of them; for logarithmic axes 1, 2 and 5 times powers of ten.
std::vector<double> ticks(double low, double high, std::size_t wanted, bool logarithmic);
/// Short: 12k, 3.5M, 0.02.
std::string tick_text(double value);

struct Line {
  std::size_t series = 0;
  std::string name;
  Points points;  // x ascending
};

/// Lines over common axes. Values that a logarithmic axis cannot show are moved to its lower end.
struct LinePlot {
  std::string title, x_label, y_label;
  bool log_x = false;
  bool steps = false;           // a value holds until the next point
  std::optional<double> y_max;  // else from the lines
  std::vector<Line> lines;
  double limit = 0;  // that values cannot exceed, drawn as a dashed line; 0: none
  std::string svg() const;
};

/// Values of several, one upon the other, at the same places.
struct Layer {
  std::string name;
  Points points;
};
/// `high`: the end of the y axis.
std::string area_chart(std::string_view title, std::string_view y_label, const std::vector<Layer>& layers, double high);

struct Dot {
  double x = 0, y = 0;
  std::string name;
};
/// Both axes are logarithmic and alike. Dots below the diagonal are smaller upwards than to the right.
std::string scatter_chart(std::string_view title, std::string_view x_label, std::string_view y_label, std::size_t series,
                          const std::vector<Dot>& dots);

struct Bar {
  std::size_t series = 0;
  std::string name;
  Estimate value;
  std::string label;  // beside the bar
};
/// Horizontal bars from 0, with confidence intervals.
std::string bar_chart(std::string_view title, const std::vector<Bar>& bars);

struct StackedBar {
  std::string name;
  std::vector<double> parts;
};
/// Horizontal bars of parts; `labels` name the parts.
std::string stacked_chart(std::string_view title, std::string_view x_label, const std::vector<std::string>& labels,
                          const std::vector<StackedBar>& bars);

struct Span {
  std::string name;
  double submitted = 0, started = 0, ended = 0;
  bool failed = false;
};
/// A row per job: waiting pale, running full.
std::string timeline_chart(std::string_view title, std::size_t series, double end, const std::vector<Span>& spans);

}  // namespace weft::simulator::report
