// How large the partitions of a shuffle will be, told before all of its maps have ended (SCache, section 3.2): by regression over
// the maps that have, where keys are hashed; by a sample of the input where they are not.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "base/random.hpp"
#include "schedulers/view/view.hpp"

namespace weft::schedulers {

/// What a map writes for a partition as a line over what it reads: least squares over the maps seen, one line per partition. Where
/// they read too nearly the same for a slope, in proportion to what they read.
class SizeRegression {
 public:
  explicit SizeRegression(std::uint32_t partitions) : partitions_(partitions) {}

  void add(double input_bytes, std::span<const std::uint64_t> sizes);
  std::uint64_t maps() const { return maps_; }
  double mean_input() const { return maps_ == 0 ? 0 : input_ / static_cast<double>(maps_); }
  /// Of a map that reads so much; never negative. 0 before any map was seen.
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

/// Sizes from records drawn of every input partition, each counting for a part of its partition: for range partitioners and those
/// of users, whose maps say nothing about each other.
class SampledSizes {
 public:
  explicit SampledSizes(std::uint32_t partitions, std::uint32_t per_partition = 3)
      : sizes_(partitions), per_partition_(per_partition) {}

  /// How many records to draw of each input partition.
  std::size_t wanted() const { return sizes_.size() * per_partition_; }
  /// `weight`: what the input partition will write, in bytes or records; `drawn`: the partition that each drawn record goes to.
  void add(double weight, std::span<const std::uint32_t> drawn);
  /// The same, of so many records drawn for each partition.
  void add_counted(double weight, std::span<const std::uint32_t> counts);
  double predict(std::uint32_t partition) const { return sizes_.at(partition); }

 private:
  std::vector<double> sizes_;
  std::uint32_t per_partition_;
};

/// Whole sizes of the partitions that the stage writes: what was observed, and what its unfinished maps will add, by regression
/// where keys are hashed. Where a sample tells how all of its input is spread, only the sum is taken from the regression. Nothing
/// before a map has ended, or where nobody reads them any more. Looks at no more than a few million sizes.
std::optional<std::vector<double>> predict_partitions(const StageInfo& stage);

/// |told − true| / true, in the mean over partitions that are not empty; 0 without any.
double mean_relative_error(std::span<const double> told, std::span<const double> actual);

}  // namespace weft::schedulers
