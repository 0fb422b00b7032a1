#include "storage/hdfs/output.hpp"

#include <optional>
#include <utility>

#include <unistd.h>

#include "base/log.hpp"
#include "base/named_file.hpp"
#include "base/random.hpp"
#include "base/text.hpp"
#include "storage/hdfs/errors.hpp"
#include "storage/hdfs/spool.hpp"
#include "storage/transient.hpp"

namespace weft::storage::hdfs {
namespace {

using http::HttpRequest;
using http::HttpResponse;

constexpr std::size_t kSmall = 8u << 20;
constexpr std::uint32_t kRestarts = 16;  // of one stream

/// In the hidden directory of a job's output (OutputDirectory): nobody looks there before the job commits.
bool is_hidden(const HdfsPath& path) {
  const std::string directory = parent_of(path).path;
  const auto mark = directory.find(".weft-");
  return mark != std::string::npos && directory[directory.rfind('/', mark) + 1] == '.';
}

/// Another than all names of other writers.
HdfsPath hidden_beside(const HdfsPath& path) {
  Random random(static_cast<std::uint64_t>(SystemClock().now().time_since_epoch().count()),
                reinterpret_cast<std::uintptr_t>(&path) ^ static_cast<std::uint64_t>(::getpid()));
  return below(parent_of(path), "." + short_name(name_of(path)) + ".weft-" + std::to_string(random()));
}

class HdfsOutput final : public RemoteOutput {
 public:
  HdfsOutput(HdfsClient& client, HdfsPath path, std::string scratch)
      : client_(client),
        target_(std::move(path)),
        written_(is_hidden(target_) ? target_ : hidden_beside(target_)),
        scratch_(std::move(scratch)) {}
  ~HdfsOutput() override {
    if (closed_ || !begun_) return;
    exchange_.reset();
    if (auto removed = client_.remove(written_); !removed) Log("hdfs").warn("{}; it is hidden", removed.error().to_string());
  }

  Result<void> append(ByteView bytes) override {
    if (!spool_ && small_.size() + bytes.size() <= kSmall) {
      small_.append(as_chars(bytes));
      return {};
    }
    if (!spool_) WEFT_TRY(begin_stream());
    WEFT_TRY(spool_->append(bytes));
    client_.http().wake();
    while (!spool_->wait_for_room()) WEFT_TRY(stream_again());
    return {};
  }
  Result<void> close() override {
    std::uint64_t size = small_.size();
    if (spool_) {
      spool_->close();
      size = spool_->size();
      client_.http().wake();
      WEFT_TRY(end_stream());
    } else {
      WEFT_TRY(send_small());
    }
    WEFT_TRY(check(size));
    if (written_.path != target_.path) WEFT_TRY(client_.rename(written_, target_, Onto::file));
    closed_ = true;
    return {};
  }

 private:
  Result<void> begin_stream() {
    WEFT_ASSIGN(spool_, Spool::create(scratch_));
    WEFT_TRY(spool_->append(as_bytes(small_)));
    std::string().swap(small_);
    tries_.emplace(client_);
    return start({});
  }
  /// Asks where to write and begins to send there: `small`, or all of the spool.
  Result<void> start(SharedBytes small) {
    begun_ = true;
    HttpRequest request;
    request.method = "PUT";
    request.most_tries = 1;
    request.follow = false;
    request.headers.emplace_back("Content-Type: application/octet-stream");
    if (spool_) {
      WEFT_ASSIGN(request.stream, Spool::body(spool_));
    }
    // A hidden directory that is gone belonged to a job that has ended: what is late must not bring it back.
    WEFT_ASSIGN(request.url, client_.place(written_, !is_hidden(target_), tries_->excluded()));
    request.body = std::move(small);
    exchange_ = client_.http().start(std::move(request));
    return {};
  }
  /// The outcome of what was started: true when the file is there, false when it is to be sent again.
  Result<bool> finish() {
    auto answer = exchange_->wait();
    if (answer && answer->status >= 200 && answer->status < 300) return true;
    const bool passes = answer ? may_pass(*answer) : is_transient(answer.error());
    if (!answer || verdict_of(*answer) != Verdict::safe_mode) tries_->exclude(exchange_->reached());
    if (passes && tries_->again(seldom_ ? kSeldom : UINT32_MAX)) return false;
    if (answer) return fail(hdfs_error(*answer, "write", url_of(target_), client_.user()));
    return fail(std::move(answer).error().wrap("cannot write " + escaped(url_of(target_))));
  }
  bool may_pass(const HttpResponse& answer) {
    const Verdict verdict = verdict_of(answer);
    seldom_ = verdict == Verdict::seldom;
    return seldom_ || verdict == Verdict::later || verdict == Verdict::safe_mode || verdict == Verdict::standby;
  }
  Result<void> send_small() {
    tries_.emplace(client_);
    const auto owner = std::make_shared<const std::string>(std::move(small_));
    while (true) {
      WEFT_TRY(start({as_bytes(*owner), owner}));
      WEFT_ASSIGN(const bool done, finish());
      if (done) return {};
    }
  }
  /// After the request ended too early.
  Result<void> stream_again() {
    WEFT_ASSIGN(const bool done, finish_stream());
    if (done) return fail(Code::corrupt, "cannot write " + escaped(url_of(target_)) + ": the datanode does not wait for all bytes");
    return start({});
  }
  Result<void> end_stream() {
    while (true) {
      WEFT_ASSIGN(const bool done, finish_stream());
      if (done) return {};
      WEFT_TRY(start({}));
    }
  }
  Result<bool> finish_stream() {
    if (tries_->spent() > client_.options().patience && restarts_++ < kRestarts) tries_.emplace(client_);  // it went well for long
    return finish();
  }
  Result<void> check(std::uint64_t size) {
    WEFT_ASSIGN(const auto there, client_.status(written_));
    if (there && !there->directory && there->length == size) return {};
    return fail(Code::unavailable, "cannot write " + escaped(url_of(target_)) + ": HDFS has " +
                                       (there ? std::to_string(there->length) + " of its " + std::to_string(size) + " bytes"
                                              : "lost it; somebody else writes to the same place"));
  }

  HdfsClient& client_;
  const HdfsPath target_, written_;
  const std::string scratch_;
  std::string small_;  // until there is more
  std::shared_ptr<Spool> spool_;
  std::optional<Tries> tries_;
  std::unique_ptr<http::HttpExchange> exchange_;
  std::uint32_t restarts_ = 0;
  bool seldom_ = false;
  bool begun_ = false, closed_ = false;
};

}  // namespace

std::unique_ptr<RemoteOutput> create_file(HdfsClient& client, HdfsPath path, std::string scratch) {
  return std::make_unique<HdfsOutput>(client, std::move(path), std::move(scratch));
}

}  // namespace weft::storage::hdfs
