#include "runtime/worker/worker_tables.hpp"

#include "storage/tables/table_server.hpp"

namespace weft::runtime {
namespace {

class WorkerTables final : public ChunkService {
 public:
  WorkerTables(const ChunkShell& shell, WorkerTableOptions options, std::unique_ptr<ChunkService> chunks)
      : chunks_(std::move(chunks)),
        tables_(shell.reactor, shell.data_address, {std::move(options.directories), options.reserve}, shell.give_up) {}

  rpc::Handler handler(rpc::Handler others) override { return tables_.handler(chunks_->handler(std::move(others))); }
  void registered(const rpc::ConnectionPtr& master) override {
    chunks_->registered(master);
    tables_.registered(master);
  }
  void lost() override {
    chunks_->lost();
    tables_.lost();
  }
  bool on_notify(const rpc::Message& message) override { return tables_.on_notify(message) || chunks_->on_notify(message); }
  void heartbeat() override { chunks_->heartbeat(); }
  void node_lost(const std::string& address, const Error& why) override { chunks_->node_lost(address, why); }

 private:
  std::unique_ptr<ChunkService> chunks_;
  storage::tables::TableServer tables_;
};

}  // namespace

ChunkServiceFactory worker_tables(WorkerTableOptions options, ChunkServiceFactory chunks) {
  return [options = std::move(options), chunks = std::move(chunks)](ChunkShell shell) -> std::unique_ptr<ChunkService> {
    auto inner = chunks(shell);
    return std::make_unique<WorkerTables>(shell, options, std::move(inner));
  };
}

}  // namespace weft::runtime
