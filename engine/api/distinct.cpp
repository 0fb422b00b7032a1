#include "weft/detail/distinct.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

#include "base/key_hash.hpp"
#include "runtime/operators/fault.hpp"

namespace weft::detail {
namespace {

constexpr std::uint64_t kFew = 8;  // values that are looked through without a table
constexpr std::uint64_t kMostBytes = std::numeric_limits<std::uint32_t>::max() - 1;

constexpr unsigned kIndexBits = 12;
constexpr std::size_t kRegisters = std::size_t{1} << kIndexBits;
constexpr unsigned kRankBits = 64 - kIndexBits;
constexpr std::size_t kExact = 256;

[[noreturn]] void damaged() { throw CodecError("encoded record is damaged or of another type: no set of values"); }

/// Sums of the estimator, as in the paper.
double sigma(double x) {
  if (x == 1) return std::numeric_limits<double>::infinity();
  double before = 0, sum = x;
  for (double y = 1; sum != before; y += y) {
    x *= x;
    before = sum;
    sum += x * y;
  }
  return sum;
}
double tau(double x) {
  if (x == 0 || x == 1) return 0;
  double before = 0, sum = 1 - x;
  for (double y = 0.5; sum != before; y *= 0.5) {
    x = std::sqrt(x);
    before = sum;
    sum -= (1 - x) * (1 - x) * y;
  }
  return sum / 3;
}

}  // namespace

ByteView ValueSet::value_at(std::size_t& at) const {
  std::size_t size = 0;
  for (unsigned shift = 0;; shift += 7) {
    const auto byte = static_cast<std::size_t>(bytes_[at++]);
    size |= (byte & 0x7f) << shift;
    if (byte < 0x80) break;
  }
  const ByteView value(bytes_.data() + at, size);
  at += size;
  return value;
}

void ValueSet::append(ByteView value) {
  if (bytes_.size() + value.size() + 10 > kMostBytes)
    throw runtime::TaskError{
        Error(Code::resource_exhausted,
              "count_distinct: the different values of one result take more than 4 GiB; approx_count_distinct() takes 4 KiB")};
  std::size_t size = value.size();
  for (; size >= 0x80; size >>= 7) bytes_.push_back(static_cast<std::byte>(size | 0x80));
  bytes_.push_back(static_cast<std::byte>(size));
  bytes_.insert(bytes_.end(), value.begin(), value.end());
  ++count_;
}

void ValueSet::put_into_slot(std::uint32_t at, std::uint64_t hash) {
  const std::size_t mask = slots_.size() - 1;
  std::size_t slot = hash & mask;
  while (slots_[slot] != 0) slot = (slot + 1) & mask;
  slots_[slot] = at + 1;
}

void ValueSet::grow_slots() {
  const std::size_t wanted = std::bit_ceil(count_ * 2);  // at most three quarters are used, see add()
  slots_.clear();
  slots_.shrink_to_fit();
  slots_.resize(wanted);
  for (std::size_t at = 0; at < bytes_.size();) {
    const auto begin = static_cast<std::uint32_t>(at);
    put_into_slot(begin, hash_key_bytes(value_at(at)));
  }
}

void ValueSet::add(ByteView value) {
  if (count_ <= kFew && slots_.empty()) {
    for (std::size_t at = 0; at < bytes_.size();)
      if (std::ranges::equal(value_at(at), value)) return;
    return append(value);
  }
  if ((count_ + 1) * 4 > slots_.size() * 3) grow_slots();
  const std::uint64_t hash = hash_key_bytes(value);
  const std::size_t mask = slots_.size() - 1;
  for (std::size_t slot = hash & mask; slots_[slot] != 0; slot = (slot + 1) & mask) {
    std::size_t at = slots_[slot] - 1;
    if (std::ranges::equal(value_at(at), value)) return;
  }
  const auto at = static_cast<std::uint32_t>(bytes_.size());
  append(value);
  put_into_slot(at, hash);
}

void ValueSet::merge(const ValueSet& other) {
  for (std::size_t at = 0; at < other.bytes_.size();) add(other.value_at(at));
}

void ValueSet::encode(Encoder& out) const {
  out.append_varint(count_);
  out.append_varint(bytes_.size());
  out.append(bytes_.data(), bytes_.size());
}

ValueSet ValueSet::decode(Decoder& in) {
  ValueSet set;
  set.count_ = in.take_varint();
  const std::size_t size = in.take_count();
  if (size > kMostBytes) damaged();
  const std::byte* const bytes = in.take(size);
  set.bytes_.assign(bytes, bytes + size);
  Decoder values(set.bytes_);
  std::uint64_t count = 0;
  for (; !values.empty(); ++count) values.take(values.take_count());
  if (count != set.count_) damaged();
  return set;
}

void DistinctSketch::raise(std::uint64_t hash) {
  const std::size_t index = hash >> kRankBits;
  const std::uint64_t rest = hash << kIndexBits;
  const auto rank = static_cast<std::uint8_t>(rest == 0 ? kRankBits + 1 : static_cast<unsigned>(std::countl_zero(rest)) + 1);
  registers_[index] = std::max(registers_[index], rank);
}

void DistinctSketch::use_registers() {
  registers_.assign(kRegisters, 0);
  for (const std::uint64_t hash : hashes_) raise(hash);
  std::vector<std::uint64_t>().swap(hashes_);
}

void DistinctSketch::add(std::uint64_t hash) {
  if (!registers_.empty()) return raise(hash);
  const auto at = std::ranges::lower_bound(hashes_, hash);
  if (at != hashes_.end() && *at == hash) return;
  if (hashes_.size() < kExact) {
    hashes_.insert(at, hash);
  } else {
    use_registers();
    raise(hash);
  }
}

void DistinctSketch::merge(const DistinctSketch& other) {
  for (const std::uint64_t hash : other.hashes_) add(hash);
  if (other.registers_.empty()) return;
  if (registers_.empty()) use_registers();
  for (std::size_t i = 0; i < kRegisters; ++i) registers_[i] = std::max(registers_[i], other.registers_[i]);
}

std::uint64_t DistinctSketch::estimate() const {
  if (registers_.empty()) return hashes_.size();
  std::array<double, kRankBits + 2> with_rank{};
  for (const std::uint8_t rank : registers_) ++with_rank[rank];
  constexpr auto kAll = static_cast<double>(kRegisters);
  double z = kAll * tau(1 - with_rank[kRankBits + 1] / kAll);
  for (unsigned rank = kRankBits; rank >= 1; --rank) z = 0.5 * (z + with_rank[rank]);
  z += kAll * sigma(with_rank[0] / kAll);
  return static_cast<std::uint64_t>(std::llround(kAll * kAll / (2 * std::log(2.0) * z)));
}

void DistinctSketch::encode(Encoder& out) const {
  out.append_varint(registers_.empty() ? hashes_.size() : kExact + 1);
  out.append(hashes_.data(), hashes_.size() * sizeof(std::uint64_t));
  out.append(registers_.data(), registers_.size());
}

DistinctSketch DistinctSketch::decode(Decoder& in) {
  DistinctSketch sketch;
  const std::uint64_t hashes = in.take_varint();
  if (hashes > kExact + 1) damaged();
  if (hashes <= kExact) {
    sketch.hashes_.reserve(hashes);
    for (std::uint64_t i = 0; i < hashes; ++i) sketch.hashes_.push_back(in.take_value<std::uint64_t>());
    if (!std::ranges::is_sorted(sketch.hashes_)) damaged();
  } else {
    const std::byte* const bytes = in.take(kRegisters);
    sketch.registers_.reserve(kRegisters);
    for (std::size_t i = 0; i < kRegisters; ++i) {
      sketch.registers_.push_back(static_cast<std::uint8_t>(bytes[i]));
      if (sketch.registers_.back() > kRankBits + 1) damaged();
    }
  }
  return sketch;
}

}  // namespace weft::detail
