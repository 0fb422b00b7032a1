#include "benchmarks/papers/page.hpp"

#include <cmath>
#include <functional>
#include <map>
#include <sstream>
#include <string_view>
#include <utility>

#include <fmt/core.h>

#include "base/file.hpp"
#include "benchmarks/measure.hpp"
#include "engine/simulator/report/svg.hpp"

namespace weft::papers {

namespace {

constexpr double kNone = 1e299;

std::string number_text(double value, Unit unit) {
  switch (unit) {
    case Unit::percent:
      return fmt::format("{:.3g} %", 100 * value);
    case Unit::change:
      return fmt::format("{:+.3g} %", 100 * value);
    case Unit::time:
      return value >= 1000 ? fmt::format("{:.0f} s", value) : fmt::format("{:.4g} s", value);
    case Unit::number:
      break;
  }
  return std::abs(value) >= 1000 ? fmt::format("{:.0f}", value) : fmt::format("{:.4g}", value);
}

/// In a cell of a table, a bar would end it.
std::string cell(std::string text) {
  for (std::size_t at = 0; (at = text.find('|', at)) != std::string::npos; at += 2) text.replace(at, 1, "\\|");
  return text;
}

constexpr std::string_view kSectionMark = "\n## ";

/// What stands behind the mark: "ID: title" and the rest, to the end of its last line.
std::string section(const Done& done, const Context& context) {
  const Experiment& what = *done.experiment;
  std::string text = fmt::format("{}: {}\n\nSource: {}. Setting: {}.\n", what.id, what.title, what.source, what.setting);
  if (context.seeds != Context{}.seeds) text += fmt::format("Random figures: {} seeds.\n", context.seeds);
  if (!done.findings.remark.empty()) text += fmt::format("{}\n", done.findings.remark);
  if (!done.findings.missing.empty()) text += fmt::format("\nNot measured: {}.\n", done.findings.missing);
  if (!done.findings.figures.empty()) text += "\n| figure | published | measured | band | verdict |\n|---|---|---|---|---|\n";
  for (const Figure& figure : done.findings.figures) {
    text += fmt::format("| {} | {} | {} | {} | {} |\n", cell(figure.what), cell(figure.published), measured_text(figure),
                        band_text(figure), cell(verdict(figure)));
  }
  for (const Chart& chart : done.findings.charts) text += fmt::format("\n![{}](papers/{})\n", chart.title, chart.file);
  return text;
}

/// Sections of a page by the ids of their experiments.
std::map<std::string, std::string, std::less<>> sections_of(std::string_view page) {
  std::map<std::string, std::string, std::less<>> sections;
  for (std::size_t at = page.find(kSectionMark); at != page.npos;) {
    const std::size_t next = page.find(kSectionMark, at + 1);
    const std::string_view text = page.substr(at + kSectionMark.size(), next == page.npos ? next : next - at - kSectionMark.size());
    sections.emplace(text.substr(0, text.find(':')), text);
    at = next;
  }
  return sections;
}

constexpr const char* kStyle =
    "<style>text{font:11px sans-serif;fill:#333}.title{font-weight:600;font-size:13px}.grid{stroke:#ddd}.line{fill:none;"
    "stroke-width:1.7}.s0{stroke:#0072b2}.s1{stroke:#d55e00}.s2{stroke:#009e73}.s3{stroke:#cc79a7}.s4{stroke:#e69f00}"
    ".s5{stroke:#56b4e9}.published{stroke-dasharray:5 4}</style>";

std::string legend(const std::vector<Curve>& curves) {
  std::string text;
  for (std::size_t i = 0; i < curves.size(); ++i) {
    const double y = 44 + 15 * static_cast<double>(i);
    text += fmt::format("<line class='line s{0}{1}' x1='392' x2='416' y1='{2}' y2='{2}'/><text x='422' y='{3}'>{4}</text>", i / 2,
                        curves[i].published ? " published" : "", y, y + 4, simulator::report::html_escaped(curves[i].name));
  }
  return text;
}

}  // namespace

Tally tally(const std::vector<Done>& all) {
  Tally tally;
  for (const Done& done : all) {
    tally.missing += done.findings.missing.empty() ? 0 : 1;
    for (const Figure& figure : done.findings.figures) {
      ++tally.figures;
      if (figure.in_band()) continue;
      ++(figure.good() ? tally.outside : tally.missed);
    }
  }
  return tally;
}

std::string Tally::text() const {
  return fmt::format("{} figures, {} outside their bands for a known reason, {} missed; {} experiments not measured", figures,
                     outside, missed, missing);
}

std::string verdict(const Figure& figure) {
  if (figure.band.low < -kNone && figure.band.high > kNone) return "for information";
  if (figure.in_band()) return "in band";
  return figure.reason.empty() ? "MISSED" : "outside: " + figure.reason;
}

std::string measured_text(const Figure& figure) {
  std::string text = number_text(figure.measured.mean, figure.unit);
  if (figure.measured.half_width > 0) {
    const bool part = figure.unit == Unit::percent || figure.unit == Unit::change;
    text += fmt::format(" ± {:.2g}", figure.measured.half_width * (part ? 100 : 1));
  }
  return text;
}

std::string band_text(const Figure& figure) {
  const auto [low, high] = figure.band;
  if (low < -kNone && high > kNone) return "no band";
  if (low < -kNone) return "at most " + number_text(high, figure.unit);
  if (high > kNone) return "at least " + number_text(low, figure.unit);
  if (high - low < 1e-6) return "exactly " + number_text((low + high) / 2, figure.unit);
  return number_text(low, figure.unit) + " to " + number_text(high, figure.unit);
}

std::string lines(const Done& done, bool quick) {
  const Experiment& what = *done.experiment;
  std::string text = fmt::format("{}: {} ({})\n  setting: {}\n", what.id, what.title, what.source, what.setting);
  if (quick && !what.quick.empty()) text += fmt::format("  quick: {}\n", what.quick);
  if (!done.findings.missing.empty()) text += fmt::format("  {:6} not measured: {}\n", what.id, done.findings.missing);
  for (const Figure& figure : done.findings.figures) {
    text += fmt::format("  {:6} {:56} published {:34} measured {:18} band {:22} {}\n", what.id, figure.what, figure.published,
                        measured_text(figure), band_text(figure), verdict(figure));
  }
  if (!done.findings.remark.empty()) text += "  " + done.findings.remark + "\n";
  return text;
}

std::string page(const std::vector<std::string>& ids, const std::vector<Done>& done, const std::string& earlier,
                 const Context& context) {
  std::map<std::string, std::string, std::less<>> sections = sections_of(earlier);
  for (const Done& one : done) sections[one.experiment->id] = section(one, context);
  std::string text = fmt::format(
      "# Published results\n\nWhat papers report of the schedulers and of the shuffle that weft has, and what weft measures.\n"
      "`scripts/papers` runs everything and writes this page, with `--only ID --write` one experiment's section;\n"
      "`scripts/papers --help` has all options. Most experiments run in the simulator, with the very schedulers of a cluster. The\n"
      "testbeds of the papers cannot be rebuilt, so the bands hold ratios rather than times; they are ours. Figures of random\n"
      "experiments are means over {} seeds, or as many as the section says, ± half the 95 % confidence interval. A figure outside\n"
      "its band says why.\n\n"
      "Where a scheduler's default is not the published rule, the rows of its paper run with the latter: `shufflewatcher`, "
      "`carbyne`,\n"
      "`tetris` and `reverse_adaptive` with `mode=paper`, `delay` with the times or skips that the paper names (which mean\n"
      "`mode=paper`), RAS with slots on nodes, as under `ras(mode=paper)`, and Adaptive as `adaptive(order=need, late=first, "
      "reserve=0)`.\n"
      "Figures of AD-1 and AD-2 are also of `adaptive(rest=even)`, which has the nearest goal first\n"
      "([schedulers.md](schedulers.md#defaults-and-published-rules)).\n",
      Context{}.seeds);
  for (const std::string& id : ids) {
    if (const auto found = sections.find(id); found != sections.end()) text.append(kSectionMark).append(found->second);
  }
  return text;
}

Chart line_chart(std::string file, std::string title, std::string x_label, std::string y_label, const std::vector<Curve>& curves) {
  simulator::report::LinePlot plot;
  plot.title = title;
  plot.x_label = std::move(x_label);
  plot.y_label = std::move(y_label);
  std::size_t colour = 0;  // a published curve has that of ours, which comes next
  for (const Curve& curve : curves) plot.lines.push_back({curve.published ? colour : colour++, curve.name, curve.points});
  std::string svg = plot.svg();  // made for a page that has styles and a script
  const auto replace = [&svg](std::string_view what, const std::string& by) {
    if (const auto at = svg.find(what); at != std::string::npos) svg.replace(at, what.size(), by);
  };
  replace("<figure><svg class='plot'", "<svg xmlns='http://www.w3.org/2000/svg' width='640'");
  replace("</title>", std::string("</title>") + kStyle + "<rect width='100%' height='100%' fill='#fff'/>");
  for (std::size_t i = 0, from = 0; i < curves.size(); ++i) {
    from = svg.find("<path class='line s", from) + 18;
    if (curves[i].published) svg.insert(svg.find('\'', from), " published");
  }
  const auto cursor = svg.find("<line class='cursor'");
  svg.erase(cursor);
  return {std::move(file), std::move(title), svg + legend(curves) + "</svg>\n"};
}

std::vector<std::vector<double>> published(const std::string& name) {
  std::istringstream text(bench::need(read_file(std::string(WEFT_PUBLISHED) + "/" + name)));
  std::vector<std::vector<double>> rows;
  bool headings = true;
  for (std::string line; std::getline(text, line);) {
    if (line.empty() || line.front() == '#') continue;
    if (std::exchange(headings, false)) continue;
    std::istringstream fields(line);
    auto& row = rows.emplace_back();
    for (std::string field; std::getline(fields, field, ',');) row.push_back(std::stod(field));
  }
  return rows;
}

}  // namespace weft::papers
