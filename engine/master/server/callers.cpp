#include "engine/master/server/callers.hpp"

#include <algorithm>

#include <fmt/core.h>

#include "base/text.hpp"
#include "storage/acting_user.hpp"

namespace weft::master {

Result<void> Callers::act_for(const rpc::Connection& connection, const std::string& user) {
  if (user.size() > storage::kMostUserName)
    return fail(Code::invalid_argument, fmt::format("the name of a user has at most {} bytes", storage::kMostUserName));
  if (!user.empty()) acting_[&connection] = user;
  return {};
}

bool Callers::administers(std::string_view user) const {
  return std::find(administrators_.begin(), administrators_.end(), user) != administrators_.end();
}

Caller Callers::of(const rpc::Connection& connection) const {
  const rpc::Identity* const who = connection.identity();
  Caller caller;
  caller.peer = who == nullptr ? connection.peer() : fmt::format("{} {} at {}", name_of(who->role), who->name, connection.peer());
  if (who != nullptr && who->role == rpc::Role::user) {
    caller.user = who->name;
  } else if (const auto acting = acting_.find(&connection); acting != acting_.end()) {
    caller.user = acting->second;
  }
  caller.administrator = trust_ == Trust::own_machine || caller.user.empty() || administers(caller.user);
  return caller;
}

std::string Callers::owner(const rpc::Connection& connection, const std::string& named) const {
  const Caller caller = of(connection);
  return !caller.user.empty() && (trust_ == Trust::certificates || named.empty()) ? caller.user : named;
}

Result<void> Callers::may(const Caller& caller, const Rule& rule, JobId job, const std::optional<JobOwner>& owner) const {
  if (caller.administrator) return {};
  if (rule.needs == Needs::administrator) return caller.must_administer(rule.what);
  if ((!names_job(rule.needs) && rule.needs != Needs::events) || !owner || owner->user == caller.user) return {};
  if (rule.needs != Needs::own_job && pools_.may_administer(caller.user, owner->pool, owner->user)) return {};
  const std::string whose = owner->user.empty() ? "nobody" : escaped(owner->user);
  return fail(Code::permission_denied,
              fmt::format("job {} belongs to {}; {} may not {} (only {}an administrator may: weft master --admin)", job.value(),
                          whose, escaped(caller.user), rule.what, owner->user.empty() ? "" : whose + " or "));
}

}  // namespace weft::master
