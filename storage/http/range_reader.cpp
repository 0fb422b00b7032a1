#include "storage/http/range_reader.hpp"

#include <algorithm>
#include <cstring>
#include <deque>
#include <utility>

#include "storage/access/remote_views.hpp"

namespace weft::storage::http {
namespace {

constexpr std::size_t kUnderWay = 4, kPartsAhead = 8;  // those that came meanwhile are no reason to request less
constexpr std::uint64_t kSmallestRead = 64u << 10;
constexpr std::uint64_t kMostReadAhead = 128u << 20;  // of all files of the process; each may have one part besides

class RangeReader final : public RemoteFile, public RemoteViews {
 public:
  RangeReader(std::uint64_t size, std::uint64_t part_bytes, std::atomic<std::uint64_t>& read_ahead, StartRange start)
      : size_(size), part_bytes_(part_bytes), read_ahead_(read_ahead), start_(std::move(start)) {}
  ~RangeReader() override { forget(); }

  std::uint64_t size() const override { return size_; }
  void will_read(std::uint64_t begin, std::uint64_t end) override {
    announced_begin_ = begin;
    announced_end_ = std::min(end, size_);
  }
  Result<std::size_t> read(std::uint64_t offset, MutableBytes into) override {
    std::size_t had = 0;
    while (had < into.size() && offset + had < size_) {
      WEFT_ASSIGN(const Part* const part, part_at(offset + had, into.size() - had));
      const std::uint64_t from = offset + had - part->offset;
      const std::size_t count = static_cast<std::size_t>(std::min<std::uint64_t>(into.size() - had, part->length - from));
      std::memcpy(into.data() + had, part->bytes.data() + from, count);
      had += count;
    }
    last_end_ = offset + had;
    return had;
  }
  Result<std::size_t> view(std::uint64_t offset, ByteView& bytes) override {
    bytes = {};
    if (offset >= size_) return std::size_t{0};
    WEFT_ASSIGN(const Part* const part, part_at(offset, 1));
    bytes = as_bytes(part->bytes).subspan(offset - part->offset);
    last_end_ = offset + bytes.size();
    return bytes.size();
  }

 private:
  struct Part {
    std::uint64_t offset = 0, length = 0;
    std::unique_ptr<RangeRead> read;
    bool came = false;  // the bytes are there
    std::string bytes{};
  };

  Result<const Part*> part_at(std::uint64_t at, std::uint64_t wanted) {
    while (!parts_.empty() && (at < parts_.front().offset || at >= parts_.front().offset + parts_.front().length)) drop_front();
    if (parts_.empty()) {
      next_ = at;
      plan(at, wanted);
      request_part();
    }
    while (may_request()) request_part();
    Part& part = parts_.front();
    if (!part.came) {
      WEFT_ASSIGN(part.bytes, part.read->finish());
      part.came = true;
    }
    return &part;
  }
  /// How far to read from `at` on.
  void plan(std::uint64_t at, std::uint64_t wanted) {
    if (at >= announced_begin_ && at < announced_end_) {
      planned_end_ = announced_end_;
      return;
    }
    in_order_ = at == last_end_ && at != 0 ? std::min(2 * in_order_, kUnderWay * part_bytes_) : kSmallestRead;
    planned_end_ = std::min(size_, at + std::max(wanted, in_order_));
  }
  bool may_request() const {
    if (next_ >= planned_end_ || parts_.size() >= kPartsAhead || read_ahead_ >= kMostReadAhead) return false;
    const auto under_way =
        std::count_if(parts_.begin(), parts_.end(), [](const Part& part) { return !part.came && !part.read->done(); });
    return static_cast<std::size_t>(under_way) < kUnderWay;
  }
  void request_part() {
    const std::uint64_t length = std::min(part_bytes_, planned_end_ - next_);
    parts_.push_back({next_, length, start_(next_, length, next_ + length == planned_end_)});
    read_ahead_ += length;
    next_ += length;
  }
  void drop_front() {
    Part& part = parts_.front();
    read_ahead_ -= part.length;
    if (part.came) part.read->recycle(std::move(part.bytes));
    parts_.pop_front();
  }
  void forget() {
    while (!parts_.empty()) drop_front();
  }

  const std::uint64_t size_, part_bytes_;
  std::atomic<std::uint64_t>& read_ahead_;
  const StartRange start_;
  std::deque<Part> parts_;  // one behind the other
  std::uint64_t next_ = 0;  // where the next part begins
  std::uint64_t planned_end_ = 0;
  std::uint64_t announced_begin_ = 0, announced_end_ = 0;
  std::uint64_t last_end_ = 0;              // of what was read last
  std::uint64_t in_order_ = kSmallestRead;  // how much to read at once, as reading in order goes on
};

}  // namespace

std::unique_ptr<RemoteFile> read_ranges(std::uint64_t size, std::uint64_t part_bytes, std::atomic<std::uint64_t>& read_ahead,
                                        StartRange start) {
  return std::make_unique<RangeReader>(size, part_bytes, read_ahead, std::move(start));
}

}  // namespace weft::storage::http
