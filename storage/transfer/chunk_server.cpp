#include "storage/transfer/chunk_server.hpp"

#include <algorithm>
#include <utility>

#include <fmt/core.h>

#include "base/text.hpp"
#include "storage/transfer/chunk_server_impl.hpp"

namespace weft::storage {
namespace {

constexpr std::size_t kMostCopies = 4;  // at once; more wait in line

rpc::PeersOptions peers_options(const ChunkClientOptions& chain) {
  rpc::PeersOptions options;
  options.limits = chunk_limits();
  options.connect_deadline = chain.connect_deadline;
  return options;
}

}  // namespace

ChunkServer::Impl::Impl(rpc::Reactor& reactor, ChunkStore& store, ChunkServerOptions options)
    : options_(std::move(options)),
      threads_(std::make_unique<IoThreads>(options_.threads)),
      context_{reactor, store, *threads_, options_.chain},
      sources_(reactor, peers_options(options_.chain)),
      pacer_(options_.copy_rate) {}

rpc::Handler ChunkServer::Impl::handler(rpc::Handler others) {
  const auto ours = [](rpc::MessageType type) { return type >= kFirstChunkMessage && type <= kLastChunkMessage; };
  rpc::Handler handler;
  handler.on_request = [weak = weak_from_this(), ours, other = others.on_request](const rpc::ConnectionPtr& connection,
                                                                                  rpc::Message message, rpc::Responder responder) {
    if (!ours(message.type) && other) return other(connection, std::move(message), std::move(responder));
    const auto self = weak.lock();
    if (!self) return responder.fail(Error(Code::unavailable, "this worker is ending"));
    self->on_request(connection, std::move(message), std::move(responder));
  };
  handler.on_notify = [weak = weak_from_this(), ours, other = others.on_notify](const rpc::ConnectionPtr& connection,
                                                                                rpc::Message message) {
    if (!ours(message.type) && other) return other(connection, std::move(message));
    if (const auto self = weak.lock()) self->on_notify(connection, message);
  };
  handler.on_close = [weak = weak_from_this(), other = others.on_close](const rpc::ConnectionPtr& connection, const Error& why) {
    if (const auto self = weak.lock()) self->on_close(connection);
    if (other) other(connection, why);
  };
  return handler;
}

Result<void> ChunkServer::Impl::offer_to_neighbours(const std::string& data_address) {
  WEFT_ASSIGN(const rpc::Endpoint endpoint, chunk_neighbour_endpoint(data_address));
  WEFT_ASSIGN(neighbours_, context_.reactor.listen(endpoint, chunk_limits(), [weak = weak_from_this()](const rpc::ConnectionPtr&) {
    const auto self = weak.lock();
    return self ? self->handler({}) : rpc::Handler{};
  }));
  return {};
}

void ChunkServer::Impl::on_request(const rpc::ConnectionPtr& connection, rpc::Message message, rpc::Responder responder) {
  const ByteView header = message.header.view();
  switch (message.type) {
    case kOpenChunk:
      return open(connection, header, std::move(responder));
    case kReadPages:
      return read(connection, header, std::move(responder));
    case kOpenDamaged:
      return open_damaged(header, std::move(responder));
    case kReadDamaged:
      return read_damaged(header, std::move(responder));
    case kBeginWrite:
      return begin(connection, header, std::move(responder));
    case kWriteBytes:
      return write(connection, std::move(message), std::move(responder));
    case kSealChunk:
      return seal(connection, header, std::move(responder));
    default:
      return responder.fail(Error(Code::invalid_argument, "this port serves chunks, and no message of that number"));
  }
}

void ChunkServer::Impl::on_notify(const rpc::ConnectionPtr& connection, const rpc::Message& message) {
  const auto id = decode_name(message.header.view());
  if (!id) return;
  if (message.type == kAbandonWrite) return drop_write(connection.get(), *id);
  if (message.type == kReportDamage) return check(*id);
  const auto peer = peers_.find(connection.get());
  if (message.type != kCloseChunk || peer == peers_.end()) return;
  const auto file = peer->second.open.find(*id);
  if (file != peer->second.open.end() && --file->second.readers == 0) peer->second.open.erase(file);
}

void ChunkServer::Impl::on_close(const rpc::ConnectionPtr& connection) {
  const auto peer = peers_.find(connection.get());
  if (peer == peers_.end()) return;
  for (const auto& [id, write] : peer->second.writes) write.write->abandon();
  writes_ -= peer->second.writes.size();
  peers_.erase(peer);
}

// ---- writing

/// Programs of users show the key that the master gave them with the chunk: a reader of a file knows its chunks' ids and digests,
/// to which other bytes can be made, and must not bring replicas of them into being. Masters and workers need none, and where
/// nothing is encrypted all are processes of one user.
Result<void> ChunkServer::Impl::may_begin(const rpc::Connection& peer, const WriteStart& start) const {
  const rpc::Identity* const who = peer.identity();
  if (who == nullptr || who->role != rpc::Role::user || write_secret_ == WriteSecret{}) return {};
  if (start.key == key_to_write(write_secret_, start.id)) return {};
  if (start.key == 0)
    return fail(Code::permission_denied,
                fmt::format("user {} shows no key to write {}: a program of an earlier release has none; build it again",
                            escaped(who->name), to_string(start.id)));
  return fail(Code::permission_denied,
              fmt::format("user {} shows a key to write {} that this worker's master did not give; ask the master for a chunk",
                          escaped(who->name), to_string(start.id)));
}

/// So that nobody keeps all others from writing: a writer needs one for each connection.
Result<void> ChunkServer::Impl::has_turn(const Peer& peer) const {
  const auto refuse = [](std::string_view by) {
    return fail(Code::resource_exhausted, fmt::format("too many chunks are being written to this worker{}", by));
  };
  if (writes_ >= options_.writes) return refuse("");
  if (peer.writes.size() >= std::max(options_.writes / 4, 1U)) return refuse(" by one connection");
  if (peer.user.empty()) return {};
  std::size_t by_user = 0;
  for (const auto& [connection, other] : peers_)
    if (other.user == peer.user) by_user += other.writes.size();
  return by_user < std::max(options_.writes / 2, 1U) ? Result<void>() : refuse(" by user " + escaped(peer.user));
}

void ChunkServer::Impl::begin(const rpc::ConnectionPtr& connection, ByteView header, rpc::Responder responder) {
  auto start = decode_begin(header);
  if (!start) return responder.fail(start.error());
  if (const auto may = may_begin(*connection, *start); !may) return responder.fail(may.error());
  Peer& peer = peers_[connection.get()];
  if (const rpc::Identity* const peer_is = connection->identity(); peer_is != nullptr && peer_is->role == rpc::Role::user)
    peer.user = peer_is->name;
  if (const auto turn = has_turn(peer); !turn) return responder.fail(turn.error());
  const ChunkId id = start->id;
  const auto [place, fresh] = peer.writes.try_emplace(id);
  if (!fresh) return responder.fail(Error(Code::already_exists, to_string(id) + " is already being written"));
  ++writes_;
  place->second.write = std::make_shared<IncomingWrite>(context_, std::move(*start));
  expect_more(connection, id, place->second);
  place->second.write->begin(std::move(responder));
}

ChunkServer::Impl::Write* ChunkServer::Impl::find_write(const rpc::ConnectionPtr& connection, ChunkId id) {
  const auto peer = peers_.find(connection.get());
  if (peer == peers_.end()) return nullptr;
  const auto write = peer->second.writes.find(id);
  return write == peer->second.writes.end() ? nullptr : &write->second;
}

void ChunkServer::Impl::write(const rpc::ConnectionPtr& connection, rpc::Message message, rpc::Responder responder) {
  const auto position = decode_position(message.header.view());
  if (!position) return responder.fail(position.error());
  Write* const write = find_write(connection, position->id);
  if (write == nullptr) return responder.fail(Error(Code::invalid_argument, to_string(position->id) + " is not being written"));
  expect_more(connection, position->id, *write);
  write->write->write(position->offset, std::move(message.bulk), std::move(responder));
}

void ChunkServer::Impl::seal(const rpc::ConnectionPtr& connection, ByteView header, rpc::Responder responder) {
  const auto info = decode_seal(header);
  if (!info) return responder.fail(info.error());
  Write* const write = find_write(connection, info->id);
  if (write == nullptr) return responder.fail(Error(Code::invalid_argument, to_string(info->id) + " is not being written"));
  std::erase_if(sealing_, [](const auto& weak) { return weak.expired(); });
  sealing_.push_back(write->write);
  write->write->seal(*info, std::move(responder));
  drop_write(connection.get(), info->id);  // which finishes what is being sealed
}

void ChunkServer::Impl::drop_write(rpc::Connection* connection, ChunkId id) {
  const auto peer = peers_.find(connection);
  if (peer == peers_.end()) return;
  const auto write = peer->second.writes.find(id);
  if (write == peer->second.writes.end()) return;
  write->second.write->abandon();
  peer->second.writes.erase(write);
  --writes_;
}

void ChunkServer::Impl::forget(const std::string& address, const Error& why) {
  for (const auto& [connection, peer] : peers_)
    for (const auto& [id, write] : peer.writes) write.write->forget(address, why);
  for (const auto& weak : sealing_)
    if (const auto write = weak.lock()) write->forget(address, why);
}

/// A writer that is silent for too long is gone.
void ChunkServer::Impl::expect_more(const rpc::ConnectionPtr& connection, ChunkId id, Write& write) {
  write.idle = context_.reactor.after(options_.idle_deadline, [this, key = connection.get(), id] { drop_write(key, id); });
}

// ---- copies

void ChunkServer::Impl::copy_to(ChunkLocation chunk, std::vector<std::string> targets, CopyDone done) {
  auto holder = std::make_shared<std::weak_ptr<ChunkCopy>>();
  auto copy = std::make_shared<ChunkCopy>(context_, pacer_, sources_, std::move(chunk), std::move(targets),
                                          [weak = weak_from_this(), holder, done = std::move(done)](Result<ChunkWritten> result) {
                                            const auto self = weak.lock();
                                            if (!self) return;
                                            self->copies_.erase(holder->lock());
                                            self->next_copy();
                                            done(std::move(result));
                                          });
  *holder = copy;
  copies_waiting_.push_back(std::move(copy));
  next_copy();
}

void ChunkServer::Impl::next_copy() {
  while (copies_.size() < kMostCopies && !copies_waiting_.empty()) {
    const auto copy = *copies_.insert(std::move(copies_waiting_.front())).first;
    copies_waiting_.pop_front();
    copy->start();
  }
}

void ChunkServer::Impl::shut_down() {
  if (neighbours_) neighbours_->close();
  for (const auto& copy : std::exchange(copies_, {})) copy->stop();
  copies_waiting_.clear();
  for (const auto& [connection, peer] : std::exchange(peers_, {}))
    for (const auto& [id, write] : peer.writes) write.write->abandon();
  threads_.reset();  // waits for disks
}

ChunkServer::ChunkServer(rpc::Reactor& reactor, ChunkStore& store, ChunkServerOptions options)
    : impl_(std::make_shared<Impl>(reactor, store, std::move(options))) {}
ChunkServer::~ChunkServer() { impl_->shut_down(); }
rpc::Handler ChunkServer::handler(rpc::Handler others) { return impl_->handler(std::move(others)); }
Result<void> ChunkServer::offer_to_neighbours(const std::string& data_address) { return impl_->offer_to_neighbours(data_address); }
void ChunkServer::copy_to(ChunkLocation chunk, std::vector<std::string> targets, CopyDone done) {
  impl_->copy_to(std::move(chunk), std::move(targets), std::move(done));
}
void ChunkServer::forget(const std::string& address, const Error& why) { impl_->forget(address, why); }
void ChunkServer::set_write_secret(const WriteSecret& secret) { impl_->set_write_secret(secret); }
void ChunkServer::set_copy_rate(std::uint64_t bytes_per_second) { impl_->set_copy_rate(bytes_per_second); }

}  // namespace weft::storage
