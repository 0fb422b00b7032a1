#include "storage/transfer/wire.hpp"

#include <fmt/core.h>

#include "base/hash.hpp"
#include "base/rpc/capnp.hpp"
#include "storage/transfer/chunks.capnp.h"

namespace weft::storage {
namespace {

constexpr std::size_t kMostAddressBytes = 512;

void fill(Info::Builder to, const ChunkInfo& info) {
  to.setId(info.id.value());
  to.setLength(info.length);
  to.setDigest(info.digest);
}

Result<ChunkInfo> info_of(Info::Reader from) {
  const ChunkInfo info{ChunkId(from.getId()), from.getLength(), from.getDigest()};
  if (info.id == ChunkId{} || info.length > kLargestChunkBytes)
    return fail(Code::invalid_argument, "no chunk has that id and length");
  return info;
}

Result<ChunkId> id_of(std::uint64_t value) {
  if (value == 0) return fail(Code::invalid_argument, "0 is no chunk");
  return ChunkId(value);
}

Result<std::string> address_of(capnp::Text::Reader text) {
  if (text.size() > kMostAddressBytes) return fail(Code::invalid_argument, "an address of a worker is too long");
  return std::string(rpc::text_view(text));
}

Result<std::vector<std::string>> addresses_of(capnp::List<capnp::Text>::Reader list) {
  if (list.size() > kMostTargets) return fail(Code::invalid_argument, fmt::format("more than {} targets of a chunk", kMostTargets));
  std::vector<std::string> addresses;
  for (const auto text : list) {
    WEFT_ASSIGN(std::string address, address_of(text));
    addresses.push_back(std::move(address));
  }
  return addresses;
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

Buffer encode_open(const ChunkInfo& info) {
  capnp::MallocMessageBuilder message;
  fill(message.initRoot<OpenChunk>().initInfo(), info);
  return rpc::flatten(message);
}

Result<ChunkInfo> decode_open(ByteView header) {
  return rpc::read_message<OpenChunk>(header, "a request to open a chunk",
                                      [](OpenChunk::Reader open) { return info_of(open.getInfo()); });
}

Buffer encode_read(const ReadRange& range) {
  capnp::MallocMessageBuilder message;
  auto root = message.initRoot<ReadPages>();
  root.setId(range.id.value());
  root.setOffset(range.offset);
  root.setLength(static_cast<std::uint32_t>(range.length));
  return rpc::flatten(message);
}

Result<ReadRange> decode_read(ByteView header) {
  return rpc::read_message<ReadPages>(header, "a request for pages", [](ReadPages::Reader read) -> Result<ReadRange> {
    WEFT_ASSIGN(const ChunkId id, id_of(read.getId()));
    const ReadRange range{id, read.getOffset(), read.getLength()};
    if (range.offset % kPageBytes != 0 || range.length == 0 || range.length > kMostReadBytes)
      return fail(Code::invalid_argument, fmt::format("{} bytes from {} on are no pages to ask for", range.length, range.offset));
    return range;
  });
}

Buffer encode_damaged(const DamagedRange& range) {
  capnp::MallocMessageBuilder message;
  auto root = message.initRoot<ReadDamaged>();
  fill(root.initInfo(), range.info);
  root.setOffset(range.offset);
  root.setLength(static_cast<std::uint32_t>(range.length));
  return rpc::flatten(message);
}

Result<DamagedRange> decode_damaged(ByteView header) {
  return rpc::read_message<ReadDamaged>(
      header, "a request for pages as they are", [](ReadDamaged::Reader read) -> Result<DamagedRange> {
        WEFT_ASSIGN(const ChunkInfo info, info_of(read.getInfo()));
        const DamagedRange range{info, read.getOffset(), read.getLength()};
        if (range.offset % kPageBytes != 0 || range.length == 0 || range.length > kMostReadBytes || range.offset > info.length ||
            range.length > info.length - range.offset)
          return fail(Code::invalid_argument,
                      fmt::format("{} bytes from {} on are no pages of a chunk of {}", range.length, range.offset, info.length));
        return range;
      });
}

Buffer encode_name(ChunkId id) {
  capnp::MallocMessageBuilder message;
  message.initRoot<NameChunk>().setId(id.value());
  return rpc::flatten(message);
}

Result<ChunkId> decode_name(ByteView header) {
  return rpc::read_message<NameChunk>(header, "a message about a chunk",
                                      [](NameChunk::Reader name) { return id_of(name.getId()); });
}

Buffer encode_begin(const WriteStart& start) {
  capnp::MallocMessageBuilder message;
  auto root = message.initRoot<BeginWrite>();
  root.setId(start.id.value());
  root.setExpectedLength(start.expected_length);
  root.setSelf(start.self);
  auto targets = root.initTargets(static_cast<unsigned>(start.targets.size()));
  for (unsigned i = 0; i < targets.size(); ++i) targets.set(i, start.targets[i]);
  return rpc::flatten(message);
}

Result<WriteStart> decode_begin(ByteView header) {
  return rpc::read_message<BeginWrite>(header, "a request to write a chunk", [](BeginWrite::Reader begin) -> Result<WriteStart> {
    WriteStart start;
    WEFT_ASSIGN(start.id, id_of(begin.getId()));
    start.expected_length = begin.getExpectedLength();
    WEFT_ASSIGN(start.self, address_of(begin.getSelf()));
    WEFT_ASSIGN(start.targets, addresses_of(begin.getTargets()));
    return start;
  });
}

Buffer encode_position(const WritePosition& position) {
  capnp::MallocMessageBuilder message;
  auto root = message.initRoot<WriteBytes>();
  root.setId(position.id.value());
  root.setOffset(position.offset);
  return rpc::flatten(message);
}

Result<WritePosition> decode_position(ByteView header) {
  return rpc::read_message<WriteBytes>(header, "bytes of a chunk", [](WriteBytes::Reader write) -> Result<WritePosition> {
    WEFT_ASSIGN(const ChunkId id, id_of(write.getId()));
    return WritePosition{id, write.getOffset()};
  });
}

Buffer encode_seal(const ChunkInfo& info) {
  capnp::MallocMessageBuilder message;
  fill(message.initRoot<SealChunk>().initInfo(), info);
  return rpc::flatten(message);
}

Result<ChunkInfo> decode_seal(ByteView header) {
  return rpc::read_message<SealChunk>(header, "a request to seal a chunk",
                                      [](SealChunk::Reader seal) { return info_of(seal.getInfo()); });
}

Buffer encode_sealed(const ChunkWritten& written) {
  capnp::MallocMessageBuilder message;
  auto root = message.initRoot<SealedChunk>();
  auto durable = root.initDurable(static_cast<unsigned>(written.durable.size()));
  for (unsigned i = 0; i < durable.size(); ++i) durable.set(i, written.durable[i]);
  auto failures = root.initFailures(static_cast<unsigned>(written.failures.size()));
  for (unsigned i = 0; i < failures.size(); ++i) {
    failures[i].setAddress(written.failures[i].address);
    failures[i].setCode(static_cast<std::uint8_t>(written.failures[i].error.code()));
    failures[i].setMessage(written.failures[i].error.to_string());
  }
  return rpc::flatten(message);
}

Result<ChunkWritten> decode_sealed(ByteView header) {
  return rpc::read_message<SealedChunk>(
      header, "the end of a chunk's writing", [](SealedChunk::Reader sealed) -> Result<ChunkWritten> {
        ChunkWritten written;
        WEFT_ASSIGN(written.durable, addresses_of(sealed.getDurable()));
        if (sealed.getFailures().size() > kMostTargets)
          return fail(Code::corrupt, "more failures than there are targets of a chunk");
        for (const auto failure : sealed.getFailures()) {
          WEFT_ASSIGN(std::string address, address_of(failure.getAddress()));
          written.failures.push_back(
              {std::move(address), Error(code_of(failure.getCode()), std::string(rpc::text_view(failure.getMessage())))});
        }
        return written;
      });
}

}  // namespace weft::storage
