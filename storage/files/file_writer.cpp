#include <algorithm>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "base/log.hpp"
#include "base/text.hpp"
#include "storage/files/file_system_impl.hpp"
#include "storage/files/kept_chunk.hpp"
#include "storage/files/lease.hpp"

namespace weft::storage::files {
namespace {

constexpr Retry::Pauses kWritePauses{std::chrono::milliseconds(100), std::chrono::milliseconds(100)};
constexpr std::uint64_t kUnknownBytes = 1u << 20;

/// Keeps a chunk's bytes until it is durable, so that it can be written elsewhere when its first worker dies.
class Writer final : public FileWriter {
 public:
  Writer(std::shared_ptr<FileSystemImpl> files, std::string path, const Leased& leased, CreateOptions options)
      : files_(std::move(files)),
        path_(std::move(path)),
        options_(options),
        kept_(files_->options().directory),
        lease_(files_, leased) {}
  ~Writer() override {
    chunk_.reset();
    if (!closed_) lease_.abandon();
  }

  void expect(std::uint64_t bytes) override { expected_ = bytes; }

  Result<void> append(ByteView bytes) override {
    if (failed_) return fail(*failed_);
    while (!bytes.empty()) {
      const std::uint64_t room = options_.chunk_bytes - kept_.size();
      const ByteView piece = bytes.first(std::min<std::uint64_t>(bytes.size(), room));
      if (auto sent = send(piece); !sent) return broken(std::move(sent).error());
      bytes = bytes.subspan(piece.size());
      bytes_ += piece.size();
      if (kept_.size() == options_.chunk_bytes)
        if (auto sealed = seal(); !sealed) return broken(std::move(sealed).error());
    }
    return {};
  }

  Result<void> close() override {
    if (failed_) return fail(*failed_);
    if (closed_) return {};
    if (kept_.size() != 0)
      if (auto sealed = seal(); !sealed) return broken(std::move(sealed).error());
    if (auto done = files_->ask(CompleteFile{lease_.id()}); !done) return broken(std::move(done).error());
    closed_ = true;
    lease_.end();
    return {};
  }

  std::uint64_t bytes() const override { return bytes_; }
  std::uint64_t short_chunks() const override { return short_chunks_; }

 private:
  tl::unexpected<Error> broken(Error error) {
    failed_ = std::move(error).wrap(fmt::format("cannot write {}", escaped(path_)));
    return fail(*failed_);
  }

  Result<void> send(ByteView piece) {
    if (!chunk_) WEFT_TRY(allocate());
    WEFT_TRY(kept_.append(piece));
    if (chunk_->append(piece)) return {};
    return again();
  }

  /// What is known of the chunk's length; of a file of unknown length, as much as there is already.
  std::uint64_t expected_of_chunk() const {
    const std::uint64_t before = bytes_ - kept_.size();
    const std::uint64_t rest = expected_ > before ? expected_ - before : std::max(before, kUnknownBytes);
    return std::min(std::max(rest, kept_.size()), options_.chunk_bytes);
  }

  Result<void> allocate() {
    Retry retry(files_->options(), kWritePauses);
    std::optional<Error> unknown;
    while (true) {
      const std::size_t refused = excluded_.size();
      auto begun = try_allocate();
      if (begun) return begun;
      if (begun.error().code() == Code::not_found && excluded_.size() > refused) {  // no such host: the next worker, at once
        unknown = std::move(begun).error();
        continue;
      }
      if (unknown) return fail(*std::move(unknown));  // nobody else is left, and waiting makes no host known
      if (!retry.again(begun.error())) return begun;
      // Workers that failed may have been busy only: all are asked again when nobody else is left.
      excluded_.clear();
    }
  }

  Result<void> try_allocate() {
    const std::uint64_t bytes = expected_of_chunk();
    WEFT_ASSIGN(Allocated made_for,
                files_->ask_once(AllocateChunk{lease_.id(), files_->options().writer, excluded_, bytes}, std::chrono::seconds(15)));
    id_ = made_for.chunk;
    targets_ = std::move(made_for.targets);
    std::vector<std::string> addresses;
    for (const NodeSite& site : targets_) addresses.push_back(site.node.address);
    auto made = files_->chunks().create(id_, addresses, bytes, made_for.key);
    if (!made) {
      excluded_.push_back(targets_.front().id);
      const bool unknown = made.error().code() == Code::not_found;
      return fail(unknown ? Code::not_found : Code::unavailable, std::move(made).error().to_string());
    }
    chunk_ = *std::move(made);
    return {};
  }

  /// All of the chunk goes elsewhere, under a new id: past the worker that failed it.
  Result<void> elsewhere(NodeId failed) {
    chunk_.reset();
    excluded_.push_back(failed);
    WEFT_TRY(allocate());
    return kept_.replay([this](ByteView piece) { return chunk_->append(piece); });
  }

  /// The first worker failed.
  Result<void> again() {
    const Retry retry(files_->options(), kWritePauses);
    while (true) {
      auto sent = elsewhere(targets_.front().id);
      if (sent || !chunk_ || retry.over()) return sent;
    }
  }

  Result<ChunkWritten> write_out() {
    const Retry retry(files_->options(), kWritePauses);
    auto written = chunk_->seal();
    while (!written && !retry.over()) {
      WEFT_TRY(again());
      written = chunk_->seal();
    }
    return written;
  }

  static bool has(const ChunkWritten& written, const NodeSite& node) {
    return std::find(written.durable.begin(), written.durable.end(), node.node.address) != written.durable.end();
  }

  /// A chain is cut where a worker fails, and those behind are left out. What would be durable on one worker alone, and lost with
  /// it, is written once more past the one that failed.
  Result<ChunkWritten> write_out_twice() {
    WEFT_ASSIGN(ChunkWritten written, write_out());
    if (written.durable.size() != 1 || targets_.size() == 1) return written;
    const std::vector<NodeSite> targets = targets_;
    const auto failed = std::find_if(targets.begin(), targets.end(), [&](const NodeSite& node) { return !has(written, node); });
    const auto moved = elsewhere(failed->id);
    if (!moved && id_ == written.info.id) return written;  // there is no other place
    if (!moved) WEFT_TRY(again());
    return write_out();
  }

  Result<void> seal() {
    WEFT_ASSIGN(const ChunkWritten written, write_out_twice());
    chunk_.reset();
    SealChunk sealed{lease_.id(), written.info, {}};
    for (const NodeSite& site : targets_)
      if (has(written, site)) sealed.durable.push_back(site.id);
    WEFT_TRY(files_->ask(sealed));
    if (sealed.durable.size() < options_.replication) ++short_chunks_;
    kept_.clear();
    excluded_.clear();
    return {};
  }

  std::shared_ptr<FileSystemImpl> files_;
  const std::string path_;
  const CreateOptions options_;
  std::unique_ptr<ChunkWriter> chunk_;  // null: none is being written
  ChunkId id_;
  std::vector<NodeSite> targets_;
  std::vector<NodeId> excluded_;
  KeptChunk kept_;              // the bytes of the chunk being written
  std::uint64_t expected_ = 0;  // in all; 0: not known
  std::uint64_t bytes_ = 0, short_chunks_ = 0;
  std::optional<Error> failed_;
  bool closed_ = false;
  Lease lease_;
};

}  // namespace

std::unique_ptr<FileWriter> make_writer(std::shared_ptr<FileSystemImpl> files, std::string path, const Leased& leased,
                                        CreateOptions options) {
  return std::make_unique<Writer>(std::move(files), std::move(path), leased, options);
}

}  // namespace weft::storage::files
