#include "runtime/worker/binary_cache.hpp"

#include <cerrno>

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.hpp"

namespace weft::runtime {
namespace {
constexpr auto kChunkDeadline = std::chrono::seconds(30);
}

void BinaryCache::get(const Hash128& binary, const rpc::ConnectionPtr& master, Done done) {
  if (auto found = ready_.find(binary); found != ready_.end()) return done(found->second);
  if (auto running = downloads_.find(binary); running != downloads_.end()) {
    running->second->waiting.push_back(std::move(done));
    return;
  }
  auto download = std::make_shared<Download>();
  download->binary = binary;
  download->master = master;
  download->waiting.push_back(std::move(done));
  download->partial_path = fmt::format("{}/{}.partial-{}", directory_, to_string(binary), getpid());
  downloads_[binary] = download;
  const std::string path = fmt::format("{}/{}", directory_, to_string(binary));
  if (auto hash = hash_file(path); hash && *hash == binary) return finish(download, path);  // of an earlier worker
  unlink(download->partial_path.c_str());  // of a worker that was killed, or a trap
  download->file = Fd(open(download->partial_path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0700));
  if (!download->file.valid()) return finish(download, fail(errno_error("cannot write " + download->partial_path, errno)));
  next_chunk(download);
}

void BinaryCache::next_chunk(const std::shared_ptr<Download>& download) {
  const protocol::BinaryRequest request{download->binary, download->written};
  download->master->request(protocol::kFetchBinary, protocol::encode(request), kChunkDeadline,
                            [this, download](Result<rpc::Message> answer) {
                              if (!answer)
                                return finish(download, fail(std::move(answer).error().wrap("cannot fetch the program")));
                              auto last = take_chunk(*download, *answer);
                              if (!last) return finish(download, fail(std::move(last).error()));
                              if (*last) return finish(download, complete(*download));
                              next_chunk(download);
                            });
}

Result<bool> BinaryCache::take_chunk(Download& download, const rpc::Message& message) {
  WEFT_ASSIGN(const protocol::BinaryChunk chunk, protocol::decode_binary_chunk(message));
  const ByteView bytes = message.bulk.view();
  if (bytes.size() > chunk.total - std::min(chunk.total, download.written) || (bytes.empty() && download.written < chunk.total))
    return fail(Code::corrupt, "the master sent a piece of the program that does not fit");
  WEFT_TRY(write_all(download.file.get(), bytes));
  download.written += bytes.size();
  return download.written == chunk.total;
}

Result<std::string> BinaryCache::complete(Download& download) {
  download.file.reset();
  WEFT_ASSIGN(const Hash128 hash, hash_file(download.partial_path));
  if (hash != download.binary) return fail(Code::corrupt, "the program fetched from the master is damaged");
  const std::string path = fmt::format("{}/{}", directory_, to_string(download.binary));
  if (rename(download.partial_path.c_str(), path.c_str()) != 0) return fail(errno_error("cannot keep the program " + path, errno));
  return path;
}

void BinaryCache::finish(const std::shared_ptr<Download>& download, Result<std::string> result) {
  if (result)
    ready_[download->binary] = *result;
  else
    unlink(download->partial_path.c_str());
  downloads_.erase(download->binary);
  for (const Done& done : std::exchange(download->waiting, {})) done(result);
}

}  // namespace weft::runtime
