#include "engine/master/standby/succession.hpp"

#include <algorithm>

#include <fmt/format.h>

namespace weft::master {

namespace {

bool names(const LeaderRecord& record, const std::string& member) {
  return std::find(record.in_sync.begin(), record.in_sync.end(), member) != record.in_sync.end();
}

}  // namespace

/// A leader has stored its epoch before the record had it, and a follower its mark. A try to lead that may have come to nothing
/// raises the epoch only, and never changes the mark.
bool is_outdated(const Membership& member, const Election::Seen& seen) {
  if (!seen.record || !names(*seen.record, member.member)) return false;
  const auto mark = seen.record->marks.find(member.member);
  if (mark == seen.record->marks.end()) return false;
  return seen.record->leader == member.member ? member.epoch < seen.record->epoch : member.mark != mark->second;
}

bool may_lead(const Membership& member, bool wait_for_a_leader, const Election::Seen& seen) {
  if (seen.led) return false;
  if (!seen.record) return !wait_for_a_leader && !member.copying;
  return names(*seen.record, member.member) && !is_outdated(member, seen);
}

LeaderRecord next_record(const Membership& member, const std::string& address, const Election::Seen& seen,
                         const std::string& new_cluster) {
  LeaderRecord record;
  record.cluster = seen.record ? seen.record->cluster : member.cluster.empty() ? new_cluster : member.cluster;
  record.epoch = std::max(seen.record ? seen.record->epoch : 0, member.epoch) + 1;
  record.leader = member.member;
  record.address = address;
  record.in_sync = {member.member};
  record.marks = {{member.member, fmt::format("{}.0", record.epoch)}};  // sessions have numbers from 1 on
  return record;
}

}  // namespace weft::master
