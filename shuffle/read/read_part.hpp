// What a task that reads a partition is given, part by part (partition_reader.hpp).
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.hpp"
#include "base/fd.hpp"
#include "shuffle/store/task_shuffle.hpp"

namespace weft::shuffle {

/// No map has that number.
inline constexpr std::uint32_t kNoMap = UINT32_MAX;

/// The blocks of some maps behind one descriptor.
struct BlockSource {
  enum class Kind : std::uint8_t {
    segment = 0,     // a whole map output of a store of this host, not verified; its partitions are those of the shuffle
    known = 1,       // the same, where the task has it mapped (ReadRequest::known): no descriptor comes
    prefetched = 2,  // verified blocks of the partition: "partition" i holds the extents of maps[i]; the store accounts for them
    fetched = 3,     // the same, and their memory is accounted for nowhere
  };
  friend constexpr Kind last_of(Kind) { return Kind::fetched; }

  Kind kind = Kind::segment;
  std::vector<MapOutput> maps;  // one, where the kind is segment or known; kNoMap: not wanted
};

/// A map output that cannot be read, and why.
struct LostOutput {
  MapOutput output;
  std::string why;
};

/// A part of the answer without its descriptors. All of it is of one partition.
struct PartContents {
  static constexpr std::string_view kName = "part of a partition";
  std::uint32_t partition = 0;
  std::uint32_t next_map = 0;  // of all maps before that one the blocks came with this part or an earlier one; kNoMap: of all
  bool end = false;            // of the last partition
  std::vector<BlockSource> sources;
  std::optional<LostOutput> lost;  // then nothing comes after this part
  Duration waited{0};              // for outputs of maps that had not ended
};
struct ReadPart : PartContents {
  std::vector<Fd> descriptors;  // of the sources that are not known, in their order
};
/// The most descriptors of a part.
inline constexpr std::size_t kDescriptorsPerPart = 60;

}  // namespace weft::shuffle
