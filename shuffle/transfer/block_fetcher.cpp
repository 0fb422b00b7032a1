#include <algorithm>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "base/clock.hpp"
#include "base/rpc/capnp.hpp"
#include "base/rpc/peers.hpp"
#include "shuffle/transfer/receive_buffer.hpp"
#include "shuffle/transfer/transfer.capnp.h"
#include "shuffle/transfer/transfer.hpp"

namespace weft::shuffle {
namespace {

constexpr Duration kIdle = std::chrono::seconds(1);  // then nothing is kept for recycling

/// One fetch() under way.
struct Fetch {
  FetchRequest request;
  FetchDone done;
  std::uint64_t number = 0;  // in the order of fetch()
  std::shared_ptr<ReceiveBuffer> landing;
  ReceiveBuffer::Position asked{};  // where the last request began
  std::uint32_t failures = 0;       // since there was progress
  TimePoint asked_at{};
  TimePoint progress{};            // when there last was
  std::optional<Error> forgotten;  // why
  std::unique_ptr<rpc::Timer> timer;
};
using FetchPtr = std::shared_ptr<Fetch>;

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
  root.setFirstMap(fetch.asked.first);
  root.setFirstExtent(fetch.asked.second);
  root.setMaxBytes(options.reply_bytes);
  root.setAcceptLz4(options.accept_lz4);
  return rpc::flatten(message);
}

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
        peers_(std::in_place, reactor, rpc::PeersOptions{transfer_limits(), options.reply_deadline}),
        pool_(std::make_shared<SharedPool>(options.recycled_bytes)) {}

  void enqueue(FetchRequest request, FetchDone done) {
    auto fetch = std::make_shared<Fetch>();
    fetch->request = std::move(request);
    fetch->done = std::move(done);
    fetch->number = next_number_++;
    nodes_[fetch->request.address].waiting[fetch->request.job].push_back(std::move(fetch));
    if (std::exchange(pumping_, true)) return;
    reactor_.post([weak = weak_from_this()] {
      const auto self = weak.lock();
      if (!self) return;
      self->pumping_ = false;
      self->pump();
    });
  }

  void forget(const std::string& address, const Error& why) {
    if (const auto node = nodes_.find(address); node != nodes_.end())
      for (const auto& [job, waiting] : node->second.waiting)
        for (const FetchPtr& fetch : waiting) fetch->forgotten = why;
    if (options_.cap) options_.cap->forget(address);
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
    nodes_.clear();
    active_.clear();
    idle_.reset();
    peers_.reset();
  }

 private:
  /// The fetches from one node.
  struct Node {
    std::map<JobId, std::deque<FetchPtr>> waiting;  // none is empty
    std::uint32_t active = 0;
  };

  void pump() {
    idle_.reset();
    while (active_.size() < options_.in_flight && !closed_) {
      const FetchPtr fetch = take_next();
      if (fetch == nullptr) break;
      begin(fetch);
    }
    if (!active_.empty() || closed_) return;
    turns_.clear();
    idle_ = reactor_.after(kIdle, [this] { pool_->clear(); });
  }

  /// Of the job whose last turn was the longest ago the one that waits longest, from nodes that may be asked for more; null when
  /// there is none.
  FetchPtr take_next() {
    Node* from = nullptr;
    std::pair<std::uint64_t, std::uint64_t> first;  // turn of the job, number
    JobId of;
    for (auto& [address, node] : nodes_) {
      if (node.active >= options_.in_flight_per_node) continue;
      for (const auto& [job, waiting] : node.waiting) {
        const auto turn = turns_.find(job);
        const std::pair rank(turn == turns_.end() ? 0 : turn->second, waiting.front()->number);
        if (from != nullptr && first < rank) continue;
        from = &node, first = rank, of = job;
      }
    }
    if (from == nullptr) return nullptr;
    const auto waiting = from->waiting.find(of);
    const FetchPtr next = std::move(waiting->second.front());
    waiting->second.pop_front();
    if (waiting->second.empty()) from->waiting.erase(waiting);
    turns_[of] = ++last_turn_;
    ++from->active;
    active_.insert(next);
    return next;
  }

  void begin(const FetchPtr& fetch) {
    fetch->progress = clock_.now();
    if (fetch->request.maps.empty())
      return finish(fetch, {fail(Code::invalid_argument, "a fetch of map output names no map"), std::nullopt});
    if (fetch->forgotten) return give_up(fetch, *fetch->forgotten);
    fetch->landing = std::make_shared<ReceiveBuffer>(static_cast<std::uint32_t>(fetch->request.maps.size()), pool_);
    attempt(fetch);
  }

  void attempt(const FetchPtr& fetch) {
    fetch->timer.reset();
    if (options_.cap) {
      const Duration early = options_.cap->free_at(fetch->request.address) - clock_.now();
      if (early > Duration(0)) return attempt_after(fetch, early);
    }
    peers_->get(fetch->request.address, [this, fetch](const Result<rpc::ConnectionPtr>& connection) {
      connection ? ask(fetch, *connection) : failed(fetch, connection.error());
    });
  }

  void ask(const FetchPtr& fetch, const rpc::ConnectionPtr& connection) {
    fetch->asked = fetch->landing->position();
    fetch->asked_at = clock_.now();
    connection->request(
        kFetchBlocks, {encode(*fetch, options_), {}, {}}, options_.reply_deadline,
        [weak = weak_from_this(), fetch](Result<rpc::Message> reply) {
          const auto self = weak.lock();
          if (self && !self->closed_) self->answered(fetch, reply);
        },
        fetch->landing);
  }

  void answered(const FetchPtr& fetch, const Result<rpc::Message>& reply) {
    const auto complete = reply ? fetch->landing->arrived(reply->header.view()) : Result<bool>(fail(reply.error()));
    if (options_.cap && reply) options_.cap->took(fetch->request.address, fetch->asked_at, fetch->landing->reply_bytes());
    if (fetch->landing->position() != fetch->asked) {
      fetch->failures = 0;
      fetch->progress = clock_.now();
    }
    if (!complete) return failed(fetch, complete.error());
    if (!*complete) return attempt(fetch);
    auto sealed = fetch->landing->seal();
    if (!sealed) return give_up(fetch, std::move(sealed).error());
    finish(fetch, {std::move(sealed), std::nullopt});
  }

  void failed(const FetchPtr& fetch, Error why) {
    const bool late = clock_.now() - fetch->progress >= options_.deadline;
    if (fetch->forgotten) return give_up(fetch, *fetch->forgotten);
    if (!worth_retrying(why.code()) || ++fetch->failures >= options_.attempts || late) return give_up(fetch, std::move(why));
    const auto delay = options_.backoff * (1u << std::min(fetch->failures - 1, 16u));
    attempt_after(fetch, delay);
  }

  void attempt_after(const FetchPtr& fetch, Duration delay) {
    fetch->timer = reactor_.after(delay, [weak = weak_from_this(), fetch_weak = std::weak_ptr(fetch)] {
      const auto self = weak.lock();
      const auto again = fetch_weak.lock();
      if (self && again && !self->closed_) self->attempt(again);
    });
  }

  void give_up(const FetchPtr& fetch, Error why) {
    const std::size_t map = fetch->landing ? fetch->landing->position().first : 0;
    const MapAttempt lost = fetch->request.maps[std::min(map, fetch->request.maps.size() - 1)];
    std::string what = "fetching the output of map " + std::to_string(lost.map) + " from " + fetch->request.address;
    finish(fetch, {fail(std::move(why).wrap(std::move(what))), lost});
  }

  void finish(const FetchPtr& fetch, FetchOutcome outcome) {
    fetch->timer.reset();
    if (active_.erase(fetch) == 0) return;
    const auto node = nodes_.find(fetch->request.address);
    if (--node->second.active == 0 && node->second.waiting.empty()) nodes_.erase(node);
    const FetchDone done = std::move(fetch->done);
    done(std::move(outcome));
    pump();
  }

  rpc::Reactor& reactor_;
  const FetchOptions options_;
  const SystemClock clock_;
  std::optional<rpc::Peers> peers_;  // calls nothing back once it is gone
  std::set<FetchPtr> active_;
  std::map<std::string, Node> nodes_;  // by address; those with fetches
  std::uint64_t next_number_ = 0;
  std::map<JobId, std::uint64_t> turns_;  // when each job was last given one, while there are any
  std::uint64_t last_turn_ = 0;
  const std::shared_ptr<SharedPool> pool_;
  std::unique_ptr<rpc::Timer> idle_;
  bool pumping_ = false;  // pump() is on its way
  bool closed_ = false;
};

BlockFetcher::BlockFetcher(rpc::Reactor& reactor, FetchOptions options) : impl_(std::make_shared<Impl>(reactor, options)) {}
BlockFetcher::~BlockFetcher() { impl_->shutdown(); }
void BlockFetcher::fetch(FetchRequest request, FetchDone done) { impl_->enqueue(std::move(request), std::move(done)); }
void BlockFetcher::forget(const std::string& address, const Error& why) { impl_->forget(address, why); }

}  // namespace weft::shuffle
