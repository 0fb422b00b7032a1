#include "shuffle/transfer/segment_replicator.hpp"

#include <memory>
#include <utility>

#include "base/rpc/capnp.hpp"
#include "base/rpc/payload.hpp"
#include "shuffle/transfer/block_server.hpp"
#include "shuffle/transfer/segment_receiver.hpp"
#include "shuffle/transfer/transfer.capnp.h"

namespace weft::shuffle {
namespace {

/// A whole segment on its way into the store.
class SegmentPull final : public Pull {
 public:
  SegmentPull(Store& store, const ReplicaRequest& wanted, const ReplicationOptions& options)
      : store_(store), key_(wanted.key), options_(options), receiver_(store, wanted.key.job, wanted.to_disk) {}

  const SegmentKey& key() const { return key_; }

  Result<void> begin() override { return {}; }
  rpc::MessageType type() const override { return kFetchSegment; }
  Buffer request() override {
    receiver_.expect();
    requested_ = receiver_.position();
    capnp::MallocMessageBuilder message;
    auto root = message.initRoot<FetchSegment>();
    root.setJob(key_.job.value());
    root.setShuffle(key_.shuffle.value());
    root.setMap(key_.map);
    root.setAttempt(key_.attempt);
    root.setOffset(requested_);
    root.setMaxBytes(options_.piece_bytes);
    root.setFrom(rpc::text(options_.pull.self));
    root.setKey(options_.pull.keys->of(key_.job));
    return rpc::flatten(message);
  }
  rpc::BulkSink* sink() override { return &receiver_; }
  Result<bool> arrived(rpc::Message reply) override { return receiver_.arrived(reply.header.view()); }
  bool progressed() const override { return receiver_.position() != requested_; }
  std::uint64_t reply_bytes() const override { return receiver_.reply_bytes(); }

  bool must_store(bool whole) const override { return whole || receiver_.must_write(); }
  Result<void> store(bool whole) override {
    if (receiver_.must_write()) WEFT_TRY(receiver_.write());
    if (!whole) return {};
    WEFT_ASSIGN(SealedSegment sealed, receiver_.seal());
    return store_.put(key_, std::move(sealed));
  }
  void undo() override { store_.release(key_); }

 private:
  Store& store_;
  const SegmentKey key_;
  const ReplicationOptions& options_;
  SegmentReceiver receiver_;
  std::uint64_t requested_ = 0;  // where the last request began
};

const SegmentKey& key_of(const Pull& pull) { return static_cast<const SegmentPull&>(pull).key(); }

}  // namespace

SegmentReplicator::SegmentReplicator(rpc::Reactor& reactor, rpc::Reactor& background, Store& store, ReplicationOptions options)
    : store_(store), options_(std::move(options)), queue_(reactor, background, options_.pull) {}

void SegmentReplicator::replicate(ReplicaRequest request, ReplicaDone done) {
  std::string what = "replicating the output of map " + std::to_string(request.key.map) + " from " + request.address;
  auto pull = std::make_shared<SegmentPull>(store_, request, options_);
  queue_.add(request.key.job, std::move(request.address), std::move(pull),
             [what = std::move(what), done = std::move(done)](Result<void> outcome) {
               if (!outcome) outcome = fail(std::move(outcome).error().wrap(what));
               done(std::move(outcome));
             });
}

void SegmentReplicator::drop(JobId job, ShuffleId shuffle) {
  queue_.drop([=](const Pull& pull) { return key_of(pull).job == job && key_of(pull).shuffle == shuffle; });
}
void SegmentReplicator::drop(JobId job) {
  queue_.drop([=](const Pull& pull) { return key_of(pull).job == job; });
}

}  // namespace weft::shuffle
