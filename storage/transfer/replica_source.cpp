#include <algorithm>
#include <condition_variable>
#include <cstring>
#include <deque>
#include <mutex>
#include <optional>
#include <utility>

#include "base/assert.hpp"
#include "base/rpc/await.hpp"
#include "storage/transfer/client_impl.hpp"

namespace weft::storage {
namespace {

constexpr std::uint64_t kLocalStep = 1u << 20;  // verified ahead of a reader that goes on from where it was
constexpr rpc::Duration kReadMargin = std::chrono::seconds(5);
constexpr rpc::Duration kLatestOpening = std::chrono::minutes(10);  // for an answer that nobody waits for any more

std::uint64_t page_floor(std::uint64_t offset) { return offset / kPageBytes * kPageBytes; }
std::uint64_t page_ceil(std::uint64_t offset) { return page_floor(offset + kPageBytes - 1); }

void tell(ChunkClient::Impl& client, const rpc::ConnectionPtr& connection, rpc::MessageType type, ChunkId id) {
  client.reactor().post([connection, type, id] { connection->notify(type, {encode_name(id), {}, {}}); });
}

/// A chunk that somebody waits to have open at a worker. The reactor's thread.
struct Opening {
  std::function<void(Result<rpc::Message>)> done;  // none once it was called
  std::unique_ptr<rpc::Timer> deadline;

  void end(Result<rpc::Message> answer) { std::exchange(done, nullptr)(std::move(answer)); }
};

/// What was opened for a reader that waits no longer is closed: it would count against what this connection may have open.
void opened_late(const rpc::ConnectionPtr& connection, ChunkId id, const Result<rpc::Message>& answer) {
  if (answer) return connection->notify(kCloseChunk, {encode_name(id), {}, {}});
  if (answer.error().code() == Code::deadline_exceeded) connection->close();  // nobody knows what is open there
}

Result<rpc::Message> ask(ChunkClient::Impl& client, const rpc::ConnectionPtr& connection, const ChunkInfo& info) {
  return rpc::await<rpc::Message>(client.reactor(), "opening a chunk", [&client, connection, info](auto done) {
    auto opening = std::make_shared<Opening>();
    opening->done = done;
    opening->deadline = client.reactor().after(client.options().read_deadline, [waiting = std::weak_ptr(opening)] {
      const auto late = waiting.lock();
      if (late && late->done) late->end(fail(Code::deadline_exceeded, "a worker did not open a chunk in time"));
    });
    connection->request(kOpenChunk, {encode_open({info, client.options().racks->rack()}), {}, {}}, kLatestOpening,
                        [opening, id = info.id, to = std::weak_ptr(connection)](Result<rpc::Message> answer) {
                          if (opening->done) return opening->end(std::move(answer));
                          if (const auto there = to.lock()) opened_late(there, id, answer);
                        });
  });
}

/// The worker's file, mapped.
class MappedSource final : public ReplicaSource {
 public:
  MappedSource(ChunkClient::Impl& client, rpc::ConnectionPtr connection, std::shared_ptr<const ChunkFile> file)
      : client_(client), connection_(std::move(connection)), file_(std::move(file)) {}

  Result<SharedBytes> next(std::uint64_t offset, std::uint64_t at_most) override {
    if (offset < verified_from_ || offset >= verified_to_) {
      const bool goes_on = offset == verified_to_;
      const std::uint64_t wanted = goes_on ? std::max(at_most, kLocalStep) : at_most;
      const std::uint64_t end = std::min(file_->info().length, page_ceil(offset + std::min(wanted, kLocalStep)));
      WEFT_TRY(file_->verify(page_floor(offset), end - page_floor(offset)));
      verified_from_ = page_floor(offset);
      verified_to_ = end;
    }
    return SharedBytes(file_->bytes().subspan(offset, std::min(at_most, verified_to_ - offset)), file_);
  }

  bool local() const override { return true; }
  void report_damage() override { tell(client_, connection_, kReportDamage, file_->info().id); }

 private:
  ChunkClient::Impl& client_;
  const rpc::ConnectionPtr connection_;
  const std::shared_ptr<const ChunkFile> file_;
  std::uint64_t verified_from_ = 0, verified_to_ = 0;
};

/// Pages over a connection. Each request under way is a credit given to the worker; there are read_window of them once the reader
/// has shown that it goes on.
class RemoteSource final : public ReplicaSource {
 public:
  RemoteSource(ChunkClient::Impl& client, rpc::ConnectionPtr connection, const ChunkInfo& info,
               std::vector<std::uint32_t> checksums, std::string rack)
      : client_(client), connection_(std::move(connection)), info_(info) {
    shared_->info = info;
    shared_->checksums = std::move(checksums);
    shared_->racks = client.options().racks;
    shared_->rack = std::move(rack);
  }
  ~RemoteSource() override { tell(client_, connection_, kCloseChunk, info_.id); }

  Result<SharedBytes> next(std::uint64_t offset, std::uint64_t at_most) override {
    while (!ranges_.empty() && !(offset >= ranges_.front()->offset && offset < ranges_.front()->end())) ranges_.pop_front();
    if (ranges_.empty()) start_at(offset, at_most);
    if (goes_on(offset)) read_ahead();
    const Range& range = *ranges_.front();
    WEFT_ASSIGN(const Bytes bytes, arrival(range));
    const std::uint64_t skip = offset - range.offset;
    const std::uint64_t size = std::min(at_most, range.length - skip);
    expected_ = offset + size;
    return SharedBytes(bytes->view().subspan(skip, size), bytes);
  }

  void will_read(std::uint64_t end) override {
    announced_ = true;
    ahead_until_ = end < info_.length ? std::min(page_ceil(end), info_.length) : info_.length;
  }
  bool local() const override { return false; }
  void report_damage() override { tell(client_, connection_, kReportDamage, info_.id); }

 private:
  using Bytes = std::shared_ptr<const Buffer>;
  /// What the reactor's thread needs, which may outlive the source.
  struct Shared {
    ChunkInfo info;
    std::vector<std::uint32_t> checksums;
    std::shared_ptr<RackTally> racks;
    std::string rack;  // of the worker
    std::mutex mutex;
    std::condition_variable arrived;
  };
  struct Range {
    std::uint64_t offset = 0, length = 0;
    std::optional<Result<Bytes>> bytes;  // verified; under Shared's mutex
    std::uint64_t end() const { return offset + length; }
  };

  std::uint64_t step() const { return std::clamp(page_floor(client_.options().read_bytes), kPageBytes, kMostReadBytes); }

  bool goes_on(std::uint64_t offset) const { return offset == expected_ || (announced_ && offset < ahead_until_); }

  void start_at(std::uint64_t offset, std::uint64_t at_most) {
    const std::uint64_t from = page_floor(offset);
    const std::uint64_t asked = page_ceil(offset + at_most);
    const std::uint64_t end = goes_on(offset) ? std::max(asked, ahead_until_) : asked;
    request(from, std::min({end, info_.length, from + step()}) - from);
  }

  void read_ahead() {
    while (ranges_.size() < std::max(client_.options().read_window, 1u) && ranges_.back()->end() < ahead_until_) {
      const std::uint64_t from = ranges_.back()->end();
      request(from, std::min(step(), ahead_until_ - from));
    }
  }

  void request(std::uint64_t offset, std::uint64_t length) {
    WEFT_ASSERT(offset < info_.length && length <= info_.length - offset);
    auto range = std::make_shared<Range>();
    range->offset = offset;
    range->length = length;
    ranges_.push_back(range);
    client_.reactor().post(
        [shared = shared_, range, connection = connection_, turns = client_.turns(), deadline = client_.options().read_deadline] {
          turns->request(connection, {shared->info.id, range->offset, static_cast<std::uint32_t>(range->length)}, deadline,
                         [shared, range](Result<rpc::Message> reply) {
                           if (reply) shared->racks->received(shared->rack, reply->bulk.size());
                           auto bytes = checked(*shared, *range, std::move(reply));
                           const std::lock_guard lock(shared->mutex);
                           range->bytes = std::move(bytes);
                           shared->arrived.notify_one();
                         });
        });
  }

  /// By the thread that received them: they are in its cache.
  static Result<Bytes> checked(const Shared& shared, const Range& range, Result<rpc::Message> reply) {
    if (!reply) return fail(std::move(reply).error());
    auto bytes = std::make_shared<const Buffer>(std::move(reply->bulk));
    if (bytes->size() != range.length)
      return fail(Code::corrupt, to_string(shared.info.id) + ": pages came with another length than asked for");
    WEFT_TRY(verify_pages(shared.info.id, shared.checksums, range.offset / kPageBytes, bytes->view()));
    return bytes;
  }

  Result<Bytes> arrival(const Range& range) {
    std::unique_lock lock(shared_->mutex);
    if (!shared_->arrived.wait_for(lock, client_.options().read_deadline + kReadMargin, [&] { return range.bytes.has_value(); }))
      return fail(Code::deadline_exceeded, "the pages of a chunk did not come in time");
    return *range.bytes;
  }

  ChunkClient::Impl& client_;
  const rpc::ConnectionPtr connection_;
  const ChunkInfo info_;
  bool announced_ = false;  // that it reads on until then
  std::uint64_t ahead_until_ = info_.length;
  const std::shared_ptr<Shared> shared_ = std::make_shared<Shared>();
  std::deque<std::shared_ptr<Range>> ranges_;  // contiguous, ascending
  std::uint64_t expected_ = UINT64_MAX;        // where a reader that goes on reads next: one that has just begun does not
};

Result<std::unique_ptr<ReplicaSource>> open_mapped(ChunkClient::Impl& client, const rpc::ConnectionPtr& connection,
                                                   const ChunkInfo& info) {
  WEFT_ASSIGN(rpc::Message answer, ask(client, connection, info));
  if (answer.fds.size() != 1) return fail(Code::corrupt, "a worker's answer holds no chunk");
  auto file = ChunkFile::open(std::move(answer.fds.front()), info);
  if (!file) {
    if (file.error().code() == Code::corrupt) tell(client, connection, kReportDamage, info.id);
    return fail(std::move(file).error());
  }
  return std::make_unique<MappedSource>(client, connection, std::move(*file));
}

Result<std::unique_ptr<ReplicaSource>> open_remote(ChunkClient::Impl& client, const rpc::ConnectionPtr& connection,
                                                   const ChunkInfo& info) {
  WEFT_ASSIGN(const rpc::Message answer, ask(client, connection, info));
  std::string rack = decode_served(answer.header.view());
  client.options().racks->received(rack, answer.bulk.size());
  std::vector<std::uint32_t> checksums(page_count(info.length));
  const bool complete = answer.bulk.size() == checksums.size() * sizeof(std::uint32_t);
  if (complete && !checksums.empty()) std::memcpy(checksums.data(), answer.bulk.data(), answer.bulk.size());
  const bool fits = digest_of(checksums) == info.digest;
  auto source = std::make_unique<RemoteSource>(client, connection, info, std::move(checksums), std::move(rack));  // closes it
  if (!complete) return fail(Code::corrupt, "a worker's answer does not hold the checksums of " + to_string(info.id));
  if (fits) return source;
  source->report_damage();
  return fail(Code::corrupt, "the checksums of the pages of " + to_string(info.id) + " do not fit its digest");
}

}  // namespace

Result<std::unique_ptr<ReplicaSource>> open_replica(ChunkClient::Impl& client, const std::string& address, const ChunkInfo& info) {
  if (client.options().share)
    if (const auto neighbour = client.connect_to_neighbour(address)) return open_mapped(client, *neighbour, info);
  WEFT_ASSIGN(const auto connection, client.connect(address));
  return open_remote(client, connection, info);
}

}  // namespace weft::storage
