// The messages of chunk-transfer.md as structs, to bytes and back. Private to storage/transfer.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/bytes.hpp"
#include "base/result.hpp"
#include "base/rpc/rpc.hpp"
#include "storage/transfer/chunk_client.hpp"

namespace weft::storage {

inline constexpr rpc::MessageType kOpenChunk = 400;
inline constexpr rpc::MessageType kReadPages = 401;
inline constexpr rpc::MessageType kCloseChunk = 402;    // one way
inline constexpr rpc::MessageType kReportDamage = 403;  // one way
inline constexpr rpc::MessageType kOpenDamaged = 404;
inline constexpr rpc::MessageType kReadDamaged = 405;
inline constexpr rpc::MessageType kBeginWrite = 410;
inline constexpr rpc::MessageType kWriteBytes = 411;
inline constexpr rpc::MessageType kSealChunk = 412;
inline constexpr rpc::MessageType kAbandonWrite = 413;  // one way
inline constexpr rpc::MessageType kFirstChunkMessage = 400, kLastChunkMessage = 499;

inline constexpr std::uint64_t kMostReadBytes = 8u << 20;    // of one request
inline constexpr std::uint64_t kPacketBytes = 1u << 20;      // writers send at a time
inline constexpr std::uint64_t kMostPacketBytes = 4u << 20;  // servers take at most
inline constexpr std::uint32_t kPacketsInFlight = 8;         // the credit of a writer
inline constexpr std::size_t kMostTargets = 16;

/// What both ends of a connection of chunks allow each other.
rpc::Limits chunk_limits();
/// Where processes of the same machine and user reach the worker with that data address.
Result<rpc::Endpoint> chunk_neighbour_endpoint(const std::string& data_address);

struct ReadRange {
  ChunkId id;
  std::uint64_t offset = 0;
  std::uint32_t length = 0;
};

/// Racks here and below are those of the requesting process; empty: not known.
struct ChunkWanted {
  ChunkInfo info;
  std::string rack;
};

/// Of a chunk that need not be open, whole or damaged.
struct DamagedRange {
  ChunkInfo info;
  std::uint64_t offset = 0;
  std::uint32_t length = 0;
  std::string rack{};
};

struct WriteStart {
  ChunkId id;
  std::uint64_t expected_length = 0;
  std::string self;
  std::vector<std::string> targets;
  std::string rack{};
  std::uint64_t key = 0;  // as the master gave it; 0: of a worker, or of an earlier release
};

struct WritePosition {
  ChunkId id;
  std::uint64_t offset = 0;
};

Buffer encode_open(const ChunkWanted& wanted);
Result<ChunkWanted> decode_open(ByteView header);
Buffer encode_read(const ReadRange& range);
/// Whole pages, not more than kMostReadBytes.
Result<ReadRange> decode_read(ByteView header);
Buffer encode_damaged(const DamagedRange& range);
/// Whole pages (the last may end the chunk) within it, not more than kMostReadBytes.
Result<DamagedRange> decode_damaged(ByteView header);
/// The rack of a worker that answers.
Buffer encode_served(const std::string& rack);
/// Empty when the answer does not say it.
std::string decode_served(ByteView header);
Buffer encode_name(ChunkId id);
Result<ChunkId> decode_name(ByteView header);
Buffer encode_begin(const WriteStart& start);
Result<WriteStart> decode_begin(ByteView header);
Buffer encode_position(const WritePosition& position);
Result<WritePosition> decode_position(ByteView header);
Buffer encode_seal(const ChunkInfo& info);
Result<ChunkInfo> decode_seal(ByteView header);
Buffer encode_sealed(const ChunkWritten& written);
/// Without the info.
Result<ChunkWritten> decode_sealed(ByteView header);

}  // namespace weft::storage
