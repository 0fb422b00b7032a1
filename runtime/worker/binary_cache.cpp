#include "runtime/worker/binary_cache.hpp"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <memory>
#include <string_view>
#include <system_error>
#include <utility>

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.hpp"
#include "base/file.hpp"
#include "base/guarded.hpp"
#include "runtime/protocol/worker.hpp"

namespace weft::runtime {
namespace {

constexpr std::string_view kPartial = ".partial-", kGone = ".gone";

const shuffle::PullOptions kPullOptions{
    .in_flight = 4, .in_flight_per_node = 4, .backoff = std::chrono::milliseconds(100), .reply_deadline = std::chrono::seconds(30)};

/// 0 when there is no such file.
std::uint64_t size_of(const std::filesystem::path& path) {
  std::error_code failed;
  const auto size = std::filesystem::file_size(path, failed);
  return failed ? 0 : size;
}

/// A program on its way into a file of that path.
class BinaryPull final : public shuffle::Pull {
 public:
  BinaryPull(const ProgramId& program, std::string path)
      : program_(program), path_(std::move(path)), partial_path_(fmt::format("{}{}{}", path_, kPartial, getpid())) {}
  ~BinaryPull() override {
    if (file_.valid()) unlink(partial_path_.c_str());
  }

  Result<void> begin() override {
    unlink(partial_path_.c_str());  // of a worker that was killed, or a trap
    file_ = Fd(open(partial_path_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0700));
    if (!file_.valid()) return fail(errno_error("cannot write " + partial_path_, errno));
    return {};
  }
  rpc::MessageType type() const override { return protocol::kFetchBinary; }
  Buffer request() override {
    piece_ = {};
    progressed_ = false;
    return protocol::encode(protocol::BinaryRequest{program_.hash, written_, program_.user}).header;
  }
  Result<bool> arrived(rpc::Message reply) override {
    WEFT_ASSIGN(const protocol::BinaryChunk chunk, protocol::decode<protocol::BinaryChunk>(reply));
    const std::uint64_t left = chunk.total - std::min(chunk.total, written_);
    if (reply.bulk.size() > left || (reply.bulk.size() == 0 && left != 0))
      return fail(Code::corrupt, "the master sent a piece of the program that does not fit");
    piece_ = std::move(reply.bulk);
    progressed_ = true;
    return piece_.size() == left;
  }
  bool progressed() const override { return progressed_; }
  std::uint64_t reply_bytes() const override { return piece_.size(); }

  bool must_store(bool) const override { return true; }
  Result<void> store(bool whole) override {
    WEFT_TRY(write_all(file_.get(), piece_.view()));
    written_ += piece_.size();
    if (!whole) return {};
    WEFT_ASSIGN(const Hash128 hash, hash_file(partial_path_));
    if (hash != program_.hash) return fail(Code::corrupt, "the program fetched from the master is damaged");
    if (rename(partial_path_.c_str(), path_.c_str()) != 0) return fail(errno_error("cannot keep the program " + path_, errno));
    file_.reset();
    return {};
  }

 private:
  const ProgramId program_;
  const std::string path_, partial_path_;
  Fd file_;  // valid: the partial file is to be removed
  Buffer piece_;
  std::uint64_t written_ = 0;
  bool progressed_ = false;
};

}  // namespace

BinaryCache::BinaryCache(rpc::Reactor& reactor, rpc::Reactor& background, std::string directory,
                         std::function<rpc::ConnectionPtr()> master)
    : reactor_(reactor),
      background_(background),
      directory_(std::move(directory)),
      master_(std::move(master)),
      queue_(reactor, background, kPullOptions, [this](const std::string&, const rpc::Peers::Done& done) { connect(done); }) {
  take_in();
}

void BinaryCache::take_in() {
  std::error_code ignored;
  for (const auto& entry : std::filesystem::directory_iterator(directory_, ignored)) {
    const std::string name = entry.path().filename().string();
    const auto program = protocol::parse_program(name);
    if (name.find(kPartial) != std::string::npos || name.ends_with(kGone) || (program && program->user.empty())) {
      std::filesystem::remove(entry.path(), ignored);
    } else if (program) {
      const Kept& kept = kept_[*program] = {size_of(entry.path()), entry.last_write_time(ignored)};
      kept_bytes_ += kept.bytes;
    }
  }
}

void BinaryCache::bound(std::uint64_t most, InUse in_use) {
  most_ = most;
  in_use_ = std::move(in_use);
}

/// The time lies in the file, for the worker after this one.
void BinaryCache::needed(const ProgramId& program) {
  const std::string path = path_of(program);
  const auto now = std::filesystem::file_time_type::clock::now();
  std::error_code ignored;
  std::filesystem::last_write_time(path, now, ignored);
  Kept& kept = kept_[program];
  kept_bytes_ -= kept.bytes;
  kept = {size_of(path), now};
  kept_bytes_ += kept.bytes;
}

void BinaryCache::make_room(const ProgramId& added) {
  if (kept_bytes_ <= most_) return;
  std::set<ProgramId> keep = in_use_();
  keep.insert(added);
  for (const auto& [program, waiting] : waiting_) keep.insert(program);
  std::vector<std::pair<std::filesystem::file_time_type, ProgramId>> old;
  for (const auto& [program, kept] : kept_)
    if (!keep.contains(program)) old.emplace_back(kept.used, program);
  std::sort(old.begin(), old.end());
  for (const auto& [used, program] : old) {
    if (kept_bytes_ <= most_) return;
    drop(program);
  }
}

/// It has no name any more at once, so that nobody is given it. Removing what is large takes time.
void BinaryCache::drop(const ProgramId& program) {
  const std::string path = path_of(program);
  std::string gone = path + std::string(kGone);
  if (rename(path.c_str(), gone.c_str()) != 0 && errno != ENOENT) return;
  ready_.erase(program);
  kept_bytes_ -= kept_.extract(program).mapped().bytes;
  background_.post([gone = std::move(gone)] { unlink(gone.c_str()); });
}

void BinaryCache::connect(const rpc::Peers::Done& done) {
  const rpc::ConnectionPtr connection = master_();
  if (connection) return done(connection);
  if (wait_) return for_master_.push_back(done);
  done(fail(Code::unavailable, "there is no connection to the master"));
}

void BinaryCache::master_lost(bool wait) {
  if (wait && !wait_) ++losses_;
  wait_ = wait;
  if (!wait) answer_waiting();
}

void BinaryCache::master_found() {
  wait_ = false;
  answer_waiting();
}

void BinaryCache::answer_waiting() {
  for (const rpc::Peers::Done& done : std::exchange(for_master_, {})) connect(done);
}

bool BinaryCache::has(const ProgramId& program) const {
  if (!ready_.contains(program)) return false;
  const std::uint64_t bytes = size_of(path_of(program));
  return bytes > 0 && bytes == kept_.at(program).bytes;
}

void BinaryCache::get(const ProgramId& program, Done done) {
  if (has(program)) {
    needed(program);
    return done(path_of(program));
  }
  ready_.erase(program);
  const auto [waiting, fresh] = waiting_.try_emplace(program);
  waiting->second.push_back(std::move(done));
  if (!fresh) return;
  if (size_of(path_of(program)) > 0) return check_kept(program);
  fetch(program);
}

/// One of an earlier worker, or one that was changed. It may be large, and no longer in memory.
void BinaryCache::check_kept(const ProgramId& program) {
  auto then = guarded(alive_, [this, program](bool intact) { intact ? finish(program, path_of(program)) : fetch(program); });
  background_.post([&reactor = reactor_, program, path = path_of(program), then = std::move(then)]() mutable {
    const auto hash = hash_file(path);
    reactor.post([then = std::move(then), intact = hash && *hash == program.hash]() mutable { then(intact); });
  });
}

void BinaryCache::fetch(const ProgramId& program) {
  std::string path = path_of(program);
  auto pull = std::make_shared<BinaryPull>(program, path);
  queue_.add(JobId(), "master", std::move(pull), [this, program, path, losses = losses_](Result<void> outcome) {
    if (outcome) return finish(program, path);
    if (losses != losses_ && outcome.error().code() == Code::unavailable)
      return fetch(program);  // it was interrupted, perhaps often
    finish(program, fail(std::move(outcome).error().wrap("cannot fetch the program")));
  });
}

std::string BinaryCache::path_of(const ProgramId& program) const { return fmt::format("{}/{}", directory_, file_name(program)); }

void BinaryCache::finish(const ProgramId& program, const Result<std::string>& path) {
  if (path) {
    ready_.insert(program);
    needed(program);
    make_room(program);
  }
  for (auto waiting = waiting_.extract(program); const Done& done : waiting.mapped()) done(path);
}

}  // namespace weft::runtime
