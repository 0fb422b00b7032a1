#include "shuffle/neighbours.hpp"

#include <map>
#include <utility>

#include <fcntl.h>
#include <fmt/core.h>

#include "base/hash.hpp"
#include "base/rpc/capnp.hpp"
#include "shuffle/transfer.capnp.h"

namespace weft::shuffle {
namespace {

constexpr rpc::Duration kConnectDeadline = std::chrono::seconds(2);
constexpr rpc::Duration kReplyDeadline = std::chrono::seconds(10);
constexpr std::size_t kMostAddresses = 4096;  // remembered, whether they are neighbours or not

Buffer encode(JobId job, ShuffleId shuffle, const std::vector<MapAttempt>& maps) {
  capnp::MallocMessageBuilder message;
  auto root = message.initRoot<OpenOutputs>();
  root.setJob(job.value());
  root.setShuffle(shuffle.value());
  auto list = root.initMaps(static_cast<unsigned>(maps.size()));
  for (unsigned i = 0; i < list.size(); ++i) {
    list[i].setMap(maps[i].map);
    list[i].setAttempt(maps[i].attempt);
  }
  return rpc::flatten(message);
}

Result<rpc::Payload> serve(const Store& store, OpenOutputs::Reader request) {
  const auto maps = request.getMaps();
  if (maps.size() > kOutputsPerRequest) return fail(Code::invalid_argument, "too many map outputs at a time");
  capnp::MallocMessageBuilder message;
  auto found = message.initRoot<OpenedOutputs>().initFound(maps.size());
  rpc::Payload payload;
  for (unsigned i = 0; i < maps.size(); ++i) {
    const auto segment =
        store.get({JobId(request.getJob()), ShuffleId(request.getShuffle()), maps[i].getMap(), maps[i].getAttempt()});
    Fd copy = segment ? Fd(::fcntl((*segment)->fd(), F_DUPFD_CLOEXEC, 0)) : Fd();
    found.set(i, copy.valid());
    if (copy.valid()) payload.fds.push_back(std::move(copy));
  }
  payload.header = rpc::flatten(message);
  return payload;
}

Result<std::vector<Fd>> descriptors(rpc::Message answer, std::size_t wanted) {
  return rpc::read_message<OpenedOutputs>(
      answer.header.view(), "a neighbour's answer", [&](OpenedOutputs::Reader opened) -> Result<std::vector<Fd>> {
        std::vector<Fd> fds(wanted);
        std::size_t next = 0;
        const auto found = opened.getFound();
        for (unsigned i = 0; i < found.size() && i < wanted; ++i)
          if (found[i] && next < answer.fds.size()) fds[i] = std::move(answer.fds[next++]);
        if (found.size() != wanted || next != answer.fds.size())
          return fail(Code::corrupt, "a neighbour's answer does not fit the map outputs asked for");
        return fds;
      });
}

}  // namespace

Result<rpc::Endpoint> neighbour_endpoint(const std::string& data_address) {
  return rpc::Endpoint::parse(fmt::format("unix:@weft-outputs-{:016x}", hash64(as_bytes(data_address))));
}

rpc::Limits neighbour_limits() {
  rpc::Limits limits;
  limits.max_header = 1u << 20;
  limits.max_bulk = 0;
  limits.max_fds = kOutputsPerRequest;
  limits.max_requests = 256;
  return limits;
}

rpc::Handler neighbour_handler(const Store& store) {
  rpc::Handler handler;
  handler.on_request = [&store](const rpc::ConnectionPtr&, rpc::Message message, rpc::Responder responder) {
    if (message.type != kOpenOutputs) return responder.fail(Error(Code::invalid_argument, "neighbours are given map outputs only"));
    auto payload = rpc::read_message<OpenOutputs>(message.header.view(), "a neighbour's request",
                                                  [&](OpenOutputs::Reader request) { return serve(store, request); });
    payload ? responder.reply(std::move(*payload)) : responder.fail(payload.error());
  };
  return handler;
}

class Neighbours::Impl : public std::enable_shared_from_this<Impl> {
 public:
  struct Request {
    JobId job;
    ShuffleId shuffle;
    std::vector<MapAttempt> maps;
    Done done;
  };

  explicit Impl(rpc::Reactor& reactor) : reactor_(reactor) {}

  void open(const std::string& address, Request request) {
    if (workers_.size() >= kMostAddresses) forget_far();
    const auto [place, fresh] = workers_.try_emplace(address);
    Worker& worker = place->second;
    if (worker.connection) return ask(worker.connection, std::move(request));
    if (worker.far) return refuse(std::move(request.done), Error(Code::unavailable, "not on this machine"));
    worker.waiting.push_back(std::move(request));
    if (fresh) connect(address);
  }

  void shutdown() {
    for (const auto& [address, worker] : std::exchange(workers_, {}))
      if (worker.connection) worker.connection->close();
  }

 private:
  struct Worker {
    rpc::ConnectionPtr connection;
    bool far = false;
    std::vector<Request> waiting;  // while it is being connected to
  };

  void forget_far() {
    std::erase_if(workers_, [](const auto& entry) { return entry.second.far; });
  }

  void refuse(Done done, Error why) {
    reactor_.post([weak = weak_from_this(), done = std::move(done), why = std::move(why)] {
      if (weak.lock()) done(fail(why));
    });
  }

  void connect(const std::string& address) {
    auto endpoint = neighbour_endpoint(address);
    if (!endpoint) return connected(address, fail(std::move(endpoint).error()));
    rpc::Handler handler;
    handler.on_close = [weak = weak_from_this(), address](const rpc::ConnectionPtr& connection, const Error&) {
      const auto self = weak.lock();
      if (!self) return;
      const auto worker = self->workers_.find(address);
      if (worker != self->workers_.end() && worker->second.connection == connection) self->workers_.erase(worker);
    };
    reactor_.connect(*endpoint, kConnectDeadline, std::move(handler), neighbour_limits(),
                     [weak = weak_from_this(), address](Result<rpc::ConnectionPtr> connection) {
                       if (const auto self = weak.lock()) self->connected(address, std::move(connection));
                     });
  }

  void connected(const std::string& address, Result<rpc::ConnectionPtr> connection) {
    const auto found = workers_.find(address);
    if (found == workers_.end()) return;
    Worker& worker = found->second;
    auto waiting = std::exchange(worker.waiting, {});
    if (connection) {
      worker.connection = *connection;
    } else {
      worker.far = true;
    }
    for (Request& request : waiting) {
      connection ? ask(*connection, std::move(request)) : refuse(std::move(request.done), connection.error());
    }
  }

  void ask(const rpc::ConnectionPtr& connection, Request request) {
    rpc::Payload payload;
    payload.header = encode(request.job, request.shuffle, request.maps);
    connection->request(
        kOpenOutputs, std::move(payload), kReplyDeadline,
        [weak = weak_from_this(), wanted = request.maps.size(), done = std::move(request.done)](Result<rpc::Message> reply) {
          if (!weak.lock()) return;
          reply ? done(descriptors(*std::move(reply), wanted)) : done(fail(std::move(reply).error()));
        });
  }

  rpc::Reactor& reactor_;
  std::map<std::string, Worker> workers_;  // by data address
};

Neighbours::Neighbours(rpc::Reactor& reactor) : impl_(std::make_shared<Impl>(reactor)) {}
Neighbours::~Neighbours() { impl_->shutdown(); }
void Neighbours::open(const std::string& address, JobId job, ShuffleId shuffle, std::vector<MapAttempt> maps, Done done) {
  impl_->open(address, {job, shuffle, std::move(maps), std::move(done)});
}

}  // namespace weft::shuffle
