#include "engine/master/server/audit.hpp"

#include <fmt/core.h>

#include "engine/master/protocol/protocol.hpp"
#include "engine/master/server/access.hpp"

namespace weft::master {
namespace {

template <class M, class Text>
std::string text_of(const rpc::Message& message, Text text) {
  const auto decoded = client::decode<M>(message);
  return decoded ? text(*decoded) : std::string();
}

/// What the request is about, besides a job.
std::string object_of(const rpc::Message& message) {
  switch (message.type) {
    case client::kSubmitJob:
      return text_of<client::Submit>(message, [](const client::Submit& submit) { return submit.name; });
    case client::kDetachJob:
      return text_of<client::Detach>(message, [](const client::Detach& detach) { return detach.submit.name; });
    case client::kSetNode:
      return text_of<client::NodeCapacity>(message, [](const client::NodeCapacity& set) { return set.name + ": " + set.capacity; });
    case client::kConfigureScheduler:
      return text_of<client::SchedulerInfo>(message, [](const client::SchedulerInfo& info) { return info.spec; });
    case client::kProfiles:
      return text_of<client::ProfileRequest>(message, [](const client::ProfileRequest& request) { return request.program; });
    default:
      return {};
  }
}

bool is_not_noted(const rpc::Message& message) {
  if (message.type == client::kReadEvents) {  // a log is read in many pieces
    const auto wanted = client::decode<client::EventsWanted>(message);
    return wanted && wanted->offset != 0;
  }
  if (message.type != client::kProfiles) return false;
  const auto request = client::decode<client::ProfileRequest>(message);
  return request && request->what == client::ProfileRequest::What::show;
}

}  // namespace

std::optional<AuditEntry> audit_entry(const Caller& caller, const rpc::Message& message, const Error* refused) {
  const Rule* const rule = rule_of(message.type);
  if (rule == nullptr || rule->what.empty() || (refused == nullptr && (rule->action.empty() || is_not_noted(message))))
    return std::nullopt;
  AuditEntry entry;
  entry.user = caller.user;
  entry.peer = caller.peer;
  entry.action = rule->action.empty() ? rule->what : rule->action;
  if (names_job(rule->needs))
    if (const auto job = job_named_in(message)) entry.job = *job;
  if (rule->needs == Needs::events)
    if (const auto wanted = client::decode<client::EventsWanted>(message); wanted && wanted->job != JobId{})
      entry.job = wanted->job;
  entry.object = object_of(message);
  if (refused != nullptr) entry.error = refused->to_string();
  return entry;
}

AuditEntry audit_refusal(const Caller& caller, const rpc::Message& message, const Error& refused) {
  if (auto entry = audit_entry(caller, message, &refused)) return *std::move(entry);
  AuditEntry entry{caller.user, caller.peer, "send a message"};
  entry.object = fmt::format("message {}", message.type);
  entry.error = refused.to_string();
  return entry;
}

std::optional<JobId> job_submitted(const rpc::Message& request, const rpc::Payload& answer) {
  if (request.type != client::kSubmitJob && request.type != client::kDetachJob) return std::nullopt;
  rpc::Message received;
  received.header = Buffer::copy_of(answer.header.view());
  const auto submitted = client::decode<client::Submitted>(received);
  return submitted ? std::optional(submitted->job) : std::nullopt;
}

}  // namespace weft::master
