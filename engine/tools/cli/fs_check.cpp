// weft fs fsck: the replicas of each file's chunks, and whether the file can be read whole.
#include <algorithm>
#include <map>

#include <fmt/format.h>

#include "base/text.hpp"
#include "engine/tools/cli/fs_commands.hpp"
#include "engine/tools/display/json_members.hpp"
#include "engine/tools/display/standard_output.hpp"
#include "engine/tools/display/storage_json.hpp"

namespace weft::tools {
namespace {

using storage::ByteRange;
using storage::ChunkPlace;
using storage::NodeSite;

constexpr std::size_t kMostRangesNamed = 100;

/// A chunk and the result of its check.
struct CheckedChunk {
  ChunkPlace place;
  std::string state;
  std::vector<std::string> workers, corrupt_on;
  std::vector<ByteRange> lost;
};
struct CheckedFile {
  storage::FileStatus status;
  std::vector<CheckedChunk> chunks;
  bool healthy = true, readable = true;
};
struct Totals {
  std::map<std::string, std::uint64_t> chunks;  // by state
  std::uint64_t files = 0, unreadable = 0, bytes = 0;
};

/// What of a chunk that no worker has whole cannot be put together from the damaged replicas either.
std::vector<ByteRange> lost(storage::files::FileSystem& files, const std::string& path, const ChunkPlace& place) {
  const ByteRange all{place.offset, place.info.length};
  if (!place.nodes.empty()) return {};
  if (place.corrupt.empty()) return {all};
  const auto reader = files.open(path);
  if (!reader) return {all};
  return (*reader)->missing(all);
}

CheckedFile check(storage::files::FileSystem& files, const storage::FileChunks& file, const std::vector<NodeSite>& nodes) {
  CheckedFile checked{file.file, {}};
  for (const ChunkPlace& place : file.chunks) {
    CheckedChunk& chunk =
        checked.chunks.emplace_back(CheckedChunk{place, chunk_state(place), names_of(place.nodes, nodes),
                                                 names_of(place.corrupt, nodes), lost(files, file.file.path, place)});
    checked.healthy = checked.healthy && chunk.state == "healthy";
    checked.readable = checked.readable && chunk.lost.empty();
  }
  return checked;
}

/// Where the result goes: as JSON, all at the end, or as text, file by file.
class CheckReport {
 public:
  virtual ~CheckReport() = default;
  virtual void file(const CheckedFile& file) = 0;
  virtual void end(const Totals& totals) = 0;
};

class JsonReport final : public CheckReport {
 public:
  JsonReport() { json_.begin_object().key("files").begin_array(); }

  void file(const CheckedFile& file) override {
    const auto lost = [](JsonWriter& json, const ByteRange& range) {
      members(json, "offset", range.offset, "bytes", range.length);
    };
    const auto chunks = [&lost](JsonWriter& json, const CheckedChunk& chunk) {
      members(json, "id", digits_of(chunk.place.info.id), "offset", chunk.place.offset, "bytes", chunk.place.info.length, "state",
              chunk.state, "wanted", chunk.place.wanted, "replicas", chunk.workers.size(), "workers", chunk.workers, "corrupt_on",
              chunk.corrupt_on, "lost", objects(chunk.lost, lost));
    };
    write_value(json_, object("path", file.status.path, "bytes", file.status.bytes, "healthy", file.healthy, "readable",
                              file.readable, "chunks", objects(file.chunks, chunks)));
  }

  void end(const Totals& totals) override {
    json_.end_array();
    members(json_, "file_count", totals.files, "bytes", totals.bytes, "unreadable_files", totals.unreadable, "chunk_states",
            totals.chunks);
    print(json_.end_object().text() + "\n");
  }

 private:
  JsonWriter json_;
};

class TextReport final : public CheckReport {
 public:
  TextReport(bool all_chunks, bool locations) : all_chunks_(all_chunks), locations_(locations) {}

  void file(const CheckedFile& file) override {
    fmt::print("{}: {} bytes, {} chunks{}\n", escaped(file.status.path), file.status.bytes, file.chunks.size(),
               file.healthy ? "" : ", NOT HEALTHY");
    for (const CheckedChunk& chunk : file.chunks) {
      if (!all_chunks_ && chunk.state == "healthy") continue;
      fmt::print("  {} at {}: {} bytes, {} of {} replicas, {}{}{}{}\n", to_string(chunk.place.info.id), chunk.place.offset,
                 chunk.place.info.length, chunk.workers.size(), chunk.place.wanted, chunk.state,
                 locations_ ? ": " + escaped(join(chunk.workers, ", ")) : "",
                 chunk.corrupt_on.empty() ? "" : "; damaged on " + escaped(join(chunk.corrupt_on, ", ")),
                 chunk.lost.empty() ? "" : "; lost: " + storage::files::ranges_text(chunk.lost, kMostRangesNamed));
    }
  }

  void end(const Totals& totals) override {
    std::string states;
    for (const auto& [state, count] : totals.chunks) states += fmt::format("{}{} {}", states.empty() ? "" : ", ", count, state);
    fmt::print("{} files, {}; chunks: {}\n", totals.files, human_bytes(totals.bytes), states.empty() ? "none" : states);
  }

 private:
  const bool all_chunks_, locations_;
};

}  // namespace

Result<void> fs_check(const FsOptions& options) {
  const bool all = options.blocks || options.locations;
  std::unique_ptr<CheckReport> report;
  if (options.json)
    report = std::make_unique<JsonReport>();
  else
    report = std::make_unique<TextReport>(all, options.locations);
  Totals totals;
  WEFT_TRY(for_each_path(options, [&](storage::files::FileSystem& files, const std::string& path) {
    return files.check(path, [&](const storage::FileChunks& file, const std::vector<NodeSite>& nodes) {
      const CheckedFile checked = check(files, file, nodes);
      ++totals.files;
      totals.bytes += file.file.bytes;
      totals.unreadable += checked.readable ? 0 : 1;
      for (const CheckedChunk& chunk : checked.chunks) ++totals.chunks[chunk.state];
      if (!checked.healthy || all) report->file(checked);
    });
  }));
  report->end(totals);
  if (totals.unreadable == 0) return {};
  return fail(Code::unavailable, fmt::format("{} of {} files cannot be read whole", totals.unreadable, totals.files));
}

}  // namespace weft::tools
