#include "runtime/worker/data_plane.hpp"

#include <algorithm>
#include <utility>

#include "base/hash.hpp"
#include "base/rpc/descriptors.hpp"
#include "base/rpc/peer_log.hpp"

namespace weft::runtime {

Result<std::unique_ptr<DataPlane>> DataPlane::open(rpc::Reactor& reactor, rpc::Reactor& background, shuffle::Store& store,
                                                   const WorkerOptions& options, Extend extend) {
  WEFT_ASSIGN(const rpc::Endpoint endpoint, rpc::Endpoint::parse(options.listen));
  std::unique_ptr<DataPlane> plane(new DataPlane(reactor));
  plane->extend_ = std::move(extend);
  plane->links_ = std::make_shared<shuffle::Links>(options.link_rate);
  const auto compression = options.compress ? shuffle::Compression::automatic : shuffle::Compression::never;
  plane->server_ = std::make_unique<shuffle::BlockServer>(store, plane->keys_, compression, plane->links_);
  WEFT_ASSIGN(plane->listener_,
              reactor.listen(endpoint, shuffle::transfer_limits(), [self = plane.get()](const rpc::ConnectionPtr& peer) {
                // Users read chunks and tables here; map outputs are for workers.
                const bool is_user = peer->identity() != nullptr && peer->identity()->role == rpc::Role::user;
                rpc::Handler handler = is_user ? rpc::Handler{} : self->server_->handler();
                handler.on_close = [self](const rpc::ConnectionPtr& connection, const Error& error) {
                  if (error.code() == Code::corrupt)
                    self->log_.warn("data port: {} sent nonsense: {}", connection->peer(), error.to_string());
                };
                return self->extend_(std::move(handler));
              }));
  const std::string& bound = plane->listener_->endpoint().text;
  plane->address_ = options.advertise + bound.substr(bound.rfind(':'));

  shuffle::FetchOptions fetch;
  shuffle::ReplicationOptions replication;
  // Half of the store for what is prefetched, so that map outputs find room too.
  plane->prefetch_bytes_ = options.store_bytes / 2;
  shuffle::PrefetchOptions prefetch{
      .memory_bytes = plane->prefetch_bytes_, .disk_bytes = 4 * options.store_bytes, .round = options.slots};
  // The store has three eighths of the descriptors there may be, tasks that read an eighth for each job.
  prefetch.segments = std::min<std::size_t>(prefetch.segments, std::max<std::size_t>(rpc::descriptor_limit() / 16, 8));
  constexpr std::uint64_t kLeastRecycled = 256u << 10;  // of one
  for (std::uint64_t* recycled : {&fetch.recycled_bytes, &prefetch.fetch.recycled_bytes})
    *recycled = std::min<std::uint64_t>(*recycled, rpc::descriptor_limit() / 32 * kLeastRecycled);
  for (shuffle::PullOptions* pull : {&fetch.pull, &replication.pull, &prefetch.fetch.pull}) {
    pull->links = plane->links_;
    pull->self = plane->address_;
    pull->keys = plane->keys_;
  }
  fetch.owner = prefetch.fetch.owner = [self = plane.get()](JobId job) {
    const auto found = self->owners_.find(job);
    return found == self->owners_.end() ? ~job.value() : found->second;
  };
  plane->fetcher_ = std::make_unique<shuffle::BlockFetcher>(reactor, std::move(fetch));
  plane->replicator_ = std::make_unique<shuffle::SegmentReplicator>(reactor, background, store, std::move(replication));
  plane->same_host_ = std::make_unique<shuffle::SameHost>(reactor, options.share, plane->keys_);
  if (options.share) plane->share_with_same_host(reactor, store);
  plane->prefetcher_ = std::make_unique<shuffle::Prefetcher>(reactor, background, store, *plane->same_host_, std::move(prefetch));
  return plane;
}

/// Handlers of connections share the keys, and may outlive this object: so the log of refusals belongs to the keys.
DataPlane::DataPlane(rpc::Reactor& reactor) {
  auto log = std::make_shared<rpc::PeerLog>(
      [&reactor](rpc::Duration delay, std::function<void()> work) { return reactor.after(delay, std::move(work)); });
  keys_ = std::make_shared<shuffle::JobKeys>([log = std::move(log)](std::string line) { log->warn(std::move(line)); });
}
DataPlane::~DataPlane() { close(); }

void DataPlane::share_with_same_host(rpc::Reactor& reactor, const shuffle::Store& store) {
  auto listener = shuffle::same_host_endpoint(address_).and_then([&](const rpc::Endpoint& endpoint) {
    return reactor.listen(endpoint, shuffle::same_host_limits(),
                          [this, &store](const rpc::ConnectionPtr&) { return shuffle::same_host_handler(store, keys_); });
  });
  if (listener) {
    same_host_listener_ = *std::move(listener);
    return;
  }
  log_.warn("map outputs are not shared with workers of this machine: {}", listener.error().to_string());
  same_host_ = std::make_unique<shuffle::SameHost>(reactor, false);
}

void DataPlane::begin_job(JobId job, const std::string& user) {
  owners_[job] = hash64(as_bytes(user));
  keys_->set(job, 0);
}

void DataPlane::end_job(JobId job) {
  owners_.erase(job);
  keys_->forget(job);
}

void DataPlane::forget(const std::string& address, const Error& why) {
  same_host_->forget(address);
  fetcher_->forget(address, why);
  prefetcher_->forget(address, why);
  replicator_->forget(address, why);
}

void DataPlane::close() {
  if (listener_) listener_->close();
  if (same_host_listener_) same_host_listener_->close();
}

}  // namespace weft::runtime
