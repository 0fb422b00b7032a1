#include <algorithm>

#include <fmt/core.h>

#include "engine/simulator/report/svg.hpp"

namespace weft::simulator::report {

namespace {

constexpr double kBarsWidth = 560, kBarsLeft = 130, kRow = 24, kBarsTop = 30;

std::string begin(std::string_view title, double height) {
  return fmt::format(
      "<figure><svg viewBox='0 0 {0} {1}' role='img'><title>{2}</title><text class='title' x='{3}' y='14' "
      "text-anchor='middle'>{2}</text>",
      kBarsWidth, height, html_escaped(title), kBarsWidth / 2);
}

/// What fits beside a bar.
std::string short_name(std::string_view name) {
  constexpr std::size_t kMost = 20;
  return html_escaped(name.size() <= kMost ? std::string(name) : std::string(name.substr(0, kMost - 1)) + "…");
}

std::string row_name(std::string_view name, double y) {
  return fmt::format("<text x='{}' y='{:.1f}' text-anchor='end'>{}<title>{}</title></text>", kBarsLeft - 6, y + kRow * 0.65,
                     short_name(name), html_escaped(name));
}

/// From 0 to `high`, between `left` and `right`.
std::string x_ticks(double high, double left, double right, double top, double bottom, std::size_t wanted) {
  std::string svg;
  for (const double tick : ticks(0, high, wanted, false)) {
    const double at = left + tick / high * (right - left);
    svg += fmt::format("<line class='grid' x1='{0:.1f}' x2='{0:.1f}' y1='{1}' y2='{2:.1f}'/>", at, top, bottom);
    svg += fmt::format("<text x='{:.1f}' y='{:.1f}' text-anchor='middle'>{}</text>", at, bottom + 15, tick_text(tick));
  }
  return svg;
}

}  // namespace

std::string bar_chart(std::string_view title, const std::vector<Bar>& bars) {
  const double bottom = kBarsTop + kRow * static_cast<double>(bars.size()), right = kBarsWidth - 130;
  double high = 0;
  for (const Bar& bar : bars) high = std::max(high, bar.value.mean + bar.value.half_width);
  if (!(high > 0)) high = 1;
  const auto place = [&](double value) { return kBarsLeft + std::clamp(value / high, 0.0, 1.0) * (right - kBarsLeft); };
  std::string svg = begin(title, bottom + 8);
  for (std::size_t i = 0; i < bars.size(); ++i) {
    const Bar& bar = bars[i];
    const double y = kBarsTop + kRow * static_cast<double>(i);
    svg += fmt::format("<g class='bar s{}'>", bar.series) + row_name(bar.name, y);
    svg += fmt::format("<rect x='{}' y='{:.1f}' width='{:.1f}' height='{}'/>", kBarsLeft, y + 4, place(bar.value.mean) - kBarsLeft,
                       kRow - 8);
    const double low_end = place(bar.value.mean - bar.value.half_width), high_end = place(bar.value.mean + bar.value.half_width);
    if (bar.value.half_width > 0) {
      svg += fmt::format("<path class='interval' d='M{0:.1f} {2:.1f}H{1:.1f}M{0:.1f} {3:.1f}v8M{1:.1f} {3:.1f}v8'/>", low_end,
                         high_end, y + kRow / 2, y + kRow / 2 - 4);
    }
    svg += fmt::format("<text x='{:.1f}' y='{:.1f}'>{}</text></g>", high_end + 6, y + kRow * 0.65, html_escaped(bar.label));
  }
  return svg + "</svg></figure>\n";
}

std::string stacked_chart(std::string_view title, std::string_view x_label, const std::vector<std::string>& labels,
                          const std::vector<StackedBar>& bars) {
  const double bottom = kBarsTop + kRow * static_cast<double>(bars.size()), right = kBarsWidth - 20;
  double high = 0;
  for (const StackedBar& bar : bars) {
    double sum = 0;
    for (const double part : bar.parts) sum += part;
    high = std::max(high, sum);
  }
  if (!(high > 0)) high = 1;
  std::string svg = begin(title, bottom + 64) + x_ticks(high, kBarsLeft, right, kBarsTop - 6, bottom, 5);
  for (std::size_t i = 0; i < bars.size(); ++i) {
    const double y = kBarsTop + kRow * static_cast<double>(i);
    double x = kBarsLeft;
    svg += row_name(bars[i].name, y);
    for (std::size_t part = 0; part < bars[i].parts.size(); ++part) {
      const double width = bars[i].parts[part] / high * (right - kBarsLeft);
      svg += fmt::format("<rect class='part p{}' x='{:.1f}' y='{:.1f}' width='{:.1f}' height='{}'><title>{}: {:.4g}</title></rect>",
                         part, x, y + 3, width, kRow - 6, html_escaped(labels[part]), bars[i].parts[part]);
      x += width;
    }
  }
  svg += fmt::format("<text class='label' x='{}' y='{:.1f}' text-anchor='middle'>{}</text>", (kBarsLeft + right) / 2, bottom + 32,
                     html_escaped(x_label));
  double x = kBarsLeft;
  for (std::size_t part = 0; part < labels.size(); ++part) {
    svg += fmt::format("<rect class='part p{}' x='{:.1f}' y='{:.1f}' width='10' height='10'/>", part, x, bottom + 44);
    svg += fmt::format("<text x='{:.1f}' y='{:.1f}'>{}</text>", x + 15, bottom + 53, html_escaped(labels[part]));
    x += 30 + 7 * static_cast<double>(labels[part].size());
  }
  return svg + "</svg></figure>\n";
}

std::string timeline_chart(std::string_view title, std::size_t series, double end, const std::vector<Span>& spans) {
  const double row = spans.size() > 60 ? 4 : 8, left = 20, right = kBarsWidth - 14,
               bottom = kBarsTop + row * static_cast<double>(spans.size()) + 4;
  if (!(end > 0)) end = 1;
  const auto place = [&](double value) { return left + std::clamp(value / end, 0.0, 1.0) * (right - left); };
  std::string svg = begin(title, bottom + 40) + x_ticks(end, left, right, kBarsTop - 4, bottom, 6);
  svg += fmt::format("<text class='label' x='{}' y='{:.1f}' text-anchor='middle'>time [s]</text>", kBarsWidth / 2, bottom + 33);
  svg += fmt::format("<g class='span s{}'>", series);
  for (std::size_t i = 0; i < spans.size(); ++i) {
    const Span& span = spans[i];
    const double y = kBarsTop + row * static_cast<double>(i), a = place(span.submitted), b = place(span.started),
                 c = place(span.ended);
    svg += fmt::format("<g{}><title>{}: waited {:.1f} s, ran {:.1f} s</title>", span.failed ? " class='failed'" : "",
                       html_escaped(span.name), span.started - span.submitted, span.ended - span.started);
    svg += fmt::format("<rect class='waiting' x='{:.1f}' y='{:.1f}' width='{:.1f}' height='{}'/>", a, y, std::max(0.0, b - a),
                       row - 1);
    svg += fmt::format("<rect x='{:.1f}' y='{:.1f}' width='{:.1f}' height='{}'/></g>", b, y, std::max(0.8, c - b), row - 1);
  }
  return svg + "</g></svg></figure>\n";
}

}  // namespace weft::simulator::report
