// Predicts the sizes of a shuffle's partitions before all of its maps have ended (SCache, section 3.2): where keys are hashed, by
// regression over the maps that have ended; otherwise by a sample of the input.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "base/random.hpp"
#include "schedulers/view/view.hpp"

namespace weft::schedulers {

/// The bytes that a map writes for a partition as a line over the bytes that it reads: least squares over the maps seen, one line
/// per partition. Where the inputs differ too little for a slope, in proportion to the input.
class SizeRegression {
 public:
  explicit SizeRegression(std::uint32_t partitions) : partitions_(partitions) {}

  void add(double input_bytes, std::span<const std::uint64_t> sizes);
  std::uint64_t maps() const { return maps_; }
  double mean_input() const { return maps_ == 0 ? 0 : input_ / static_cast<double>(maps_); }
  /// Bytes that a map with this input writes for the partition; never negative. 0 before any map was seen.
  double predict(std::uint32_t partition, double input_bytes) const;

 private:
  struct Sums {
    double size = 0, product = 0;  // of sizes; of sizes times inputs
  };
  bool has_slope() const;

  std::vector<Sums> partitions_;
  std::uint64_t maps_ = 0;
  double input_ = 0, squares_ = 0;
};

/// A uniform choice of at most `capacity` of the things seen (Vitter's algorithm R).
template <class T>
class Reservoir {
 public:
  Reservoir(std::size_t capacity, Random random) : capacity_(capacity), random_(random) {}

  void add(T thing) {
    ++seen_;
    if (chosen_.size() < capacity_) {
      chosen_.push_back(std::move(thing));
    } else if (const std::uint64_t at = random_.below(seen_); at < capacity_) {
      chosen_[at] = std::move(thing);
    }
  }
  std::uint64_t seen() const { return seen_; }
  const std::vector<T>& chosen() const { return chosen_; }

 private:
  std::size_t capacity_;
  Random random_;
  std::uint64_t seen_ = 0;
  std::vector<T> chosen_;
};

/// Sizes from records drawn of every input partition, each of which counts for a part of its partition: for range partitioners and
/// those of users, where the output of one map does not predict that of another.
class SampledSizes {
 public:
  explicit SampledSizes(std::uint32_t partitions, std::uint32_t per_partition = 3)
      : sizes_(partitions), per_partition_(per_partition) {}

  /// How many records to draw of each input partition.
  std::size_t wanted() const { return sizes_.size() * per_partition_; }
  /// `weight`: what the input partition will write, in bytes or records; `drawn`: the partition that each drawn record goes to.
  void add(double weight, std::span<const std::uint32_t> drawn);
  /// The same, with the numbers of records drawn for each partition.
  void add_counted(double weight, std::span<const std::uint32_t> counts);
  double predict(std::uint32_t partition) const { return sizes_.at(partition); }

 private:
  std::vector<double> sizes_;
  std::uint32_t per_partition_;
};

/// Whole sizes of the partitions that the stage writes: the observed bytes, and those that unfinished maps will add by regression.
/// Where there is a sample of its input, the sample decides how the sum is spread. Nothing: no map has ended, or no stage reads the
/// partitions any more. Looks at some million sizes at most.
std::optional<std::vector<double>> predict_partitions(const StageInfo& stage);

/// The mean of |predicted − actual| / actual over partitions that are not empty; 0 if all are.
double mean_relative_error(std::span<const double> predicted, std::span<const double> actual);

}  // namespace weft::schedulers
