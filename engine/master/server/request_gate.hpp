// What every request to a master passes: the look at its user and at his rights, and the audit log.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <set>

#include "base/rpc/rpc.hpp"
#include "engine/master/log/audit_log.hpp"
#include "engine/master/server/callers.hpp"

namespace weft::master {

/// Reactor thread only.
class RequestGate {
 public:
  /// Nothing: there is no such job.
  using OwnerOf = std::function<std::optional<JobOwner>(JobId)>;
  RequestGate(Trust trust, std::vector<std::string> administrators, OwnerOf owner_of)
      : callers_(trust, std::move(administrators)), owner_of_(std::move(owner_of)) {}

  /// From now on requests are noted there. Errors: AuditLog::open(). Before anything is asked.
  Result<void> open_audit_log(const std::string& path, const LogRotation& rotation);

  Callers& callers() { return callers_; }
  /// By the role of its certificate, and by what the table of messages asks of the user. A refusal is noted.
  Result<void> admit(const Caller& caller, const rpc::Connection& connection, const rpc::Message& message);
  /// The same of a message that is not answered: false when it is not for its sender. The first of a connection that is refused is
  /// noted.
  bool admit_notification(const rpc::Connection& connection, const rpc::Message& message);
  /// The connection has ended.
  void forget(const rpc::Connection& connection);
  /// A request was carried out, or failed. `job`: that it has made.
  void note(const Caller& caller, const rpc::Message& message, const Result<void>& how, std::optional<JobId> job = {});
  /// The same of a request to the storage service, or to the master's page. Any thread.
  void note(AuditEntry entry);
  bool notes() const { return audit_ != nullptr; }

  /// Statement of a user for whom a connection's requests are.
  Result<rpc::Payload> on_act_for(const rpc::Connection& connection, const rpc::Message& message);

 private:
  Result<void> may(const Caller& caller, const rpc::Message& message) const;
  void note_refusal(const Caller& caller, const rpc::Message& message, const Error& why);
  void note_with_owner(AuditEntry entry);
  Result<void> may_read_events(const Caller& caller, const Rule& rule, const rpc::Message& message) const;

  Callers callers_;
  const OwnerOf owner_of_;
  std::set<const rpc::Connection*> refused_;  // a notification of theirs
  std::unique_ptr<AuditLog> audit_;           // null: none is written
};

}  // namespace weft::master
