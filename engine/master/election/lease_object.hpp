// A Lease object of Kubernetes (coordination.k8s.io/v1) as JSON, read and changed. Private to engine/master/election.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/result.hpp"

namespace weft::master {

/// The annotation of a Lease that has the record.
constexpr std::string_view kRecordAnnotation = "weft/leader-record";

/// What elections write.
struct LeaseFields {
  std::string holder;             // empty: nobody
  std::int64_t seconds = 0;       // the lease ends when it was not changed for so long
  std::int64_t transitions = 0;   // how often the holder became another
  std::string acquired, renewed;  // times, for people
  std::optional<std::string> record;
};

struct LeaseObject {
  std::string version;  // another one after each change, of whatever
  LeaseFields fields;
  std::string text;  // all of it
};

/// Corrupt when the text is no Lease.
Result<LeaseObject> parse_lease(std::string text);
/// The object with these fields; everything else in it stays.
Result<std::string> changed_lease(const LeaseObject& object, const LeaseFields& fields);
/// A new one, which has no version yet.
LeaseObject new_lease(const std::string& name_space, const std::string& name);
/// "2026-11-24T23:19:21.123456Z", as a Lease has it (MicroTime), of the machine's clock.
std::string lease_time_now();

}  // namespace weft::master
