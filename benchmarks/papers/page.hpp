// Results for readers: lines for a terminal, a page of Markdown, and pictures that stand alone.
#pragma once

#include <string>
#include <vector>

#include "benchmarks/papers/experiment.hpp"

namespace weft::papers {

struct Done {
  const Experiment* experiment = nullptr;
  Findings findings;
};

struct Tally {
  std::size_t figures = 0, outside = 0, missed = 0, missing = 0;  // outside: for a known reason; missing: experiments

  std::string text() const;
  /// Of the program: 1 when a figure misses its band and nobody knows why.
  int exit_status() const { return missed == 0 ? 0 : 1; }
};
Tally tally(const std::vector<Done>& all);

/// "in band", "outside, because …", "MISSED".
std::string verdict(const Figure& figure);
/// "12.3 % ± 0.4", "−5.0 %".
std::string measured_text(const Figure& figure);
std::string band_text(const Figure& figure);

/// What the terminal shows of one experiment.
std::string lines(const Done& done, bool quick);
/// docs/papers.md with the experiments of `ids` in their order. Those that are not among `done` keep the sections that `earlier`, a
/// page written before, has of them.
std::string page(const std::vector<std::string>& ids, const std::vector<Done>& done, const std::string& earlier,
                 const Context& context);

/// A line of a picture; those that were published are dashed.
struct Curve {
  std::string name;
  simulator::report::Points points;  // x ascending
  bool published = false;
};
Chart line_chart(std::string file, std::string title, std::string x_label, std::string y_label, const std::vector<Curve>& curves);

/// Published figures: columns of numbers behind a line of headings; lines that begin with # say where they come from.
std::vector<std::vector<double>> published(const std::string& name);

}  // namespace weft::papers
