// What plots with two axes share: their size, the places of values, and the grid.
#pragma once

#include <string>
#include <string_view>

namespace weft::simulator::report {

constexpr double kPlotWidth = 560, kPlotHeight = 300, kPlotLeft = 58, kPlotRight = 14, kPlotTop = 30, kPlotBottom = 42;

struct Axis {
  double low = 0, high = 1;  // of the values
  double from = 0, to = 1;   // of the picture
  bool logarithmic = false;

  /// Values that a logarithmic axis cannot show are moved to its lower end.
  double place(double value) const;
};

/// From the left to the right end of a plot, and from its lower to its upper end.
Axis x_axis(double low, double high, bool logarithmic);
Axis y_axis(double low, double high, bool logarithmic);

/// The title, lines and numbers at the ticks of both axes, and their labels.
std::string plot_frame(std::string_view title, std::string_view x_label, std::string_view y_label, const Axis& x, const Axis& y);

}  // namespace weft::simulator::report
