#include "engine/master/journal/journal_record.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "base/crc32c.hpp"
#include "base/log.hpp"
#include "base/rpc/versioned.hpp"
#include "base/text.hpp"
#include "engine/master/journal/journal.capnp.h"
#include "engine/master/protocol/protocol.hpp"

namespace weft::master {

namespace {

constexpr std::string_view kMagic = "WEFTJRNL";
constexpr std::string_view kOfLaterRelease = "a later release of weft wrote it; start that release, or one after it";
constexpr std::string_view kOfEarlierRelease =
    "an earlier release of weft wrote it; start a release in between first, which reads it and rewrites it, or, when its jobs do "
    "not matter, move it away and put an empty file in its place";
constexpr std::size_t kMaxStatusBytes = 64u << 20;
constexpr std::size_t kMostWords = 64u << 10;  // of each text of a status that is too large

void put_u32(std::string& out, std::uint32_t value) {
  for (int shift = 0; shift < 32; shift += 8) out.push_back(static_cast<char>(value >> shift & 0xff));
}

std::uint32_t get_u32(ByteView bytes, std::size_t offset) {
  std::uint32_t value = 0;
  for (std::size_t i = 0; i < 4; ++i) value |= static_cast<std::uint32_t>(bytes[offset + i]) << (8 * i);
  return value;
}

JournalRecord marks_of(const JournalRecord& record) {
  JournalRecord marks;
  marks.marks = record.marks;
  marks.masters = record.masters;
  marks.cluster = record.cluster;
  return marks;
}

}  // namespace

void JournalMarks::merge(const JournalMarks& other) {
  if (other.at >= at) at = other.at, unix_time = other.unix_time;
  next_job = std::max(next_job, other.next_job);
  next_node = std::max(next_node, other.next_node);
}

std::string encode_status(const JobStatus& status) {
  const auto bytes_of = [](const JobStatus& job) {
    return std::string(as_chars(client::encode(client::JobList{{job}, Time(0)}).header.view()));
  };
  if (std::string whole = bytes_of(status); whole.size() <= kMaxStatusBytes) return whole;
  JobStatus brief = status;
  brief.stages.clear();
  brief.counters.clear();
  for (std::string* words : {&brief.name, &brief.user, &brief.pool, &brief.error})
    if (words->size() > kMostWords) words->resize(kMostWords);
  return bytes_of(brief);
}

Result<JobStatus> decode_status(ByteView bytes) {
  rpc::Message message;
  message.header = Buffer::copy_of(bytes);
  WEFT_ASSIGN(client::JobList list, client::decode<client::JobList>(message));
  if (list.jobs.size() != 1) return fail(Code::corrupt, "the status of a job is not of one job");
  return std::move(list.jobs.front());
}

std::string to_frame(const JournalRecord& record, std::size_t most) {
  Buffer payload = rpc::encode_versioned<wire::Record>(record);
  if (payload.size() > most) {
    Log("journal").error("a record{} of {} is not written, since no master would read more than {}: the next one does not know it",
                         record.job ? fmt::format(" of job {}", record.job->value()) : "", human_bytes(payload.size()),
                         human_bytes(most));
    payload = rpc::encode_versioned<wire::Record>(marks_of(record));
  }
  std::string frame;
  frame.reserve(kRecordHeaderBytes + payload.size());
  put_u32(frame, static_cast<std::uint32_t>(payload.size()));
  put_u32(frame, crc32c(payload.view()));
  put_u32(frame, crc32c(as_bytes(frame)));
  frame.append(as_chars(payload.view()));
  return frame;
}

Result<JournalRecord> decode_record(ByteView payload) {
  return rpc::decode_versioned<wire::Record, JournalRecord>(payload, "journal record");
}

Result<std::vector<FramedRecord>> records_of(ByteView frames) {
  std::vector<FramedRecord> records;
  while (!frames.empty()) {
    if (frames.size() < kRecordHeaderBytes) return fail(Code::corrupt, "half a journal record");
    const auto header = read_record_header(frames);
    if (!header || header->length > frames.size() - kRecordHeaderBytes)
      return fail(Code::corrupt, "the header of a journal record is wrong");
    const ByteView frame = frames.first(kRecordHeaderBytes + header->length), payload = frame.subspan(kRecordHeaderBytes);
    if (crc32c(payload) != header->checksum) return fail(Code::corrupt, "the checksum of a journal record is wrong");
    WEFT_ASSIGN(JournalRecord record, decode_record(payload));
    records.push_back({std::move(record), frame});
    frames = frames.subspan(frame.size());
  }
  return records;
}

std::string journal_header() {
  std::string text(kMagic);
  put_u32(text, kJournalVersion);
  put_u32(text, 0);
  return text;
}

Error no_journal() { return {Code::corrupt, "this is no weft journal; name the file that is one, or restore it from a copy"}; }

Result<std::uint32_t> read_journal_header(ByteView bytes) {
  if (as_chars(bytes.first(kMagic.size())) != kMagic) return fail(no_journal());
  const std::uint32_t version = get_u32(bytes, kMagic.size());
  if (version < kOldestJournalVersion || version > kJournalVersion)
    return fail(Code::version_mismatch, fmt::format("this journal has version {}, and this weft reads versions {} and {}: {}",
                                                    version, kOldestJournalVersion, kJournalVersion,
                                                    version > kJournalVersion ? kOfLaterRelease : kOfEarlierRelease));
  if (get_u32(bytes, kMagic.size() + 4) != 0) return fail(Code::corrupt, "reserved bytes of the header are not zero");
  return version;
}

std::optional<RecordHeader> read_record_header(ByteView bytes) {
  if (crc32c(bytes.first(8)) != get_u32(bytes, 8)) return std::nullopt;
  const RecordHeader header{get_u32(bytes, 0), get_u32(bytes, 4)};
  return header.length <= kMaxRecordBytes ? std::optional(header) : std::nullopt;
}

}  // namespace weft::master
