// Which peers may send which messages to a master: one table of all that arrive at its port. Where connections are encrypted the
// role in the peer's certificate decides whether it may send the message at all; what a request needs besides is the same
// everywhere.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "base/ids.hpp"
#include "base/rpc/rpc.hpp"

namespace weft::master {

/// What a request needs of the user for whom it is made.
enum class Needs : std::uint8_t {
  nothing,
  own_job,        // the job that it names is this user's, or he is an administrator
  job_of_pool,    // the same, or he administers the job's pool (schedulers/config/pool_rights.hpp)
  administrator,  // that he is one
  events,         // that he is one, or the request is about a job as job_of_pool
  operation,      // what the operation in it says (file_operations.hpp, table_service.hpp)
};

struct Rule {
  rpc::MessageType type = 0;
  std::span<const rpc::Role> senders;
  Needs needs = Needs::nothing;
  std::string_view what{};    // for refusals, after "may not"; of those about jobs, after "job 7 belongs to alice; bob may not"
  std::string_view action{};  // in the audit log; empty: it is not written there, unless it is refused
};

/// Null: a master takes no such message.
const Rule* rule_of(rpc::MessageType type);
/// By their types.
std::span<const Rule> rules();

/// invalid_argument, with the role that is needed: the peer has another one. Peers without certificates may send everything: it was
/// decided elsewhere that they may connect (rpc::Security).
Result<void> may_send(const rpc::Connection& peer, rpc::MessageType type);

/// Whether the rule is about a job.
constexpr bool names_job(Needs needs) { return needs == Needs::own_job || needs == Needs::job_of_pool; }
/// The job that a request names whose rule is about one. Code::corrupt when it names none.
Result<JobId> job_named_in(const rpc::Message& message);

}  // namespace weft::master
