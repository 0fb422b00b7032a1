#include "storage/namespace/lease_times.hpp"

#include <algorithm>

#include "base/codec.hpp"

namespace weft::storage {

void LeaseTimes::begin(std::uint64_t lease, Time length, Time now) {
  const auto before = before_.extract(lease);
  const Time silent = before ? std::clamp(before.mapped(), Time(0), std::max(length - step_, Time(0))) : Time(0);
  leases_[lease] = {length, now + length - silent, silent};
  if (!before && recorded_ == Recorded::all) dirty_.insert(lease);
}

void LeaseTimes::renew(std::uint64_t id, Time now) {
  const auto found = leases_.find(id);
  if (found == leases_.end()) return;
  found->second.ends = now + found->second.length;
  set_silent(id, found->second, Time(0));
}

void LeaseTimes::end(std::uint64_t lease) {
  const auto ended = leases_.extract(lease);
  if (ended && is_recorded(ended.mapped())) dirty_.insert(lease);
}

std::vector<std::uint64_t> LeaseTimes::take_expired(Time now) {
  std::vector<std::uint64_t> over;
  for (auto& [id, lease] : leases_) {
    if (lease.ends <= now) {
      over.push_back(id);
      continue;
    }
    const Time passed = now - (lease.ends - lease.length);
    set_silent(id, lease, std::max(passed, Time(0)) / step_ * step_);
  }
  for (const std::uint64_t id : over) end(id);
  return over;
}

void LeaseTimes::set_silent(std::uint64_t id, Lease& lease, Time silent) {
  if (std::exchange(lease.silent, silent) != silent) dirty_.insert(id);
}

bool LeaseTimes::restore(std::uint64_t lease, std::string_view record) {
  try {
    Decoder in(as_bytes(record));
    before_[lease] = in.empty() && recorded_ == Recorded::all ? Time(0) : decode<Time>(in);  // earlier releases gave none
    return in.empty();
  } catch (const CodecError&) {
    return false;
  }
}

void LeaseTimes::begin_others(Time length, Time now) {
  while (!before_.empty()) begin(before_.begin()->first, length, now);
}

void LeaseTimes::end_others() {
  for (const auto& [lease, silent] : std::exchange(before_, {})) dirty_.insert(lease);
}

std::vector<std::pair<std::uint64_t, std::optional<std::string>>> LeaseTimes::take_changed() {
  std::vector<std::pair<std::uint64_t, std::optional<std::string>>> changed;
  for (const std::uint64_t id : std::exchange(dirty_, {})) {
    const auto found = leases_.find(id);
    std::optional<std::string> record;
    if (found != leases_.end() && is_recorded(found->second)) {
      Encoder out;
      encode(found->second.silent, out);
      record = std::string(as_chars(out.view()));
    }
    changed.emplace_back(id, std::move(record));
  }
  return changed;
}

}  // namespace weft::storage
