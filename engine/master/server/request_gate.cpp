#include "engine/master/server/request_gate.hpp"

#include <utility>

#include <fmt/core.h>

#include "engine/master/protocol/protocol.hpp"
#include "engine/master/server/access.hpp"
#include "engine/master/server/audit.hpp"
#include "storage/acting_user.hpp"

namespace weft::master {

Result<void> RequestGate::open_audit_log(const std::string& path, const LogRotation& rotation) {
  WEFT_ASSIGN(audit_, AuditLog::open(path, rotation));
  return {};
}

Result<void> RequestGate::admit(const Caller& caller, const rpc::Connection& connection, const rpc::Message& message) {
  auto allowed = may_send(connection, message.type);
  if (allowed) allowed = may(caller, message);
  if (!allowed) note_refusal(caller, message, allowed.error());
  return allowed;
}

bool RequestGate::admit_notification(const rpc::Connection& connection, const rpc::Message& message) {
  const auto allowed = may_send(connection, message.type);
  if (!allowed && refused_.insert(&connection).second) note_refusal(callers_.of(connection), message, allowed.error());
  return allowed.has_value();
}

void RequestGate::forget(const rpc::Connection& connection) {
  callers_.forget(connection);
  refused_.erase(&connection);
}

Result<void> RequestGate::may(const Caller& caller, const rpc::Message& message) const {
  const Rule* const rule = rule_of(message.type);
  if (rule == nullptr || caller.administrator) return {};
  if (rule->needs == Needs::events) return may_read_events(caller, *rule, message);
  JobId job;
  std::optional<JobOwner> owner;
  if (names_job(rule->needs)) {
    WEFT_ASSIGN(job, job_named_in(message));
    owner = owner_of_(job);
  }
  return callers_.may(caller, *rule, job, owner);
}

Result<void> RequestGate::may_read_events(const Caller& caller, const Rule& rule, const rpc::Message& message) const {
  WEFT_ASSIGN(const auto wanted, client::decode<client::EventsWanted>(message));
  if (wanted.job == JobId{}) return caller.must_administer("read the event log, which has the jobs of all users");
  const auto owner = owner_of_(wanted.job);
  if (!owner)
    return caller.must_administer(fmt::format("read events of job {}, which this master does not know", wanted.job.value()));
  return callers_.may(caller, rule, wanted.job, owner);
}

void RequestGate::note(const Caller& caller, const rpc::Message& message, const Result<void>& how, std::optional<JobId> job) {
  if (audit_ == nullptr) return;
  auto entry = audit_entry(caller, message, how ? nullptr : &how.error());
  if (!entry) return;
  if (job) entry->job = job;
  note_with_owner(*std::move(entry));
}

void RequestGate::note_refusal(const Caller& caller, const rpc::Message& message, const Error& why) {
  if (audit_ != nullptr) note_with_owner(audit_refusal(caller, message, why));
}

void RequestGate::note_with_owner(AuditEntry entry) {
  if (entry.job)
    if (const auto owner = owner_of_(*entry.job)) entry.owner = owner->user;
  note(std::move(entry));
}

void RequestGate::note(AuditEntry entry) {
  if (audit_ != nullptr) audit_->note(std::move(entry));
}

Result<rpc::Payload> RequestGate::on_act_for(const rpc::Connection& connection, const rpc::Message& message) {
  WEFT_ASSIGN(const storage::ActFor request, storage::decode_act_for(message));
  WEFT_TRY(callers_.act_for(connection, request.user));
  const Caller caller = callers_.of(connection);
  return storage::encode(storage::ActedFor{caller.user, caller.administrator});
}

}  // namespace weft::master
