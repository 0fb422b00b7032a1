#include "shuffle/transfer/block_server.hpp"

#include <algorithm>
#include <limits>
#include <optional>
#include <string>
#include <utility>

#include <lz4.h>

#include "base/rpc/map_output_port.hpp"
#include "base/rpc/payload.hpp"
#include "shuffle/transfer/transfer.capnp.h"

namespace weft::shuffle {
namespace {

constexpr std::uint64_t kSmallestReply = 64u << 10;
constexpr std::uint64_t kLargestReply = 64u << 20;
constexpr std::size_t kMostExtents = 16u << 10;     // per reply; bounds its header
constexpr std::uint64_t kLargestPiece = 4u << 20;   // of a whole segment
constexpr std::uint64_t kLargestExtent = 1u << 30;  // what one extent may have to be sent at all
constexpr std::size_t kCopyBelow = 8u << 10;        // a copy is cheaper than one more piece to send
constexpr std::size_t kLongestAddress = 256;        // a peer that calls itself longer is not counted
constexpr std::size_t kTrialBytes = 64u << 10;
constexpr std::size_t kNotWorthCompressing = 512;

bool is_loopback(const std::string& peer) {
  return peer.starts_with("127.") || peer.starts_with("[::1]") || peer.starts_with("unix");
}

std::size_t wanted_size(std::size_t raw) { return raw / 10 * 7; }

/// Appends the compressed bytes to `out` and returns their length; 0, with `out` unchanged, when that does not pay.
std::size_t compress(ByteView raw, bool always, std::vector<std::byte>& out) {
  if (raw.empty() || raw.size() > LZ4_MAX_INPUT_SIZE || (!always && raw.size() < kNotWorthCompressing)) return 0;
  const auto attempt = [&](ByteView bytes) -> std::size_t {
    const std::size_t before = out.size();
    // Less room than the worst case: LZ4 gives up early when the result would be too large.
    const std::size_t room =
        always ? static_cast<std::size_t>(LZ4_compressBound(static_cast<int>(bytes.size()))) : wanted_size(bytes.size());
    out.resize(before + room);
    const int size = LZ4_compress_default(reinterpret_cast<const char*>(bytes.data()), reinterpret_cast<char*>(out.data() + before),
                                          static_cast<int>(bytes.size()), static_cast<int>(room));
    out.resize(before + static_cast<std::size_t>(std::max(size, 0)));
    return static_cast<std::size_t>(std::max(size, 0));
  };
  if (!always && raw.size() > kTrialBytes) {
    const std::size_t trial = attempt(raw.first(kTrialBytes));
    out.resize(out.size() - trial);
    if (trial == 0) return 0;
  }
  return attempt(raw);
}

/// The output is there; what it takes to open it is not.
bool may_come_back(const Error& why) { return why.code() == Code::resource_exhausted; }
/// What every release requests again.
Error not_now(Error why) { return std::move(why).wrap(Code::unavailable, "the worker is short of descriptors or memory"); }

struct Request {
  JobId job;
  ShuffleId shuffle;
  std::uint32_t partition = 0;
  std::vector<MapAttempt> maps;
  std::uint32_t first_map = 0;
  std::uint32_t first_extent = 0;
  std::uint64_t max_bytes = 0;
  bool accept_lz4 = false;
  std::string from;
  std::uint64_t key = 0;
};

Result<Request> decode(ByteView header) {
  return rpc::read_message<FetchBlocks>(header, "a request for map output", [](FetchBlocks::Reader reader) -> Result<Request> {
    Request request{JobId(reader.getJob()),        ShuffleId(reader.getShuffle()),
                    reader.getPartition(),         {},
                    reader.getFirstMap(),          reader.getFirstExtent(),
                    reader.getMaxBytes(),          reader.getAcceptLz4(),
                    rpc::string(reader.getFrom()), reader.getKey()};
    for (const auto map : reader.getMaps()) request.maps.push_back({map.getMap(), map.getAttempt()});
    if (request.first_map >= request.maps.size()) return fail(Code::invalid_argument, "a request for map output names no map");
    request.max_bytes = std::clamp(request.max_bytes, kSmallestReply, kLargestReply);
    return request;
  });
}

/// Collects extents until the reply is large enough.
class ReplyBuilder {
 public:
  /// `encrypted`: this process itself reads what is sent.
  ReplyBuilder(const Request& request, bool compress, bool always, bool encrypted)
      : request_(request), compress_(compress), always_(always), encrypted_(encrypted) {}

  Result<rpc::Payload> build(const Store& store) {
    for (std::uint32_t map = request_.first_map; map < request_.maps.size(); ++map) {
      auto segment = store.get({request_.job, request_.shuffle, request_.maps[map].map, request_.maps[map].attempt});
      if (!segment) {
        // What is collected goes out first; the next request starts here and is answered with the loss.
        if (!extents_.empty()) return finish(map, 0);
        if (may_come_back(segment.error())) return fail(not_now(std::move(segment).error()));
        return lost(map, segment.error());
      }
      WEFT_ASSIGN(const bool whole, add_map(map, *segment));
      if (unreadable_ && extents_.empty()) return lost(map, *unreadable_);
      if (!whole) return finish(map, next_extent_);
    }
    return finish(static_cast<std::uint32_t>(request_.maps.size()), 0);
  }

 private:
  struct Sent {
    std::uint32_t map;
    std::uint32_t records;
    std::uint64_t raw_length;
    std::uint64_t stored_length;
    std::uint32_t crc32c;
    bool compressed;
  };

  /// False when the reply is full before the map's end, or the next extent cannot be read (unreadable_); next_extent_ is where it
  /// goes on.
  Result<bool> add_map(std::uint32_t map, const std::shared_ptr<const Segment>& segment) {
    if (request_.partition >= segment->partitions())
      return fail(Code::invalid_argument, "partition " + std::to_string(request_.partition) + " is requested of map output with " +
                                              std::to_string(segment->partitions()));
    const auto extents = segment->extents(request_.partition);
    std::size_t at = map == request_.first_map ? request_.first_extent : 0;
    for (; at < extents.size(); ++at) {
      const bool full = bytes_ + extents[at].length > request_.max_bytes || extents_.size() >= kMostExtents;
      if (full && !extents_.empty()) return stop_at(at);
      if (extents[at].length > kLargestExtent)
        return fail(Code::resource_exhausted,
                    "a record of " + std::to_string(extents[at].length) + " bytes is too large to be sent");
      auto bytes = readable(segment, extents[at]);
      if (!bytes) {
        unreadable_ = std::move(bytes).error();
        return stop_at(at);
      }
      add(map, extents[at], *std::move(bytes));
    }
    return true;
  }

  /// Of a file that is damaged, or whose disk does not deliver it, nothing is compressed or sent. A process of the job may cut the
  /// file off even after the check: then the kernel fails to send from it, but this process would end by reading it.
  Result<SharedBytes> readable(const std::shared_ptr<const Segment>& segment, const Extent& extent) const {
    if (segment->home() != SegmentHome::file) return SharedBytes(segment->bytes(extent), segment);
    if (compress_ || encrypted_ || extent.length < kCopyBelow) {
      WEFT_ASSIGN(Buffer copy, verified_copy(*segment, extent));
      return SharedBytes(std::move(copy));
    }
    WEFT_ASSIGN(const ByteView bytes, verified(*segment, extent));
    return SharedBytes(bytes, segment);
  }

  bool stop_at(std::size_t extent) {
    next_extent_ = static_cast<std::uint32_t>(extent);
    return false;
  }

  void add(std::uint32_t map, const Extent& extent, SharedBytes bytes) {
    const ByteView raw = bytes.bytes;
    Sent sent{map, extent.records, raw.size(), raw.size(), extent.crc32c, false};
    if (const std::size_t size = compress_ ? compress(raw, always_, copied_) : 0; size != 0) {
      sent.stored_length = size;
      sent.compressed = true;
    } else if (raw.size() < kCopyBelow) {
      copied_.insert(copied_.end(), raw.begin(), raw.end());
    } else {
      flush_copied();
      bulk_.push_back(std::move(bytes));
    }
    bytes_ += sent.stored_length;
    extents_.push_back(sent);
  }

  void flush_copied() {
    if (copied_.empty()) return;
    auto owner = std::make_shared<const std::vector<std::byte>>(std::exchange(copied_, {}));
    bulk_.emplace_back(ByteView(*owner), owner);
  }

  Result<rpc::Payload> finish(std::uint32_t next_map, std::uint32_t next_extent) {
    flush_copied();
    capnp::MallocMessageBuilder message;
    auto root = message.initRoot<Blocks>();
    root.setComplete(next_map == request_.maps.size());
    root.setNextMap(next_map);
    root.setNextExtent(next_extent);
    auto list = root.initExtents(static_cast<unsigned>(extents_.size()));
    for (unsigned i = 0; i < list.size(); ++i) {
      const Sent& sent = extents_[i];
      list[i].setMap(sent.map);
      list[i].setRecords(sent.records);
      list[i].setRawLength(sent.raw_length);
      list[i].setStoredLength(sent.stored_length);
      list[i].setCrc32c(sent.crc32c);
      list[i].setCompressed(sent.compressed);
    }
    return rpc::Payload{rpc::flatten(message), std::move(bulk_), {}};
  }

  static Result<rpc::Payload> lost(std::uint32_t map, const Error& why) {
    capnp::MallocMessageBuilder message;
    auto root = message.initRoot<Blocks>();
    root.setLost(true);
    root.setLostMap(map);
    root.setReason(why.to_string());
    return rpc::payload(message);
  }

  const Request& request_;
  const bool compress_;
  const bool always_;
  const bool encrypted_;
  std::vector<Sent> extents_;
  std::vector<SharedBytes> bulk_;
  std::vector<std::byte> copied_;  // small and compressed extents since the last large one
  std::uint64_t bytes_ = 0;
  std::uint32_t next_extent_ = 0;
  std::optional<Error> unreadable_;  // why the extent there is
};

rpc::Payload lost_piece(const Error& why) {
  capnp::MallocMessageBuilder message;
  auto root = message.initRoot<SegmentPiece>();
  root.setLost(true);
  root.setReason(why.to_string());
  return rpc::payload(message);
}

}  // namespace

rpc::Limits transfer_limits() {
  rpc::Limits limits;
  limits.max_bulk = kLargestExtent + kLargestReply;
  limits.max_queued = std::size_t{16} << 30;  // mapped segments, not copies; the requests of a peer are bounded
  limits.max_requests = 256;
  limits.max_fds = 0;
  return limits;
}

BlockServer::BlockServer(const Store& store, std::shared_ptr<const JobKeys> keys, Compression compression,
                         std::shared_ptr<Links> links)
    : store_(store), keys_(std::move(keys)), compression_(compression), links_(std::move(links)) {}

rpc::Handler BlockServer::handler() const {
  rpc::Handler handler;
  handler.on_request = [server = *this](const rpc::ConnectionPtr& connection, rpc::Message message, rpc::Responder responder) {
    if (message.type == kFetchBlocks || message.type == kFetchSegment)
      return server.serve(connection, message, std::move(responder));
    responder.fail(Error(Code::invalid_argument, std::string(rpc::kMapOutputOnly)));
  };
  return handler;
}

void BlockServer::serve(const rpc::ConnectionPtr& connection, const rpc::Message& message, rpc::Responder responder) const {
  std::string from;
  auto reply = message.type == kFetchSegment ? segment_piece(*connection, message.header.view(), from)
                                             : blocks(*connection, message.header.view(), from);
  if (!reply) return responder.fail(reply.error());
  if (links_ && from.size() <= kLongestAddress) {
    std::uint64_t bytes = 0;
    for (const SharedBytes& piece : reply->bulk) bytes += piece.bytes.size();
    links_->sent(from.empty() ? connection->peer() : from, bytes);
  }
  responder.reply(std::move(*reply));
}

Result<rpc::Payload> BlockServer::blocks(const rpc::Connection& peer, ByteView header, std::string& from) const {
  WEFT_ASSIGN(const Request request, decode(header));
  WEFT_TRY(keys_->check(peer, request.job, request.key));
  from = request.from;
  const bool always = compression_ == Compression::always;
  const bool compress = request.accept_lz4 && compression_ != Compression::never && (always || !is_loopback(peer.peer()));
  return ReplyBuilder(request, compress, always, peer.identity() != nullptr).build(store_);
}

Result<rpc::Payload> BlockServer::segment_piece(const rpc::Connection& peer, ByteView header, std::string& from) const {
  return rpc::read_message<FetchSegment>(header, "a request for a segment", [&](FetchSegment::Reader in) -> Result<rpc::Payload> {
    WEFT_TRY(keys_->check(peer, JobId(in.getJob()), in.getKey()));
    from = rpc::string(in.getFrom());
    const auto segment = store_.get({JobId(in.getJob()), ShuffleId(in.getShuffle()), in.getMap(), in.getAttempt()});
    if (!segment && may_come_back(segment.error())) return fail(not_now(segment.error()));
    if (!segment) return lost_piece(segment.error());
    capnp::MallocMessageBuilder message;
    auto root = message.initRoot<SegmentPiece>();
    const ByteView file = (*segment)->file();
    if (in.getOffset() >= file.size()) return fail(Code::invalid_argument, "a request for bytes behind the end of a segment");
    root.setSize(file.size());
    const std::uint64_t most = std::clamp(in.getMaxBytes(), kSmallestReply, kLargestPiece);
    const ByteView rest = file.subspan(in.getOffset());
    const ByteView piece = rest.first(std::min<std::size_t>(rest.size(), most));
    if ((*segment)->home() == SegmentHome::file && peer.identity() != nullptr) {  // this process itself reads what is encrypted
      auto copy = readable_copy(**segment, piece);
      return copy ? rpc::payload(message, SharedBytes(*std::move(copy))) : lost_piece(copy.error());
    }
    if (const auto readable = check_readable(**segment, piece); !readable) return lost_piece(readable.error());
    return rpc::payload(message, SharedBytes(piece, *segment));
  });
}

}  // namespace weft::shuffle
