#include "storage/transfer/wire.hpp"

#include <fmt/core.h>

#include "base/hash.hpp"
#include "base/rpc/versioned.hpp"
#include "storage/transfer/chunks.capnp.h"

namespace weft::storage {
namespace {

constexpr std::size_t kMostAddressBytes = 512;

/// The messages that are one value; SealedChunk's failures.
struct OfInfo {
  ChunkInfo info;
};
struct OfRack {
  std::string rack;
};
struct OfId {
  ChunkId id;
};
struct Failure {
  std::string address;
  std::uint8_t code = 0;
  std::string message;
};
struct Sealed {
  std::vector<std::string> durable;
  std::vector<Failure> failures;
};

Result<void> check(const ChunkInfo& info) {
  if (info.id != ChunkId{} && info.length <= kLargestChunkBytes) return {};
  return fail(Code::invalid_argument, "no chunk has that id and length");
}

Result<void> check(ChunkId id) {
  if (id != ChunkId{}) return {};
  return fail(Code::invalid_argument, "0 is no chunk");
}

Result<void> check_address(const std::string& address) {
  if (address.size() <= kMostAddressBytes) return {};
  return fail(Code::invalid_argument, "an address of a worker is too long");
}

Result<void> check(const std::vector<std::string>& addresses) {
  if (addresses.size() > kMostTargets)
    return fail(Code::invalid_argument, fmt::format("more than {} targets of a chunk", kMostTargets));
  for (const std::string& address : addresses) WEFT_TRY(check_address(address));
  return {};
}

Result<ChunkInfo> info_in(Result<OfInfo> message) {
  if (!message) return fail(std::move(message).error());
  WEFT_TRY(check(message->info));
  return message->info;
}

Code code_of(std::uint8_t value) {
  return value >= 1 && value <= static_cast<std::uint8_t>(Code::internal) ? static_cast<Code>(value) : Code::internal;
}

}  // namespace

rpc::Limits chunk_limits() {
  rpc::Limits limits;
  limits.max_header = 64u << 10;
  limits.max_bulk = 16u << 20;
  limits.max_fds = 1;
  limits.max_requests = 64;
  limits.max_queued = std::size_t{1} << 30;  // mapped chunks, not copies; the requests of a peer are bounded
  return limits;
}

Result<rpc::Endpoint> chunk_neighbour_endpoint(const std::string& data_address) {
  return rpc::Endpoint::parse(fmt::format("unix:@weft-chunks-{:016x}", hash64(as_bytes(data_address))));
}

Buffer encode_open(const ChunkWanted& wanted) { return rpc::encode_versioned<OpenChunk>(wanted); }
Result<ChunkWanted> decode_open(ByteView header) {
  WEFT_ASSIGN(auto wanted, (rpc::decode_versioned<OpenChunk, ChunkWanted>(header, "a request to open a chunk")));
  WEFT_TRY(check(wanted.info));
  return wanted;
}

Buffer encode_read(const ReadRange& range) { return rpc::encode_versioned<ReadPages>(range); }
Result<ReadRange> decode_read(ByteView header) {
  WEFT_ASSIGN(const auto range, (rpc::decode_versioned<ReadPages, ReadRange>(header, "a request for pages")));
  WEFT_TRY(check(range.id));
  if (range.offset % kPageBytes != 0 || range.length == 0 || range.length > kMostReadBytes)
    return fail(Code::invalid_argument, fmt::format("{} bytes from {} on are no pages to ask for", range.length, range.offset));
  return range;
}

Buffer encode_damaged(const DamagedRange& range) { return rpc::encode_versioned<ReadDamaged>(range); }
Result<DamagedRange> decode_damaged(ByteView header) {
  WEFT_ASSIGN(auto range, (rpc::decode_versioned<ReadDamaged, DamagedRange>(header, "a request for pages as they are")));
  WEFT_TRY(check(range.info));
  if (range.offset % kPageBytes != 0 || range.length == 0 || range.length > kMostReadBytes || range.offset > range.info.length ||
      range.length > range.info.length - range.offset)
    return fail(Code::invalid_argument,
                fmt::format("{} bytes from {} on are no pages of a chunk of {}", range.length, range.offset, range.info.length));
  return range;
}

Buffer encode_served(const std::string& rack) { return rack.empty() ? Buffer() : rpc::encode_versioned<Served>(OfRack{rack}); }
std::string decode_served(ByteView header) {
  if (header.empty()) return {};
  auto served = rpc::decode_versioned<Served, OfRack>(header, "an answer about a chunk");
  return served ? std::move(served->rack) : std::string();
}

Buffer encode_name(ChunkId id) { return rpc::encode_versioned<NameChunk>(OfId{id}); }
Result<ChunkId> decode_name(ByteView header) {
  WEFT_ASSIGN(const auto name, (rpc::decode_versioned<NameChunk, OfId>(header, "a message about a chunk")));
  WEFT_TRY(check(name.id));
  return name.id;
}

Buffer encode_begin(const WriteStart& start) { return rpc::encode_versioned<BeginWrite>(start); }
Result<WriteStart> decode_begin(ByteView header) {
  WEFT_ASSIGN(auto start, (rpc::decode_versioned<BeginWrite, WriteStart>(header, "a request to write a chunk")));
  WEFT_TRY(check(start.id));
  WEFT_TRY(check_address(start.self));
  WEFT_TRY(check(start.targets));
  return start;
}

Buffer encode_position(const WritePosition& position) { return rpc::encode_versioned<WriteBytes>(position); }
Result<WritePosition> decode_position(ByteView header) {
  WEFT_ASSIGN(const auto position, (rpc::decode_versioned<WriteBytes, WritePosition>(header, "bytes of a chunk")));
  WEFT_TRY(check(position.id));
  return position;
}

Buffer encode_seal(const ChunkInfo& info) { return rpc::encode_versioned<SealChunk>(OfInfo{info}); }
Result<ChunkInfo> decode_seal(ByteView header) {
  return info_in(rpc::decode_versioned<SealChunk, OfInfo>(header, "a request to seal a chunk"));
}

Buffer encode_sealed(const ChunkWritten& written) {
  Sealed sealed{written.durable, {}};
  for (const auto& failure : written.failures)
    sealed.failures.push_back({failure.address, static_cast<std::uint8_t>(failure.error.code()), failure.error.to_string()});
  return rpc::encode_versioned<SealedChunk>(sealed);
}

Result<ChunkWritten> decode_sealed(ByteView header) {
  WEFT_ASSIGN(auto sealed, (rpc::decode_versioned<SealedChunk, Sealed>(header, "the end of a chunk's writing")));
  WEFT_TRY(check(sealed.durable));
  if (sealed.failures.size() > kMostTargets) return fail(Code::corrupt, "more failures than there are targets of a chunk");
  ChunkWritten written;
  written.durable = std::move(sealed.durable);
  for (Failure& failure : sealed.failures) {
    WEFT_TRY(check_address(failure.address));
    written.failures.push_back({std::move(failure.address), Error(code_of(failure.code), std::move(failure.message))});
  }
  return written;
}

}  // namespace weft::storage
