// The files that limit what tasks may take of a worker, written by programs of its machine (docs/cluster.md).
#pragma once

#include <optional>
#include <string>

#include "base/log.hpp"
#include "runtime/protocol/worker.hpp"

namespace weft::runtime {

/// One thread. Looks at the files when it is asked, which takes some 10 us; what they mean is the master's business.
class CapacityFiles {
 public:
  /// Paths of the two files; empty: there is none.
  CapacityFiles(std::string capacity, std::string forecast);

  /// The texts, when they are not those that were given last. A file that cannot be read, is no regular one or has more than
  /// `protocol::kMostCapacityText` bytes is logged once, and its last text stays.
  std::optional<protocol::CapacityTexts> changed();
  /// `lost` of the worker's devices have failed; `why` says how. Part of the texts from now on.
  void devices_lost(std::uint32_t lost, std::string why);
  /// The next changed() gives the texts in any case: the master that had them is gone.
  void forget() { given_.reset(); }

 private:
  struct File {
    std::string path;
    std::string text, error;  // the last ones
    void look(Log& log);
  };
  File capacity_, forecast_;
  std::uint32_t devices_lost_ = 0;
  std::string devices_why_;
  std::optional<protocol::CapacityTexts> given_;
  Log log_{"worker"};
};

/// What the whole machine has, which others use as well.
void describe_machine(protocol::Register& registration);

/// All of a small regular file. An error names the path.
Result<std::string> read_capacity_text(const std::string& path);

}  // namespace weft::runtime
