#include "engine/master/log/audit_log.hpp"

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <thread>
#include <utility>

#include "base/json.hpp"
#include "base/log.hpp"
#include "engine/master/log/log_file.hpp"

namespace weft::master {
namespace {

constexpr std::size_t kMostWaiting = 8u << 20;  // bytes of lines

std::int64_t unix_now_ms() {
  return std::chrono::duration_cast<std::chrono::milliseconds>(std::chrono::system_clock::now().time_since_epoch()).count();
}

class AuditLogImpl final : public AuditLog {
 public:
  explicit AuditLogImpl(LogFile file) : file_(std::move(file)), thread_([this] { run(); }) {}
  ~AuditLogImpl() override {
    {
      const std::lock_guard lock(mutex_);
      stopping_ = true;
    }
    changed_.notify_all();
    thread_.join();
  }

  void note(AuditEntry entry) override {
    const std::string line = audit_json(unix_now_ms(), entry) + "\n";
    {
      const std::lock_guard lock(mutex_);
      if (waiting_.size() + line.size() > kMostWaiting) {
        ++lost_;
        return;
      }
      waiting_ += line;
    }
    changed_.notify_all();
  }

  void settle() override {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return waiting_.empty() && !writing_; });
  }

 private:
  void run() {
    std::unique_lock lock(mutex_);
    while (true) {
      changed_.wait(lock, [this] { return stopping_ || !waiting_.empty(); });
      if (waiting_.empty()) return;
      const std::string lines = std::exchange(waiting_, {});
      writing_ = true;
      lock.unlock();
      const bool written = write(lines);
      lock.lock();
      if (!written) lost_ += static_cast<std::uint64_t>(std::count(lines.begin(), lines.end(), '\n'));
      writing_ = false;
      changed_.notify_all();
    }
  }

  /// False: they are lost.
  bool write(const std::string& lines) {
    append(lines);
    if (file_.losing()) return false;
    std::uint64_t lost = 0;
    {
      const std::lock_guard lock(mutex_);
      lost = std::exchange(lost_, 0);
    }
    if (lost == 0) return true;
    JsonWriter lack;
    lack.begin_object().member("time_ms", unix_now_ms()).member("action", "lines lost").member("lines", lost).end_object();
    append(lack.text() + "\n");
    return true;
  }
  void append(const std::string& lines) {
    const auto written = file_.append(lines, [] { return std::string(); });
    if (!written) log_.error("{}", written.error().to_string());
  }

  LogFile file_;  // of the thread
  const Log log_{"audit"};
  std::mutex mutex_;  // guards what follows
  std::condition_variable changed_;
  std::string waiting_;
  std::uint64_t lost_ = 0;
  bool writing_ = false, stopping_ = false;
  std::thread thread_;  // last
};

}  // namespace

std::string audit_json(std::int64_t unix_ms, const AuditEntry& entry) {
  JsonWriter json;
  json.begin_object()
      .member("time_ms", unix_ms)
      .member("user", entry.user)
      .member("peer", entry.peer)
      .member("action", entry.action);
  if (entry.job) json.member("job", entry.job->value());
  if (!entry.owner.empty()) json.member("owner", entry.owner);
  if (!entry.object.empty()) json.member("object", entry.object);
  json.member("outcome", entry.error.empty() ? "done" : "refused");
  if (!entry.error.empty()) json.member("error", entry.error);
  if (entry.times > 1) json.member("times", entry.times);
  json.end_object();
  return json.text();
}

Result<std::unique_ptr<AuditLog>> AuditLog::open(const std::string& path, const LogRotation& rotation) {
  WEFT_ASSIGN(LogFile file, LogFile::open(path, "audit log", rotation));
  file.begin_period();
  file.begin_archive();
  return std::unique_ptr<AuditLog>(std::make_unique<AuditLogImpl>(std::move(file)));
}

}  // namespace weft::master
