#include "shuffle/transfer/same_host.hpp"

#include <utility>

#include <fcntl.h>
#include <fmt/core.h>

#include "base/guarded.hpp"
#include "base/hash.hpp"
#include "base/rpc/capnp.hpp"
#include "shuffle/transfer/transfer.capnp.h"

namespace weft::shuffle {
namespace {

constexpr rpc::Duration kConnectDeadline = std::chrono::seconds(2);
constexpr rpc::Duration kOpenDeadline = std::chrono::seconds(10);
constexpr std::size_t kMostAddresses = 4096;  // remembered, whether they are of this host or not

Buffer encode(JobId job, ShuffleId shuffle, const std::vector<MapAttempt>& maps, std::uint64_t key) {
  capnp::MallocMessageBuilder message;
  auto root = message.initRoot<OpenOutputs>();
  root.setJob(job.value());
  root.setShuffle(shuffle.value());
  root.setKey(key);
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
      answer.header.view(), "an answer of a worker of the same host", [&](OpenedOutputs::Reader opened) -> Result<std::vector<Fd>> {
        std::vector<Fd> fds(wanted);
        std::size_t next = 0;
        const auto found = opened.getFound();
        for (unsigned i = 0; i < found.size() && i < wanted; ++i)
          if (found[i] && next < answer.fds.size()) fds[i] = std::move(answer.fds[next++]);
        if (found.size() != wanted || next != answer.fds.size())
          return fail(Code::corrupt, "an answer of a worker of the same host does not fit the map outputs requested");
        return fds;
      });
}

}  // namespace

Result<rpc::Endpoint> same_host_endpoint(const std::string& data_address) {
  return rpc::Endpoint::parse(fmt::format("unix:@weft-outputs-{:016x}", hash64(as_bytes(data_address))));
}

rpc::Limits same_host_limits() {
  rpc::Limits limits;
  limits.max_header = 1u << 20;
  limits.max_bulk = 0;
  limits.max_fds = kOutputsPerRequest;
  limits.max_requests = 256;
  return limits;
}

rpc::Handler same_host_handler(const Store& store, std::shared_ptr<const JobKeys> keys) {
  rpc::Handler handler;
  handler.on_request = [&store, keys = std::move(keys)](const rpc::ConnectionPtr& peer, rpc::Message message,
                                                        rpc::Responder responder) {
    if (message.type != kOpenOutputs)
      return responder.fail(Error(Code::invalid_argument, "workers of the same host are given map outputs only"));
    auto payload = rpc::read_message<OpenOutputs>(message.header.view(), "a request of a worker of the same host",
                                                  [&](OpenOutputs::Reader request) -> Result<rpc::Payload> {
                                                    WEFT_TRY(keys->check(*peer, JobId(request.getJob()), request.getKey()));
                                                    return serve(store, request);
                                                  });
    payload ? responder.reply(std::move(*payload)) : responder.fail(payload.error());
  };
  return handler;
}

SameHost::SameHost(rpc::Reactor& reactor, bool enabled, std::shared_ptr<const JobKeys> keys)
    : reactor_(reactor), keys_(std::move(keys)) {
  if (enabled)
    peers_.emplace(reactor, rpc::PeersOptions{same_host_limits(), kConnectDeadline, kMostAddresses, true}, same_host_endpoint);
}

void SameHost::find_out(const std::string& address, std::function<void(bool)> done) {
  if (!peers_) return done(false);
  peers_->get(address, [done = std::move(done)](const Result<rpc::ConnectionPtr>& connection) { done(connection.has_value()); });
}

void SameHost::open(const std::string& address, JobId job, ShuffleId shuffle, std::vector<MapAttempt> maps, Done done) {
  const auto refuse = [this](const Done& to, Error why) {
    reactor_.post(guarded(alive_, [to, why = std::move(why)] { to(fail(why)); }));
  };
  if (!peers_) return refuse(done, Error(Code::unavailable, "map outputs are not shared with workers of the same host"));
  peers_->get(address, [this, refuse, job, shuffle, maps = std::move(maps), done](const Result<rpc::ConnectionPtr>& connection) {
    if (!connection) return refuse(done, connection.error());
    rpc::Payload payload;
    payload.header = encode(job, shuffle, maps, keys_->of(job));
    (*connection)
        ->request(kOpenOutputs, std::move(payload), kOpenDeadline,
                  guarded(alive_, [wanted = maps.size(), done](Result<rpc::Message> reply) {
                    done(reply ? descriptors(*std::move(reply), wanted) : fail(std::move(reply).error()));
                  }));
  });
}

void SameHost::forget(const std::string& address) {
  if (peers_) peers_->forget(address);
}

}  // namespace weft::shuffle
