#include "schedulers/prediction/size_prediction.hpp"

#include <algorithm>
#include <cmath>

namespace weft::schedulers {

namespace {

/// Least deviation of inputs, as a part of their mean, for which a slope is computed.
constexpr double kLeastSpread = 0.05;
/// Sizes looked at for one prediction; in larger shuffles, those of evenly spaced maps.
constexpr std::uint64_t kMostSizes = 4'000'000;
constexpr std::uint64_t kFewestMaps = 16;

/// Bytes. 0: not known yet, because the task reads a shuffle.
double input_of(const TaskInfo& task) { return static_cast<double>(task.input_bytes); }

SizeRegression regression_of(const StageInfo& stage) {
  const ShuffleSizes& output = stage.output;
  SizeRegression regression(output.partitions());
  const std::uint64_t most = std::max(kFewestMaps, kMostSizes / std::max(1u, output.partitions()));
  const std::uint64_t stride = (output.finished_maps() + most - 1) / most;
  std::vector<std::uint64_t> sizes(output.partitions());
  std::uint64_t seen = 0;
  for (std::uint32_t map = 0; map < output.maps(); ++map) {
    if (!output.location(map) || seen++ % stride != 0) continue;
    for (std::uint32_t i = 0; i < output.partitions(); ++i) sizes[i] = output.size(map, i);
    regression.add(input_of(stage.tasks[map]), sizes);
  }
  return regression;
}

/// Gives each partition its part of `total`, and at least the bytes that it has.
void spread_out(const std::vector<std::uint32_t>& spread, double total, std::vector<double>& sizes) {
  SampledSizes sampled(static_cast<std::uint32_t>(sizes.size()));
  sampled.add_counted(total, spread);
  for (std::uint32_t i = 0; i < sizes.size(); ++i) sizes[i] = std::max(sizes[i], sampled.predict(i));
}

}  // namespace

void SizeRegression::add(double input_bytes, std::span<const std::uint64_t> sizes) {
  ++maps_;
  input_ += input_bytes;
  squares_ += input_bytes * input_bytes;
  for (std::size_t i = 0; i < std::min(sizes.size(), partitions_.size()); ++i) {
    const auto size = static_cast<double>(sizes[i]);
    partitions_[i].size += size;
    partitions_[i].product += size * input_bytes;
  }
}

bool SizeRegression::has_slope() const {
  if (maps_ < 3) return false;
  const double mean = mean_input();
  const double variance = squares_ / static_cast<double>(maps_) - mean * mean;
  return variance > kLeastSpread * kLeastSpread * mean * mean;
}

double SizeRegression::predict(std::uint32_t partition, double input_bytes) const {
  if (maps_ == 0) return 0;
  const Sums& sums = partitions_.at(partition);
  const auto count = static_cast<double>(maps_);
  if (!has_slope()) return input_ > 0 ? sums.size / input_ * input_bytes : sums.size / count;
  const double slope = (count * sums.product - input_ * sums.size) / (count * squares_ - input_ * input_);
  const double at_zero = (sums.size - slope * input_) / count;
  return std::max(0.0, at_zero + slope * input_bytes);
}

void SampledSizes::add(double weight, std::span<const std::uint32_t> drawn) {
  for (std::uint32_t partition : drawn) sizes_.at(partition) += weight / static_cast<double>(drawn.size());
}

void SampledSizes::add_counted(double weight, std::span<const std::uint32_t> counts) {
  std::uint64_t drawn = 0;
  for (std::uint32_t count : counts) drawn += count;
  if (drawn == 0) return;
  for (std::size_t i = 0; i < std::min(sizes_.size(), counts.size()); ++i)
    sizes_[i] += weight * static_cast<double>(counts[i]) / static_cast<double>(drawn);
}

std::optional<std::vector<double>> predict_partitions(const StageInfo& stage) {
  const ShuffleSizes& output = stage.output;
  if (output.finished_maps() == 0 || output.maps() != stage.tasks.size()) return std::nullopt;
  std::vector<double> sizes(output.partitions());
  for (std::uint32_t i = 0; i < output.partitions(); ++i) sizes[i] = static_cast<double>(output.partition_bytes(i));
  if (output.finished_maps() == output.maps()) return sizes;
  const SizeRegression regression = regression_of(stage);
  // On a line, maps together write as much as the same number of maps with the mean input.
  double input = 0;
  const std::uint32_t left = output.maps() - output.finished_maps();
  for (std::uint32_t map = 0; map < output.maps(); ++map) {
    if (output.location(map)) continue;
    const double known = input_of(stage.tasks[map]);
    input += known > 0 ? known : regression.mean_input();
  }
  double added = 0;
  for (std::uint32_t i = 0; i < output.partitions(); ++i) {
    const double more = left * regression.predict(i, input / left);
    added += more;
    if (stage.sample_histogram.empty()) sizes[i] += more;
  }
  if (!stage.sample_histogram.empty()) spread_out(stage.sample_histogram, static_cast<double>(output.total_bytes()) + added, sizes);
  return sizes;
}

double mean_relative_error(std::span<const double> predicted, std::span<const double> actual) {
  double sum = 0;
  std::size_t count = 0;
  for (std::size_t i = 0; i < std::min(predicted.size(), actual.size()); ++i) {
    if (actual[i] <= 0) continue;
    sum += std::abs(predicted[i] - actual[i]) / actual[i];
    ++count;
  }
  return count == 0 ? 0 : sum / static_cast<double>(count);
}

}  // namespace weft::schedulers
