#include <algorithm>
#include <condition_variable>
#include <cstring>
#include <mutex>
#include <optional>

#include "base/rpc/await.hpp"
#include "storage/transfer/chain.hpp"
#include "storage/transfer/client_impl.hpp"

namespace weft::storage {
namespace {

constexpr rpc::Duration kWriteMargin = std::chrono::seconds(5);

class ChainedWriter final : public ChunkWriter {
 public:
  ChainedWriter(rpc::Reactor& reactor, std::shared_ptr<Chain> chain, ChunkId id, rpc::Duration patience)
      : reactor_(reactor), chain_(std::move(chain)), id_(id), patience_(patience) {}
  ~ChainedWriter() override {
    reactor_.post([chain = chain_] { chain->abandon(); });
  }

  Result<void> append(ByteView bytes) override {
    if (sealed_) return fail(Code::invalid_argument, to_string(id_) + " is no longer being written");
    if (bytes.size() > kLargestChunkBytes - length())
      return fail(Code::resource_exhausted, to_string(id_) + " would be longer than chunks may be");
    while (!bytes.empty()) {
      if (packet_.empty()) packet_ = Buffer(kPacketBytes);
      const ByteView part = bytes.first(std::min(bytes.size(), packet_.size() - filled_));
      checksums_.add(part);
      std::memcpy(packet_.data() + filled_, part.data(), part.size());
      filled_ += part.size();
      bytes = bytes.subspan(part.size());
      if (filled_ == packet_.size()) WEFT_TRY(send_packet());
    }
    return {};
  }

  std::uint64_t length() const override { return checksums_.length(); }

  Result<ChunkWritten> seal() override {
    if (sealed_) return fail(Code::invalid_argument, to_string(id_) + " is no longer being written");
    if (filled_ != 0) WEFT_TRY(send_packet());
    sealed_ = true;
    const ChunkInfo info{id_, length(), digest_of(checksums_.finish())};
    return rpc::await<ChunkWritten>(reactor_, "sealing " + to_string(id_),
                                    [chain = chain_, info](auto done) { chain->seal(info, done); });
  }

 private:
  struct Credit {
    std::mutex mutex;
    std::condition_variable changed;
    std::uint32_t in_flight = 0;
    std::optional<Error> failure;
  };

  Result<void> send_packet() {
    {
      std::unique_lock lock(credit_->mutex);
      const bool given =
          credit_->changed.wait_for(lock, patience_, [&] { return credit_->failure || credit_->in_flight < kPacketsInFlight; });
      if (credit_->failure) return fail(*credit_->failure);
      if (!given) return fail(Code::deadline_exceeded, "writing " + to_string(id_) + " is not getting on");
      ++credit_->in_flight;
    }
    packet_.truncate(filled_);
    filled_ = 0;
    reactor_.post([chain = chain_, credit = credit_, bytes = SharedBytes(std::exchange(packet_, {}))] {
      chain->send(bytes, [credit](Result<void> sent) {
        const std::lock_guard lock(credit->mutex);
        --credit->in_flight;
        if (!sent && !credit->failure) credit->failure = std::move(sent).error();
        credit->changed.notify_one();
      });
    });
    return {};
  }

  rpc::Reactor& reactor_;
  const std::shared_ptr<Chain> chain_;
  const ChunkId id_;
  const rpc::Duration patience_;
  const std::shared_ptr<Credit> credit_ = std::make_shared<Credit>();
  PageChecksums checksums_;
  Buffer packet_;
  std::size_t filled_ = 0;
  bool sealed_ = false;
};

}  // namespace

Result<std::unique_ptr<ChunkWriter>> make_writer(ChunkClient::Impl& client, ChunkId id, const std::vector<std::string>& targets,
                                                 std::uint64_t expected_length, std::uint64_t key) {
  const auto& options = client.options();
  auto chain = std::make_shared<Chain>(client.reactor(), options, id, targets, key);
  WEFT_TRY(rpc::await<void>(client.reactor(), "beginning to write " + to_string(id),
                            [chain, expected_length](auto done) { chain->begin(expected_length, done); }));
  const auto patience = options.write_deadline * static_cast<rpc::Duration::rep>(targets.size()) + kWriteMargin;
  return std::make_unique<ChainedWriter>(client.reactor(), std::move(chain), id, patience);
}

}  // namespace weft::storage
