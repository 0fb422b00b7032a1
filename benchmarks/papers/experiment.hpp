// What `papers` is made of: experiments of published work, measured with the schedulers and the simulator that weft itself uses,
// and their figures next to those that the papers give. Plain values; page.hpp shows them.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "engine/simulator/report/statistics.hpp"

namespace weft::papers {

using simulator::report::Estimate;

/// What is measured, and how large.
struct Context {
  bool simulated = false;   // nothing is run on real workers
  bool quick = false;       // one seed and less work: each experiment says what is smaller
  bool whole = false;       // also what takes many minutes
  std::uint32_t seeds = 3;  // of experiments that are random
  std::string traces;       // a directory with the public traces; empty: none are there
  std::string programs;     // the directory of weft and the job programs

  /// Finds the file, compressed or not, anywhere below `traces`.
  std::optional<std::string> trace(const std::string& name) const;
  /// What `measure` finds with each seed, in the mean: one estimate for each of its figures. Seeds run side by side.
  std::vector<Estimate> over_seeds(const std::function<std::vector<double>(std::uint64_t seed)>& measure) const;
};

enum class Unit : std::uint8_t { number, percent, change, time };  // change: a percentage with its sign

/// Where a measured mean must lie, both ends included.
struct Band {
  double low = -1e300, high = 1e300;
};
constexpr Band exactly(double value) { return {value - 1e-9, value + 1e-9}; }
constexpr Band at_least(double low) { return {low, 1e300}; }
constexpr Band at_most(double high) { return {-1e300, high}; }

struct Figure {
  std::string what;       // "locality, waits of 5 s"
  std::string published;  // as the source gives it
  Estimate measured;
  Unit unit = Unit::number;
  Band band;
  std::string reason{};  // why it misses its band, where it does and that is understood

  bool in_band() const { return measured.mean >= band.low && measured.mean <= band.high; }
  bool good() const { return in_band() || !reason.empty(); }
};

/// A picture beside the table.
struct Chart {
  std::string file;  // "delay.svg"
  std::string title, svg;
};

struct Findings {
  std::vector<Figure> figures;
  std::vector<Chart> charts{};
  std::string remark{};   // what a reader should know of them
  std::string missing{};  // why nothing was measured: no figures then
};

struct Experiment {
  std::string id;       // "BS-5"
  std::string title;    // what is claimed, in a few words
  std::string source;   // the publication
  std::string setting;  // cluster, workload, schedulers
  std::string quick;    // what is smaller with --quick; empty: nothing
  std::function<Findings(const Context&)> measure;
};

inline Estimate single(double value) { return {value, 0, 1}; }

// One source file each.
std::vector<Experiment> baseline_experiments();
std::vector<Experiment> delay_experiments();
std::vector<Experiment> cogrs_experiments();
std::vector<Experiment> carbyne_experiments();
std::vector<Experiment> carbyne_altruism_experiments();
std::vector<Experiment> resource_aware_experiments();
std::vector<Experiment> shared_cluster_experiments();
std::vector<Experiment> placement_time_experiments();
std::vector<Experiment> scache_placing_experiments();
std::vector<Experiment> scache_experiments();
std::vector<Experiment> scache_real_experiments();
std::vector<Experiment> adaptive_experiments();
std::vector<Experiment> adaptive_affinity_experiments();
std::vector<Experiment> shufflewatcher_experiments();
std::vector<Experiment> loader_experiments();

}  // namespace weft::papers
