#include "storage/hdfs/input.hpp"

#include <algorithm>
#include <utility>

#include "base/text.hpp"
#include "storage/http/range_reader.hpp"

namespace weft::storage::hdfs {
namespace {

constexpr std::uint64_t kPartBytes =
    4u << 20;  // each asks a NameNode, and opens a connection to a datanode, which ends with the answer

/// A file, for the reads of its parts. Immutable.
struct HdfsFile {
  HdfsClient& client;
  HdfsPath path;
  FileVersion listed;

  /// An error when it is no longer what it was.
  Result<void> check() const {
    WEFT_ASSIGN(const auto now, client.status(path));
    if (!now) return fail(Code::invalid_argument, "cannot read " + escaped(url_of(path)) + ": it was removed while the job ran");
    return check_same(escaped(url_of(path)), listed, version_of(*now));
  }
};

class HdfsRead final : public http::RangeRead {
 public:
  HdfsRead(std::shared_ptr<const HdfsFile> file, std::uint64_t offset, std::uint64_t length, bool last)
      : file_(std::move(file)), offset_(offset), length_(length), last_(last) {
    call_ = file_->client.start_read(file_->path, offset, length);
  }
  Result<std::string> finish() override {
    auto answer = call_->finish();
    const bool whole = answer && answer->body.size() == length_;
    if (last_ || !whole) WEFT_TRY(file_->check());
    if (!answer) return fail(std::move(answer).error());
    if (!whole)
      return fail(Code::corrupt, "cannot read " + escaped(url_of(file_->path)) + ": " + std::to_string(answer->body.size()) +
                                     " bytes came at byte " + std::to_string(offset_) + ", and " + std::to_string(length_) +
                                     " were requested");
    return std::move(answer->body);
  }
  bool done() const override { return call_->done(); }
  void recycle(std::string bytes) override { file_->client.http().recycle(std::move(bytes)); }

 private:
  const std::shared_ptr<const HdfsFile> file_;
  const std::uint64_t offset_, length_;
  const bool last_;
  std::unique_ptr<HdfsCall> call_;
};

}  // namespace

FileVersion version_of(const HdfsStatus& status) {
  constexpr std::uint64_t kLatest = INT64_MAX / 1'000'000;
  return {.bytes = status.length,
          .modified_ns = static_cast<std::int64_t>(std::min(status.modified, kLatest)) * 1'000'000,
          .id = status.id};
}

std::unique_ptr<RemoteFile> open_file(HdfsClient& client, HdfsPath path, const FileVersion& listed) {
  auto file = std::make_shared<const HdfsFile>(HdfsFile{client, std::move(path), listed});
  const std::uint64_t size = listed.bytes;
  return http::read_ranges(size, kPartBytes, client.read_ahead(), [file](std::uint64_t offset, std::uint64_t length, bool last) {
    return std::make_unique<HdfsRead>(file, offset, length, last);
  });
}

}  // namespace weft::storage::hdfs
