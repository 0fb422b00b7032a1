#include <algorithm>
#include <cmath>

#include <fmt/core.h>

#include "engine/simulator/report/svg.hpp"

namespace weft::simulator::report {

std::string html_escaped(std::string_view text) {
  std::string out;
  for (const char c : text) {
    switch (c) {
      case '&':
        out += "&amp;";
        break;
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      case '"':
        out += "&quot;";
        break;
      default:
        out += static_cast<unsigned char>(c) < 0x20 ? ' ' : c;
    }
  }
  return out;
}

std::vector<double> ticks(double low, double high, std::size_t wanted, bool logarithmic) {
  std::vector<double> result;
  if (logarithmic) {
    const int first = static_cast<int>(std::floor(std::log10(low))), last = static_cast<int>(std::ceil(std::log10(high)));
    const bool decades_only = last - first > 4;
    const int every = std::max(1, (last - first) / 8);
    for (int exponent = first; exponent <= last; exponent += decades_only ? every : 1) {
      for (const double factor : {1.0, 2.0, 5.0}) {
        const double value = factor * std::pow(10, exponent);
        if (value >= low * 0.999 && value <= high * 1.001 && (factor == 1 || !decades_only)) result.push_back(value);
      }
    }
    if (result.size() >= 3) return result;
    result.clear();  // less than a decade: even steps say more
  }
  if (!(high > low)) return {low};
  const double rough = (high - low) / static_cast<double>(std::max<std::size_t>(wanted, 1));
  const double magnitude = std::pow(10, std::floor(std::log10(rough)));
  double step = magnitude * 10;
  for (const double factor : {1.0, 2.0, 2.5, 5.0}) {
    if (factor * magnitude >= rough * 0.999) {
      step = factor * magnitude;
      break;
    }
  }
  for (double value = std::ceil(low / step - 1e-9) * step; value <= high + step * 1e-6; value += step) {
    result.push_back(std::abs(value) < step * 1e-6 ? 0 : value);
  }
  return result;
}

std::string tick_text(double value) {
  const double size = std::abs(value);
  if (size >= 1e9) return fmt::format("{:.3g}G", value / 1e9);
  if (size >= 1e6) return fmt::format("{:.3g}M", value / 1e6);
  if (size >= 1e4) return fmt::format("{:.3g}k", value / 1e3);
  return fmt::format("{:.4g}", value);
}

}  // namespace weft::simulator::report
