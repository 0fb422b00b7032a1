// What a job says of a kernel.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "base/clock.hpp"

namespace weft::runtime {

/// A further argument of the kernel: a value, or the address of a copy in the device's memory.
struct KernelValue {
  std::string bytes;
  bool buffer = false;
};

struct KernelCode {
  std::string name, source;
  std::string file;                           // where the source begins
  std::uint32_t line = 0;                     //
  std::uint32_t group = 0;                    // work items of a record, which are a work group; 0: each record is one work item
  std::uint32_t records = 0;                  // of a batch, at most; 0: as many as kBatchBytes hold
  Duration limit = std::chrono::seconds(60);  // of a batch, copies included
  std::vector<KernelValue> values{};
  // Set by the operator.
  std::size_t in_bytes = 0, out_bytes = 0;  // of a record; 0: texts, whose outputs are as long as their inputs
};

/// Of the inputs, and of the outputs, of a batch.
inline constexpr std::size_t kBatchBytes = 4u << 20;

}  // namespace weft::runtime
