#include "storage/tables/table_server.hpp"

#include <map>
#include <optional>
#include <set>

#include <fmt/core.h>

#include "base/text.hpp"
#include "storage/tables/replica.hpp"
#include "storage/tables/replica_directories.hpp"

namespace weft::storage::tables {
namespace {

using namespace std::chrono_literals;
constexpr auto kInterval = 200ms;
constexpr auto kMasterDeadline = 5s;

/// Programs of users show the key of the right that they need. Masters and workers have none: their certificates are enough, and
/// where nothing is encrypted all are processes of one user.
Result<void> may(const rpc::Connection& peer, const PartitionRequest& request, const std::optional<TableKeys>& keys) {
  const rpc::Identity* const who = peer.identity();
  if (who == nullptr || who->role != rpc::Role::user) return {};
  const auto right = right_for(request.operation);
  if (!right)
    return fail(Code::permission_denied, fmt::format("user {} may not do this: only masters and workers do", escaped(who->name)));
  if (!keys) return fail(not_now(request.place, "waits for the master"));
  const std::uint64_t wanted = keys->of(*right);
  if (request.key == wanted) return {};
  if (request.key == 0)
    return fail(Code::permission_denied,
                fmt::format("user {} shows no key to {} partition {}: a program of an earlier release has none; build it again",
                            escaped(who->name), *right == TableRight::read ? "read" : "write", to_string(request.place)));
  return fail(not_now(request.place, "has other keys now"));  // the master says which, or why not
}

}  // namespace

class TableServer::Impl : public std::enable_shared_from_this<Impl> {
 public:
  Impl(rpc::Reactor& reactor, std::string address, TableServerOptions options, std::function<void(const Error&)> give_up)
      : options_(std::move(options)),
        give_up_(std::move(give_up)),
        threads_(std::make_unique<IoThreads>(options_.threads)),
        peers_(reactor),
        context_{reactor, *threads_, clock_, {}, std::move(address), options_.reserve} {
    context_.ask = [this](const std::string& to, const PartitionRequest& request, Duration deadline,
                          PartitionPeers::Answer answer) { peers_.ask(to, request, deadline, std::move(answer)); };
    context_.ask_master = [this](const InSyncChange& change, std::function<void(Result<TableOrders>)> then) {
      ask_master(kInSyncChange, encode(change), std::move(then));
    };
    context_.heartbeat_soon = [this] { heartbeat_soon(); };
  }

  void shut_down() {
    lost();
    threads_.reset();  // waits for disks
    replicas_.clear();
  }

  void serve(const rpc::Connection& peer, const rpc::Message& message, rpc::Responder responder) {
    if (message.type != kPartitionRequest)
      return responder.fail(Error(Code::invalid_argument, fmt::format("this worker does not know message {}", message.type)));
    auto request = decode_partition_request(message);
    if (!request) return responder.fail(request.error());
    const auto replica = replicas_.find(request->place);
    if (replica == replicas_.end()) return responder.fail(not_now(request->place, "is not on this worker"));
    if (const auto allowed = may(peer, *request, replica->second->keys()); !allowed) return responder.fail(allowed.error());
    replica->second->serve(std::move(*request),
                           [to = std::make_shared<rpc::Responder>(std::move(responder))](const Result<PartitionReply>& reply) {
                             reply ? to->reply(encode(*reply)) : to->fail(reply.error());
                           });
  }

  void registered(const rpc::ConnectionPtr& master) {
    master_ = master;
    ready_ = greeted_ = false;
    TableHeartbeat hello;
    hello.hello = true;
    ask_master(kTableHeartbeat, encode(hello), [this, master](Result<TableOrders> orders) {
      if (master != master_) return;
      if (!orders && orders.error().code() == Code::invalid_argument) return;  // it keeps no tables
      if (!orders) return master->close();                                     // the next registration tries again
      if (is_foreign(orders->cluster)) return;
      context_.name = orders->name;
      cluster_ = orders->cluster;
      greeted_ = true;
      if (found_) return begin();
      find();
    });
  }

  void lost() {
    master_.reset();
    ready_ = greeted_ = false;
    timer_.reset();
    context_.leased_until = {};
    for (const auto& [place, replica] : replicas_) replica->master_lost();
  }

  void heartbeat_soon() {
    if (!ready_) return;
    if (beating_) {
      again_ = true;
      return;
    }
    timer_ = context_.reactor.after(0ms, [this] { heartbeat(); });
  }

 private:
  void ask_master(rpc::MessageType type, rpc::Payload payload, std::function<void(Result<TableOrders>)> then) {
    if (!master_) {
      context_.reactor.post([weak = weak_from_this(), then = std::move(then)] {
        if (weak.lock()) then(fail(Code::unavailable, "the master is away"));
      });
      return;
    }
    master_->request(type, std::move(payload), kMasterDeadline,
                     [weak = weak_from_this(), then = std::move(then)](Result<rpc::Message> reply) {
                       if (!weak.lock()) return;
                       then(reply ? decode<TableOrders>(*reply) : fail(std::move(reply).error()));
                     });
  }

  /// A master of another cluster knows nothing of these partitions, and would have them erased. Then the worker ends, and true.
  bool is_foreign(const std::string& cluster) {
    if (cluster_.empty() || cluster == cluster_) return false;
    lost();
    give_up_(Error(Code::version_mismatch,
                   fmt::format("the master is of cluster {} now, and the tables of this worker are of cluster {}; start it again "
                               "with that cluster's --master, or with another --chunk-dir",
                               escaped(cluster.substr(0, 64)), cluster_)));
    return true;
  }

  void find() {
    if (std::exchange(finding_, true)) return;
    threads_->post([weak = weak_from_this(), directories = options_.directories, cluster = cluster_, &reactor = context_.reactor] {
      auto found = std::make_shared<Result<std::map<PlaceId, std::string>>>(find_replicas(directories, cluster));
      reactor.post([weak, found] {
        const auto self = weak.lock();
        if (!self) return;
        self->finding_ = false;
        if (!*found && found->error().code() == Code::resource_exhausted) return self->find_later(found->error());
        if (!*found) return self->give_up_(found->error());
        self->found_ = true;
        for (const auto& [place, path] : **found) self->replica(place, path).open();
        if (self->greeted_) self->begin();
      });
    });
  }

  /// A disk is too full for what has to be noted on it.
  void find_later(const Error& why) {
    if (!retry_find_) context_.log.warn("{}; partitions of tables wait until there is room", why.to_string());
    retry_find_ = context_.reactor.after(1s, [this] { find(); });
  }

  /// The first heartbeat says what is here: when all of it has been opened, as far as it can be.
  void begin() {
    for (const auto& [place, replica] : replicas_)
      if (replica->opening()) {
        timer_ = context_.reactor.after(10ms, [this] { begin(); });
        return;
      }
    ready_ = first_ = true;
    heartbeat();
  }

  Replica& replica(const PlaceId& place, std::string path) {
    auto& there = replicas_[place];
    if (!there) there = std::make_shared<Replica>(context_, place, std::move(path));
    return *there;
  }

  void heartbeat() {
    beating_ = true;
    again_ = false;
    TableHeartbeat message;
    message.first = std::exchange(first_, false);
    message.address = context_.address;
    for (const auto& [place, replica] : replicas_) {
      replica->look_at_disk();
      message.replicas.push_back(replica->report());
    }
    const TimePoint sent = clock_.now();
    ask_master(kTableHeartbeat, encode(message), [this, sent, to = master_](Result<TableOrders> orders) {
      beating_ = false;
      if (to != master_ || !master_) return;
      if (!orders) {
        context_.log.debug("no orders about tables: {}", orders.error().to_string());  // its lease ends meanwhile
        timer_ = context_.reactor.after(kInterval, [this] { heartbeat(); });
        return;
      }
      if (!orders->cluster.empty() && is_foreign(orders->cluster)) return;
      context_.leased_until = sent + std::chrono::milliseconds(orders->lease_ms);
      context_.withheld = orders->withheld;
      obey(*orders);
      timer_ = context_.reactor.after(again_ ? Duration(0) : Duration(kInterval), [this] { heartbeat(); });
    });
  }

  void obey(const TableOrders& orders) {
    for (const Assignment& assignment : orders.assignments) {
      if (erasing_.contains(assignment.place)) continue;  // with the next heartbeat
      const auto where = (assignment.place.table.value() + assignment.place.partition) % options_.directories.size();
      replica(assignment.place, options_.directories[where] + "/tables/" + to_string(assignment.place)).adopt(assignment);
    }
    for (const PlaceId& place : orders.erase) {
      const auto found = replicas_.find(place);
      if (found == replicas_.end() || !erasing_.insert(place).second) continue;
      context_.log.info("partition {} is not needed here any more", to_string(place));
      found->second->erase([this, place] {
        replicas_.erase(place);
        erasing_.erase(place);
      });
    }
  }

  const TableServerOptions options_;
  const std::function<void(const Error&)> give_up_;
  std::unique_ptr<IoThreads> threads_;
  PartitionPeers peers_;
  const SystemClock clock_;
  ReplicaContext context_;
  std::map<PlaceId, std::shared_ptr<Replica>> replicas_;
  std::set<PlaceId> erasing_;
  std::string cluster_;        // of the first master that was met; the directories are of no other
  rpc::ConnectionPtr master_;  // null: no registration
  std::unique_ptr<rpc::Timer> timer_, retry_find_;
  bool greeted_ = false;  // by the present master, which is of this cluster
  bool finding_ = false, found_ = false, ready_ = false, first_ = false, beating_ = false, again_ = false;
};

TableServer::TableServer(rpc::Reactor& reactor, std::string address, TableServerOptions options,
                         std::function<void(const Error&)> give_up)
    : impl_(std::make_shared<Impl>(reactor, std::move(address), std::move(options), std::move(give_up))) {}

TableServer::~TableServer() { impl_->shut_down(); }

rpc::Handler TableServer::handler(rpc::Handler others) {
  rpc::Handler handler = others;
  handler.on_request = [weak = std::weak_ptr(impl_), other = others.on_request](const rpc::ConnectionPtr& connection,
                                                                                rpc::Message message, rpc::Responder responder) {
    if (message.type < kFirstTableMessage || message.type > kLastTableMessage) {
      if (other) return other(connection, std::move(message), std::move(responder));
      return responder.fail(Error(Code::invalid_argument, "this worker does not know that message"));
    }
    const auto self = weak.lock();
    if (!self) return responder.fail(Error(Code::unavailable, "this worker is ending"));
    self->serve(*connection, message, std::move(responder));
  };
  return handler;
}

void TableServer::registered(const rpc::ConnectionPtr& master) { impl_->registered(master); }
void TableServer::lost() { impl_->lost(); }
bool TableServer::on_notify(const rpc::Message& message) {
  if (message.type != kTableOrdersWait) return false;
  impl_->heartbeat_soon();
  return true;
}

}  // namespace weft::storage::tables
