#include "benchmarks/shuffle/timeline_page.hpp"

#include <algorithm>

#include <fmt/core.h>

#include "engine/simulator/report/html_page.hpp"
#include "engine/simulator/report/svg.hpp"

namespace weft::bench {
namespace {

using namespace simulator::report;

struct Quantity {
  const char* name;
  const char* unit;
  double NodeRate::*value;
  double scale;
};
constexpr double kMiB = 1 << 20;
constexpr Quantity kQuantities[] = {{"CPU", "processors", &NodeRate::cpu, 1},
                                    {"Network, in", "MiB/s", &NodeRate::received, 1 / kMiB},
                                    {"Network, out", "MiB/s", &NodeRate::sent, 1 / kMiB},
                                    {"Disk, written", "MiB/s", &NodeRate::disk_written, 1 / kMiB},
                                    {"Disk, read", "MiB/s", &NodeRate::disk_read, 1 / kMiB}};

double seconds(const Timeline& timeline) { return static_cast<double>(timeline.run.ended_ns - timeline.run.began_ns) / 1e9; }

std::vector<Line> lines_of(const Timeline& timeline, const Quantity& quantity, double longest) {
  std::vector<Line> lines;
  for (std::size_t node = 0; node < timeline.samples.size(); ++node) {
    Points points;
    for (const NodeRate& rate : rates(timeline.samples[node], timeline.run.began_ns, timeline.run.ended_ns))
      points.push_back({rate.at, rate.*quantity.value * quantity.scale});
    points = thinned(points);
    if (!points.empty()) points.insert(points.end(), {{seconds(timeline), 0}, {longest, 0}});  // the same axis for all
    lines.push_back({node, fmt::format("node {}", node), std::move(points)});
  }
  return lines;
}

double highest(const std::vector<std::vector<Line>>& all) {
  double top = 0;
  for (const auto& lines : all) {
    for (const Line& line : lines) {
      for (const Point& point : line.points) top = std::max(top, point.y);
    }
  }
  return top > 0 ? 1.05 * top : 1;
}

std::string stages(const Timeline& timeline) {
  std::string text = html_escaped(timeline.mode) + ":";
  for (const ShuffleRun& shuffle : timeline.run.shuffles)
    text += fmt::format(" maps {:.2f} s, reduces {:.2f} s after them.", shuffle.map_seconds, shuffle.reduce_seconds);
  return "<p>" + text + "</p>\n";
}

}  // namespace

std::string timeline_page(const std::string& title, const std::vector<std::pair<std::string, std::string>>& facts,
                          const std::vector<Timeline>& timelines) {
  std::string body = "<h1>" + html_escaped(title) + "</h1><table class='facts'>";
  for (const auto& [label, text] : facts)
    body += fmt::format("<tr><td>{}</td><td>{}</td></tr>", html_escaped(label), html_escaped(text));
  body += "</table>\n<div id='legend'>";
  std::size_t nodes = 0;
  double longest = 0;
  for (const Timeline& timeline : timelines) {
    nodes = std::max(nodes, timeline.samples.size());
    longest = std::max(longest, seconds(timeline));
  }
  for (std::size_t node = 0; node < nodes; ++node)
    body += fmt::format("<label><i style='border-color:var(--c{})'></i>node {}</label>", node % 8, node);
  body += "</div>\n";
  for (const Timeline& timeline : timelines) body += stages(timeline);
  for (const Quantity& quantity : kQuantities) {
    std::vector<std::vector<Line>> all;
    for (const Timeline& timeline : timelines) all.push_back(lines_of(timeline, quantity, longest));
    const double top = highest(all);
    body += fmt::format("<h2>{}</h2><div class='charts'>", quantity.name);
    for (std::size_t i = 0; i < timelines.size(); ++i) {
      body += LinePlot{fmt::format("{}, {}", quantity.name, timelines[i].mode),
                       "seconds since the job was submitted",
                       quantity.unit,
                       false,
                       false,
                       top,
                       std::move(all[i])}
                  .svg();
    }
    body += "</div>\n";
  }
  return html_page(title, body);
}

}  // namespace weft::bench
