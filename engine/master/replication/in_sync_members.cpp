#include "engine/master/replication/in_sync_members.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

namespace weft::master {

std::uint64_t InSyncMembers::kept() const {
  std::uint64_t kept = appended_;
  for (const auto& [member, number] : kept_) kept = std::min(kept, number);
  return kept;
}

bool InSyncMembers::waits_for_lost() const {
  return std::any_of(kept_.begin(), kept_.end(), [this](const auto& required) {
    return std::none_of(sessions_.begin(), sessions_.end(), [&required](const auto& session) {
      return session.second.member == required.first && session.second.kept;
    });
  });
}

void InSyncMembers::add(Session session, std::string member) { sessions_[session].member = std::move(member); }

void InSyncMembers::remove(Session session) {
  sessions_.erase(session);
  stop_waiting();
}

void InSyncMembers::keeps(Session session, std::uint64_t number) {
  Follower& follower = sessions_.at(session);
  follower.kept = number;
  if (const auto required = kept_.find(follower.member); required != kept_.end()) required->second = number;
}

void InSyncMembers::require(Session session) {
  Follower& follower = sessions_.at(session);
  if (!follower.kept || follower.required_from) return;
  follower.required_from = appended_;
  kept_.try_emplace(follower.member, *follower.kept);
}

/// Whether the member may take over, or is about to be announced as one that may.
bool InSyncMembers::may_lead(const std::string& member) const {
  return announced_.contains(member) || (announcing_ && announcing_->contains(member));
}

/// Promises no longer wait for members that are neither announced, nor about to be announced, nor required followers.
void InSyncMembers::stop_waiting() {
  std::set<std::string> required = announced_;
  if (announcing_) required.insert(announcing_->begin(), announcing_->end());
  for (const auto& [session, follower] : sessions_)
    if (follower.required_from) required.insert(follower.member);
  std::erase_if(kept_, [&](const auto& member) { return !required.contains(member.first); });
}

InSyncMembers::Next InSyncMembers::next() {
  Next next;
  std::set<std::string> wanted;
  for (const auto& [session, follower] : sessions_)
    if (follower.required_from && *follower.kept >= *follower.required_from) wanted.insert(follower.member);
  if (!announcing_ && wanted != announced_) next.announce = announcing_ = std::move(wanted);
  for (auto& [session, follower] : sessions_) {
    if (follower.kept || may_lead(follower.member)) continue;
    follower.kept = appended_;
    next.begin.push_back(session);
  }
  return next;
}

InSyncMembers::Change InSyncMembers::announced() {
  Change change;
  const std::set<std::string> now = std::exchange(announcing_, std::nullopt).value();
  std::set_difference(now.begin(), now.end(), announced_.begin(), announced_.end(), std::back_inserter(change.added));
  std::set_difference(announced_.begin(), announced_.end(), now.begin(), now.end(), std::back_inserter(change.removed));
  announced_ = now;
  stop_waiting();
  return change;
}

}  // namespace weft::master
