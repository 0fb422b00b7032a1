#include "storage/objects/s3_file.hpp"

#include <algorithm>
#include <cstring>
#include <deque>
#include <utility>

#include "base/log.hpp"

namespace weft::storage::objects {
namespace {

constexpr std::uint64_t kPartBytes = 2u << 20;
constexpr std::size_t kPartsAhead = 4;
constexpr std::uint64_t kSmallestRead = 64u << 10;
constexpr std::uint64_t kMostReadAhead = 128u << 20;  // of all files of the process; each may have one part besides

class ObjectReader final : public RemoteFile {
 public:
  ObjectReader(S3Client& client, S3Path path, S3Object object)
      : client_(client), path_(std::move(path)), object_(std::move(object)) {}
  ~ObjectReader() override { forget(); }

  std::uint64_t size() const override { return object_.size; }
  void will_read(std::uint64_t begin, std::uint64_t end) override {
    announced_begin_ = begin;
    announced_end_ = std::min(end, object_.size);
  }
  Result<std::size_t> read(std::uint64_t offset, MutableBytes into) override {
    std::size_t had = 0;
    while (had < into.size() && offset + had < object_.size) {
      WEFT_ASSIGN(const Part* const part, part_at(offset + had, into.size() - had));
      const std::uint64_t from = offset + had - part->offset;
      const std::size_t count = static_cast<std::size_t>(std::min<std::uint64_t>(into.size() - had, part->length - from));
      std::memcpy(into.data() + had, part->bytes.data() + from, count);
      had += count;
    }
    last_end_ = offset + had;
    return had;
  }

 private:
  struct Part {
    std::uint64_t offset = 0, length = 0;
    std::unique_ptr<HttpExchange> read;  // until the bytes are there
    std::string bytes{};
  };

  Result<const Part*> part_at(std::uint64_t at, std::uint64_t wanted) {
    while (!parts_.empty() && (at < parts_.front().offset || at >= parts_.front().offset + parts_.front().length)) drop_front();
    if (parts_.empty()) {
      next_ = at;
      plan(at, wanted);
      request_part();
    }
    while (parts_.size() < kPartsAhead && next_ < planned_end_ && client_.read_ahead() < kMostReadAhead) request_part();
    Part& part = parts_.front();
    if (part.read) {
      WEFT_ASSIGN(part.bytes, client_.finish_read(*part.read, path_, part.offset, part.length, object_.etag));
      part.read.reset();
    }
    return &part;
  }
  /// How far to read from `at` on.
  void plan(std::uint64_t at, std::uint64_t wanted) {
    if (at >= announced_begin_ && at < announced_end_) {
      planned_end_ = announced_end_;
      return;
    }
    in_order_ = at == last_end_ && at != 0 ? std::min(2 * in_order_, kPartsAhead * kPartBytes) : kSmallestRead;
    planned_end_ = std::min(object_.size, at + std::max(wanted, in_order_));
  }
  void request_part() {
    const std::uint64_t length = std::min(kPartBytes, planned_end_ - next_);
    parts_.push_back({next_, length, client_.start_read(path_, next_, length, object_.etag)});
    client_.read_ahead() += length;
    next_ += length;
  }
  void drop_front() {
    client_.read_ahead() -= parts_.front().length;
    parts_.pop_front();
  }
  void forget() {
    while (!parts_.empty()) drop_front();
  }

  S3Client& client_;
  const S3Path path_;
  const S3Object object_;
  std::deque<Part> parts_;  // one behind the other
  std::uint64_t next_ = 0;  // where the next part begins
  std::uint64_t planned_end_ = 0;
  std::uint64_t announced_begin_ = 0, announced_end_ = 0;
  std::uint64_t last_end_ = 0;              // of what was read last
  std::uint64_t in_order_ = kSmallestRead;  // how much to read at once, as reading in order goes on
};

constexpr std::uint64_t kSmallestPart = 5u << 20;  // S3 allows no smaller ones but the last
constexpr std::uint32_t kMostParts = 10'000;
constexpr std::size_t kUploadsAtOnce = 2;

/// They grow, so that their number suffices for objects of more than 2 TiB.
std::uint64_t part_bytes(std::uint32_t number) { return kSmallestPart << std::min(number / 1'000, 7u); }

class ObjectWriter final : public RemoteOutput {
 public:
  ObjectWriter(S3Client& client, S3Path path, Appears appears) : client_(client), path_(std::move(path)), appears_(appears) {}
  ~ObjectWriter() override {
    if (id_.empty() || closed_) return;
    under_way_.clear();
    if (auto aborted = client_.abort(path_, id_); !aborted)
      Log("objects").warn("{}; the next job that writes there does it", aborted.error().to_string());
  }

  Result<void> append(ByteView bytes) override {
    while (!bytes.empty()) {
      const std::uint64_t room = part_bytes(number_ + 1) - part_.size();
      const std::size_t count = static_cast<std::size_t>(std::min<std::uint64_t>(room, bytes.size()));
      part_.append(as_chars(bytes.first(count)));
      bytes = bytes.subspan(count);
      if (part_.size() == part_bytes(number_ + 1)) WEFT_TRY(send_part());
    }
    return {};
  }
  Result<void> close() override {
    if (appears_ == Appears::when_closed && id_.empty()) {
      WEFT_TRY(client_.put(path_, shared(std::move(part_))));
    } else {
      if (!part_.empty()) WEFT_TRY(send_part());
      WEFT_TRY(finish_until(0));
      if (appears_ == Appears::when_closed) WEFT_TRY(complete());
    }
    closed_ = true;
    return {};
  }
  std::string receipt() const override { return id_; }

 private:
  static SharedBytes shared(std::string text) {
    auto owner = std::make_shared<const std::string>(std::move(text));
    const ByteView bytes = as_bytes(*owner);
    return {bytes, std::move(owner)};
  }
  Result<void> send_part() {
    if (id_.empty()) {
      WEFT_ASSIGN(id_, client_.begin_upload(path_));
    }
    if (number_ == kMostParts)
      return fail(Code::resource_exhausted,
                  "cannot write " + url_of(path_) + ": an object written by a job has at most 10,000 parts (about 2 TiB)");
    WEFT_TRY(finish_until(kUploadsAtOnce - 1));
    under_way_.push_back(client_.start_part(path_, id_, ++number_, shared(std::exchange(part_, {}))));
    return {};
  }
  Result<void> finish_until(std::size_t left) {
    while (under_way_.size() > left) {
      WEFT_TRY(client_.finish_part(*under_way_.front(), path_));
      under_way_.pop_front();
    }
    return {};
  }
  Result<void> complete() {
    WEFT_ASSIGN(const auto parts, client_.parts(path_, id_));
    return client_.complete(path_, id_, parts);
  }

  S3Client& client_;
  const S3Path path_;
  const Appears appears_;
  std::string part_;
  std::string id_;  // of the upload, once there is one
  std::uint32_t number_ = 0;
  std::deque<std::unique_ptr<HttpExchange>> under_way_;
  bool closed_ = false;
};

}  // namespace

std::unique_ptr<RemoteFile> open_object(S3Client& client, S3Path path, S3Object object) {
  return std::make_unique<ObjectReader>(client, std::move(path), std::move(object));
}

std::unique_ptr<RemoteOutput> create_object(S3Client& client, S3Path path, Appears appears) {
  return std::make_unique<ObjectWriter>(client, std::move(path), appears);
}

}  // namespace weft::storage::objects
