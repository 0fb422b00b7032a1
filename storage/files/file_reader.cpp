#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "base/text.hpp"
#include "storage/files/file_system_impl.hpp"

namespace weft::storage {
namespace {

constexpr Duration kPause = std::chrono::milliseconds(200);
constexpr std::uint32_t kMostUnchanged = 5;  // tries of replicas that answered that they cannot be read

class Reader final : public FileReader {
 public:
  Reader(std::shared_ptr<FileSystemImpl> files, FileReply located)
      : files_(std::move(files)), status_(std::move(located.files.at(0).status)), places_(std::move(located)) {}

  const FileStatus& status() const override { return status_; }
  std::uint64_t local_bytes() const override { return local_; }
  std::uint64_t remote_bytes() const override { return remote_; }

  Result<std::size_t> read(std::uint64_t offset, MutableBytes into) override {
    std::size_t done = 0;
    while (done < into.size() && offset + done < status_.bytes) {
      WEFT_ASSIGN(const std::size_t got, read_some(offset + done, into.subspan(done)));
      done += got;
    }
    return done;
  }

 private:
  /// From one chunk. When none of its replicas could be read, asks where they are now: workers come and go, replicas move.
  Result<std::size_t> read_some(std::uint64_t offset, MutableBytes into) {
    Patience patience(files_->options());
    std::uint32_t unchanged = 0;
    while (true) {
      auto got = try_read(offset, into);
      if (got) return got;
      chunk_.reset();
      const auto told = [&](Error why) {
        return std::move(why).wrap(fmt::format("cannot read {} at byte {}", escaped(status_.path), offset));
      };
      const bool may_come_back = got.error().code() == Code::unavailable || got.error().code() == Code::deadline_exceeded;
      const Error why = told(std::move(got).error());
      auto moved = locate_again(offset);
      if (!moved) return fail(told(std::move(moved).error()));
      if (*moved && !patience.over()) continue;
      // The master may hear later than this reader that a replica is gone.
      if ((!may_come_back && ++unchanged > kMostUnchanged) || !patience.wait(why, kPause)) return fail(why);
    }
  }

  Result<std::size_t> try_read(std::uint64_t offset, MutableBytes into) {
    if (!chunk_ || offset < begin_ || offset >= begin_ + chunk_->info().length) WEFT_TRY(enter(offset));
    const std::uint64_t rest = begin_ + chunk_->info().length - offset;
    WEFT_ASSIGN(const std::size_t got, chunk_->read(offset - begin_, into.first(std::min<std::uint64_t>(into.size(), rest))));
    if (got == 0) return fail(Code::corrupt, fmt::format("{} ends too early", to_string(chunk_->info().id)));
    (chunk_->local() ? local_ : remote_) += got;
    return got;
  }

  Result<void> enter(std::uint64_t offset) {
    chunk_.reset();
    const FilePlace* place = known(offset);
    if (place == nullptr) return fail(Code::corrupt, "the master named no chunk for these bytes");
    if (place->chunk.nodes.empty())
      return fail(Code::unavailable,
                  places_.report.safe_mode
                      ? fmt::format("no worker with {} has come back since the master was started", to_string(place->chunk.info.id))
                      : fmt::format("no worker has {}; see `weft fs fsck`", to_string(place->chunk.info.id)));
    begin_ = place->offset;
    WEFT_ASSIGN(chunk_, files_->chunks().open(location_of(*place, places_.nodes, files_->options().writer)));
    return {};
  }

  /// Of the chunk at that offset; true when it lies elsewhere than was known. Ids of chunks are never used again, so another one
  /// there is of another file.
  Result<bool> locate_again(std::uint64_t offset) {
    FileRequest request{Operation::locate, status_.path};
    request.offset = offset;
    request.length = 1;
    WEFT_ASSIGN(FileReply now, files_->ask(request));
    FilePlace* const before = known(offset);
    if (before == nullptr || now.files.size() != 1 || now.files[0].places.size() != 1 ||
        now.files[0].places[0].chunk.info != before->chunk.info || now.files[0].places[0].offset != before->offset)
      return fail(Code::not_found, "the file was replaced by another while it was read");
    places_.report.safe_mode = now.report.safe_mode;
    std::vector<NodeId>& nodes = now.files[0].places[0].chunk.nodes;
    const bool moved = std::exchange(before->chunk.nodes, nodes) != nodes;
    for (NodeStorage& node : now.nodes) {
      std::erase_if(places_.nodes, [&](const NodeStorage& known) { return known.id == node.id; });
      places_.nodes.push_back(std::move(node));
    }
    return moved;
  }

  FilePlace* known(std::uint64_t offset) {
    auto& places = places_.files[0].places;
    const auto behind = std::upper_bound(places.begin(), places.end(), offset,
                                         [](std::uint64_t at, const FilePlace& place) { return at < place.offset; });
    if (behind == places.begin()) return nullptr;
    FilePlace& place = *(behind - 1);
    return offset - place.offset < place.chunk.info.length ? &place : nullptr;
  }

  std::shared_ptr<FileSystemImpl> files_;
  FileStatus status_;
  FileReply places_;  // of all its chunks, as when it was opened: a path may mean another file a moment later
  std::unique_ptr<ChunkReader> chunk_;
  std::uint64_t begin_ = 0;  // of the chunk, in the file
  std::uint64_t local_ = 0, remote_ = 0;
};

}  // namespace

std::unique_ptr<FileReader> make_reader(std::shared_ptr<FileSystemImpl> files, FileReply located) {
  return std::make_unique<Reader>(std::move(files), std::move(located));
}

}  // namespace weft::storage
