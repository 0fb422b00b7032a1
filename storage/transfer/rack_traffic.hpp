// Bytes of chunks that cross from one rack to another, as the processes at both ends count them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

namespace weft::storage {

/// What went between this process and those of another rack.
struct RackBytes {
  std::string rack;  // "": of racks beyond the number kept
  std::uint64_t received = 0;
  std::uint64_t sent = 0;
  bool operator==(const RackBytes&) const = default;
};

/// Counts by the rack of the peer. What stays in the rack, or goes to or comes from a rack that nobody knows, is not counted; so
/// one that does not know its own rack counts nothing. Any thread.
class RackTally {
 public:
  /// Racks that are counted one by one: their names come from peers and are not to be trusted.
  static constexpr std::size_t kMostRacks = 8;
  static constexpr std::size_t kMostNameBytes = 256;

  RackTally() = default;
  explicit RackTally(std::string rack) : rack_(std::move(rack)) {}

  /// Where this process is; "": not known.
  void set_rack(std::string rack);
  std::string rack() const;

  void received(const std::string& rack, std::uint64_t bytes) { add({rack, bytes, 0}); }
  void sent(const std::string& rack, std::uint64_t bytes) { add({rack, 0, bytes}); }
  void add(const RackBytes& bytes);
  /// What another process in this rack has counted.
  void add(const std::vector<RackBytes>& counted);

  /// Since the beginning, or since the last take().
  std::vector<RackBytes> total() const;
  std::vector<RackBytes> take();

 private:
  void count(const RackBytes& bytes);

  mutable std::mutex mutex_;  // guards what follows
  std::string rack_;
  std::map<std::string, RackBytes> racks_;
};

}  // namespace weft::storage
