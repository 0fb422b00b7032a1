#include <algorithm>
#include <cstring>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "base/text.hpp"
#include "storage/files/file_system_impl.hpp"

namespace weft::storage::files {
namespace {

constexpr Retry::Pauses kReadPauses{std::chrono::milliseconds(200), std::chrono::milliseconds(200)};
constexpr std::size_t kScanBytes = 1u << 20;
constexpr std::size_t kMostRangesNamed = 8;
constexpr std::uint32_t kMostUnchanged = 5;  // tries of replicas that answered that they cannot be read

class Reader final : public FileReader {
 public:
  Reader(std::shared_ptr<FileSystemImpl> files, Located located)
      : files_(std::move(files)), status_(located.file.file), places_(std::move(located)) {}

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

  void will_read(std::uint64_t end) override {
    will_read_ = end;
    if (chunk_) announce();
  }

  Salvaged salvage(std::uint64_t offset, MutableBytes into) override {
    const std::uint64_t rest = offset < status_.bytes ? status_.bytes - offset : 0;
    Salvaged all{std::min<std::uint64_t>(rest, into.size()), {}};
    for (std::uint64_t at = 0; at < all.bytes;) {
      const Salvaged some = salvage_some(offset + at, into.subspan(at, all.bytes - at));
      for (const ByteRange& range : some.missing) storage::append(all.missing, range);
      at += some.bytes;
    }
    return all;
  }

 private:
  /// From one chunk. One that was found damaged is not waited for again.
  Salvaged salvage_some(std::uint64_t offset, MutableBytes into) {
    const ChunkPlace* place = known(offset);
    if (place == nullptr) return nothing(offset, into);
    const std::uint64_t rest = place->offset + place->info.length - offset;
    const MutableBytes room = into.first(std::min<std::uint64_t>(into.size(), rest));
    const std::uint64_t begin = place->offset;
    if (broken_ != begin) {
      if (const auto got = read_some(offset, room)) return {*got, {}};
      broken_ = begin;
    }
    if (!enters(offset)) return nothing(offset, room);
    Salvaged some = chunk_->salvage(offset - begin, room);
    for (ByteRange& range : some.missing) range.offset += begin;
    return some;
  }

  static Salvaged nothing(std::uint64_t offset, MutableBytes into) {
    std::memset(into.data(), 0, into.size());
    return {into.size(), {{offset, into.size()}}};
  }

  /// From one chunk. When none of its replicas could be read, asks where they are now: workers come and go, replicas move.
  Result<std::size_t> read_some(std::uint64_t offset, MutableBytes into) {
    Retry retry(files_->options(), kReadPauses);
    std::uint32_t unchanged = 0;
    while (true) {
      auto got = try_read(offset, into);
      if (got) return got;
      chunk_.reset();
      const auto explained_by = [&](Error why) {
        return std::move(why).wrap(fmt::format("cannot read {} at byte {}", escaped(status_.path), offset));
      };
      const bool may_come_back = is_transient(got.error());
      const Error why = explained_by(std::move(got).error());
      auto moved = locate_again(offset);
      if (!moved) return fail(explained_by(std::move(moved).error()));
      if (*moved && !retry.over()) continue;
      // The master may hear later than this reader that a replica is gone.
      if ((!may_come_back && ++unchanged > kMostUnchanged) || !retry.wait(why)) return fail(explained(why, offset));
    }
  }

  /// Of a damaged chunk: where that is so, what is lost of it, and how to get the rest.
  Error explained(const Error& why, std::uint64_t offset) {
    const ChunkPlace* place = known(offset);
    if (place == nullptr || place->corrupt.empty() || broken_ == place->offset) return why;
    std::vector<std::string> workers;
    for (const NodeId id : place->corrupt)
      for (const NodeSite& site : places_.nodes)
        if (site.id == id) workers.push_back(site.node.name);
    std::sort(workers.begin(), workers.end());
    broken_ = place->offset;
    const auto lost = missing({place->offset, place->info.length});
    broken_ = kNone;
    chunk_.reset();
    if (lost.empty()) return why;
    const std::string path = escaped(status_.path);
    return {why.code(),
            fmt::format(
                "cannot read {} at byte {}: {} is damaged on {}: {} of the file are lost; `weft fs cat --salvage {}` writes "
                "the rest",
                path, offset, to_string(place->info.id), escaped(join(workers, ", ")), ranges_text(lost, kMostRangesNamed), path)};
  }

  bool enters(std::uint64_t offset) {
    return (chunk_ && offset >= begin_ && offset < begin_ + chunk_->info().length) || enter(offset).has_value();
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
    const ChunkPlace* place = known(offset);
    if (place == nullptr) return fail(Code::corrupt, "the master named no chunk for these bytes");
    if (place->nodes.empty() && place->corrupt.empty())
      return fail(Code::unavailable,
                  places_.safe_mode
                      ? fmt::format("no worker with {} has come back since the master was started", to_string(place->info.id))
                      : fmt::format("no worker has {}; see `weft fs fsck`", to_string(place->info.id)));
    begin_ = place->offset;
    const FileSystemOptions& reader = files_->options();
    WEFT_ASSIGN(chunk_, files_->chunks().open(location_of(*place, places_.nodes, reader.writer, reader.racks->rack())));
    announce();
    return {};
  }

  void announce() {
    if (will_read_) chunk_->will_read(*will_read_ > begin_ ? *will_read_ - begin_ : 0);
  }

  /// Of the chunk at that offset; true when it lies elsewhere than was known. Ids of chunks are never used again, so another one
  /// there is of another file.
  Result<bool> locate_again(std::uint64_t offset) {
    WEFT_ASSIGN(Located now, files_->ask(Locate{status_.path, offset, 1}));
    ChunkPlace* const before = known(offset);
    if (before == nullptr || now.file.chunks.size() != 1 || now.file.chunks[0].info != before->info ||
        now.file.chunks[0].offset != before->offset)
      return fail(Code::not_found, "the file was replaced by another while it was read");
    places_.safe_mode = now.safe_mode;
    ChunkPlace& after = now.file.chunks[0];
    const bool moved = before->nodes != after.nodes || before->corrupt != after.corrupt;
    *before = std::move(after);
    for (NodeSite& site : now.nodes) {
      std::erase_if(places_.nodes, [&](const NodeSite& known) { return known.id == site.id; });
      places_.nodes.push_back(std::move(site));
    }
    return moved;
  }

  ChunkPlace* known(std::uint64_t offset) {
    auto& places = places_.file.chunks;
    const auto behind = std::upper_bound(places.begin(), places.end(), offset,
                                         [](std::uint64_t at, const ChunkPlace& place) { return at < place.offset; });
    if (behind == places.begin()) return nullptr;
    ChunkPlace& place = *(behind - 1);
    return offset - place.offset < place.info.length ? &place : nullptr;
  }

  std::shared_ptr<FileSystemImpl> files_;
  FileStatus status_;
  Located places_;  // of all its chunks, as when it was opened: a path may mean another file a moment later
  std::unique_ptr<ChunkReader> chunk_;
  std::uint64_t begin_ = 0;                   // of the chunk, in the file
  std::optional<std::uint64_t> will_read_{};  // up to there, in the file
  static constexpr std::uint64_t kNone = UINT64_MAX;
  std::uint64_t broken_ = kNone;  // where the chunk begins of which not everything can be read, as was found last
  std::uint64_t local_ = 0, remote_ = 0;
};

}  // namespace

std::vector<ByteRange> FileReader::missing(ByteRange range) {
  std::vector<ByteRange> all;
  Buffer piece(kScanBytes);
  while (range.length != 0) {
    const Salvaged some = salvage(range.offset, piece.span().first(std::min<std::uint64_t>(piece.size(), range.length)));
    if (some.bytes == 0) break;
    for (const ByteRange& lost : some.missing) append(all, lost);
    range.offset += some.bytes;
    range.length -= some.bytes;
  }
  return all;
}

std::string ranges_text(const std::vector<ByteRange>& ranges, std::size_t most) {
  std::string text = "bytes ";
  for (std::size_t i = 0; i < ranges.size() && i < most; ++i)
    text += fmt::format("{}{} to {}", i == 0 ? "" : ", ", ranges[i].offset, ranges[i].offset + ranges[i].length - 1);
  if (ranges.size() > most) text += fmt::format(" and {} more ranges", ranges.size() - most);
  return text;
}

std::unique_ptr<FileReader> make_reader(std::shared_ptr<FileSystemImpl> files, Located located) {
  return std::make_unique<Reader>(std::move(files), std::move(located));
}

}  // namespace weft::storage::files
