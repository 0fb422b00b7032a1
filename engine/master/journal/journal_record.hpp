// What the journal consists of: records that each say how one job stands, or one fact about a running job or a node, which ids were
// given, and what time it was. A later status of a job replaces the earlier ones. Layout: docs/formats/journal.md.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/bytes.hpp"
#include "base/result.hpp"
#include "engine/master/core/core.hpp"
#include "engine/master/journal/job_facts.hpp"

namespace weft::master {

inline constexpr std::uint32_t kJournalVersion = 3;
inline constexpr std::uint32_t kOldestJournalVersion = 2;  // that is read: without facts
inline constexpr std::size_t kJournalHeaderBytes = 16;
inline constexpr std::size_t kRecordHeaderBytes = 12;
inline constexpr std::uint32_t kMaxRecordBytes = 384u << 20;  // of its payload; values and results have at most 256 MiB

/// Of the moment a record was made.
struct JournalMarks {
  Time at{0};         // on the master's clock
  Time unix_time{0};  // on the calendar
  std::uint64_t next_job = 1;
  std::uint32_t next_node = 1;  // the first id that was never given; larger ones were not, either

  /// The later of both times, the larger of all ids.
  void merge(const JournalMarks& other);
};

/// What an operator has set of the capacity of workers of a name: amounts as parse_capacity_words() takes them, and why. No
/// amounts: nothing any more.
struct NodeSetting {
  std::string worker, capacity, why;
  friend bool operator==(const NodeSetting&, const NodeSetting&) = default;
};

/// The fields of journal.capnp, in its order (base/rpc/versioned.hpp).
struct JournalRecord {
  JournalMarks marks{};
  std::optional<JobId> job{};  // whose status `status` is
  bool ended = false;          // that job is over
  std::string status{};        // encode_status()
  bool checkpoint = false;     // the first record of a checkpoint
  NodeSetting setting{};       // of no worker: none
  std::uint32_t masters = 0;   // that have had the journal; 0: not said
  std::optional<JobFact> fact{};
  std::optional<NodeFact> node{};
  NodeId node_gone{};           // 0: none
  std::string cluster{};        // whose files the master keeps; empty: not said
  std::uint64_t numbering = 0;  // which series of job ids these are (runtime::protocol::Registered); 0: not said
};

/// A status too large for a record is kept without its stages and counters, its texts shortened.
std::string encode_status(const JobStatus& status);
Result<JobStatus> decode_status(ByteView bytes);

/// The record as it is in the file: its header and its payload. Of one whose payload would have more than `most` bytes, which no
/// master would read, only the marks are left, and the log says so: the next master knows nothing of what it said.
std::string to_frame(const JournalRecord& record, std::size_t most = kMaxRecordBytes);
/// The records of frames that lie one behind the other, and nothing else.
struct FramedRecord {
  JournalRecord record;
  ByteView frame;
};
Result<std::vector<FramedRecord>> records_of(ByteView frames);
/// Of a payload whose checksum was right. Code::corrupt when it is no record all the same.
Result<JournalRecord> decode_record(ByteView payload);

/// The first bytes of a journal.
std::string journal_header();
/// Of a file that does not begin as journals do.
Error no_journal();
/// The version of the journal with this header. Code::corrupt when it is no journal, version_mismatch when it cannot be read.
Result<std::uint32_t> read_journal_header(ByteView bytes);

struct RecordHeader {
  std::uint32_t length = 0;
  std::uint32_t checksum = 0;  // of the payload
};
/// Nothing when the header's own checksum is wrong or the length exceeds kMaxRecordBytes.
std::optional<RecordHeader> read_record_header(ByteView bytes);

}  // namespace weft::master
