#include "storage/transfer/chunk_server.hpp"

#include <cerrno>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include <fcntl.h>

#include "storage/transfer/chunk_copy.hpp"
#include "storage/transfer/incoming_write.hpp"
#include "storage/transfer/io_threads.hpp"
#include "storage/transfer/wire.hpp"

namespace weft::storage {
namespace {

constexpr std::size_t kMostOpen = 256;   // chunks a peer may have open for reading
constexpr std::size_t kMostCopies = 4;   // at once; more wait in line
constexpr std::size_t kMostChecks = 64;  // of reported damage, waiting or under way; what is left out the scrubber finds

using FilePtr = std::shared_ptr<const ChunkFile>;
using SharedResponder = std::shared_ptr<rpc::Responder>;

rpc::PeersOptions peers_options(const ChunkClientOptions& chain) {
  rpc::PeersOptions options;
  options.limits = chunk_limits();
  options.connect_deadline = chain.connect_deadline;
  return options;
}

bool on_this_machine(const rpc::ConnectionPtr& connection) { return connection->peer() == "unix"; }

}  // namespace

class ChunkServer::Impl : public std::enable_shared_from_this<Impl> {
 public:
  Impl(rpc::Reactor& reactor, ChunkStore& store, ChunkServerOptions options)
      : options_(std::move(options)),
        threads_(std::make_unique<IoThreads>(options_.threads)),
        context_{reactor, store, *threads_, options_.chain},
        sources_(reactor, peers_options(options_.chain)),
        pacer_(options_.copy_rate) {}

  rpc::Handler handler(rpc::Handler others);
  Result<void> offer_to_neighbours(const std::string& data_address);
  void copy_to(ChunkLocation chunk, std::vector<std::string> targets, CopyDone done);
  void forget(const std::string& address, const Error& why);
  void set_copy_rate(std::uint64_t rate) { pacer_.set_rate(rate); }
  void shut_down();

 private:
  struct Open {
    FilePtr file;
    std::uint32_t readers = 0;
  };
  struct Write {
    std::shared_ptr<IncomingWrite> write;
    std::unique_ptr<rpc::Timer> idle;
  };
  struct Peer {
    std::map<ChunkId, Open> open;
    std::map<ChunkId, Write> writes;
  };

  void on_request(const rpc::ConnectionPtr& connection, rpc::Message message, rpc::Responder responder);
  void on_notify(const rpc::ConnectionPtr& connection, const rpc::Message& message);
  void on_close(const rpc::ConnectionPtr& connection);

  void open(const rpc::ConnectionPtr& connection, ByteView header, rpc::Responder responder);
  void opened(const rpc::ConnectionPtr& connection, const FilePtr& file, rpc::Responder& responder);
  void read(const rpc::ConnectionPtr& connection, ByteView header, rpc::Responder responder);
  void send(const FilePtr& file, const ReadRange& range, const Result<void>& verified, rpc::Responder& responder);
  /// For readers that go from replica to replica, page by page. Answered with the result of `read`, from a disk thread.
  void open_damaged(ByteView header, rpc::Responder responder);
  void read_damaged(ByteView header, rpc::Responder responder);
  void answer(const ChunkInfo& info, rpc::Responder responder, std::function<Result<SharedBytes>(const DamagedChunk&)> read);
  /// Reads the whole chunk from its disk; when it is damaged indeed, the store sets it aside. Once at a time: whoever speaks to
  /// this port may ask for it.
  void check(ChunkId id);
  void begin(const rpc::ConnectionPtr& connection, ByteView header, rpc::Responder responder);
  void write(const rpc::ConnectionPtr& connection, rpc::Message message, rpc::Responder responder);
  void seal(const rpc::ConnectionPtr& connection, ByteView header, rpc::Responder responder);
  Write* find_write(const rpc::ConnectionPtr& connection, ChunkId id);
  void drop_write(rpc::Connection* connection, ChunkId id);
  void expect_more(const rpc::ConnectionPtr& connection, ChunkId id, Write& write);
  void next_copy();

  const ChunkServerOptions options_;
  std::unique_ptr<IoThreads> threads_;
  const ServerContext context_;
  std::map<rpc::Connection*, Peer> peers_;
  std::size_t writes_ = 0;
  std::vector<std::weak_ptr<IncomingWrite>> sealing_;  // no longer of a peer
  std::set<ChunkId> checking_;
  std::unique_ptr<rpc::Listener> neighbours_;
  rpc::Peers sources_;  // of pages that are damaged here
  Pacer pacer_;
  std::deque<std::shared_ptr<ChunkCopy>> copies_waiting_;
  std::set<std::shared_ptr<ChunkCopy>> copies_;
};

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

// ---- reading

void ChunkServer::Impl::open(const rpc::ConnectionPtr& connection, ByteView header, rpc::Responder responder) {
  const auto wanted = decode_open(header);
  if (!wanted) return responder.fail(wanted.error());
  peers_.try_emplace(connection.get());  // until its connection ends
  auto shared = std::make_shared<rpc::Responder>(std::move(responder));
  threads_->post(
      [weak = weak_from_this(), connection, shared, wanted = *wanted, &store = context_.store, &reactor = context_.reactor] {
        auto file = std::make_shared<Result<FilePtr>>(store.open_chunk(wanted.id));
        if (*file && (**file)->info() != wanted)
          *file = fail(Code::not_found, "this worker has another " + to_string(wanted.id) + " than the one asked for");
        reactor.post([weak, connection, shared, file] {
          const auto self = weak.lock();
          if (!*file) return shared->fail(file->error());
          if (self) self->opened(connection, **file, *shared);
        });
      });
}

void ChunkServer::Impl::opened(const rpc::ConnectionPtr& connection, const FilePtr& file, rpc::Responder& responder) {
  if (on_this_machine(connection)) {
    std::vector<Fd> fds;
    fds.emplace_back(::fcntl(file->fd(), F_DUPFD_CLOEXEC, 0));
    if (!fds.back().valid()) return responder.fail(errno_error("cannot hand over a chunk", errno));
    return responder.reply({{}, {}, std::move(fds)});
  }
  const auto peer = peers_.find(connection.get());
  if (peer == peers_.end()) return responder.fail(Error(Code::cancelled, "the reader is gone"));
  auto& open = peer->second.open;
  if (open.size() >= kMostOpen && !open.contains(file->info().id))
    return responder.fail(Error(Code::resource_exhausted, "too many chunks are open for one reader"));
  Open& entry = open[file->info().id];
  entry.file = file;
  ++entry.readers;
  const auto& sums = file->checksums();
  SharedBytes bytes({reinterpret_cast<const std::byte*>(sums.data()), sums.size() * sizeof(std::uint32_t)}, file);
  responder.reply({{}, {std::move(bytes)}, {}});
}

void ChunkServer::Impl::read(const rpc::ConnectionPtr& connection, ByteView header, rpc::Responder responder) {
  const auto range = decode_read(header);
  if (!range) return responder.fail(range.error());
  const auto peer = peers_.find(connection.get());
  const auto open = peer == peers_.end() ? std::map<ChunkId, Open>::iterator{} : peer->second.open.find(range->id);
  if (peer == peers_.end() || open == peer->second.open.end())
    return responder.fail(Error(Code::invalid_argument, to_string(range->id) + " is not open"));
  const FilePtr file = open->second.file;
  const bool within = range->offset <= file->info().length && range->length <= file->info().length - range->offset;
  // What is in memory goes out as it is: its reader checks it and reports damage, and a second pass here would cost a fifth of the
  // rate.
  if (within && file->cached(range->offset, range->length)) return send(file, *range, {}, responder);
  auto shared = std::make_shared<rpc::Responder>(std::move(responder));
  threads_->post([weak = weak_from_this(), shared, file, range = *range, &reactor = context_.reactor] {
    auto verified = std::make_shared<Result<void>>(file->verify(range.offset, range.length));
    reactor.post([weak, shared, file, range, verified] {
      if (const auto self = weak.lock()) self->send(file, range, *verified, *shared);
    });
  });
}

void ChunkServer::Impl::send(const FilePtr& file, const ReadRange& range, const Result<void>& verified, rpc::Responder& responder) {
  if (verified) return responder.reply({{}, {SharedBytes(file->bytes().subspan(range.offset, range.length), file)}, {}});
  if (verified.error().code() == Code::corrupt) check(range.id);
  responder.fail(verified.error());
}

void ChunkServer::Impl::open_damaged(ByteView header, rpc::Responder responder) {
  const auto wanted = decode_open(header);
  if (!wanted) return responder.fail(wanted.error());
  answer(*wanted, std::move(responder), [](const DamagedChunk& chunk) -> Result<SharedBytes> {
    WEFT_ASSIGN(auto sums, chunk.checksums());
    const auto kept = std::make_shared<const std::vector<std::uint32_t>>(std::move(sums));
    return SharedBytes({reinterpret_cast<const std::byte*>(kept->data()), kept->size() * sizeof(std::uint32_t)}, kept);
  });
}

void ChunkServer::Impl::read_damaged(ByteView header, rpc::Responder responder) {
  const auto range = decode_damaged(header);
  if (!range) return responder.fail(range.error());
  answer(range->info, std::move(responder), [range = *range](const DamagedChunk& chunk) -> Result<SharedBytes> {
    return SharedBytes(chunk.read(range.offset, range.length));
  });
}

void ChunkServer::Impl::answer(const ChunkInfo& info, rpc::Responder responder,
                               std::function<Result<SharedBytes>(const DamagedChunk&)> read) {
  auto shared = std::make_shared<rpc::Responder>(std::move(responder));
  threads_->post([shared, info, read = std::move(read), &store = context_.store, &reactor = context_.reactor] {
    auto bytes = std::make_shared<Result<SharedBytes>>(
        store.open_damaged(info).and_then([&read](const std::shared_ptr<const DamagedChunk>& chunk) { return read(*chunk); }));
    reactor.post([shared, bytes] {
      if (!*bytes) return shared->fail(bytes->error());
      shared->reply({{}, {std::move(**bytes)}, {}});
    });
  });
}

void ChunkServer::Impl::check(ChunkId id) {
  if (checking_.size() >= kMostChecks || !checking_.insert(id).second) return;
  threads_->post([weak = weak_from_this(), &store = context_.store, &reactor = context_.reactor, id] {
    (void)store.check(id);
    reactor.post([weak, id] {
      if (const auto self = weak.lock()) self->checking_.erase(id);
    });
  });
}

// ---- writing

void ChunkServer::Impl::begin(const rpc::ConnectionPtr& connection, ByteView header, rpc::Responder responder) {
  auto start = decode_begin(header);
  if (!start) return responder.fail(start.error());
  if (writes_ >= options_.writes)
    return responder.fail(Error(Code::resource_exhausted, "too many chunks are being written to this worker"));
  const ChunkId id = start->id;
  const auto [place, fresh] = peers_[connection.get()].writes.try_emplace(id);
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
void ChunkServer::set_copy_rate(std::uint64_t bytes_per_second) { impl_->set_copy_rate(bytes_per_second); }

}  // namespace weft::storage
