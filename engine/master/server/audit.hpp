// What the audit log has of requests that are answered here. Those about files and tables are noted by the storage service.
#pragma once

#include <optional>

#include "base/rpc/rpc.hpp"
#include "engine/master/log/audit_log.hpp"
#include "engine/master/server/callers.hpp"

namespace weft::master {

/// Nothing: it is not noted. `refused`: why it was refused or failed; null: it was done, or is being done.
std::optional<AuditEntry> audit_entry(const Caller& caller, const rpc::Message& message, const Error* refused);

/// Of a message that its sender may not send: always noted, if need be by its number.
AuditEntry audit_refusal(const Caller& caller, const rpc::Message& message, const Error& refused);

/// The job in the answer to a submission. Nothing: it is no such answer.
std::optional<JobId> job_submitted(const rpc::Message& request, const rpc::Payload& answer);

}  // namespace weft::master
