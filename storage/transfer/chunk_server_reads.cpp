// Chunks for readers: whole ones page by page, or as a descriptor on the same machine; damaged ones as they are.
#include <cerrno>
#include <functional>

#include <fcntl.h>

#include "storage/transfer/chunk_server_impl.hpp"

namespace weft::storage {
namespace {

constexpr std::size_t kMostOpen = 256;   // chunks a peer may have open for reading
constexpr std::size_t kMostChecks = 64;  // of reported damage, waiting or under way; what is left out the scrubber finds

bool on_this_machine(const rpc::ConnectionPtr& connection) { return connection->peer() == "unix"; }

}  // namespace

void ChunkServer::Impl::open(const rpc::ConnectionPtr& connection, ByteView header, rpc::Responder responder) {
  const auto wanted = decode_open(header);
  if (!wanted) return responder.fail(wanted.error());
  peers_[connection.get()].rack = wanted->rack;  // until its connection ends
  auto shared = std::make_shared<rpc::Responder>(std::move(responder));
  threads_->post(
      [weak = weak_from_this(), connection, shared, wanted = wanted->info, &store = context_.store, &reactor = context_.reactor] {
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
  context_.chain.racks->sent(peer->second.rack, bytes.bytes.size());
  responder.reply({encode_served(context_.chain.racks->rack()), {std::move(bytes)}, {}});
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
  if (within && file->cached(range->offset, range->length)) return send(file, *range, peer->second.rack, {}, responder);
  auto shared = std::make_shared<rpc::Responder>(std::move(responder));
  threads_->post([weak = weak_from_this(), shared, file, range = *range, rack = peer->second.rack, &reactor = context_.reactor] {
    auto verified = std::make_shared<Result<void>>(file->verify(range.offset, range.length));
    reactor.post([weak, shared, file, range, rack, verified] {
      if (const auto self = weak.lock()) self->send(file, range, rack, *verified, *shared);
    });
  });
}

void ChunkServer::Impl::send(const FilePtr& file, const ReadRange& range, const std::string& rack, const Result<void>& verified,
                             rpc::Responder& responder) {
  if (verified) {
    context_.chain.racks->sent(rack, range.length);
    return responder.reply({{}, {SharedBytes(file->bytes().subspan(range.offset, range.length), file)}, {}});
  }
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
  answer({range->info, range->rack}, std::move(responder), [range = *range](const DamagedChunk& chunk) -> Result<SharedBytes> {
    return SharedBytes(chunk.read(range.offset, range.length));
  });
}

void ChunkServer::Impl::answer(const ChunkWanted& wanted, rpc::Responder responder,
                               std::function<Result<SharedBytes>(const DamagedChunk&)> read) {
  auto shared = std::make_shared<rpc::Responder>(std::move(responder));
  threads_->post(
      [shared, wanted, read = std::move(read), racks = context_.chain.racks, &store = context_.store, &reactor = context_.reactor] {
        auto bytes = std::make_shared<Result<SharedBytes>>(
            store.open_damaged(wanted.info).and_then([&read](const std::shared_ptr<const DamagedChunk>& chunk) {
              return read(*chunk);
            }));
        reactor.post([shared, racks, rack = wanted.rack, bytes] {
          if (!*bytes) return shared->fail(bytes->error());
          racks->sent(rack, (*bytes)->bytes.size());
          shared->reply({encode_served(racks->rack()), {std::move(**bytes)}, {}});
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

}  // namespace weft::storage
