#include "weft/detail/quantile_digest.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <utility>

#include "base/hash.hpp"

namespace weft::detail {
namespace {

constexpr std::size_t kTop = 512;  // what the uppermost level holds; each level below two thirds of the one above
constexpr std::size_t kLeast = 8;
constexpr std::size_t kMostLevels = 56;  // together they have room for less than 4 * kTop words
constexpr std::uint64_t kSign = std::uint64_t{1} << 63;

std::uint64_t word_of(double number) {
  if (number != number) number = std::numeric_limits<double>::quiet_NaN();
  const auto bits = std::bit_cast<std::uint64_t>(number + 0.0);  // -0.0 is 0.0
  return (bits & kSign) != 0 ? ~bits : bits | kSign;
}
double number_of(std::uint64_t word) { return std::bit_cast<double>((word & kSign) != 0 ? word ^ kSign : ~word); }

[[noreturn]] void damaged() { throw CodecError("encoded record is damaged or of another type: no sketch of quantiles"); }

}  // namespace

std::size_t QuantileDigest::capacity_of(std::size_t level) const {
  const double share = std::pow(2.0 / 3, static_cast<double>(levels_.size() - 1 - level));
  return std::max(kLeast, static_cast<std::size_t>(kTop * share));
}

void QuantileDigest::set_levels(std::size_t levels) {
  levels_.resize(levels);
  capacity_ = 0;
  for (std::size_t level = 0; level < levels; ++level) capacity_ += capacity_of(level);
}

void QuantileDigest::add(double number) {
  const std::uint64_t word = word_of(number);
  smallest_ = count_ == 0 ? word : std::min(smallest_, word);
  largest_ = std::max(largest_, word);
  if (levels_.empty()) set_levels(1);
  levels_[0].push_back(word);
  ++count_;
  if (++kept_ >= capacity_) compress();
}

void QuantileDigest::merge(const QuantileDigest& other) {
  if (other.count_ == 0) return;
  smallest_ = count_ == 0 ? other.smallest_ : std::min(smallest_, other.smallest_);
  largest_ = std::max(largest_, other.largest_);
  count_ += other.count_;
  kept_ += other.kept_;
  if (levels_.size() < other.levels_.size()) set_levels(other.levels_.size());
  for (std::size_t level = 0; level < other.levels_.size(); ++level)
    levels_[level].insert(levels_[level].end(), other.levels_[level].begin(), other.levels_[level].end());
  if (kept_ >= capacity_) compress();
}

/// Makes room: halves the lowest level that is full, until there is some.
void QuantileDigest::compress() {
  while (kept_ >= capacity_) {
    std::size_t level = 0;
    while (levels_[level].size() < capacity_of(level)) ++level;  // all together are full, so one is
    if (level + 1 == levels_.size()) set_levels(levels_.size() + 1);
    compact(level);
  }
}

void QuantileDigest::compact(std::size_t level) {
  std::vector<std::uint64_t>& from = levels_[level];
  std::vector<std::uint64_t>& into = levels_[level + 1];
  std::ranges::sort(from);
  const bool odd = from.size() % 2 != 0;
  const std::uint64_t left = from.back();
  const std::size_t pairs = from.size() / 2;
  const std::uint64_t coin = mix64(hash_combine(count_ + level, from.front()) ^ from[pairs]) & 1;
  for (std::size_t i = 0; i < pairs; ++i) into.push_back(from[2 * i + coin]);
  from.clear();
  if (odd) from.push_back(left);
  kept_ -= pairs;
}

double QuantileDigest::quantile(double part) const {
  if (part <= 0) return number_of(smallest_);
  if (part >= 1) return number_of(largest_);
  std::vector<std::pair<std::uint64_t, std::uint64_t>> weighted;
  weighted.reserve(kept_);
  for (std::size_t level = 0; level < levels_.size(); ++level)
    for (const std::uint64_t word : levels_[level]) weighted.emplace_back(word, std::uint64_t{1} << level);
  std::ranges::sort(weighted);
  // 0.55 of 100 is 55, though the product of these doubles is a little more.
  constexpr double kRounding = 1 - 4 * std::numeric_limits<double>::epsilon();
  const auto wanted = std::max(1.0, std::ceil(part * static_cast<double>(count_) * kRounding));
  std::uint64_t passed = 0;
  for (const auto& [word, weight] : weighted) {
    passed += weight;
    if (static_cast<double>(passed) >= wanted) return number_of(word);
  }
  return number_of(largest_);
}

std::size_t QuantileDigest::held_bytes() const {
  std::size_t bytes = levels_.capacity() * sizeof(levels_[0]);
  for (const auto& level : levels_) bytes += level.capacity() * sizeof(std::uint64_t);
  return bytes;
}

void QuantileDigest::encode(Encoder& out) const {
  out.append_varint(count_);
  out.append_value(smallest_);
  out.append_value(largest_);
  out.append_varint(levels_.size());
  for (const auto& level : levels_) {
    out.append_varint(level.size());
    out.append(level.data(), level.size() * sizeof(std::uint64_t));
  }
}

QuantileDigest QuantileDigest::decode(Decoder& in) {
  QuantileDigest digest;
  digest.count_ = in.take_varint();
  digest.smallest_ = in.take_value<std::uint64_t>();
  digest.largest_ = in.take_value<std::uint64_t>();
  const std::uint64_t levels = in.take_varint();
  if (levels > kMostLevels) damaged();
  digest.set_levels(levels);
  std::uint64_t count = 0;
  for (std::size_t level = 0; level < levels; ++level) {
    const std::size_t size = in.take_count();
    if (size > 4 * kTop) damaged();
    for (std::size_t i = 0; i < size; ++i) digest.levels_[level].push_back(in.take_value<std::uint64_t>());
    digest.kept_ += size;
    count += std::uint64_t{size} << level;
  }
  if (count != digest.count_) damaged();
  return digest;
}

}  // namespace weft::detail
