#include "engine/tools/web/refusals.hpp"

#include <algorithm>
#include <utility>

#include <fmt/core.h>

namespace weft::web {
namespace {

constexpr std::size_t kMostText = 300;  // bytes of what a client has sent

std::string cut(std::string_view text) {
  return text.size() <= kMostText ? std::string(text) : fmt::format("{}…", text.substr(0, kMostText));
}

/// "user bob at 10.0.0.9" of "user bob at 10.0.0.9:41234": each connection has another port.
std::string without_port(const std::string& peer) { return peer.substr(0, peer.rfind(':')); }

}  // namespace

master::AuditEntry entry_of(const http::RefusedRequest& refused) {
  master::AuditEntry entry;
  entry.peer = refused.address;
  if (refused.peer) {
    if (refused.peer->role == rpc::Role::user) entry.user = refused.peer->name;
    entry.peer = fmt::format("{} {} at {}", name_of(refused.peer->role), refused.peer->name, refused.address);
  }
  entry.action = "ask the page";
  entry.object = cut(fmt::format("{} {}", refused.method, refused.path));
  entry.error = cut(refused.error);
  return entry;
}

Refusals::~Refusals() {
  for (auto& [key, repeated] : repeated_) write(key, repeated);
}

void Refusals::add(master::AuditEntry entry, TimePoint now) {
  const std::lock_guard lock(mutex_);
  write_those_before(now - kInterval, now);
  const auto [at, first] = repeated_.try_emplace(key_of(entry), Repeated{now});
  if (first) return note_(std::move(entry));
  ++at->second.times;
  at->second.last = std::move(entry);
}

void Refusals::write_due(TimePoint now) {
  const std::lock_guard lock(mutex_);
  write_those_before(now - kInterval, now);
}

/// A peer that was silent since its last line is forgotten.
void Refusals::write_those_before(TimePoint moment, TimePoint now) {
  for (auto at = repeated_.begin(); at != repeated_.end();) {
    Repeated& repeated = at->second;
    const bool due = repeated.since <= moment;
    if (due && repeated.times == 0) {
      at = repeated_.erase(at);
      continue;
    }
    if (due) {
      write(at->first, repeated);
      repeated.since = now;
    }
    ++at;
  }
}

Refusals::Key Refusals::key_of(const master::AuditEntry& entry) const {
  Key key{entry.user, without_port(entry.peer), entry.action};
  if (!entry.user.empty() || repeated_.contains(key)) return key;
  const auto strangers =
      std::count_if(repeated_.begin(), repeated_.end(), [](const auto& one) { return std::get<0>(one.first).empty(); });
  return static_cast<std::size_t>(strangers) < kMostStrangers ? key : Key();
}

void Refusals::write(const Key& key, Repeated& repeated) {
  if (repeated.times == 0) return;
  master::AuditEntry line = std::exchange(repeated.last, {});
  line.times = std::exchange(repeated.times, 0);
  if (key == Key()) line.peer = "several, the last of them " + line.peer;
  note_(std::move(line));
}

}  // namespace weft::web
