#include "runtime/worker/worker_chunks.hpp"

#include <algorithm>
#include <chrono>
#include <span>

#include <fmt/format.h>

#include "base/clock.hpp"
#include "base/guarded.hpp"
#include "base/log.hpp"
#include "base/random.hpp"
#include "storage/chunks/chunk_store.hpp"
#include "storage/files/protocol.hpp"
#include "storage/transfer/chunk_server.hpp"

namespace weft::runtime {
namespace {

using namespace storage;
using namespace storage::files;
constexpr auto kMasterDeadline = std::chrono::seconds(10);
constexpr auto kRetry = std::chrono::milliseconds(100);
constexpr std::uint32_t kMostTries = 50;
constexpr std::size_t kReportedAtOnce = 50'000;
constexpr std::size_t kErasedAtOnce = 100;
constexpr auto kSilence =
    std::chrono::minutes(1);  // of the disks; then this worker is silent, too, and others make replicas of its chunks

class WorkerChunks final : public ChunkService {
 public:
  WorkerChunks(ChunkShell shell, WorkerChunkOptions options)
      : shell_(std::move(shell)), options_(std::move(options)), random_(std::hash<std::string>()(shell_.data_address)) {}
  ~WorkerChunks() override {
    alive_.reset();
    server_.reset();
  }

  rpc::Handler handler(rpc::Handler others) override {
    if (server_) return server_->handler(std::move(others));
    return others;
  }

  void registered(const rpc::ConnectionPtr& master) override {
    master_ = master;
    joined_ = greeted_ = false;
    registration_ = std::make_shared<bool>(true);
    master->request(kStorageHello, {}, kMasterDeadline, guarded(alive_, [this, master](Result<rpc::Message> answer) {
                      if (master != master_) return;
                      auto site = answer ? decode<StorageSite>(*answer) : fail(std::move(answer).error());
                      if (!site) return again(site.error());
                      if (!site->enabled)
                        return log_.warn("the master keeps no files (no --data-dir): the chunk directories stay idle");
                      secret_ = site->secret;
                      if (server_) server_->set_write_secret(secret_);
                      open(site->cluster);
                    }));
  }

  void lost() override {
    master_.reset();
    joined_ = greeted_ = false;
    registration_.reset();
    next_report_.reset();
    update_ = {};
  }

  bool on_notify(const rpc::Message& message) override {
    if (message.type != kChunkCommands) return false;
    unsigned skipped = 0;
    auto commands = decode<ChunkCommands>(message, &skipped);
    if (skipped != 0 && !std::exchange(unknown_noted_, true))
      log_.warn("the master is {} and sent commands about chunks that this worker does not know: passed over; upgrade the worker",
                master_ ? master_->peer_software() : "another release");
    if (!commands) {
      again(commands.error());
      return true;
    }
    for (StorageCommand& command : commands->commands) {
      if (!store_ || !greeted_) break;
      if (const auto* erase = std::get_if<EraseChunks>(&command))
        this->erase(std::make_shared<const std::vector<ChunkId>>(erase->chunks), 0);
      else if (const auto* verify = std::get_if<VerifyChunk>(&command))
        this->verify(verify->chunk);
      else
        copy(std::get<CopyChunk>(command));
    }
    return true;
  }

  void heartbeat() override {
    if (!joined_) return;
    // At once: other chores that wait for disks, such as a mass deletion, must not make this worker look dead.
    if (SystemClock().now() - measured_ < kSilence) master_->notify(kStorageSpace, encode(StorageJoin{"", space_}));
    if (std::exchange(measuring_, true)) return;
    do_chore([store = store_] { return space_of(*store); },
             [this](const Space& space) {
               measuring_ = false;
               measured(space);
             });
  }

  void node_lost(const std::string& address, const Error& why) override {
    if (server_) server_->forget(address, why);
  }

 private:
  /// Runs `work` where disks may be waited for, then done(what it returned) here, unless this object is gone.
  template <class Work, class Done>
  void do_chore(Work work, Done done) {
    shell_.chores.post([work = std::move(work), done = guarded(alive_, std::move(done)), &reactor = shell_.reactor]() mutable {
      auto made = std::make_shared<decltype(work())>(work());
      reactor.post([made, done = std::move(done)]() mutable { done(std::move(*made)); });
    });
  }

  static Space space_of(const ChunkStore& store) {
    Space space;
    for (const DirectorySpace& directory : store.space()) {
      space.used += directory.used;
      if (!directory.failure) space.free += directory.available;
    }
    return space;
  }

  void measured(const Space& space) {
    space_ = space;
    measured_ = SystemClock().now();
  }

  /// The registration is given up; the next one tries again.
  void again(const Error& why) {
    log_.warn("chunks: {}; disconnecting", why.to_string());
    if (master_) master_->close();
  }

  void open(const std::string& cluster) {
    // Also while the directories are being opened for the master before: this one would have what is in them erased.
    if (!cluster_.empty() && cluster != cluster_) {
      lost();
      return shell_.give_up(
          Error(Code::version_mismatch,
                fmt::format("the master belongs to cluster {} now, the chunk directories to {}", cluster, cluster_)));
    }
    cluster_ = cluster;
    greeted_ = true;
    store_ ? join() : open_store();
  }

  void open_store() {
    if (std::exchange(opening_, true)) return;
    ChunkStoreOptions options;
    options.directories.assign(options_.directories.begin(), options_.directories.end());
    options.cluster_id = cluster_;
    options.reserve = options_.reserve;
    options.scrub_rate = options_.scrub_rate;
    options.scrub_interval = options_.scrub_interval;
    options.listener = [this, alive = std::weak_ptr(alive_), &reactor = shell_.reactor](ChunkEvent event,
                                                                                        std::span<const ChunkInfo> chunks) {
      reactor.post(
          guarded(alive, [this, event, some = std::vector<ChunkInfo>(chunks.begin(), chunks.end())] { on_event(event, some); }));
    };
    options.joined = [this, alive = std::weak_ptr(alive_), &reactor = shell_.reactor] {
      reactor.post(guarded(alive, [this] { report_again(); }));
    };
    do_chore([options = std::move(options)] { return ChunkStore::open(options); },
             [this](Result<std::unique_ptr<ChunkStore>> opened) { on_opened(std::move(opened)); });
  }

  void on_opened(Result<std::unique_ptr<ChunkStore>> opened) {
    opening_ = false;
    if (!opened && opened.error().code() == Code::already_exists && ++tries_ < kMostTries) {
      // Its last worker was killed a moment ago.
      retry_ = shell_.reactor.after(kRetry, [this] { open_store(); });
      return;
    }
    if (!opened) return shell_.give_up(opened.error());
    store_ = std::move(*opened);
    ChunkServerOptions options;
    options.copy_rate = options_.copy_rate;
    options.chain.racks = shell_.racks;
    server_ = std::make_unique<ChunkServer>(shell_.reactor, *store_, options);
    server_->set_write_secret(secret_);
    if (auto offered = server_->offer_to_neighbours(shell_.data_address); !offered)
      log_.warn("chunks are not shared with readers of this machine: {}", offered.error().to_string());
    if (greeted_) join();
  }

  void join() {
    do_chore([store = store_] { return space_of(*store); },
             [this](const Space& space) {
               if (!greeted_) return;
               measured(space);
               master_->request(kStorageJoin, encode(StorageJoin{shell_.data_address, space}), kMasterDeadline,
                                guarded(alive_, [this, to = master_](Result<rpc::Message> answer) {
                                  if (to != master_) return;
                                  if (!answer) return again(answer.error());
                                  report();
                                  log_.info("reports its chunks to cluster {}", cluster_);
                                }));
             });
  }

  /// Reports all chunks, then the updates since. The first piece, which names none, is sent before they are listed: what the master
  /// learns after it, from here or from writers, is not denied by the list. The report is repeated now and then, so that no error
  /// between here and there lasts.
  void report() {
    joined_ = true;
    listing_ = true;
    master_->notify(kBlockReport, encode(ChunkReport{{}, true, false}));
    do_chore([store = store_] { return std::pair(store->list(), store->quarantined()); },
             [this, to = master_](const auto& chunks) {
               if (to == master_) report(chunks.first, chunks.second);
             });
  }

  /// Of what is there and was never reported. A report that is under way may be without it.
  void report_again() {
    if (!joined_) return;  // the first report will have it
    again_ = listing_;
    if (!listing_) report();
  }

  void report(const std::vector<StoredChunk>& stored, const std::vector<StoredChunk>& damaged) {
    for (std::size_t from = 0; from == 0 || from < stored.size(); from += kReportedAtOnce) {
      const std::size_t end = std::min(stored.size(), from + kReportedAtOnce);
      ChunkReport piece{{}, false, end == stored.size()};
      for (std::size_t i = from; i < end; ++i) piece.chunks.push_back(stored[i].info);
      master_->notify(kBlockReport, encode(piece));
    }
    std::vector<ChunkNote> aside;
    for (const StoredChunk& chunk : damaged) aside.push_back({ChunkEvent::corrupt, chunk.info});
    update_.notes.insert(update_.notes.begin(), aside.begin(), aside.end());  // events since then come after
    log_.debug("keeps {} chunks", stored.size());
    listing_ = false;
    flush();
    if (std::exchange(again_, false)) return report();
    // Not all workers at once.
    const auto share = static_cast<double>(75 + random_.below(51)) / 100;
    next_report_ = shell_.reactor.after(std::chrono::duration_cast<Duration>(options_.report_interval * share), [this] {
      if (joined_) report();
    });
  }

  /// In pieces, between which other chores have their turn. When the registration ends, the rest stays, and the next report has it:
  /// its chores come after those of this registration, which begin nothing then.
  void erase(const std::shared_ptr<const std::vector<ChunkId>>& ids, std::size_t from) {
    const std::size_t to = std::min(ids->size(), from + kErasedAtOnce);
    shell_.chores.post(
        [this, registration = std::weak_ptr(registration_), store = store_, ids, from, to, &reactor = shell_.reactor] {
          if (registration.expired()) return;
          store->erase(std::span(*ids).subspan(from, to - from));
          if (to != ids->size()) reactor.post(guarded(registration, [this, ids, to] { erase(ids, to); }));
        });
  }

  /// The store reports what is damaged or lost; here it is reported that a chunk is whole.
  void verify(ChunkId id) {
    shell_.chores.post([this, registration = std::weak_ptr(registration_), store = store_, id, &reactor = shell_.reactor] {
      if (registration.expired() || !store->check(id)) return;
      reactor.post(guarded(registration, [this, id] { on_event(ChunkEvent::verified, {ChunkInfo{id, 0, 0}}); }));
    });
  }

  void on_event(ChunkEvent event, const std::vector<ChunkInfo>& chunks) {
    if (!joined_) return;  // the report will have it
    for (const ChunkInfo& info : chunks) update_.notes.push_back({event, info});
    flush();
  }

  void flush() {
    if (!joined_ || listing_) return;
    if (update_.notes.empty() && update_.failed_copies.empty()) return;
    master_->notify(kChunkUpdate, encode(std::exchange(update_, {})));
  }

  void copy(const CopyChunk& command) {
    server_->copy_to({command.chunk, command.sources}, {command.address},
                     guarded(alive_, [this, chunk = command.chunk.id, to = command.to](Result<ChunkWritten> written) {
                       if (written || !joined_) return;  // its target reports it
                       update_.failed_copies.push_back({chunk, to, written.error().to_string()});
                       flush();
                     }));
  }

  ChunkShell shell_;
  const WorkerChunkOptions options_;
  Log log_{"chunks"};
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
  std::shared_ptr<ChunkStore> store_;  // also held by chores under way
  std::unique_ptr<ChunkServer> server_;
  std::string cluster_;                 // of the first master that was met; the directories are of no other
  WriteSecret secret_;                  // of the master heard of last
  rpc::ConnectionPtr master_;           // null: no registration
  std::shared_ptr<bool> registration_;  // lives as long as that
  std::unique_ptr<rpc::Timer> retry_;
  std::uint32_t tries_ = 0;  // to open directories that another process has locked
  bool greeted_ = false;     // by the present master, which is of this cluster
  bool opening_ = false, joined_ = false, listing_ = false, again_ = false, measuring_ = false, unknown_noted_ = false;
  Space space_;  // as of then
  TimePoint measured_;
  Random random_;
  std::unique_ptr<rpc::Timer> next_report_;
  ChunkUpdate update_;  // not sent yet
};

}  // namespace

ChunkServiceFactory worker_chunks(WorkerChunkOptions options) {
  return [options = std::move(options)](ChunkShell shell) -> std::unique_ptr<ChunkService> {
    return std::make_unique<WorkerChunks>(std::move(shell), options);
  };
}

}  // namespace weft::runtime
