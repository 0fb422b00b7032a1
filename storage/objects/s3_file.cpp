#include "storage/objects/s3_file.hpp"

#include <algorithm>
#include <deque>
#include <utility>

#include <fmt/core.h>

#include "base/log.hpp"
#include "base/unguessable.hpp"
#include "storage/http/range_reader.hpp"

namespace weft::storage::objects {
namespace {

using http::HttpExchange;
using http::RangeRead;
using http::read_ranges;

class ObjectRead final : public RangeRead {
 public:
  ObjectRead(S3Client& client, S3Path path, std::uint64_t offset, std::uint64_t length, std::string etag)
      : client_(client), path_(std::move(path)), offset_(offset), length_(length), etag_(std::move(etag)) {
    exchange_ = client_.start_read(path_, offset_, length_, etag_);
  }
  Result<std::string> finish() override { return client_.finish_read(*exchange_, path_, offset_, length_, etag_); }
  bool done() const override { return exchange_->done(); }
  void recycle(std::string bytes) override { client_.recycle(std::move(bytes)); }

 private:
  S3Client& client_;
  const S3Path path_;
  const std::uint64_t offset_, length_;
  const std::string etag_;
  std::unique_ptr<HttpExchange> exchange_;
};

constexpr std::uint64_t kRangeBytes = 2u << 20;    // of one request to read
constexpr std::uint64_t kSmallestPart = 5u << 20;  // S3 allows a smaller one only as the last
constexpr std::uint32_t kMostParts = 10'000;
constexpr std::size_t kUploadsAtOnce = 2;

/// Given to no other upload.
std::string new_name() { return fmt::format("{:016x}{:016x}", unguessable_number(), unguessable_number()); }

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
  std::string receipt() const override { return id_.empty() ? std::string() : id_ + "\n" + name_; }

 private:
  static SharedBytes shared(std::string text) {
    auto owner = std::make_shared<const std::string>(std::move(text));
    const ByteView bytes = as_bytes(*owner);
    return {bytes, std::move(owner)};
  }
  Result<void> send_part() {
    if (id_.empty()) {
      if (appears_ == Appears::when_published) name_ = new_name();
      WEFT_ASSIGN(id_, client_.begin_upload(path_, name_));
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
  std::string id_, name_;  // of the upload, once there is one
  std::uint32_t number_ = 0;
  std::deque<std::unique_ptr<HttpExchange>> under_way_;
  bool closed_ = false;
};

}  // namespace

std::unique_ptr<RemoteFile> open_object(S3Client& client, S3Path path, S3Object object) {
  const std::uint64_t size = object.size;
  return read_ranges(
      size, kRangeBytes, client.read_ahead(),
      [&client, path = std::move(path), etag = std::move(object.etag)](std::uint64_t offset, std::uint64_t length, bool) {
        return std::make_unique<ObjectRead>(client, path, offset, length, etag);
      });
}

UploadReceipt parse_receipt(const std::string& receipt) {
  const auto end = receipt.rfind('\n');
  if (end == std::string::npos) return {receipt, {}};
  return {receipt.substr(0, end), receipt.substr(end + 1)};
}

std::uint64_t part_bytes(std::uint32_t number) { return kSmallestPart << std::min(number / 1'000, 7u); }

std::unique_ptr<RemoteOutput> create_object(S3Client& client, S3Path path, Appears appears) {
  return std::make_unique<ObjectWriter>(client, std::move(path), appears);
}

}  // namespace weft::storage::objects
