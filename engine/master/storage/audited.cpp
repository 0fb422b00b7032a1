#include "engine/master/storage/audited.hpp"

#include <fmt/core.h>

namespace weft::master {

void note(const std::function<void(AuditEntry)>& log, const Caller& caller, const Audited& what, const Error* refused) {
  if (!log) return;
  if (!what.noted && (refused == nullptr || refused->code() != Code::permission_denied)) return;
  AuditEntry entry{caller.user, caller.peer, what.action};
  entry.object = what.object;
  if (!what.to.empty()) entry.object += fmt::format(" to {}", what.to);
  if (refused != nullptr) entry.error = refused->to_string();
  log(std::move(entry));
}

}  // namespace weft::master
