#include "shuffle/transfer/segment_replicator.hpp"

#include <algorithm>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "base/clock.hpp"
#include "base/rpc/capnp.hpp"
#include "base/rpc/peers.hpp"
#include "shuffle/transfer/segment_receiver.hpp"
#include "shuffle/transfer/transfer.capnp.h"
#include "shuffle/transfer/transfer.hpp"

namespace weft::shuffle {
namespace {

/// One copy() under way.
struct Copy {
  ReplicaRequest request;
  ReplicaDone done;
  std::uint64_t number = 0;  // in the order of copy()
  std::shared_ptr<SegmentReceiver> landing;
  TimePoint asked_at{};
  std::uint32_t failures = 0;      // since there was progress
  std::optional<Error> forgotten;  // why
  bool dropped = false;
  std::unique_ptr<rpc::Timer> timer;
};
using CopyPtr = std::shared_ptr<Copy>;

Buffer encode(const Copy& copy, std::uint64_t piece_bytes) {
  capnp::MallocMessageBuilder message;
  auto root = message.initRoot<FetchSegment>();
  root.setJob(copy.request.key.job.value());
  root.setShuffle(copy.request.key.shuffle.value());
  root.setMap(copy.request.key.map);
  root.setAttempt(copy.request.key.attempt);
  root.setOffset(copy.landing->position());
  root.setMaxBytes(piece_bytes);
  return rpc::flatten(message);
}

bool worth_retrying(Code code) {
  return code == Code::unavailable || code == Code::deadline_exceeded || code == Code::corrupt || code == Code::cancelled;
}

/// The whole segment, checked, into the store.
Result<void> store_copy(Store& store, const SegmentKey& key, SegmentReceiver& landing) {
  WEFT_ASSIGN(SealedSegment sealed, landing.seal());
  return store.put(key, std::move(sealed));
}

}  // namespace

class SegmentReplicator::Impl : public std::enable_shared_from_this<Impl> {
 public:
  Impl(rpc::Reactor& reactor, rpc::Reactor& chores, Store& store, ReplicationOptions options)
      : reactor_(reactor),
        chores_(chores),
        store_(store),
        options_(options),
        peers_(std::in_place, reactor, rpc::PeersOptions{transfer_limits(), options.reply_deadline}) {}

  void copy(ReplicaRequest request, ReplicaDone done) {
    auto copy = std::make_shared<Copy>();
    copy->request = std::move(request);
    copy->done = std::move(done);
    copy->number = next_number_++;
    nodes_[copy->request.address].waiting.push_back(std::move(copy));
    pump_soon();
  }

  template <class Matches>
  void drop(Matches matches) {
    for (auto& [address, node] : nodes_)
      std::erase_if(node.waiting, [&](const CopyPtr& copy) { return matches(copy->request.key); });
    std::erase_if(nodes_, [](const auto& entry) { return entry.second.active == 0 && entry.second.waiting.empty(); });
    for (const CopyPtr& copy : active_)
      if (matches(copy->request.key)) copy->dropped = true;  // found out when its next reply comes
  }

  void forget(const std::string& address, const Error& why) {
    if (const auto node = nodes_.find(address); node != nodes_.end())
      for (const CopyPtr& copy : node->second.waiting) copy->forgotten = why;
    std::vector<CopyPtr> idle;
    for (const CopyPtr& copy : active_) {
      if (copy->request.address != address) continue;
      copy->forgotten = why;
      if (copy->timer) idle.push_back(copy);  // between two attempts
    }
    peers_->forget(address);
    for (const CopyPtr& copy : idle) failed(copy, why);
  }

  void shutdown() {
    closed_ = true;
    nodes_.clear();
    active_.clear();
    peers_.reset();
  }

 private:
  struct Node {
    std::deque<CopyPtr> waiting;
    std::uint32_t active = 0;
  };

  void pump_soon() {
    if (std::exchange(pumping_, true)) return;
    reactor_.post([weak = weak_from_this()] {
      const auto self = weak.lock();
      if (!self || self->closed_) return;
      self->pumping_ = false;
      self->pump();
    });
  }

  void pump() {
    while (active_.size() < options_.in_flight) {
      Node* const node = next_node();
      if (node == nullptr) return;
      const CopyPtr copy = std::move(node->waiting.front());
      node->waiting.pop_front();
      ++node->active;
      active_.insert(copy);
      if (copy->forgotten) {
        finish(copy, fail(*copy->forgotten));
        continue;
      }
      copy->landing = std::make_shared<SegmentReceiver>(store_, copy->request.key.job, copy->request.to_disk);
      attempt(copy);
    }
  }

  /// The one whose first copy waits longest, of those that may be asked.
  Node* next_node() {
    Node* next = nullptr;
    for (auto& [address, node] : nodes_) {
      if (node.waiting.empty() || node.active >= options_.in_flight_per_node) continue;
      if (next == nullptr || node.waiting.front()->number < next->waiting.front()->number) next = &node;
    }
    return next;
  }

  void attempt(const CopyPtr& copy) {
    copy->timer.reset();
    if (options_.cap) {
      const Duration early = options_.cap->free_at(copy->request.address) - clock_.now();
      if (early > Duration(0)) return attempt_after(copy, early);
    }
    peers_->get(copy->request.address, [this, copy](const Result<rpc::ConnectionPtr>& connection) {
      connection ? ask(copy, *connection) : failed(copy, connection.error());
    });
  }

  void ask(const CopyPtr& copy, const rpc::ConnectionPtr& connection) {
    copy->landing->expect();
    copy->asked_at = clock_.now();
    connection->request(
        kFetchSegment, {encode(*copy, options_.piece_bytes), {}, {}}, options_.reply_deadline,
        [weak = weak_from_this(), copy](const Result<rpc::Message>& reply) {
          const auto self = weak.lock();
          if (self && !self->closed_) self->answered(copy, reply);
        },
        copy->landing);
  }

  void answered(const CopyPtr& copy, const Result<rpc::Message>& reply) {
    if (options_.cap && reply) options_.cap->took(copy->request.address, copy->asked_at, copy->landing->reply_bytes());
    if (copy->dropped) return finish(copy, {});
    const auto whole = reply ? copy->landing->arrived(reply->header.view()) : Result<bool>(fail(reply.error()));
    if (!whole) return failed(copy, whole.error());
    copy->failures = 0;
    if (!*whole && !copy->landing->must_write()) return attempt(copy);
    chores_.post(
        [weak = weak_from_this(), &reactor = reactor_, &store = store_, copy, landing = copy->landing, whole = *whole]() mutable {
          Result<void> done = landing->must_write() ? landing->write() : Result<void>();
          if (done && whole) done = store_copy(store, copy->request.key, *landing);
          landing.reset();  // the last to let go of its room is who tells of the end
          reactor.post([weak, copy, done, whole] {
            const auto self = weak.lock();
            if (self && !self->closed_) self->stored(copy, done, whole);
          });
        });
  }

  void stored(const CopyPtr& copy, const Result<void>& done, bool whole) {
    if (copy->dropped && done && whole) store_.release(copy->request.key);
    if (!done) return finish(copy, fail(done.error()));
    if (whole || copy->dropped) return finish(copy, {});
    attempt(copy);
  }

  void failed(const CopyPtr& copy, Error why) {
    if (copy->forgotten) return finish(copy, fail(*copy->forgotten));
    if (copy->dropped || !worth_retrying(why.code()) || ++copy->failures >= options_.attempts)
      return finish(copy, fail(std::move(why)));
    attempt_after(copy, options_.backoff * (1u << std::min(copy->failures - 1, 16u)));
  }

  void attempt_after(const CopyPtr& copy, Duration delay) {
    copy->timer = reactor_.after(delay, [weak = weak_from_this(), copy_weak = std::weak_ptr(copy)] {
      const auto self = weak.lock();
      const auto again = copy_weak.lock();
      if (!self || !again || self->closed_) return;
      again->dropped ? self->finish(again, {}) : self->attempt(again);
    });
  }

  void finish(const CopyPtr& copy, Result<void> outcome) {
    copy->timer.reset();
    if (active_.erase(copy) == 0) return;
    copy->landing.reset();
    const auto node = nodes_.find(copy->request.address);
    if (--node->second.active == 0 && node->second.waiting.empty()) nodes_.erase(node);
    pump_soon();
    if (copy->dropped) return;
    if (!outcome) {
      outcome = fail(std::move(outcome).error().wrap("copying the output of map " + std::to_string(copy->request.key.map) +
                                                     " from " + copy->request.address));
    }
    copy->done(std::move(outcome));
  }

  rpc::Reactor& reactor_;
  rpc::Reactor& chores_;
  Store& store_;
  const ReplicationOptions options_;
  const SystemClock clock_;
  std::optional<rpc::Peers> peers_;  // calls nothing back once it is gone
  std::set<CopyPtr> active_;
  std::map<std::string, Node> nodes_;  // by address; those with copies
  std::uint64_t next_number_ = 0;
  bool pumping_ = false;  // pump() is on its way
  bool closed_ = false;
};

SegmentReplicator::SegmentReplicator(rpc::Reactor& reactor, rpc::Reactor& chores, Store& store, ReplicationOptions options)
    : impl_(std::make_shared<Impl>(reactor, chores, store, options)) {}
SegmentReplicator::~SegmentReplicator() { impl_->shutdown(); }
void SegmentReplicator::copy(ReplicaRequest request, ReplicaDone done) { impl_->copy(std::move(request), std::move(done)); }
void SegmentReplicator::drop(JobId job, ShuffleId shuffle) {
  impl_->drop([=](const SegmentKey& key) { return key.job == job && key.shuffle == shuffle; });
}
void SegmentReplicator::drop(JobId job) {
  impl_->drop([=](const SegmentKey& key) { return key.job == job; });
}
void SegmentReplicator::forget(const std::string& address, const Error& why) { impl_->forget(address, why); }

}  // namespace weft::shuffle
