#include "shuffle/transfer/pull_queue.hpp"

#include <algorithm>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "base/clock.hpp"
#include "shuffle/transfer/block_server.hpp"

namespace weft::shuffle {
namespace {

/// One pull that was added.
struct Entry {
  JobId job;
  std::string address;
  std::shared_ptr<Pull> pull;
  PullQueue::Done done;
  std::uint64_t number = 0;    // in the order of add()
  std::uint32_t failures = 0;  // since there was progress
  TimePoint requested{};
  TimePoint progress{};            // when there last was
  std::optional<Error> forgotten;  // why
  bool dropped = false;
  std::unique_ptr<rpc::Timer> timer;
};
using EntryPtr = std::shared_ptr<Entry>;

/// The sink of an entry's pull. Bytes that come are progress: a try may take long on a slow link, and another may follow it.
class WatchedSink final : public rpc::BulkSink {
 public:
  WatchedSink(EntryPtr entry, rpc::BulkSink& sink) : entry_(std::move(entry)), pull_(entry_->pull), sink_(sink) {}
  void begin(ByteView header, std::uint64_t bytes) override { sink_.begin(header, bytes); }
  MutableBytes room(std::uint64_t left) override { return sink_.room(left); }
  void filled(std::size_t bytes) override {
    sink_.filled(bytes);
    entry_->progress = clock_.now();
  }

 private:
  const EntryPtr entry_;
  const std::shared_ptr<Pull> pull_;  // has the sink, for longer than the entry has the pull
  rpc::BulkSink& sink_;
  const SystemClock clock_{};
};

bool may_pass(Code code) {
  return code == Code::unavailable || code == Code::deadline_exceeded || code == Code::corrupt || code == Code::cancelled ||
         code == Code::io || code == Code::resource_exhausted;
}

}  // namespace

class PullQueue::Impl : public std::enable_shared_from_this<Impl> {
 public:
  Impl(rpc::Reactor& reactor, rpc::Reactor& background, PullOptions options, Connect connect)
      : reactor_(reactor), background_(background), options_(std::move(options)), connect_(std::move(connect)) {
    if (!connect_) peers_.emplace(reactor, rpc::PeersOptions{transfer_limits(), options_.reply_deadline});
  }

  void add(JobId job, std::string address, std::shared_ptr<Pull> pull, Done done) {
    auto entry = std::make_shared<Entry>();
    entry->job = job;
    entry->address = std::move(address);
    entry->pull = std::move(pull);
    entry->done = std::move(done);
    entry->number = next_number_++;
    nodes_[entry->address].waiting[job].push_back(entry);
    pump_soon();
  }

  void drop(const std::function<bool(const Pull&)>& matches) {
    for (auto& [address, node] : nodes_) {
      for (auto& [job, waiting] : node.waiting)
        std::erase_if(waiting, [&](const EntryPtr& entry) { return matches(*entry->pull); });
      std::erase_if(node.waiting, [](const auto& line) { return line.second.empty(); });
    }
    std::erase_if(nodes_, [](const auto& node) { return node.second.active == 0 && node.second.waiting.empty(); });
    for (const EntryPtr& entry : active_)
      if (matches(*entry->pull)) entry->dropped = true;  // found out when its next reply comes
  }

  void forget(const std::string& address, const Error& why) {
    if (const auto node = nodes_.find(address); node != nodes_.end())
      for (const auto& [job, waiting] : node->second.waiting)
        for (const EntryPtr& entry : waiting) entry->forgotten = why;
    if (options_.links) options_.links->forget(address);
    std::vector<EntryPtr> pausing;  // between two requests
    for (const EntryPtr& entry : active_) {
      if (entry->address != address) continue;
      entry->forgotten = why;
      if (entry->timer) pausing.push_back(entry);
    }
    if (peers_) peers_->forget(address);
    for (const EntryPtr& entry : pausing) failed(entry, why);
  }

  bool idle() const { return active_.empty() && nodes_.empty(); }

  void shutdown() {
    closed_ = true;
    nodes_.clear();
    active_.clear();
    peers_.reset();
    connect_ = {};
  }

 private:
  /// The pulls from one address.
  struct Node {
    std::map<JobId, std::deque<EntryPtr>> waiting;  // none is empty
    std::uint32_t active = 0;
  };

  /// Calls a member of this object, unless it is gone by then.
  template <class Then>
  auto later(Then then) {
    return [weak = weak_from_this(), then = std::move(then)](auto&&... arguments) {
      const auto self = weak.lock();
      if (self && !self->closed_) then(*self, std::forward<decltype(arguments)>(arguments)...);
    };
  }

  void pump_soon() {
    if (std::exchange(pumping_, true)) return;
    reactor_.post(later([](Impl& self) {
      self.pumping_ = false;
      self.pump();
    }));
  }

  void pump() {
    while (active_.size() < options_.in_flight && !closed_) {
      const EntryPtr entry = take_next();
      if (entry == nullptr) break;
      begin(entry);
    }
    if (active_.empty()) turns_.clear();
  }

  /// The pull that waits longest, of the job that has waited longest for a turn, from nodes that more may be requested from; null
  /// when there is none.
  EntryPtr take_next() {
    Node* from = nullptr;
    std::pair<std::uint64_t, std::uint64_t> first;  // turn of the job, number
    JobId of;
    for (auto& [address, node] : nodes_) {
      if (node.active >= options_.in_flight_per_node) continue;
      for (const auto& [job, waiting] : node.waiting) {
        const auto turn = turns_.find(job);
        const std::pair rank(turn == turns_.end() ? 0 : turn->second, waiting.front()->number);
        if (from != nullptr && first < rank) continue;
        from = &node;
        first = rank;
        of = job;
      }
    }
    if (from == nullptr) return nullptr;
    const auto waiting = from->waiting.find(of);
    const EntryPtr next = std::move(waiting->second.front());
    waiting->second.pop_front();
    if (waiting->second.empty()) from->waiting.erase(waiting);
    turns_[of] = ++last_turn_;
    ++from->active;
    active_.insert(next);
    return next;
  }

  void begin(const EntryPtr& entry) {
    entry->progress = clock_.now();
    if (entry->forgotten) return finish(entry, fail(*entry->forgotten));
    if (auto begun = entry->pull->begin(); !begun) return finish(entry, std::move(begun));
    request(entry);
  }

  void request(const EntryPtr& entry) {
    entry->timer.reset();
    if (entry->dropped) return finish(entry, {});
    if (options_.links) {
      const Duration early = options_.links->free_at(entry->address) - clock_.now();
      if (early > Duration(0)) return request_after(entry, early);
    }
    auto connected = later([entry](Impl& self, const Result<rpc::ConnectionPtr>& connection) {
      connection ? self.request(entry, *connection) : self.failed(entry, connection.error());
    });
    peers_ ? peers_->get(entry->address, std::move(connected)) : connect_(entry->address, std::move(connected));
  }

  void request(const EntryPtr& entry, const rpc::ConnectionPtr& connection) {
    entry->requested = clock_.now();
    rpc::Payload payload;
    payload.header = entry->pull->request();
    std::shared_ptr<rpc::BulkSink> sink;
    if (rpc::BulkSink* const wanted = entry->pull->sink()) sink = std::make_shared<WatchedSink>(entry, *wanted);
    connection->request(entry->pull->type(), std::move(payload), options_.reply_deadline,
                        later([entry](Impl& self, Result<rpc::Message> reply) { self.answered(entry, std::move(reply)); }),
                        std::move(sink));
  }

  void answered(const EntryPtr& entry, Result<rpc::Message> reply) {
    Pull& pull = *entry->pull;
    const bool came = reply.has_value();
    const auto whole = came ? pull.arrived(std::move(*reply)) : Result<bool>(fail(std::move(reply).error()));
    if (options_.links && came) options_.links->received(entry->address, entry->requested, pull.reply_bytes());
    if (entry->dropped) return finish(entry, {});
    if (pull.progressed()) {
      entry->failures = 0;
      entry->progress = clock_.now();
    }
    if (!whole) return failed(entry, whole.error());
    if (pull.must_store(*whole)) return store(entry, *whole);
    *whole ? finish(entry, {}) : request(entry);
  }

  void store(const EntryPtr& entry, bool whole) {
    background_.post(
        [&reactor = reactor_, pull = entry->pull, whole,
         stored = later([entry, whole](Impl& self, const Result<void>& done) { self.stored(entry, whole, done); })]() mutable {
          const Result<void> done = pull->store(whole);
          pull.reset();  // the callback of the end is the last to hold it
          reactor.post([stored = std::move(stored), done] { stored(done); });
        });
  }

  void stored(const EntryPtr& entry, bool whole, const Result<void>& done) {
    if (entry->dropped && done && whole) entry->pull->undo();
    if (whole || !done || entry->dropped) return finish(entry, done);
    request(entry);
  }

  void failed(const EntryPtr& entry, Error why) {
    if (entry->forgotten) return finish(entry, fail(*entry->forgotten));
    const bool late = clock_.now() - entry->progress >= options_.deadline;
    if (entry->dropped || late || !may_pass(why.code()) || ++entry->failures >= options_.attempts)
      return finish(entry, fail(std::move(why)));
    request_after(entry, options_.backoff * (1u << std::min(entry->failures - 1, 16u)));
  }

  void request_after(const EntryPtr& entry, Duration delay) {
    entry->timer = reactor_.after(delay, later([waiting = std::weak_ptr(entry)](Impl& self) {
                                    if (const auto again = waiting.lock()) self.request(again);
                                  }));
  }

  void finish(const EntryPtr& entry, Result<void> outcome) {
    entry->timer.reset();
    if (active_.erase(entry) == 0) return;
    const auto node = nodes_.find(entry->address);
    if (--node->second.active == 0 && node->second.waiting.empty()) nodes_.erase(node);
    pump_soon();
    entry->pull.reset();
    const Done done = std::exchange(entry->done, {});
    if (!entry->dropped) done(std::move(outcome));
  }

  rpc::Reactor& reactor_;
  rpc::Reactor& background_;
  const PullOptions options_;
  const SystemClock clock_;
  Connect connect_;
  std::optional<rpc::Peers> peers_;  // without `connect_`; calls nothing back once it is gone
  std::set<EntryPtr> active_;
  std::map<std::string, Node> nodes_;  // by address; those with pulls
  std::uint64_t next_number_ = 0;
  std::map<JobId, std::uint64_t> turns_;  // when each job was last given one, while there are any
  std::uint64_t last_turn_ = 0;
  bool pumping_ = false;  // pump() is on its way
  bool closed_ = false;
};

PullQueue::PullQueue(rpc::Reactor& reactor, rpc::Reactor& background, PullOptions options)
    : impl_(std::make_shared<Impl>(reactor, background, std::move(options), Connect())) {}
PullQueue::PullQueue(rpc::Reactor& reactor, rpc::Reactor& background, PullOptions options, Connect connect)
    : impl_(std::make_shared<Impl>(reactor, background, std::move(options), std::move(connect))) {}
PullQueue::~PullQueue() { impl_->shutdown(); }
void PullQueue::add(JobId job, std::string address, std::shared_ptr<Pull> pull, Done done) {
  impl_->add(job, std::move(address), std::move(pull), std::move(done));
}
void PullQueue::drop(const std::function<bool(const Pull&)>& matches) { impl_->drop(matches); }
void PullQueue::forget(const std::string& address, const Error& why) { impl_->forget(address, why); }
bool PullQueue::idle() const { return impl_->idle(); }

}  // namespace weft::shuffle
