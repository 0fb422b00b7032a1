// What the audit log has of a request about files or tables.
#pragma once

#include <functional>
#include <string_view>

#include "base/result.hpp"
#include "engine/master/log/audit_log.hpp"
#include "engine/master/storage/caller.hpp"

namespace weft::master {

struct Audited {
  std::string_view action;
  std::string object;
  std::string to{};   // of a renaming
  bool noted = true;  // also when it was done, and not only when the caller has not the right
};

/// `log` may be empty. `refused`: null when the request was done.
void note(const std::function<void(AuditEntry)>& log, const Caller& caller, const Audited& what, const Error* refused);

}  // namespace weft::master
