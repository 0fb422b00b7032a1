// What is said of a job in words wherever its figures are.
#pragma once

#include <string>

#include "base/json.hpp"
#include "engine/master/core/core.hpp"

namespace weft::client {

/// As people know the job: by its --name, or else its program's. As long as the status.
const std::string& shown_name(const master::JobStatus& status);

/// "2 workers were lost while it ran: w2 (SIGBUS), w3 (not heard of for 10.0 s)"; empty when none was.
std::string lost_workers_text(const master::JobStatus& status);
/// The members "workers_lost", how many, and "lost_workers", which, of the object that is open.
void add_lost_workers(JsonWriter& json, const master::JobStatus& status);

/// A line for each stage that has bad records, with `name` before it, and one for each example. Empty when there is none.
std::string bad_record_lines(const std::string& name, const master::JobStatus& status);
/// A partition is hot when a task reads at least kHotBytes of shuffles, kHotPartition times the median of its stage, and kHotPart
/// of all.
inline constexpr std::uint64_t kHotBytes = 16u << 20;
inline constexpr double kHotPartition = 4, kHotPart = 0.2;
/// Spills of less, of all tasks together, are not mentioned.
inline constexpr std::uint64_t kSpilled = 64u << 20;

/// What cost the job time, as far as its figures tell, and what to change: a line each, with `name` before it. Empty when nothing
/// did. Of a cluster, `weft job diagnose` tells more.
std::string remark_lines(const std::string& name, const master::JobStatus& status);

/// The members "bad_records" and "bad_record_examples" of the object that is open, when there are any.
void add_bad_records(JsonWriter& json, const runtime::BadRecords& bad);

}  // namespace weft::client
