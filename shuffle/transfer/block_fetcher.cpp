#include "shuffle/transfer/block_fetcher.hpp"

#include <algorithm>
#include <utility>

#include "base/rpc/capnp.hpp"
#include "base/rpc/payload.hpp"
#include "shuffle/transfer/block_server.hpp"
#include "shuffle/transfer/receive_buffer.hpp"
#include "shuffle/transfer/transfer.capnp.h"

namespace weft::shuffle {
namespace {

constexpr Duration kIdle = std::chrono::seconds(1);  // then nothing is kept for recycling

/// Blocks on their way into a receive buffer.
class BlockPull final : public Pull {
 public:
  BlockPull(FetchRequest request, const FetchOptions& options, std::shared_ptr<SharedPool> pool)
      : wanted_(std::move(request)),
        options_(options),
        buffer_(static_cast<std::uint32_t>(wanted_.maps.size()), std::move(pool),
                options_.owner ? options_.owner(wanted_.job) : 0) {}

  const FetchRequest& wanted() const { return wanted_; }
  /// The first output of which not everything is there.
  MapAttempt next_map() const { return wanted_.maps[std::min<std::size_t>(buffer_.position().first, wanted_.maps.size() - 1)]; }
  Result<SealedSegment> seal() { return buffer_.seal(); }

  Result<void> begin() override {
    if (wanted_.maps.empty()) return fail(Code::invalid_argument, "a fetch of map output names no map");
    return {};
  }
  rpc::MessageType type() const override { return kFetchBlocks; }
  Buffer request() override {
    requested_ = buffer_.position();
    capnp::MallocMessageBuilder message;
    auto root = message.initRoot<FetchBlocks>();
    root.setJob(wanted_.job.value());
    root.setShuffle(wanted_.shuffle.value());
    root.setPartition(wanted_.partition);
    auto maps = root.initMaps(static_cast<unsigned>(wanted_.maps.size()));
    for (unsigned i = 0; i < maps.size(); ++i) {
      maps[i].setMap(wanted_.maps[i].map);
      maps[i].setAttempt(wanted_.maps[i].attempt);
    }
    root.setFirstMap(requested_.first);
    root.setFirstExtent(requested_.second);
    root.setMaxBytes(options_.reply_bytes);
    root.setAcceptLz4(options_.accept_lz4);
    root.setFrom(rpc::text(options_.pull.self));
    root.setKey(options_.pull.keys->of(wanted_.job));
    return rpc::flatten(message);
  }
  rpc::BulkSink* sink() override { return &buffer_; }
  Result<bool> arrived(rpc::Message reply) override { return buffer_.arrived(reply.header.view()); }
  bool progressed() const override { return buffer_.position() != requested_; }
  std::uint64_t reply_bytes() const override { return buffer_.reply_bytes(); }

 private:
  const FetchRequest wanted_;
  const FetchOptions& options_;
  ReceiveBuffer buffer_;
  ReceiveBuffer::Position requested_{};  // where the last request began
};

}  // namespace

BlockFetcher::BlockFetcher(rpc::Reactor& reactor, FetchOptions options)
    : reactor_(reactor),
      options_(std::move(options)),
      pool_(std::make_shared<SharedPool>(options_.recycled_bytes)),
      queue_(reactor, reactor, options_.pull) {}
BlockFetcher::~BlockFetcher() = default;

void BlockFetcher::fetch(FetchRequest request, FetchDone done) {
  idle_.reset();
  const JobId job = request.job;
  std::string address = request.address;
  auto pull = std::make_shared<BlockPull>(std::move(request), options_, pool_);
  queue_.add(job, std::move(address), pull, [this, pull, done = std::move(done)](Result<void> outcome) {
    if (queue_.idle()) idle_ = reactor_.after(kIdle, [pool = pool_] { pool->clear(); });
    auto blocks = outcome ? pull->seal() : Result<SealedSegment>(fail(std::move(outcome).error()));
    if (blocks || pull->wanted().maps.empty()) return done({std::move(blocks), std::nullopt});
    const MapAttempt lost = pull->next_map();
    std::string what = "fetching the output of map " + std::to_string(lost.map) + " from " + pull->wanted().address;
    done({fail(std::move(blocks).error().wrap(std::move(what))), lost});
  });
}

}  // namespace weft::shuffle
