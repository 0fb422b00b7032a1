// Which member may lead after a leader: the decisions of GroupMember, without disks or connections.
#pragma once

#include <string>

#include "engine/master/election/election.hpp"
#include "engine/master/standby/membership.hpp"

namespace weft::master {

/// Whether the member has everything that was acknowledged, as far as can be known. Where nobody has led, one leads that need not
/// `wait_for_a_leader`.
bool may_lead(const Membership& member, bool wait_for_a_leader, const Election::Seen& seen);

/// Whether the record names the member as in sync, and its data directory is an older copy of the one that was: it lacks what was
/// acknowledged since then. What cannot be known, because an earlier release wrote the record, is not so.
bool is_outdated(const Membership& member, const Election::Seen& seen);

/// The record with which the member leads after what it has seen. `new_cluster`: its id when the member begins one.
LeaderRecord next_record(const Membership& member, const std::string& address, const Election::Seen& seen,
                         const std::string& new_cluster);

}  // namespace weft::master
