#include "benchmarks/papers/experiment.hpp"

#include <algorithm>
#include <filesystem>
#include <future>
#include <thread>

namespace weft::papers {

std::optional<std::string> Context::trace(const std::string& name) const {
  if (traces.empty()) return std::nullopt;
  std::error_code error;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(traces, error)) {
    if (entry.path().filename() == name || entry.path().filename() == name + ".gz") return entry.path();
  }
  return std::nullopt;
}

std::vector<Estimate> Context::over_seeds(const std::function<std::vector<double>(std::uint64_t seed)>& measure) const {
  const std::uint64_t count = quick ? 1 : seeds;
  const std::uint64_t at_once = std::max(1u, std::thread::hardware_concurrency());
  std::vector<std::vector<double>> values;  // by figure, by seed
  for (std::uint64_t first = 1; first <= count; first += at_once) {
    std::vector<std::future<std::vector<double>>> runs;
    for (std::uint64_t seed = first; seed < std::min(first + at_once, count + 1); ++seed)
      runs.push_back(std::async(std::launch::async, measure, seed));
    for (auto& run : runs) {
      const std::vector<double> figures = run.get();
      values.resize(figures.size());
      for (std::size_t i = 0; i < figures.size(); ++i) values[i].push_back(figures[i]);
    }
  }
  std::vector<Estimate> estimates;
  for (const auto& of_figure : values) estimates.push_back(simulator::report::estimate(of_figure));
  return estimates;
}

}  // namespace weft::papers
