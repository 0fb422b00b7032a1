#include "storage/transfer/chunk_client.hpp"

#include <algorithm>
#include <cstring>

#include "base/rpc/await.hpp"
#include "storage/transfer/client_impl.hpp"

namespace weft::storage {
namespace {

/// Tries the replicas one after the other.
class FailoverReader final : public ChunkReader {
 public:
  FailoverReader(std::shared_ptr<ChunkClient::Impl> client, ChunkLocation location)
      : client_(std::move(client)), location_(std::move(location)) {}

  const ChunkInfo& info() const override { return location_.info; }
  const std::vector<ReplicaFailure>& failures() const override { return failures_; }
  bool local() const override { return source_ != nullptr && source_->local(); }

  Result<SharedBytes> next(std::uint64_t offset, std::uint64_t at_most) override {
    if (offset >= info().length || at_most == 0) return SharedBytes();
    while (true) {
      WEFT_TRY(open());
      auto bytes = source_->next(offset, std::min(at_most, info().length - offset));
      if (bytes) return bytes;
      if (bytes.error().code() == Code::corrupt) source_->report_damage();
      source_.reset();
      failures_.push_back({location_.replicas[next_replica_ - 1], std::move(bytes).error()});
    }
  }

  /// Makes sure that a replica is open.
  Result<void> open() {
    while (source_ == nullptr) {
      if (next_replica_ >= location_.replicas.size()) return fail(all_failed());
      const std::string& address = location_.replicas[next_replica_++];
      auto source = open_replica(*client_, address, info());
      if (source) {
        source_ = std::move(*source);
      } else {
        failures_.push_back({address, std::move(source).error()});
      }
    }
    return {};
  }

 private:
  Error all_failed() const {
    if (failures_.empty()) return {Code::unavailable, to_string(info().id) + " has no live replica (see weft fs fsck)"};
    std::string what = "no replica of " + to_string(info().id) + " can be read";
    for (const ReplicaFailure& failure : failures_) what += "; " + failure.address + ": " + failure.error.to_string();
    return {failures_.back().error.code(), std::move(what)};
  }

  const std::shared_ptr<ChunkClient::Impl> client_;
  const ChunkLocation location_;
  std::size_t next_replica_ = 0;
  std::unique_ptr<ReplicaSource> source_;
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
                                                         std::uint64_t expected_length) {
  return make_writer(*impl_, id, targets, expected_length);
}

}  // namespace weft::storage
