#include "engine/master/storage/file_service.hpp"

#include <algorithm>
#include <map>
#include <optional>
#include <span>

#include <fmt/format.h>

#include "base/counted.hpp"
#include "base/guarded.hpp"
#include "base/log.hpp"
#include "base/unguessable.hpp"
#include "engine/master/replication/changes.hpp"
#include "engine/master/storage/file_operations.hpp"
#include "engine/master/storage/storage_time.hpp"
#include "engine/master/storage/table_service.hpp"
#include "storage/files/protocol.hpp"
#include "storage/namespace/namespace.hpp"
#include "storage/namespace/namespace_store.hpp"

namespace weft::master {
namespace {

using namespace storage;
using namespace storage::files;
constexpr Duration kTick = std::chrono::milliseconds(100);

LogEntry log_entry(const std::vector<Change>& changes) {
  Changes all;
  for (const Change& change : changes) all.changes.emplace_back(change.key, change.value);
  return {Store::files, to_bytes(all)};
}

class FilesSnapshot final : public StoreSnapshot {
 public:
  explicit FilesSnapshot(std::unique_ptr<NamespaceRecords> records) : records_(std::move(records)) {}
  Result<std::vector<LogEntry>> next(std::size_t bytes) override {
    WEFT_ASSIGN(const std::vector<Change> records, records_->next(bytes));
    if (records.empty()) return std::vector<LogEntry>{};
    return std::vector{log_entry(records)};
  }

 private:
  const std::unique_ptr<NamespaceRecords> records_;
};

class FileService final : public StorageService {
 public:
  FileService(StorageShell shell, std::unique_ptr<NamespaceStore> store, NamespaceOptions options)
      : shell_(std::move(shell)),
        store_(std::move(store)),
        namespace_(options),
        tables_(
            shell_, options.lost_grace, [this](Published then) { publish(std::move(then)); }, [this] { return obstacle(); }) {}
  ~FileService() override {
    timer_.reset();
    for (const auto& [id, change] : std::exchange(changes_, {}))
      if (change.then) change.then(fail(Code::unavailable, "the master ends"));
  }

  Result<void> begin() {
    WEFT_TRY(store_->load(namespace_, steady_now(), unix_milliseconds()));
    WEFT_TRY(store_->load_tables([this](std::string_view key, std::string_view value) { return tables_.restore(key, value); }));
    tables_.begin(store_->cluster_id(), steady_now());
    for (const std::string& name : namespace_.draining()) tables_.drain(name, true);
    const StorageReport report = namespace_.report();
    log_.info("cluster {}: {} in {}, {}", store_->cluster_id(), counted(report.files, "file"),
              counted(report.directories, "directory", "directories"), counted(report.chunks, "chunk"));
    safe_mode_ = report.safe_mode;
    if (safe_mode_) log_.info("safe mode: nothing is copied or erased until the workers have reported their chunks");
    tick();
    return {};
  }

  NodeId first_node() const override { return namespace_.next_node(); }
  const std::string& cluster() const override { return store_->cluster_id(); }
  bool has_journal() const override { return store_->has_journal(); }
  void note_journal() override {
    if (store_->has_journal()) return;
    std::vector<Change> note{NamespaceStore::journal_note()};
    (void)replicate(note);
    store_->commit(std::move(note), [](const Result<void>&) {});  // whoever changes files hears of a disk that fails
  }

  void on_client_request(const Caller& caller, const rpc::Message& message, rpc::Responder responder) override {
    if (message.type == tables::kTableRequest) return tables_.on_client_request(caller, message, std::move(responder));
    if (message.type != kFileRequest)
      return responder.fail(Error(Code::invalid_argument, fmt::format("the master does not know message {}", message.type)));
    auto request = decode_file_request(message);
    if (!request) return responder.fail(request.error());
    const Audited what = audited(*request, namespace_);
    if (const auto allowed = may(caller, *request, namespace_); !allowed) {
      note(shell_.audit, caller, what, &allowed.error());
      return responder.fail(allowed.error());
    }
    if (!caller.user.empty()) set_owner(*request, caller.user);
    const bool at_once = std::visit([]<class Operation>(const Operation&) { return AnsweredAtOnce<Operation>; }, *request);
    if (const auto why = obstacle(); why && !at_once) return responder.fail(*why);
    const auto reply = apply(caller, *request, {namespace_, drained_tables_, write_secret_});
    note(shell_.audit, caller, what, reply ? nullptr : &reply.error());
    answer(reply ? Result<rpc::Payload>(encode(*reply)) : fail(reply.error()), at_once, std::move(responder));
  }

  void on_worker_request(const WorkerSite& worker, const rpc::Message& message, rpc::Responder responder) override {
    if (TableService::is_for_tables(message.type)) return tables_.on_worker_request(worker, message, std::move(responder));
    if (message.type == kStorageHello) return responder.reply(encode(StorageSite{true, store_->cluster_id(), write_secret_}));
    if (message.type != kStorageJoin)
      return responder.fail(Error(Code::invalid_argument, fmt::format("the master does not know message {}", message.type)));
    const auto join = storage::files::decode<StorageJoin>(message);
    if (!join) return responder.fail(join.error());
    if (auto joined =
            namespace_.node_joined(worker.id, {worker.name, worker.host, worker.rack, join->address}, join->space, steady_now());
        !joined)
      return responder.fail(joined.error());
    if (const auto leaves = leaving_.find(worker.id); leaves != leaving_.end())
      (void)namespace_.node_leaves(worker.id, leaves->second.returns);  // it has just joined
    if (obstacle()) return responder.reply({});                         // reads need not wait for changes that are to be written
    auto to = std::make_shared<rpc::Responder>(std::move(responder));
    publish([to](const Result<void>& written) { written ? to->reply({}) : to->fail(written.error()); });
  }

  Result<void> on_worker_notify(NodeId worker, const rpc::Message& message) override {
    switch (message.type) {
      case kStorageSpace: {
        WEFT_ASSIGN(const StorageJoin beat, storage::files::decode<StorageJoin>(message));
        return namespace_.heartbeat(worker, beat.space, steady_now());
      }
      case kBlockReport: {
        WEFT_ASSIGN(const ChunkReport report, storage::files::decode<ChunkReport>(message));
        return namespace_.block_report(worker, report.chunks, report.first, report.last);
      }
      case kChunkUpdate: {
        WEFT_ASSIGN(const ChunkUpdate update, storage::files::decode<ChunkUpdate>(message));
        return on_update(worker, update);
      }
      default:
        return fail(Code::corrupt, fmt::format("unknown message {}", message.type));
    }
  }

  void worker_leaves(const WorkerSite& worker, bool returns) override {
    leaving_[worker.id] = {worker.name, returns};
    (void)namespace_.node_leaves(worker.id, returns);  // refused when it has not joined yet: then when it does
    tables_.worker_leaves(worker.name, returns);
  }
  std::uint64_t to_hand_over(const WorkerSite& worker) const override {
    if (namespace_.node(worker.id) == nullptr) return 1;
    return namespace_.to_hand_over(worker.id) + tables_.to_hand_over(worker.name);
  }
  void snapshot(std::function<void(Result<std::unique_ptr<StoreSnapshot>>)> then) override {
    store_->commit(
        {}, [this, alive = std::weak_ptr(alive_), then = std::move(then), &reactor = shell_.reactor](const Result<void>& written) {
          reactor.post([this, alive, then, written] {
            if (alive.expired()) return;
            written ? then(std::make_unique<FilesSnapshot>(store_->records())) : then(fail(written.error()));
          });
        });
  }
  void worker_lost(NodeId worker) override {
    if (const auto left = leaving_.extract(worker)) tables_.worker_left(left.mapped().name);
    namespace_.node_lost(worker, steady_now());
    tables_.worker_lost(worker, steady_now());
  }

 private:
  /// Why no change can be promised soon: the disk is full, or followers do not keep it (ReplicationLog::obstacle).
  std::optional<Error> obstacle() const {
    auto why = store_->full();
    return why || shell_.log == nullptr ? why : shell_.log->obstacle();
  }
  Result<void> on_update(NodeId worker, const ChunkUpdate& update) {
    const auto& notes = update.notes;
    for (auto from = notes.begin(); from != notes.end();) {
      const auto to = std::find_if(from, notes.end(), [&](const ChunkNote& note) { return note.event != from->event; });
      std::vector<ChunkInfo> chunks;  // of the same kind
      for (const ChunkNote& note : std::span(from, to)) chunks.push_back(note.chunk);
      if (from->event == ChunkEvent::corrupt || from->event == ChunkEvent::lost)
        log_.warn("node {} {} {} chunks, the first is {}", worker.value(),
                  from->event == ChunkEvent::lost ? "lost" : "found damage in", chunks.size(), to_string(chunks.front().id));
      WEFT_TRY(namespace_.chunks_changed(worker, from->event, chunks));
      from = to;
    }
    for (const FailedCopy& copy : update.failed_copies) {
      log_.info("copying {} from node {} to node {} failed: {}", to_string(copy.chunk), worker.value(), copy.to.value(),
                copy.reason);
      (void)namespace_.copy_failed(worker, copy.chunk, copy.to, steady_now());  // refused when it was given up before
    }
    return {};
  }

  /// Questions are answered at once; what changes something when it, and all that it may be a repetition of, is on disk. An error
  /// is such an answer, too: a client that removes a file for the second time takes "does not exist" for done.
  void answer(Result<rpc::Payload> reply, bool at_once, rpc::Responder responder) {
    if (at_once || (!reply && changes_.empty())) return send(std::move(reply), responder);
    auto waiting = std::make_shared<Answer>(Answer{std::move(reply), std::move(responder)});
    std::erase_if(answers_, [](const std::weak_ptr<Answer>& answer) { return answer.expired(); });
    answers_.push_back(waiting);
    publish([waiting](const Result<void>& written) {
      if (!waiting->responder) return;  // the disk was full
      send(written ? std::move(waiting->reply) : fail(written.error()), *waiting->responder);
    });
  }
  static void send(Result<rpc::Payload> reply, rpc::Responder& responder) {
    reply ? responder.reply(std::move(*reply)) : responder.fail(reply.error());
  }

  /// The disk has become full, or has room again. Requests that wait for a change under way fail at once: it may not be done. It
  /// is, as soon as there is room, if this master lives that long.
  void look_at_disk() {
    const auto full = store_->full();
    if (full && !full_) log_.error("{}; until then files and tables are only read", full->to_string());
    if (!full && full_) log_.info("the namespace's disk has room again: what waited is written");
    full_ = full.has_value();
    if (!full) return;
    for (const auto& waits : std::exchange(answers_, {}))
      if (const auto answer = waits.lock()) std::exchange(answer->responder, std::nullopt)->fail(*full);
  }

  /// Makes what changed durable; then carries out the commands that came with it, and then `then`. When it cannot, the master ends;
  /// the error says that another try is worth it, with the next one.
  void publish(Published then) {
    std::vector<Change> changes = namespace_.take_changes();
    for (Change& change : tables_.take_changes()) changes.push_back(std::move(change));
    UnderWay under_way{namespace_.take_commands(), std::move(then)};
    if (changes.empty() && under_way.commands.empty() && !under_way.then) return;
    if (changes.empty() && changes_.empty()) return finish(under_way);
    const std::uint64_t id = next_change_++;
    changes_.emplace(id, std::move(under_way));
    const std::uint64_t number = replicate(changes);
    store_->commit(std::move(changes),
                   [this, alive = std::weak_ptr(alive_), id, number, &reactor = shell_.reactor](Result<void> written) {
                     reactor.post([this, alive, id, number, written] {
                       if (alive.expired()) return;
                       if (!written) return failed(id, written.error());
                       if (shell_.log == nullptr) return finish(changes_.extract(id).mapped());
                       shell_.log->when_kept(number, guarded(alive, [this, id](const Result<void>& kept) {
                                               if (kept) finish(changes_.extract(id).mapped());
                                             }));
                     });
                   });
  }

  /// The number up to which followers have to keep the log.
  std::uint64_t replicate(const std::vector<Change>& changes) {
    if (shell_.log == nullptr) return 0;
    if (!changes.empty() && shell_.log->followed()) shell_.log->append(log_entry(changes));
    return shell_.log->appended();
  }

  struct UnderWay {
    std::vector<StorageCommand> commands;
    Published then;
  };
  void finish(const UnderWay& change) {
    obey(change.commands);
    if (change.then) change.then({});
  }
  void failed(std::uint64_t id, const Error& why) {
    const UnderWay change = changes_.extract(id).mapped();
    if (change.then) change.then(fail(Code::unavailable, "the master ends: " + why.to_string()));
    shell_.give_up(why);
  }

  void obey(const std::vector<StorageCommand>& commands) {
    std::map<NodeId, std::vector<StorageCommand>> by_node;
    for (const StorageCommand& command : commands) {
      const auto* copy = std::get_if<CopyChunk>(&command);
      const auto* erase = std::get_if<EraseChunks>(&command);
      by_node[copy ? copy->from : erase ? erase->node : std::get<VerifyChunk>(command).node].push_back(command);
    }
    for (const auto& [node, some] : by_node) shell_.send(node, kChunkCommands, encode(ChunkCommands{some}));
  }

  void tick() {
    look_at_disk();
    if (!full_) decide();
    timer_ = shell_.reactor.after(kTick, [this] { tick(); });
  }

  /// What follows from the time. On a full disk nothing is decided: it could not be written down.
  void decide() {
    namespace_.tick(steady_now());
    tables_.tick(steady_now());
    if (safe_mode_ && !namespace_.safe_mode()) {
      safe_mode_ = false;
      log_.info("safe mode is over");
    }
    publish({});
  }

  struct Answer {
    Result<rpc::Payload> reply;
    std::optional<rpc::Responder> responder;  // none: it was answered that the disk is full
  };

  StorageShell shell_;
  Log log_{"storage"};
  std::unique_ptr<NamespaceStore> store_;
  Namespace namespace_;
  TableService tables_;
  const DrainedTables drained_tables_{[this](const std::string& worker, bool on) { tables_.drain(worker, on); },
                                      [this](const std::string& worker) { return tables_.replicas_on(worker); }};
  /// Not kept: workers hear of a new one when they register with the next master, and before that it gives out no chunks on them.
  const WriteSecret write_secret_{unguessable_number(), unguessable_number()};
  struct Leaves {
    std::string name;
    bool returns = false;  // with what it keeps
  };
  std::map<NodeId, Leaves> leaving_;
  std::map<std::uint64_t, UnderWay> changes_;  // that are being made durable
  std::uint64_t next_change_ = 1;
  std::vector<std::weak_ptr<Answer>> answers_;  // that wait for the disk
  bool safe_mode_ = false, full_ = false;
  std::unique_ptr<rpc::Timer> timer_;
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

}  // namespace

StorageFactory file_service(FileServiceOptions options) {
  return [options = std::move(options)](StorageShell shell) -> Result<std::unique_ptr<StorageService>> {
    WEFT_ASSIGN(auto store, NamespaceStore::open(options.data_directory + "/namespace"));
    auto service = std::make_unique<FileService>(std::move(shell), std::move(store), options.options);
    WEFT_TRY(service->begin());
    return std::unique_ptr<StorageService>(std::move(service));
  };
}

}  // namespace weft::master
