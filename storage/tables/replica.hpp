// One replica of a partition, on its worker: follows a primary, or is it. Private to storage/tables.
//
// Everything happens on the reactor's thread but disk calls, which queue up on threads beside it.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "storage/tables/primary_role.hpp"
#include "storage/tables/replica_context.hpp"

namespace weft::storage::tables {

class Replica : public std::enable_shared_from_this<Replica> {
 public:
  Replica(ReplicaContext& context, PlaceId place, std::string path);

  /// Opens the database, or makes one if the assignment says that there can have been none. May be called again after a failure.
  void open();
  bool opening() const { return disk_ == Disk::opening; }
  ReplicaReport report() const;
  void adopt(const Assignment& assignment);
  /// It serves and follows nobody until there is another assignment.
  void master_lost();
  void serve(PartitionRequest request, PartitionPeers::Answer answer);
  /// Closes it and removes its directory.
  void erase(std::function<void()> done);
  const PlaceId& place() const { return place_; }
  /// What users' programs have to show: while the master is away, what it said last. Nothing before the first assignment: then
  /// nobody knows who may read what is here.
  const std::optional<TableKeys>& keys() const { return keys_; }
  /// To be called now and then: when its disk has become full it says so, and looks for room from then on.
  void look_at_disk();

 private:
  struct Pages {
    std::shared_ptr<TablePartition> store;
    std::unique_ptr<PartitionPages> pages;  // none: all were sent
    bool sending = false;                   // a thread is reading the next
    std::shared_ptr<void> log;              // what comes after them stays until the copy has caught up, or nobody asks for long
    TimePoint used;
  };

  struct Server;

  // replica.cpp
  template <class Work, class Then>
  void on_disk(Work work, Then then) {
    tables::on_disk(context_, *queue_, weak_from_this(), std::move(work), std::move(then));
  }
  void opened(Result<std::unique_ptr<TablePartition>> store);
  void recover_later();
  bool may_create() const;
  bool may_lead() const;
  void give_up(const Error& why);
  /// Parts of it cannot be read. It is filled again when another one has everything.
  void found_damage(const Error& why);
  Error read_failed(const Error& why);
  /// Lets go of the database; `then` when nobody has it any more: until then its files are not to be touched, nor opened again.
  void close(std::function<void()> then);
  void closed();
  void lead();
  void begin_role();
  void leave_role(const char* why);
  Error unusable() const;

  // replica_reads.cpp
  using LookUp = std::function<Result<PartitionReply>(const TablePartition& store, std::uint64_t at)>;
  void read(SnapshotId snapshot, LookUp look_up, SharedResponder responder);
  Result<void> may_read(SnapshotId snapshot) const;
  void send_page(std::uint64_t id, SharedResponder responder);
  void forget_pages();

  // replica_follower.cpp
  void begin_stream(std::uint64_t epoch, const BeginStream& request, SharedResponder responder);
  void take_entries(std::uint64_t epoch, AppendEntries request, SharedResponder responder);
  void start_copy(std::uint64_t epoch, const StartCopy& request, SharedResponder responder);
  void copy_pages(std::shared_ptr<PartitionCopy> copy, std::string from, std::uint64_t session);
  void copied(std::shared_ptr<PartitionCopy> copy);
  void take_copy();
  void copy_failed(const Error& why);

  ReplicaContext& context_;
  const PlaceId place_;
  const std::string path_;
  const std::shared_ptr<IoQueue> queue_;
  std::shared_ptr<TablePartition> store_;                             // null: not open
  enum class Disk : std::uint8_t { closed, opening, open, closing };  // open: store_ is there
  Disk disk_ = Disk::closed;
  bool copying_ = false, erased_ = false, recovering_ = false;
  bool taking_over_ = false;  // its disk has something to finish before it leads
  std::vector<std::function<void()>> after_closing_;
  enum class Lack : std::uint8_t { nothing, absent, unusable };  // as found at the last try to open: no database, or none any more
  Lack lack_ = Lack::nothing;
  std::string damage_;  // parts of it cannot be read: why
  std::string failure_;
  std::string no_room_;  // why it takes no entries; empty: it does
  std::unique_ptr<rpc::Timer> reopen_, recover_;
  std::optional<Assignment> assignment_;
  std::optional<TableKeys> keys_;
  std::shared_ptr<PrimaryRole> primary_;
  std::uint64_t fence_ = 0;                            // the highest epoch it knows of
  std::uint64_t led_ = 0;                              // the last epoch in which it was primary: never again in that one
  std::string given_up_ = "knows of a later primary";  // why it is not, though the master has it so
  std::uint64_t stream_ = 0;                           // from the primary
  std::uint64_t next_stream_ = 0;
  std::map<std::uint64_t, std::shared_ptr<Pages>> pages_;
  std::unique_ptr<rpc::Timer> forget_pages_;
};

Result<PartitionReply> look_up(const TablePartition& store, const GetRows& get, std::uint64_t at);
Result<PartitionReply> look_up(const TablePartition& store, const ScanRows& scan, std::uint64_t at);

}  // namespace weft::storage::tables
