#include "engine/master/standby/succession.hpp"

#include <algorithm>

namespace weft::master {

bool may_lead(const Membership& member, bool wait_for_a_leader, const Election::Seen& seen) {
  if (seen.led) return false;
  if (!seen.record) return !wait_for_a_leader && !member.copying;
  const auto& in_sync = seen.record->in_sync;
  return std::find(in_sync.begin(), in_sync.end(), member.member) != in_sync.end();
}

LeaderRecord next_record(const Membership& member, const std::string& address, const Election::Seen& seen,
                         const std::string& new_cluster) {
  LeaderRecord record;
  record.cluster = seen.record ? seen.record->cluster : member.cluster.empty() ? new_cluster : member.cluster;
  record.epoch = std::max(seen.record ? seen.record->epoch : 0, member.epoch) + 1;
  record.leader = member.member;
  record.address = address;
  record.in_sync = {member.member};
  return record;
}

}  // namespace weft::master
