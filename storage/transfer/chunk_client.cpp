#include "storage/transfer/chunk_client.hpp"

#include <algorithm>
#include <cstring>
#include <optional>

#include "base/rpc/await.hpp"
#include "storage/transfer/client_impl.hpp"
#include "storage/transfer/page_reader.hpp"

namespace weft::storage {
namespace {

/// Tries the replicas one after the other, then all of them page by page.
class FailoverReader final : public ChunkReader {
 public:
  FailoverReader(std::shared_ptr<ChunkClient::Impl> client, ChunkLocation location)
      : client_(std::move(client)), location_(std::move(location)) {}

  const ChunkInfo& info() const override { return location_.info; }
  const std::vector<ReplicaFailure>& failures() const override { return failures_; }
  bool local() const override { return source_ != nullptr && source_->local(); }

  Result<SharedBytes> next(std::uint64_t offset, std::uint64_t at_most) override {
    if (offset >= info().length || at_most == 0) return SharedBytes();
    const std::uint64_t wanted = std::min(at_most, info().length - offset);
    while (true) {
      WEFT_TRY(open());
      if (pages_) return pages_->next(offset, wanted);
      auto bytes = source_->next(offset, wanted);
      if (bytes) return bytes;
      if (bytes.error().code() == Code::corrupt) source_->report_damage();
      source_.reset();
      failures_.push_back({location_.replicas[next_replica_ - 1], std::move(bytes).error()});
    }
  }

  void will_read(std::uint64_t end) override {
    will_read_ = end;
    if (source_) source_->will_read(end);
  }

  Salvaged salvage(std::uint64_t offset, MutableBytes into) override {
    const std::uint64_t rest = offset < info().length ? info().length - offset : 0;
    Salvaged result{std::min<std::uint64_t>(rest, into.size()), {}};
    source_.reset();
    next_replica_ = location_.replicas.size();
    const auto opened = pages_ ? Result<void>() : open_pages();
    for (std::uint64_t at = 0; at < result.bytes;) {
      const std::uint64_t to_page_end = kPageBytes - (offset + at) % kPageBytes;
      const MutableBytes room = into.subspan(at, std::min(to_page_end, result.bytes - at));
      const auto got = opened ? pages_->next(offset + at, room.size()) : fail(opened.error());
      got ? std::memcpy(room.data(), got->bytes.data(), room.size()) : std::memset(room.data(), 0, room.size());
      if (!got) append(result.missing, {offset + at, room.size()});
      at += room.size();
    }
    return result;
  }

  /// Makes sure that a replica is open, or all of them are.
  Result<void> open() {
    while (source_ == nullptr && pages_ == nullptr) {
      if (next_replica_ >= location_.replicas.size()) return open_pages();
      const std::string& address = location_.replicas[next_replica_++];
      auto source = open_replica(*client_, address, info());
      if (source) {
        source_ = std::move(*source);
        if (will_read_) source_->will_read(*will_read_);
      } else {
        failures_.push_back({address, std::move(source).error()});
      }
    }
    return {};
  }

 private:
  Result<void> open_pages() {
    std::vector<std::string> all = location_.replicas;
    all.insert(all.end(), location_.damaged.begin(), location_.damaged.end());
    // A worker that has set its replica aside says that it has none.
    const bool hope = std::any_of(failures_.begin(), failures_.end(), [](const ReplicaFailure& failure) {
      return failure.error.code() == Code::corrupt || failure.error.code() == Code::not_found;
    });
    if (!hope && location_.damaged.empty() && failures_.size() >= location_.replicas.size()) return fail(all_failed());
    auto pages = PageReader::open(*client_, info(), std::move(all));
    if (!pages) return fail(failures_.empty() ? std::move(pages).error() : all_failed());
    pages_ = std::move(*pages);
    return {};
  }

  Error all_failed() const {
    if (failures_.empty()) return {Code::unavailable, to_string(info().id) + " has no live replica (see weft fs fsck)"};
    return {failures_.back().error.code(), with_reasons("no replica of " + to_string(info().id) + " can be read", failures_)};
  }

  const std::shared_ptr<ChunkClient::Impl> client_;
  const ChunkLocation location_;
  std::optional<std::uint64_t> will_read_{};  // up to there
  std::size_t next_replica_ = 0;
  std::unique_ptr<ReplicaSource> source_;
  std::unique_ptr<PageReader> pages_;  // once every replica has failed
  std::vector<ReplicaFailure> failures_;
};

}  // namespace

Result<std::size_t> ChunkReader::read(std::uint64_t offset, MutableBytes into) {
  std::size_t done = 0;
  while (done < into.size()) {
    WEFT_ASSIGN(const SharedBytes part, next(offset + done, into.size() - done));
    if (part.bytes.empty()) break;
    std::memcpy(into.data() + done, part.bytes.data(), part.bytes.size());
    done += part.bytes.size();
  }
  return done;
}

ChunkClient::Impl::Impl(rpc::Reactor& reactor, const ChunkClientOptions& options) : reactor_(reactor), options_(options) {
  rpc::PeersOptions of_peers;
  of_peers.limits = chunk_limits();
  of_peers.connect_deadline = options_.connect_deadline;
  rpc::PeersOptions of_neighbours = of_peers;
  of_neighbours.remember_failures = true;  // they are on other machines
  reactor_.run([&] {
    workers_ = std::make_unique<rpc::Peers>(reactor_, of_peers);
    neighbours_ = std::make_unique<rpc::Peers>(reactor_, of_neighbours, chunk_neighbour_endpoint);
  });
}

ChunkClient::Impl::~Impl() {
  const auto close = [this] {
    workers_.reset();
    neighbours_.reset();
  };
  reactor_.in_thread() ? close() : reactor_.run(close);
}

Result<rpc::ConnectionPtr> ChunkClient::Impl::connect(const std::string& address) { return connect_by(workers_, address); }
Result<rpc::ConnectionPtr> ChunkClient::Impl::connect_to_neighbour(const std::string& address) {
  return connect_by(neighbours_, address);
}

Result<rpc::ConnectionPtr> ChunkClient::Impl::connect_by(const std::unique_ptr<rpc::Peers>& peers, const std::string& address) {
  return rpc::await<rpc::ConnectionPtr>(reactor_, "connecting to " + address,
                                        [&peers, address](auto done) { peers->get(address, done); });
}

ChunkClient::ChunkClient(rpc::Reactor& reactor, ChunkClientOptions options) : impl_(std::make_shared<Impl>(reactor, options)) {}
ChunkClient::~ChunkClient() = default;

Result<std::unique_ptr<ChunkReader>> ChunkClient::open(const ChunkLocation& location) {
  auto reader = std::make_unique<FailoverReader>(impl_, location);
  WEFT_TRY(reader->open());
  return reader;
}

Result<std::unique_ptr<ChunkWriter>> ChunkClient::create(ChunkId id, const std::vector<std::string>& targets,
                                                         std::uint64_t expected_length, std::uint64_t key) {
  return make_writer(*impl_, id, targets, expected_length, key);
}

}  // namespace weft::storage
