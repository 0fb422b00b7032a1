#include <algorithm>
#include <deque>
#include <optional>
#include <set>
#include <utility>

#include <lz4.h>

#include "base/clock.hpp"
#include "base/crc32c.hpp"
#include "base/rpc/capnp.hpp"
#include "base/rpc/peers.hpp"
#include "shuffle/transfer.capnp.h"
#include "shuffle/transfer.hpp"

namespace weft::shuffle {
namespace {

constexpr std::uint64_t kLargestExtent = 1u << 30;

/// One fetch() under way.
struct Fetch {
  FetchRequest request;
  FetchDone done;
  std::unique_ptr<SegmentWriter> writer;
  std::uint32_t next_map = 0;
  std::uint32_t next_extent = 0;
  std::uint32_t failures = 0;      // since there was progress
  TimePoint progress{};            // when there last was
  std::optional<Error> forgotten;  // why
  std::unique_ptr<rpc::Timer> timer;
};
using FetchPtr = std::shared_ptr<Fetch>;

tl::unexpected<Error> damaged(std::string what) {
  return fail(Code::corrupt, "damaged reply to a request for map output: " + what);
}

Buffer encode(const Fetch& fetch, const FetchOptions& options) {
  capnp::MallocMessageBuilder message;
  auto root = message.initRoot<FetchBlocks>();
  root.setJob(fetch.request.job.value());
  root.setShuffle(fetch.request.shuffle.value());
  root.setPartition(fetch.request.partition);
  auto maps = root.initMaps(static_cast<unsigned>(fetch.request.maps.size()));
  for (unsigned i = 0; i < maps.size(); ++i) {
    maps[i].setMap(fetch.request.maps[i].map);
    maps[i].setAttempt(fetch.request.maps[i].attempt);
  }
  root.setFirstMap(fetch.next_map);
  root.setFirstExtent(fetch.next_extent);
  root.setMaxBytes(options.reply_bytes);
  root.setAcceptLz4(options.accept_lz4);
  return rpc::flatten(message);
}

/// Puts a reply's extents into the fetch's segment. On an error the fetch stands behind the last good extent.
class Unpacker {
 public:
  Unpacker(Fetch& fetch, ByteView bulk) : fetch_(fetch), bulk_(bulk) {}

  /// True when all maps are there.
  Result<bool> unpack(Blocks::Reader blocks) {
    if (blocks.getLost()) return lost(blocks);
    for (const auto extent : blocks.getExtents()) WEFT_TRY(add(extent));
    if (!bulk_.empty()) return damaged("bytes without an extent");
    const auto maps = fetch_.request.maps.size();
    if (blocks.getComplete()) return true;
    const auto before = std::pair(fetch_.next_map, fetch_.next_extent);
    const auto next = std::pair(blocks.getNextMap(), blocks.getNextExtent());
    if (next < before || next.first >= maps || blocks.getExtents().size() == 0) return damaged("it leads nowhere");
    std::tie(fetch_.next_map, fetch_.next_extent) = next;
    return false;
  }

 private:
  tl::unexpected<Error> lost(Blocks::Reader blocks) {
    if (blocks.getLostMap() < fetch_.next_map || blocks.getLostMap() >= fetch_.request.maps.size()) return damaged("unknown map");
    fetch_.next_map = blocks.getLostMap();
    fetch_.next_extent = 0;
    return fail(Code::not_found, std::string(rpc::text_view(blocks.getReason())));
  }

  Result<void> add(Blocks::Extent::Reader extent) {
    if (extent.getMap() < fetch_.next_map || extent.getMap() >= fetch_.request.maps.size()) return damaged("unknown map");
    if (extent.getMap() != fetch_.next_map) fetch_.next_extent = 0;
    fetch_.next_map = extent.getMap();  // from here on it is this map's fault
    if (extent.getStoredLength() > bulk_.size()) return damaged("extents are longer than the bytes that came");
    const ByteView stored = bulk_.first(extent.getStoredLength());
    bulk_ = bulk_.subspan(stored.size());
    WEFT_ASSIGN(const ByteView raw, extent.getCompressed() ? decompress(stored, extent.getRawLength()) : Result<ByteView>(stored));
    if (raw.size() != extent.getRawLength() || crc32c(raw) != extent.getCrc32c()) return damaged("checksum mismatch");
    WEFT_TRY(fetch_.writer->append(extent.getMap(), raw, extent.getRecords()));
    ++fetch_.next_extent;
    return {};
  }

  Result<ByteView> decompress(ByteView stored, std::uint64_t raw_length) {
    // LZ4 cannot do better than 255 to 1, so a length beyond that is a lie and not worth its memory.
    if (raw_length > kLargestExtent || raw_length / 255 > stored.size() + 16) return damaged("impossible length");
    if (scratch_.size() < raw_length) scratch_ = Buffer(raw_length);
    const int size = LZ4_decompress_safe(reinterpret_cast<const char*>(stored.data()), reinterpret_cast<char*>(scratch_.data()),
                                         static_cast<int>(stored.size()), static_cast<int>(raw_length));
    if (size < 0 || static_cast<std::uint64_t>(size) != raw_length) return damaged("compressed bytes are no LZ4");
    return ByteView(scratch_.data(), raw_length);
  }

  Fetch& fetch_;
  ByteView bulk_;
  Buffer scratch_;
};

bool worth_retrying(Code code) {
  return code == Code::unavailable || code == Code::deadline_exceeded || code == Code::corrupt || code == Code::cancelled ||
         code == Code::io;
}

}  // namespace

class BlockFetcher::Impl : public std::enable_shared_from_this<Impl> {
 public:
  Impl(rpc::Reactor& reactor, FetchOptions options)
      : reactor_(reactor),
        options_(options),
        peers_(std::in_place, reactor, rpc::PeersOptions{transfer_limits(), options.reply_deadline}) {}

  void enqueue(FetchRequest request, FetchDone done) {
    auto fetch = std::make_shared<Fetch>();
    fetch->request = std::move(request);
    fetch->done = std::move(done);
    waiting_.push_back(std::move(fetch));
    reactor_.post([weak = weak_from_this()] {
      if (const auto self = weak.lock()) self->pump();
    });
  }

  void forget(const std::string& address, const Error& why) {
    for (const FetchPtr& fetch : waiting_)
      if (fetch->request.address == address) fetch->forgotten = why;
    std::vector<FetchPtr> idle;
    for (const FetchPtr& fetch : active_)
      if (fetch->request.address == address) {
        fetch->forgotten = why;
        if (fetch->timer) idle.push_back(fetch);  // between two attempts
      }
    peers_->forget(address);
    for (const FetchPtr& fetch : idle) failed(fetch, why);
  }

  void shutdown() {
    closed_ = true;
    waiting_.clear();
    active_.clear();
    peers_.reset();
  }

 private:
  void pump() {
    while (!waiting_.empty() && active_.size() < options_.in_flight && !closed_) {
      FetchPtr fetch = std::move(waiting_.front());
      waiting_.pop_front();
      active_.insert(fetch);
      begin(fetch);
    }
  }

  void begin(const FetchPtr& fetch) {
    fetch->progress = clock_.now();
    if (fetch->request.maps.empty())
      return finish(fetch, {fail(Code::invalid_argument, "a fetch of map output names no map"), std::nullopt});
    if (fetch->forgotten) return give_up(fetch, *fetch->forgotten);
    auto writer = SegmentWriter::in_memory(static_cast<std::uint32_t>(fetch->request.maps.size()));
    if (!writer) return give_up(fetch, std::move(writer).error());
    fetch->writer = std::move(*writer);
    attempt(fetch);
  }

  void attempt(const FetchPtr& fetch) {
    fetch->timer.reset();
    peers_->get(fetch->request.address, [this, fetch](const Result<rpc::ConnectionPtr>& connection) {
      connection ? ask(fetch, *connection) : failed(fetch, connection.error());
    });
  }

  void ask(const FetchPtr& fetch, const rpc::ConnectionPtr& connection) {
    rpc::Payload payload;
    payload.header = encode(*fetch, options_);
    connection->request(kFetchBlocks, std::move(payload), options_.reply_deadline,
                        [weak = weak_from_this(), fetch](Result<rpc::Message> reply) {
                          const auto self = weak.lock();
                          if (self && !self->closed_) self->answered(fetch, std::move(reply));
                        });
  }

  void answered(const FetchPtr& fetch, Result<rpc::Message> reply) {
    if (!reply) return failed(fetch, std::move(reply).error());
    const auto before = std::pair(fetch->next_map, fetch->next_extent);
    const auto complete = rpc::read_message<Blocks>(
        {reply->header.data(), reply->header.size()}, "a reply to a request for map output", [&](Blocks::Reader blocks) {
          return Unpacker(*fetch, {reply->bulk.data(), reply->bulk.size()}).unpack(blocks);
        });
    if (std::pair(fetch->next_map, fetch->next_extent) != before) {
      fetch->failures = 0;
      fetch->progress = clock_.now();
    }
    if (!complete) return failed(fetch, complete.error());
    if (!*complete) return attempt(fetch);
    auto sealed = fetch->writer->seal();
    if (!sealed) return give_up(fetch, std::move(sealed).error());
    finish(fetch, {std::move(sealed), std::nullopt});
  }

  void failed(const FetchPtr& fetch, Error why) {
    const bool late = clock_.now() - fetch->progress >= options_.deadline;
    if (fetch->forgotten) return give_up(fetch, *fetch->forgotten);
    if (!worth_retrying(why.code()) || ++fetch->failures >= options_.attempts || late) return give_up(fetch, std::move(why));
    const auto delay = options_.backoff * (1u << std::min(fetch->failures - 1, 16u));
    fetch->timer = reactor_.after(delay, [weak = weak_from_this(), fetch_weak = std::weak_ptr(fetch)] {
      const auto self = weak.lock();
      const auto again = fetch_weak.lock();
      if (self && again && !self->closed_) self->attempt(again);
    });
  }

  void give_up(const FetchPtr& fetch, Error why) {
    const MapAttempt lost = fetch->request.maps[std::min<std::size_t>(fetch->next_map, fetch->request.maps.size() - 1)];
    std::string what = "fetching the output of map " + std::to_string(lost.map) + " from " + fetch->request.address;
    finish(fetch, {fail(std::move(why).wrap(std::move(what))), lost});
  }

  void finish(const FetchPtr& fetch, FetchOutcome outcome) {
    fetch->timer.reset();
    if (active_.erase(fetch) == 0) return;
    const FetchDone done = std::move(fetch->done);
    done(std::move(outcome));
    pump();
  }

  rpc::Reactor& reactor_;
  const FetchOptions options_;
  const SystemClock clock_;
  std::optional<rpc::Peers> peers_;  // calls nothing back once it is gone
  std::deque<FetchPtr> waiting_;
  std::set<FetchPtr> active_;
  bool closed_ = false;
};

BlockFetcher::BlockFetcher(rpc::Reactor& reactor, FetchOptions options) : impl_(std::make_shared<Impl>(reactor, options)) {}
BlockFetcher::~BlockFetcher() { impl_->shutdown(); }
void BlockFetcher::fetch(FetchRequest request, FetchDone done) { impl_->enqueue(std::move(request), std::move(done)); }
void BlockFetcher::forget(const std::string& address, const Error& why) { impl_->forget(address, why); }

}  // namespace weft::shuffle
