// Between a master that leads and the masters that follow it: message numbers 300 to 399. All are sent by the follower, on one
// connection.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

#include "base/clock.hpp"
#include "base/result.hpp"
#include "base/rpc/rpc.hpp"

namespace weft::master {

// The fields of the messages are those of replication.capnp, in its order (base/rpc/versioned.hpp).
enum ReplicationMessage : rpc::MessageType {
  kFollow = 300,  // Follow -> Following; a copy of all that is there, and what is changed from then on, can be pulled
  kPull = 301,    // Pull -> Pulled; answered when there are entries, and otherwise after kLongestPull
  kAlive = 302,   // notification: nothing; while the follower writes what it has pulled
};

/// How long a follower that has everything waits for an answer.
inline constexpr Duration kLongestPull = std::chrono::milliseconds(500);

struct Follow {
  std::string member, cluster, address;
  std::string page{};
  bool keeps_mark = false;
};
struct Following {
  std::uint64_t session = 0;
  std::string cluster;
  std::uint64_t epoch = 0;
};
/// Names the copy that a follower gets in a session: no other session of any member has the same (LeaderRecord::marks).
std::string mark_of(const Following& session);
struct Pull {
  std::uint64_t session = 0, kept = 0;
};

/// The stores of a master that are replicated.
enum class Store : std::uint8_t {
  journal,   // an entry is whole records, as they are in a journal's file
  files,     // Changes of the namespace and the catalogue
  programs,  // the hash of an uploaded program, as text, which the follower then fetches (runtime::protocol::kFetchBinary)
  profiles,  // Changes of what was learned of programs
};
constexpr Store last_of(Store) { return Store::profiles; }

/// A change of a store. An entry that is repeated, with all that came after it, has no effect: so a copy of a store may contain
/// changes that come once more after it.
struct LogEntry {
  Store store{};
  SharedBytes bytes;
  std::string user{};  // of a program: whose it is (runtime::protocol::ProgramId); leaders of earlier releases do not say
};
struct Pulled {
  std::vector<LogEntry> entries;
  bool in_sync = false;
};

rpc::Payload to_payload(const Follow& message);
rpc::Payload to_payload(const Following& message);
rpc::Payload to_payload(const Pull& message);
rpc::Payload to_payload(Pulled message);
/// For these four.
template <class M>
Result<M> from_message(const rpc::Message& message) = delete;
template <>
Result<Follow> from_message(const rpc::Message& message);
template <>
Result<Following> from_message(const rpc::Message& message);
template <>
Result<Pull> from_message(const rpc::Message& message);
template <>
Result<Pulled> from_message(const rpc::Message& message);

}  // namespace weft::master
